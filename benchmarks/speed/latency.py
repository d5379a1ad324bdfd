"""Latency of single rows from Python: `predict_one`, then `learn_one`.

The dictionary is full, rows are numpy arrays or lists, and each figure is the minimum of many short
runs, which excludes other load of the machine. With one stored point the overhead of a call from
Python remains.

Then calls of `predict` and `partial_fit` with few rows, which check their arguments.

Then streams of single rows, each predicted and learned: the median, the 99th and 99.9th
percentiles and the longest, from call to return, waits for other threads included. In three runs on
the same rows the work of a row is the same and other load is not, so the shortest time of each row
counts.

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

Model = ks.KernelRegressor | ks.KernelExperts | ks.KernelExpertsClassifier

SIZES = (1, 10, 30, 100, 300)
WIDTH = 8
ROWS = 200  # of one run
STREAM = 40_000  # rows
QUANTILES = (0.5, 0.99, 0.999, 1.0)
SHORT = (1, 10, 100)  # rows of a call
CALLS = 300
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


def waits(begin: Callable[[], Model], X: FloatArray, y: FloatArray) -> FloatArray:
    """Microseconds to predict and learn each row: the least of three runs."""
    least = np.full(len(y), np.inf)
    for _ in range(3):
        model = begin()
        for i, (x, target) in enumerate(zip(X, y.tolist(), strict=True)):
            start = time.perf_counter_ns()
            if i > 0:
                model.predict_one(x)
            model.learn_one(x, target)
            least[i] = min(least[i], 1e-3 * (time.perf_counter_ns() - start))
    return least


def call(act: Callable[[FloatArray, FloatArray], object], n: int) -> float:
    """Microseconds of a call with `n` other rows each time, at the median."""
    rng = np.random.default_rng(n)
    took = []
    for _ in range(CALLS):
        X = rng.uniform(-1.0, 1.0, (n, WIDTH))
        y = np.sin(X.sum(axis=1))
        start = time.perf_counter_ns()
        act(X, y)
        took.append(1e-3 * (time.perf_counter_ns() - start))
    return float(np.median(took))


def short_calls(report: Report) -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(-1.0, 1.0, (3_000, WIDTH))
    y = np.sin(X.sum(axis=1))
    basis = ks.FirstPoints(30)
    models = {
        "ridge, m = 30, plain columns": ks.KernelRegressor(ks.Gaussian(1.0), basis, scale=False),
        "KernelRegressor()": ks.KernelRegressor(),
        "KernelRegressor(), m = 1,000": ks.KernelRegressor(ks.Gaussian(0.5), ks.ALD(1e-9, 1_000)),
    }
    report.heading(f"Calls of few rows, d = {WIDTH}, microseconds a call")
    rows = []
    for name, model in models.items():
        model.partial_fit(X, y)
        predict = [call(lambda X, _, model=model: model.predict(X), n) for n in SHORT]  # type: ignore[misc]
        learn = [call(lambda X, y, model=model: model.partial_fit(X, y), n) for n in SHORT]  # type: ignore[misc]
        rows.append([name, *(f"{cost:,.0f}" for cost in (*predict, *learn))])
    titles = [f"{what} {n}" for what in ("predict", "learn") for n in SHORT]
    report.table(["model", *titles], rows)


def classifier() -> ks.KernelExpertsClassifier:
    """A model that knows its labels."""
    first = np.zeros((1, WIDTH))
    return ks.KernelExpertsClassifier().partial_fit(first, [0.0], classes=[0.0, 1.0])


def streams(report: Report, n: int) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, WIDTH))
    y = np.sin(2.0 * X[:, 0] * X[:, 1]) + 0.3 * X[:, 2] ** 2 + 0.2 * rng.normal(size=n)
    basis = ks.ALD(1e-6, max_size=256)
    models: dict[str, tuple[Callable[[], Model], FloatArray]] = {
        "KernelRegressor, m = 256": (lambda: ks.KernelRegressor(ks.Gaussian(1.0), basis), y),
        "KernelExperts": (ks.KernelExperts, y),
        "KernelExpertsClassifier": (classifier, (y > 0.3).astype(float)),
    }
    report.heading(f"Streams of {n:,} single rows, d = {WIDTH}, predict and learn, microseconds")
    rows = []
    for name, (begin, targets) in models.items():
        found = waits(begin, X, targets)
        late = [f"{(found > limit).sum()}" for limit in (1e4, 1e5)]
        rows.append([name, *(f"{q:,.0f}" for q in np.quantile(found, QUANTILES)), *late])
    report.table(
        ["model", "median", "99 %", "99.9 %", "longest", "rows > 10 ms", "rows > 100 ms"], rows
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    quick = parser.parse_args().quick
    runs = 20 if quick else 200
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
    short_calls(report)
    streams(report, STREAM // 10 if quick else STREAM)
    report.write()
