"""A mixture of a grid of twenty experts compared with the best in hindsight, on six data sets.

Prequential mean squared error (each row is predicted, then learned from) over random orders of at
most 16,000 rows, features scaled to [-1, 1] and target to [0, 1]:

1. `KernelExperts(presets.bandwidth_grid(d))`, the same with dictionaries by ALD(25/T), the best of
   the twenty in hindsight, and one ridge learner with the bandwidth of the literature;
2. aggregation rules: the library's two, and others of the literature (`mixtures.py`);
3. the same with standardized features, and with a change of the best expert;
4. time and memory on one thread and on two.

The exit code is 1 if an error exceeds that of an independent reference implementation of such a
mixture by more than 3 % and by more than two standard errors. Pages are written to
benchmarks/output. Missing data sets are skipped.

    python benchmarks experts tables [--orders 5] [--only elevators]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from experts import mixtures
from measuring import alone
from report import Report, chosen
from sklearn.base import clone
from streams import FloatArray, available, load, min_max, random_order

import kernelstream as ks

TOLERANCE, MOST_ROWS = 0.03, 16_000


@dataclass(frozen=True)
class Case:
    """A data set, the error of a reference implementation, and the bandwidth of the literature."""

    name: str
    file: str
    reference: float | None
    bandwidth: float
    rows: int | None = None
    log_target: bool = False


CASES = (
    Case("elevators", "elevators_raw", 0.00128, 8.0),
    Case("cpusmall", "cpusmall", 0.00138, 4.0),
    Case("bank", "bank32nh", 0.01037, 12.0),
    Case("ailerons", "ailerons", 0.00209, 8.0),
    Case("calhousing", "cal_housing", 0.0138, 4.0, 14_000),
    Case("casp, log(1 + y)", "protein_raw", 0.0365, 2.0, None, log_target=True),
    Case("casp", "protein_raw", None, 2.0),
)

# Combines the predictions of experts.
Rule = Callable[[FloatArray, FloatArray], FloatArray]

OWN: dict[str, Literal["polynomial", "fixed_share"]] = {
    "polynomial": "polynomial",
    "fixed share": "fixed_share",
}
OTHERS: dict[str, Rule] = {
    "ML-Poly, original": mixtures.ml_poly,
    "regrets bounded by 0": mixtures.floor_at_zero,
    "BOA": mixtures.boa,
    "stacked by ridge": mixtures.stacked,
    "aggregating, Vovk's rate": mixtures.aggregating,
    "plain mean": mixtures.mean,
}


def standardized(values: FloatArray) -> FloatArray:
    deviation = values.std(axis=0)
    result: FloatArray = (values - values.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return result


def streams(case: Case, orders: int, scale: str = "box") -> list[tuple[FloatArray, FloatArray]]:
    X, y = load(case.file)
    y = np.log1p(y) if case.log_target else y
    X = standardized(X) if scale == "standardized" else min_max(X, -1.0, 1.0)
    X, y = X[: case.rows], min_max(y, 0.0, 1.0)[: case.rows]
    each = [random_order(len(y), seed)[:MOST_ROWS] for seed in range(orders)]
    return [(X[order], y[order]) for order in each]


def error(predictions: FloatArray, targets: FloatArray) -> float:
    return float(np.mean((predictions - targets) ** 2))


def grid(X: FloatArray, tolerance: float = 1e-4) -> list[ks.KernelRegressor]:
    """The twenty experts, with this tolerance."""
    members = ks.presets.bandwidth_grid(X.shape[1])
    return [member.set_params(basis__tolerance=tolerance) for member in members]


def made(members: list[ks.KernelRegressor], X: FloatArray, y: FloatArray) -> FloatArray:
    return np.column_stack([member.partial_fit_predict(X, y) for member in members])


def cell(values: list[float]) -> str:
    return f"{np.mean(values):.5f} ± {np.std(values, ddof=1):.5f}"


def grid_table(report: Report, cases: list[Case], orders: int) -> list[str]:
    report.heading(f"Twenty experts, {orders} random orders: mean ± deviation")
    rows, verdicts = [], []
    for case in cases:
        columns: dict[str, list[float]] = {"experts": [], "25/T": [], "best": [], "single": []}
        for X, y in report.track(streams(case, orders), case.name):
            model = ks.KernelExperts(grid(X), scale=False)
            columns["experts"].append(error(model.partial_fit_predict(X, y), y))
            by_rows = grid(X, 25.0 / len(y))
            columns["25/T"].append(
                error(ks.KernelExperts(by_rows, scale=False).partial_fit_predict(X, y), y)
            )
            # Over all orders one expert is the best; here each order has its own.
            predictions = made(grid(X), X, y)
            columns["best"].append(float(((predictions - y[:, None]) ** 2).mean(axis=0).min()))
            one = ks.KernelRegressor(
                ks.Gaussian(case.bandwidth), ks.ALD(25.0 / len(y)), scale=False
            )
            columns["single"].append(error(one.partial_fit_predict(X, y), y))
        errors = columns["experts"]
        if case.reference is not None:
            above = float(np.mean(errors)) - case.reference
            noise = 2.0 * float(np.std(errors, ddof=1)) / np.sqrt(orders)
            close = above <= TOLERANCE * case.reference
            verdicts.append("yes" if close else "noise" if above <= noise else "NO")
        rows.append([case.name, *map(cell, columns.values())])
    report.table(
        ["data", "experts", "the same, ALD(25/T)", "best of the 20 in hindsight",
         "one ridge, sigma of the literature"],
        rows,
    )  # fmt: skip
    return verdicts


def rules_table(report: Report, cases: list[Case], orders: int, scale: str) -> None:
    features = "features in [-1, 1]" if scale == "box" else "standardized features"
    report.heading(
        f"Aggregation rules, {features}, {orders} random orders: error / best in hindsight"
    )
    rows = []
    for case in cases:
        ratios: dict[str, list[float]] = {name: [] for name in [*OWN, *OTHERS]}
        best = []
        for X, y in report.track(streams(case, orders, scale), case.name):
            found = {}
            for name, mixture in OWN.items():
                model = ks.KernelExperts(grid(X), mixture, scale=False)
                found[name] = error(model.partial_fit_predict(X, y), y)
            experts = made(grid(X), X, y)
            smallest = float(((experts - y[:, None]) ** 2).mean(axis=0).min())
            found |= {name: error(rule(experts, y), y) for name, rule in OTHERS.items()}
            best.append(smallest)
            for name, value in found.items():
                ratios[name].append(value / smallest)
        rows.append(
            [
                case.name,
                f"{np.mean(best):.5f}",
                *(f"{np.mean(each):.3f}" for each in ratios.values()),
            ]
        )
    report.table(["data", "best in hindsight", *OWN, *OTHERS], rows)


def recovery_table(report: Report, seeds: int) -> None:
    report.heading(
        f"Change of the best expert, {seeds} seeds: error / best in hindsight of each part"
    )
    names = ["first half", "500 rows after it", "the rest"]
    parts = (slice(500, 4000), slice(4000, 4500), slice(4500, 8000))
    found: dict[str, list[list[float]]] = {name: [] for name in [*OWN, *OTHERS]}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1.0, 1.0, size=(8000, 2))
        smooth, rough = X[:, 0] + X[:, 1], np.sin(12.0 * X[:, 0]) * np.cos(9.0 * X[:, 1])
        y = np.where(np.arange(8000) < 4000, smooth, rough) + 0.1 * rng.standard_normal(8000)
        members = [
            ks.KernelRegressor(
                ks.Gaussian(bandwidth),
                ks.ALD(1e-4, max_size=150),
                ks.Ridge(forgetting=0.995),
                scale=False,
            )
            for bandwidth in np.geomspace(0.1, 10.0, 10)
        ]
        experts = made(members, X, y)
        best = [((experts[part] - y[part, None]) ** 2).mean(axis=0).min() for part in parts]
        predictions = {
            name: ks.KernelExperts(
                [*map(clone, members)], mixture, scale=False
            ).partial_fit_predict(X, y)
            for name, mixture in OWN.items()
        } | {name: rule(experts, y) for name, rule in OTHERS.items()}
        for name, each in predictions.items():
            errors = [error(each[part], y[part]) for part in parts]
            found[name].append([e / b for e, b in zip(errors, best, strict=True)])
    means = {name: np.mean(ratios, axis=0) for name, ratios in found.items()}
    rows = [[name, *(f"{each[i]:.2f}" for each in means.values())] for i, name in enumerate(names)]
    report.table(["rows", *means], rows)
    report.remark("Learners with forgetting 0.995, whose own errors dominate after the change.")

    experts, y = mixtures.swapped()
    best = [((experts[part] - y[part, None]) ** 2).mean(axis=0).min() for part in parts]
    rules: dict[str, Rule] = {"polynomial": mixtures.floored} | {
        name: rule for name, rule in OTHERS.items() if rule is not mixtures.stacked
    }
    mixed = [rule(experts, y) for rule in rules.values()]
    rows = [
        [name, *(f"{error(each[part], y[part]) / b:.2f}" for each in mixed)]
        for name, part, b in zip(names, parts, best, strict=True)
    ]
    report.table(["rows", *rules], rows)
    report.remark("Twenty experts with constant biases, which are reversed at the change.")


def timing_table(report: Report, repeats: int) -> None:
    X, y = streams(CASES[0], 1)[0]
    rows = []
    for threads in (1, 2):
        pass_, predicted, single = alone(threads, seconds, X, y, repeats)
        rows.append([
            f"{threads}",
            f"{1e6 * pass_ / len(y):.1f} µs",
            f"{1e6 * predicted / len(y):.1f} µs",
            f"{1e6 * single:.0f} µs",
        ])  # fmt: skip
    size = len(ks.KernelExperts(grid(X), scale=False).fit(X, y)._core.to_bytes())
    report.heading(f"elevators, {len(y):,} rows: a row, median of {repeats}")
    report.table(
        ["threads", "learned in one call", "predicted in one call", "learned by itself"], rows
    )
    report.remark(f"The model file is {size / 1e6:.1f} MB.")


def seconds(X: FloatArray, y: FloatArray, repeats: int) -> tuple[float, float, float]:
    """Seconds of a pass from the first row on, of predictions for all rows, and of one row."""
    times = []
    for _ in range(repeats):
        model = ks.KernelExperts(grid(X), scale=False)
        start = time.perf_counter()
        model.partial_fit(X, y)
        learned = time.perf_counter()
        model.predict(X)
        predicted = time.perf_counter()
        for x, target in zip(X[:200], y[:200], strict=True):
            model.learn_one(x, target)
        single = time.perf_counter()
        times.append((learned - start, predicted - learned, (single - predicted) / 200))
    pass_, predicted, single = np.median(times, axis=0)
    return float(pass_), float(predicted), float(single)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--orders", type=int, default=5, help="random orders (default 5)")
    parser.add_argument("--only", metavar="NAME", help="only the data whose name begins so")
    arguments = parser.parse_args()
    if arguments.orders < 2:
        parser.error("--orders must be at least 2, to know the deviation")
    cases = chosen(parser, CASES, arguments.only, lambda case: case.name)

    report = Report("experts_tables")
    cases = [case for case in cases if available(report, case.file)]
    verdicts = grid_table(report, cases, arguments.orders)
    for scale in ("box", "standardized"):
        rules_table(report, cases, min(arguments.orders, 3), scale)
    recovery_table(report, 3)
    if CASES[0] in cases:
        timing_table(report, repeats=5)
    failures = verdicts.count("NO")
    report.heading("Summary")
    report.remark(
        f"{verdicts.count('yes')} of {len(verdicts)} errors at most 3 % above the reference "
        f"implementation, {verdicts.count('noise')} further within two standard errors, "
        f"{failures} not."
    )
    report.write()
    return 1 if failures else 0
