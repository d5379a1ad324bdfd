"""Probabilities of a rare class, of 6,000 rows of five columns, and by different losses.

The log-odds are 1.5 a - b + .7 c d and a constant that gives the share of the class. Figures are
expected logarithmic losses of 3,000 other rows under the true probabilities, and mean
probabilities in percent; means over draws. "Not calibrated" is the same learner with signs as
numbers, whose predictions are the logarithms of odds before they are calibrated.

Then of 2,000 rows of two columns, 5 % of whose labels are flipped, with the losses of 2,000 others.

    python benchmarks classification rare [--draws N]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from report import Report
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from streams import FloatArray

import kernelstream as ks

SHARES = (0.5, 0.1, 0.02, 0.005, 0.002)
ORDERS = ("random", "sorted", "one label after another")
LEARNED, OTHERS = 6000, 3000


def drawn(share: float, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows, labels and true probabilities."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(LEARNED + OTHERS, 5))
    odds = 1.5 * X[:, 0] - X[:, 1] + 0.7 * X[:, 2] * X[:, 3]
    shares = expit(odds + brentq(lambda b: expit(odds + b).mean() - share, -30, 30))
    return X, (rng.random(len(X)) < shares).astype(np.float64), shares


def found(X: FloatArray, y: FloatArray, X_new: FloatArray) -> dict[str, FloatArray]:
    """Probabilities by each method."""
    scale = StandardScaler().fit(X)
    linear = LogisticRegression().fit(scale.transform(X), y)
    odds = ks.KernelRegressor(learner=ks.GaussNewton(loss="logistic"))
    odds.fit(X, 2 * y - 1, shuffle=False)
    calibrated = ks.KernelClassifier().fit(X, y, shuffle=False)
    return {
        "the share so far": np.full(len(X_new), y.mean()),
        "logistic regression": linear.predict_proba(scale.transform(X_new))[:, 1],
        "not calibrated": expit(odds.predict(X_new)),
        "KernelClassifier()": calibrated.predict_proba(X_new)[:, 1],
    }


def of_losses(draws: int) -> list[list[str]]:
    """Logarithmic loss, and share of probabilities that are 0 or 1 exactly, by loss."""
    rows = []
    for loss in ("logistic", "squared", "squared_hinge"):
        cells = []
        for seed in range(draws):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(4000, 2))
            y = np.sin(2 * X[:, 0]) + X[:, 1] > 0
            y = y != (rng.random(4000) < 0.05)
            p = ks.KernelClassifier(loss=loss).fit(X[:2000], y[:2000]).predict_proba(X[2000:])
            right = np.maximum(p[np.arange(2000), y[2000:].astype(int)], 1e-15)
            sure = np.mean((p == 0.0) | (p == 1.0))
            cells.append((-np.log(right).mean(), 100 * sure))
        rows.append([loss, *(f"{mean:.2f}" for mean in np.mean(cells, axis=0))])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5, help="draws of the rows")
    draws = parser.parse_args().draws
    report = Report("rare_classes")
    report.heading(f"A rare class: log loss, and mean probability in percent ({draws} draws)")
    rows, names = [], []
    for share in SHARES:
        for order in ORDERS:
            cells: dict[str, list[tuple[float, float]]] = {}
            for seed in range(draws):
                X, y, true = drawn(share, seed)
                first = np.arange(LEARNED)
                if order != "random":
                    first = np.argsort(X[:LEARNED, 0] if order == "sorted" else y[:LEARNED])
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ks.exceptions.KernelstreamWarning)
                    all_found = found(X[first], y[first], X[LEARNED:])
                true = true[LEARNED:]
                for name, p in {"true": true, **all_found}.items():
                    clipped = np.clip(p, 1e-12, 1 - 1e-12)
                    losses = true * np.log(clipped) + (1 - true) * np.log1p(-clipped)
                    cells.setdefault(name, []).append((-losses.mean(), 100 * p.mean()))
            names = list(cells)
            means = [np.mean(pairs, axis=0) for pairs in cells.values()]
            rows.append(
                [f"{share:g}", order, *(f"{loss:.4f} ({mean:.2f})" for loss, mean in means)]
            )
            report.remark(" | ".join(rows[-1]))
    report.table(["share", "order", *names], rows)
    report.heading("Log loss, and probabilities that are 0 or 1 in percent")
    report.table(["loss", "log loss", "0 or 1"], of_losses(draws))
    report.write()
