"""What the estimators share that learn raw columns by another estimator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from kernelstream.estimators.availability import available_where
from kernelstream.estimators.base import Row, RowEstimator
from kernelstream.estimators.model_file import estimator_class
from kernelstream.estimators.uncertainty import checked_coverage
from kernelstream.estimators.validation import Rows

__all__ = ["OnColumns"]


class OnColumns(RowEstimator):
    """An estimator of raw columns: another one says what learns, and what targets are.

    Both are one core, which holds the scale of the columns and the rows of the warm-up beside the
    model. The class that derives from this gives the other estimator (``_template``) and what the
    columns are (``_columns_spec``).
    """

    # The other one without a core, once targets have come.
    _inner: Any

    @available_where(lambda self: self._template().decision_function)
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the outputs by which a classifier decides.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows, as for `predict`.

        Returns
        -------
        outputs : ndarray of shape (n,) or (n, n_classes)
            See `KernelClassifier`.
        """
        check_is_fitted(self)
        outputs: NDArray[np.float64] = self._core.outputs(self._rows(X, reset=False))
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    @available_where(lambda self: self._template().predict_proba)
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows, as for `predict`.

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
            See `KernelClassifier`.
        """
        check_is_fitted(self)
        return cast("NDArray[np.float64]", self._core.probabilities(self._rows(X, reset=False)))

    @available_where(lambda self: self._template().predict_set)
    def predict_set(self, X: Rows, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Give sets of classes that hold the right one of this share of the rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows, as for `predict`.
        coverage : float, default=0.9
            Share of the rows whose right class is to be in its set, above 0 and below 1.

        Returns
        -------
        sets : ndarray of bool of shape (n, n_classes)
            See `KernelClassifier`.
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        return cast("NDArray[np.bool_]", self._core.sets(rows, checked_coverage(coverage)))

    def _has_settings(self) -> bool:
        return cast(bool, self._template()._has_settings())

    def _useless(self) -> str:
        return cast(str, self._template()._useless())

    @available_where(lambda self: self._template().predict_proba)
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Predict the probability of each class for one row, for live use.

        Parameters
        ----------
        x : row
            The row, as for `predict_one`.

        Returns
        -------
        probabilities : dict of label to float
            See `KernelClassifier`.
        """
        check_is_fitted(self)
        probabilities = self._core.probabilities_one(self._row(x)).tolist()
        return dict(zip(self.classes_.tolist(), probabilities, strict=True))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Give R squared of a regressor, or the share of correct labels.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows, as for `predict`.
        y : array-like of shape (n,) or (n, n_targets)
            Their targets or labels.
        sample_weight : array-like of shape (n,), optional
            How many times each row counts. None: 1.

        Returns
        -------
        score : float
            At most 1.
        """
        # It asks this estimator to predict.
        return float(type(self._template()).score(self, X, y, sample_weight))

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels of a classifier, sorted."""
        check_is_fitted(self)
        return cast("NDArray[Any]", self._inner._classes.labels)

    @property
    def class_count_(self) -> NDArray[np.int64]:
        """Rows of each class that a classifier has learned so far."""
        check_is_fitted(self)
        return np.array(self._core.class_count, dtype=np.int64)

    @property
    def verbose(self) -> bool:  # type: ignore[override]
        """Whether the other estimator shows its progress."""
        return cast(bool, self._template().verbose)

    @abstractmethod
    def _template(self) -> Any:
        """Give the estimator that says what learns."""

    @abstractmethod
    def _columns_spec(self) -> dict[str, Any]:
        """Give the description of the columns that the core understands."""

    def _fitted(self) -> Any:
        """Give the other estimator with a copy of what was learned, which knows features only."""
        check_is_fitted(self)
        core = cast(Any, self._core)
        fitted = clone(self._inner)
        for name, value in vars(self._inner).items():
            setattr(fitted, name, value)
        fitted._core = core.inner()
        fitted.n_features_in_ = fitted._core.n_features
        return fitted

    def _ready(self) -> Any:
        """Give the core, or the error that there is none yet."""
        try:
            return self._core
        except AttributeError:  # scikit-learn's check takes longer than a row
            check_is_fitted(self)
            raise

    def _row(self, x: Any) -> Any:
        """Give a row as the core takes it."""
        return x

    def _core_spec(self) -> dict[str, Any]:
        inner = self._inner._model_spec()
        spec = inner if "model" in inner else {"model": inner}
        return spec | {"columns": self._columns_spec()}

    def _begin_targets(
        self, targets: NDArray[Any], classes: ArrayLike | None, *, complete: bool
    ) -> None:
        inner = clone(self._template())
        inner.n_features_in_ = self.n_features_in_
        inner._begin_targets(targets, classes, complete=complete)
        self._inner = inner

    def _check_targets(self, y: ArrayLike, classes: ArrayLike | None) -> NDArray[Any]:
        inner = vars(self).get("_inner")
        if inner is None:
            inner = self._template()
        return cast("NDArray[Any]", inner._check_targets(y, classes))

    def _encode(self, targets: NDArray[Any], first_row: int = 0) -> NDArray[np.float64]:
        return cast("NDArray[np.float64]", self._inner._encode(targets, first_row))

    def _decode(self, outputs: NDArray[np.float64]) -> NDArray[Any]:
        return cast("NDArray[Any]", self._inner._decode(outputs))

    def _error(self, n_outputs: int) -> tuple[Any, Callable[[Any], Any]]:
        return cast("tuple[Any, Callable[[Any], Any]]", self._inner._error(n_outputs))

    def _learn_row(self, x: Row, y: Any) -> None:
        try:
            self._core.learn_one(self._row(x), self._inner._encode_one(y))
        except TypeError:
            self._check_targets(y, None)
            raise

    def _predict_row(self, x: Row) -> Any:
        core = self._ready()
        return self._inner._decode_one(core.predict_one(self._row(x)))

    def _inner_state(self, role: str) -> dict[str, Any]:
        """Give what a file must hold of the other estimator."""
        return {role: self._inner._state(), "kind": type(self._inner).__name__}

    @staticmethod
    def _inner_from_state(core: Any, kind: str, state: Mapping[str, Any], allowed: type) -> Any:
        """Undo ``_inner_state`` for an estimator of an allowed class."""
        inner = estimator_class(kind, allowed)._from_state(core, state)
        del inner._core
        return inner

    def _take(self, core: Any, inner: Any) -> Self:
        """Go on with what was read from a file."""
        if core.scales is None:
            raise ValueError("its core knows no columns")
        self._core, self._inner, self.n_features_in_ = core, inner, core.n_features
        return self
