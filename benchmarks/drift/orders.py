"""Tables whose rows come in an order: errors on the stream, and held out at random after it.

Each table is learned row by row (`partial_fit`, which keeps the order) in nine orders: random,
sorted by the target, by each of the two columns that are most correlated with it, in blocks of 100
and of 1,000 rows of one fifth of the target (or one label) in turn, sorted in blocks of 200, in a
slow rotation through the targets, and with one half of the range of a column before the other. A
quarter of the rows, drawn at random, is held out and predicted at the end.

Errors are mean squares over the variance of the target, or shares of wrong labels. "ratio" is the
held-out error over that after the random order. `--full` adds `KernelRegressor` or
`KernelClassifier`, boosting (trees of scikit-learn) fitted on all rows of the stream and on the
latest 5,000, a forest of river, and all tables; its streams have 6,000 rows.

    python benchmarks drift orders [--rows 3000] [--only cpusmall] [--full]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from report import Report, chosen
from river.forest import ARFClassifier, ARFRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.preprocessing import StandardScaler
from streams import FloatArray, available, load

import kernelstream as ks

NUMBERS = ("cpusmall", "cal_housing", "elevators_raw", "bank32nh", "ailerons", "protein_raw")
LABELS = ("spambase", "svmguide3", "ijcnn1", "codrna_30k")
SMALL = ("cpusmall", "cal_housing", "spambase", "svmguide3")


def groups_of(y: FloatArray, *, labels: bool) -> FloatArray:
    """The label of each row, or the fifth of the target that it is in."""
    if labels:
        return y
    return np.searchsorted(np.quantile(y, [0.2, 0.4, 0.6, 0.8]), y).astype(np.float64)


def in_blocks(groups: FloatArray, rows: int, rng: np.random.Generator) -> Any:
    """Blocks of that many rows of one group, in turn."""
    members = [rng.permutation(np.flatnonzero(groups == group)) for group in np.unique(groups)]
    blocks = [np.array_split(part, max(1, round(len(part) / rows))) for part in members]
    longest = max(map(len, blocks))
    return np.concatenate(
        [part[turn] for turn in range(longest) for part in blocks if turn < len(part)]
    )


def orders(X: FloatArray, y: FloatArray, *, labels: bool, seed: int = 0) -> dict[str, Any]:
    """Nine orders of the rows."""
    rng = np.random.default_rng(seed)
    n = len(y)
    rank = np.argsort(np.argsort(X, axis=0, kind="stable"), axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        related = [abs(np.corrcoef(column, y)[0, 1]) for column in rank.T]
    first, second = np.argsort(np.nan_to_num(related))[::-1][:2]
    groups = groups_of(y, labels=labels)
    by_target = np.lexsort((rng.random(n), y))
    # Through the targets once, each row displaced by a tenth of all on average.
    slow = np.argsort(np.argsort(by_target) / n + 0.1 * rng.normal(size=n))
    return {
        "random": rng.permutation(n),
        "by target": by_target,
        "by column 1": np.lexsort((rng.random(n), X[:, first])),
        "by column 2": np.lexsort((rng.random(n), X[:, second])),
        "blocks of 100": in_blocks(groups, 100, rng),
        "blocks of 1,000": in_blocks(groups, 1000, rng),
        "sorted in blocks of 200": np.concatenate(
            [
                part[np.argsort(y[part], kind="stable")]
                for part in np.array_split(rng.permutation(n), max(1, n // 200))
            ]
        ),
        "slow rotation": slow,
        "abrupt change": np.lexsort((rng.random(n), X[:, first] > np.median(X[:, first]))),
    }


def experts(X: FloatArray, y: FloatArray, Z: FloatArray, *, labels: bool) -> tuple[Any, Any]:
    """Predictions of experts on the stream and held out."""
    if labels:
        model = ks.KernelExpertsClassifier()
        made = model.partial_fit_predict(X, y, classes=np.unique(y))
    else:
        model = ks.KernelExperts()
        made = model.partial_fit_predict(X, y)
    return made, model.predict(Z)


def plain(X: FloatArray, y: FloatArray, Z: FloatArray, *, labels: bool) -> tuple[Any, Any]:
    """Predictions of a single model, on columns scaled by all rows."""
    scaler = StandardScaler().fit(X)
    X, Z = scaler.transform(X), scaler.transform(Z)
    if labels:
        model = ks.KernelClassifier()
        made = model.partial_fit_predict(X, y, classes=np.unique(y))
    else:
        model = ks.KernelRegressor()
        made = model.partial_fit_predict(X, y)
    return made, model.predict(Z)


def boosting(X: FloatArray, y: FloatArray, Z: FloatArray, *, labels: bool) -> tuple[Any, Any]:
    """Predictions of boosted trees fitted on all rows of the stream, whose order has no effect."""
    kind = HistGradientBoostingClassifier if labels else HistGradientBoostingRegressor
    return None, kind(random_state=0).fit(X, y).predict(Z)


def boosting_latest(
    X: FloatArray, y: FloatArray, Z: FloatArray, *, labels: bool
) -> tuple[Any, Any]:
    """The same on the latest 5,000 rows, or the latter half of a shorter stream."""
    rows = min(5000, len(y) // 2)
    return boosting(X[-rows:], y[-rows:], Z, labels=labels)


def forest(X: FloatArray, y: FloatArray, Z: FloatArray, *, labels: bool) -> tuple[Any, Any]:
    """Predictions of river's adaptive random forest."""
    model = ARFClassifier(seed=0) if labels else ARFRegressor(seed=0)
    names = [str(k) for k in range(X.shape[1])]
    made = []
    for row, target in zip(X.tolist(), y.tolist(), strict=True):
        features = dict(zip(names, row, strict=True))
        prediction = model.predict_one(features)
        made.append(y[0] if prediction is None else prediction)
        model.learn_one(features, target)
    held_out = [model.predict_one(dict(zip(names, row, strict=True))) for row in Z.tolist()]
    return np.array(made), np.array(held_out)


