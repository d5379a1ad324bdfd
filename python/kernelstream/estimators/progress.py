"""What a person watches while rows are learned, with an estimator or on the command line."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["ProgressBar", "report_to_bar"]

_PATIENCE = 1.0  # seconds before the bar of an estimator is worth showing


class ProgressBar:
    """A live bar with the rows learned, their error, the points stored and the speed.

    Parameters
    ----------
    total : int or None
        Size of the work; None if not known.
    label : str, default="learning"
        What is going on.
    unit : str, default="rows"
        What is learned.
    console : rich.console.Console, optional
        Where to draw. None: rich's own.
    patience : float, default=0.0
        Seconds before it is shown.

    Raises
    ------
    ModuleNotFoundError
        rich is not installed.
    """

    def __init__(
        self,
        total: int | None,
        label: str = "learning",
        unit: str = "rows",
        *,
        console: Console | None = None,
        patience: float = 0.0,
    ) -> None:
        from rich.progress import (  # noqa: PLC0415  (an optional dependency)
            BarColumn,
            Progress,
            SpinnerColumn,
            TaskProgressColumn,
            TextColumn,
        )

        self._progress = Progress(
            SpinnerColumn(),
            TextColumn(f"[bold]{label}"),
            BarColumn(bar_width=12),
            TaskProgressColumn(),
            TextColumn("{task.fields[status]}"),
            console=console,
        )
        self._task = self._progress.add_task("", total=total, status="")
        self._total = total
        self._unit = unit
        self._patience = patience
        self._shown = False
        self._begun = time.perf_counter()
        self._rows = 0

    @property
    def seconds(self) -> float:
        """Time since the bar was made."""
        return time.perf_counter() - self._begun

    @property
    def rows_per_second(self) -> float:
        """Rows done, over the time since the bar was made."""
        return self._rows / max(self.seconds, 1e-9)

    def __enter__(self) -> Self:
        self._show()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            done = max(self._rows if self._total is None else self._total, 1)
            self._progress.update(self._task, total=done, completed=done)
        if self._shown:
            self._progress.stop()

    def update(
        self,
        done: int,
        rows: int | None = None,
        error: object | None = None,
        stored: int | None = None,
    ) -> None:
        """Show how far it has come.

        Parameters
        ----------
        done : int
            Work done, in the unit of ``total``.
        rows : int, optional
            Rows done. None: these are the unit of ``total``.
        error : object, optional
            The error so far, to be shown as its text.
        stored : int, optional
            Points stored.
        """
        self._rows = done if rows is None else rows
        count = f"{done:,}/{self._total:,}" if rows is None and self._total else f"{self._rows:,}"
        parts = [f"{count} {self._unit}"]
        if error is not None and str(error):
            parts.append(f"[bold]{error}[/]")
        if stored is not None:
            parts.append(f"{stored:,} stored")
        parts.append(f"{self.rows_per_second:,.0f}/s")
        self._progress.update(self._task, completed=done, status=" · ".join(parts))
        self._show()

    def _show(self) -> None:
        if not self._shown and self.seconds >= self._patience:
            self._progress.start()
            self._shown = True


@contextmanager
def report_to_bar(
    core: Any, total: int, error: Callable[[int], object] | None = None, unit: str = "rows"
) -> Iterator[Callable[[int], None] | None]:
    """Give a callable that shows how far a core's learning has come, if it takes over a second.

    Parameters
    ----------
    core : object
        What learns; its number of stored points is shown.
    total : int
        Rows to learn.
    error : callable of (rows_done: int), optional
        Gives the error so far.
    unit : str, default="rows"
        What is learned.

    Yields
    ------
    report : callable of (rows_done: int), or None
        To be called now and then; None if no bar can be shown.
    """
    try:
        bar = ProgressBar(total, unit=unit, patience=_PATIENCE)
    except ModuleNotFoundError:
        warnings.warn("verbose=True shows its progress with rich: pip install rich", stacklevel=6)
        yield None
        return

    def _report(done: int) -> None:
        bar.update(done, None, None if error is None else error(done), core.n_stored)

    with bar:
        yield _report
