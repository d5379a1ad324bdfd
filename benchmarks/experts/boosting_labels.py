"""Experts that choose themselves for labels, compared with gradient boosting that is retrained.

As `boosting.py`, on tables of labels: scikit-learn's `HistGradientBoostingClassifier`,
trained again on all rows whenever there are a quarter more of them, on the same rows in the same
random orders, at most 20,000. What learns row by row predicts each row before it is learned. On
the second half: the share of mistakes, the mean logarithmic loss, and the expected calibration
error (the probability of the second class and its frequency in 15 bins, mean absolute difference);
and the processor time on one thread that a stream took, predictions included, or all trainings.

    python benchmarks experts boosting_labels [--orders 5] [--only ijcnn1] [--rows 20000]

A page is written to benchmarks/output. Missing data sets are skipped.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from experts.boosting import cell, trainings
from measuring import Stopwatch, alone
from report import Report, chosen
from sklearn.ensemble import HistGradientBoostingClassifier
from streams import FloatArray, available, load, random_order

import kernelstream as ks

TABLES = {"ijcnn1": "ijcnn1", "codrna": "codrna_30k", "spambase": "spambase", "w7a": "w7a"}
BINS = 15

# Gives the probability of the second class of each row, made before the row was learned; the
# stopwatch runs while it learns.
Run = Callable[[FloatArray, FloatArray, Stopwatch], FloatArray]


def learner(begin: Callable[[], ks.KernelClassifier]) -> Run:
    def run(X: FloatArray, y: FloatArray, learning: Stopwatch) -> FloatArray:
        with learning:
            return begin().partial_fit_predict_proba(X, y, classes=[0.0, 1.0])[:, 1]

    return run


def boosting(X: FloatArray, y: FloatArray, learning: Stopwatch) -> FloatArray:
    shares = np.full(len(y), 0.5)
    for start, stop in trainings(len(y)):
        if len(set(y[:start])) == 2:
            with learning:
                model = HistGradientBoostingClassifier(random_state=0).fit(X[:start], y[:start])
            shares[start:stop] = model.predict_proba(X[start:stop])[:, 1]
    return shares


RUNS: dict[str, Run] = {
    "experts": learner(ks.KernelExpertsClassifier),
    "boosting": boosting,
    "KernelClassifier, logistic": learner(lambda: ks.KernelClassifier(loss="logistic")),
}


def calibration_error(shares: FloatArray, y: FloatArray) -> float:
    bins = np.minimum((BINS * shares).astype(int), BINS - 1)
    return float(sum(abs(np.sum((shares - y)[bins == k])) for k in range(BINS)) / len(y))


def measured(run: Run, X: FloatArray, y: FloatArray) -> list[float]:
    """Mistakes, logarithmic loss and calibration error on the second half, and seconds."""
    learning = Stopwatch()
    shares = run(X, y, learning)
    shares, y = shares[len(y) // 2 :], y[len(y) // 2 :]
    given = np.clip(np.where(y > 0, shares, 1 - shares), 1e-6, 1)
    wrong = np.mean((shares > 0.5) != (y > 0))
    return [
        100 * wrong,
        -np.mean(np.log(given)),
        100 * calibration_error(shares, y),
        learning.seconds,
    ]


def all_measured(name: str, seed: int, rows: int) -> FloatArray:
    """What is measured of each run (runs, 4) on one random order."""
    X, y = load(name)
    order = random_order(len(y), seed)[:rows]
    X, y = X[order], (y[order] != np.min(y)).astype(float)
    return np.array([measured(run, X, y) for run in RUNS.values()])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--orders", type=int, default=5, help="random orders (default 5)")
    parser.add_argument("--only", metavar="NAME", help="only the data whose name begins so")
    parser.add_argument("--rows", type=int, default=20_000, help="most rows (default 20000)")
    arguments = parser.parse_args()
    names = chosen(parser, TABLES, arguments.only)

    report = Report("gradient_boosting_labels")
    table = []
    for name in (name for name in names if available(report, TABLES[name])):
        found = np.stack([
            alone(1, all_measured, TABLES[name], seed, arguments.rows)
            for seed in report.track(range(arguments.orders), name)
        ])  # fmt: skip
        for run, values in zip(RUNS, np.moveaxis(found, 1, 0), strict=True):
            digits = (2, 4, 2, 1)
            cells = [cell(each, n) for each, n in zip(values.T, digits, strict=True)]
            table.append([name, run, *cells])
    report.heading(f"Second half, {arguments.orders} random orders")
    report.table(["data", "model", "mistakes, %", "log loss", "calibration, %", "seconds"], table)
    report.write()
    return 0
