"""Streaming against batch: the spectrum of an Ornstein-Uhlenbeck process, beside other packages.

The same pairs for everyone, the same Gaussian kernel. kooplearn, deeptime and PyDMD solve for all
pairs at once, so that their time and memory grow with the cube and the square of the pairs; ours
reads them one after the other. Those that are not installed are left out
(``pip install kooplearn deeptime pydmd``).

    python benchmarks/koopman_peers.py [--quick]
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from report import Report
from streams import FloatArray
from threadpoolctl import threadpool_limits

import kernelstream as ks
from kernelstream import datasets

BANDWIDTH = 1.0
GAMMA = 0.5 / BANDWIDTH**2
RIDGE = 1.0  # of the sum of squares; those who average the loss divide it by the pairs
COUNT = 5

Eigenvalues = Callable[[FloatArray, FloatArray], np.ndarray]


def recursive(before: FloatArray, after: FloatArray) -> np.ndarray:
    model = ks.presets.recursive_koopman(ks.Gaussian(BANDWIDTH), 1e-3, RIDGE)
    return model.fit(before, after).eigenvalues_


def sparse_gradient(before: FloatArray, after: FloatArray) -> np.ndarray:
    model = ks.presets.sparse_koopman(
        ks.Gaussian(BANDWIDTH), 0.3, 1.0, power=3, averaging=True, replay=1_000, random_state=0
    )
    return model.fit(before, after).eigenvalues_


def kooplearn_ridge(before: FloatArray, after: FloatArray) -> np.ndarray:
    from kooplearn.kernel import KernelRidge  # noqa: PLC0415

    model = KernelRidge(
        n_components=10, kernel="rbf", gamma=GAMMA, alpha=RIDGE / len(before), random_state=0
    )
    return model.fit(np.concatenate([before, after[-1:]])).eig()


def kooplearn_nystroem(before: FloatArray, after: FloatArray) -> np.ndarray:
    from kooplearn.kernel import NystroemKernelRidge  # noqa: PLC0415

    model = NystroemKernelRidge(
        n_components=10,
        kernel="rbf",
        gamma=GAMMA,
        alpha=1e-5,
        reduced_rank=False,
        n_centers=100,
        random_state=0,
    )
    return model.fit(np.concatenate([before, after[-1:]])).eig()


def deeptime_kernel(before: FloatArray, after: FloatArray) -> np.ndarray:
    from deeptime.decomposition import KernelEDMD  # noqa: PLC0415
    from deeptime.kernels import GaussianKernel  # noqa: PLC0415

    model = KernelEDMD(GaussianKernel(BANDWIDTH), epsilon=RIDGE, n_eigs=10)
    return model.fit((before, after)).fetch_model().eigenvalues


def pydmd_kernel(before: FloatArray, after: FloatArray) -> np.ndarray:
    from pydmd import EDMD  # noqa: PLC0415

    model = EDMD(svd_rank=8, kernel_metric="rbf", kernel_params={"gamma": GAMMA})
    return model.fit(before.T, after.T).eigs


# name, package, function, most pairs (their cost grows with the cube)
PEERS: tuple[tuple[str, str, Eigenvalues, int], ...] = (
    ("kernelstream, least squares", "kernelstream", recursive, 1_000_000),
    ("kernelstream, sparse gradient", "kernelstream", sparse_gradient, 1_000_000),
    ("kooplearn KernelRidge, rank 10", "kooplearn", kooplearn_ridge, 2_000),
    ("kooplearn Nystroem, 100 centers", "kooplearn", kooplearn_nystroem, 100_000),
    ("deeptime KernelEDMD", "deeptime", deeptime_kernel, 2_000),
    ("PyDMD EDMD, rank 8", "pydmd", pydmd_kernel, 2_000),
)


def peak_memory() -> float:
    """Megabytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def measure(learn: Eigenvalues, n_pairs: int) -> tuple[float, float, float]:
    """Seconds, megabytes above what the process had before, and the largest error of five."""
    data = datasets.ornstein_uhlenbeck(n_pairs, n_eigenvalues=COUNT, random_state=0)
    before, after = data.pairs()
    with threadpool_limits(1):
        learn(before[:200], after[:200])  # imports, and whatever is made once
        base = peak_memory()
        start = time.perf_counter()
        values = np.asarray(learn(before, after))
        seconds = time.perf_counter() - start
    values = values[np.argsort(-np.abs(values))][:COUNT]
    return seconds, peak_memory() - base, float(np.abs(values - data.eigenvalues).max())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="1,000 pairs only")
    arguments = parser.parse_args()
    sizes = (1_000,) if arguments.quick else (1_000, 2_000, 100_000)
    report = Report("koopman_peers")
    missing = sorted({p for _, p, _, _ in PEERS if importlib.util.find_spec(p) is None})
    jobs = [
        (name, learn, n_pairs)
        for n_pairs in sizes
        for name, package, learn, most in PEERS
        if package not in missing and n_pairs <= most
    ]
    rows = []
    for name, learn, n_pairs in report.track(jobs, "peers"):
        # A new process, or the peak would be that of an earlier one.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            seconds, memory, error = pool.submit(measure, learn, n_pairs).result()
        rows.append([
            name, f"{n_pairs:,}", f"{seconds:.4f}", f"{memory:.1f}", f"{error:.3f}",
        ])  # fmt: skip
    report.heading("Ornstein-Uhlenbeck, theta tau = .5: five eigenvalues")
    report.table(["learner", "pairs", "seconds", "memory, MB", "largest error"], rows)
    report.remark(
        "One thread. Memory: by how much the peak of the process rose. Batch methods are left out "
        "beyond 2,000 pairs. kooplearn's Nystroem and PyDMD run with the rank and regularization "
        "that served them best of a small grid."
    )
    if missing:
        report.remark(f"Not installed, left out: {', '.join(missing)}.")
    report.write()


if __name__ == "__main__":
    main()
