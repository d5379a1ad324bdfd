"""The spectrum of an Ornstein-Uhlenbeck process: streaming compared with batch packages.

All packages get the same pairs and, but for koopman-dmd's polynomials, the same Gaussian kernel.
kooplearn, deeptime, PyDMD and koopman-dmd solve for all pairs at once, with time and memory growing
with the cube and the square of their number; kernelstream reads them sequentially. Errors are means
over several streams of the largest error of the five leading eigenvalues, bounded below by the
sampling noise of the pairs. For each package the table gives the fastest configuration of
kernelstream with no larger error. Packages that are not installed are listed and skipped (``make
peers`` installs them).

    python benchmarks peers koopman [--quick]
"""

from __future__ import annotations

import argparse
import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from measuring import alone, clock, peak_memory, processor_time
from report import Report
from streams import FloatArray

import kernelstream as ks
from kernelstream import datasets

BANDWIDTH = 1.0
GAMMA = 0.5 / BANDWIDTH**2
RIDGE = 1.0  # of the sum of squares; those who average the loss divide it by the pairs
COUNT = 5
STREAMS = 10

Eigenvalues = Callable[[FloatArray, FloatArray], np.ndarray]


@dataclass(frozen=True)
class Learner:
    """A method that finds the spectrum of at most this many pairs (some cost their cube)."""

    name: str
    package: str
    learn: Eigenvalues
    most: int = 1_000_000


# ------------------------------------------------------------------------------------- kernelstream


def recursive(tolerance: float, ridge: float) -> Eigenvalues:
    def learn(before: FloatArray, after: FloatArray) -> np.ndarray:
        model = ks.presets.recursive_koopman(ks.Gaussian(BANDWIDTH), tolerance, ridge)
        return model.fit(before, after).eigenvalues_

    return learn


def sparse_gradient(before: FloatArray, after: FloatArray) -> np.ndarray:
    model = ks.presets.sparse_koopman(
        ks.Gaussian(BANDWIDTH), 0.3, 1.0, power=3, averaging=True, replay=1_000, random_state=0
    )
    return model.fit(before, after).eigenvalues_


# -------------------------------------------------------------------------------------------- peers


def kooplearn_ridge(components: int) -> Eigenvalues:
    def learn(before: FloatArray, after: FloatArray) -> np.ndarray:
        from kooplearn.kernel import KernelRidge  # noqa: PLC0415

        model = KernelRidge(
            n_components=components,
            kernel="rbf",
            gamma=GAMMA,
            alpha=RIDGE / len(before),
            reduced_rank=False,
            eigen_solver="arpack",
            random_state=0,
        )
        return model.fit(np.concatenate([before, after[-1:]])).eig()

    return learn


def kooplearn_nystroem(centers: int, alpha: float) -> Eigenvalues:
    def learn(before: FloatArray, after: FloatArray) -> np.ndarray:
        from kooplearn.kernel import NystroemKernelRidge  # noqa: PLC0415

        model = NystroemKernelRidge(
            n_components=10,
            kernel="rbf",
            gamma=GAMMA,
            alpha=alpha,
            reduced_rank=False,
            n_centers=centers,
            random_state=0,
        )
        return model.fit(np.concatenate([before, after[-1:]])).eig()

    return learn


def deeptime_kernel(before: FloatArray, after: FloatArray) -> np.ndarray:
    from deeptime.decomposition import KernelEDMD  # noqa: PLC0415
    from deeptime.kernels import GaussianKernel  # noqa: PLC0415

    model = KernelEDMD(GaussianKernel(BANDWIDTH), epsilon=RIDGE, n_eigs=10)
    return model.fit((before, after)).fetch_model().eigenvalues


def pydmd_kernel(before: FloatArray, after: FloatArray) -> np.ndarray:
    from pydmd import EDMD  # noqa: PLC0415

    model = EDMD(svd_rank=8, kernel_metric="rbf", kernel_params={"gamma": GAMMA})
    return model.fit(before.T, after.T).eigs


