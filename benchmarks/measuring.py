"""Runs in separate processes: seconds, peak memory, and a given number of threads."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# Variables by which libraries limit their threads.
VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "KERNELSTREAM_NUM_THREADS",
)


def peak_memory() -> float:
    """Megabytes of this process at its largest so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def processor_time() -> float:
    """Seconds of processor time of this process and of those it has waited for.

    On one thread this is the wall-clock time of an otherwise idle machine.
    """
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


class Stopwatch:
    """Processor time of what runs inside ``with stopwatch:``, added up."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._began = processor_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += processor_time() - self._began


def clock(threads: int | None) -> Callable[[], float]:
    """What measures a run: processor time on one thread, the clock on the wall on several."""
    return processor_time if threads == 1 else time.perf_counter


def alone(threads: int | None, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The function's value, from a new process with this many threads (None: its default)."""
    before = {name: os.environ.get(name) for name in VARIABLES}
    try:
        for name in VARIABLES:
            os.environ.pop(name, None)
            if threads is not None:
                os.environ[name] = str(threads)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(function, *args, **kwargs).result()
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
