"""Regression and classification tasks of the command line."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as Grid

from kernelstream.cli.tables import Batch
from kernelstream.estimators.metrics import RunningError, RunningMistakes
from kernelstream.supervised.labels import Classes

__all__ = ["Labels", "Numbers", "Task"]


class Task(ABC):
    """A kind of target: how it is learned, predicted and evaluated.

    Attributes
    ----------
    columns : list of str
        Numeric columns to read.
    label : str or None
        The label column to read.
    predicted : list of str
        Names of the columns of `predict`.
    error : RunningError or RunningMistakes
        The running errors.
    """

    columns: list[str]
    label: str | None = None
    predicted: list[str]
    error: RunningError | RunningMistakes

    def learn(self, model: Any, batch: Batch) -> None:
        """Predict and learn a batch, and update the errors.

        Parameters
        ----------
        model : TableRegressor or TableClassifier
            The model.
        batch : Batch
            Complete rows.
        """
        self._learn(model, batch)

    def predict(self, model: Any, batch: Batch, sound: NDArray[np.bool_]) -> list[NDArray[Any]]:
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
        return self._predict(model, batch, sound)

    def summarize(self, console: Console) -> None:
        """Print the errors beside those of simple baselines.

        Parameters
        ----------
        console : Console
            The console.
        """
        titles, *rows = self._summary()
        grid = Grid(box=None, pad_edge=False)
        grid.add_column("target")
        for title in titles:
            grid.add_column(title, justify="right")
        for row in rows:
            grid.add_row(*row)
        console.print(grid)

    @abstractmethod
    def _learn(self, model: Any, batch: Batch) -> None: ...

    @abstractmethod
    def _predict(
        self, model: Any, batch: Batch, sound: NDArray[np.bool_]
    ) -> list[NDArray[Any]]: ...

    @abstractmethod
    def _summary(self) -> list[list[str]]:
        """Give the titles of the errors, and for each target its name and its errors."""


class Numbers(Task):
    """Numeric targets.

    Parameters
    ----------
    features, targets : sequence of str
        Columns of features and of targets.
    judged : bool, default=True
        Whether the table contains the targets.
    """

    error: RunningError

    def __init__(
        self, features: Sequence[str], targets: Sequence[str], judged: bool = True
    ) -> None:
        self.columns = [*features, *(targets if judged else [])]
        self.predicted = [f"{name}_predicted" for name in targets]
        self.error = RunningError(len(targets))
        self._targets = list(targets)
        self._width = len(features)
        self._judged = judged

    def _learn(self, model: Any, batch: Batch) -> None:
        X, y = batch.values[:, : self._width], batch.values[:, self._width :]
        self.error.update(y, model.partial_fit_predict(X, y))

    def _predict(self, model: Any, batch: Batch, sound: NDArray[np.bool_]) -> list[NDArray[Any]]:
        predictions = np.full((len(sound), len(self._targets)), np.nan)
        if sound.any():
            predicted = _predicted(model.predict, batch.values[sound, : self._width])
            predictions[sound] = predicted.reshape(-1, len(self._targets))
        if self._judged:
            truth = batch.values[:, self._width :]
            known = sound & np.isfinite(truth).all(axis=1)
            self.error.update(truth[known], predictions[known])
        return list(predictions.T)

    def _summary(self) -> list[list[str]]:
        errors = zip(
            self._targets, self.error.rmse, self.error.baseline_rmse, self.error.r2, strict=True
        )
        return [
            ["RMSE", "running mean's", "R²"],
            *([name, f"{rmse:.5g}", f"{mean:.5g}", f"{r2:.4f}"] for name, rmse, mean, r2 in errors),
        ]


class Labels(Task):
    """A label as target.

    Parameters
    ----------
    features : sequence of str
        Columns of features.
    target : str
        The label column.
    classes : ndarray of shape (n_classes,)
        The classes.
    judged : bool, default=True
        Whether the table contains the labels.
    probabilities : bool, default=False
        Whether to predict the probability of each class, too.
    """

    error: RunningMistakes

    def __init__(
        self,
        features: Sequence[str],
        target: str,
        classes: NDArray[Any],
        judged: bool = True,
        probabilities: bool = False,
    ) -> None:
        self.columns = list(features)
        self.label = target if judged else None
        self.predicted = [f"{target}_predicted"]
        if probabilities:
            self.predicted += [f"{target}_is_{name}" for name in classes.tolist()]
        self.error = RunningMistakes(len(classes))
        self._target = target
        self._classes = classes
        self._codes = Classes(classes).table
        self._probabilities = probabilities

    def _learn(self, model: Any, batch: Batch) -> None:
        assert batch.labels is not None  # noqa: S101  (the label column is read)
        predicted = model.partial_fit_predict(batch.values, batch.labels, self._classes)
        self._count(batch.labels, predicted)

    def _predict(self, model: Any, batch: Batch, sound: NDArray[np.bool_]) -> list[NDArray[Any]]:
        predicted = np.full(len(sound), None, dtype=object)
        probabilities = np.full((len(sound), len(self.predicted) - 1), np.nan)
        rows = batch.values[sound]
        if len(rows):
            predicted[sound] = _predicted(model.predict, rows).tolist()
            if self._probabilities:
                probabilities[sound] = _predicted(model.predict_proba, rows)
        if batch.labels is not None:
            known = sound & batch.labelled
            self._count(batch.labels[known], predicted[known])
        return [predicted, *probabilities.T]

    def _summary(self) -> list[list[str]]:
        rates = (self.error.rate, self.error.majority_rate, self.error.last_rate)
        return [
            ["mistakes", "most frequent label's", "last label's"],
            [self._target, *(f"{rate:.2%}" for rate in rates)],
        ]

    def _count(self, labels: NDArray[Any], predicted: NDArray[Any]) -> None:
        # A label that is not among the model's classes counts as a mistake.
        codes = [
            np.array([self._codes.get(label, -1) for label in one.tolist()], dtype=np.intp)
            for one in (labels, predicted)
        ]
        self.error.update(*codes)


def _predicted(predict: Any, rows: NDArray[np.float64]) -> NDArray[Any]:
    with warnings.catch_warnings():
        # The columns were selected by name, but the array has no names for scikit-learn.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        predictions: NDArray[Any] = predict(rows)
        return predictions
