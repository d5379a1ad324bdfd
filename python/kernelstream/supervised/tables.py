"""Learning the named columns of a table, standardized by its first rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream.estimators.availability import available_where
from kernelstream.estimators.base import KernelModel
from kernelstream.estimators.model_file import WrapperMixin
from kernelstream.estimators.scale import ColumnScale
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.regressor import KernelRegressor

__all__ = ["TableClassifier", "TableRegressor"]


class _OnTable(WrapperMixin):
    """An estimator on raw columns: it knows their names and standardizes them."""

    # What the constructor calls the estimator, and what class it is of.
    _role: ClassVar[str]
    _kind: ClassVar[type[KernelModel]]

    features: list[str]
    targets: list[str]
    scale: bool
    _scale: ColumnScale | None = None

    @property
    def mean_(self) -> NDArray[np.float64] | None:
        """The mean subtracted from each column; None before a batch has been learned."""
        return None if self._scale is None else self._scale.mean

    @property
    def deviation_(self) -> NDArray[np.float64] | None:
        """What each column is divided by; None before a batch has been learned."""
        return None if self._scale is None else self._scale.deviation

    @property
    def n_seen_(self) -> int:
        """Rows learned so far."""
        return cast(int, self._wrapped.n_seen_)

    @property
    def n_stored_(self) -> int:
        """Points stored."""
        return cast(int, self._wrapped.n_stored_)

    @property
    def _wrapped(self) -> Any:
        return getattr(self, self._role)

    def partial_fit_predict(self, X: ArrayLike, y: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        """Predict each row just before learning it.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or data frame with the features among its columns
            Raw columns.
        y : array-like of shape (n, n_targets) or (n,)
            Targets, or labels.
        *args, **kwargs : object
            What the estimator's own method takes beside: ``sample_weight``, and of a classifier
            before it ``classes``. The scale is that of all rows alike.

        Returns
        -------
        predictions : ndarray, of the shape of y
            Predictions; the first row of all gets 0, or the first class.

        Raises
        ------
        ValueError, TypeError
            A row or target is bad; the model is as it was.
        """
        rows = self._raw(X)
        scale = self._scale
        if scale is None:
            scale = ColumnScale.dividing(np.ones(len(self.features)))
            scale = scale.learned(rows) if self.scale else scale
        predictions = self._wrapped.partial_fit_predict(scale.apply(rows), y, *args, **kwargs)
        self._scale = scale
        return predictions

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the targets or labels of rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or data frame with the features among its columns
            Raw columns.

        Returns
        -------
        predictions : ndarray of shape (n, n_targets) or (n,)
            Predictions, or labels.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        predictions: NDArray[Any] = self._wrapped.predict(self._scaled(X))
        return predictions

    def _scaled(self, X: ArrayLike) -> NDArray[np.float64]:
        rows = self._raw(X)
        return rows if self._scale is None else self._scale.apply(rows)

    def _raw(self, X: Any) -> NDArray[np.float64]:
        if hasattr(X, "columns"):
            missing = [name for name in self.features if name not in X.columns]
            if missing:
                raise ValueError(
                    f"columns the model needs are missing: {', '.join(missing)}; it was made for "
                    f"{', '.join(self.features)}"
                )
            X = X[self.features]
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.features):
            raise ValueError(
                f"X must have shape (n, {len(self.features)}), one column for each feature, "
                f"got {rows.shape}"
            )
        return rows

    @abstractmethod
    def _target_parameter(self) -> dict[str, Any]:
        """Give the constructor's parameter that names what is predicted."""

    def __repr__(self) -> str:
        parameters = {"features": self.features, **self._target_parameter(), "scale": self.scale}
        listed = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
        return f"{type(self).__name__}({self._wrapped!r}, {listed})"

    def _state(self) -> dict[str, Any]:
        kind, state = self._wrapped_state()
        scale = {} if self._scale is None else self._scale.to_state()
        own = {"features": self.features, "scale": self.scale, **self._target_parameter()}
        return {self._role: state, "kind": kind, **own, **scale}

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        # Files of former versions do not say which class if it is the usual one.
        kind = state.get("kind", cls._kind.__name__)
        inner = cls._wrapped_from_state(core, kind, state[cls._role], cls._kind)
        target = state.get("targets", state.get("target"))
        model = cls(inner, state["features"], target, state["scale"])  # type: ignore[call-arg]
        model._scale = ColumnScale.from_state(state, len(model.features))
        return model


class TableRegressor(_OnTable):
    """A `KernelRegressor` on raw columns: it knows their names and standardizes them.

    Kernels compare points by distance, so columns must have comparable scales. This standardizes
    them by mean and standard deviation of the first batch learned and keeps these for good, because
    a scale that changed would invalidate the stored points. It is what
    ``kernelstream learn --save`` writes.

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
        The mean subtracted from each column, and its divisor (1 where a column was constant),
        once a batch has been learned.
    """

    _role: ClassVar[str] = "regressor"
    _kind: ClassVar[type[KernelModel]] = KernelRegressor

    def __init__(
        self,
        regressor: KernelRegressor,
        features: Sequence[str],
        targets: Sequence[str],
        scale: bool = True,
    ) -> None:
        self.regressor = regressor
        self.features, self.targets, self.scale = list(features), list(targets), scale

    def _target_parameter(self) -> dict[str, Any]:
        return {"targets": self.targets}


class TableClassifier(_OnTable):
    """A `KernelClassifier` on raw columns: it knows their names and standardizes them.

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
        The mean subtracted from each column, and its divisor (1 where a column was constant),
        once a batch has been learned.
    """

    _role: ClassVar[str] = "classifier"
    _kind: ClassVar[type[KernelModel]] = KernelClassifier

    def __init__(
        self,
        classifier: KernelClassifier,
        features: Sequence[str],
        target: str,
        scale: bool = True,
    ) -> None:
        self.classifier = classifier
        self.target = target
        self.features, self.targets, self.scale = list(features), [target], scale

    @available_where(lambda self: self.classifier.predict_proba)
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the probability of each class, if the classifier's loss determines them.

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
        ValueError, TypeError
            A row is bad; the message names it.
        """
        probabilities: NDArray[np.float64] = self.classifier.predict_proba(self._scaled(X))
        return probabilities

    def _target_parameter(self) -> dict[str, Any]:
        return {"target": self.target}
