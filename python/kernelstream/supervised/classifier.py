"""Classification on a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kernelstream.components.base import as_component
from kernelstream.components.bases import Basis
from kernelstream.components.kernels import Kernel
from kernelstream.components.learners import GaussNewton, Learner, OnlineNewton
from kernelstream.components.scikit import ClassifierMixin
from kernelstream.estimators.availability import available_where
from kernelstream.estimators.metrics import RunningMistakes
from kernelstream.estimators.uncertainty import Prequential, checked_coverage
from kernelstream.estimators.validation import Rows, Source
from kernelstream.supervised.columns import Kind
from kernelstream.supervised.labels import Classes, find_classes, labels_of
from kernelstream.supervised.model import KernelModel, Row

__all__ = ["KernelClassifier"]

# Losses whose second derivative is a good step for labels: the default learner uses it.
_STEADILY_CURVED = (None, "squared_hinge", "logistic", "squared", "half_squared")

# Losses whose best output is 2 p - 1 for a class of probability p, within [-1, 1].
_LINEAR_IN_PROBABILITY = ("squared", "half_squared", "squared_hinge")


def _gives_probabilities(estimator: KernelClassifier) -> None:
    try:
        loss = estimator._loss_in_use()
    except (ValueError, TypeError) as error:  # raised again by learning
        raise AttributeError(str(error)) from None
    if loss != "logistic" and loss not in _LINEAR_IN_PROBABILITY:
        raise AttributeError(
            f"the loss {loss!r} does not determine probabilities; 'logistic', 'squared_hinge' and "
            "'squared' do"
        )


class KernelClassifier(ClassifierMixin, KernelModel):
    """Kernel classification on a stream: one pass, constant memory, any number of classes.

    A kernel compares points, a basis selects points that are stored and become coordinates, and a
    learner updates a linear model in these coordinates after every row. Two classes are
    one output, whose sign decides; more are one output each, on the same stored points, and the
    largest decides (one against the rest).

    Feeding a stream in chunks of any size gives the same model to rounding. One object may be used
    from several threads: predictions are answered while another thread learns.

    Parameters
    ----------
    kernel : Kernel, optional
        Similarity of two points. None: ``Gaussian()``, with the bandwidth ``sqrt(n_features)`` for
        standardized features.
    basis : Basis, optional
        Selection of stored points. None: ``ALD()``; none with a budgeted learner, which selects the
        points itself.
    learner : Learner, optional
        Learner of the weights. None: ``GaussNewton(loss="logistic")``; with the losses
        "hinge", "absolute" and "huber" ``OnlineNewton(regularization=0.1)``. Predictions are not
        clipped (unless `OnlineNewton` has a bound): clipped ones would tie.
    loss : str or {"huber": float}, optional
        What the learner minimizes: "squared_hinge", "logistic", "hinge", "squared" and the others
        that `Gradient` names. None: the learner's own; the logistic loss for the default learner.
        `Ridge` has the squared loss only.
    class_weight : mapping of label to float or "balanced", optional
        Weight of the rows of each class, above 0; classes that are not named have 1. "balanced":
        inverse to the number of rows of the class so far, without `sample_weight`, so that all
        classes have equal weight. Weights move the log-odds by their logarithms, without effect on
        the ranking of rows and on the weights learned; log-odds are calibrated by the prequential
        predictions, and returned by `decision_function`. Losses without probabilities are
        multiplied by the weights. None: 1.
    columns, scale, missing, n_warm_up : object
        As of `KernelRegressor`.
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
        the place of the removed one.
    columns_ : dict of str to str
        Type of each column, by its name; empty for arrays of numbers.
    scales_ : ndarray of shape (n_features_in_, 2), or None
        As of `KernelRegressor`.
    kernel_ : Kernel, or None
        The kernel in use, with its bandwidth if that was given or chosen. None of mixtures.
    regularization_ : float, or None
        The learner's regularization. None of mixtures and of learners without.
    n_seen_ : int
        Rows learned so far.
    n_stored_ : int
        Points stored.
    n_features_in_ : int
        Columns of a row.
    feature_names_in_ : ndarray of str of shape (n_features_in_,)
        Names of the columns, if the first rows had names.

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

    def __init__(
        self,
        kernel: Kernel | None = None,
        basis: Basis | None = None,
        learner: Learner | None = None,
        loss: str | Mapping[str, float] | None = None,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        columns: Mapping[Any, Kind] | None = None,
        scale: bool = True,
        missing: Literal["error", "fill"] = "error",
        n_warm_up: int = 500,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.basis = basis
        self.learner = learner
        self.loss = loss
        self.class_weight = class_weight
        self.columns = columns
        self.scale = scale
        self.missing = missing
        self.n_warm_up = n_warm_up
        self.verbose = verbose

    def partial_fit(
        self,
        X: Source,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Continue learning with more rows, in their order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers, n at least 1. float64 arrays in any memory order are not copied.
            Or a source of batches, as for `fit`; then a bad row leaves those of the batches before
            it learned.
        y : array-like of shape (n,), or str, optional
            Their labels, or the name of their column in a frame or source.
        classes : array-like of shape (n_classes,), optional
            Every label that may ever come; needed in the first call of a classifier, and later only
            allowed if it is the same. A class may have its first row at any time.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, finite, 0 or more, 1 on average; times the weight
            of its class, if classes have weights. See the Notes of `KernelRegressor`. None: 1.

        Returns
        -------
        self : object
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is bad, or a label is not among the classes (the message names the row), or the
            first call has no `classes`; the model is as it was.
        KeyboardInterrupt
            Ctrl-C; the rows done by then stay learned (see ``n_seen_``).
        """
        self._learn(X, y, sample_weight, classes=classes)
        return self

    def predict(self, X: Rows) -> NDArray[Any]:
        """Predict the labels of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers.

        Returns
        -------
        predictions : ndarray of shape (n,)
            The labels.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        check_is_fitted(self)
        return self._predicted(self._rows_to_predict(X))

    def partial_fit_predict(
        self,
        X: Source,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray[Any]:
        """Predict each row just before learning it (prequential predictions).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers, n at least 1. Or a source of batches, as for `partial_fit`.
        y : array-like of shape (n,), or str, optional
            Their labels, or the name of their column in a frame or source.
        classes : array-like of shape (n_classes,), optional
            Every label that may ever come; needed in the first call of a classifier.
        sample_weight : array-like of shape (n,), optional
            As for `partial_fit`.

        Returns
        -------
        predictions : ndarray, of the shape of y
            The prediction for row i made when the rows before it had been learned. The first row of
            all gets the first class, or 0.

        Raises
        ------
        ValueError, TypeError
            As for `partial_fit`; the model is as it was.
        """
        return cast("NDArray[Any]", self._learn(X, y, sample_weight, classes=classes, predict=True))

    @available_where(_gives_probabilities)
    def partial_fit_predict_proba(
        self,
        X: Source,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Give the probability of each class for each row just before learning it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers, n at least 1. Or a source of batches, as for `partial_fit`.
        y : array-like of shape (n,), or str, optional
            Their labels, or the name of their column in a frame or source.
        classes : array-like of shape (n_classes,), optional
            Every label that may ever come; needed in the first call.
        sample_weight : array-like of shape (n,), optional
            As for `partial_fit`.

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
            As from `predict_proba`: those of row i when the rows before it had been learned. Before
            the first row of all, classes are equally likely.

        Raises
        ------
        ValueError, TypeError
            As for `partial_fit`; the model is as it was.
        """
        prequential = Prequential(probabilities=True)
        self._learn(X, y, sample_weight, classes=classes, prequential=prequential)
        return cast("NDArray[np.float64]", prequential.probabilities)

    def learn_one(self, x: Row, y: Any, classes: ArrayLike | None = None) -> None:
        """Learn one row: `partial_fit` for live use, without its checks and copies.

        Parameters
        ----------
        x : float64 array or sequence of n_features floats, or dict of values by column
            The row.
        y : str, int, float or bool
            Its label.
        classes : array-like of shape (n_classes,), optional
            Every label that may ever come; needed in the first call of a classifier.

        Raises
        ------
        ValueError, TypeError
            The row or its label is bad; the model is as it was.
        """
        if not self.__sklearn_is_fitted__():
            self._learn_first(x, y, classes)
            return
        if classes is not None:
            self._check_targets([y], classes)
        self._core.learn_one(self._row(x), self._encode_one(y))

    def predict_one(self, x: Row) -> Any:
        """Predict one row, for live use.

        Parameters
        ----------
        x : float64 array or sequence of n_features floats, or dict of values by column
            The row.

        Returns
        -------
        prediction : str, int, float or bool
            The label.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            The row is bad.
        """
        try:
            core = self._core
        except AttributeError:
            check_is_fitted(self)
            raise
        return self._classes.names[int(core.predict_one(self._row(x)))]

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        check_is_fitted(self)
        return self._classes.labels

    @property
    def class_count_(self) -> NDArray[np.int64]:
        """Rows of each class learned so far."""
        check_is_fitted(self)
        return np.array(self._core.class_count, dtype=np.int64)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the outputs that decide.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.

        Returns
        -------
        outputs : ndarray of shape (n,), or (n, n_classes) if there are more than two classes
            For two classes, above 0 for the second; for more, the largest decides.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        check_is_fitted(self)
        outputs: NDArray[np.float64] = self._core.outputs(self._rows_to_predict(X))
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    @available_where(_gives_probabilities)
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the probability of each class.

        The output that is best for a class of probability p is the logarithm of its odds under
        the logistic loss, and 2 p - 1 under the squared loss and the squared hinge; this is
        inverted. The log-odds of `GaussNewton` with the logistic loss, the default, are calibrated
        first: a piecewise linear function of them (Cox's recalibration, with other slopes beyond 2
        and -2) is learned from the predictions made of earlier rows, with a memory of about 3,000.
        The probabilities of several classes are normalized to sum to 1. Other losses do not
        determine probabilities, so this method is missing there.

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
        check_is_fitted(self)
        rows = self._rows_to_predict(X)
        return cast("NDArray[np.float64]", self._core.probabilities(rows))

    @available_where(_gives_probabilities)
    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the natural logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.

        Returns
        -------
        log_probabilities : ndarray of shape (n, n_classes)
            Logarithms of `predict_proba`, at most 0; -inf where a probability is 0, which other
            losses than the logistic may give.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        probabilities = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return cast("NDArray[np.float64]", np.log(probabilities))

    @available_where(_gives_probabilities)
    def predict_proba_one(self, x: Row) -> dict[Any, float]:
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
        check_is_fitted(self)
        probabilities = self._core.probabilities_one(self._row(x))
        return dict(zip(self._classes.names, probabilities.tolist(), strict=True))

    def predict_set(self, X: ArrayLike, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Give sets of classes that hold the right one of this share of the rows.

        A class is in the set if its odds against the likeliest other class are good enough, by
        how those of the right classes were on the rows before, each predicted before it was
        learned. What is good enough is moved after every row, so that coverage holds while the
        stream changes [1]_.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.
        coverage : float, default=0.9
            Share of the rows whose right class is to be in its set, above 0 and below 1.

        Returns
        -------
        sets : ndarray of bool of shape (n, n_classes)
            Whether each class, in the order of ``classes_``, is in the set. The likeliest always
            is: where it is right more often than `coverage`, sets hold it alone, and more of the
            rows.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row or the coverage is bad; the message names it.

        References
        ----------
        .. [1] I. Gibbs, E. Candes, "Adaptive conformal inference under distribution shift",
           NeurIPS 2021.
        """
        check_is_fitted(self)
        rows = self._rows_to_predict(X)
        return cast("NDArray[np.bool_]", self._core.sets(rows, checked_coverage(coverage)))

    def _has_settings(self) -> bool:
        # With class weights the objective is not the number of mistakes.
        return self.class_weight is None

    def _useless(self) -> str:
        return (
            "predicted the latest rows worse than always naming the commonest class would have: "
            f"{self._scale_remedy()}KernelExpertsClassifier() finds irrelevant columns"
        )

    def _check_targets(self, y: ArrayLike, classes: ArrayLike | None) -> NDArray[Any]:
        labels = labels_of(y, type(self).__name__)
        if classes is not None and "_classes" in vars(self):
            declared, begun_with = self._declared(classes).tolist(), self._classes.names
            if declared != begun_with:
                raise ValueError(
                    f"classes={declared} differ from those the stream began with, {begun_with}: "
                    "leave classes out, or begin again with a new estimator"
                )
        return labels

    def _declared(self, classes: ArrayLike | None) -> NDArray[Any]:
        if classes is None:
            raise ValueError(
                "the first call needs classes=, every label that may ever come, since the stream "
                "does not say: for instance classes=np.unique(y)"
            )
        return find_classes(labels_of(classes, type(self).__name__), declared=True)

    def _begin_targets(
        self, targets: NDArray[Any], classes: ArrayLike | None, *, complete: bool
    ) -> None:
        self._classes = Classes(find_classes(targets) if complete else self._declared(classes))

    def _model_spec(self) -> dict[str, Any]:
        return {"model": self.to_spec(), "labels": self._classes.to_spec(self.class_weight)}

    def _encode_one(self, y: Any) -> float:
        try:
            return self._classes.table[y]
        except (KeyError, TypeError):
            raise self._classes.unknown(y) from None

    def _encode(self, targets: NDArray[Any]) -> NDArray[np.float64]:
        return self._classes.codes(targets).astype(np.float64)[:, None]

    def _decode(self, outputs: NDArray[np.float64]) -> NDArray[Any]:
        return self._classes.labels[outputs[:, 0].astype(np.intp)]

    def _error(self, n_outputs: int) -> tuple[RunningMistakes, Callable[[Any], Any]]:
        del n_outputs
        return RunningMistakes(len(self._classes.names)), lambda codes: codes[:, 0].astype(np.intp)

    def _default_part(self, name: str) -> Any:
        if name == "learner":
            if self.loss in _STEADILY_CURVED:
                return GaussNewton(loss="logistic")
            return OnlineNewton(regularization=0.1)
        return super()._default_part(name)

    def _chosen_learner(self) -> Learner:
        given = self._default_part("learner") if self.learner is None else self.learner
        learner = as_component(given, GaussNewton, Learner)
        return (learner if self.loss is None else learner.with_loss(self.loss)).unclipped()

    def _loss_in_use(self) -> Any:
        return self._chosen_learner().loss_in_use()

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        if isinstance(self.class_weight, Mapping):
            # JSON has strings only for keys.
            pairs = [[np.array(label).item(), float(w)] for label, w in self.class_weight.items()]
            state["params"]["class_weight"] = pairs
        return state | {"classes": {"dtype": self._classes.labels.dtype.str}}

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        weight = state["params"].get("class_weight")
        if isinstance(weight, list):
            params = state["params"] | {"class_weight": dict(weight)}
            state = {**state, "params": params}
        model = super()._from_state(core, state)
        model._classes = Classes.of_core(core, state["classes"]["dtype"])
        return model
