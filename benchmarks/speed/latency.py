"""Latency of single rows from Python: `predict_one`, then `learn_one`.

The dictionary is full, rows are numpy arrays or lists, and each figure is the minimum of many short
runs, which excludes other load of the machine. With one stored point the overhead of a call from
Python remains.

    python benchmarks speed latency [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from report import Report
from streams import FloatArray

import kernelstream as ks

SIZES = (1, 10, 30, 100, 300)
WIDTH = 8
ROWS = 200  # of one run
LEARNERS = {"ridge": ks.Ridge(), "NONS": ks.OnlineNewton(), "gradient": ks.Gradient()}


def grown(learner: object, size: int, X: FloatArray, y: FloatArray) -> ks.KernelRegressor:
    """A model that stores `size` points and no more."""
    basis = ks.FirstPoints(size)
    model = ks.KernelRegressor(kernel=ks.Gaussian(1.0), basis=basis, learner=learner, scale=False)  # type: ignore[arg-type]
    model.fit(X, y)
    assert model.n_stored_ == size
    return model


def least(act: Callable[[], None], runs: int) -> float:
    """Microseconds per row of the fastest of this many runs."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        act()
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / ROWS


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    runs = 20 if parser.parse_args().quick else 200
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (2_000, WIDTH))
    y = np.sin(X.sum(axis=1))
    arrays, lists, targets = list(X[:ROWS]), X[:ROWS].tolist(), y[:ROWS].tolist()
    report = Report("latency")
    report.heading(f"One row from Python, d = {WIDTH}, microseconds")
    rows = []
    for name, learner in LEARNERS.items():
        for size in SIZES:
            model = grown(learner, size, X, y)

            def predict(given: list[object], model: ks.KernelRegressor = model) -> None:
                for x in given:
                    model.predict_one(x)  # type: ignore[arg-type]

            def learn(given: list[object], model: ks.KernelRegressor = model) -> None:
                for x, target in zip(given, targets, strict=True):
                    model.learn_one(x, target)  # type: ignore[arg-type]

            costs = [
                least(lambda act=act, given=given: act(given), runs)  # type: ignore[misc]
                for given in (arrays, lists)
                for act in (predict, learn)
            ]
            rows.append([f"{name}, m = {size}", *(f"{c:.2f}" for c in costs),
                         f"{costs[0] + costs[1]:.2f}"])  # fmt: skip
    report.table(
        ["learner", "predict", "learn", "predict, list", "learn, list", "predict + learn"], rows
    )
    report.remark("predict + learn: of numpy rows.")
    report.write()
