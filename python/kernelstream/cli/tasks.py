"""What the command line does with columns of numbers, and what with a column of labels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as Grid

from kernelstream.cli.tables import Batch
from kernelstream.estimators.metrics import RunningError, RunningMistakes
from kernelstream.supervised.labels import Classes

__all__ = ["Labels", "Numbers", "Task"]


class Task(Protocol):
    """Learning targets of one kind, and predicting and judging them.

    Attributes
    ----------
    columns : list of str
        Numeric columns to read.
    label : str or None
        The column of labels to read.
    predicted : list of str
        Names of the columns that `predict` gives.
    error : RunningError or RunningMistakes
        The errors so far.
    """

    columns: list[str]
    label: str | None
    predicted: list[str]

    @property
    def error(self) -> RunningError | RunningMistakes:
        """The errors so far."""

    def learn(self, model: Any, batch: Batch) -> None:
        """Let the model predict and learn a batch, and count its errors.

        Parameters
        ----------
        model : TableRegressor or TableClassifier
            What learns.
        batch : Batch
            Rows without a gap.
        """

    def predict(self, model: Any, batch: Batch, sound: NDArray[np.bool_]) -> list[NDArray[Any]]:
        """Predict a batch, and count the errors if the targets are there.

        Parameters
        ----------
        model : estimator
            What predicts.
        batch : Batch
            Rows, with gaps or not.
        sound : ndarray of bool of shape (n,)
            Which rows have no gap among their features.

        Returns
        -------
        columns : list of ndarray of shape (n,)
            Predictions, NaN or None in rows with gaps.
        """

    def summarize(self, console: Console) -> None:
        """Print the errors beside those of plain yardsticks.

        Parameters
        ----------
        console : Console
            Where to.
        """


class Numbers:
    """Targets that are numbers.

    Parameters
    ----------
    features, targets : sequence of str
        Columns to learn from, and to predict.
    judged : bool, default=True
        Whether the targets are in the table.
    """

    label: str | None = None

    def __init__(
        self, features: Sequence[str], targets: Sequence[str], judged: bool = True
    ) -> None:
        self.columns = [*features, *(targets if judged else [])]
        self.predicted = [f"{name}_predicted" for name in targets]
        self._targets = list(targets)
        self._width = len(features)
        self._judged = judged
        self._error = RunningError(len(targets))

    @property
    def error(self) -> RunningError:
        """The errors so far."""
        return self._error

    def learn(self, model: Any, batch: Batch) -> None:
        """Let the model predict and learn a batch, and count its errors.

        Parameters
        ----------
        model : TableRegressor
            What learns.
        batch : Batch
            Rows without a gap.
        """
        X, y = batch.values[:, : self._width], batch.values[:, self._width :]
        self._error.update(y, model.partial_fit_predict(X, y))

    def predict(self, model: Any, batch: Batch, sound: NDArray[np.bool_]) -> list[NDArray[Any]]:
        """Predict a batch, and count the errors if the targets are there.

        Parameters
        ----------
        model : estimator
            What predicts.
        batch : Batch
            Rows, with gaps or not.
        sound : ndarray of bool of shape (n,)
            Which rows have no gap among their features.

        Returns
        -------
        columns : list of ndarray of shape (n,)
            Predictions, NaN in rows with gaps.
        """
        predictions = np.full((len(sound), len(self._targets)), np.nan)
        if sound.any():
            said = _asked(model.predict, batch.values[sound, : self._width])
            predictions[sound] = said.reshape(-1, len(self._targets))
        if self._judged:
            truth = batch.values[:, self._width :]
            known = sound & np.isfinite(truth).all(axis=1)
            self._error.update(truth[known], predictions[known])
        return list(predictions.T)

    def summarize(self, console: Console) -> None:
        """Print the errors beside those of the running mean.

        Parameters
        ----------
        console : Console
            Where to.
        """
        grid = _grid("RMSE", "running mean's", "R²")
        error = self._error
        rows = zip(self._targets, error.rmse, error.baseline_rmse, error.r2, strict=True)
        for name, rmse, baseline, r2 in rows:
            grid.add_row(name, f"{rmse:.5g}", f"{baseline:.5g}", f"{r2:.4f}")
        console.print(grid)


class Labels:
    """A target that is a label.

    Parameters
    ----------
    features : sequence of str
        Columns to learn from.
    target : str
        Column of labels.
    classes : ndarray of shape (n_classes,)
        The labels there are.
    judged : bool, default=True
        Whether the labels are in the table.
    probabilities : bool, default=False
        Whether to predict the probability of each label, too.
    """

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
        self._target = target
        self._classes = classes
        self._codes = Classes(classes).table
        self._probabilities = probabilities
        self._error = RunningMistakes(len(classes))

    @property
    def error(self) -> RunningMistakes:
        """The errors so far."""
        return self._error

    def learn(self, model: Any, batch: Batch) -> None:
        """Let the model predict and learn a batch, and count its errors.

        Parameters
        ----------
        model : TableClassifier
            What learns.
        batch : Batch
            Rows without a gap.
        """
        assert batch.labels is not None  # noqa: S101  (asked for)
        said = model.partial_fit_predict(batch.values, batch.labels, self._classes)
        self._count(batch.labels, said)

    def predict(self, model: Any, batch: Batch, sound: NDArray[np.bool_]) -> list[NDArray[Any]]:
        """Predict a batch, and count the mistakes if the labels are there.

        Parameters
        ----------
        model : estimator
            What predicts.
        batch : Batch
            Rows, with gaps or not.
        sound : ndarray of bool of shape (n,)
            Which rows have no gap among their features.

        Returns
        -------
        columns : list of ndarray of shape (n,)
            Labels, None in rows with gaps, and probabilities, NaN there.
        """
        said = np.full(len(sound), None, dtype=object)
        shares = np.full((len(sound), len(self.predicted) - 1), np.nan)
        rows = batch.values[sound]
        if len(rows):
            said[sound] = _asked(model.predict, rows).tolist()
            if self._probabilities:
                shares[sound] = _asked(model.predict_proba, rows)
        if batch.labels is not None:
            known = sound & batch.labelled
            self._count(batch.labels[known], said[known])
        return [said, *shares.T]

    def summarize(self, console: Console) -> None:
        """Print the mistakes beside those of two yardsticks.

        Parameters
        ----------
        console : Console
            Where to.
        """
        grid = _grid("mistakes", "most frequent label's", "last label's")
        error = self._error
        rates = (error.rate, error.majority_rate, error.last_rate)
        grid.add_row(self._target, *(f"{rate:.2%}" for rate in rates))
        console.print(grid)

    def _count(self, labels: NDArray[Any], said: NDArray[Any]) -> None:
        # A label that the model never met is none of its classes, and a mistake.
        codes = [
            np.array([self._codes.get(label, -1) for label in one.tolist()], dtype=np.intp)
            for one in (labels, said)
        ]
        self._error.update(*codes)


def _asked(ask: Any, rows: NDArray[np.float64]) -> NDArray[Any]:
    with warnings.catch_warnings():
        # The columns were picked by the names that scikit-learn would miss here.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        answers: NDArray[Any] = ask(rows)
        return answers


def _grid(*titles: str) -> Grid:
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("target")
    for title in titles:
        grid.add_column(title, justify="right")
    return grid