def koopman_dmd_polynomials(before: FloatArray, after: FloatArray) -> np.ndarray:
    from koopman_dmd import DMD  # noqa: PLC0415

    states = np.concatenate([before, after[-1:]]).T
    degree = COUNT - 1
    model = DMD(states, rank=degree, center=True, lifting="polynomial", lifting_param=degree)
    # The constant function, whose eigenvalue is 1, is what centering removes.
    return np.concatenate([[1.0], model.eigenvalues @ [1.0, 1.0j]])


OURS = (
    *(
        Learner(f"least squares, ALD({tolerance:g})", "kernelstream", recursive(tolerance, RIDGE))
        for tolerance in (3e-2, 1e-2, 1e-3, 1e-4)
    ),
    Learner("sparse gradient", "kernelstream", sparse_gradient),
)
PEERS = (
    Learner("kooplearn KernelRidge, rank 10", "kooplearn", kooplearn_ridge(10), 5_000),
    *(
        Learner(
            f"kooplearn Nystroem, {n} centers", "kooplearn", kooplearn_nystroem(n, 1e-6), 100_000
        )
        for n in (30, 60, 100)
    ),
    Learner("deeptime KernelEDMD", "deeptime", deeptime_kernel, 1_000),
    Learner("PyDMD EDMD, rank 8", "pydmd", pydmd_kernel, 1_000),
    Learner("koopman-dmd, degree 4", "koopman_dmd", koopman_dmd_polynomials, 5_000),
)
EVERYONE = (*OURS, *PEERS)


# ------------------------------------------------------------------------ the next state, online


def lando(before: FloatArray, after: FloatArray, x: FloatArray) -> FloatArray:
    from pydmd import LANDO  # noqa: PLC0415

    model = LANDO(
        svd_rank=0, kernel_metric="rbf", kernel_params={"gamma": GAMMA}, dict_tol=1e-3, online=True
    )
    model.fit(before.T, after.T)
    return np.asarray(model.f(x.T)).T


def ours_online(before: FloatArray, after: FloatArray, x: FloatArray) -> FloatArray:
    model = ks.presets.recursive_koopman(ks.Gaussian(BANDWIDTH), 1e-3, RIDGE)
    return np.asarray(model.fit(before, after).predict(x, 1))


FORECASTERS = {"PyDMD LANDO, online": lando, "kernelstream, least squares": ours_online}


def measure_forecast(name: str, n_pairs: int) -> tuple[float, float, float]:
    """Seconds, megabytes, and the root mean square error of the expected next state."""
    before, after = datasets.ornstein_uhlenbeck(n_pairs, random_state=0).pairs()
    learn = FORECASTERS[name]
    x = np.linspace(-2.0, 2.0, 201)[:, None]
    learn(before[:100], after[:100], x)
    base = peak_memory()
    start = processor_time()
    forecast = learn(before, after, x)
    seconds = processor_time() - start
    error = np.sqrt(np.mean((forecast.reshape(-1) - np.exp(-0.5) * x[:, 0]) ** 2))
    return seconds, peak_memory() - base, float(error)


# --------------------------------------------------------------------------------------- the tables


@dataclass(frozen=True)
class Found:
    """What a learner cost, and its error on each stream."""

    seconds: float
    memory: float
    errors: FloatArray


def measure(index: int, n_pairs: int, threads: int | None) -> Found:
    """Seconds, megabytes above what the process had before, and the error of each stream."""
    learner, now = EVERYONE[index], clock(threads)
    seconds, errors, base = [], [], 0.0
    warnings.simplefilter("ignore")
    for seed in range(STREAMS if n_pairs <= 100_000 else 1):
        data = datasets.ornstein_uhlenbeck(n_pairs, n_eigenvalues=COUNT, random_state=seed)
        before, after = data.pairs()
        if seed == 0:
            learner.learn(before[:200], after[:200])  # imports, and whatever is made once
            base = peak_memory()
        start = now()
        values = np.asarray(learner.learn(before, after))
        seconds.append(now() - start)
        values = values[np.argsort(-np.abs(values))][:COUNT]
        errors.append(float(np.abs(values - data.eigenvalues).max()))
    return Found(min(seconds), peak_memory() - base, np.array(errors))


