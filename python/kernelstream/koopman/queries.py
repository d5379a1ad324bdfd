"""What all questions to an operator share."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kernelstream.estimators.base import StreamEstimator
from kernelstream.estimators.validation import as_float64, whole_number

__all__ = ["Asked", "ComplexArray", "FloatArray", "Function"]

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
Function = Callable[[FloatArray], ArrayLike] | ArrayLike


class Asked(StreamEstimator):
    """An operator that is asked about states and about functions of them.

    The class that derives from this stores the parameters ``n_inputs`` and ``rank``.
    """

    n_inputs: int
    rank: int | None

    @property
    def outputs_(self) -> FloatArray:
        """Stored outputs, in the order they were stored."""
        check_is_fitted(self)
        return cast(FloatArray, self._core.outputs())

    def _n_inputs(self) -> int:
        return whole_number("n_inputs", self.n_inputs, 0)

    def _checked_rank(self) -> int | None:
        return None if self.rank is None else whole_number("rank", self.rank)

    def _queried(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        return self._rows(X, reset=False)

    def _values_of(self, function: Function) -> FloatArray:
        """Give the values of a function at the stored outputs, as (m,) or (m, p)."""
        check_is_fitted(self)
        values = np.asarray(function(self.outputs_) if callable(function) else function)
        values = as_float64(values, "the values of the observable")
        if values.ndim not in {1, 2} or len(values) != self._core.n_stored_outputs:
            raise ValueError(
                f"the observable has values of shape {values.shape}; it needs one value, or one "
                f"row of values, for each of the {self._core.n_stored_outputs} stored outputs"
            )
        return values
