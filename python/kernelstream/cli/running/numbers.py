"""Numbers as targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream.cli.choices import WINDOW
from kernelstream.cli.reading.batches import Batch
from kernelstream.cli.running.task import Mask, Task, last_leads, weights_of
from kernelstream.cli.running.windows import Drift, Window
from kernelstream.estimators.metrics import UNIT, RunningError
from kernelstream.estimators.uncertainty import Prequential

__all__ = ["Numbers"]

_FEWEST = 10  # rows from which a target of two values may be a label


class Numbers(Task):
    """Numeric targets."""

    error: RunningError

    def __init__(
        self,
        targets: Sequence[str],
        judged: bool = True,
        window: int = WINDOW,
        coverage: float | None = None,
    ) -> None:
        self._kinds = ["predicted"] if coverage is None else ["predicted", "lower", "upper"]
        self.predicted = [f"{name}_{kind}" for name in targets for kind in self._kinds]
        self._coverage = coverage
        self._inside = np.zeros(len(targets))
        self._n_intervals = np.zeros(len(targets), dtype=np.int64)
        self.missing = np.zeros(len(targets), dtype=np.int64)
        self.error = RunningError(len(targets))
        self.window = Window(window, len(targets))
        self._drift = Drift(2.0)
        self._targets = list(targets)
        self._judged = judged
        # The distinct values of a single target, until there are more than two.
        self._values: set[float] = set()

    def learn(self, model: Any, batch: Batch, predicted: Mask, learned: Mask) -> list[NDArray[Any]]:
        """See `Task.learn`."""
        columns = self._missing(len(batch))
        if predicted.any():
            known = learned[predicted]
            # Rows of which some targets are missing are learned with the others.
            y = np.where(known[:, None], batch.targets[predicted], 0.0)
            prequential = Prequential(coverage=self._coverage)
            rows = batch.rows(predicted)
            # One target is one number a row, as a column of a table is.
            given = y[:, 0] if len(self._targets) == 1 else y
            said = model._learn(
                rows, given, weights_of(known), predict=True, prequential=prequential
            )
            said = said.reshape(y.shape)
            self.missing += np.isnan(y).sum(axis=0)
            self._count(y[known], said[known])
            if len(self._targets) == 1 and len(self._values) <= 2:
                self._values.update(np.unique(y[known]).tolist())
            columns[predicted, :, 0] = said
            if prequential.intervals is not None:
                _, ends = prequential.intervals
                self._count_inside(y[known], ends[known])
                columns[predicted, :, 1:] = _finite(ends)
        return self._flat(columns)

    def predict(self, model: Any, batch: Batch, sound: Mask) -> list[NDArray[Any]]:
        """See `Task.predict`."""
        columns = self._missing(len(sound))
        ends = None
        if sound.any():
            rows = batch.rows(sound)
            predicted = np.asarray(model.predict(rows))
            columns[sound, :, 0] = predicted.reshape(-1, len(self._targets))
            if self._coverage is not None:
                intervals = np.asarray(model.predict_interval(rows, self._coverage))
                ends = intervals.reshape(-1, len(self._targets), 2)
                columns[sound, :, 1:] = _finite(ends)
        if self._judged:
            known = sound & batch.judged
            self._count(batch.targets[known], columns[known, :, 0])
            if ends is not None:
                self._count_inside(batch.targets[known], ends[known[sound]])
        return self._flat(columns)

    @property
    def describe_missing(self) -> str:
        """See `Task.describe_missing`."""
        counts = zip(self._targets, self.missing.tolist(), strict=True)
        return ", ".join(f"{name} in {count:,} rows" for name, count in counts if count)

    @property
    def notes(self) -> list[str]:
        """See `Task.notes`."""
        values = sorted(self._values)
        if len(values) == 1 and self.error.n_rows >= _FEWEST:
            note = (
                f"every row has the value {values[0]:.6g} of {self._targets[0]}, so that there is "
                "nothing to predict: check the target and the rows"
            )
            return [note]
        whole = all(value.is_integer() for value in values)
        if len(values) != 2 or not whole or self.error.n_rows < _FEWEST:
            return []
        note = (
            f"{self._targets[0]} has two values, {values[0]:.0f} and {values[1]:.0f}, and is "
            "learned as a number; --classify learns it as a label"
        )
        return [note]

    def figures(self) -> dict[str, float]:
        """See `Task.figures`."""
        recent = np.sqrt(self.window.mean) * UNIT
        figures = {}
        for place, name in enumerate(self._targets):
            suffix = "" if len(self._targets) == 1 else f"_{name}"
            figures[f"error{suffix}"] = float(self.error.rmse[place])
            figures[f"window_error{suffix}"] = float(recent[place])
            figures[f"mean_error{suffix}"] = float(self.error.baseline_rmse[place])
            figures[f"last_error{suffix}"] = float(self.error.last_rmse[place])
        return figures

    def _count(self, targets: NDArray[Any], predictions: NDArray[Any]) -> None:
        # The first row of each target has no prediction.
        losses = np.square((targets - predictions) / UNIT)
        if not self.window.n_rows:
            for place in np.flatnonzero(~self.error.begun & ~np.isnan(targets).all(axis=0)):
                losses[np.isfinite(targets[:, place]).argmax(), place] = np.nan
        self.error.update(targets, predictions)
        self.window.add(losses[~np.isnan(losses).all(axis=1)])

    def _count_inside(self, targets: NDArray[np.float64], ends: NDArray[np.float64]) -> None:
        inside = (ends[..., 0] <= targets) & (targets <= ends[..., 1])
        self._inside += np.sum(inside, axis=0)
        self._n_intervals += np.sum(~np.isnan(targets), axis=0)

    def _missing(self, n_rows: int) -> NDArray[np.float64]:
        """Allocate the outputs of this many rows (n, targets, kinds)."""
        return np.full((n_rows, len(self._targets), len(self._kinds)), np.nan)

    def _flat(self, columns: NDArray[np.float64]) -> list[NDArray[Any]]:
        """Give the columns that `predicted` names."""
        return list(columns.reshape(len(columns), len(self.predicted)).T)

    def _summary(self) -> list[list[str]]:
        error = self.error
        errors = zip(
            self._targets, error.rmse, error.baseline_rmse, error.last_rmse, error.r2, strict=True
        )
        titles = ["RMSE", "running mean's", "last target's", "R²"]
        rows = [
            [name, *(f"{size:.5g}" for size in sizes), f"{r2:.4f}" if np.isfinite(r2) else "-"]
            for name, *sizes, r2 in errors
        ]
        if not error.n_rows:
            rows = [[name, "-", "-", "-", "-"] for name in self._targets]
        if self._coverage is not None:
            titles.append(f"inside {self._coverage:g} intervals")
            for row, inside, count in zip(rows, self._inside, self._n_intervals, strict=True):
                row.append(f"{inside / count:.1%}" if count else "-")
        if self.recent:
            titles.insert(1, f"in the last {self.window.size:,}")
            for row, loss in zip(rows, self.window.mean, strict=True):
                row.insert(2, f"{np.sqrt(loss) * UNIT:.5g}")
        return [titles, *rows]

    @property
    def in_order(self) -> str:
        """See `Task.in_order`."""
        error = self.error
        leads = last_leads(error.n_rows, error.last_rmse, error.rmse, error.baseline_rmse)
        if not leads.any():
            return ""
        place = int(leads.argmax())
        return (
            f"the target {self._targets[place]} of one row predicts that of the next "
            f"(RMSE {error.last_rmse[place]:.4g}) better than the model ({error.rmse[place]:.4g})"
        )

    @property
    def _recent(self) -> str:
        return f"{np.sqrt(np.nanmean(self.window.mean)) * UNIT:.4g}"

    @property
    def _negligible(self) -> NDArray[np.float64]:
        return np.asarray(1e-6 * np.square(self.error.baseline_rmse / UNIT))


def _finite(ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give ends of intervals of which infinite ones are missing."""
    return np.where(np.isinf(ends), np.nan, ends)
