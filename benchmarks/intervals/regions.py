"""Coverage of 90 % intervals by regions: fifths of the prediction, and of the column of the noise.

Streams of 6,000 rows: four with noise that grows with the prediction or depends on one column, and
tables in a random order. Each row has its interval before it is learned; figures are from row 1,000
on, and widths are means in standard deviations of the target.

    python benchmarks intervals regions [--only cal_housing] [--model KernelExperts]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from report import Report, chosen
from streams import NUMBERS, FloatArray, available, load, random_order

import kernelstream as ks

ROWS, FROM = 6000, 1000
MODELS = {"KernelRegressor": ks.KernelRegressor, "KernelExperts": ks.KernelExperts}
# The column that the noise of these depends on; None: noise depends on the prediction.
MADE = {
    "grows with the prediction": None,
    "grows with a column": 2,
    "V of a column": 2,
    "constant": 2,
}


def made(name: str) -> tuple[FloatArray, FloatArray]:
    """Rows and targets with noise of this kind."""
    rng = np.random.default_rng(0)
    X, noise = rng.uniform(size=(ROWS, 4)), rng.normal(size=ROWS)
    smooth = np.sin(3 * X[:, 0]) + X[:, 1]
    size = {
        "grows with a column": 0.5 * (0.05 + X[:, 2]),
        "V of a column": 0.5 * (0.05 + np.abs(2 * X[:, 2] - 1)),
    }
    if name == "grows with the prediction":
        return X, np.exp(1.5 * smooth) * (1 + 0.15 * noise)
    return X, smooth + size.get(name, 0.3) * noise


def streams(report: Report, names: list[str]) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    for name in names:
        if name in MADE:
            yield name, *made(name)
        elif available(report, name):
            X, y = load(name)
            order = random_order(len(y), 0)[:ROWS]
            yield name.removesuffix("_raw"), X[order], y[order]


def by_fifths(values: FloatArray, inside: NDArray[np.bool_]) -> str:
    """Share inside in each fifth of these values."""
    values, inside = values[FROM:], inside[FROM:]
    fifth = np.argsort(np.argsort(values)) * 5 // len(values)
    return " ".join(f"{inside[fifth == k].mean():.2f}" for k in range(5))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="streams whose name begins so")
    parser.add_argument("--model", choices=list(MODELS), help="this one alone")
    options = parser.parse_args()
    report = Report("regions")
    rows = []
    for name, X, y in streams(report, chosen(parser, [*MADE, *NUMBERS], options.only)):
        for kind in [options.model] if options.model else list(MODELS):
            ends = MODELS[kind]().partial_fit_predict_interval(X, y, coverage=0.9)
            inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
            predictions = np.append(np.zeros(FROM), ends[FROM:].mean(axis=1))
            column = MADE.get(name)
            rows.append(
                [
                    name,
                    kind,
                    by_fifths(predictions, inside),
                    "" if column is None else by_fifths(X[:, column], inside),
                    f"{inside[FROM:].mean():.3f}",
                    f"{np.mean(ends[FROM:, 1] - ends[FROM:, 0]) / y.std():.2f}",
                ]
            )
            report.remark(" | ".join(rows[-1]))
    columns = ["noise", "model", "fifths of the prediction", "of the column", "all", "width"]
    report.table(columns, rows)
    report.write()