def no_larger(ours: FloatArray, theirs: FloatArray) -> bool:
    """Whether errors on the same streams are not significantly larger.

    Their mean difference may be up to twice its standard error; with one stream it may not be
    positive.
    """
    difference = ours - theirs
    chance = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else 0.0
    return bool(difference.mean() <= 2.0 * chance)


def cells(found: Found) -> list[str]:
    return [f"{found.seconds:.4f}", f"{found.errors.mean():.3f}", f"{found.memory:.1f}"]


def spectrum(report: Report, sizes: tuple[int, ...], threads: int | None) -> None:
    present = {learner.package: importlib.util.find_spec(learner.package) for learner in EVERYONE}
    jobs = [
        (index, n)
        for n in sizes
        for index, learner in enumerate(EVERYONE)
        if present[learner.package] is not None and n <= learner.most
    ]
    found = {
        (EVERYONE[index], n): alone(threads, measure, index, n, threads)
        for index, n in report.track(jobs, "spectrum")
    }
    lines = []
    for n in sizes:
        mine = [(learner, found[learner, n]) for learner in OURS]
        theirs = [(peer, found[peer, n]) for peer in PEERS if (peer, n) in found]
        for peer, got in theirs:
            line = [f"{n:,}", peer.name, *cells(got)]
            equal = [pair for pair in mine if no_larger(pair[1].errors, got.errors)]
            if equal:
                who, us = min(equal, key=lambda pair: pair[1].seconds)
                lines.append([f"{got.seconds / us.seconds:.1f}", *line, who.name, *cells(us)])
            else:
                lines.append(["", *line, "none", "", "", ""])
        if not theirs:
            lines += [
                ["", f"{n:,}", "none feasible", "", "", "", who.name, *cells(us)]
                for who, us in mine
            ]
    how_many = "one thread" if threads else "default threads"
    report.heading(f"Ornstein-Uhlenbeck, theta tau = 0.5: five eigenvalues, {how_many}")
    columns = ["speed-up", "pairs", "package", "seconds", "error", "MB"]
    report.table([*columns, "kernelstream", "seconds ", "error ", "MB "], lines)
    missing = sorted(package for package, spec in present.items() if spec is None)
    if missing:
        report.remark(f"Not installed, so skipped: {', '.join(missing)}.")


def tables(report: Report, *, quick: bool) -> None:
    sizes = (1_000,) if quick else (1_000, 5_000, 100_000, 1_000_000)
    spectrum(report, sizes, 1)
    spectrum(report, sizes[:2], None)
    report.remark(
        f"Error: largest error of the five eigenvalues, mean over {STREAMS} streams (one beyond "
        '100,000 pairs); "no larger" allows twice the standard error of the difference on the same '
        "streams. Seconds: minimum over the streams; processor time on one thread. Memory: "
        "increase of the peak memory of the process. kooplearn's KernelRidge and koopman-dmd are "
        "omitted beyond 5,000 pairs, deeptime and PyDMD beyond 1,000, where they need minutes and "
        "gigabytes. kooplearn and PyDMD run with the solver, rank and regularization that suit "
        "them best; koopman-dmd has no kernels, but polynomials, of which the eigenfunctions of "
        "this process consist."
    )
    if importlib.util.find_spec("pydmd") is None:
        return
    rows = []
    for n in sizes[:1] if quick else (1_000, 5_000, 20_000):
        for name in FORECASTERS:
            seconds, memory, error = alone(1, measure_forecast, name, n)
            rows.append([name, f"{n:,}", f"{seconds:.4f}", f"{error:.4f}", f"{memory:.1f}"])
    report.heading("Expected next state of the same process, learned online, one thread")
    report.table(["learner", "pairs", "seconds", "error", "MB"], rows)
    report.remark("Error: root mean square on [-2, 2]; the state has standard deviation 1.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="1,000 pairs only")
    report = Report("koopman_peers")
    tables(report, quick=parser.parse_args().quick)
    report.write()