def error(made: Any, y: FloatArray, *, labels: bool) -> float:
    """Share of wrong labels, or mean square over the variance."""
    if made is None:
        return float("nan")
    return float(np.mean(made != y) if labels else np.mean((made - y) ** 2) / np.var(y))


Model = Callable[..., tuple[Any, Any]]


def measure(report: Report, name: str, rows: int, models: dict[str, Model]) -> None:
    """One table in all orders."""
    labels = name in LABELS
    X, y = load(name)
    chosen_rows = np.random.default_rng(1).permutation(len(y))[: rows * 4 // 3]
    held_out, stream = np.split(chosen_rows, [len(chosen_rows) // 4])
    Z, z = X[held_out], y[held_out]
    X, y = X[stream], y[stream]
    report.heading(f"{name}: {len(y)} rows, {len(z)} held out")
    table, reference = [], {}
    for order, places in orders(X, y, labels=labels).items():
        for kind, model in models.items():
            started = time.perf_counter()
            made, after = model(X[places], y[places], Z, labels=labels)
            seconds = time.perf_counter() - started
            on_stream = error(made, y[places], labels=labels)
            apart = error(after, z, labels=labels)
            reference.setdefault(kind, apart)
            ratio = apart / max(reference[kind], 1e-12)
            table.append(
                [order, kind, f"{on_stream:.4f}", f"{apart:.4f}", f"{ratio:.2f}", f"{seconds:.1f}"]
            )
    report.table(["order", "model", "on the stream", "held out", "ratio", "s"], table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="rows of a stream (3000; with --full 6000)")
    parser.add_argument("--only", help="tables whose name begins so")
    parser.add_argument("--full", action="store_true", help="all models and tables")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    report = Report("orders")
    models: dict[str, Model] = {"experts": experts}
    if arguments.full:
        models |= {
            "single model": plain,
            "boosting, all rows": boosting,
            "boosting, latest rows": boosting_latest,
            "river's forest": forest,
        }
    rows = arguments.rows or (6000 if arguments.full else 3000)
    names = NUMBERS + LABELS if arguments.full else SMALL
    for name in chosen(parser, names, arguments.only):
        if available(report, name):
            measure(report, name, rows, models)
    report.write()
