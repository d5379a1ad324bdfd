"""One scale for the columns of a stream, learned on its first rows and then kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from kernelstream.components.scikit import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from kernelstream.estimators.availability import available_where
from kernelstream.estimators.base import KernelModel, LabelEstimator
from kernelstream.estimators.model_file import WrapperMixin
from kernelstream.estimators.scale import ColumnScale
from kernelstream.estimators.validation import (
    finite_rows,
    rows_of,
    unchanged_by_errors,
    whole_number,
)
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.regressor import KernelRegressor

__all__ = ["OnlineScaler", "Scaled"]


class OnlineScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardize columns by the first rows of a stream, then keep that scale.

    Kernels compare points by distance, so columns must have comparable scales. But a scale that
    kept changing would put the points stored earlier on another scale than the new ones. So this
    learns mean and standard deviation on the first `n_warm_up` rows, and nothing from those after
    them.

    Parameters
    ----------
    n_warm_up : int, default=500
        Rows to learn from, 1 or more.
    logarithm : bool, default=False
        Take ``sign(x) log(1 + |x|)`` of every value first: for counts, prices and other columns
        with long tails.

    Attributes
    ----------
    mean_, deviation_ : ndarray of shape (n_features,)
        Subtracted from each column, and then divided by (1 where it was constant).
    n_seen_ : int
        Rows learned from so far, at most `n_warm_up`.
    frozen_ : bool
        Whether the scale is final.
    scale_ : ColumnScale
        The scale, apart from the logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelstream as ks
    >>> rows = np.random.default_rng(0).normal([1e3, 0.1], [1e2, 1e-3], size=(2000, 2))
    >>> scaler = ks.OnlineScaler(n_warm_up=1000).partial_fit(rows)
    >>> scaled = scaler.transform(rows[1000:])
    >>> bool(np.allclose(scaled.mean(axis=0), 0, atol=0.1)), scaler.n_seen_
    (True, 1000)
    """

    scale_: ColumnScale
    n_features_in_: int

    def __init__(self, n_warm_up: int = 500, logarithm: bool = False) -> None:
        self.n_warm_up = n_warm_up
        self.logarithm = logarithm

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Forget everything, then learn from the first `n_warm_up` rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers, n at least 1.
        y : object
            Ignored.

        Returns
        -------
        self : OnlineScaler
            This scaler.

        Raises
        ------
        ValueError, TypeError
            A row is bad, or `n_warm_up` is; the scaler is as it was.
        """
        del y
        return self._learn(X, reset=True)

    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn from some more rows, until there were `n_warm_up`.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers, n at least 1.
        y : object
            Ignored.

        Returns
        -------
        self : OnlineScaler
            This scaler.

        Raises
        ------
        ValueError, TypeError
            A row is bad, or `n_warm_up` is; the scaler is as it was.
        """
        del y
        return self._learn(X, reset=False)

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Bring rows to the scale learned.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.

        Returns
        -------
        scaled : ndarray of shape (n, n_features)
            New rows.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        check_is_fitted(self)
        return self.transform_rows(finite_rows(rows_of(self, X, reset=False)))

    def transform_rows(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Do what `transform` does with rows that are known to be sound.

        Parameters
        ----------
        rows : ndarray of float64 of shape (n, n_features)
            Rows.

        Returns
        -------
        scaled : ndarray of shape (n, n_features)
            New rows.
        """
        return self.scale_.apply(self._straightened(rows))

    @property
    def mean_(self) -> NDArray[np.float64]:
        """The mean subtracted from each column."""
        check_is_fitted(self)
        return self.scale_.mean

    @property
    def deviation_(self) -> NDArray[np.float64]:
        """What each column is divided by."""
        check_is_fitted(self)
        return self.scale_.deviation

    @property
    def n_seen_(self) -> int:
        """Rows learned from so far."""
        check_is_fitted(self)
        return self.scale_.n_rows

    @property
    def frozen_(self) -> bool:
        """Whether the scale is final."""
        return self.n_seen_ >= self.n_warm_up

    def __sklearn_is_fitted__(self) -> bool:
        return "scale_" in vars(self)

    def _learn(self, X: ArrayLike, *, reset: bool) -> Self:
        reset = reset or not self.__sklearn_is_fitted__()
        whole_number("n_warm_up", self.n_warm_up)
        with unchanged_by_errors(self):
            rows = finite_rows(rows_of(self, X, reset=reset))
            if reset:
                self.scale_ = ColumnScale.dividing(np.ones(rows.shape[1]))
            rows = self._straightened(rows[: self.n_warm_up - self.n_seen_])
            if len(rows):
                self.scale_ = self.scale_.learned(rows)
        return self

    def _straightened(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sign(rows) * np.log1p(np.abs(rows)) if self.logarithm else rows


class Scaled(WrapperMixin, LabelEstimator):
    """A regressor or classifier on columns that it standardizes by the first rows of the stream.

    While the scaler warms up, every row is predicted and learned on the scale of the rows before
    it; at the 2nd, 4th, 8th, ... row, and at the last of the warm-up, the scale is set anew and the
    rows so far, which are kept until then, are learned again on it. After that the scale stays.
    Feeding a stream in chunks of any size gives the same model, and no prediction uses a later row.

    Parameters
    ----------
    model : KernelRegressor or KernelClassifier
        The estimator that learns; it is copied and not changed.
    scaler : OnlineScaler, optional
        How columns are scaled. None: ``OnlineScaler()``.

    Attributes
    ----------
    model_ : KernelRegressor or KernelClassifier
        The copy that learns, on scaled rows.
    scaler_ : OnlineScaler
        The scale.
    n_features_in_ : int
        Width of a row.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelstream as ks
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(2000, 2))
    >>> model = ks.Scaled(ks.KernelRegressor())
    >>> model = model.partial_fit(X * [1e4, 1e-4], np.sin(X.sum(axis=1)))
    >>> bool(abs(model.predict_one([5e3, 5e-5]) - np.sin(1.0)) < 0.01)
    True
    """

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {"scaler": OnlineScaler}

    model_: Any
    scaler_: OnlineScaler
    # Rows, targets and weights of the warm-up; None when it is over.
    _kept: list[tuple[NDArray[Any], ...]] | None

    def __init__(
        self, model: KernelRegressor | KernelClassifier, scaler: OnlineScaler | None = None
    ) -> None:
        self.model = model
        self.scaler = scaler

    @available_where(lambda self: self.model.decision_function)
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the outputs by which a classifier decides.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.

        Returns
        -------
        outputs : ndarray of shape (n,) or (n, n_classes)
            See `KernelClassifier`.
        """
        rows = self._scaled(X)
        return cast("NDArray[np.float64]", self.model_.decision_function(rows))

    @available_where(lambda self: self.model.predict_proba)
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
            See `KernelClassifier`.
        """
        rows = self._scaled(X)
        return cast("NDArray[np.float64]", self.model_.predict_proba(rows))

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Give R squared of a regressor, or the share of correct labels.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.
        y : array-like of shape (n,) or (n, n_targets)
            Their targets or labels.

        Returns
        -------
        score : float
            At most 1.
        """
        rows = self._scaled(X)
        return float(self.model_.score(rows, y))

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels of a classifier, sorted."""
        return cast("NDArray[Any]", self.model_.classes_)

    @property
    def _wrapped(self) -> KernelModel | None:
        return vars(self).get("model_")

    def __sklearn_tags__(self) -> Any:
        return cast(Any, self.model).__sklearn_tags__()

    def _rows(self, X: Any, *, reset: bool) -> NDArray[np.float64]:
        return finite_rows(super()._rows(X, reset=reset))

    def _scaled(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.scaler_.transform_rows(self._rows(X, reset=False))

    def _scaled_row(self, x: NDArray[np.float64] | Sequence[float]) -> NDArray[np.float64]:
        row = np.array([x], np.float64)
        if row.shape != (1, self.n_features_in_):
            raise ValueError(
                f"x has shape {row.shape[1:]}, but a row of this model has {self.n_features_in_} "
                "values"
            )
        return cast("NDArray[np.float64]", self.scaler_.transform_rows(finite_rows(row))[0])

    def _check_targets(self, y: ArrayLike, classes: ArrayLike | None) -> NDArray[Any]:
        return (self._wrapped or self.model).check_targets(y, classes)

    def _begin(self, targets: NDArray[Any], classes: ArrayLike | None, *, complete: bool) -> None:
        self.scaler_ = clone(self.scaler or self._default_part("scaler"))
        self.model_ = clone(self.model)
        self.model_.begin(self.n_features_in_, targets, classes, complete=complete)
        self._kept = []

    def _learn_rows(
        self,
        rows: NDArray[np.float64],
        targets: NDArray[Any],
        weights: NDArray[np.float64] | None,
        *,
        predict: bool,
        first_row: int,
    ) -> NDArray[Any] | None:
        predictions: list[Any] = []
        done, earlier = 0, self._n_kept()
        if earlier:
            # Put back by an error, so not to be changed.
            self.model_ = deepcopy(self.model_)
        while done < len(rows):
            stop = len(rows)
            if self._kept is not None:
                seen = self._n_kept()
                if not seen:
                    self.scaler_ = clone(self.scaler_).fit(rows[:1])
                turn = min(max(2, 1 << seen.bit_length()), self.scaler_.n_warm_up)
                stop = min(stop, done + turn - seen)
            part = slice(done, stop)
            counts = None if weights is None else weights[part]
            scaled = self.scaler_.transform_rows(rows[part])
            predictions.append(
                self.model_.learn_rows(
                    scaled, targets[part], counts, predict=predict, first_row=first_row + done
                )
            )
            if self._kept is not None:
                counts = np.ones((stop - done, 1)) if counts is None else counts
                self._kept = [*self._kept, (rows[part], targets[part], counts)]
                if self._n_kept() == turn:
                    self._learn_again(earlier)
            done = stop
        return np.concatenate(predictions) if predict else None

    def _n_kept(self) -> int:
        return sum(len(rows) for rows, *_ in self._kept or ())

    def _learn_again(self, earlier: int) -> None:
        """Learn all the rows so far on their own scale.

        The first `earlier` of them are from calls before this one.
        """
        rows, targets, weights = (
            np.concatenate(parts) for parts in zip(*self._kept or (), strict=True)
        )
        self.scaler_ = clone(self.scaler_).fit(rows)
        scaled = self.scaler_.transform_rows(rows)
        classes = getattr(self.model_, "classes_", None)
        self.model_ = clone(self.model)
        self.model_.begin(self.n_features_in_, targets, classes)
        if earlier:
            try:
                self.model_.learn_rows(scaled[:earlier], targets[:earlier], weights[:earlier])
            except ValueError as error:
                raise ValueError(
                    f"the rows of earlier calls cannot be learned on the scale of {len(rows)} "
                    f"rows: {error} (counted from the first row of all)"
                ) from error
        self.model_.learn_rows(scaled[earlier:], targets[earlier:], weights[earlier:])
        self._kept = None if self.scaler_.frozen_ else [(rows, targets, weights)]

    def _learn_row(self, x: NDArray[np.float64] | Sequence[float], y: Any) -> None:
        if self._kept is None:
            self.model_.learn_one(self._scaled_row(x), y)
        else:
            self._learn(np.array([x], np.float64), [y], None)

    def _predicted(self, rows: NDArray[np.float64]) -> NDArray[Any]:
        return cast("NDArray[Any]", self.model_.predict(self.scaler_.transform_rows(rows)))

    def _predict_row(self, x: NDArray[np.float64] | Sequence[float]) -> Any:
        check_is_fitted(self)
        return self.model_.predict_one(self._scaled_row(x))

    def _state(self) -> dict[str, Any]:
        kind, state = self._wrapped_state()
        kept = zip(*self._kept, strict=True) if self._kept else ()
        rows, targets, weights = [np.concatenate(parts).tolist() for parts in kept] or [[], [], []]
        return {
            "model": state,
            "kind": kind,
            "scaler": {
                "params": self.scaler_.get_params(),
                "given": self.scaler is not None,
                **self.scaler_.scale_.to_state(),
            },
            "rows": rows,
            "targets": targets,
            "weights": np.ravel(weights).tolist(),
            "feature_names": self._feature_names(),
        }

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        width = core.n_features
        inner = cls._wrapped_from_state(core, state["kind"], state["model"], KernelModel)
        scaler = OnlineScaler(**state["scaler"]["params"])
        scaler.scale_ = ColumnScale.from_state(state["scaler"], width)
        model = cls(clone(inner), clone(scaler) if state["scaler"]["given"] else None)
        model.model_, model.scaler_ = inner, scaler
        model.n_features_in_ = scaler.n_features_in_ = width
        rows = np.array(state["rows"], dtype=np.float64)
        targets = np.array(state["targets"])
        weights = np.array(state.get("weights", np.ones(len(rows))), dtype=np.float64)
        # Before the last turn of the warm-up there are more rows than the scale is learned from.
        complete = len(rows) == 0 if scaler.frozen_ else len(rows) >= scaler.n_seen_ > 0
        if not complete or not len(rows) == len(targets) == len(weights):
            raise ValueError("rows of the warm-up, or their targets or weights, are missing")
        model._kept = None if scaler.frozen_ else [(rows, targets, weights[:, None])]
        model._set_feature_names(state["feature_names"], width)
        return model
