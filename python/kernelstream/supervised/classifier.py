"""Classification on a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from kernelstream.components.base import as_component
from kernelstream.components.bases import Basis
from kernelstream.components.kernels import Kernel
from kernelstream.components.learners import GaussNewton, Learner
from kernelstream.estimators.base import RowEstimator
from kernelstream.estimators.progress import mistakes_bar
from kernelstream.estimators.validation import sample_weights, unchanged_by_errors
from kernelstream.supervised.labels import (
    choose,
    class_table,
    codes_of,
    find_classes,
    labels_of,
    n_outputs,
    row_weights,
    signs,
    unknown_label,
)

__all__ = ["KernelClassifier"]

# Losses whose best forecast is 2 p - 1 for a class of probability p, within [-1, 1].
_LINEAR_IN_PROBABILITY = ("squared", "half_squared", "squared_hinge")


def _gives_probabilities(estimator: KernelClassifier) -> bool:
    try:
        loss = estimator._loss_in_use()
    except (ValueError, TypeError) as error:  # which learning will say
        raise AttributeError(str(error)) from None
    if loss == "logistic" or loss in _LINEAR_IN_PROBABILITY:
        return True
    raise AttributeError(
        f"probabilities cannot be told from forecasts with the loss {loss!r}: use 'logistic', "
        "'squared_hinge' or 'squared'"
    )


class KernelClassifier(
    RowEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Kernel classification on a stream: one pass, constant memory, any number of classes.

    A kernel compares points, a basis decides which points are stored and so become coordinates, a
    learner keeps a linear model in those coordinates up to date after every row. Two classes are
    one output, whose sign decides; more are one output each, on the same stored points, and the
    largest decides (one against the rest).

    Feeding a stream in chunks of any size gives the same model to rounding. One object may be used
    from several threads: predictions are answered while another thread learns.

    Parameters
    ----------
    kernel : Kernel, optional
        How alike two points are. None: ``Gaussian()``, whose bandwidth ``sqrt(n_features)`` suits
        standardized features.
    basis : Basis, optional
        Which points are stored. None: ``ALD()``, or nothing beside a budgeted learner, which
        chooses the points itself.
    learner : Learner, optional
        How the weights follow the labels. None: ``GaussNewton()``, and with class weights
        ``GaussNewton(center=True)``, so that where nothing is known they decide. Forecasts are not
        clipped (unless `OnlineNewton` is given a bound): clipped ones would tie.
    loss : str or {"huber": float}, optional
        What the learner minimises: "squared_hinge", "logistic", "hinge", "squared" and the others
        that `Gradient` names. None: the learner's own, for `GaussNewton` the squared hinge.
        `Ridge` has the squared loss only.
    class_weight : mapping of label to float or "balanced", optional
        How many times the loss of a row of each class counts, above 0; classes that are not named
        have 1. "balanced": ``n_seen / (n_classes * count)``, with the rows seen so far, this one
        included, and those of its class among them, each as one row whatever its own weight, so
        that all classes count alike. None: 1.
    verbose : bool, default=False
        Show a progress bar with running mistake rate and stored points on work longer than a second
        (needs ``rich``).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_count_ : ndarray of int of shape (n_classes,)
        Rows of each class learned so far.
    dictionary_ : ndarray of shape (n_stored_, n_features_in_)
        The stored points, in the order they were stored; with a budgeted learner a new point takes
        the place of one that left.
    n_seen_ : int
        Rows learned so far.
    n_stored_ : int
        Points stored.
    n_features_in_ : int
        Width of a row.
    feature_names_in_ : ndarray of str of shape (n_features_in_,)
        Column names, if the first rows came as a data frame with names.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelstream as ks
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 2))
    >>> y = np.where(np.hypot(X[:, 0], X[:, 1]) < 0.7, "inside", "outside")
    >>> model = ks.KernelClassifier(ks.Gaussian(0.5))
    >>> predicted = model.partial_fit_predict(X, y, classes=["inside", "outside"])
    >>> bool(np.mean(predicted[1000:] == y[1000:]) > 0.95)
    True
    >>> model.predict_one([0.1, 0.2])
    'inside'
    """

    classes_: NDArray[Any]
    class_count_: NDArray[np.int64]

    def __init__(
        self,
        kernel: Kernel | None = None,
        basis: Basis | None = None,
        learner: Learner | None = None,
        loss: str | Mapping[str, float] | None = None,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.basis = basis
        self.learner = learner
        self.loss = loss
        self.class_weight = class_weight
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows in one pass.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers, n at least 1. float64 arrays in any memory order are not copied.
        y : array-like of shape (n,)
            Their labels: strings, numbers or booleans. They are all the classes there are; if the
            stream goes on with others, begin it with `partial_fit` and its `classes`.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, finite, 0 or more; times the weight of its class,
            if classes have weights. See Notes of `KernelRegressor`. None: 1.

        Returns
        -------
        self : KernelClassifier
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row or label is bad (the message names it) or a parameter is; the model is as it was.
        """
        self._learn(X, y, None, sample_weight, reset=True)
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
            Rows of finite numbers, n at least 1. float64 arrays in any memory order are not copied.
        y : array-like of shape (n,)
            Their labels.
        classes : array-like of shape (n_classes,), optional
            Every label that may ever come; needed in the first call, and later only allowed if it
            is the same. A class may have its first row at any time.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, finite, 0 or more; times the weight of its class,
            if classes have weights. See Notes of `KernelRegressor`. None: 1.

        Returns
        -------
        self : KernelClassifier
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is bad, or a label is not among the classes (the message names the row), or the
            first call has no `classes`; the model is as it was.
        KeyboardInterrupt
            Ctrl-C; the rows done by then stay learned (see ``n_seen_``).
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
        """Predict each row's label just before learning it (prequential or progressive).

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers, n at least 1.
        y : array-like of shape (n,)
            Their labels.
        classes : array-like of shape (n_classes,), optional
            Every label that may ever come; needed in the first call.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, finite, 0 or more; times the weight of its class,
            if classes have weights. See Notes of `KernelRegressor`. None: 1.

        Returns
        -------
        labels : ndarray of shape (n,)
            The prediction for row i made when the rows before it had been learned. The first row of
            all gets the first class.

        Raises
        ------
        ValueError, TypeError
            As for `partial_fit`; the model is as it was.
        """
        return self._learn_part(X, y, classes, sample_weight)

    def learn_one(
        self,
        x: NDArray[np.float64] | Sequence[float],
        y: Any,
        classes: ArrayLike | None = None,
    ) -> None:
        """Learn one row: `partial_fit` for live use, without its checks and copies.

        Parameters
        ----------
        x : float64 array or sequence of n_features floats
            The row.
        y : label
            Its label.
        classes : array-like of shape (n_classes,), optional
            Every label that may ever come; needed in the first call of all.

        Raises
        ------
        ValueError, TypeError
            The row or its label is bad; the model is as it was.
        """
        if "_core" not in vars(self):
            with unchanged_by_errors(self):
                self._begin(self._declared(classes))
                self._learn_row(x, y)
                self.n_features_in_ = self._core.n_features
        else:
            if classes is not None:
                self._compare(classes)
            self._learn_row(x, y)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the labels of rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.

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
        return self._labels(self._forecast(X))

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the forecasts that decide.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.

        Returns
        -------
        forecasts : ndarray of shape (n,), or (n, n_classes) if there are more than two classes
            Of two classes, above 0 for the second; of more, the largest decides.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        forecasts = self._forecast(X)
        return forecasts[:, 0] if forecasts.shape[1] == 1 else forecasts

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the probability of each class.

        The forecast that is best for a class of probability p is the logarithm of its odds under
        the logistic loss, and 2 p - 1 under the squared loss and the squared hinge; this is turned
        round. Several classes are brought to a sum of 1. Other losses do not tell probabilities, so
        this method is missing there.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
            In the order of ``classes_``; rows sum to 1. With other losses than the logistic they
            may be exactly 0 and 1.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.

        References
        ----------
        T. Zhang, "Statistical behavior and consistency of classification methods based on convex
        risk minimization", Annals of Statistics, 2004.
        """
        return self._probabilities(self._forecast(X))

    def predict_one(self, x: NDArray[np.float64] | Sequence[float]) -> Any:
        """Predict the label of one row, for live use.

        Parameters
        ----------
        x : float64 array or sequence of n_features floats
            The row.

        Returns
        -------
        label : str, int, float or bool
            The label.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            The row is bad.
        """
        forecast = self._forecast_one(x)
        if isinstance(forecast, float):
            return self._names[1 if forecast > 0 and len(self._names) > 1 else 0]
        return self._names[forecast.argmax()]

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba_one(self, x: NDArray[np.float64] | Sequence[float]) -> dict[Any, float]:
        """Predict the probability of each class for one row, for live use.

        Parameters
        ----------
        x : float64 array or sequence of n_features floats
            The row.

        Returns
        -------
        probabilities : dict of label to float
            As from `predict_proba`.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            The row is bad.
        """
        probabilities = self._probabilities(np.reshape(self._forecast_one(x), (1, -1)))[0]
        return dict(zip(self._names, probabilities.tolist(), strict=True))

    def _learn(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        reset: bool,
        forecast: bool = False,
        first_row: int = 0,
    ) -> NDArray[np.float64] | None:
        fresh = reset or "_core" not in vars(self)
        with unchanged_by_errors(self):
            rows = self._rows(X, reset=fresh)
            labels = labels_of(y, type(self).__name__)
            check_consistent_length(rows, labels)
            own = sample_weights(sample_weight, rows, some=reset)
            if fresh:
                self._begin(find_classes(labels) if reset else self._declared(classes))
            elif classes is not None:
                self._compare(classes)
            codes = codes_of(self.classes_, labels)
            before = self._core.n_seen
            try:
                targets = signs(codes, len(self.classes_))
                weights = row_weights(self.class_weight, self.classes_, self.class_count_, codes)
                if own is not None:
                    weights = own if weights is None else own * weights
                return self._feed(
                    rows,
                    targets,
                    mistakes_bar,
                    forecast=forecast,
                    weights=weights,
                    first_row=first_row,
                )
            finally:
                # After an interruption fewer rows are learned than came; after an error none, and
                # the counts of before are put back.
                learned = codes[: self._core.n_seen - before]
                self.class_count_ = self.class_count_ + np.bincount(
                    learned, minlength=len(self.classes_)
                )

    def _learn_part(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        first_row: int = 0,
    ) -> NDArray[Any]:
        """Predict and learn rows that may be a part of a user's, from its row `first_row` on."""
        forecasts = self._learn(
            X, y, classes, sample_weight, reset=False, forecast=True, first_row=first_row
        )
        assert forecasts is not None  # noqa: S101  (asked for)
        return self._labels(forecasts)

    def _learn_row(self, x: NDArray[np.float64] | Sequence[float], y: Any) -> None:
        try:
            code = self._codes[y]
        except (KeyError, TypeError):
            raise unknown_label(self.classes_, y) from None
        if self.class_weight is None:
            self._core.learn_one(x, self._signs[code])
        else:
            codes = np.array([code])
            weights = row_weights(self.class_weight, self.classes_, self.class_count_, codes)
            self._core.learn(np.array([x], np.float64), self._signs[codes], weights=weights)
        self.class_count_[code] += 1

    def _begin(self, classes: NDArray[Any]) -> None:
        self._core = self._new_core()
        self._set_classes(classes)
        self.class_count_ = np.zeros(len(classes), dtype=np.int64)

    def _set_classes(self, classes: NDArray[Any]) -> None:
        self.classes_ = classes
        self._names = classes.tolist()
        self._codes = class_table(classes)
        self._signs = signs(np.arange(len(classes)), len(classes))

    def _declared(self, classes: ArrayLike | None) -> NDArray[Any]:
        if classes is None:
            raise ValueError(
                "the first call needs classes=, every label that may ever come, since the stream "
                "does not say: for instance classes=np.unique(y)"
            )
        return find_classes(labels_of(classes, type(self).__name__))

    def _compare(self, classes: ArrayLike) -> None:
        declared = self._declared(classes)
        if declared.tolist() != self.classes_.tolist():
            raise ValueError(
                f"classes={declared.tolist()} differ from those the stream began with, "
                f"{self.classes_.tolist()}: leave classes out, or begin anew"
            )

    def _forecast(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        return cast("NDArray[np.float64]", self._core.predict(self._rows(X, reset=False)))

    def _forecast_one(
        self, x: NDArray[np.float64] | Sequence[float]
    ) -> float | NDArray[np.float64]:
        try:
            core = self._core
        except AttributeError:
            check_is_fitted(self)
            raise
        return core.predict_one(x)  # type: ignore[no-any-return]

    def _labels(self, forecasts: NDArray[np.float64]) -> NDArray[Any]:
        return self.classes_[choose(forecasts, len(self.classes_))]

    def _probabilities(self, forecasts: NDArray[np.float64]) -> NDArray[np.float64]:
        if len(self.classes_) == 1:
            return np.ones((len(forecasts), 1))
        if self._loss_in_use() == "logistic":
            shares = np.exp(-np.logaddexp(0.0, -forecasts))
        else:
            shares = 0.5 + 0.5 * np.clip(forecasts, -1.0, 1.0)
        if shares.shape[1] == 1:
            return np.hstack([1.0 - shares, shares])
        total = shares.sum(axis=1, keepdims=True)
        even = np.full_like(shares, 1.0 / shares.shape[1])
        np.divide(shares, total, out=even, where=total > 0)
        return even

    def _loss_in_use(self) -> Any:
        return self._learner_spec().get("loss", self._own_loss())

    def _own_loss(self) -> str:
        return (GaussNewton if self.learner is None else type(self.learner))._own_loss

    def _learner_spec(self) -> dict[str, Any]:
        spec = as_component(self.learner, GaussNewton, Learner).to_spec()
        if self.learner is None:
            spec["center"] = self.class_weight is not None
        if self.loss is not None:
            if "loss" not in spec and self.loss != self._own_loss():
                raise ValueError(
                    f"{type(self.learner).__name__} has the {self._own_loss()} loss only: "
                    f"loss={self.loss!r} needs another learner, such as GaussNewton()"
                )
            if "loss" in spec:
                spec["loss"] = self.loss
        if spec.get("bound") is None and "clip" in spec:
            spec["clip"] = False
        return spec

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        if isinstance(self.class_weight, Mapping):
            # JSON has strings only for keys.
            pairs = [[np.array(label).item(), float(w)] for label, w in self.class_weight.items()]
            state["params"]["class_weight"] = pairs
        return state | {
            "classes": {"dtype": self.classes_.dtype.str, "values": self.classes_.tolist()},
            "class_count": self.class_count_.tolist(),
        }

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        weight = state["params"].get("class_weight")
        if isinstance(weight, list):
            params = state["params"] | {"class_weight": dict(weight)}
            state = {**state, "params": params}
        model = super()._from_state(core, state)
        stored = state["classes"]
        classes = labels_of(np.array(stored["values"], np.dtype(stored["dtype"])), cls.__name__)
        if classes.tolist() != np.unique(classes).tolist() or core.n_outputs != n_outputs(
            len(classes)
        ):
            raise ValueError(f"{len(classes)} classes for {core.n_outputs} outputs")
        counts = np.array(state["class_count"], dtype=np.int64)
        if counts.shape != classes.shape or min(counts) < 0 or counts.sum() != core.n_seen:
            raise ValueError(f"the counts of classes do not sum up to {core.n_seen} rows")
        model._set_classes(classes)
        model.class_count_ = counts
        return model
