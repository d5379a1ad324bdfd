"""Prequential probabilities of classes, and sets, beside scikit-learn's isotonic calibration.

Streams are tables in a random order. Every hundred rows are predicted before they are learned.
Figures are over the rows after the first thousand. Beside the calibration error stands what it
would be, by chance, if labels were drawn with the very probabilities. scikit-learn's is a support
vector machine on 300 Nystroem features of standardized columns, calibrated by isotonic regression
with five folds (CalibratedClassifierCV), refitted on all rows so far every time their number has
grown by a quarter; ours learns each row once.

    python benchmarks classification probabilities [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from report import Report
from sklearn.calibration import CalibratedClassifierCV
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from streams import FloatArray, available, load, random_order

import kernelstream as ks

TABLES = ("ijcnn1", "codrna_30k", "spambase", "w7a")
COVERAGES = (0.9, 0.95, 0.99)
PART, BEGUN, BINS = 100, 1000, 10

# Probabilities of the second class, and by coverage the sets, if there are any.
Found = tuple[FloatArray, dict[float, FloatArray]]


def ours(X: FloatArray, y: FloatArray) -> Found:
    model = ks.KernelExpertsClassifier()
    shares, sets = np.full(len(y), 0.5), {c: np.ones((len(y), 2)) for c in COVERAGES}
    for start in range(0, len(y), PART):
        rows = slice(start, start + PART)
        if start:
            shares[rows] = model.predict_proba(X[rows])[:, 1]
            for coverage, held in sets.items():
                held[rows] = model.predict_set(X[rows], coverage)
        model.partial_fit(X[rows], y[rows], classes=[0.0, 1.0])
    return shares, sets


def isotonic(X: FloatArray, y: FloatArray) -> Found:
    shares, start = np.full(len(y), 0.5), 500
    while start < len(y):
        end = min(len(y), start * 5 // 4)
        width = 1 / X.shape[1]
        features = Nystroem(gamma=width / 2, n_components=300, random_state=0)
        machine = make_pipeline(StandardScaler(), features, LinearSVC())
        model = CalibratedClassifierCV(machine, method="isotonic", cv=5).fit(X[:start], y[:start])
        shares[start:end] = model.predict_proba(X[start:end])[:, 1]
        start = end
    return shares, {}


def log_loss(shares: FloatArray, y: FloatArray) -> float:
    right = np.clip(np.where(y > 0, shares, 1 - shares), 1e-6, 1.0)
    return float(-np.log(right).mean())


def calibration_error(shares: FloatArray, y: FloatArray) -> float:
    """Expected calibration error of the second class, in bins of equal width."""
    places = np.minimum((shares * BINS).astype(int), BINS - 1)
    gaps = np.bincount(places, shares - y, minlength=BINS)
    return float(np.abs(gaps).sum() / len(y))


def chance(shares: FloatArray) -> float:
    """Mean calibration error of labels that are drawn with these probabilities."""
    rng = np.random.default_rng(0)
    drawn = [(rng.random(len(shares)) < shares).astype(np.float64) for _ in range(200)]
    return float(np.mean([calibration_error(shares, y) for y in drawn]))


METHODS: dict[str, Callable[[FloatArray, FloatArray], Found]] = {
    "KernelExpertsClassifier": ours,
    "scikit-learn, isotonic": isotonic,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    most = 3000 if parser.parse_args().quick else 12_000
    report, began = Report("probabilities"), time.perf_counter()
    report.heading(f"Probabilities of {most:,} rows, sets: coverage in percent and mean size")
    rows = []
    for name in TABLES:
        if not available(report, name):
            continue
        X, y = load(name)
        order = random_order(len(y), 0)[:most]
        X, y = X[order], (y[order] > np.min(y)).astype(np.float64)
        for method, find in METHODS.items():
            shares, sets = find(X, y)
            late = slice(BEGUN, None)
            cells = [name, method, f"{log_loss(shares[late], y[late]):.4f}"]
            cells.append(f"{100 * calibration_error(shares[late], y[late]):.2f} %")
            cells.append(f"{100 * chance(shares[late]):.2f} %")
            for coverage in COVERAGES:
                if coverage in sets:
                    held = sets[coverage][late]
                    inside = held[np.arange(len(held)), y[late].astype(int)].mean()
                    cells.append(f"{100 * inside:.1f} ({held.sum(axis=1).mean():.2f})")
                else:
                    cells.append("")
            rows.append(cells)
            report.remark(" | ".join(cells))
    columns = ["table", "method", "log loss", "calibration error", "by chance"]
    report.table([*columns, *(f"{coverage:.0%} sets" for coverage in COVERAGES)], rows)
    report.remark(f"{time.perf_counter() - began:.0f} s")
    report.write()
