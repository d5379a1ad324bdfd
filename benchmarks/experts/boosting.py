"""Experts that choose themselves compared with gradient boosting that is retrained.

What is usually done with a table that grows: gradient boosting trained again on all rows whenever
there are a quarter more of them, predicting the rows until the next time. Here it is
scikit-learn's `HistGradientBoostingRegressor`, on the same rows in the same random orders, at most
20,000. Errors are mean squared errors of prequential predictions on the second half of the rows,
over the variance of the targets there; times are the processor time on one thread that learning a
stream took, or all trainings (what learns row by row has its predictions in it).

Beside them: `KernelRegressor()`, the grid of twenty experts (`presets.bandwidth_grid`), the
oracle (in each stretch of rows with the same experts, the one of them that is best there in
hindsight; rows are predicted 32 at a time), and river's adaptive random forest and streaming random
patches, which take minutes and are left out unless ``--models`` names them.

    python benchmarks experts boosting [--orders 5] [--only cpusmall] [--rows 20000]
        [--models experts,boosting,plain,grid,oracle,forest,patches]

A page is written to benchmarks/output. Missing data sets are skipped.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
from measuring import Stopwatch, alone
from report import Report, chosen
from sklearn.ensemble import HistGradientBoostingRegressor
from streams import FloatArray, available, load, random_order

import kernelstream as ks

TABLES = ("elevators_raw", "cpusmall", "bank32nh", "cal_housing", "ailerons", "protein_raw")
FIRST_TRAINING, GROWTH = 60, 1.25
AT_ONCE = 32

# Gives the prediction for each row made before it was learned; the stopwatch runs while it learns.
Run = Callable[[FloatArray, FloatArray, Stopwatch], FloatArray]


def oracle(X: FloatArray, y: FloatArray, learning: Stopwatch) -> FloatArray:
    """Predictions of the expert that is best in hindsight, of those that there are at a time."""
    model, predictions = ks.KernelExperts(), np.empty(len(y))
    made: list[FloatArray] = []
    first, now = 0, (0, 0)

    def end(stop: int) -> None:
        each = np.concatenate(made)
        best = np.argmin(np.sum((each - y[first:stop, None]) ** 2, axis=0))
        predictions[first:stop] = each[:, best]

    for start in range(0, len(y), AT_ONCE):
        rows = slice(start, start + AT_ONCE)
        known = (model.n_generations_, len(model.experts_)) if start else (0, 0)
        if known != now:
            end(start)
            made, first, now = [], start, known
        if known[1]:
            made.append(model.transform(X[rows]))
        else:
            mean = model.predict(X[rows]) if start else np.zeros(len(X[rows]))
            made.append(mean[:, None])
        with learning:
            model.partial_fit(X[rows], y[rows])
    end(len(y))
    return predictions


def boosting(X: FloatArray, y: FloatArray, learning: Stopwatch) -> FloatArray:
    predictions = np.zeros(len(y))
    for start, stop in trainings(len(y)):
        with learning:
            model = HistGradientBoostingRegressor(random_state=0).fit(X[:start], y[:start])
        predictions[start:stop] = model.predict(X[start:stop])
    return predictions


def trainings(n_rows: int, first: int = FIRST_TRAINING) -> Iterator[tuple[int, int]]:
    """The rows at which it is trained, and those at which it is trained again."""
    start = first
    while start < n_rows:
        stop = min(int(np.ceil(start * GROWTH)), n_rows)
        yield start, stop
        start = stop


def adaptive_random_forest(X: FloatArray, y: FloatArray, learning: Stopwatch) -> FloatArray:
    from river import forest  # noqa: PLC0415 (optional)

    return row_by_row(forest.ARFRegressor(seed=0), X, y, learning)


def streaming_random_patches(X: FloatArray, y: FloatArray, learning: Stopwatch) -> FloatArray:
    from river import ensemble  # noqa: PLC0415 (optional)

    return row_by_row(ensemble.SRPRegressor(seed=0), X, y, learning)


def row_by_row(model: object, X: FloatArray, y: FloatArray, learning: Stopwatch) -> FloatArray:
    predictions = np.empty(len(y))
    with learning:
        for t, (x, target) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
            row = dict(enumerate(x))
            predictions[t] = model.predict_one(row)  # type: ignore[attr-defined]
            model.learn_one(row, target)  # type: ignore[attr-defined]
    return predictions


def at_once(begin: Callable[[int], ks.KernelRegressor]) -> Run:
    """One call that predicts each row and then learns it, by a model for this many columns."""

    def run(X: FloatArray, y: FloatArray, learning: Stopwatch) -> FloatArray:
        model = begin(X.shape[1])
        with learning:
            return model.partial_fit_predict(X, y)

    return run


RUNS: dict[str, Run] = {
    "experts": at_once(lambda _: ks.KernelExperts()),
    "boosting": boosting,
    "plain": at_once(lambda _: ks.KernelRegressor()),
    "grid": at_once(lambda d: ks.KernelExperts(ks.presets.bandwidth_grid(d))),
    "oracle": oracle,
    "forest": adaptive_random_forest,
    "patches": streaming_random_patches,
}
TITLES = {
    "experts": "KernelExperts()",
    "boosting": "boosting, retrained",
    "plain": "KernelRegressor()",
    "grid": "grid of 20",
    "oracle": "best expert in hindsight",
    "forest": "adaptive random forest",
    "patches": "streaming random patches",
}


def measured(run: Run, X: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Error on the second half, and seconds."""
    late = slice(len(y) // 2, None)
    learning = Stopwatch()
    predictions = run(X, y, learning)
    return float(np.mean((predictions - y)[late] ** 2) / np.var(y[late])), learning.seconds


def all_measured(name: str, seed: int, rows: int, models: list[str]) -> FloatArray:
    """Error and seconds of each model (models, 2) on one random order."""
    X, y = load(name)
    order = random_order(len(y), seed)[:rows]
    # Boosting grows no trees on targets as small as some of these are.
    X, y = X[order], y[order] / np.std(y)
    return np.array([measured(run, X, y) for run in map(RUNS.__getitem__, models)])


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
    parser.add_argument(
        "--models",
        default="experts,boosting,plain,grid,oracle",
        help=f"of {', '.join(RUNS)} (default: all except river's, which are the last two)",
    )
    arguments = parser.parse_args()
    models = arguments.models.split(",")
    if not set(models) <= set(RUNS):
        parser.error(f"--models: not all of {arguments.models} are of {', '.join(RUNS)}")
    names = chosen(parser, TABLES, arguments.only)

    report = Report("gradient_boosting")
    titles = [TITLES[name] for name in models]
    errors, times = [], []
    for name in (name for name in names if available(report, name)):
        found = np.stack([
            alone(1, all_measured, name, seed, arguments.rows, models)
            for seed in report.track(range(arguments.orders), name)
        ])  # fmt: skip
        errors.append([name, *(cell(each, 4) for each in found[:, :, 0].T)])
        times.append([name, *(cell(each, 1) for each in found[:, :, 1].T)])
    report.heading(f"Squared error over variance, second half, {arguments.orders} random orders")
    report.table(["data", *titles], errors)
    report.heading("Seconds of processor time of a stream, one thread")
    report.table(["data", *titles], times)
    report.write()
    return 0
