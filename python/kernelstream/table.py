"""Regression on the named columns of a table, standardized by its first rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream._modelfile import Stored
from kernelstream.regressor import KernelRegressor

__all__ = ["TableRegressor"]


class TableRegressor(Stored):
    """A `KernelRegressor` on raw columns: it knows their names and brings them to one scale.

    Kernels compare points by distance, so columns must have like scales. This standardizes them by
    mean and standard deviation of the first batch learned and keeps these for good, because a scale
    that moved would invalidate the stored points. It is what ``kernelstream learn --save`` writes.

    Parameters
    ----------
    regressor : KernelRegressor
        What learns. It is used, not copied.
    features : sequence of str
        Names of the columns to learn from, in order.
    targets : sequence of str
        Names of the columns to predict.
    scale : bool, default=True
        False: take the columns as they are.

    Attributes
    ----------
    mean_, deviation_ : ndarray of shape (n_features,)
        What is taken off each column and what it is divided by (1 where a column was constant),
        once a batch has been learned.
    """

    def __init__(
        self,
        regressor: KernelRegressor,
        features: Sequence[str],
        targets: Sequence[str],
        scale: bool = True,
    ) -> None:
        self.regressor = regressor
        self.features = list(features)
        self.targets = list(targets)
        self.scale = scale
        self.mean_: NDArray[np.float64] | None = None
        self.deviation_: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        return (
            f"TableRegressor({self.regressor!r}, features={self.features}, "
            f"targets={self.targets}, scale={self.scale})"
        )

    def __copy__(self) -> Self:
        # A copy learns on its own, as that of any estimator here does.
        return deepcopy(self)

    @property
    def _core(self) -> Any:
        return self.regressor._core

    def __sklearn_is_fitted__(self) -> bool:
        return self.regressor.__sklearn_is_fitted__()

    def partial_fit_predict(self, X: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        """Predict each row just before learning it.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or data frame with the features among its columns
            Raw columns.
        y : array-like of shape (n, n_targets)
            Targets.

        Returns
        -------
        forecasts : ndarray of shape (n, n_targets)
            Forecasts; the first row of all gets 0.

        Raises
        ------
        ValueError, TypeError
            A row is bad; the model is as it was.
        """
        rows = self._raw(X)
        mean, deviation = self.mean_, self.deviation_
        if mean is None or deviation is None:
            mean, deviation = self._scale_of(rows)
        forecasts = self.regressor.partial_fit_predict((rows - mean) / deviation, y)
        self.mean_, self.deviation_ = mean, deviation
        return forecasts

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the targets of rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or data frame with the features among its columns
            Raw columns.

        Returns
        -------
        predictions : ndarray of shape (n, n_targets)
            Predictions.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        rows = self._raw(X)
        if self.mean_ is not None and self.deviation_ is not None:
            rows = (rows - self.mean_) / self.deviation_
        return self.regressor.predict(rows)

    def _scale_of(self, rows: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if not self.scale:
            return np.zeros(len(self.features)), np.ones(len(self.features))
        mean, deviation = rows.mean(axis=0), rows.std(axis=0)
        # A constant column's deviation is 0, or rounding.
        deviation[deviation <= 1e-12 * np.abs(mean)] = 1.0
        return mean, deviation

    def _raw(self, X: Any) -> NDArray[np.float64]:
        if hasattr(X, "columns"):
            missing = [name for name in self.features if name not in X.columns]
            if missing:
                raise ValueError(f"columns the model needs are missing: {', '.join(missing)}")
            X = X[self.features]
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.features):
            raise ValueError(
                f"X must have shape (n, {len(self.features)}), one column for each feature, "
                f"got {rows.shape}"
            )
        return rows

    def _state(self) -> dict[str, Any]:
        mean, deviation = self.mean_, self.deviation_
        assert mean is not None  # noqa: S101  (there is a core, so a batch was learned)
        assert deviation is not None  # noqa: S101
        return {
            "regressor": self.regressor._state(),
            "features": self.features,
            "targets": self.targets,
            "scale": self.scale,
            "mean": mean.tolist(),
            "deviation": deviation.tolist(),
        }

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        regressor = KernelRegressor._from_state(core, state["regressor"])
        model = cls(regressor, state["features"], state["targets"], state["scale"])
        model.mean_ = np.array(state["mean"], dtype=np.float64)
        model.deviation_ = np.array(state["deviation"], dtype=np.float64)
        width = (len(model.features),)
        if model.mean_.shape != width or model.deviation_.shape != width:
            raise ValueError("one mean and one deviation are needed for each feature")
        return model
