"""One scale for the columns of a stream, learned on its first rows and then kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from kernelstream.components.scikit import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from kernelstream.estimators.availability import available_where
from kernelstream.estimators.base import LabelEstimator, Row, RowEstimator, StreamEstimator
from kernelstream.estimators.scale import ColumnScale
from kernelstream.estimators.uncertainty import UncertaintyMixin
from kernelstream.estimators.validation import (
    Rows,
    Source,
    finite_rows,
    rows_of,
    unchanged_by_errors,
    whole_number,
)
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.model import KernelModel
from kernelstream.supervised.on_columns import OnColumns
from kernelstream.supervised.regressor import KernelRegressor

__all__ = ["OnlineScaler", "Scaled"]


class OnlineScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardize columns by the first rows of a stream, then keep that scale.

    Kernels compare points by distance, so columns must have comparable scales. But a scale that
    kept changing would put the points stored earlier on another scale than the new ones. So this
    learns mean and standard deviation on the first `n_warm_up` rows, and nothing from those after
    them. Here an outlier among these counts as it is; the scale that `Scaled` and tables learn sets
    outliers aside.

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


class Scaled(OnColumns, UncertaintyMixin, LabelEstimator):
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

    def __init__(
        self, model: KernelRegressor | KernelClassifier, scaler: OnlineScaler | None = None
    ) -> None:
        self.model = model
        self.scaler = scaler

    @property
    def model_(self) -> Any:
        """A copy of what learned on scaled rows."""
        return self._fitted()

    @property
    def scaler_(self) -> OnlineScaler:
        """The scale."""
        check_is_fitted(self)
        scales, warming_up = cast(Any, self._core).scales
        scaler: OnlineScaler = clone(self.scaler or self._default_part("scaler"))
        mean, deviation = scales.T
        # While it lasts, it was set anew at the last power of two.
        n_rows = 1 << (self.n_seen_.bit_length() - 1) if warming_up else scaler.n_warm_up
        scaler.scale_ = ColumnScale(mean, deviation, np.square(deviation) * n_rows, n_rows)
        scaler.n_features_in_ = self.n_features_in_
        return scaler

    def __sklearn_tags__(self) -> Any:
        return cast(Any, self.model).__sklearn_tags__()

    def predict_one(self, x: Row, return_std: bool = False) -> Any:
        """Predict one row, for live use.

        Parameters
        ----------
        x : float64 array or sequence of n_features floats
            The row.
        return_std : bool, default=False
            Whether to give the standard deviation of a regressor's prediction too, as a pair.

        Returns
        -------
        prediction : str, int, float or bool, or ndarray of shape (n_targets,)
            The label of a classifier, or the prediction of a regressor.
        deviation : float or ndarray of shape (n_targets,), if `return_std`
            Its standard deviation.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            The row is bad, or deviations are not known.
        """
        if return_std:
            return self._ready().predict_one_with_deviation(x)
        return super().predict_one(x)

    @available_where(lambda self: self._template().predict_interval)
    def predict_interval(self, X: Rows, coverage: float = 0.9) -> NDArray[np.float64]:
        """Give intervals that hold this share of the targets of a regressor.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers.
        coverage : float, default=0.9
            The share of targets that are to be inside, above 0 and below 1.

        Returns
        -------
        intervals : ndarray of shape (n, 2) or (n, n_targets, 2)
            See `KernelRegressor`.
        """
        return super().predict_interval(X, coverage)

    @available_where(lambda self: self._template().partial_fit_predict_interval)
    def partial_fit_predict_interval(
        self,
        X: Source,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        coverage: float = 0.9,
    ) -> NDArray[np.float64]:
        """Give the interval of each row just before a regressor learns it.

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
            See `KernelRegressor`.
        """
        return super().partial_fit_predict_interval(X, y, sample_weight, coverage)

    def _template(self) -> Any:
        if isinstance(self.model, StreamEstimator) and not isinstance(self.model, RowEstimator):
            raise TypeError(
                f"Scaled scales the rows of a KernelRegressor or KernelClassifier; a "
                f"{type(self.model).__name__} scales its states itself: "
                f"{type(self.model).__name__}(scale=True)"
            )
        return self.model

    def _columns_spec(self) -> dict[str, Any]:
        scaler = self.scaler or self._default_part("scaler")
        warm_up = whole_number("n_warm_up", scaler.n_warm_up)
        return {"each": {"type": "number", "logarithm": scaler.logarithm}, "warm_up": warm_up}

    def _state(self) -> dict[str, Any]:
        scaler = None if self.scaler is None else self.scaler.get_params()
        return self._inner_state("model") | {
            "scaler": {"params": scaler},
            "feature_names": self._feature_names(),
        }

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        inner = cls._inner_from_state(core, state["kind"], state["model"], KernelModel)
        scaler = state["scaler"]["params"]
        given = scaler is not None and state["scaler"].get("given", True)
        model = cls(clone(inner), OnlineScaler(**scaler) if given else None)
        model._take(core, inner)
        model._set_feature_names(state["feature_names"], core.n_features)
        return model
