"""One scale for the columns of a stream, learned on its first rows and then kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from kernelstream.estimators.base import StreamEstimator
from kernelstream.estimators.model_file import names_of, set_names
from kernelstream.estimators.validation import (
    rows_of,
    sample_weights,
    unchanged_by_errors,
    whole_number,
)
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.experts import KernelExperts
from kernelstream.supervised.labels import codes_of, find_classes, labels_of
from kernelstream.supervised.regressor import KernelRegressor

__all__ = ["OnlineScaler", "Scaled"]


class OnlineScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardize columns by the first rows of a stream, then keep that scale.

    Kernels compare points by distance, so columns must have like scales. But a scale that moved on
    would put the points stored earlier on another scale than the new ones. So this learns mean and
    standard deviation on the first `n_warm_up` rows, and nothing from those after them.

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
        What is taken off each column, and what it is divided by (1 where it was constant).
    n_seen_ : int
        Rows learned from so far, at most `n_warm_up`.
    frozen_ : bool
        Whether the scale is final.

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

    def _learn(self, X: ArrayLike, *, reset: bool) -> Self:
        reset = reset or "n_seen_" not in vars(self)
        whole_number("n_warm_up", self.n_warm_up)
        with unchanged_by_errors(self):
            rows = _finite(rows_of(self, X, reset=reset))
            if reset:
                self.n_seen_ = 0
                self.mean_ = np.zeros(rows.shape[1])
                self._spread = np.zeros(rows.shape[1])  # sum of squared deviations
                self.deviation_ = np.ones(rows.shape[1])
            rows = self._straightened(rows[: self.n_warm_up - self.n_seen_])
            if len(rows):
                mean = rows.mean(axis=0)
                total = self.n_seen_ + len(rows)
                gap = mean - self.mean_
                spread = np.square(rows - mean).sum(axis=0)
                spread += np.square(gap) * (self.n_seen_ * len(rows) / total)
                self._spread = self._spread + spread
                self.mean_ = self.mean_ + gap * (len(rows) / total)
                self.n_seen_ = total
                deviation = np.sqrt(self._spread / total)
                # A constant column's deviation is 0, or rounding.
                self.deviation_ = np.where(deviation <= 1e-12 * np.abs(self.mean_), 1.0, deviation)
        return self

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
        return self._scaled(_finite(rows_of(self, X, reset=False)))

    @property
    def frozen_(self) -> bool:
        """Whether the scale is final."""
        check_is_fitted(self)
        return self.n_seen_ >= self.n_warm_up

    def _scaled(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return (self._straightened(rows) - self.mean_) / self.deviation_

    def _straightened(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sign(rows) * np.log1p(np.abs(rows)) if self.logarithm else rows


class Scaled(StreamEstimator, BaseEstimator):
    """A regressor or classifier on columns that it standardizes by the first rows of the stream.

    While the scaler warms up, every row is predicted and learned on the scale of the rows before
    it; at the 2nd, 4th, 8th, ... row, and at the last of the warm-up, the scale is set anew and the
    rows so far, which are kept until then, are learned again on it. After that the scale stays.
    Feeding a stream in chunks of any size gives the same model, and no prediction has looked ahead.

    Parameters
    ----------
    model : KernelRegressor or KernelClassifier
        What learns. It is copied, not used itself.
    scaler : OnlineScaler, optional
        How columns are scaled. None: ``OnlineScaler()``.

    Attributes
    ----------
    model_ : KernelRegressor or KernelClassifier
        What has learned, on scaled rows.
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

    model_: Any
    scaler_: OnlineScaler

    def __init__(
        self, model: KernelRegressor | KernelClassifier, scaler: OnlineScaler | None = None
    ) -> None:
        self.model = model
        self.scaler = scaler

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows in one pass.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers, n at least 1.
        y : array-like of shape (n,) or (n, n_targets)
            Their targets or labels.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, as of the model. The scale is that of all rows
            alike. None: 1.

        Returns
        -------
        self : Scaled
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is bad (the message names it) or a parameter is; the model is as it was.
        """
        classes = None
        if isinstance(self.model, KernelClassifier):
            classes = find_classes(labels_of(y, type(self.model).__name__))
        self._learn(X, y, classes, sample_weight, reset=True)
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Go on learning with some more rows, in their order.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers, n at least 1.
        y : array-like of shape (n,) or (n, n_targets)
            Their targets or labels.
        classes : array-like of shape (n_classes,), optional
            Of a classifier: every label that may ever come; needed in the first call.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, as of the model. The scale is that of all rows
            alike. None: 1.

        Returns
        -------
        self : Scaled
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is bad (the message names it); the model is as it was.
        """
        self._learn(X, y, classes, sample_weight, reset=False)
        return self

    def partial_fit_predict(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Predict each row just before learning it.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers, n at least 1.
        y : array-like of shape (n,) or (n, n_targets)
            Their targets or labels.
        classes : array-like of shape (n_classes,), optional
            Of a classifier: every label that may ever come; needed in the first call.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, as of the model. The scale is that of all rows
            alike. None: 1.

        Returns
        -------
        forecasts : ndarray, of the shape of y
            The prediction for row i made when the rows before it had been learned.

        Raises
        ------
        ValueError, TypeError
            A row is bad (the message names it); the model is as it was.
        """
        return self._learn(X, y, classes, sample_weight, reset=False)

    def learn_one(
        self, x: NDArray[np.float64] | Sequence[float], y: Any, classes: ArrayLike | None = None
    ) -> None:
        """Learn one row.

        Parameters
        ----------
        x : float64 array or sequence of n_features floats
            The row.
        y : float, sequence of n_targets floats, or label
            Its target, targets or label.
        classes : array-like of shape (n_classes,), optional
            Of a classifier: every label that may ever come; needed in the first call of all.

        Raises
        ------
        ValueError, TypeError
            The row is bad; the model is as it was.
        """
        if "model_" in vars(self) and self.scaler_.frozen_:
            options = {} if classes is None else {"classes": classes}
            self.model_.learn_one(self._row(x), y, **options)
        else:
            self._learn(np.array([x], np.float64), [y], classes, None, reset=False)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the targets or labels of rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.

        Returns
        -------
        predictions : ndarray of shape (n,) or (n, n_targets)
            Predictions.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        return cast("NDArray[Any]", self._asked("predict", X))

    @available_if(lambda self: hasattr(self.model, "decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the forecasts by which a classifier decides.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.

        Returns
        -------
        forecasts : ndarray of shape (n,) or (n, n_classes)
            See `KernelClassifier`.
        """
        return cast("NDArray[np.float64]", self._asked("decision_function", X))

    @available_if(lambda self: hasattr(self.model, "predict_proba"))  # type: ignore[untyped-decorator]
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
        return cast("NDArray[np.float64]", self._asked("predict_proba", X))

    def predict_one(self, x: NDArray[np.float64] | Sequence[float]) -> Any:
        """Predict one row.

        Parameters
        ----------
        x : float64 array or sequence of n_features floats
            The row.

        Returns
        -------
        prediction : float, ndarray of shape (n_targets,), or label
            The prediction.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            The row is bad.
        """
        check_is_fitted(self)
        return self.model_.predict_one(self._row(x))

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Give R squared of a regressor, or the share of right labels.

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
        judge = accuracy_score if isinstance(self.model, KernelClassifier) else r2_score
        return float(judge(y, self.predict(X)))

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels of a classifier, sorted."""
        return cast("NDArray[Any]", self.model_.classes_)

    @property
    def _core(self) -> Any:
        return self.model_._core

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        return self.model.__sklearn_tags__()

    def _row(self, x: NDArray[np.float64] | Sequence[float]) -> NDArray[np.float64]:
        row = np.array([x], np.float64)
        if row.shape != (1, self.n_features_in_):
            raise ValueError(
                f"x has shape {row.shape[1:]}, but a row of this model has {self.n_features_in_} "
                "values"
            )
        return cast("NDArray[np.float64]", self.scaler_._scaled(_finite(row))[0])

    def _asked(self, what: str, X: ArrayLike) -> Any:
        check_is_fitted(self)
        rows = _finite(self._rows(X, reset=False))
        return getattr(self.model_, what)(self.scaler_._scaled(rows))

    def _learn(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        reset: bool,
    ) -> NDArray[Any]:
        fresh = reset or "model_" not in vars(self)
        with unchanged_by_errors(self):
            rows = _finite(self._rows(X, reset=fresh))
            targets = self._targets(y, rows, classes, fresh=fresh)
            check_consistent_length(rows, targets)
            column = sample_weights(sample_weight, rows, some=reset)
            weights = np.ones(len(rows)) if column is None else column[:, 0]
            earlier = 0 if fresh else self.scaler_.n_seen_
            if fresh:
                self.model_ = clone(self.model)
                self.scaler_ = clone(OnlineScaler() if self.scaler is None else self.scaler)
                self.scaler_.fit(rows[:1])
                self.scaler_.n_seen_ = 0
                self._kept: list[Any] = []
                self._options = {} if classes is None else {"classes": classes}
            elif not self.scaler_.frozen_:
                # Put back by an error, so not to be changed.
                self.model_ = deepcopy(self.model_)
                self.scaler_ = copy(self.scaler_)
                self._kept = list(self._kept)
            options: dict[str, Any] = {} if classes is None else {"classes": classes}
            said, done = [], 0
            while done < len(rows):
                stop = len(rows)
                seen, end = self.scaler_.n_seen_, self.scaler_.n_warm_up
                turn = min(max(2, 1 << seen.bit_length()), end) if seen < end else 0
                if turn:
                    stop = min(stop, done + turn - seen)
                part = rows[done:stop], targets[done:stop], weights[done:stop]
                said.append(self._learn_scaled(*part, first_row=done, **options))
                if turn:
                    self._warm_up(part, turn, earlier)
                done = stop
        return np.concatenate(said)

    def _targets(
        self,
        y: ArrayLike,
        rows: NDArray[np.float64],
        classes: ArrayLike | None,
        *,
        fresh: bool,
    ) -> NDArray[Any]:
        """Check what the model would name by its row in a part of these, not in the whole."""
        if not isinstance(self.model, KernelClassifier):
            return self.model._targets(y, rows)
        labels = labels_of(y, type(self.model).__name__)
        if not fresh:
            codes_of(self.classes_, labels)
        elif classes is not None:
            codes_of(find_classes(labels_of(classes, type(self.model).__name__)), labels)
        return labels

    def _learn_scaled(
        self, rows: NDArray[np.float64], targets: NDArray[Any], weights: Any, **options: Any
    ) -> NDArray[Any]:
        scaled = self.scaler_._scaled(rows)
        said = self.model_._learn_part(scaled, targets, sample_weight=weights, **options)
        return cast("NDArray[Any]", said)

    def _warm_up(self, part: tuple[NDArray[Any], ...], turn: int, earlier: int) -> None:
        """Keep rows, and at the end of a turn learn all of them again on their own scale.

        The first `earlier` of those kept are from calls before this one.
        """
        self._kept.append(part)
        self.scaler_.n_seen_ += len(part[0])
        if self.scaler_.n_seen_ < turn:
            return
        rows, targets, weights = (np.concatenate(all_) for all_ in zip(*self._kept, strict=True))
        self.scaler_.fit(rows)
        self.model_ = clone(self.model)
        before, now = slice(earlier), slice(earlier, None)
        if earlier:
            try:
                self._learn_scaled(rows[before], targets[before], weights[before], **self._options)
            except ValueError as error:
                raise ValueError(
                    f"the rows of earlier calls cannot be learned on the scale of {len(rows)} "
                    f"rows: {error} (counted from the first row of all)"
                ) from error
        self._learn_scaled(rows[now], targets[now], weights[now], **self._options)
        self._kept = [] if self.scaler_.frozen_ else [(rows, targets, weights)]

    def _state(self) -> dict[str, Any]:
        scaler = self.scaler_
        rows, targets, weights = (
            (np.concatenate(part).tolist() for part in zip(*self._kept, strict=True))
            if self._kept
            else ([], [], [])
        )
        return {
            "model": self.model_._state(),
            "kind": type(self.model_).__name__,
            "scaler": {
                "params": scaler.get_params(),
                "given": self.scaler is not None,
                "mean": scaler.mean_.tolist(),
                "spread": scaler._spread.tolist(),
                "deviation": scaler.deviation_.tolist(),
                "n_seen": scaler.n_seen_,
            },
            "rows": rows,
            "targets": targets,
            "weights": weights,
            "feature_names": names_of(self),
        }

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        kinds: dict[str, Any] = {
            kind.__name__: kind for kind in (KernelRegressor, KernelExperts, KernelClassifier)
        }
        inner = kinds[state["kind"]]._from_state(core, state["model"])
        stored = state["scaler"]
        scaler = OnlineScaler(**stored["params"])
        model = cls(clone(inner), clone(scaler) if stored["given"] else None)
        width = core.n_features
        for name in ("mean", "spread", "deviation"):
            values = np.array(stored[name], dtype=np.float64)
            if values.shape != (width,) or not np.isfinite(values).all():
                raise ValueError(f"one {name} is needed for each feature")
            setattr(scaler, "_spread" if name == "spread" else f"{name}_", values)
        scaler.n_seen_ = int(stored["n_seen"])
        scaler.n_features_in_ = model.n_features_in_ = width
        rows = np.array(state["rows"], dtype=np.float64)
        targets = np.array(state["targets"])
        weights = np.array(state.get("weights", np.ones(len(rows))), dtype=np.float64)
        n_kept = 0 if scaler.frozen_ else scaler.n_seen_
        if not len(rows) == len(targets) == len(weights) == n_kept:
            raise ValueError("the rows of the warm-up are not there")
        model.model_, model.scaler_ = inner, scaler
        model._kept = [(rows, targets, weights)] if len(rows) else []
        classes = getattr(inner, "classes_", None)
        model._options = {} if classes is None else {"classes": classes}
        set_names(model, state["feature_names"], width)
        return model


def _finite(rows: NDArray[np.float64], name: str = "X") -> NDArray[np.float64]:
    bad = ~np.isfinite(rows)
    if bad.any():
        row, column = (int(place) for place in np.argwhere(bad)[0])
        value = {True: "NaN"}.get(bool(np.isnan(rows[row, column])), str(rows[row, column]))
        raise ValueError(
            f"{name} contains {value} at row {row}, column {column}: remove the row, or fill the "
            "gap before learning"
        )
    return rows
