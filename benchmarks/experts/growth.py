"""Experts on 10,000 to ten million rows, beside LightGBM trained on up to a million so far.

A generated table of twelve columns: two smooth directions, a product of two columns, thresholds of
two, a periodic function of one, four without effect, and noise. At each mark the mean squared error
on 20,000 other rows, as a share of the variance without noise: above what no learner could
foretell. LightGBM is trained from the start at each mark, with its defaults and with 1,000 rounds
of 63 leaves.

    python benchmarks experts growth [--rows 1000000]

A page is written to benchmarks/output. The experts' seconds are those of all rows so far, row by
row; memory is the growth of the peak of the process since the first mark.
"""

from __future__ import annotations

import argparse
import time
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from measuring import peak_memory, processor_time
from report import Report
from streams import FloatArray

import kernelstream as ks

MARKS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
MOST_OF_PEERS = 1_000_000
NOISE = 0.3
WIDTH = 12
HELD_OUT = 20_000


def rows(count: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Rows and their targets without noise."""
    X = np.random.default_rng(seed).normal(size=(count, WIDTH))
    first, second = X[:, :4] @ [0.6, -0.5, 0.4, 0.3], X[:, 2:6] @ [0.5, 0.5, -0.5, 0.3]
    target = np.sin(2 * first) + 0.5 * second**2 + 0.5 * X[:, 0] * X[:, 5]
    target += (X[:, 6] > 0.5) - 0.5 * (X[:, 1] > 0.0) * (X[:, 6] < 0.0) + 0.4 * np.sin(4 * X[:, 7])
    return X, target


def lightgbm(X: FloatArray, y: FloatArray, Z: FloatArray, **settings: Any) -> FloatArray:
    """Predictions by boosted trees that are trained on these rows."""
    from lightgbm import LGBMRegressor  # noqa: PLC0415 (optional)

    model = LGBMRegressor(n_jobs=1, verbose=-1, random_state=0, **settings)
    return np.asarray(model.fit(X, y).predict(Z), dtype=np.float64)


PEERS: dict[str, dict[str, Any]] = {
    "LightGBM": {},
    "LightGBM, 1,000 rounds": {"n_estimators": 1000, "num_leaves": 63, "learning_rate": 0.05},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=MOST_OF_PEERS, help="most rows (10^6)")
    most = parser.parse_args().rows
    warnings.simplefilter("ignore", UserWarning)  # LightGBM: names of columns
    report = Report("experts_growth")
    peers = PEERS if find_spec("lightgbm") else {}
    if not peers:
        report.remark("not installed, so left out: lightgbm")
    X, clean = rows(min(most, MARKS[-1]), 0)
    y = clean + NOISE * np.random.default_rng(2).normal(size=len(X))
    Z, z = rows(HELD_OUT, 1)

    def error(made: FloatArray) -> str:
        return f"{np.mean((made - z) ** 2) / np.var(z):.4f}"

    experts, seconds, done, began = ks.KernelExperts(), 0.0, 0, 0.0
    lines = []
    for mark in [mark for mark in MARKS if mark <= len(X)]:
        worst, before = 0.0, processor_time()
        for start in range(done, mark, 1000):
            called = time.perf_counter()
            experts.partial_fit(X[start : start + 1000], y[start : start + 1000])
            worst = max(worst, time.perf_counter() - called)
        seconds += (own := processor_time() - before)
        began = began or peak_memory()
        line = [f"{mark:,}", error(experts.predict(Z)), f"{seconds:.0f}",
                f"{1e6 * own / (mark - done):.0f}", f"{worst:.2f}",
                f"{peak_memory() - began:.0f}"]  # fmt: skip
        done = mark
        for settings in peers.values():
            if mark > MOST_OF_PEERS:
                line += ["", ""]
                continue
            before = processor_time()
            made = lightgbm(X[:mark], y[:mark], Z, **settings)
            line += [error(made), f"{processor_time() - before:.0f}"]
        lines.append(line)
        print(*line, flush=True)
    columns = ["rows", "KernelExperts()", "s", "us a row since", "slowest 1,000, s", "MB since"]
    for name in peers:
        columns += [name, "s"]
    report.table(columns, lines)
    report.write()


if __name__ == "__main__":
    main()
