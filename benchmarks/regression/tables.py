"""The regression tables of the literature, measured through the public interface.

Prequential mean squared error (each row is predicted, then learned) over random orders of real
tables, features scaled to [-1, 1] and target to [0, 1], Gaussian kernel:

1. Table 3 of Li and Liao, "Nearly optimal algorithms with sublinear computational complexity for
   online kernel regression", ICML 2023: AOGD-ALD (U = 2), NONS-ALD (mu = 1, U = Y = 1), both with
   ALD tolerance 25/T, PROS-N-KONS and CON-KONS (alpha = 5, bounds 1), FOGD and NOGD (400
   frequencies or points, the best of the steps 1, 10 and 100 over sqrt(T) in hindsight, as in the
   paper);
2. ridge regression, the Vovk-Azoury-Warmuth forecast and NONS-ALD with its best mu, on the same
   dictionaries and at most 16,000 rows of each order.

"reference" is the result of an independent implementation of the same definitions. A figure agrees
if it is within 3 % of that (sizes: 5 %; sampling algorithms: 10 %) or within two standard errors of
the mean over orders. Pages and figures are written to benchmarks/output. Missing data sets are
skipped.

    python benchmarks regression tables [--orders 5] [--quick] [--only elevators]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from regression.progressive import Pass, draw, run
from report import Report, chosen
from streams import FloatArray, Missing, available, load, min_max, random_order

import kernelstream as ks

ERROR_TOLERANCE, SIZE_TOLERANCE, CHANCE_TOLERANCE = 0.03, 0.05, 0.10
RIDGE_ROWS = 16_000
MU_GRID = (0.1, 1.0, 5.0)
# Over the square root of the number of rows.
STEP_GRID = (1.0, 10.0, 100.0)
LAMBDA_GRID = (0.001, 0.01, 0.1, 1.0)


# Published figures of an algorithm: error, and points stored or features.
Cell = tuple[float, int]


@dataclass(frozen=True)
class Case:
    """A data set, its kernel, and published and reference figures."""

    name: str
    file: str
    bandwidth: float
    # Table 3 of Li and Liao.
    published: dict[str, Cell] = field(default_factory=dict)
    # reference: errors, and the size of the dictionary of AOGD-ALD and NONS-ALD
    reference: dict[str, float] = field(default_factory=dict)
    reference_size: int | None = None
    # reference: NONS-ALD with its best mu, AWV with its best lambda, ridge lambda = 0.01
    reference_ridge: tuple[float, float, float] | None = None
    # gamma of KORS, of the paper's grid the one that comes closest to the published sizes
    gamma: float = 1.0
    rows: int | None = None
    log_target: bool = False


def reference(aogd: float, nons: float, con: float, pros: float) -> dict[str, float]:
    return {"AOGD-ALD": aogd, "NONS-ALD": nons, "CON-KONS": con, "PROS-N-KONS": pros}


def published(
    fogd: float, nogd: float, pros: Cell, con: Cell, aogd: Cell, nons: Cell
) -> dict[str, Cell]:
    return {
        "FOGD": (fogd, 400), "NOGD": (nogd, 400), "PROS-N-KONS": pros, "CON-KONS": con,
        "AOGD-ALD": aogd, "NONS-ALD": nons,
    }  # fmt: skip


CASES = (
    Case(
        "elevators", "elevators_raw", 8.0,
        published(0.00560, 0.00575, (0.00873, 32), (0.00452, 34), (0.00534, 28), (0.00284, 28)),
        reference(0.00534, 0.00284, 0.0047, 0.0088), 28, (0.00248, 0.00169, 0.00163), 10.0,
    ),
    Case(
        "ailerons", "ailerons", 8.0,
        published(0.00363, 0.00394, (0.01509, 88), (0.00320, 84), (0.00345, 58), (0.00288, 58)),
        reference(0.00345, 0.00287, 0.0032, 0.0150), 58, (0.00283, 0.00245, 0.00214), 1.0,
    ),
    Case(
        "bank", "bank32nh", 12.0,
        published(0.01910, 0.01966, (0.02677, 179), (0.01663, 177), (0.01915, 148), (0.01306, 148)),
        reference(0.0192, 0.01306, 0.0165, 0.0268), 148, (0.01306, 0.01085, 0.01037), 1.0,
    ),
    # The paper states sigma = 2; its figures are reproduced with 4.
    Case(
        "cpusmall", "cpusmall", 4.0,
        published(0.01269, 0.01388, (0.02939, 42), (0.01166, 42), (0.01330, 44), (0.00703, 43)),
        reference(0.0133, 0.0070, 0.0116, 0.0290), 43, (0.00460, 0.00349, 0.00218), 5.0,
    ),
    # The paper uses 14,000 rows without stating which. Scaled as a whole.
    Case(
        "calhousing", "cal_housing", 4.0,
        published(0.02690, 0.02800, (0.04336, 45), (0.02436, 44), (0.03034, 29), (0.02215, 29)),
        reference(0.0286, 0.0211, 0.0234, 0.0411), 29, (0.0204, 0.0177, 0.0172), 5.0, 14_000,
    ),
    Case(
        "casp, log(1 + y)", "protein_raw", 2.0,
        reference_ridge=(0.0445, 0.0421, 0.0413), log_target=True,
    ),
    Case("casp", "protein_raw", 2.0),
)  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """A figure over the orders."""

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


def verdict(sample: Sample, reference: float, tolerance: float) -> str:
    """Compare a mean with its reference: "yes", "noise" (two standard errors) or "NO"."""
    gap = abs(sample.mean - reference)
    if gap <= tolerance * reference:
        return "yes"
    return "noise" if gap <= 2.0 * sample.standard_error else "NO"


def scaled(case: Case) -> tuple[FloatArray, FloatArray]:
    X, y = load(case.file)
    y = np.log1p(y) if case.log_target else y
    return min_max(X, -1.0, 1.0)[: case.rows], min_max(y, 0.0, 1.0)[: case.rows]


# From a kernel, a tolerance and the number of the order.
Maker = Callable[[ks.Gaussian, float, int], ks.KernelRegressor]


def aogd(kernel: ks.Gaussian, tolerance: float, _seed: int) -> ks.KernelRegressor:
    return ks.presets.aogd_ald(kernel=kernel, tolerance=tolerance, radius=2.0)


def fogd(step: float) -> Maker:
    return lambda kernel, tolerance, seed: ks.presets.fogd(
        kernel, step * (tolerance / 25.0) ** 0.5, 400, random_state=seed
    )


def nogd(step: float) -> Maker:
    return lambda kernel, tolerance, _: ks.presets.nogd(
        kernel, step * (tolerance / 25.0) ** 0.5, 400, 80
    )


def sampled(preset: Callable[..., ks.KernelRegressor], gamma: float) -> Maker:
    return lambda kernel, _, seed: preset(kernel, 5.0, gamma, 1.0, 1.0, random_state=seed)


def nons(mu: float) -> Maker:
    return lambda kernel, tolerance, _: ks.presets.nons_ald(
        kernel=kernel, mu=mu, tolerance=tolerance, bound=1.0, target_bound=1.0
    )


def ridge(regularization: float) -> Maker:
    return lambda kernel, tolerance, _: ks.KernelRegressor(
        kernel, ks.ALD(tolerance), ks.Ridge(regularization), scale=False
    )


def awv(regularization: float) -> Maker:
    learner = ks.Ridge(regularization, center=False, clip=False, prediction="awv")
    return lambda kernel, tolerance, _: ks.KernelRegressor(
        kernel, ks.ALD(tolerance), learner, scale=False
    )


def measure(
    report: Report, makers: list[Maker], case: Case, orders: int, max_rows: int | None = None
) -> list[list[Pass]]:
    """Passes of several learners over the same orders; none for a learner whose weights diverge."""
    X, y = scaled(case)
    passes: list[list[Pass]] = [[] for _ in makers]
    for seed in report.track(range(orders), f"{case.name} ({len(makers)} learners)"):
        order = random_order(len(y), seed)[:max_rows]
        X_seed, y_seed = X[order], y[order]
        for make, of_learner in zip(makers, passes, strict=True):
            model = make(ks.Gaussian(case.bandwidth), 25.0 / len(y_seed), seed)
            try:
                of_learner.append(run(model, X_seed, y_seed))
            except ValueError as error:
                if "diverge" not in str(error):
                    raise
    return [of_learner if len(of_learner) == orders else [] for of_learner in passes]


def errors(passes: list[Pass]) -> Sample:
    return Sample(np.array([each.error for each in passes] or [np.inf]))


def sizes(passes: list[Pass]) -> Sample:
    return Sample(np.array([float(each.stored) for each in passes] or [np.inf]))


def best_of(passes: list[list[Pass]]) -> list[Pass]:
    """The setting with the smallest mean error, in hindsight."""
    return min(passes, key=lambda of_setting: errors(of_setting).mean)


def best(samples: list[Sample], grid: tuple[float, ...]) -> tuple[Sample, float]:
    """The setting with the smallest mean, in hindsight."""
    index = int(np.argmin([sample.mean for sample in samples]))
    return samples[index], grid[index]


def cell(sample: Sample, digits: int = 5) -> str:
    return f"{sample.mean:.{digits}f} ± {sample.deviation:.{digits}f}"


def compare(sample: Sample, reference: float, tolerance: float) -> tuple[list[str], str]:
    """Cells "measured, reference, ratio, agrees": and the verdict alone."""
    word = verdict(sample, reference, tolerance)
    return [cell(sample), f"{reference:g}", f"{sample.mean / reference:.3f}", word], word


def literature_table(report: Report, cases: list[Case], orders: int) -> list[str]:
    report.heading(f"Table 3 of Li and Liao, {orders} random orders: mean ± deviation")
    rows, verdicts, curves = [], [], []
    for case in cases:
        if not case.published:
            continue
        sketches = [sampled(p, case.gamma) for p in (ks.presets.pros_n_kons, ks.presets.con_kons)]
        makers = [*map(fogd, STEP_GRID), *map(nogd, STEP_GRID), *sketches, aogd, nons(1.0)]
        passes = measure(report, makers, case, orders)
        n = len(STEP_GRID)
        by_name = {"FOGD": best_of(passes[:n]), "NOGD": best_of(passes[n : 2 * n])}
        by_name |= dict(zip(list(case.published)[2:], passes[2 * n :], strict=True))
        curves.append((case, [(label, each[0]) for label, each in by_name.items()]))
        for label, of_learner in by_name.items():
            sample, (figure, size) = errors(of_learner), case.published[label]
            reference = case.reference.get(label)
            by_chance = label.endswith("KONS")
            word = ""
            if reference is not None:
                tolerance = CHANCE_TOLERANCE if by_chance else ERROR_TOLERANCE
                word = verdict(sample, reference, tolerance)
                verdicts.append(word)
            stored = sizes(of_learner)
            stored_cell = "400 frequencies" if label == "FOGD" else f"{stored.mean:.0f}"
            if label.endswith("ALD") and case.reference_size is not None:
                size_word = verdict(stored, case.reference_size, SIZE_TOLERANCE)
                verdicts.append(size_word)
                stored_cell += f" ({size_word})"
            rows.append([
                f"{case.name} (sigma {case.bandwidth:g})" if label == "FOGD" else "",
                label,
                f"{figure:g}",
                cell(sample),
                f"{sample.mean / figure:.3f}",
                f"{reference:g}" if reference is not None else "",
                word,
                f"{size}",
                stored_cell,
                f"{np.median([each.microseconds for each in of_learner]):.1f}",
            ])  # fmt: skip
    report.table(
        [
            "data", "algorithm", "published", "measured", "ratio", "reference", "agrees",
            "published size", "measured size", "µs per row",
        ],
        rows,
    )  # fmt: skip
    report.remark(
        "cpusmall: the published figures require twice the stated sigma. calhousing: the paper "
        "does not state which 14,000 rows it uses; here the first 14,000, scaled over the whole "
        "file. The paper tunes gamma of PROS-N-KONS and CON-KONS without stating the result: here "
        + ", ".join(f"{case.gamma:g} on {case.name}" for case in cases if case.published)
        + ", with the closest sizes. It does not state the rank of NOGD: here 80."
    )
    for case, lines in curves:
        path = draw(f"table3_{case.name}", f"{case.name}, first order", lines)
        report.picture(path, f"{case.name}: error so far against rows and seconds")
    return verdicts


def ridge_table(report: Report, cases: list[Case], orders: int) -> list[str]:
    report.heading(
        f"Ridge on the same dictionaries, {orders} random orders, at most {RIDGE_ROWS:,} rows"
    )
    rows, verdicts = [], []
    makers = [*map(nons, MU_GRID), *map(awv, LAMBDA_GRID), ridge(0.01)]
    for case in cases:
        passes = measure(report, makers, case, orders, RIDGE_ROWS)
        samples, size = [errors(each) for each in passes], sizes(passes[-1])
        newton, mu = best(samples[: len(MU_GRID)], MU_GRID)
        forecaster, strength = best(samples[len(MU_GRID) : -1], LAMBDA_GRID)
        fixed = samples[len(MU_GRID) + LAMBDA_GRID.index(0.01)]
        references = case.reference_ridge or (None, None, None)
        for label, sample, reference in (
            (f"NONS-ALD, best mu = {mu:g}", newton, references[0]),
            (f"AWV, best lambda = {strength:g}", forecaster, references[1]),
            ("AWV, lambda = 0.01", fixed, None),
            ("ridge, lambda = 0.01", samples[-1], references[2]),
        ):
            first = label.startswith("NONS")
            name = f"{case.name} (sigma {case.bandwidth:g}, J = {size.mean:.0f})" if first else ""
            if reference is None:
                cells = [cell(sample), "", "", ""]
            else:
                cells, word = compare(sample, reference, ERROR_TOLERANCE)
                verdicts.append(word)
            rows.append([name, label, *cells])
    report.table(["data", "learner", "measured", "reference", "ratio", "agrees"], rows)
    report.remark(
        "Ridge is centred and clipped to the targets seen; AWV is neither. casp: the reference is "
        "for the target log(1 + y); the target itself is shown below."
    )
    return verdicts


def timing_table(report: Report, repeats: int) -> None:
    try:
        X, y = scaled(CASES[0])
    except Missing:
        return
    rows = []
    for label, make in (
        ("AOGD-ALD", aogd),
        ("NONS-ALD", nons(1.0)),
        ("ridge, centred", ridge(0.01)),
    ):
        seconds = []
        for _ in range(repeats):
            model = make(ks.Gaussian(8.0), 25.0 / len(y), 0)
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
    report.table(["learner", "J", "fastest", "median", "fastest, per row"], rows)


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
    slow = ("bank", "casp") if arguments.quick else ()
    quick = [case for case in CASES if not case.name.startswith(slow)]
    cases = chosen(parser, quick, arguments.only, lambda case: case.name)

    report = Report("regression_tables")
    cases = [case for case in cases if available(report, case.file)]
    verdicts = literature_table(report, cases, orders) + ridge_table(report, cases, orders)
    timing_table(report, repeats=3 if arguments.quick else 9)
    failures = verdicts.count("NO")
    report.heading("Summary")
    report.remark(
        f"{verdicts.count('yes')} of {len(verdicts)} figures within 3 % of the reference (sizes: "
        f"5 %, PROS-N-KONS and CON-KONS: 10 %), {verdicts.count('noise')} "
        f"further within two standard errors of the mean, {failures} not."
    )
    report.write()
    return 1 if failures else 0
