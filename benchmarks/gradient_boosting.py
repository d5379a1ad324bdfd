"""Experts that choose themselves compared with gradient boosting that is trained anew.

What is usually done with a table that grows: gradient boosting trained again on all rows whenever
there are a quarter more of them, predicting the rows until the next time. Here it is
scikit-learn's `HistGradientBoostingRegressor`, on the same rows in the same random orders, at most
20,000. Errors are mean squared errors of prequential predictions on the second half of the rows,
over the variance of the targets there; times are processor time of a whole stream on one thread,
all trainings added up.

Beside them: `Scaled(KernelRegressor())`, the grid of twenty experts (`presets.bandwidth_grid`), and
with ``--river`` river's adaptive random forest and streaming random patches, which take minutes.

    python benchmarks/gradient_boosting.py [--orders 5] [--only cpusmall] [--rows 20000] [--river]

A page is written to benchmarks/output. Missing data sets are skipped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

import numpy as np
from measuring import alone, processor_time
from report import Report
from sklearn.ensemble import HistGradientBoostingRegressor
from streams import FloatArray, available, load, random_order

import kernelstream as ks

TABLES = ("elevators_raw", "cpusmall", "bank32nh", "cal_housing", "ailerons", "protein_raw")
FIRST_TRAINING, GROWTH = 60, 1.25

# Gives the prediction for each row made before it was learned.
Run = Callable[[FloatArray, FloatArray], FloatArray]


def experts(X: FloatArray, y: FloatArray) -> FloatArray:
    return ks.KernelExperts().partial_fit_predict(X, y)


def grid(X: FloatArray, y: FloatArray) -> FloatArray:
    model = ks.KernelExperts(ks.presets.bandwidth_grid(X.shape[1]))
    return ks.Scaled(model).partial_fit_predict(X, y)


def plain(X: FloatArray, y: FloatArray) -> FloatArray:
    return ks.Scaled(ks.KernelRegressor()).partial_fit_predict(X, y)


def boosting(X: FloatArray, y: FloatArray) -> FloatArray:
    predictions = np.zeros(len(y))
    for start, stop in trainings(len(y)):
        model = HistGradientBoostingRegressor(random_state=0).fit(X[:start], y[:start])
        predictions[start:stop] = model.predict(X[start:stop])
    return predictions


def trainings(n_rows: int) -> Iterator[tuple[int, int]]:
    """The rows at which it is trained, and those at which it is trained again."""
    start = FIRST_TRAINING
    while start < n_rows:
        stop = min(int(np.ceil(start * GROWTH)), n_rows)
        yield start, stop
        start = stop


def adaptive_random_forest(X: FloatArray, y: FloatArray) -> FloatArray:
    from river import forest  # noqa: PLC0415 (optional)

    return row_by_row(forest.ARFRegressor(seed=0), X, y)


def streaming_random_patches(X: FloatArray, y: FloatArray) -> FloatArray:
    from river import ensemble  # noqa: PLC0415 (optional)

    return row_by_row(ensemble.SRPRegressor(seed=0), X, y)


def row_by_row(model: object, X: FloatArray, y: FloatArray) -> FloatArray:
    predictions = np.empty(len(y))
    for t, (x, target) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        row = dict(enumerate(x))
        predictions[t] = model.predict_one(row)  # type: ignore[attr-defined]
        model.learn_one(row, target)  # type: ignore[attr-defined]
    return predictions


RUNS: dict[str, Run] = {
    "KernelExperts()": experts,
    "boosting, trained anew": boosting,
    "grid of 20": grid,
    "KernelRegressor()": plain,
}
RIVER: dict[str, Run] = {
    "adaptive random forest": adaptive_random_forest,
    "streaming random patches": streaming_random_patches,
}


def measured(run: Run, X: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Error on the second half, and seconds."""
    late = slice(len(y) // 2, None)
    began = processor_time()
    predictions = run(X, y)
    seconds = processor_time() - began
    return float(np.mean((predictions - y)[late] ** 2) / np.var(y[late])), seconds


def all_measured(name: str, seed: int, rows: int, runs: dict[str, Run]) -> FloatArray:
    """Error and seconds of each run (runs, 2) on one random order."""
    X, y = load(name)
    order = random_order(len(y), seed)[:rows]
    # Boosting grows no trees on targets as small as some of these are.
    X, y = X[order], y[order] / np.std(y)
    return np.array([measured(run, X, y) for run in runs.values()])


def cell(values: FloatArray, digits: int) -> str:
    spread = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--orders", type=int, default=5, help="random orders (default 5)")
    parser.add_argument("--only", metavar="NAME", help="only the data whose name begins so")
    parser.add_argument("--rows", type=int, default=20_000, help="most rows (default 20000)")
    parser.add_argument("--river", action="store_true", help="river's forests, too")
    arguments = parser.parse_args()
    names = [name for name in TABLES if name.startswith(arguments.only or "")]
    if not names:
        parser.error(f"no data begins with {arguments.only!r}: {', '.join(TABLES)}")

    report = Report("gradient_boosting")
    runs = RUNS | (RIVER if arguments.river else {})
    errors, times = [], []
    for name in (name for name in names if available(report, name)):
        found = np.stack([
            alone(1, all_measured, name, seed, arguments.rows, runs)
            for seed in report.track(range(arguments.orders), name)
        ])  # fmt: skip
        ratio = np.mean(found[:, 0, 0]) / np.mean(found[:, 1, 0])
        errors.append([name, *(cell(each, 4) for each in found[:, :, 0].T), f"{ratio:.3f}"])
        times.append([name, *(cell(each, 1) for each in found[:, :, 1].T)])
    report.heading(f"Squared error over variance, second half, {arguments.orders} random orders")
    report.table(["data", *runs, "experts / boosting"], errors)
    report.heading("Seconds of processor time of a stream, one thread")
    report.table(["data", *runs], times)
    report.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
