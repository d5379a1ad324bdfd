"""How sure predictions are: standard deviations, and intervals whose coverage holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kernelstream.estimators.validation import Rows, Source

__all__ = ["Told", "UncertaintyMixin"]


class Told:
    """What is told of rows before each is learned, beside predictions.

    Parameters
    ----------
    std : bool, default=False
        Whether standard deviations are.
    coverage : float, optional
        Whether intervals are, and of which coverage.
    probabilities : bool, default=False
        Whether those of classes are.
    """

    deviations: NDArray[np.float64] | None = None
    intervals: tuple[float, NDArray[np.float64]] | None = None
    probabilities: NDArray[np.float64] | None = None

    def __init__(
        self, *, std: bool = False, coverage: float | None = None, probabilities: bool = False
    ) -> None:
        self._std, self._coverage, self._probabilities = std, coverage, probabilities

    def begin(self, shape: tuple[int, ...], n_classes: int = 0) -> None:
        """Make room for so many rows and outputs.

        Parameters
        ----------
        shape : tuple of int
            Rows and outputs.
        n_classes : int, default=0
            Classes, if targets are labels.
        """
        if self._std:
            self.deviations = np.empty(shape)
        if self._coverage is not None:
            self.intervals = (checked_coverage(self._coverage), np.empty((*shape, 2)))
        if self._probabilities:
            self.probabilities = np.empty((shape[0], n_classes))

    def alike(self) -> Told:
        """Give another one that is to be told the same of other rows.

        Returns
        -------
        told : Told
            A new one.
        """
        return Told(std=self._std, coverage=self._coverage, probabilities=self._probabilities)

    def join(self, parts: Sequence[Told]) -> None:
        """Take over what was told of rows in several parts.

        Parameters
        ----------
        parts : sequence of Told
            What `alike` gave, once rows were learned.
        """
        every = cast("Sequence[Any]", parts)
        if self._std:
            self.deviations = np.concatenate([part.deviations for part in every])
        if self._coverage is not None:
            ends = np.concatenate([part.intervals[1] for part in every])
            self.intervals = (self._coverage, ends)
        if self._probabilities:
            self.probabilities = np.concatenate([part.probabilities for part in every])


def checked_coverage(coverage: float) -> float:
    """Refuse what is no coverage.

    Parameters
    ----------
    coverage : float
        The share of targets that intervals are to hold.

    Returns
    -------
    coverage : float
        The same.

    Raises
    ------
    ValueError, TypeError
        It is not a number above 0 and below 1.
    """
    if isinstance(coverage, bool) or not isinstance(coverage, int | float | np.number):
        raise TypeError(f"coverage must be a number above 0 and below 1, got {coverage!r}")
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage must be above 0 and below 1, got {coverage}")
    return float(coverage)


class UncertaintyMixin:
    """Standard deviations and intervals of an estimator of numbers, whose core knows them."""

    _core: Any

    @overload
    def predict(
        self, X: Rows, return_std: Literal[False] = False
    ) -> NDArray[np.float64]: ...  # numpydoc ignore=GL08

    @overload
    def predict(  # numpydoc ignore=GL08
        self, X: Rows, return_std: Literal[True]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    def predict(
        self, X: Rows, return_std: bool = False
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Predict the targets of rows, and how sure that is.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers.
        return_std : bool, default=False
            Whether to give standard deviations too.

        Returns
        -------
        predictions : ndarray of shape (n,) or (n, n_targets)
            One-dimensional if the targets learned were.
        deviations : ndarray of the same shape, if `return_std`
            Standard deviations of targets about their predictions, of the noise and of what is not
            known of the function: see the Notes of `KernelRegressor`. Infinite before the second
            row was learned.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad (the message names it), or the learner does not know deviations.
        """
        check_is_fitted(cast(Any, self))
        rows = self._asked(X)
        if not return_std:
            return cast("NDArray[np.float64]", cast(Any, self)._predicted(rows))
        both = self._core.predict_with_deviation(rows)
        predictions, deviations = np.split(both, 2, axis=1)
        decode = cast(Any, self)._decode
        return decode(predictions), decode(deviations)

    def predict_interval(self, X: Rows, coverage: float = 0.9) -> NDArray[np.float64]:
        """Give intervals that hold this share of the targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers.
        coverage : float, default=0.9
            The share of targets that are to be inside, above 0 and below 1. Those from 0.5 to 0.99
            are followed; for others see the Notes of `KernelRegressor`.

        Returns
        -------
        intervals : ndarray of shape (n, 2) or (n, n_targets, 2)
            Lower and upper ends, infinite before the second row was learned. Several targets have
            their coverage each, not together.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row or the coverage is bad; the message names it.
        """
        check_is_fitted(cast(Any, self))
        ends = self._core.interval(self._asked(X), checked_coverage(coverage))
        return self._ends(ends.reshape(len(ends), -1, 2))

    def _asked(self, X: Rows) -> Any:
        return cast(Any, self)._rows(X, reset=False)

    def _ends(self, intervals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give intervals (n, n_outputs, 2) in the shape of the targets."""
        decode = cast(Any, self)._decode
        return np.stack([decode(intervals[..., 0]), decode(intervals[..., 1])], axis=-1)

    def partial_fit_predict_interval(
        self,
        X: Source,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        coverage: float = 0.9,
    ) -> NDArray[np.float64]:
        """Give the interval of each row just before learning it (prequential intervals).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers, n at least 1. Or a source of batches, as for `partial_fit`.
        y : array-like of shape (n,) or (n, n_targets), or str or list of str, optional
            Their targets, finite; or the names of their columns in a frame or source.
        sample_weight : array-like of shape (n,), optional
            As for `partial_fit`.
        coverage : float, default=0.9
            As for `predict_interval`.

        Returns
        -------
        intervals : ndarray of shape (n, 2) or (n, n_targets, 2)
            The interval for row i made when the rows before it had been learned; those of the first
            two rows of all are infinite.

        Raises
        ------
        ValueError, TypeError
            A row or the coverage is bad (the message names it); the model is as it was.
        """
        told = Told(coverage=checked_coverage(coverage))
        cast(Any, self)._learn(X, y, sample_weight, told=told)
        _, intervals = cast(Any, told.intervals)
        return self._ends(intervals)
