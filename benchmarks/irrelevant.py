"""How much columns that say nothing cost experts that choose themselves.

Ten columns of a table decide the target, beside them stand ninety of noise; all are standard
normal, and the target has noise of a fifth of its deviation. The ten matter by three directions
across them, one by one (sines, from slow to fast), or in five pairs (products). Errors are mean
squared errors of prequential predictions on the second half of 8,000 rows, over the variance of the
targets there: of all hundred columns, and of the ten alone.

    python benchmarks/irrelevant.py [--draws 3] [--only pairs]

A page is written to benchmarks/output.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
from report import Report
from streams import FloatArray

import kernelstream as ks

ROWS, COLUMNS, RELEVANT, NOISE = 8_000, 100, 10, 0.2


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


def error(X: FloatArray, y: FloatArray) -> float:
    late = slice(len(y) // 2, None)
    misses = (ks.KernelExperts().partial_fit_predict(X, y) - y)[late]
    return float(np.mean(misses**2) / np.var(y[late]))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=3, help="tables of each kind (default 3)")
    parser.add_argument("--only", metavar="NAME", help="only the kind whose name begins so")
    arguments = parser.parse_args()
    ways = [way for way in WAYS if way.startswith(arguments.only or "")]
    if not ways:
        parser.error(f"no kind begins with {arguments.only!r}: {', '.join(WAYS)}")
    table = []
    for way in ways:
        for draw in range(arguments.draws):
            rng = np.random.default_rng(draw)
            X = rng.standard_normal((ROWS, COLUMNS))
            exact = WAYS[way](X[:, :RELEVANT])
            y = exact / exact.std() + NOISE * rng.standard_normal(ROWS)
            few, many = error(X[:, :RELEVANT].copy(), y), error(X, y)
            table.append([way, str(draw), f"{few:.4f}", f"{many:.4f}", f"{many / few:.2f}"])
    report = Report("irrelevant")
    noise = NOISE**2 / (1 + NOISE**2)
    report.text(f"Errors over the variance of the targets; of these, {noise:.4f} is noise.")
    report.table(["the ten matter by", "draw", "the 10", "all 100", "times"], table)
    report.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
