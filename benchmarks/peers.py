"""One pass over a real stream, beside what a user would otherwise have reached for.

Every row is predicted, then learned from, in the same random order for everyone. Columns and
target are standardized with the mean and deviation of the first 1,000 rows, which count in no
score. Errors are in units of the target's variance: 1 is the mean predictor, 0 perfect.

scikit-learn's stochastic gradient descent gets the best of a small grid of steps, chosen in
hindsight on the whole stream; the others run as they are. Its models are timed a row at a time and
in chunks of 100 rows, each predicted as a whole before it is learned; ours a row at a time and in
one call, which also predicts each row before learning it. river learns a row at a time by design;
it is left out where it is not installed (``pip install river``).

    python benchmarks/peers.py [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from report import Report
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDRegressor
from streams import FloatArray, load, random_order

import kernelstream as ks

try:
    import river
    from river import forest, linear_model, neighbors, tree
except ImportError:
    river = None

WARM_UP = 1000
CHUNK = 100


class Peer(Protocol):
    """Anything that makes forecasts of a stream, given the rows it may warm up on."""

    def __call__(self, warm_up: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray: ...


@dataclass(frozen=True)
class Entry:
    """A line of the table."""

    name: str
    how: str
    run: Peer


def standardized(name: str, n_rows: int | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The warm-up rows, and the rows and targets of the stream proper."""
    X, y = load(name)
    order = random_order(len(y), 0)[: None if n_rows is None else n_rows + WARM_UP]
    X, y = X[order], y[order]
    deviation = X[:WARM_UP].std(axis=0)
    X = (X - X[:WARM_UP].mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    y = (y - y[:WARM_UP].mean()) / y[:WARM_UP].std()
    # A column that hardly varied at first may vary later: no method is helped by values of 1,000.
    X = np.clip(X, -10.0, 10.0)
    return X[:WARM_UP], X[WARM_UP:], y[WARM_UP:]


def error(forecasts: FloatArray, y: FloatArray) -> float:
    """Mean squared error over the variance of the target; infinite if the model diverged."""
    if not np.isfinite(forecasts).all():
        return float("inf")
    with np.errstate(over="ignore"):
        return float(np.mean((forecasts - y) ** 2) / y.var())


# ------------------------------------------------------------------------------------- kernelstream


def in_one_call(model: ks.KernelRegressor) -> Peer:
    return lambda _, X, y: clone(model).partial_fit_predict(X, y)


def row_by_row(model: ks.KernelRegressor) -> Peer:
    def run(_: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        live = clone(model)
        forecasts = np.zeros(len(y))
        for t, target in enumerate(y.tolist()):
            if t:
                forecasts[t] = live.predict_one(X[t])
            live.learn_one(X[t], target)
        return forecasts

    return run


def ours() -> Iterator[Entry]:
    default = ks.KernelRegressor()
    finer = ks.KernelRegressor(basis=ks.ALD(1e-3, max_size=300))
    coarse = ks.KernelRegressor(basis=ks.ALD(1e-3, max_size=50))
    newton = ks.presets.nons_ald(max_size=300)
    for name, model in (
        ("kernelstream, defaults", default),
        ("kernelstream, at most 50 points", coarse),
        ("kernelstream, at most 300 points", finer),
        ("kernelstream, NONS-ALD, at most 300", newton),
    ):
        yield Entry(name, "one call", in_one_call(model))
    yield Entry("kernelstream, at most 50 points", "a row", row_by_row(coarse))
    yield Entry("kernelstream, at most 300 points", "a row", row_by_row(finer))


# ------------------------------------------------------------------------------------- scikit-learn

STEPS: tuple[dict[str, Any], ...] = (
    {},
    {"learning_rate": "invscaling", "eta0": 0.1},
    {"learning_rate": "constant", "eta0": 0.01},
    {"learning_rate": "constant", "eta0": 0.1},
    {"learning_rate": "constant", "eta0": 0.5},
)


def sgd(features: Any, settings: dict[str, Any], chunk: int) -> Peer:
    """Stochastic gradient descent on features fitted to the warm-up rows (None: the columns)."""

    def run(warm_up: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        feature_map = None if features is None else clone(features).fit(warm_up)
        model = SGDRegressor(random_state=0, **settings)
        forecasts = np.zeros(len(y))
        for start in range(0, len(y), chunk):
            rows = slice(start, start + chunk)
            Z = X[rows] if feature_map is None else feature_map.transform(X[rows])
            if start:
                forecasts[rows] = model.predict(Z)
            model.partial_fit(Z, y[rows])
        return forecasts

    return run


def sklearn_peers(warm_up: FloatArray, X: FloatArray, y: FloatArray) -> Iterator[Entry]:
    gamma = 1.0 / (2.0 * X.shape[1])  # the bandwidth our default has
    fourier = RBFSampler(gamma=gamma, n_components=300, random_state=0)
    nystroem = Nystroem(gamma=gamma, n_components=300, random_state=0)
    for name, features in (
        ("scikit-learn SGD, linear", None),
        ("scikit-learn RBFSampler(300) + SGD", fourier),
        ("scikit-learn Nystroem(300) + SGD", nystroem),
    ):
        with np.errstate(all="ignore"):
            errors = [error(sgd(features, settings, CHUNK)(warm_up, X, y), y) for settings in STEPS]
        best = STEPS[int(np.argmin(errors))]
        chosen = f"{name} ({best.get('learning_rate', 'default')}{best.get('eta0', '')})"
        yield Entry(chosen, f"{CHUNK} rows", sgd(features, best, CHUNK))
        yield Entry(chosen, "a row", sgd(features, best, 1))


# -------------------------------------------------------------------------------------------- river


def river_model(make: Callable[[], Any]) -> Peer:
    def run(_: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        model = make()
        forecasts = np.zeros(len(y))
        for t, (x, target) in enumerate(zip(as_dictionaries(X), y.tolist(), strict=True)):
            forecasts[t] = model.predict_one(x)
            model.learn_one(x, target)
        return forecasts

    return run


def as_dictionaries(X: FloatArray) -> list[dict[int, float]]:
    return [dict(enumerate(row)) for row in X.tolist()]


def river_peers(*, quick: bool) -> Iterator[Entry]:
    adaptive_tree = partial(tree.HoeffdingAdaptiveTreeRegressor, seed=0)
    makers: list[tuple[str, Callable[[], Any]]] = [
        ("river LinearRegression", linear_model.LinearRegression),
        ("river HoeffdingTreeRegressor", tree.HoeffdingTreeRegressor),
        ("river HoeffdingAdaptiveTreeRegressor", adaptive_tree),
    ]
    if not quick:
        makers += [
            ("river KNNRegressor", neighbors.KNNRegressor),
            ("river ARFRegressor, 10 trees", partial(forest.ARFRegressor, seed=0)),
        ]
    for name, make in makers:
        yield Entry(name, "a row", river_model(make))


# -------------------------------------------------------------------------------------------- table


def compare(report: Report, name: str, n_rows: int | None, *, quick: bool) -> None:
    warm_up, X, y = standardized(name, n_rows)
    entries = [*ours(), *sklearn_peers(warm_up, X, y)]
    if river is not None:
        entries += river_peers(quick=quick)
    rows = []
    for entry in report.track(entries, name):
        start = time.perf_counter()
        forecasts = entry.run(warm_up, X, y)
        seconds = time.perf_counter() - start
        late = slice(len(y) // 2, None)
        rows.append((
            entry.name, entry.how, error(forecasts, y), error(forecasts[late], y[late]), seconds
        ))  # fmt: skip
    report.heading(f"{name}: {len(y):,} rows of {X.shape[1]} columns")
    report.table(
        ["model", "fed", "error", "error, second half", "seconds", "µs a row"],
        [
            [who, how, f"{whole:.4f}", f"{half:.4f}", f"{s:.2f}", f"{1e6 * s / len(y):.1f}"]
            for who, how, whole, half, s in sorted(rows, key=lambda row: row[2])
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="3,000 rows, without the slow peers")
    arguments = parser.parse_args()
    report = Report("peers")
    for name in ("elevators_raw", "cal_housing"):
        compare(report, name, 3000 if arguments.quick else None, quick=arguments.quick)
    report.remark(
        "error: mean squared error over the target's variance, each row before it is learned."
    )
    if river is None:
        report.remark("river is not installed; `pip install river` adds its models.")
    report.write()


if __name__ == "__main__":
    main()
