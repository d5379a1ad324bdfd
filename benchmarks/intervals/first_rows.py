"""Coverage of 90 % intervals in the first 100 rows.

Streams of six kinds, single rows, each with its interval before it is learned. The share of
targets inside, by row, over all streams of a kind (with 1,000, two standard errors are 0.02).

    python benchmarks intervals first_rows [--streams 1000] [--model KernelExperts]
"""

from __future__ import annotations

import argparse

import numpy as np
from report import Report
from streams import FloatArray

import kernelstream as ks

ROWS = (3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 60, 100)
# Rows of a stream, more than those measured: the last of sorted rows are the outermost ones.
LENGTH = 120
MODELS = {"KernelRegressor": ks.KernelRegressor, "KernelExperts": ks.KernelExperts}


def kinds_of_streams(seed: int, n: int) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Six kinds of short streams."""
    rng = np.random.default_rng(seed)
    X, noise = rng.normal(size=(n, 2)), rng.normal(size=n)
    smooth = np.sin(2.0 * X[:, 0]) + X[:, 1]
    by_column = np.argsort(X[:, 0])
    return {
        "smooth function": (X, 50.0 + smooth + 0.3 * noise),
        "heavy tails": (X, smooth + 0.5 * rng.standard_t(3, size=n)),
        "heteroscedastic": (X, smooth + 0.5 * np.exp(0.5 * X[:, 1]) * noise),
        "sorted by a column": (X[by_column], smooth[by_column] + 0.3 * noise),
        "random walk": (X, np.cumsum(noise)),
        "counts": (X, rng.poisson(np.exp(1.0 + 0.5 * X[:, 0])).astype(np.float64)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--streams", type=int, default=1000, help="of each kind")
    parser.add_argument("--model", choices=list(MODELS), help="this one alone")
    options = parser.parse_args()
    report = Report("first_rows")
    table = []
    for name in [options.model] if options.model else list(MODELS):
        inside: dict[str, list[FloatArray]] = {}
        for seed in report.track(list(range(options.streams)), name):
            for kind, (X, y) in kinds_of_streams(seed, LENGTH).items():
                ends = MODELS[name]().partial_fit_predict_interval(X, y, coverage=0.9)
                inside.setdefault(kind, []).append((ends[:, 0] <= y) & (y <= ends[:, 1]))
        for kind, each in inside.items():
            shares = np.mean(each, axis=0)
            table.append([f"{name}, {kind}", *(f"{shares[row - 1]:.2f}" for row in ROWS)])
    report.table(["row", *map(str, ROWS)], table)
    report.write()
