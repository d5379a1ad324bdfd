"""What the estimators share whose core learns a stream of rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kernelstream import _core
from kernelstream.components.base import as_component
from kernelstream.components.bases import ALD, Basis
from kernelstream.components.budget import BudgetLearner
from kernelstream.components.kernels import Gaussian, Kernel
from kernelstream.components.learners import Learner, Ridge
from kernelstream.estimators.model_file import (
    ModelFileMixin,
    decode_parameters,
    encode_parameters,
    names_of,
    set_names,
)
from kernelstream.estimators.validation import rows_of

__all__ = ["RowEstimator", "StreamEstimator"]


class StreamEstimator(ModelFileMixin):
    """Rows in, counts out, and names and parameters to and from the model file.

    The class that derives from this and from scikit-learn's base holds the core in ``_core``.
    """

    @property
    def n_seen_(self) -> int:
        """Rows or pairs received so far."""
        check_is_fitted(self)
        return cast(int, self._core.n_seen)

    @property
    def n_stored_(self) -> int:
        """Points stored."""
        check_is_fitted(self)
        return cast(int, self._core.n_stored)

    def _rows(self, X: Any, *, reset: bool) -> NDArray[np.float64]:
        return rows_of(self, X, reset=reset)

    def _state(self) -> dict[str, Any]:
        return {
            "params": encode_parameters(self._params()),
            "feature_names": names_of(self),
        }

    def _params(self) -> dict[str, Any]:
        """Give the constructor's parameters as the model file keeps them."""
        return cast("dict[str, Any]", cast(Any, self).get_params(deep=False))

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        model: Any = cls(**decode_parameters(state["params"]))
        model._core = core
        if core.n_features is not None:
            model.n_features_in_ = core.n_features
        set_names(model, state["feature_names"], core.n_features)
        return cast(Self, model)


class RowEstimator(StreamEstimator):
    """A kernel, a basis and a learner whose core learns rows with numbers as targets.

    The class that derives from this stores the parameters ``kernel``, ``basis``, ``learner`` and
    ``verbose``.
    """

    kernel: Kernel | None
    basis: Basis | None
    learner: Learner | None
    verbose: bool

    def _new_core(self) -> _core.Regressor:
        return _core.Regressor(json.dumps(self.to_spec()))

    def to_spec(self) -> dict[str, Any]:
        """Give the description of the model that the core understands."""
        # A budgeted learner chooses the stored points itself; the core refuses a basis beside it.
        alone = isinstance(self.learner, BudgetLearner) and self.basis is None
        return {
            "kernel": as_component(self.kernel, Gaussian, Kernel).to_spec(),
            "basis": None if alone else as_component(self.basis, ALD, Basis).to_spec(),
            "learner": self._learner_spec(),
        }

    def _learner_spec(self) -> dict[str, Any]:
        return as_component(self.learner, Ridge, Learner).to_spec()

    def _feed(
        self,
        rows: NDArray[np.float64],
        targets: NDArray[np.float64],
        bar: Callable[..., Any],
        *,
        forecast: bool,
        weights: NDArray[np.float64] | None = None,
        first_row: int = 0,
    ) -> NDArray[np.float64] | None:
        """Let the core learn rows; give its forecasts (n, n_outputs) if they are asked for.

        Errors call the first of the rows `first_row`: they may be a part of what the user gave.
        """
        forecasts = np.empty(targets.shape) if forecast or self.verbose else None
        if self.verbose:
            with bar(self._core, targets, forecasts) as report:
                self._core.learn(rows, targets, forecasts, report, weights, first_row)
        else:
            self._core.learn(rows, targets, forecasts, None, weights, first_row)
        return forecasts

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the coordinates of rows: what the learner is linear in.

        Inner products of coordinates are the kernel, as far as the stored points span it. With a
        budgeted learner they are the similarities to the stored points, k(s_j, x).

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.

        Returns
        -------
        coordinates : ndarray of shape (n, n_stored_)
            Coordinate j belongs to the j-th stored point; learning on appends columns and does not
            change those there are, unless a budgeted learner replaces a point.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        check_is_fitted(self)
        return cast("NDArray[np.float64]", self._core.transform(self._rows(X, reset=False)))

    @property
    def dictionary_(self) -> NDArray[np.float64]:
        """Stored points, in the order they were stored."""
        check_is_fitted(self)
        return cast("NDArray[np.float64]", self._core.dictionary())

    @property
    def condition_(self) -> float | None:
        """Condition number of the matrix whose pseudoinverse `Sketched` features are made by.

        The larger, the more rounding and chance there is in the features. None for other bases, and
        in stage one.
        """
        check_is_fitted(self)
        return cast("float | None", self._core.condition)

    @property
    def _n_features_out(self) -> int:
        # Not of every basis the number of stored points.
        row = np.zeros((1, cast(int, self._core.n_features)))
        return int(self._core.transform(row).shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = cast(Any, super()).__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
