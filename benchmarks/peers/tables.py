"""Comparison of kernelstream with other packages: docs/peers.md.

Three parts, the same task for every package, each run in its own process: prequential regression on
real streams, with river, scikit-learn and dlib; the spectrum of an Ornstein-Uhlenbeck process, with
kooplearn, deeptime and PyDMD (koopman.py); and the growth of time and memory. For
every package the table gives the fastest configuration of kernelstream with no larger error, and
the speed-up.

Columns and target are standardized with the mean and deviation of the first 1,000 rows, which are
not scored. scikit-learn's stochastic gradient descent gets the best of a small grid of steps,
chosen in hindsight on this very stream; the others run with their defaults. A package that is not
installed is listed and skipped; ``make peers`` installs them into a separate environment, and dlib
is compiled from benchmarks/peers/dlib_krls.cpp if its headers are found (Debian: libdlib-dev).

    python benchmarks peers tables [--quick] [--rows N] [--dataset NAME] [--part PART]
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from measuring import alone, clock, peak_memory
from peers import koopman as koopman_peers
from report import OUTPUT, Report
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDRegressor
from speed import growth
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

PAGE = Path(__file__).resolve().parents[2] / "docs" / "peers.md"
WARM_UP = 1000
CHUNK = 100
FEATURES = 300
DATASETS = ("elevators_raw", "cal_housing")
PARTS = ("regression", "spectrum", "growth")
ELSEWHERE = r"## (.*default threads|Expected next state|Microseconds per row)"


class Peer(Protocol):
    """Predicts a stream, given the warm-up rows."""

    def __call__(self, warm_up: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray: ...


@dataclass(frozen=True)
class Entry:
    """A learner of the stream, called with one row, with chunks, or with all rows."""

    name: str
    fed: str
    run: Peer
    ours: bool = False
    slow: bool = False

    @property
    def threaded(self) -> bool:
        """Whether it can use several threads."""
        return self.fed == f"{CHUNK} rows per call" or (
            self.ours and self.fed == "many rows per call"
        )


@dataclass(frozen=True)
class Result:
    """Time, memory and error of a run."""

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
    # A column that is almost constant at first may vary later: values of 1,000 help no method.
    X = np.ascontiguousarray(np.clip(X, -10.0, 10.0))
    return X[:WARM_UP], X[WARM_UP:], y[WARM_UP:]


def error_of(predictions: FloatArray, y: FloatArray) -> float:
    """Mean squared error over the variance of the target; infinite if the model diverged."""
    if not np.isfinite(predictions).all():
        return float("inf")
    with np.errstate(over="ignore"):
        return float(np.mean((predictions - y) ** 2) / y.var())


def gamma_of(X: FloatArray) -> float:
    """The default bandwidth of kernelstream as scikit-learn's gamma."""
    return 1.0 / (2.0 * X.shape[1])


# ------------------------------------------------------------------------------------- kernelstream


def begun(model: ks.KernelRegressor | None, X: FloatArray) -> ks.KernelRegressor:
    """A copy, or for None the grid of experts that suits these columns."""
    if model is None:
        return ks.KernelExperts(ks.presets.bandwidth_grid(X.shape[1]), scale=False)
    return clone(model)


def in_one_call(model: ks.KernelRegressor | None) -> Peer:
    return lambda _, X, y: begun(model, X).partial_fit_predict(X, y)


def row_by_row(model: ks.KernelRegressor | None) -> Peer:
    def run(_: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        live = begun(model, X)
        predictions = np.zeros(len(y))
        for t, target in enumerate(y.tolist()):
            if t:
                predictions[t] = live.predict_one(X[t])
            live.learn_one(X[t], target)
        return predictions

    return run


def ours() -> list[Entry]:
    entries = []
    for most in (3, 6, 12, 25, 50, 100, 200):
        model = ks.KernelRegressor(basis=ks.ALD(1e-3, max_size=most), scale=False)
        name = f"ridge, at most {most} points"
        entries.append(Entry(name, "many rows per call", in_one_call(model), ours=True))
        entries.append(Entry(name, "one row per call", row_by_row(model), ours=True))
    for name, model in (("20 experts", None), ("KernelExperts()", ks.KernelExperts())):
        entries.append(Entry(name, "many rows per call", in_one_call(model), ours=True))
        entries.append(Entry(name, "one row per call", row_by_row(model), ours=True))
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
        predictions = np.zeros(len(y))
        for start in range(0, len(y), chunk):
            rows = slice(start, start + chunk)
            Z = X[rows] if feature_map is None else feature_map.transform(X[rows])
            if start:
                predictions[rows] = model.predict(Z)
            model.partial_fit(Z, y[rows])
        return predictions

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
        for fed, chunk in ((f"{CHUNK} rows per call", CHUNK), ("one row per call", 1)):
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
        predictions = np.zeros(len(y))
        rows = [dict(enumerate(row)) for row in X.tolist()]
        for t, (x, target) in enumerate(zip(rows, y.tolist(), strict=True)):
            predictions[t] = model.predict_one(x)
            model.learn_one(x, target)
        return predictions

    return run


def river_fourier() -> Any:
    sampler = feature_extraction.RBFSampler(gamma=1.0 / 36.0, n_components=FEATURES, seed=0)
    # It computes 300 features of each column: its default step of 0.01 diverges.
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
        Entry(f"river {name}", "one row per call", river_model(make), slow=slow)
        for name, make, slow in makers
    ]


