"""Labels that come late in a pipe: rows that a model with them learns again."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kernelstream.exceptions import KernelstreamWarning

__all__ = ["KEPT", "RowsSoFar"]

# Most rows kept.
KEPT = 10_000


class RowsSoFar:
    """The rows learned so far, or a uniform sample of them, in their order.

    A model whose labels are fixed at its beginning begins again with these rows when a label is
    new. Each row has a random number, seeded; the rows with the smallest ones are kept, so that
    batches do not matter.

    Parameters
    ----------
    most : int, default=10,000
        Most rows kept.

    Attributes
    ----------
    n_rows : int
        Rows learned.
    """

    def __init__(self, most: int = KEPT) -> None:
        self.n_rows = 0
        self._most = most
        self._random = np.random.default_rng(0)
        self._parts: list[tuple[dict[str, NDArray[Any]], NDArray[Any], NDArray[np.float64]]] = []
        self._held = 0

    @property
    def n_kept(self) -> int:
        """Rows that a new model learns again."""
        return min(self.n_rows, self._most)

    def add(self, features: dict[str, NDArray[Any]], labels: NDArray[Any]) -> None:
        """Add rows that were learned.

        Parameters
        ----------
        features : dict of str to ndarray of shape (n,)
            Their columns.
        labels : ndarray of shape (n,)
            Their labels.
        """
        self.n_rows += len(labels)
        self._held += len(labels)
        self._parts.append((features, labels, self._random.random(len(labels))))
        if self._held > 2 * self._most:
            self._thin()

    def begin_again(self, model: Any, classes: NDArray[Any]) -> Any:
        """Give a new model of the same parameters with these classes, which has learned the rows.

        Parameters
        ----------
        model : KernelClassifier
            The former model.
        classes : ndarray of shape (n_classes,)
            All labels.

        Returns
        -------
        model : KernelClassifier
            The new one, not fitted if there were no rows.
        """
        new = clone(model)
        if self.n_rows:
            self._thin()
            features, labels, _ = self._parts[0]
            with warnings.catch_warnings():
                # The former model gave these warnings.
                warnings.simplefilter("ignore", KernelstreamWarning)
                new.partial_fit(features, np.array(labels.tolist(), classes.dtype), classes)
        return new

    def _thin(self) -> None:
        """Make one part of all, with the rows that are kept."""
        numbers = np.concatenate([part[2] for part in self._parts])
        labels = np.concatenate([part[1] for part in self._parts])
        names = self._parts[0][0]
        columns = {name: np.concatenate([part[0][name] for part in self._parts]) for name in names}
        if len(numbers) > self._most:
            kept = np.sort(np.argpartition(numbers, self._most)[: self._most])
            numbers, labels = numbers[kept], labels[kept]
            columns = {name: values[kept] for name, values in columns.items()}
        self._parts = [(columns, labels, numbers)]
        self._held = len(numbers)
