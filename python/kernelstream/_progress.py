"""The progress bar of estimators with ``verbose=True``."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream._metrics import RunningError

__all__ = ["progress_bar"]

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
    try:
        from rich.progress import (  # noqa: PLC0415  (an optional dependency)
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )
    except ModuleNotFoundError:
        warnings.warn("verbose=True shows its progress with rich: pip install rich", stacklevel=4)
        yield None
        return

    bar = Progress(
        TextColumn("learning"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[status]}"),
        TimeRemainingColumn(),
    )
    task = bar.add_task("", total=len(targets), status="")
    begun = time.perf_counter()
    error = RunningError(targets.shape[1])
    counted = 0
    shown = False

    def report(done: int) -> None:
        nonlocal counted, shown
        elapsed = time.perf_counter() - begun
        error.update(targets[counted:done], forecasts[counted:done])
        counted = done
        if not shown:
            if elapsed < _PATIENCE:
                return
            bar.start()
            shown = True
        rmse = float(np.sqrt(np.mean(np.square(error.rmse))))
        status = f"RMSE {rmse:.4g} · {core.n_stored} stored · {done / elapsed:,.0f} rows/s"
        bar.update(task, completed=done, status=status)

    try:
        yield report
    finally:
        if shown:
            bar.stop()
