"""Standardization of columns: a mean to subtract and a deviation to divide by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["ColumnScale"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ColumnScale:
    """The mean and deviation that standardize each column, and the rows they come from.

    Kernels compare points by distance, so columns must have comparable scales. A scale is
    immutable: learning from more rows gives a new one.

    Parameters
    ----------
    mean, deviation : ndarray of shape (n_features,)
        Subtracted from each column, and then divided by, above 0.
    spread : ndarray of shape (n_features,)
        Sums of the squared deviations of the rows from their mean.
    n_rows : int
        Rows it was learned from.
    """

    mean: FloatArray
    deviation: FloatArray
    spread: FloatArray
    n_rows: int

    @classmethod
    def dividing(cls, by: FloatArray) -> Self:
        """Give a scale that only divides, and has learned from no row.

        Parameters
        ----------
        by : ndarray of shape (n_features,)
            What each column is divided by, above 0; 1 changes nothing.

        Returns
        -------
        scale : ColumnScale
            Means of 0 and these deviations.
        """
        return cls(np.zeros(len(by)), by, np.zeros(len(by)), 0)

    def learned(self, rows: FloatArray) -> ColumnScale:
        """Give the mean and standard deviation of these rows and those before them.

        Parameters
        ----------
        rows : ndarray of shape (n, n_features)
            Some more rows, n at least 1.

        Returns
        -------
        scale : ColumnScale
            The new scale; the deviation of a column that was constant is 1.
        """
        own = rows.mean(axis=0)
        total = self.n_rows + len(rows)
        gap = own - self.mean
        spread = np.square(rows - own).sum(axis=0)
        spread += np.square(gap) * (self.n_rows * len(rows) / total)
        spread += self.spread
        mean = self.mean + gap * (len(rows) / total)
        deviation = np.sqrt(spread / total)
        # A constant column's deviation is 0, or rounding.
        deviation[deviation <= 1e-12 * np.abs(mean)] = 1.0
        return ColumnScale(mean, deviation, spread, total)

    def apply(self, rows: FloatArray) -> FloatArray:
        """Standardize rows.

        Parameters
        ----------
        rows : ndarray of shape (n, n_features)
            Rows.

        Returns
        -------
        scaled : ndarray of shape (n, n_features)
            New rows.
        """
        return (rows - self.mean) / self.deviation

    def undo(self, rows: FloatArray) -> FloatArray:
        """Undo ``apply``.

        Parameters
        ----------
        rows : ndarray of shape (n, n_features)
            Rows that ``apply`` gave.

        Returns
        -------
        raw : ndarray of shape (n, n_features)
            New rows.
        """
        return rows * self.deviation + self.mean

    def to_state(self) -> dict[str, Any]:
        """Give what a model file holds of it."""
        arrays = {"mean": self.mean, "deviation": self.deviation, "spread": self.spread}
        return {name: array.tolist() for name, array in arrays.items()} | {"n_seen": self.n_rows}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], n_features: int) -> Self:
        """Undo ``to_state``.

        Parameters
        ----------
        state : mapping
            What ``to_state`` gave.
        n_features : int
            How many columns there must be.

        Returns
        -------
        scale : ColumnScale
            The scale.

        Raises
        ------
        ValueError
            There are more columns or fewer, or a number is not finite.
        """
        mean, deviation, spread = (
            np.array(state.get(name, np.zeros(n_features)), np.float64)
            for name in ("mean", "deviation", "spread")
        )
        for values in (mean, deviation, spread):
            if values.shape != (n_features,) or not np.isfinite(values).all():
                raise ValueError(
                    f"one finite mean and one deviation are needed for each of {n_features} columns"
                )
        return cls(mean, deviation, spread, int(state.get("n_seen", 0)))
