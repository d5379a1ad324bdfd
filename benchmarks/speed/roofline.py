"""Speed of the learners relative to the limits of the machine, on one thread.

`make bench BENCH=machine` measures the rate of matrix products (of the crate and of numpy) and
the bandwidth of each level of memory. Learners then run with full dictionaries of 16 to 1,024
points: with many rows per call they are limited by matrix products, with one row per call by
reading the factor and the inverse. Operations and bytes of a row are those of
the cost model in docs/performance.md.

    python benchmarks speed roofline [--quick]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measuring import alone
from report import Report
from streams import FloatArray

import kernelstream as ks

WIDTH = 18
SIZES = (16, 32, 64, 128, 256, 512, 1024)
CALLS_SECONDS = 0.5  # a line is the fastest call within this time


@dataclass(frozen=True)
class Cost:
    """Operations and bytes of a row with m points of d features, learned by itself."""

    operations: Callable[[int, int], float]
    bytes: Callable[[int, int], float]


def similarities(m: int, d: int) -> float:
    return m * (3 * d + 30)


COSTS = {
    # z = L^-1 k: the triangle once. Newton and ridge: P z, then P - u u', each a triangle.
    "gradient": Cost(lambda m, d: similarities(m, d) + m * m + 4 * m,
                     lambda m, d: 8 * m * d + 4 * m * m),
    "NONS": Cost(lambda m, d: similarities(m, d) + 4 * m * m + 4 * m,
                 lambda m, d: 8 * m * d + 16 * m * m),
    "ridge": Cost(lambda m, d: similarities(m, d) + 4 * m * m + 4 * m,
                  lambda m, d: 8 * m * d + 16 * m * m),
    # One new state a pair, along a trajectory. C has m + d outputs: C z, then C + e z'.
    "Koopman, gradient": Cost(lambda m, d: similarities(m, d) + m * m + 4 * m * (m + d),
                              lambda m, d: 8 * m * d + 4 * m * m + 24 * m * (m + d)),
    "Koopman, ridge": Cost(lambda m, d: similarities(m, d) + 4 * m * m + 4 * m * (m + d),
                           lambda m, d: 8 * m * d + 16 * m * m + 24 * m * (m + d)),
}  # fmt: skip


def models(m: int) -> dict[str, Any]:
    basis, kernel = ks.FirstPoints(m), ks.Gaussian(1.0)
    gradient, ridge = ks.Gradient(step=0.1, schedule="constant"), ks.Ridge(1e-2)
    return {
        "gradient": ks.KernelRegressor(kernel=kernel, basis=basis, learner=gradient, scale=False),
        "NONS": ks.KernelRegressor(
            kernel=kernel, basis=basis, learner=ks.OnlineNewton(), scale=False
        ),
        "ridge": ks.KernelRegressor(kernel=kernel, basis=basis, learner=ridge, scale=False),
        "Koopman, gradient": ks.Koopman(kernel=kernel, basis=basis, learner=gradient),
        "Koopman, ridge": ks.Koopman(kernel=kernel, basis=basis, learner=ridge),
    }


def machine() -> dict[str, dict[str, float]]:
    """Rates of matrix products by size, and of reading by kilobytes."""
    root = Path(__file__).resolve().parents[2]
    outcome = subprocess.run(
        ["cargo", "bench", "--quiet", "--package", "kernelstream-benches", "--bench", "machine"],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    line = next(line for line in outcome.stdout.splitlines() if line.startswith("{"))
    rates: dict[str, dict[str, float]] = json.loads(line)
    return rates


def least(act: Callable[[], object]) -> float:
    best, start = float("inf"), time.perf_counter()
    while time.perf_counter() - start < CALLS_SECONDS:
        before = time.process_time()
        act()
        best = min(best, time.process_time() - before)
    return best


def numpy_products() -> dict[str, float]:
    rng = np.random.default_rng(0)
    rates = {}
    for n in (64, 128, 256, 512):
        a, b = rng.standard_normal((n, n)), rng.standard_normal((n, n))
        out = np.empty((n, n))
        rates[str(n)] = 2.0 * n**3 / least(lambda a=a, b=b, out=out: np.matmul(a, b, out=out)) / 1e9
    return rates


def timed(m: int) -> dict[str, tuple[float, float]]:
    """Microseconds per row of each learner: in one call, and with one row per call."""
    rng = np.random.default_rng(0)
    n = 5_000
    X = rng.uniform(-1.0, 1.0, (n, WIDTH))
    y: FloatArray = np.sin(X.sum(axis=1))
    few = min(n, max(50, 20_000 // m))
    rows, targets = list(X[:few]), y[:few].tolist()
    out = {}
    for name, model in models(m).items():
        pairs = isinstance(model, ks.Koopman)
        after: Any = np.roll(X, -1, axis=0) if pairs else y
        model.fit(X, after)
        model.partial_fit(X, after)
        after_rows = list(after[:few]) if pairs else targets

        def one_by_one(model: Any = model, after_rows: list[Any] = after_rows) -> None:
            for x, target in zip(rows, after_rows, strict=True):
                model.learn_one(x, target)

        together = least(lambda model=model, after=after: model.partial_fit(X, after)) / n
        out[name] = (1e6 * together, 1e6 * least(one_by_one) / few)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="up to 128 points")
    sizes = SIZES[:4] if parser.parse_args().quick else SIZES
    report = Report("roofline")
    rates, numpy_rates = machine(), alone(1, numpy_products)
    products, reads = rates["products"], {int(k): v for k, v in rates["reads"].items()}
    report.heading("Matrix products of this machine, one thread, 10^9 operations a second")
    report.table(
        ["size", *products],
        [
            ["kernelstream", *(f"{v:.1f}" for v in products.values())],
            ["numpy", *(f"{v:.1f}" for v in numpy_rates.values())],
        ],
    )
    report.heading("Reading, 10^9 bytes a second")
    report.table(["kilobytes", *map(str, reads)], [["read", *(f"{v:.0f}" for v in reads.values())]])

    peak = max(products.values())
    lines = []
    for m in report.track(sizes, "learners"):
        for name, (together, alone_us) in alone(1, timed, m).items():
            cost = COSTS[name]
            operations, moved = cost.operations(m, WIDTH), cost.bytes(m, WIDTH)
            # It comes from where the matrices fit, most of which are read once and written once.
            kilobytes = moved / 2 / 1024
            bandwidth = next(
                (v for k, v in sorted(reads.items()) if k >= kilobytes), min(reads.values())
            )
            bound = max(operations / peak, moved / bandwidth) / 1e3
            rate = operations / together / 1e3
            lines.append([
                f"{name}, m = {m}", f"{together:.2f}", f"{rate:.1f}", f"{100 * rate / peak:.0f} %",
                f"{alone_us:.2f}", f"{bound:.2f}", f"{100 * bound / alone_us:.0f} %",
                f"{alone_us / together:.1f}",
            ])  # fmt: skip
    lines.sort(key=lambda line: line[0].split(", m")[0])
    report.heading(f"Learners, d = {WIDTH}")
    report.table(
        ["learner", "one call, µs a row", "10^9 op/s", "of the peak", "a row, µs", "bound, µs",
         "of the bound", "one call faster"],
        lines,
    )  # fmt: skip
    report.remark(
        "One call: operations of the cost model over the time, beside the fastest matrix product "
        "measured. A row: what its operations or its bytes would take at best, whichever is more, "
        "beside the time; the way from Python and back is 0.3 µs of it."
    )
    report.write()
