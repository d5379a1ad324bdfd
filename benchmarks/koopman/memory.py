"""A million pairs in constant memory: peak resident memory and time per pair along one stream.

An Ornstein-Uhlenbeck process and the four-well Langevin dynamics, generated in small chunks so
that the data take no memory, learned by least squares and by sparse gradient, each in a separate
process. "grown" is the increase of the peak after the first 10,000 pairs, at most a megabyte; time
is that of learning alone. The exit code is 1 if memory or time grow.

    python benchmarks koopman memory [--quick]
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
from report import Report
from streams import FloatArray

import kernelstream as ks

CHUNK = 2_000
MARKS = (10_000, 100_000, 1_000_000)
GROWTH_LIMIT = 1024  # kilobytes, of 10^6 pairs
SLOWDOWN_LIMIT = 2.0  # times, beyond what more stored states cost; machines are not quiet

LANGEVIN_KERNEL = 0.4 * ks.Gaussian(0.4) + 0.6 * ks.Gaussian(0.7)


def ornstein_uhlenbeck(rng: np.random.Generator) -> Iterator[FloatArray]:
    """One trajectory with theta tau = 0.5, cut into chunks of `CHUNK` states."""
    decay = np.exp(-0.5)
    x = rng.standard_normal()
    while True:
        kicks = np.sqrt(1.0 - decay**2) * rng.standard_normal(CHUNK)
        states = np.empty((CHUNK, 1))
        for i, kick in enumerate(kicks):
            x = decay * x + kick
            states[i] = x
        yield states


def langevin(rng: np.random.Generator) -> Iterator[FloatArray]:
    """100 walkers in four wells, tau = 0.1: 20 states of each at a time."""
    walkers = np.sign(rng.standard_normal((100, 2)))
    step, substeps = 0.1 / 20, 20
    while True:
        states = np.empty((CHUNK // 100, 100, 2))
        for t in range(len(states)):
            for kick in np.sqrt(step / 2.0) * rng.standard_normal((substeps, 100, 2)):
                walkers = walkers - 4.0 * step * walkers * (walkers * walkers - 1.0) + kick
            states[t] = walkers
        yield states.transpose(1, 0, 2)


@dataclass(frozen=True)
class Case:
    name: str
    source: Callable[[np.random.Generator], Iterator[FloatArray]]
    make: Callable[[], ks.Koopman]


def ou_squares() -> ks.Koopman:
    return ks.presets.recursive_koopman(ks.Gaussian(1.0), 1e-3, 1.0)


def ou_gradient() -> ks.Koopman:
    return ks.presets.sparse_koopman(
        ks.Gaussian(1.0), 0.3, 1.0, power=3.0, averaging=True, replay=1_000, random_state=0
    )


def wells_squares() -> ks.Koopman:
    # So fine that pairs are learned by blocks from the first mark on, whose scratch is then there.
    return ks.presets.recursive_koopman(LANGEVIN_KERNEL, 3e-3)


def wells_gradient() -> ks.Koopman:
    return ks.presets.sparse_koopman(
        LANGEVIN_KERNEL, 0.3, 1.0, power=4.0, averaging=True, max_size=100
    )


CASES = (
    Case("Ornstein-Uhlenbeck, least squares", ornstein_uhlenbeck, ou_squares),
    Case("Ornstein-Uhlenbeck, gradient, replay", ornstein_uhlenbeck, ou_gradient),
    Case("four wells, least squares", langevin, wells_squares),
    Case("four wells, gradient, at most 100", langevin, wells_gradient),
)


@dataclass(frozen=True)
class Mark:
    pairs: int
    stored: int
    peak: int  # kilobytes
    seconds: float  # of learning, since the mark before


def peak_memory() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


def follow(case: Case, marks: tuple[int, ...]) -> list[Mark]:
    """Learn up to the last of the marks."""
    model = case.make()
    source = case.source(np.random.default_rng(0))
    reached: list[Mark] = []
    seconds, seen = 0.0, 0
    for states in source:
        if states.ndim == 2:
            begin = time.process_time()
            model.partial_fit_trajectory(states, continued=True)
        else:
            before, after = states[:, :-1].reshape(-1, 2), states[:, 1:].reshape(-1, 2)
            begin = time.process_time()
            model.partial_fit(before, after)
        seconds += time.process_time() - begin
        if model.n_seen_ >= marks[len(reached)]:
            reached.append(
                Mark(
                    model.n_seen_, model.n_stored_, peak_memory(), seconds / (model.n_seen_ - seen)
                )
            )
            seconds, seen = 0.0, model.n_seen_
            if len(reached) == len(marks):
                break
    return reached


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="up to 100,000 pairs")
    arguments = parser.parse_args()
    marks = MARKS[:2] if arguments.quick else MARKS
    report = Report("koopman_memory")
    rows, failures = [], 0
    for case in report.track(CASES, "streams"):
        # A new process, or the peak would be that of an earlier case.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            reached = pool.submit(follow, case, marks).result()
        first = reached[0]
        for mark in reached:
            grown = mark.peak - first.peak
            # A pair costs at most the square of the stored states.
            due = max(1.0, (mark.stored / first.stored) ** 2)
            flat = grown <= GROWTH_LIMIT and mark.seconds <= SLOWDOWN_LIMIT * due * first.seconds
            failures += not flat
            rows.append([
                case.name if mark is first else "",
                f"{mark.pairs:,}",
                f"{mark.stored}",
                f"{mark.peak / 1024:.1f}",
                f"{grown}",
                f"{1e6 * mark.seconds:.2f}",
                "yes" if flat else "NO",
            ])  # fmt: skip
    report.heading("One stream in constant memory")
    report.table(
        ["stream, learner", "pairs", "stored", "peak, MB", "grown, kB", "µs a pair", "flat"], rows
    )
    report.remark(
        "Peak resident memory of the whole process, Python and libraries included. µs a pair: "
        "processor time since the line before."
    )
    report.write()
    return 1 if failures else 0
