"""What the estimators share whose core learns a stream of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernelstream._modelfile import Stored, decode_parameters, encode_parameters
from kernelstream._validation import rows_of


class StreamEstimator(Stored):
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
        names = getattr(self, "feature_names_in_", None)
        params = cast(Any, self).get_params(deep=False)
        return {
            "params": encode_parameters(params),
            "feature_names": None if names is None else list(names),
        }

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        model: Any = cls(**decode_parameters(state["params"]))
        model._core = core
        if core.n_features is not None:
            model.n_features_in_ = core.n_features
        names = state["feature_names"]
        if names is not None:
            if len(names) != core.n_features:
                raise ValueError(f"{len(names)} names for {core.n_features} features")
            model.feature_names_in_ = np.array([str(name) for name in names], object)
        return cast(Self, model)
