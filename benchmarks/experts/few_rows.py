"""Experts of the first rows: 8 to 500 rows of made tables, beside ridge regression.

Numbers: root mean square errors of 500 other rows, without noise, as shares of the deviation of the
truth (of the noise where nothing is to be found). Labels: mistakes of 1,000 other rows, beside
`KernelClassifier()`. Means of five draws.

    python benchmarks experts few_rows
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from report import Report
from sklearn.linear_model import Ridge
from streams import FloatArray

import kernelstream as ks

ROWS = (8, 12, 20, 36, 60, 108, 150, 300, 500)
ROWS_OF_LABELS = (20, 40, 60, 108, 200, 400)
DRAWS, MOST, NOISE = 5, 500, 0.1

Truth = Callable[[FloatArray], FloatArray]

TARGETS: dict[str, tuple[int, Truth]] = {
    "linear": (3, lambda X: X[:, 0]),
    "linear, 3 of 20 columns": (20, lambda X: 2 * X[:, 0] - X[:, 5] + 0.5 * X[:, 9]),
    "linear, 10 columns": (10, lambda X: X @ np.arange(10.0)),
    "linear, skewed columns": (3, lambda X: np.exp(X[:, 0]) - 0.5 * np.exp(X[:, 1])),
    "sine": (3, lambda X: np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]),
    "steps": (3, lambda X: 2.0 * (X[:, 0] > 0) + (X[:, 1] > 0.5)),
    "product": (3, lambda X: X[:, 0] * X[:, 1]),
    "nothing": (3, lambda X: 0.0 * X[:, 0]),
}


def of_numbers(name: str, rows: int, seed: int) -> list[float]:
    """Errors of the experts, and of ridge regression."""
    width, truth = TARGETS[name]
    rng = np.random.default_rng(100 + seed)
    X = rng.normal(size=(2 * MOST, width))
    right = truth(X)
    noise = (1.0 if name == "nothing" else NOISE) * rng.normal(size=2 * MOST)
    if "skewed" in name:
        X = np.exp(X)
    scale = 1.0 if name == "nothing" else float(right[MOST:].std())
    found = []
    for model in (ks.KernelExperts(), Ridge()):
        made = model.fit(X[:rows], (right + noise)[:rows]).predict(X[MOST:])
        found.append(float(np.sqrt(np.mean((made - right[MOST:]) ** 2))) / scale)
    return found


def of_labels(classes: int, rows: int, seed: int) -> list[float]:
    """Mistakes of the experts, and of one model."""
    rng = np.random.default_rng(200 + seed)
    most = max(ROWS_OF_LABELS)
    if classes == 2:
        X = rng.normal(size=(most + 1000, 4))
        y = (X[:, 0] + 0.5 * np.sin(3 * X[:, 1]) > 0).astype(int)
    else:
        centers = 2.0 * rng.normal(size=(classes, 4))
        y = np.arange(most + 1000) % classes
        X = centers[y] + 0.8 * rng.normal(size=(most + 1000, 4))
    models = (ks.KernelExpertsClassifier(), ks.KernelClassifier())
    return [np.mean(m.fit(X[:rows], y[:rows]).predict(X[most:]) != y[most:]) for m in models]


def main() -> None:
    report = Report("few_rows")
    report.heading("Errors of KernelExperts() (ridge regression) by the number of rows")
    lines = []
    for name in TARGETS:
        cells = [name]
        for rows in ROWS:
            ours, ridge = np.mean([of_numbers(name, rows, seed) for seed in range(DRAWS)], axis=0)
            cells.append(f"{ours:.3f} ({ridge:.3f})")
        lines.append(cells)
        report.remark(" | ".join(cells))
    report.table(["target", *map(str, ROWS)], lines)
    report.heading("Mistakes of KernelExpertsClassifier() (KernelClassifier())")
    lines = []
    for classes in (2, 5, 20):
        cells = [f"{classes} classes"]
        for rows in ROWS_OF_LABELS:
            ours, one = np.mean([of_labels(classes, rows, seed) for seed in range(DRAWS)], axis=0)
            cells.append(f"{ours:.3f} ({one:.3f})")
        lines.append(cells)
        report.remark(" | ".join(cells))
    report.table(["labels", *map(str, ROWS_OF_LABELS)], lines)
    report.write()
