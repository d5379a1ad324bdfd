"""kernelstream beside what a user would otherwise have reached for: docs/peers.md.

Three parts, the same work for everyone, each run in a process of its own. Regression on real
streams, each row predicted before it is learned, beside river, scikit-learn and dlib; the spectrum
of an Ornstein-Uhlenbeck process beside kooplearn, deeptime and PyDMD (koopman_peers.py); and how
time and memory grow (growth.py). For every peer the table names the fastest of our configurations
whose error is no larger, and how many times faster it is.

Columns and target are standardized with the mean and deviation of the first 1,000 rows, which count
in no score. scikit-learn's stochastic gradient descent gets the best of a small grid of steps,
chosen in hindsight on this very stream; the others run as they are. A peer that is not installed is
named and skipped; ``make peers`` installs them into an environment of their own, and dlib is
compiled from benchmarks/dlib_krls.cpp where its headers are found (Debian: libdlib-dev).

    python benchmarks/peers.py [--quick] [--rows N] [--dataset NAME] [--part PART]
"""

from __future__ import annotations

import argparse
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import growth
import koopman_peers
import numpy as np
from measuring import alone, clock, peak_memory
from report import OUTPUT, Report
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDRegressor
from streams import FloatArray, load, random_order

import kernelstream as ks

try:
    import river
    from river import (
        feature_extraction,
        forest,
        linear_model,
        neighbors,
        optim,
        preprocessing,
        tree,
    )
except ImportError:
    river = None

PAGE = Path(__file__).resolve().parent.parent / "docs" / "peers.md"
WARM_UP = 1000
CHUNK = 100
FEATURES = 300
DATASETS = ("elevators_raw", "cal_housing")
PARTS = ("regression", "spectrum", "growth")


