"""Six dynamical systems: nothing chosen, tuned by hand, and other packages tuned by search.

Ornstein-Uhlenbeck, Duffing, Langevin, alanine dipeptide, the wake of a cylinder and one coordinate
of Lorenz's system (`dynamics_worlds.py`), learned by `Koopman()` with no arguments, by a `Koopman`
with parameters tuned by hand, and by kooplearn, deeptime and PyDMD (`dynamics_methods.py`), each in
a process of its own on one thread. Where a method costs the cube of the number of pairs it gets a
random part of them, as stated. Packages that are not installed are listed and skipped.

    python benchmarks forecasting peers [--seeds 3] [--world NAME]
"""

from __future__ import annotations

import argparse
import importlib.util
import warnings
from dataclasses import dataclass

import numpy as np
from forecasting.methods import METHODS, Method
from forecasting.worlds import WORLDS
from measuring import alone, peak_memory, processor_time
from report import Report

SEEDS = 3


@dataclass(frozen=True)
class Found:
    """Errors and costs of a method; `failure` says why there are none."""

    pairs: int
    errors: list[float]
    seconds: float
    memory: float
    failure: str = ""


def measure(world_name: str, index: int, seeds: int) -> Found:
    """Learn a system of each seed; seconds are the least, with the search for parameters."""
    warnings.simplefilter("ignore")
    method = METHODS[index]
    errors, seconds = [], []
    for seed in range(seeds):
        world = WORLDS[world_name](seed)
        before, after = world.pairs()
        if len(before) > method.most:
            part = np.random.default_rng(seed).choice(len(before), method.most, replace=False)
            before, after = before[part], after[part]
        if not seed:
            base = peak_memory()
        start = processor_time()
        try:
            fitted = method.learn(world, (before, after))
            seconds.append(processor_time() - start)
            errors.append(world.judge(fitted))
        except (ValueError, ArithmeticError, RuntimeError, np.linalg.LinAlgError) as error:
            return Found(len(before), [], 0.0, 0.0, str(error).split("\n", 1)[0][:60])
    return Found(len(before), errors, min(seconds), peak_memory() - base)


def fits(method: Method, world_name: str) -> bool:
    """Whether a method can answer the question of a system."""
    world = WORLDS[world_name](0)
    able = method.forecasts if world.by_forecast else method.spectra
    return able and (world.linear_too or not method.linear)


def table(report: Report, world_name: str, seeds: int) -> None:
    try:
        world = WORLDS[world_name](0)
    except FileNotFoundError as missing:
        report.remark(f"{world_name}: skipped, {missing.filename} is missing")
        return
    rows = []
    able = [i for i, method in enumerate(METHODS) if fits(method, world_name)]
    for index in report.track(able, world_name):
        method = METHODS[index]
        if importlib.util.find_spec(method.package) is None:
            continue
        found = alone(1, measure, world_name, index, seeds)
        if found.failure:
            rows.append([method.name, f"{found.pairs:,}", found.failure, "", "", ""])
            continue
        low, middle, high = np.quantile(found.errors, [0.0, 0.5, 1.0])
        rows.append([
            method.name, f"{found.pairs:,}", f"{middle:.3g}", f"{low:.3g} to {high:.3g}",
            f"{found.seconds:.2f}", f"{found.memory:.0f}",
        ])  # fmt: skip
    report.heading(f"{world_name}: {world.question}")
    report.table(["method", "pairs", "median", "range", "seconds", "MB"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=SEEDS, help="streams of each system")
    parser.add_argument("--world", choices=list(WORLDS), help="this system only")
    given = parser.parse_args()
    seeds = given.seeds
    report = Report("dynamics_peers")
    for name in [given.world] if given.world else WORLDS:
        table(report, name, seeds)
    report.remark(
        f"Medians and ranges over {seeds} seeds or splits. Seconds: processor time on one thread, "
        "the least of the seeds, with the search for bandwidth and regularization where there is "
        "one. Memory: increase of the peak of the process."
    )
    missing = {m.package for m in METHODS if importlib.util.find_spec(m.package) is None}
    if missing:
        report.remark(f"Not installed, so skipped: {', '.join(sorted(missing))}.")
    report.write()
