"""Comparison of kernelstream with other packages: docs/peers.md.

Three parts, the same task for every package, each run in its own process: prequential regression on
real streams (learners.py); the spectrum of an Ornstein-Uhlenbeck process, with kooplearn, deeptime,
PyDMD and koopman-dmd (koopman.py); and the growth of time and memory. For every package the table
gives the fastest configuration of kernelstream with no larger error, and the speed-up.

Columns and target are standardized with the mean and deviation of the first 1,000 rows, which are
not scored. scikit-learn's gradient descent and irithyll get the best of a small grid of parameters,
chosen in hindsight on this very stream; the others run with their defaults. A package that is not
installed is listed and skipped; ``make peers`` installs them into a separate environment.

    python benchmarks peers tables [--quick] [--rows N] [--dataset NAME] [--part PART]
        [--one-thread]
"""

from __future__ import annotations

import argparse
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measuring import alone, clock, peak_memory
from peers import koopman as koopman_peers
from peers.learners import CHUNKS, MANY, ONE, Entry, Timed, entries, missing
from report import OUTPUT, Report
from speed import growth
from streams import FloatArray, load, random_order

PAGE = Path(__file__).resolve().parents[2] / "docs" / "peers.md"
WARM_UP = 1000
# Runs of less than a second are the fastest of three: other work on the machine slows some by half.
REPEATS, LONG = 3, 1.0
DATASETS = ("elevators_raw", "cal_housing")
PARTS = ("regression", "spectrum", "growth")
NOT_ON_PYPI = "EigenPro and Falkon (on GitHub only; the EigenPro in xRFM needs an NVIDIA GPU)"
ELSEWHERE = r"## (.*default threads|Expected next state|Microseconds per row)"


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


# --------------------------------------------------------------------------------------- the tables


def measure(
    index: int, dataset: str, n_rows: int | None, threads: int | None
) -> tuple[float, float, float]:
    """Seconds, megabytes above what the process had before, and the error, of one entry."""
    warm_up, X, y = standardized(dataset, n_rows)
    entry, now = entries()[index], clock(threads)
    with np.errstate(all="ignore"):
        entry.run(warm_up, X[:400], y[:400])  # imports, and whatever is made once
        base = peak_memory()
        fastest = float("inf")
        for _ in range(REPEATS):
            start = now()
            predictions = entry.run(warm_up, X, y)
            seconds = now() - start
            if isinstance(predictions, Timed):
                predictions, seconds = predictions
            fastest = min(fastest, seconds)
            if fastest > LONG:
                break
    return fastest, peak_memory() - base, error_of(predictions, y)


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
        if not entry.ours and entry.fed == ONE and entry.name != chosen.get(family, entry.name):
            continue
        seconds, memory, error = alone(threads, measure, index, dataset, n_rows, threads)
        result = Result(entry, seconds, memory, error)
        key = (family if not entry.ours else entry.name, entry.fed)
        if key not in best or error < best[key].error:
            best[key] = result
            if entry.fed == CHUNKS:
                chosen[family] = entry.name
    return list(best.values())


def compare(report: Report, results: list[Result], n_rows: int) -> None:
    """The table: for each package the fastest configuration with no larger error."""
    mine = [result for result in results if result.entry.ours]
    lines = []
    for peer in (result for result in results if not result.entry.ours):
        alike = ONE if peer.entry.fed == ONE else MANY
        equal = [r for r in mine if r.entry.fed == alike and r.error <= peer.error]
        match = min(equal, key=lambda result: result.seconds, default=None)
        ratio = peer.seconds / match.seconds if match is not None else 0.0
        who = [f"{peer.entry.name}, {peer.entry.fed}", *cells(peer, n_rows)]
        us = [match.entry.name, *cells(match, n_rows)] if match else ["none", *[""] * 3]
        lines.append((ratio, [speed_up(ratio), *who, *us]))
    lines.sort(key=lambda line: -line[0])
    columns = ["speed-up", "package", "µs per row", "error", "MB"]
    report.table(
        [*columns, "kernelstream", "µs per row ", "error ", "MB "], [row for _, row in lines]
    )
    smallest = min(mine, key=lambda result: (round(result.error, 4), result.seconds))
    report.remark(
        f"Smallest error of kernelstream: {smallest.error:.4f} ({smallest.entry.name}, "
        f"{smallest.entry.fed}, {1e6 * smallest.seconds / n_rows:.1f} µs per row)."
    )