class Peer(Protocol):
    """Anything that makes forecasts of a stream, given the rows it may warm up on."""

    def __call__(self, warm_up: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray: ...


@dataclass(frozen=True)
class Entry:
    """Someone who learns the stream, fed a row at a time, in chunks or at once."""

    name: str
    fed: str
    run: Peer
    ours: bool = False
    slow: bool = False

    @property
    def threaded(self) -> bool:
        """Whether more threads may make a difference."""
        return self.fed == f"{CHUNK} rows" or (self.ours and self.fed == "at once")


@dataclass(frozen=True)
class Result:
    """What a run cost and how well it forecast."""

    entry: Entry
    seconds: float
    memory: float
    error: float


@functools.cache
def standardized(name: str, n_rows: int | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The warm-up rows, and the rows and targets of the stream proper."""
    X, y = load(name)
    order = random_order(len(y), 0)[: None if n_rows is None else n_rows + WARM_UP]
    X, y = X[order], y[order]
    deviation = X[:WARM_UP].std(axis=0)
    X = (X - X[:WARM_UP].mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    y = (y - y[:WARM_UP].mean()) / y[:WARM_UP].std()
    # A column that hardly varied at first may vary later: no method is helped by values of 1,000.
    X = np.ascontiguousarray(np.clip(X, -10.0, 10.0))
    return X[:WARM_UP], X[WARM_UP:], y[WARM_UP:]


def error_of(forecasts: FloatArray, y: FloatArray) -> float:
    """Mean squared error over the variance of the target; infinite if the model diverged."""
    if not np.isfinite(forecasts).all():
        return float("inf")
    with np.errstate(over="ignore"):
        return float(np.mean((forecasts - y) ** 2) / y.var())


def gamma_of(X: FloatArray) -> float:
    """The bandwidth that our kernel has by default, as scikit-learn counts it."""
    return 1.0 / (2.0 * X.shape[1])


# ------------------------------------------------------------------------------------- kernelstream


def in_one_call(model: ks.KernelRegressor) -> Peer:
    return lambda _, X, y: clone(model).partial_fit_predict(X, y)


def row_by_row(model: ks.KernelRegressor) -> Peer:
    def run(_: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        live = clone(model)
        forecasts = np.zeros(len(y))
        for t, target in enumerate(y.tolist()):
            if t:
                forecasts[t] = live.predict_one(X[t])
            live.learn_one(X[t], target)
        return forecasts

    return run


def ours() -> list[Entry]:
    entries = []
    for most in (3, 6, 12, 25, 50, 100, 200):
        model = ks.KernelRegressor(basis=ks.ALD(1e-3, max_size=most))
        name = f"ridge, at most {most} points"
        entries.append(Entry(name, "at once", in_one_call(model), ours=True))
        entries.append(Entry(name, "a row", row_by_row(model), ours=True))
    experts = ks.KernelExperts()
    entries.append(Entry("20 experts", "at once", in_one_call(experts), ours=True))
    entries.append(Entry("20 experts", "a row", row_by_row(experts), ours=True))
    return entries


# ------------------------------------------------------------------------------------- scikit-learn

STEPS: tuple[dict[str, Any], ...] = (
    {},
    {"learning_rate": "constant", "eta0": 0.01},
    {"learning_rate": "constant", "eta0": 0.1},
    {"learning_rate": "constant", "eta0": 0.5},
)


def sgd(features: Callable[[float], Any] | None, settings: dict[str, Any], chunk: int) -> Peer:
    """Stochastic gradient descent on features fitted to the warm-up rows (None: the columns)."""

    def run(warm_up: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        feature_map = None if features is None else features(gamma_of(X)).fit(warm_up)
        model = SGDRegressor(random_state=0, **settings)
        forecasts = np.zeros(len(y))
        for start in range(0, len(y), chunk):
            rows = slice(start, start + chunk)
            Z = X[rows] if feature_map is None else feature_map.transform(X[rows])
            if start:
                forecasts[rows] = model.predict(Z)
            model.partial_fit(Z, y[rows])
        return forecasts

    return run


def fourier(gamma: float) -> Any:
    return RBFSampler(gamma=gamma, n_components=FEATURES, random_state=0)


def nystroem(gamma: float) -> Any:
    return Nystroem(gamma=gamma, n_components=FEATURES, random_state=0)


def sklearn_peers() -> list[Entry]:
    entries = []
    for name, features in (
        ("SGD, linear", None),
        (f"RBFSampler({FEATURES}) + SGD", fourier),
        (f"Nystroem({FEATURES}) + SGD", nystroem),
    ):
        for fed, chunk in ((f"{CHUNK} rows", CHUNK), ("a row", 1)):
            for settings in STEPS:
                kind, size = settings.get("learning_rate", "default"), settings.get("eta0", "")
                step = f"{kind} {size}".strip()
                full = f"scikit-learn {name} ({step})"
                entries.append(Entry(full, fed, sgd(features, settings, chunk), slow=chunk == 1))
    return entries


# -------------------------------------------------------------------------------------------- river


def river_model(make: Callable[[], Any]) -> Peer:
    def run(_: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        model = make()
        forecasts = np.zeros(len(y))
        rows = [dict(enumerate(row)) for row in X.tolist()]
        for t, (x, target) in enumerate(zip(rows, y.tolist(), strict=True)):
            forecasts[t] = model.predict_one(x)
            model.learn_one(x, target)
        return forecasts

    return run


def river_fourier() -> Any:
    sampler = feature_extraction.RBFSampler(gamma=1.0 / 36.0, n_components=FEATURES, seed=0)
    # It makes features of each column by itself, 300 each: its default step of 0.01 diverges.
    linear = linear_model.LinearRegression(optimizer=optim.SGD(1e-4))
    return preprocessing.StandardScaler() | sampler | linear


def river_peers() -> list[Entry]:
    if river is None:
        return []
    adaptive = partial(tree.HoeffdingAdaptiveTreeRegressor, seed=0)
    makers: list[tuple[str, Callable[[], Any], bool]] = [
        ("LinearRegression", linear_model.LinearRegression, False),
        (f"RBFSampler({FEATURES}) + LinearRegression", river_fourier, True),
        ("HoeffdingTreeRegressor", tree.HoeffdingTreeRegressor, False),
        ("HoeffdingAdaptiveTreeRegressor", adaptive, False),
        ("KNNRegressor", neighbors.KNNRegressor, True),
        ("ARFRegressor, 10 trees", partial(forest.ARFRegressor, seed=0), True),
    ]
    return [
        Entry(f"river {name}", "a row", river_model(make), slow=slow) for name, make, slow in makers
    ]


# --------------------------------------------------------------------------------------------- dlib


def dlib_program() -> Path | None:
    """dlib's learner, compiled once a run; None where dlib or a compiler is missing."""
    if "DLIB_KRLS" not in os.environ:  # which the processes of this run inherit
        os.environ["DLIB_KRLS"] = str(compiled_dlib() or "")
    return Path(os.environ["DLIB_KRLS"]) if os.environ["DLIB_KRLS"] else None


def compiled_dlib() -> Path | None:
    compiler, target = shutil.which("g++"), Path(tempfile.gettempdir()) / f"dlib_krls_{os.getuid()}"
    source = Path(__file__).resolve().parent / "dlib_krls.cpp"
    if compiler is None:
        return None
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return target
    include = ["-I", os.environ["DLIB_INCLUDE"]] if "DLIB_INCLUDE" in os.environ else []
    build = [compiler, "-O3", "-march=native", "-std=c++17", "-DDLIB_NO_GUI_SUPPORT", *include]
    for blas in (["-lblas"], ["-DWITHOUT_BLAS"]):
        flags, link = (blas, []) if blas[0].startswith("-D") else ([], blas)
        command = [*build, *flags, str(source), "-o", str(target), *link]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return target
    return None


def dlib_krls(most: int) -> Peer:
    def run(_: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        program = dlib_program()
        assert program is not None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows"
            np.column_stack([X, y]).astype(np.float64).tofile(path)
            numbers = (len(y), X.shape[1], gamma_of(X), 1e-3, most)
            subprocess.run(
                [program, path, *map(str, numbers)], check=True, stdout=subprocess.DEVNULL
            )
            return np.fromfile(f"{path}.out")

    return run


def dlib_peers() -> list[Entry]:
    if dlib_program() is None:
        return []
    return [Entry(f"dlib krls, at most {n} points", "at once", dlib_krls(n)) for n in (50, 200)]


# --------------------------------------------------------------------------------------- the tables


def entries() -> list[Entry]:
    return [*ours(), *sklearn_peers(), *river_peers(), *dlib_peers()]


def measure(
    index: int, dataset: str, n_rows: int | None, threads: int | None
) -> tuple[float, float, float]:
    """Seconds, megabytes above what the process had before, and the error, of one entry."""
    warm_up, X, y = standardized(dataset, n_rows)
    entry, now = entries()[index], clock(threads)
    with np.errstate(all="ignore"):
        entry.run(warm_up, X[:200], y[:200])  # imports, and whatever is made once
        base = peak_memory()
        start = now()
        forecasts = entry.run(warm_up, X, y)
        seconds = now() - start
    return seconds, peak_memory() - base, error_of(forecasts, y)


def measured(
    report: Report, dataset: str, n_rows: int | None, threads: int | None, *, quick: bool
) -> list[Result]:
    """Everyone's run; of a peer with several steps, only the best step's."""
    best: dict[tuple[str, str], Result] = {}
    chosen: dict[str, str] = {}
    for index, entry in enumerate(report.track(entries(), dataset)):
        if (quick and entry.slow) or (threads is None and not entry.threaded):
            continue
        family = entry.name.split(" (")[0]
        # Row by row only with the step that was best in chunks: they come first.
        if not entry.ours and entry.fed == "a row" and entry.name != chosen.get(family, entry.name):
            continue
        seconds, memory, error = alone(threads, measure, index, dataset, n_rows, threads)
        result = Result(entry, seconds, memory, error)
        key = (family if not entry.ours else entry.name, entry.fed)
        if key not in best or error < best[key].error:
            best[key] = result
            if entry.fed == f"{CHUNK} rows":
                chosen[family] = entry.name
    return list(best.values())


def compare(report: Report, results: list[Result], n_rows: int) -> None:
    """The table: for each peer the fastest of ours, fed alike, whose error is no larger."""
    mine = [result for result in results if result.entry.ours]
    lines = []
    for peer in (result for result in results if not result.entry.ours):
        alike = "a row" if peer.entry.fed == "a row" else "at once"
        equal = [r for r in mine if r.entry.fed == alike and r.error <= peer.error]
        match = min(equal, key=lambda result: result.seconds, default=None)
        ratio = peer.seconds / match.seconds if match is not None else 0.0
        who = [f"{peer.entry.name}, {peer.entry.fed}", *cells(peer, n_rows)]
        us = [match.entry.name, *cells(match, n_rows)] if match else ["none is as good", *[""] * 3]
        lines.append((ratio, [f"{ratio:.1f}" if ratio else "", *who, *us]))
    lines.sort(key=lambda line: -line[0])
    columns = ["times faster", "peer", "µs a row", "error", "MB"]
    report.table(
        [*columns, "kernelstream", "µs a row ", "error ", "MB "], [row for _, row in lines]
    )
    smallest = min(mine, key=lambda result: result.error)
    report.remark(
        f"The smallest error of kernelstream: {smallest.error:.4f} ({smallest.entry.name}, "
        f"{smallest.entry.fed}, {1e6 * smallest.seconds / n_rows:.1f} µs a row)."
    )


def cells(result: Result, n_rows: int) -> list[str]:
    microseconds = 1e6 * result.seconds / n_rows
    return [f"{microseconds:.2f}", f"{result.error:.4f}", f"{result.memory:.1f}"]


def regression(report: Report, chosen: Sequence[str], n_rows: int | None, *, quick: bool) -> None:
    for dataset in chosen:
        for threads in (1, None):
            _, X, _ = standardized(dataset, n_rows)
            results = measured(report, dataset, n_rows, threads, quick=quick)
            told = "one thread" if threads else "default threads"
            report.heading(f"{dataset}: {len(X):,} rows of {X.shape[1]} columns, {told}")
            compare(report, results, len(X))
    report.remark(
        "Error: mean squared error over the target's variance, each row before it is learned. "
        "Time: of the processor on one thread, on the clock with default threads, which only those "
        "who work in chunks may use. "
        "Memory: by how much the peak of the process rose. Peers fed a row at a time are beside "
        "ours fed a row at a time from Python; the others beside ours in one call. dlib adds "
        "0.001 to its kernel's diagonal and has no regularization; it runs in a process of its own, "
        "whose memory is not counted."
    )
    missing = [
        name
        for name, there in (("river", river is not None), ("dlib", dlib_program() is not None))
        if not there
    ]
    if missing:
        report.remark(f"Not installed, so skipped: {', '.join(missing)}.")


HEAD = """# Beside other packages

Written by `make peers` (`benchmarks/peers.py`), which measures everyone in one run, each in a
process of its own: compare the columns of a table with one another, not with other machines. First
comes how many times faster kernelstream is *at an error no larger than the peer's*. On one thread
time is the processor's, which other work on the machine hardly touches; with default threads it is
the clock's, so that those tables say something on a machine without other work only.
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="3,000 rows, without the slow peers")
    parser.add_argument("--rows", type=int, help="rows of a stream; all by default")
    parser.add_argument("--dataset", action="append", choices=DATASETS, help="all by default")
    parser.add_argument("--part", choices=PARTS, help="one alone, on its part of the page")
    arguments = parser.parse_args()
    quick = arguments.quick
    for part in PARTS if arguments.part is None else (arguments.part,):
        report = Report(f"peers_{part}")
        if part == "regression":
            rows = 3000 if quick else arguments.rows
            regression(report, arguments.dataset or DATASETS, rows, quick=quick)
        elif part == "spectrum":
            koopman_peers.tables(report, quick=quick)
        else:
            growth.tables(report, quick=quick)
        report.write()
    if not quick:
        found = [OUTPUT / f"peers_{part}.md" for part in PARTS]
        pages = [path.read_text(encoding="utf-8") for path in found if path.exists()]
        PAGE.write_text("\n".join([HEAD, *pages]), encoding="utf-8")


if __name__ == "__main__":
    main()
