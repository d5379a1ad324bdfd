"""What a person watches while the command line learns."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
)

from kernelstream.estimators.metrics import RunningError, RunningMistakes

__all__ = ["LearningBar"]


class LearningBar:
    """A live bar with rows per second, running error and dictionary size.

    Parameters
    ----------
    console : Console
        Where to draw.
    total : int, optional
        Size of the work; None if not known.
    label : str, default="learning"
        What is going on.
    unit : str, default="rows"
        What is learned.
    """

    def __init__(
        self, console: Console, total: int | None, label: str = "learning", unit: str = "rows"
    ) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn(f"[bold]{label}"),
            BarColumn(bar_width=16),
            TaskProgressColumn(),
            TextColumn("{task.fields[status]}"),
            console=console,
        )
        self._task = self._progress.add_task("", total=total, status="")
        self._total = total
        self._unit = unit
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
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            done = self._total if self._total is not None else self._rows
            self._progress.update(self._task, total=max(done, 1), completed=max(done, 1))
        self._progress.stop()

    def update(
        self,
        done: int,
        rows: int,
        error: RunningError | RunningMistakes | None = None,
        stored: int | None = None,
    ) -> None:
        """Show how far it has come.

        Parameters
        ----------
        done : int
            Work done, in the unit of ``total``.
        rows : int
            Rows done.
        error : RunningError or RunningMistakes, optional
            The error so far.
        stored : int, optional
            Points stored.
        """
        self._rows = rows
        parts = [f"{rows:,} {self._unit}", f"{self.rows_per_second:,.0f}/s"]
        if error is not None and error.n_rows:
            parts.append(f"[bold]{error}[/]")
        if stored is not None:
            parts.append(f"{stored:,} stored")
        self._progress.update(self._task, completed=done, status=" · ".join(parts))
