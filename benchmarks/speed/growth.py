"""How time and memory grow with the rows, and time with the stored points.

A stream generated on the fly is learned in a separate process: time per row between marks, from
10^4 to 10^7 rows, and the increase of peak memory after the second mark. Then the exponent of the
time per row in m, between 128 and 1,024 stored points. The exit code is 1 if a limit is exceeded.

    python benchmarks speed growth [--quick]
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from typing import Any

import numpy as np
from measuring import alone, peak_memory
from report import Report
from streams import FloatArray

import kernelstream as ks

WIDTH = 8
CHUNK = 10_000
POINTS = 30
MARKS = (10_000, 100_000, 1_000_000, 10_000_000)
SLOWDOWN_LIMIT = 1.10
MEMORY_LIMIT = 1.0  # megabytes, since the second mark
EXPONENT_LIMIT = 2.1
SIZES = (128, 256, 512, 1024)


def models(points: int) -> dict[str, Any]:
    kernel, basis = ks.Gaussian(1.0), ks.FirstPoints(points)
    ridge, gradient = ks.Ridge(1e-2), ks.Gradient(step=0.1, schedule="constant")
    return {
        "ridge": ks.KernelRegressor(kernel=kernel, basis=basis, learner=ridge, scale=False),
        "NONS": ks.KernelRegressor(
            kernel=kernel, basis=basis, learner=ks.OnlineNewton(), scale=False
        ),
        "gradient": ks.KernelRegressor(kernel=kernel, basis=basis, learner=gradient, scale=False),
        "Koopman, ridge": ks.Koopman(kernel=kernel, basis=basis, learner=ridge),
        "Koopman, gradient": ks.Koopman(kernel=kernel, basis=basis, learner=gradient),
    }


def chunk(rng: np.random.Generator, rows: int, *, pairs: bool) -> tuple[FloatArray, FloatArray]:
    X = rng.uniform(-1.0, 1.0, (rows, WIDTH))
    return (X, 0.9 * X[:, ::-1]) if pairs else (X, np.sin(X.sum(axis=1)))


def stream(name: str, marks: tuple[int, ...]) -> list[tuple[float, float]]:
    """At each mark the microseconds per row since the previous one, and megabytes."""
    model = models(POINTS)[name]
    rng = np.random.default_rng(0)
    found: list[tuple[float, float]] = []
    seconds: list[float] = []
    for done in range(CHUNK, marks[-1] + 1, CHUNK):
        X, after = chunk(rng, CHUNK, pairs=isinstance(model, ks.Koopman))
        start = time.process_time()
        model.partial_fit(X, after)
        seconds.append(time.process_time() - start)
        if done in marks:
            # The fastest tenth, to exclude other load of the machine.
            fastest = sorted(seconds)[: max(1, len(seconds) // 10)]
            found.append((1e6 * float(np.mean(fastest)) / CHUNK, peak_memory()))
            seconds = []
    return found


def by_size(name: str, sizes: tuple[int, ...]) -> list[tuple[float, float]]:
    """Microseconds per row in one call and with one row per call, for each number of points."""
    rng = np.random.default_rng(0)
    out = []
    for m in sizes:
        model = models(m)[name]
        X, after = chunk(rng, 2 * max(sizes), pairs=isinstance(model, ks.Koopman))
        model.fit(X, after)
        few = max(20, 20_000 // m)
        together = alone_best = math.inf
        for _ in range(15):
            start = time.process_time()
            model.partial_fit(X, after)
            together = min(together, (time.process_time() - start) / len(X))
            start = time.process_time()
            for x, target in zip(X[:few], after[:few], strict=True):
                model.learn_one(x, target)
            alone_best = min(alone_best, (time.process_time() - start) / few)
        out.append((1e6 * together, 1e6 * alone_best))
    return out


def slope(values: list[float], sizes: tuple[int, ...]) -> float:
    """The exponent by least squares on logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def tables(report: Report, *, quick: bool) -> bool:
    """Print both tables; return whether every limit is kept."""
    marks = MARKS[:3] if quick else MARKS
    sizes = SIZES[:3] if quick else SIZES
    kept = True
    rows = []
    for name in report.track(list(models(1)), "rows"):
        found = alone(1, stream, name, marks)
        times, memory = [t for t, _ in found], [mb for _, mb in found]
        # Until the first mark the dictionary is being filled.
        slower, grown = max(times[2:]) / times[1], memory[-1] - memory[1]
        kept &= slower <= SLOWDOWN_LIMIT and grown <= MEMORY_LIMIT
        rows.append([name, *(f"{t:.3f}" for t in times), f"{slower:.2f}", f"{grown:.2f}"])
    report.heading(f"Microseconds per row along one stream, {POINTS} points, d = {WIDTH}")
    columns = [f"up to {mark:,}" for mark in marks]
    report.table(
        ["learner", *columns, f"slowest after {marks[1]:,}", f"MB after {marks[1]:,}"], rows
    )
    rows = []
    for name in report.track(list(models(1)), "points"):
        costs = alone(1, by_size, name, sizes)
        for how, values in (
            ("many rows per call", [t for t, _ in costs]),
            ("one row per call", [t for _, t in costs]),
        ):
            exponent = slope(values, sizes)
            kept &= exponent <= EXPONENT_LIMIT
            rows.append([f"{name}, {how}", *(f"{v:.1f}" for v in values), f"{exponent:.2f}"])
    report.heading(f"Microseconds per row by stored points, d = {WIDTH}")
    report.table(["learner", *(f"m = {m}" for m in sizes), "exponent in m"], rows)
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="10^6 rows, 512 points")
    report = Report("growth")
    kept = tables(report, quick=parser.parse_args().quick)
    report.write()
    sys.exit(not kept)