def speed_up(ratio: float) -> str:
    return f"{ratio:.{1 if ratio >= 1.0 else 2}f}" if ratio else ""


def cells(result: Result, n_rows: int) -> list[str]:
    microseconds = 1e6 * result.seconds / n_rows
    return [f"{microseconds:.2f}", f"{result.error:.4f}", f"{result.memory:.1f}"]


def regression(
    report: Report,
    chosen: Sequence[str],
    n_rows: int | None,
    several: Sequence[int | None],
    *,
    quick: bool,
) -> None:
    for dataset in chosen:
        for threads in several:
            _, X, _ = standardized(dataset, n_rows)
            results = measured(report, dataset, n_rows, threads, quick=quick)
            how_many = "one thread" if threads else "default threads"
            report.heading(f"{dataset}: {len(X):,} rows of {X.shape[1]} columns, {how_many}")
            compare(report, results, len(X))
    report.remark(LEGEND)
    absent = [*missing(), NOT_ON_PYPI]
    report.remark(f"Not installed: {', '.join(absent)}.")


LEGEND = (
    "Error: prequential mean squared error divided by the variance of the target. Time: processor "
    "time on one thread, wall-clock time with default threads, which only learners that work in "
    "chunks can use; below a second, the smallest of three runs. Memory: increase of the peak "
    "memory of the process. Packages called with one row at a time are compared with kernelstream "
    "called with one row at a time from Python, the others with kernelstream in one call. "
    "Retrained: a row is predicted by the latest model, which is trained on all rows so far at 300 "
    "rows and whenever these have grown by a quarter; its time includes all training, and xRFM "
    "selects with every fifth row. dlib and irithyll are separate programs, whose memory is not "
    "counted, nor the time in which they read the rows; dlib adds 0.001 to the diagonal of its "
    "kernel matrix and has no regularization. scikit-learn's gradient descent and irithyll have "
    "the parameter, in brackets, that is best on this stream. online-cp predicts the middle of its "
    "interval; its kernel regression, whose time per row grows with the cube of the rows, is left "
    "out."
)

HEAD = """# Comparison with other packages

Written by `make peers` (`benchmarks/peers/tables.py`), which measures all packages in one run.
The first column is the speed-up of kernelstream *at an error no larger than the other package's*.
Below 1, the other package is faster.
Times are processor times on one thread.
"""


def shown(text: str) -> str:
    """The chapters for the page; others stay in OUTPUT."""
    chapters = re.split(r"(?=^## )", text, flags=re.MULTILINE)
    for i, chapter in enumerate(chapters):
        if re.match(ELSEWHERE, chapter):
            legends = re.findall(
                r"^(?:Error: (?!root mean)|Not installed: ).*\n", chapter, re.MULTILINE
            )
            chapters[i] = "".join(f"{legend}\n" for legend in legends)
    return "".join(chapters)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="3,000 rows, without the slow peers")
    parser.add_argument("--rows", type=int, help="rows of a stream; all by default")
    parser.add_argument("--dataset", action="append", choices=DATASETS, help="all by default")
    parser.add_argument(
        "--one-thread", action="store_true", help="streams of rows on one thread, as on the page"
    )
    parser.add_argument("--part", choices=PARTS, help="one alone, on its part of the page")
    arguments = parser.parse_args()
    quick = arguments.quick
    for part in PARTS if arguments.part is None else (arguments.part,):
        report = Report(f"peers_{part}")
        if part == "regression":
            rows = 3000 if quick else arguments.rows
            several = (1,) if arguments.one_thread else (1, None)
            regression(report, arguments.dataset or DATASETS, rows, several, quick=quick)
        elif part == "spectrum":
            koopman_peers.tables(report, quick=quick)
        else:
            growth.tables(report, quick=quick)
        report.write()
    if not quick:
        found = [OUTPUT / f"peers_{part}.md" for part in PARTS]
        pages = [path.read_text(encoding="utf-8") for path in found if path.exists()]
        PAGE.write_text(HEAD + "\n" + shown("\n".join(pages)), encoding="utf-8")
