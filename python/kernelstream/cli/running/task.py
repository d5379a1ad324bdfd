"""Targets of a run, and the errors of their predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from kernelstream.cli.reading.batches import Batch
from kernelstream.cli.running.windows import Drift, Window
from kernelstream.cli.writing.messages import printable, say
from kernelstream.estimators.metrics import RunningError, RunningMistakes

__all__ = ["Mask", "Task", "last_leads", "weights_of"]

Mask = NDArray[np.bool_]

# Rows from which on the last target is compared with the model.
_ENOUGH = 100

# Its error, as a share of that of the mean or the most frequent label, below which targets come in
# runs.
_LED = 0.5


class Task(ABC):
    """A kind of target: how it is learned, predicted and evaluated.

    Attributes
    ----------
    predicted : list of str
        Names of the columns of `predict`.
    error : RunningError or RunningMistakes
        The errors of all rows.
    window : Window
        The losses of the last rows.
    """

    predicted: list[str]
    error: RunningError | RunningMistakes
    window: Window
    _drift: Drift

    def first_new(self, batch: Batch, learned: Mask) -> int | None:  # noqa: ARG002
        """Give the first row of a batch for which the model begins again; None without one."""
        return None

    def begin_again(self, model: Any, batch: Batch, learned: Mask) -> tuple[Any, str]:
        """Give the model that learns such a batch, and what there is to say."""
        raise NotImplementedError

    @abstractmethod
    def learn(self, model: Any, batch: Batch, predicted: Mask, learned: Mask) -> list[NDArray[Any]]:
        """Predict each row, then learn it, and update the errors."""

    @abstractmethod
    def predict(self, model: Any, batch: Batch, sound: Mask) -> list[NDArray[Any]]:
        """Predict a batch, and update the errors if it contains targets."""

    @abstractmethod
    def figures(self) -> dict[str, float]:
        """Give the errors of all rows, of the last ones, and of the baselines, by name."""

    @property
    def describe_missing(self) -> str:
        """How many of the rows learned lack which of several targets; empty if none does."""
        return ""

    @property
    def notes(self) -> list[str]:
        """Properties of the target in all rows, of which the errors alone do not inform."""
        return []

    @property
    def recent(self) -> str:
        """The error of the last rows, as a short text; empty if these are all rows."""
        if self.window.n_rows <= self.window.size:
            return ""
        return f"last {self.window.size:,}: {self._recent}"

    @property
    @abstractmethod
    def in_order(self) -> str:
        """By how much the last target predicts the next better than the model; empty if not."""

    def rises(self) -> str | None:
        """Describe a clear rise of the recent error; None without one."""
        if not self._drift.rises(self.window, self._negligible):
            return None
        what = str(self.error).partition(" ")[0]
        return f"{what} {self._recent} in the last {self.window.size:,} rows, {self.error} in all"

    def summarize(self, console: Console) -> None:
        """Print the errors beside those of simple baselines."""
        titles, *rows = self._summary()
        titles = ["target", *titles]
        columns = zip(titles, *rows, strict=True)
        if sum(max(map(len, column)) + 2 for column in columns) > console.width:
            for name, *figures in rows:
                say(console, name)
                for title, figure in zip(titles[1:], figures, strict=True):
                    say(console, f"  {title} {figure}")
            return
        grid = Grid(box=None, pad_edge=False)
        grid.add_column("target")
        for title in titles[1:]:
            grid.add_column(title, justify="right")
        for row in rows:
            grid.add_row(*(Text(printable(cell)) for cell in row))
        console.print(grid)

    @abstractmethod
    def _summary(self) -> list[list[str]]:
        """Give the titles of the errors, and for each target its name and its errors."""

    @property
    @abstractmethod
    def _recent(self) -> str:
        """The error of the last rows."""

    @property
    @abstractmethod
    def _negligible(self) -> NDArray[np.float64]:
        """Losses below which the drift warning is not issued."""


def weights_of(known: Mask) -> NDArray[np.float64] | None:
    """Give weights by which a row without a target is predicted in its turn, and not learned."""
    return None if known.all() else known.astype(np.float64)


def last_leads(n_rows: int, last: Any, model: Any, baseline: Any) -> NDArray[np.bool_]:
    """Tell for each target whether the last one predicts the next better than the model does.

    Errors are over this many rows: of the last target, the model, and the mean or the most
    frequent label.
    """
    enough = n_rows >= _ENOUGH
    return np.atleast_1d(enough & (last <= model) & (last < _LED * baseline))
