"""The progress bar of estimators with ``verbose=True``."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream.estimators.metrics import RunningError, RunningMistakes
from kernelstream.supervised.labels import choose

__all__ = ["mistakes_bar", "pairs_bar", "progress_bar"]

_PATIENCE = 1.0  # seconds before a bar is worth showing


@contextmanager
def progress_bar(
    core: Any, targets: NDArray[np.float64], forecasts: NDArray[np.float64]
) -> Iterator[Callable[[int], None] | None]:
    """Give a callable that shows how far learning has come, once it takes longer than a second.

    Parameters
    ----------
    core : Regressor
        What learns; asked for its number of stored points.
    targets, forecasts : ndarray of shape (n, n_targets)
        Targets, and the array that the core fills with forecasts as it goes.

    Yields
    ------
    report : callable of (rows_done: int), or None
        To be called now and then; None if no bar can be shown.
    """
    error = RunningError(targets.shape[1])
    counted = 0

    def _measure(done: int) -> str:
        nonlocal counted
        error.update(targets[counted:done], forecasts[counted:done])
        counted = done
        rmse = float(np.sqrt(np.mean(np.square(error.rmse))))
        return f"RMSE {rmse:.4g} · {core.n_stored} stored"

    with _bar(len(targets), _measure, "rows") as report:
        yield report


@contextmanager
def mistakes_bar(
    core: Any, targets: NDArray[np.float64], forecasts: NDArray[np.float64]
) -> Iterator[Callable[[int], None] | None]:
    """Give a callable that shows how far learning of classes has come.

    Parameters
    ----------
    core : Regressor
        What learns; asked for its number of stored points.
    targets, forecasts : ndarray of shape (n, n_outputs)
        Signs of the classes, and the array that the core fills with forecasts of them.

    Yields
    ------
    report : callable of (rows_done: int), or None
        To be called now and then; None if no bar can be shown.
    """
    n_classes = max(targets.shape[1], 2)
    mistakes = RunningMistakes(n_classes)

    def _measure(done: int) -> str:
        rows = slice(mistakes.n_rows, done)
        mistakes.update(choose(targets[rows], n_classes), choose(forecasts[rows], n_classes))
        return f"{mistakes} · {core.n_stored} stored"

    with _bar(len(targets), _measure, "rows") as report:
        yield report


@contextmanager
def pairs_bar(core: Any, total: int) -> Iterator[Callable[[int], None] | None]:
    """Give a callable that shows how many pairs of states an operator has learned.

    Parameters
    ----------
    core : Koopman
        What learns; asked for its number of stored states.
    total : int
        Pairs to learn.

    Yields
    ------
    report : callable of (pairs_done: int), or None
        To be called now and then; None if no bar can be shown.
    """
    with _bar(total, lambda _: f"{core.n_stored} stored", "pairs") as report:
        yield report


@contextmanager
def _bar(
    total: int, measure: Callable[[int], str], unit: str
) -> Iterator[Callable[[int], None] | None]:
    try:
        from rich.progress import (  # noqa: PLC0415  (an optional dependency)
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )
    except ModuleNotFoundError:
        warnings.warn("verbose=True shows its progress with rich: pip install rich", stacklevel=6)
        yield None
        return

    bar = Progress(
        TextColumn("learning"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[status]}"),
        TimeRemainingColumn(),
    )
    task = bar.add_task("", total=total, status="")
    begun = time.perf_counter()
    shown = False

    def report(done: int) -> None:
        nonlocal shown
        elapsed = time.perf_counter() - begun
        status = measure(done)
        if not shown:
            if elapsed < _PATIENCE:
                return
            bar.start()
            shown = True
        bar.update(task, completed=done, status=f"{status} · {done / elapsed:,.0f} {unit}/s")

    try:
        yield report
    finally:
        if shown:
            bar.stop()
