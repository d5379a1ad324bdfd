"""The regression tables of the literature, measured through the public interface.

Progressive mean squared error (each row is predicted, then learned from) over random orders of real
tables, features scaled to [-1, 1] and target to [0, 1], Gaussian kernel, ALD tolerance 25/T:

1. AOGD-ALD (U = 2) and NONS-ALD (mu = 1, U = Y = 1) as in Table 3 of Li and Liao, "Nearly optimal
   algorithms with sublinear computational complexity for online kernel regression", ICML 2023;
2. ridge regression, the Vovk-Azoury-Warmuth forecast and NONS-ALD with its best mu, on the same
   dictionaries and at most 16,000 rows of each order.

"expected" is what slow, independent implementations of the same definitions gave. A cell passes if
it is within 3 % of that (sizes: 5 %) or within two standard errors of the mean over orders, and it
says which.

    python benchmarks/regression_tables.py [--orders 5] [--quick] [--only elevators]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from report import Report
from streams import FloatArray, load, min_max, random_order

import kernelstream as ks

ERROR_TOLERANCE, SIZE_TOLERANCE = 0.03, 0.05
RIDGE_ROWS = 16_000
MU_GRID = (0.1, 1.0, 5.0)
LAMBDA_GRID = (0.001, 0.01, 0.1, 1.0)


@dataclass(frozen=True)
class Published:
    """Table 3 of Li and Liao: mean squared errors of AOGD-ALD and NONS-ALD, and sizes."""

    aogd: float
    nons: float
    size: int


@dataclass(frozen=True)
class Case:
    """One table, its kernel, and the figures to meet."""

    name: str
    file: str
    bandwidth: float
    published: Published | None = None
    # expected: AOGD-ALD, NONS-ALD (mu = 1), size
    expected: tuple[float, float, float] | None = None
    # expected: NONS-ALD with its best mu, AWV with its best lambda, ridge lambda = .01
    expected_ridge: tuple[float, float, float] | None = None
    rows: int | None = None
    log_target: bool = False


CASES = (
    Case(
        "elevators", "elevators_raw", 8.0,
        Published(0.00534, 0.00284, 28), (0.00534, 0.00284, 28), (0.00248, 0.00169, 0.00163),
    ),
    Case(
        "ailerons", "ailerons", 8.0,
        Published(0.00345, 0.00288, 58), (0.00345, 0.00287, 58), (0.00283, 0.00245, 0.00214),
    ),
    Case(
        "bank", "bank32nh", 12.0,
        Published(0.01915, 0.01306, 148), (0.0192, 0.01306, 148), (0.01306, 0.01085, 0.01037),
    ),
    # The paper says sigma = 2; its figures come out with 4.
    Case(
        "cpusmall", "cpusmall", 4.0,
        Published(0.01330, 0.00703, 43), (0.0133, 0.0070, 43), (0.00460, 0.00349, 0.00218),
    ),
    # The paper's version of this table has 14,000 rows; which ones is not said. Scaled as a whole.
    Case(
        "calhousing", "cal_housing", 4.0,
        Published(0.03034, 0.02215, 29), (0.0286, 0.0211, 29), (0.0204, 0.0177, 0.0172), 14_000,
    ),
    Case(
        "casp, log(1 + y)", "protein_raw", 2.0,
        expected_ridge=(0.0445, 0.0421, 0.0413), log_target=True,
    ),
    Case("casp", "protein_raw", 2.0),
)  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """One figure over the orders."""

    values: FloatArray

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def deviation(self) -> float:
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else 0.0

    @property
    def standard_error(self) -> float:
        return self.deviation / float(np.sqrt(len(self.values)))


def verdict(sample: Sample, expected: float, tolerance: float) -> str:
    """Say whether a mean meets its figure: "yes", "noise" (two standard errors) or "NO"."""
    gap = abs(sample.mean - expected)
    if gap <= tolerance * expected:
        return "yes"
    return "noise" if gap <= 2.0 * sample.standard_error else "NO"


def scaled(case: Case) -> tuple[FloatArray, FloatArray]:
    X, y = load(case.file)
    y = np.log1p(y) if case.log_target else y
    return min_max(X, -1.0, 1.0)[: case.rows], min_max(y, 0.0, 1.0)[: case.rows]


Maker = Callable[[ks.Gaussian, float], ks.KernelRegressor]


def aogd(kernel: ks.Gaussian, tolerance: float) -> ks.KernelRegressor:
    return ks.presets.aogd_ald(kernel=kernel, tolerance=tolerance, radius=2.0)


def nons(mu: float) -> Maker:
    return lambda kernel, tolerance: ks.presets.nons_ald(
        kernel=kernel, mu=mu, tolerance=tolerance, bound=1.0, target_bound=1.0
    )


def ridge(regularization: float) -> Maker:
    return lambda kernel, tolerance: ks.KernelRegressor(
        kernel, ks.ALD(tolerance), ks.Ridge(regularization)
    )


def awv(regularization: float) -> Maker:
    learner = ks.Ridge(regularization, center=False, clip=False, forecast="awv")
    return lambda kernel, tolerance: ks.KernelRegressor(kernel, ks.ALD(tolerance), learner)


def progressive_error(make: Maker, case: Case, X: FloatArray, y: FloatArray) -> tuple[float, int]:
    """Progressive mean squared error over one order, and the number of points stored."""
    model = make(ks.Gaussian(case.bandwidth), 25.0 / len(y))
    forecasts = model.partial_fit_predict(X, y)
    return float(np.mean((forecasts - y) ** 2)), model.n_stored_


def measure(
    report: Report, makers: list[Maker], case: Case, orders: int, max_rows: int | None = None
) -> tuple[list[Sample], Sample]:
    """Errors of several learners over the same orders, and the size of the dictionary."""
    X, y = scaled(case)
    errors = np.empty((len(makers), orders))
    sizes = np.empty(orders)
    for seed in report.track(range(orders), f"{case.name} ({len(makers)} learners)"):
        order = random_order(len(y), seed)[:max_rows]
        X_seed, y_seed = X[order], y[order]
        for i, make in enumerate(makers):
            errors[i, seed], sizes[seed] = progressive_error(make, case, X_seed, y_seed)
    return [Sample(row) for row in errors], Sample(sizes)


def best(samples: list[Sample], grid: tuple[float, ...]) -> tuple[Sample, float]:
    """Of several settings the one with the smallest mean, in hindsight."""
    index = int(np.argmin([sample.mean for sample in samples]))
    return samples[index], grid[index]


def cell(sample: Sample, digits: int = 5) -> str:
    return f"{sample.mean:.{digits}f} ± {sample.deviation:.{digits}f}"


def compare(sample: Sample, expected: float, tolerance: float) -> tuple[list[str], str]:
    """Cells "measured, expected, ratio, within": and the verdict alone."""
    said = verdict(sample, expected, tolerance)
    return [cell(sample), f"{expected:g}", f"{sample.mean / expected:.3f}", said], said


def literature_table(report: Report, cases: list[Case], orders: int) -> list[str]:
    report.heading(f"AOGD-ALD and NONS-ALD, {orders} random orders: mean ± deviation")
    rows, said = [], []
    for case in cases:
        if case.expected is None or case.published is None:
            continue
        (first, second), size = measure(report, [aogd, nons(1.0)], case, orders)
        for label, sample, expected, published, tolerance in (
            ("AOGD-ALD", first, case.expected[0], case.published.aogd, ERROR_TOLERANCE),
            ("NONS-ALD", second, case.expected[1], case.published.nons, ERROR_TOLERANCE),
            ("size J", size, case.expected[2], case.published.size, SIZE_TOLERANCE),
        ):
            digits = 1 if label == "size J" else 5
            word = verdict(sample, expected, tolerance)
            rows.append([
                f"{case.name} (sigma {case.bandwidth:g})" if label == "AOGD-ALD" else "",
                label,
                cell(sample, digits),
                f"{expected:g}",
                f"{sample.mean / expected:.3f}",
                word,
                f"{published:g}",
                f"{sample.mean / published:.3f}",
            ])  # fmt: skip
            said.append(word)
    report.table(
        ["data", "what", "measured", "expected", "ratio", "within", "Li & Liao", "ratio"], rows
    )
    report.remark(
        "cpusmall: the published figures need twice the stated sigma. calhousing: the paper does "
        "not say which 14,000 rows it took; here the first 14,000, scaled over the whole file."
    )
    return said


def ridge_table(report: Report, cases: list[Case], orders: int) -> list[str]:
    report.heading(
        f"Ridge on the same dictionaries, {orders} random orders, at most {RIDGE_ROWS:,} rows"
    )
    rows, said = [], []
    makers = [*map(nons, MU_GRID), *map(awv, LAMBDA_GRID), ridge(0.01)]
    for case in cases:
        samples, size = measure(report, makers, case, orders, RIDGE_ROWS)
        newton, mu = best(samples[: len(MU_GRID)], MU_GRID)
        forecaster, strength = best(samples[len(MU_GRID) : -1], LAMBDA_GRID)
        fixed = samples[len(MU_GRID) + LAMBDA_GRID.index(0.01)]
        expected = case.expected_ridge or (None, None, None)
        for label, sample, goal in (
            (f"NONS-ALD, best mu = {mu:g}", newton, expected[0]),
            (f"AWV, best lambda = {strength:g}", forecaster, expected[1]),
            ("AWV, lambda = .01", fixed, None),
            ("ridge, lambda = .01", samples[-1], expected[2]),
        ):
            first = label.startswith("NONS")
            name = f"{case.name} (sigma {case.bandwidth:g}, J = {size.mean:.0f})" if first else ""
            if goal is None:
                cells = [cell(sample), "", "", ""]
            else:
                cells, word = compare(sample, goal, ERROR_TOLERANCE)
                said.append(word)
            rows.append([name, label, *cells])
    report.table(["data", "learner", "measured", "expected", "ratio", "within"], rows)
    report.remark(
        "Ridge is centred and clipped to the targets seen; AWV is neither. casp: the expected "
        "figures are those of the target log(1 + y); the target itself is shown below them."
    )
    return said


def timing_table(report: Report, repeats: int) -> None:
    X, y = scaled(CASES[0])
    rows = []
    for label, make in (
        ("AOGD-ALD", aogd),
        ("NONS-ALD", nons(1.0)),
        ("ridge, centred", ridge(0.01)),
    ):
        seconds = []
        for _ in range(repeats):
            model = make(ks.Gaussian(8.0), 25.0 / len(y))
            start = time.perf_counter()
            model.partial_fit(X, y)
            seconds.append(time.perf_counter() - start)
        fastest, median = min(seconds), float(np.median(seconds))
        rows.append([
            label,
            f"{model.n_stored_}",
            f"{1e3 * fastest:.1f} ms",
            f"{1e3 * median:.1f} ms",
            f"{1e6 * fastest / len(y):.2f} µs",
        ])  # fmt: skip
    report.heading(
        f"One partial_fit of elevators ({len(y):,} rows, as in the file), {repeats} repeats"
    )
    report.table(["learner", "J", "fastest", "median", "fastest, a row"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--orders", type=int, default=5, help="random orders (default 5)")
    parser.add_argument("--quick", action="store_true", help="two orders, without bank and casp")
    parser.add_argument("--only", metavar="NAME", help="only the data whose name begins so")
    arguments = parser.parse_args()
    if arguments.orders < 2:
        parser.error("--orders must be at least 2, to know the deviation")
    orders = 2 if arguments.quick else arguments.orders
    cases = [
        case
        for case in CASES
        if case.name.startswith(arguments.only or "")
        and not (arguments.quick and case.name.startswith(("bank", "casp")))
    ]
    if not cases:
        parser.error(f"no data begins with {arguments.only!r}: {[case.name for case in CASES]}")

    report = Report("regression_tables")
    said = literature_table(report, cases, orders) + ridge_table(report, cases, orders)
    timing_table(report, repeats=3 if arguments.quick else 9)
    failures = said.count("NO")
    report.heading("Verdict")
    report.remark(
        f"{said.count('yes')} of {len(said)} cells within 3 % (sizes: 5 %), {said.count('noise')} "
        f"farther but within two standard errors of the mean, {failures} not."
    )
    report.write()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