# --------------------------------------------------------------------------------------------- dlib


def dlib_program() -> Path | None:
    """dlib's learner, compiled once per run; None if dlib or a compiler is missing."""
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
    return [
        Entry(f"dlib krls, at most {n} points", "many rows per call", dlib_krls(n))
        for n in (50, 200)
    ]


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
        predictions = entry.run(warm_up, X, y)
        seconds = now() - start
    return seconds, peak_memory() - base, error_of(predictions, y)


def measured(
    report: Report, dataset: str, n_rows: int | None, threads: int | None, *, quick: bool
) -> list[Result]:
    """The runs of all packages; of several step sizes only the best."""
    best: dict[tuple[str, str], Result] = {}
    chosen: dict[str, str] = {}
    for index, entry in enumerate(report.track(entries(), dataset)):
        if (quick and entry.slow) or (threads is None and not entry.threaded):
            continue
        family = entry.name.split(" (")[0]
        # One row per call only with the step that was best in chunks, which come first.
        if (
            not entry.ours
            and entry.fed == "one row per call"
            and entry.name != chosen.get(family, entry.name)
        ):
            continue
        seconds, memory, error = alone(threads, measure, index, dataset, n_rows, threads)
        result = Result(entry, seconds, memory, error)
        key = (family if not entry.ours else entry.name, entry.fed)
        if key not in best or error < best[key].error:
            best[key] = result
            if entry.fed == f"{CHUNK} rows per call":
                chosen[family] = entry.name
    return list(best.values())


def compare(report: Report, results: list[Result], n_rows: int) -> None:
    """The table: for each package the fastest configuration with no larger error."""
    mine = [result for result in results if result.entry.ours]
    lines = []
    for peer in (result for result in results if not result.entry.ours):
        alike = "one row per call" if peer.entry.fed == "one row per call" else "many rows per call"
        equal = [r for r in mine if r.entry.fed == alike and r.error <= peer.error]
        match = min(equal, key=lambda result: result.seconds, default=None)
        ratio = peer.seconds / match.seconds if match is not None else 0.0
        who = [f"{peer.entry.name}, {peer.entry.fed}", *cells(peer, n_rows)]
        us = [match.entry.name, *cells(match, n_rows)] if match else ["none", *[""] * 3]
        lines.append((ratio, [f"{ratio:.1f}" if ratio else "", *who, *us]))
    lines.sort(key=lambda line: -line[0])
    columns = ["speed-up", "package", "µs per row", "error", "MB"]
    report.table(
        [*columns, "kernelstream", "µs per row ", "error ", "MB "], [row for _, row in lines]
    )
    smallest = min(mine, key=lambda result: result.error)
    report.remark(
        f"Smallest error of kernelstream: {smallest.error:.4f} ({smallest.entry.name}, "
        f"{smallest.entry.fed}, {1e6 * smallest.seconds / n_rows:.1f} µs per row)."
    )


def cells(result: Result, n_rows: int) -> list[str]:
    microseconds = 1e6 * result.seconds / n_rows
    return [f"{microseconds:.2f}", f"{result.error:.4f}", f"{result.memory:.1f}"]


def regression(report: Report, chosen: Sequence[str], n_rows: int | None, *, quick: bool) -> None:
    for dataset in chosen:
        for threads in (1, None):
            _, X, _ = standardized(dataset, n_rows)
            results = measured(report, dataset, n_rows, threads, quick=quick)
            how_many = "one thread" if threads else "default threads"
            report.heading(f"{dataset}: {len(X):,} rows of {X.shape[1]} columns, {how_many}")
            compare(report, results, len(X))
    report.remark(
        "Error: prequential mean squared error divided by the variance of the target. Time: "
        "processor time on one thread, wall-clock time with default threads, which only learners "
        "that work in chunks can use. Memory: increase of the peak memory of the process. Packages "
        "called with one row at a time are compared with kernelstream called with one row at a "
        "time from Python, the others with kernelstream in one call. dlib adds 0.001 to the "
        "diagonal of its kernel matrix and has no regularization; it runs in a separate process, "
        "whose memory is not counted."
    )
    missing = [
        name
        for name, there in (("river", river is not None), ("dlib", dlib_program() is not None))
        if not there
    ]
    if missing:
        report.remark(f"Not installed, so skipped: {', '.join(missing)}.")


HEAD = """# Comparison with other packages

Written by `make peers` (`benchmarks/peers/tables.py`), which measures all packages in one run.
The first column is the speed-up of kernelstream *at an error no larger than the other package's*.
Times are processor times on one thread.
"""


def shown(text: str) -> str:
    """The chapters for the page; others stay in OUTPUT."""
    chapters = re.split(r"(?=^## )", text, flags=re.MULTILINE)
    for i, chapter in enumerate(chapters):
        if re.match(ELSEWHERE, chapter):
            legends = re.findall(r"^Error: (?!root mean).*\n", chapter, re.MULTILINE)
            chapters[i] = "".join(f"{legend}\n" for legend in legends)
    return "".join(chapters)


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
        PAGE.write_text(HEAD + "\n" + shown("\n".join(pages)), encoding="utf-8")
