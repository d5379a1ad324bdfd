"""Progress line and metrics of a run."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from kernelstream.cli.running.task import Task
from kernelstream.cli.writing.messages import say
from kernelstream.cli.writing.metrics import MetricsFile
from kernelstream.cli.writing.picture import History
from kernelstream.estimators.progress import ProgressBar

__all__ = ["Watch"]


class Watch:
    """The bar, the metrics file, the hint and the picture."""

    def __init__(
        self,
        console: Console,
        task: Task,
        bar: ProgressBar,
        hint: str,
        metrics: MetricsFile | None = None,
        history: History | None = None,
    ) -> None:
        self._console = console
        self._task = task
        self._bar = bar
        self._hint: str | None = hint
        self._metrics = metrics
        self._history = history

    def update(self, done: int, rows: int, skipped: int, model: Any) -> None:
        """Show the progress."""
        task = self._task
        self._bar.update(done, rows, task.error, model.n_stored_, task.recent)
        if self._hint is not None and (how := task.rises()) is not None:
            say(self._console, f"the relation seems to drift ({how}): {self._hint}")
            self._hint = None
        if self._history is not None:
            self._history.add(rows, task.figures())
        if self._metrics is not None and self._metrics.is_due(rows):
            self._write(self._metrics, rows, skipped, model)

    def finish(self, rows: int, skipped: int, model: Any) -> None:
        """Write the last figures."""
        if self._metrics is not None and rows:
            self._write(self._metrics, rows, skipped, model)

    def _write(self, metrics: MetricsFile, rows: int, skipped: int, model: Any) -> None:
        metrics.write(
            {
                "rows": rows,
                "skipped": skipped,
                "seen": model.n_seen_,
                **self._task.figures(),
                "stored": model.n_stored_,
                "rows_per_second": self._bar.rows_per_second,
            }
        )
