"""Experts that choose themselves on streams that change, compared with the best forgetting.

Streams of `kernelstream.datasets.adversarial`, and elevators with a change in the middle and with
one that continues all the time. Beside `KernelExperts()` a single learner with each of nine
forgettings and three bandwidths, of which the best on this stream, in hindsight, is reported; and
the recovery after the abrupt change, in steps of 250 rows. For labels the same, by mistakes.

Errors are means of several draws of a stream, and the best in hindsight is that of all draws
together. Where a row is foretold by chance alone, as the first of ten that are flipped together,
the best of 27 on a single draw is the luckiest: its mean advantage is printed too.

    python benchmarks drift changing [--rows 8000] [--draws 5] [--only rotation]

A page is written to benchmarks/output. Missing data sets are skipped.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from report import Report, chosen
from streams import FloatArray, available, load, random_order

import kernelstream as ks
from kernelstream.datasets.adversarial import block_flips, drifting, sorted_stream

FORGETTING = (1.0, 0.999, 0.998, 0.995, 0.99, 0.98, 0.97, 0.95, 0.9)
SHARES = (0.5, 1.0, 2.0)

Stream = tuple[FloatArray, FloatArray]


def elevators(rows: int, draw: int) -> Stream:
    X, y = load("elevators_raw")
    order = random_order(len(y), draw)[:rows]
    return X[order], (y[order] - y.mean()) / y.std()


def steady(rows: int, draw: int) -> Stream:
    return drifting(rows, 2, period=2000.0, random_state=draw)


def steady_among_others(rows: int, draw: int) -> Stream:
    return drifting(rows, 5, period=2000.0, random_state=draw)


def fast(rows: int, draw: int) -> Stream:
    return drifting(rows, 2, period=500.0, random_state=draw)


def slow(rows: int, draw: int) -> Stream:
    return drifting(rows, 2, period=8000.0, random_state=draw)


def by_target(rows: int, draw: int) -> Stream:
    return sorted_stream(*elevators(rows, draw))


def flips(rows: int, draw: int) -> Stream:
    return block_flips(*elevators(rows, draw), n_blocks=rows // 10, n_repeats=10, random_state=draw)


def abrupt(rows: int, draw: int) -> Stream:
    X, y = elevators(rows, draw)
    return X, np.where(np.arange(rows) < rows // 2, y, 1.0 - 2.0 * y)


def gradual(rows: int, draw: int) -> Stream:
    X, y = elevators(rows, draw)
    share = np.linspace(0.0, 1.0, rows)
    return X, (1.0 - 2.0 * share) * y


STREAMS: dict[str, Callable[[int, int], Stream]] = {
    "rotation, a turn in 500 rows": fast,
    "rotation, 2,000": steady,
    "rotation, 8,000": slow,
    "rotation, 2,000, 3 irrelevant columns": steady_among_others,
    "elevators, sorted by target": by_target,
    "elevators, ten rows each, every other ten flipped": flips,
    "elevators, sign flipped half way": abrupt,
    "elevators, sign rotating steadily": gradual,
}


def singles(
    width: int, labels: bool
) -> Iterator[tuple[float, ks.KernelRegressor | ks.KernelClassifier]]:
    """Learners of any forgetting, with it."""
    for forgetting in FORGETTING:
        for share in SHARES:
            parts = ks.Gaussian(share * width**0.5), ks.ALD(max_size=150)
            if labels:
                learner = ks.GaussNewton(0.1, loss="squared_hinge", forgetting=forgetting)
                yield forgetting, ks.KernelClassifier(*parts, learner)
            else:
                learner = ks.Ridge(0.01, forgetting=forgetting)
                yield forgetting, ks.KernelRegressor(*parts, learner)


def losses(
    model: ks.KernelRegressor | ks.KernelClassifier,
    X: FloatArray,
    y: FloatArray,
    labels: bool,
) -> FloatArray:
    """Squared errors over the variance of the targets, or mistakes in per cent, of each row.

    Infinite if the model refuses a row, as with little regularization and much forgetting.
    """
    try:
        if labels:
            said = model.partial_fit_predict(X, y, classes=[-1.0, 1.0])
            return 100.0 * (said != y)
        return (model.partial_fit_predict(X, y) - y) ** 2 / np.var(y)
    except ks.exceptions.DataError:
        return np.full(len(y), np.inf)


def drawn(name: str, rows: int, draw: int, labels: bool) -> tuple[FloatArray, FloatArray]:
    """Losses of ours by row on a draw of a stream, and mean losses of the others."""
    X, y = STREAMS[name](rows, draw)
    if labels:
        y = np.where(y > np.median(y), 1.0, -1.0)
    experts = ks.KernelExpertsClassifier() if labels else ks.KernelExperts()
    ours = losses(experts, X, y, labels)
    others = [np.mean(losses(model, X, y, labels)) for _, model in singles(X.shape[1], labels)]
    return ours, np.array(others)


def compared(report: Report, names: list[str], rows: int, draws: int, labels: bool) -> None:
    """Ours and the best of all forgettings on each stream."""
    forgettings = np.array([forgetting for forgetting, _ in singles(1, labels)])
    table, recovery = [], []
    for name in report.track(names, "labels" if labels else "numbers"):
        found = [drawn(name, rows, draw, labels) for draw in range(draws)]
        ours = np.mean([ours for ours, _ in found], axis=0)
        others = np.array([others for _, others in found])
        means = others.mean(axis=0)
        mean, best = float(np.mean(ours)), float(means.min())
        lucky = float(np.mean(others.min(axis=1)))
        never = float(means[forgettings == 1.0].min())
        table.append([name, f"{mean:.4g}", f"{best:.4g}", f"{forgettings[means.argmin()]:g}",
                      f"{never:.4g}", f"{mean / best:.2f}", f"{lucky / best:.2f}"])  # fmt: skip
        if STREAMS[name] is abrupt:
            after = ours[rows // 2 :]
            recovery = [f"{np.mean(after[k : k + 250]):.3g}" for k in range(0, 2000, 250)]
    report.heading("Mistakes, %" if labels else "Squared error over the variance")
    report.table(
        ["stream", "experts", "best forgetting", "which", "without", "experts / best",
         "best of each draw / best"],
        table,
    )  # fmt: skip
    if recovery:
        report.remark("after the abrupt change, each 250 rows: " + ", ".join(recovery))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=8_000, help="rows (default 8000)")
    parser.add_argument("--draws", type=int, default=5, help="draws of each stream (default 5)")
    parser.add_argument("--only", metavar="NAME", help="only streams whose name begins so")
    arguments = parser.parse_args()
    names = chosen(parser, STREAMS, arguments.only)
    warnings.simplefilter("ignore", UserWarning)  # of single learners that are of no use here
    report = Report("changing")
    if not available(report, "elevators_raw"):
        names = [name for name in names if not name.startswith("elevators")]
    for labels in (False, True):
        compared(report, names, arguments.rows, arguments.draws, labels)
    report.write()
    return 0
