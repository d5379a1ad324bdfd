"""Learning the named columns of a table, standardized by its first rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream.estimators.model_file import ModelFileMixin
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.experts import KernelExperts
from kernelstream.supervised.regressor import KernelRegressor

__all__ = ["TableClassifier", "TableRegressor"]


class _OnTable(ModelFileMixin):
    """An estimator on raw columns: it knows their names and brings them to one scale."""

    features: list[str]
    targets: list[str]
    scale: bool
    mean_: NDArray[np.float64] | None
    deviation_: NDArray[np.float64] | None

    @property
    @abstractmethod
    def _estimator(self) -> KernelRegressor | KernelClassifier:
        """What learns."""

    def _on(self, features: Sequence[str], targets: Sequence[str], scale: bool) -> None:
        self.features = list(features)
        self.targets = list(targets)
        self.scale = scale
        self.mean_ = None
        self.deviation_ = None

    def __copy__(self) -> Self:
        # A copy learns on its own, as that of any estimator here does.
        return deepcopy(self)

    @property
    def _core(self) -> Any:
        return self._estimator._core

    def __sklearn_is_fitted__(self) -> bool:
        return self._estimator.__sklearn_is_fitted__()

    def _learned(
        self, X: Any, learn: Callable[[NDArray[np.float64]], NDArray[Any]]
    ) -> NDArray[Any]:
        """Give what `learn` says of the scaled rows; the scale is kept once they are learned."""
        rows = self._raw(X)
        mean, deviation = self.mean_, self.deviation_
        if mean is None or deviation is None:
            mean, deviation = self._scale_of(rows)
        said = learn((rows - mean) / deviation)
        self.mean_, self.deviation_ = mean, deviation
        return said

    def _scaled(self, X: Any) -> NDArray[np.float64]:
        rows = self._raw(X)
        if self.mean_ is not None and self.deviation_ is not None:
            rows = (rows - self.mean_) / self.deviation_
        return rows

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
            "features": self.features,
            "scale": self.scale,
            "mean": mean.tolist(),
            "deviation": deviation.tolist(),
        }

    def _restore_scale(self, state: Mapping[str, Any]) -> None:
        self.mean_ = np.array(state["mean"], dtype=np.float64)
        self.deviation_ = np.array(state["deviation"], dtype=np.float64)
        width = (len(self.features),)
        if self.mean_.shape != width or self.deviation_.shape != width:
            raise ValueError("one mean and one deviation are needed for each feature")


class TableRegressor(_OnTable):
    """A `KernelRegressor` on raw columns: it knows their names and brings them to one scale.

    Kernels compare points by distance, so columns must have like scales. This standardizes them by
    mean and standard deviation of the first batch learned and keeps these for good, because a scale
    that moved would invalidate the stored points. It is what ``kernelstream learn --save`` writes.

    Parameters
    ----------
    regressor : KernelRegressor or KernelExperts
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
        self._on(features, targets, scale)

    def __repr__(self) -> str:
        return (
            f"TableRegressor({self.regressor!r}, features={self.features}, "
            f"targets={self.targets}, scale={self.scale})"
        )

    @property
    def _estimator(self) -> KernelRegressor:
        return self.regressor

    def partial_fit_predict(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Predict each row just before learning it.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or data frame with the features among its columns
            Raw columns.
        y : array-like of shape (n, n_targets)
            Targets.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts. The scale is that of all rows alike. None: 1.

        Returns
        -------
        forecasts : ndarray of shape (n, n_targets)
            Forecasts; the first row of all gets 0.

        Raises
        ------
        ValueError, TypeError
            A row is bad; the model is as it was.
        """
        learn = self.regressor.partial_fit_predict
        return self._learned(X, lambda rows: learn(rows, y, sample_weight))

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
        return self.regressor.predict(self._scaled(X))

    def _state(self) -> dict[str, Any]:
        kind = type(self.regressor).__name__
        own = {"regressor": self.regressor._state(), "kind": kind, "targets": self.targets}
        return super()._state() | own

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        kinds = {kind.__name__: kind for kind in (KernelRegressor, KernelExperts)}
        kind = kinds[state.get("kind", KernelRegressor.__name__)]
        regressor = kind._from_state(core, state["regressor"])
        model = cls(regressor, state["features"], state["targets"], state["scale"])
        model._restore_scale(state)
        return model


class TableClassifier(_OnTable):
    """A `KernelClassifier` on raw columns: it knows their names and brings them to one scale.

    It standardizes them as `TableRegressor` does. It is what ``kernelstream learn --save`` writes
    when the target is a class.

    Parameters
    ----------
    classifier : KernelClassifier
        What learns. It is used, not copied.
    features : sequence of str
        Names of the columns to learn from, in order.
    target : str
        Name of the column of labels.
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
        classifier: KernelClassifier,
        features: Sequence[str],
        target: str,
        scale: bool = True,
    ) -> None:
        self.classifier = classifier
        self.target = target
        self._on(features, [target], scale)

    def __repr__(self) -> str:
        return (
            f"TableClassifier({self.classifier!r}, features={self.features}, "
            f"target={self.target!r}, scale={self.scale})"
        )

    @property
    def _estimator(self) -> KernelClassifier:
        return self.classifier

    def partial_fit_predict(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Predict each row's label just before learning it.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or data frame with the features among its columns
            Raw columns.
        y : array-like of shape (n,)
            Labels.
        classes : array-like of shape (n_classes,), optional
            Every label that may ever come; needed in the first call.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts. The scale is that of all rows alike. None: 1.

        Returns
        -------
        labels : ndarray of shape (n,)
            Predictions; the first row of all gets the first class.

        Raises
        ------
        ValueError, TypeError
            A row or label is bad; the model is as it was.
        """
        learn = self.classifier.partial_fit_predict
        return self._learned(X, lambda rows: learn(rows, y, classes, sample_weight))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the labels of rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or data frame with the features among its columns
            Raw columns.

        Returns
        -------
        labels : ndarray of shape (n,)
            Labels.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        return self.classifier.predict(self._scaled(X))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or data frame with the features among its columns
            Raw columns.

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
            In the order of the classes, ``classifier.classes_``.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        AttributeError
            The classifier's loss does not tell probabilities.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        return cast("NDArray[np.float64]", self.classifier.predict_proba(self._scaled(X)))

    def _state(self) -> dict[str, Any]:
        own = {"classifier": self.classifier._state(), "target": self.target}
        return super()._state() | own

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        classifier = KernelClassifier._from_state(core, state["classifier"])
        model = cls(classifier, state["features"], state["target"], state["scale"])
        model._restore_scale(state)
        return model
