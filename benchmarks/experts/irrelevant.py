"""How much irrelevant columns cost experts that choose themselves.

Ten columns of a table decide the target, beside them stand ten, thirty or ninety of noise; all are
standard normal, and the target has noise of a fifth of its deviation. The ten matter by three
directions across them, one by one (sines, from slow to fast), or in five pairs (products). Errors
are mean squared errors of prequential predictions on the second half of 8,000 rows, over the
variance of the targets there: of the ten alone, and of all columns, also of gradient boosting that
is retrained whenever the stream has grown by a quarter.

    python benchmarks experts irrelevant [--draws 3] [--only pairs]

A page is written to benchmarks/output.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from experts.boosting import RUNS, Run, measured
from report import Report, chosen
from streams import FloatArray

ROWS, COLUMNS, RELEVANT, NOISE = 8_000, (20, 40, 100), 10, 0.2


def directions(X: FloatArray) -> FloatArray:
    d = X.shape[1]
    a, b, c = (X @ np.cos(np.pi * np.outer(np.arange(d) + 0.5, [1, 2, 3]) / d) * np.sqrt(2 / d)).T
    return np.sin(2 * a) + b * c + 0.5 * np.tanh(b)


def single(X: FloatArray) -> FloatArray:
    return np.sin((1 + 0.3 * np.arange(X.shape[1])) * X).sum(axis=1)


def pairs(X: FloatArray) -> FloatArray:
    return (X[:, ::2] * X[:, 1::2]).sum(axis=1)


WAYS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "directions": directions,
    "single": single,
    "pairs": pairs,
}


def error(run: Run, X: FloatArray, y: FloatArray) -> float:
    return measured(run, np.ascontiguousarray(X), y)[0]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=3, help="tables of each kind (default 3)")
    parser.add_argument("--only", metavar="NAME", help="only the kind whose name begins so")
    arguments = parser.parse_args()
    ways = chosen(parser, WAYS, arguments.only)
    report = Report("irrelevant")
    table = []
    for way in ways:
        for draw in report.track(range(arguments.draws), way):
            rng = np.random.default_rng(draw)
            X = rng.standard_normal((ROWS, max(COLUMNS)))
            exact = WAYS[way](X[:, :RELEVANT])
            y = exact / exact.std() + NOISE * rng.standard_normal(ROWS)
            few = error(RUNS["experts"], X[:, :RELEVANT], y)
            for columns in COLUMNS:
                many, trees = (
                    error(RUNS[name], X[:, :columns], y) for name in ("experts", "boosting")
                )
                numbers = (f"{few:.4f}", f"{many:.4f}", f"{many / few:.2f}", f"{trees:.4f}")
                table.append([way, str(draw), str(columns), *numbers])
    noise = NOISE**2 / (1 + NOISE**2)
    report.text(f"Errors over the variance of the targets; of these, {noise:.4f} is noise.")
    report.table(
        ["the ten matter by", "draw", "columns", "the ten alone", "all", "times", "boosting, all"],
        table,
    )
    report.write()
    return 0
