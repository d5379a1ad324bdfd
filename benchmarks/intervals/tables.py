"""Prequential intervals beside those of other packages, and novelty as an anomaly score.

Streams are tables, standardized, in a random order, one of them sorted, and two that change. Each
row has its interval before it is learned. Widths are means from a fifth of the rows on, in standard
deviations of the target. The boosted trees are fitted on four fifths of the rows so far and
calibrated on the latest fifth, every time their number has grown by half: split conformal, or
conformalized quantiles (Romano, Patterson and Candes, 2019). Conformal kernel ridge (Burnaev and
Vovk, 2014), as in online-cp, keeps every row and is written out here; it has the first 2,000.

    python benchmarks intervals tables [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
from report import Report
from river import anomaly, conf, forest, linear_model, preprocessing
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import SGDOneClassSVM
from sklearn.metrics import roc_auc_score
from streams import NUMBERS, FloatArray, available, load, random_order, standardized

import kernelstream as ks
from kernelstream.river import KernelAnomaly

RARE = {"ijcnn1": 1.0, "w7a": 1.0, "spambase": 1.0}
WINDOW, MOST_ROWS = 1000, 5_000
KEEPS_EVERY_ROW = 2000

# Ends of the intervals (n, 2) of a stream, at a coverage.
Method = Callable[[FloatArray, FloatArray, float], FloatArray]


def streams(report: Report, most: int) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    for name in NUMBERS:
        if not available(report, name):
            continue
        X, y = (standardized(values) for values in load(name))
        order = random_order(len(y), 0)[:most]
        yield name.removesuffix("_raw"), X[order], y[order]
        if name == "cal_housing":
            yield (
                "cal_housing, sorted by a column",
                *ks.datasets.adversarial.sorted_stream(X[order], y[order], by=0),
            )
    for period in (2000.0, 20_000.0):
        rows, targets = ks.datasets.adversarial.drifting(most, period=period, random_state=0)
        yield f"drifting, {period:.0f} rows a turn", rows, standardized(targets)


def ours(model: ks.KernelRegressor) -> Method:
    def ends(X: FloatArray, y: FloatArray, coverage: float) -> FloatArray:
        return clone(model).partial_fit_predict_interval(X, y, coverage=coverage)

    return ends


def jackknife(make: Callable[[], object]) -> Method:
    def ends(X: FloatArray, y: FloatArray, coverage: float) -> FloatArray:
        model = conf.RegressionJackknife(make(), coverage, WINDOW)
        found = np.empty((len(y), 2))
        for i, (row, target) in enumerate(zip(X, y, strict=True)):
            x = dict(enumerate(row.tolist()))
            interval = model.predict_one(x, with_interval=True)
            found[i] = interval.lower, interval.upper
            model.learn_one(x, float(target))
        return found

    return ends


def boosting(X: FloatArray, y: FloatArray, coverage: float) -> FloatArray:
    found = np.full((len(y), 2), [-np.inf, np.inf])
    start = 100
    while start < len(y):
        end, fitted = min(len(y), start * 3 // 2), start * 4 // 5
        model = HistGradientBoostingRegressor(random_state=0).fit(X[:fitted], y[:fitted])
        errors = np.abs(y[fitted:start] - model.predict(X[fitted:start]))
        level = min(1.0, coverage * (1 + 1 / len(errors)))
        reach, made = np.quantile(errors, level), model.predict(X[start:end])
        found[start:end] = np.column_stack([made - reach, made + reach])
        start = end
    return found


def quantiles(X: FloatArray, y: FloatArray, coverage: float) -> FloatArray:
    found = np.full((len(y), 2), [-np.inf, np.inf])
    ends = [(1 - coverage) / 2, (1 + coverage) / 2]
    start = 100
    while start < len(y):
        end, fitted = min(len(y), start * 3 // 2), start * 4 // 5
        trees = [HistGradientBoostingRegressor(loss="quantile", quantile=q) for q in ends]
        trees = [tree.set_params(random_state=0).fit(X[:fitted], y[:fitted]) for tree in trees]
        low, high = (tree.predict(X[fitted:end]) for tree in trees)
        known = start - fitted
        errors = np.maximum(low[:known] - y[fitted:start], y[fitted:start] - high[:known])
        beyond = np.quantile(errors, min(1.0, coverage * (1 + 1 / known)))
        found[start:end] = np.column_stack([low[known:] - beyond, high[known:] + beyond])
        start = end
    return found


def kernel_ridge(X: FloatArray, y: FloatArray, coverage: float) -> FloatArray:
    """Give the interval of full conformal prediction with the residuals of kernel ridge."""
    n, ridge, outside = len(y), 0.1, 1 - coverage
    found = np.full((n, 2), [-np.inf, np.inf])
    # Inverse of the Gram matrix of the rows so far with the ridge.
    inverse = np.zeros((n, n))
    for i in range(n):
        distances = np.square(X[:i] - X[i]).sum(axis=1)
        similar = np.exp(-distances / (2 * X.shape[1]))
        weights = inverse[:i, :i] @ similar
        pivot = 1 + ridge - similar @ weights
        inverse[:i, :i] += np.outer(weights, weights / pivot)
        inverse[i, :i] = inverse[:i, i] = -weights / pivot
        inverse[i, i] = 1 / pivot
        # Residuals, in units of the ridge, are known + slope times the target that is to come.
        known, slope = inverse[: i + 1, :i] @ y[:i], inverse[: i + 1, i]
        steeper = slope[i] - slope[:i]
        ends = np.sort((known[:i] - known[i]) / np.where(steeper > 0, steeper, np.nan))
        ends = ends[np.isfinite(ends)]
        low = int(np.floor(outside / 2 * (len(ends) + 1)))
        high = int(np.ceil((1 - outside / 2) * (len(ends) + 1)))
        if low > 0 and high <= len(ends):
            found[i] = ends[low - 1], ends[high - 1]
    return found


METHODS: dict[str, Method] = {
    "KernelExperts": ours(ks.KernelExperts()),
    "KernelRegressor": ours(ks.KernelRegressor(basis=ks.ALD(1e-3, max_size=300), scale=False)),
    "boosted trees, split conformal": boosting,
    "boosted trees, quantiles": quantiles,
    "river, jackknife, linear": jackknife(
        lambda: preprocessing.StandardScaler() | linear_model.LinearRegression()
    ),
    "river, jackknife, ARF": jackknife(lambda: forest.ARFRegressor(seed=1)),
}
SLOW = {"river, jackknife, ARF"}


def judged(ends: FloatArray, y: FloatArray) -> tuple[float, FloatArray, float]:
    """Coverage, that of each window, and mean width."""
    low, high = ends.T
    inside = (low <= y) & (y <= high)
    windows = inside[: len(y) // WINDOW * WINDOW].reshape(-1, WINDOW).mean(axis=1)
    width = float(np.mean((high - low)[len(y) // 5 :]))
    return float(inside.mean()), windows, width


def intervals(report: Report, most: int, methods: dict[str, Method]) -> None:
    report.heading(
        f"90 % intervals, {most:,} rows: coverage in percent, (lowest - highest of a window), width"
    )
    rows = []
    narrowest: dict[str, int] = dict.fromkeys(methods, 0)
    for name, X, y in streams(report, most):
        cells, widths = [name], {}
        for method, ends in methods.items():
            inside, windows, width = judged(ends(X, y, 0.9), y)
            cells.append(
                f"{100 * inside:.1f} ({100 * windows.min():.0f} - {100 * windows.max():.0f}) "
                f"{width:.2f}"
            )
            widths[method] = width
        narrowest[min(widths, key=lambda method: widths[method])] += 1
        rows.append(cells)
        report.remark(" | ".join(cells))
    report.table(["stream", *methods], rows)
    counts = ", ".join(f"{method}: {count}" for method, count in narrowest.items())
    report.remark(f"narrowest on this many streams - {counts}")


def scores(normal: FloatArray, asked: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    """Anomaly scores of rows, larger for stranger ones, by a model of normal rows only."""
    model = ks.KernelRegressor(basis=ks.ALD(1e-3, max_size=500), scale=False)
    yield "novelty", model.fit(normal, np.zeros(len(normal))).novelty(asked)
    learners = {
        "KernelAnomaly": KernelAnomaly(),
        "river HalfSpaceTrees": preprocessing.MinMaxScaler() | anomaly.HalfSpaceTrees(seed=1),
    }
    for name, detector in learners.items():
        for row in normal:
            detector.learn_one(dict(enumerate(row.tolist())))
        yield name, np.array([detector.score_one(dict(enumerate(row.tolist()))) for row in asked])
    svm = SGDOneClassSVM(random_state=0).fit(normal)
    yield "scikit-learn SGDOneClassSVM", -svm.score_samples(asked)


def novelty(report: Report, most: int) -> None:
    report.heading("Rare classes found by what learned rows of the common one: area under the ROC")
    found: dict[str, list[str]] = {}
    names = [name for name in RARE if available(report, name)]
    for name in names:
        X, y = load(name)
        order = random_order(len(y), 0)[: 2 * most]
        X, rare = X[order], y[order] == RARE[name]
        common = X[~rare]
        normal, others = common[: len(common) * 6 // 10], common[len(common) * 6 // 10 :]
        mean, deviation = normal.mean(axis=0), normal.std(axis=0)
        scale = np.where(deviation > 0, deviation, 1.0)
        asked = (np.concatenate([others, X[rare]]) - mean) / scale
        truth = np.repeat([0, 1], [len(others), int(rare.sum())])
        for method, score in scores((normal - mean) / scale, asked):
            found.setdefault(method, []).append(f"{roc_auc_score(truth, score):.3f}")
    report.table(["score", *names], [[method, *cells] for method, cells in found.items()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2,000 rows, no forest")
    quick = parser.parse_args().quick
    most = KEEPS_EVERY_ROW if quick else MOST_ROWS
    report, began = Report("intervals"), time.perf_counter()
    fast = {name: method for name, method in METHODS.items() if name not in SLOW}
    intervals(report, KEEPS_EVERY_ROW, fast | {"conformal kernel ridge": kernel_ridge})
    if not quick:
        intervals(report, most, METHODS)
    novelty(report, most)
    report.remark(f"{time.perf_counter() - began:.0f} s")
    report.write()
