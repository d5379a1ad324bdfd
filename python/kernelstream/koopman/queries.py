"""State queries and observables, shared by spectrum and forecasts of an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kernelstream.estimators.base import StreamEstimator
from kernelstream.estimators.validation import as_float64, whole_number

__all__ = ["ComplexArray", "FloatArray", "Function", "OperatorQueries"]

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
Function = Callable[[FloatArray], ArrayLike] | ArrayLike


class OperatorQueries(StreamEstimator):
    """Checked states, and values of observables at the stored next states.

    A derived class stores the parameters ``n_inputs`` and ``rank``.
    """

    n_inputs: int
    rank: int | None

    @property
    def dictionary_next_(self) -> FloatArray:
        """Stored next states, in order of admission."""
        check_is_fitted(self)
        return cast(FloatArray, self._core.dictionary_next())

    def _n_inputs(self) -> int:
        return whole_number("n_inputs", self.n_inputs, 0)

    def _checked_rank(self) -> int | None:
        return None if self.rank is None else whole_number("rank", self.rank)

    def _span(self) -> int:
        """Give the steps from the earliest delay of a state to it."""
        return 0

    def _states(self, X: ArrayLike) -> FloatArray:
        """Check states, as they are given."""
        check_is_fitted(self)
        return self._rows(X, reset=False)

    def _queried(self, X: ArrayLike) -> FloatArray:
        """Check states, and give them in the form that the core is asked with."""
        return self._states(X)

    def _values_of(self, function: Function) -> FloatArray:
        """Evaluate a function at the stored next states: values of shape (m,) or (m, p)."""
        check_is_fitted(self)
        values = np.asarray(function(self.dictionary_next_) if callable(function) else function)
        values = as_float64(values, "the values of the observable")
        if values.ndim not in {1, 2} or len(values) != self._core.n_stored_next:
            raise ValueError(
                f"the values of the observable have shape {values.shape}, but each of the "
                f"{self._core.n_stored_next} stored next states needs one value or row of values"
            )
        return values
