"""Model files that the user names."""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream._core import ModelFileError
from kernelstream.estimators.model_file import load

__all__ = ["OnNumbers", "load_model"]


def load_model(path: Path) -> Any:
    """Read a model file; errors name it.

    Raises
    ------
    OSError
        The file cannot be read.
    ModelFileError
        It is no model file.
    """
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    try:
        return load(path)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


class OnNumbers:
    """A model of rows of numbers, asked with columns.

    Parameters
    ----------
    model : KernelRegressor or KernelClassifier
        The model.
    names : sequence of str
        Its columns.
    """

    def __init__(self, model: Any, names: Sequence[str]) -> None:
        self._model = model
        self._names = list(names)

    def predict(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Predict rows.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (n,)
            Their columns.

        Returns
        -------
        predictions : ndarray of shape (n,) or (n, n_targets)
            The predictions.
        """
        return self._asked(self._model.predict, columns)

    def predict_interval(
        self, columns: Mapping[str, NDArray[Any]], coverage: float
    ) -> NDArray[np.float64]:
        """Give intervals that hold this share of the targets.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (n,)
            Columns of the rows.
        coverage : float
            The share, above 0 and below 1.

        Returns
        -------
        intervals : ndarray of shape (n, 2) or (n, n_targets, 2)
            Lower and upper ends.
        """
        return self._asked(lambda rows: self._model.predict_interval(rows, coverage), columns)

    def predict_proba(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Predict the probability of each class.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (n,)
            Columns of the rows.

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
            The probabilities.
        """
        return self._asked(self._model.predict_proba, columns)

    def _asked(
        self, ask: Callable[[Any], NDArray[Any]], columns: Mapping[str, NDArray[Any]]
    ) -> NDArray[Any]:
        with warnings.catch_warnings():
            # The columns were selected by name, but the array has no names for scikit-learn.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return ask(np.column_stack([columns[name] for name in self._names]))
