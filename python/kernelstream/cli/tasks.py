"""What is learned: numbers or labels, and how wrong the predictions were."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as Grid

from kernelstream.cli.batches import Batch
from kernelstream.cli.windows import Drift, Window
from kernelstream.estimators.metrics import RunningError, RunningMistakes
from kernelstream.supervised.labels import Classes

__all__ = ["WINDOW", "Labels", "Numbers", "Task"]

WINDOW = 10_000
Mask = NDArray[np.bool_]


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

    @abstractmethod
    def learn(self, model: Any, batch: Batch, predicted: Mask, learned: Mask) -> list[NDArray[Any]]:
        """Predict each row, then learn it, and update the errors.

        Parameters
        ----------
        model : TableRegressor or TableClassifier
            The model.
        batch : Batch
            Rows, complete or not.
        predicted, learned : ndarray of bool of shape (n,)
            Which rows have complete features, and which of them a target, too.

        Returns
        -------
        columns : list of ndarray of shape (n,)
            Predictions, NaN or None in incomplete rows.
        """

    @abstractmethod
    def predict(self, model: Any, batch: Batch, sound: Mask) -> list[NDArray[Any]]:
        """Predict a batch, and update the errors if it contains targets.

        Parameters
        ----------
        model : estimator
            The model.
        batch : Batch
            Rows, complete or not.
        sound : ndarray of bool of shape (n,)
            Which rows have complete features.

        Returns
        -------
        columns : list of ndarray of shape (n,)
            Predictions, NaN or None in incomplete rows.
        """

    @abstractmethod
    def figures(self) -> dict[str, float]:
        """Give the errors of all rows, of the last ones, and of the baselines, by name."""

    @abstractmethod
    def rises(self) -> str | None:
        """Say how the error of the last rows has risen clearly; None if it has not."""

    @property
    @abstractmethod
    def recent(self) -> str:
        """The error of the last rows, as a short text; empty if these are all rows."""

    def summarize(self, console: Console) -> None:
        """Print the errors beside those of simple baselines.

        Parameters
        ----------
        console : Console
            The console.
        """
        titles, *rows = self._summary()
        titles = ["target", *titles]
        columns = zip(titles, *rows, strict=True)
        if sum(max(map(len, column)) + 2 for column in columns) > console.width:
            for name, *figures in rows:
                console.print(name, soft_wrap=True, markup=False, highlight=False)
                for title, figure in zip(titles[1:], figures, strict=True):
                    console.print(f"  {title} {figure}", soft_wrap=True, markup=False)
            return
        grid = Grid(box=None, pad_edge=False)
        grid.add_column("target")
        for title in titles[1:]:
            grid.add_column(title, justify="right")
        for row in rows:
            grid.add_row(*row)
        console.print(grid)

    @abstractmethod
    def _summary(self) -> list[list[str]]:
        """Give the titles of the errors, and for each target its name and its errors."""


class Numbers(Task):
    """Numeric targets.

    Parameters
    ----------
    targets : sequence of str
        Columns to predict.
    judged : bool, default=True
        Whether the table contains the targets.
    window : int, default=WINDOW
        The last rows whose error is shown.
    """

    error: RunningError

    def __init__(
        self,
        targets: Sequence[str],
        judged: bool = True,
        window: int = WINDOW,
    ) -> None:
        self.predicted = [f"{name}_predicted" for name in targets]
        self.error = RunningError(len(targets))
        self.window = Window(window, len(targets))
        self._drift = Drift(2.0)
        self._targets = list(targets)
        self._judged = judged

    def learn(self, model: Any, batch: Batch, predicted: Mask, learned: Mask) -> list[NDArray[Any]]:
        """See `Task.learn`."""
        predictions = np.full((len(batch), len(self._targets)), np.nan)
        if predicted.any():
            known = learned[predicted]
            y = np.where(known[:, None], batch.targets[predicted], 0.0)
            said = model.partial_fit_predict(batch.rows(predicted), y, **_weights(known))
            self._count(y[known], said[known])
            predictions[predicted] = said
        return list(predictions.T)

    def predict(self, model: Any, batch: Batch, sound: Mask) -> list[NDArray[Any]]:
        """See `Task.predict`."""
        predictions = np.full((len(sound), len(self._targets)), np.nan)
        if sound.any():
            predicted = np.asarray(model.predict(batch.rows(sound)))
            predictions[sound] = predicted.reshape(-1, len(self._targets))
        if self._judged:
            known = sound & batch.judged
            self._count(batch.targets[known], predictions[known])
        return list(predictions.T)

    def figures(self) -> dict[str, float]:
        """See `Task.figures`."""
        recent = np.sqrt(self.window.mean)
        figures = {}
        for place, name in enumerate(self._targets):
            suffix = "" if len(self._targets) == 1 else f"_{name}"
            figures[f"error{suffix}"] = float(self.error.rmse[place])
            figures[f"window_error{suffix}"] = float(recent[place])
            figures[f"mean_error{suffix}"] = float(self.error.baseline_rmse[place])
        return figures

    def rises(self) -> str | None:
        """See `Task.rises`."""
        if not self._drift.rises(self.window, 1e-6 * np.square(self.error.baseline_rmse)):
            return None
        error = f"{_mean_root(self.window.mean):.4g}"
        return f"RMSE {error} in the last {self.window.size:,} rows, {self.error} in all"

    @property
    def recent(self) -> str:
        """See `Task.recent`."""
        if self.window.n_rows <= self.window.size:
            return ""
        return f"last {self.window.size:,}: {_mean_root(self.window.mean):.4g}"

    def _count(self, targets: NDArray[Any], predictions: NDArray[Any]) -> None:
        # The first row of all is predicted from nothing.
        first = int(self.error.n_rows == 0 and not self.window.n_rows)
        self.error.update(targets, predictions)
        self.window.add(np.square(targets[first:] - predictions[first:]))

    def _summary(self) -> list[list[str]]:
        errors = zip(
            self._targets, self.error.rmse, self.error.baseline_rmse, self.error.r2, strict=True
        )
        titles = ["RMSE", "running mean's", "R²"]
        rows = [
            [name, f"{rmse:.5g}", f"{mean:.5g}", f"{r2:.4f}" if np.isfinite(r2) else "-"]
            for name, rmse, mean, r2 in errors
        ]
        if not self.error.n_rows:
            rows = [[name, "-", "-", "-"] for name in self._targets]
        if self.recent:
            titles.insert(1, f"in the last {self.window.size:,}")
            for row, loss in zip(rows, self.window.mean, strict=True):
                row.insert(2, f"{np.sqrt(loss):.5g}")
        return [titles, *rows]


class Labels(Task):
    """A label as target.

    Parameters
    ----------
    target : str
        The label column.
    classes : ndarray of shape (n_classes,)
        The classes.
    judged : bool, default=True
        Whether the table contains the labels.
    probabilities : bool, default=False
        Whether to predict the probability of each class, too.
    window : int, default=WINDOW
        The last rows whose error is shown.
    """

    error: RunningMistakes

    def __init__(
        self,
        target: str,
        classes: NDArray[Any],
        judged: bool = True,
        probabilities: bool = False,
        window: int = WINDOW,
    ) -> None:
        self.predicted = [f"{target}_predicted"]
        if probabilities:
            self.predicted += [f"{target}_is_{name}" for name in classes.tolist()]
        self.error = RunningMistakes(len(classes))
        self.window = Window(window, 1)
        self._drift = Drift(1.5)
        self._target = target
        self._judged = judged
        self.classes = classes
        self._codes: Mapping[Any, int] = Classes(classes).table
        self._probabilities = probabilities

    def learn(self, model: Any, batch: Batch, predicted: Mask, learned: Mask) -> list[NDArray[Any]]:
        """See `Task.learn`."""
        predictions = np.full(len(batch), None, dtype=object)
        if predicted.any():
            labels: Any = batch.labels
            self._refuse_new(batch, labels, learned)
            known = learned[predicted]
            # A row without a label counts zero times: any will do.
            names = np.where(learned, labels, self.classes[0])[predicted]
            y = np.array(names.tolist(), self.classes.dtype)
            X = batch.rows(predicted)
            said = model.partial_fit_predict(X, y, self.classes, **_weights(known))
            self._count(y[known], said[known])
            predictions[predicted] = said.tolist()
        return [predictions]

    def _refuse_new(self, batch: Batch, labels: NDArray[Any], learned: Mask) -> None:
        new = (row for row in np.flatnonzero(learned).tolist() if labels[row] not in self._codes)
        row = next(new, None)
        if row is not None:
            names = [str(name) for name in self.classes.tolist()]
            raise ValueError(
                f"{batch.where(row)}: the label {str(labels[row])!r} is new: the model was begun "
                f"with {', '.join(names)}. Begin anew, naming every label that may come: "
                f"--classes {','.join([*names, str(labels[row])])}"
            )

    def predict(self, model: Any, batch: Batch, sound: Mask) -> list[NDArray[Any]]:
        """See `Task.predict`."""
        predicted = np.full(len(sound), None, dtype=object)
        probabilities = np.full((len(sound), len(self.predicted) - 1), np.nan)
        if sound.any():
            rows = batch.rows(sound)
            predicted[sound] = model.predict(rows).tolist()
            if self._probabilities:
                probabilities[sound] = model.predict_proba(rows)
        if self._judged and batch.labels is not None:
            known = sound & batch.judged
            self._count(batch.labels[known], predicted[known])
        return [predicted, *probabilities.T]

    def figures(self) -> dict[str, float]:
        """See `Task.figures`."""
        return {
            "error": self.error.rate,
            "window_error": float(self.window.mean[0]),
            "majority_error": self.error.majority_rate,
            "last_error": self.error.last_rate,
        }

    def rises(self) -> str | None:
        """See `Task.rises`."""
        if not self._drift.rises(self.window, np.full(1, 10.0 / self.window.size)):
            return None
        rate = f"{self.window.mean[0]:.2%}"
        return (
            f"mistakes {rate} in the last {self.window.size:,} rows, {self.error.rate:.2%} in all"
        )

    @property
    def recent(self) -> str:
        """See `Task.recent`."""
        if self.window.n_rows <= self.window.size:
            return ""
        return f"last {self.window.size:,}: {self.window.mean[0]:.2%}"

    def _summary(self) -> list[list[str]]:
        rates = [self.error.rate, self.error.majority_rate, self.error.last_rate]
        titles = ["mistakes", "most frequent label's", "last label's"]
        if self.recent:
            titles.insert(1, f"in the last {self.window.size:,}")
            rates.insert(1, float(self.window.mean[0]))
        return [titles, [self._target, *(f"{rate:.2%}" for rate in rates)]]

    def _count(self, labels: NDArray[Any], predicted: NDArray[Any]) -> None:
        # A label that is not among the model's classes counts as a mistake.
        codes, guesses = (
            np.array([self._codes.get(label, -1) for label in one.tolist()], dtype=np.intp)
            for one in (labels, predicted)
        )
        self.error.update(codes, guesses)
        self.window.add((codes != guesses).astype(np.float64)[:, None])


def _weights(known: Mask) -> dict[str, NDArray[np.float64]]:
    """Give weights by which a row without a target is predicted in its turn, and not learned."""
    return {} if known.all() else {"sample_weight": known.astype(np.float64)}


def _mean_root(squares: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(squares)))
