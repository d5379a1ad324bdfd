"""What the estimators share whose core learns a stream of rows.

`StreamEstimator` is what every estimator with a core has. `RowEstimator` learns targets from rows,
`NumberEstimator` and `LabelEstimator` are its two ways of being called. What a row changes is in
the core alone; attributes beside it are those that the first call fixes.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from kernelstream import _core
from kernelstream.columns.batches import Batches, batches_of, named_error, targets_apart
from kernelstream.components.scikit import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from kernelstream.estimators.availability import available_where
from kernelstream.estimators.diagnostics import DiagnosticsMixin
from kernelstream.estimators.merging import MergeMixin
from kernelstream.estimators.model_file import (
    ModelFileMixin,
    decode_parameters,
    encode_parameters,
)
from kernelstream.estimators.order import is_serial, shuffled
from kernelstream.estimators.parameters import DefaultPartsMixin
from kernelstream.estimators.progress import report_to_bar
from kernelstream.estimators.uncertainty import Told, UncertaintyMixin
from kernelstream.estimators.validation import (
    Rows,
    Source,
    rows_of,
    sample_weights,
)

__all__ = [
    "LabelEstimator",
    "NumberEstimator",
    "RowEstimator",
    "StreamEstimator",
]

# A row for live use: numbers in the order of the columns, or values by the columns' names.
Row = NDArray[np.float64] | Sequence[float] | Mapping[str, Any]


class StreamEstimator(ModelFileMixin):
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
        rows: NDArray[np.float64] = rows_of(self, X, reset=reset)
        return rows

    def _state(self) -> dict[str, Any]:
        return {
            "params": encode_parameters(self._params()),
            "feature_names": self._feature_names(),
        }

    def _params(self) -> dict[str, Any]:
        """Give the constructor's parameters as the model file keeps them."""
        return cast("dict[str, Any]", cast(Any, self).get_params(deep=False))

    def _feature_names(self) -> list[str] | None:
        """Give the names of the columns, as JSON can carry them; None if rows came without."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _set_feature_names(self, names: Sequence[Any] | None, n_features: int | None) -> None:
        if names is None:
            return
        if len(names) != n_features:
            raise ValueError(f"{len(names)} names for {n_features} features")
        self.feature_names_in_ = np.array([str(name) for name in names], object)

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        model: Any = cls(**decode_parameters(state["params"]))
        model._core = core
        if core.n_features is not None:
            model.n_features_in_ = core.n_features
        model._set_feature_names(state["feature_names"], core.n_features)
        return cast(Self, model)


class RowEstimator(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    StreamEstimator,
    MergeMixin,
    DiagnosticsMixin,
    DefaultPartsMixin,
    BaseEstimator,
):
    """Learning targets from rows: fitting, predicting, and what happens on errors.

    The class that derives from this stores the parameter ``verbose``, and says what its core is
    (``_core_spec``), what targets it takes (``_check_targets``), what the first of them fix
    (``_begin_targets``), how they become the core's numbers (``_encode``), how these become
    predictions (``_decode``), and how their error is measured (``_error``).
    """

    verbose: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    def _rows(self, X: Any, *, reset: bool) -> Any:
        return rows_of(self, X, reset=reset, sparse=True)

    def _row(self, x: Any) -> Any:
        """Give one row as the core takes it."""
        return x

    def fit(
        self,
        X: Source,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        shuffle: bool | None = None,
    ) -> Self:
        """Forget everything, then learn the rows in one pass.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers, n at least 1. float64 arrays in any memory order are not copied.
            Or a source of batches: see the Notes.
        y : array-like of shape (n,) or (n, n_targets), or str or list of str, optional
            Their targets, finite; or of a classifier their labels: strings, numbers or booleans.
            Or the names of the columns of a frame or source that have them.
            These are all the classes there are; if the stream goes on with others, begin it with
            `partial_fit` and its `classes`.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, finite, 0 or more; 0: the row is not learned. See
            the Notes of `KernelRegressor`. None: 1.
        shuffle : bool, optional
            Whether to learn the rows in a random order, the same at every call; False: in their
            order, as `partial_fit` does, for rows whose relation changes with time. None: shuffled
            where neighbouring targets are alike (von Neumann's ratio below one half, from 64 rows
            on), as in a table sorted by label or by a column.

        Returns
        -------
        self : object
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row or target is bad (the message names it) or a parameter is; the model is as it was.

        Notes
        -----
        A source is read one batch at a time, so that memory is that of a batch: an iterator or a
        function that returns one, a list, or a ``DataLoader`` of batches ``(X, y)`` or ``(X, y,
        sample_weight)``; or, with `y` the name of the target's column, of frames; the path of
        Parquet files; a dataset or reader of pyarrow, a polars ``LazyFrame``, a Dask, Spark or Ray
        collection. `sample_weight` is then a name too. Its rows are learned in their order. A
        classifier reads it twice, first for its labels.
        """
        self._learn(X, y, sample_weight, reset=True, shuffle=shuffle)
        return self

    def predict(self, X: Rows) -> NDArray[Any]:
        """Predict the targets or labels of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers.

        Returns
        -------
        predictions : ndarray of shape (n,) or (n, n_targets)
            One-dimensional if the targets learned were; of a classifier the labels.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        check_is_fitted(self)
        return self._predicted(self._rows(X, reset=False))

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the coordinates of rows: what the learner is linear in.

        Inner products of coordinates are the kernel, as far as the stored points span it. With a
        budgeted learner they are the similarities to the stored points, k(s_j, x).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows, as for `predict`.

        Returns
        -------
        coordinates : ndarray of shape (n, n_stored_)
            Coordinate j belongs to the j-th stored point; learning on appends columns and does not
            change those there are, unless a budgeted learner replaces a point.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        check_is_fitted(self)
        return cast("NDArray[np.float64]", self._core.transform(self._rows(X, reset=False)))

    def novelty(self, X: Rows) -> NDArray[np.float64]:
        """Say how new rows are: the share of each that the stored points do not explain.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows, as for `predict`.

        Returns
        -------
        novelty : ndarray of shape (n,)
            ``(k(x, x) - z' z) / k(x, x)``, from 0, a row that the stored points span, to 1, one
            that is like none of them. Above 0.5, predictions are more of the prior than of rows;
            with `ALD` the tolerance is the novelty above which a row is stored. Of experts the mean
            by their weights.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad (the message names it), or no points are stored, as with `Fourier`.

        Notes
        -----
        O(n m^2) for m stored points; with a budgeted learner O(m^3) more a call.
        """
        check_is_fitted(self)
        return cast("NDArray[np.float64]", self._core.novelty(self._rows(X, reset=False)))

    def check_targets(self, y: ArrayLike, classes: ArrayLike | None = None) -> NDArray[Any]:
        """Give targets as an array of what this estimator learns.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, n_targets)
            Targets or labels.
        classes : array-like of shape (n_classes,), optional
            Every label there is; compared with those that the stream began with.

        Returns
        -------
        targets : ndarray of shape (n,) or (n, n_targets)
            The same; numbers are not yet known to be finite, labels not to be among the classes.

        Raises
        ------
        ValueError, TypeError
            They are none that this estimator can learn.
        """
        return self._check_targets(y, classes)

    def begin(
        self,
        n_features: int,
        targets: NDArray[Any],
        classes: ArrayLike | None = None,
        *,
        complete: bool = False,
    ) -> None:
        """Forget everything, and get ready for a stream of such rows and targets.

        Parameters
        ----------
        n_features : int
            Width of a row.
        targets : ndarray
            The first targets, as `check_targets` gives them.
        classes : array-like of shape (n_classes,), optional
            Of a classifier: every label that may ever come.
        complete : bool, default=False
            Whether all the classes there are occur among the targets.

        Raises
        ------
        ValueError, TypeError
            A parameter is bad, or classes are missing or none.
        """
        self.n_features_in_ = n_features
        self._begin(targets, classes, complete=complete)

    def learn_rows(
        self,
        rows: NDArray[np.float64],
        targets: NDArray[Any],
        weights: NDArray[np.float64] | None = None,
        *,
        predict: bool = False,
        first_row: int = 0,
        told: Told | None = None,
    ) -> NDArray[Any] | None:
        """Go on learning, once `begin` was called, with rows that are a part of a call's.

        Parameters
        ----------
        rows : ndarray of float64 of shape (n, n_features)
            Rows.
        targets : ndarray of shape (n,) or (n, n_targets)
            Their targets, as `check_targets` gives them.
        weights : ndarray of float64 of shape (n, 1), optional
            How many times the loss of each counts. None: 1.
        predict : bool, default=False
            Whether to predict each row just before it is learned.
        first_row : int, default=0
            What errors call the first of the rows.
        told : Told, optional
            What else is to be told of each row just before it is learned.

        Returns
        -------
        predictions : ndarray, of the shape of targets, or None
            The predictions, if there are to be any.

        Raises
        ------
        ValueError, TypeError
            A row or target is bad. Attributes may have changed by then.
        """
        return self._learn_rows(
            rows, targets, weights, predict=predict, first_row=first_row, told=told or Told()
        )

    @property
    def _n_features_out(self) -> int:
        # Not of every basis the number of stored points.
        rows = np.empty((0, cast(int, self._core.n_features)))
        return int(self._core.transform(rows).shape[1])

    def _warn_of_sentinels(self, targets: NDArray[Any]) -> None:
        """Warn of a target that may stand for a missing one, if it is learned as it is."""

    @abstractmethod
    def _check_targets(self, y: ArrayLike, classes: ArrayLike | None) -> NDArray[Any]:
        """Do what `check_targets` says."""

    def _begin(self, targets: NDArray[Any], classes: ArrayLike | None, *, complete: bool) -> None:
        self._begin_targets(targets, classes, complete=complete)
        self._core = self._new_core()

    def _new_core(self) -> _core.Regressor:
        return _core.Regressor(json.dumps(self._core_spec()))

    def _learn_rows(
        self,
        rows: NDArray[np.float64],
        targets: NDArray[Any],
        weights: NDArray[np.float64] | None,
        *,
        predict: bool,
        first_row: int,
        told: Told,
    ) -> NDArray[Any] | None:
        outputs = self._encode(targets, first_row)
        told.begin(outputs.shape, len(getattr(self, "classes_", ())))
        more = (told.deviations, told.intervals, told.probabilities)
        predictions = np.empty(outputs.shape) if predict or self.verbose else None
        if self.verbose:
            error = self._error_so_far(outputs, cast(Any, predictions))
            recent = self._error_of_late
            with report_to_bar(self._core, len(outputs), error, recent=recent) as report:
                self._core.learn(rows, outputs, predictions, report, weights, first_row, *more)
        else:
            self._core.learn(rows, outputs, predictions, None, weights, first_row, *more)
        return self._decode(cast(Any, predictions)) if predict else None

    def _error_of_late(self) -> str:
        late = self.diagnostics_.late_error
        if late is None:
            return ""
        return "of late " + " ".join(f"{error:.4g}" for error in np.atleast_1d(late))

    def _predicted(self, rows: NDArray[np.float64]) -> NDArray[Any]:
        return self._decode(self._core.predict(rows))

    @abstractmethod
    def _core_spec(self) -> dict[str, Any]:
        """Give the description of a core that has learned nothing."""

    @abstractmethod
    def _begin_targets(
        self, targets: NDArray[Any], classes: ArrayLike | None, *, complete: bool
    ) -> None:
        """Fix what follows from the first targets and the classes, as `begin` has them."""

    @abstractmethod
    def _encode(self, targets: NDArray[Any], first_row: int = 0) -> NDArray[np.float64]:
        """Give what the core is to learn, of shape (n, n_outputs)."""

    @abstractmethod
    def _decode(self, outputs: NDArray[np.float64]) -> NDArray[Any]:
        """Give the predictions that the core's outputs stand for."""

    @abstractmethod
    def _error(self, n_outputs: int) -> tuple[Any, Callable[[NDArray[Any]], NDArray[Any]]]:
        """Give a running error, and what makes of outputs the things that it compares."""

    def _error_so_far(
        self, outputs: NDArray[np.float64], predictions: NDArray[np.float64]
    ) -> Callable[[int], object]:
        """Give a function from the rows done to the error on them, as the core predicts them."""
        error, compared = self._error(outputs.shape[1])
        counted = 0

        def so_far(done: int) -> object:
            nonlocal counted
            rows = slice(counted, done)
            error.update(compared(outputs[rows]), compared(predictions[rows]))
            counted = done
            return error

        return so_far

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        classes: ArrayLike | None = None,
        reset: bool = False,
        shuffle: bool | None = False,
        predict: bool = False,
        told: Told | None = None,
    ) -> Any:
        """Check what a user gave, and learn it: all of it, or on an error nothing."""
        if (batches := batches_of(X, y, sample_weight)) is not None:
            if shuffle and reset:
                raise ValueError(
                    f"shuffle=True needs all rows in memory, and a {batches.kind} is read in "
                    "batches: shuffle what it reads"
                )
            return self._learn_batches(
                batches, classes=classes, reset=reset, predict=predict, told=told
            )
        X, y, sample_weight = targets_apart(X, y, sample_weight)
        with self._learning(reset=reset) as model:
            begins = model is not self
            rows = model._rows(X, reset=begins)
            targets = model.check_targets(y, classes)
            check_consistent_length(rows, targets)
            model._warn_of_sentinels(targets)
            weights = sample_weights(sample_weight, rows.shape[0], some=reset)
            known = targets if weights is None else targets[weights[:, 0] > 0.0]
            if begins:
                model.begin(rows.shape[1], known, classes, complete=reset)
            if weights is not None and is_classifier(self):
                # A row of weight 0 may have any label.
                targets = np.where(weights[:, 0] > 0.0, targets, cast(Any, model).classes_[0])
            if is_serial(known) if shuffle is None else shuffle:
                order = shuffled(rows.shape[0])
                rows, targets = rows[order], targets[order]
                weights = None if weights is None else weights[order]
            concerns = model._concerns()
            predictions = model.learn_rows(rows, targets, weights, predict=predict, told=told)
        self._heed(concerns, weighted=weights is not None)
        return predictions

    def _learn_batches(
        self,
        batches: Batches,
        *,
        classes: Any,
        reset: bool,
        predict: bool,
        told: Told | None,
    ) -> Any:
        """Learn what is read in batches: of `fit` all of it or nothing, else batch by batch."""
        if reset:
            if is_classifier(self):
                batches.check_again(
                    f"{type(self).__name__}.fit reads the labels first, to know all classes "
                    "(partial_fit with classes= reads once)"
                )
                labels = [
                    np.unique(np.asarray(y if w is None else np.asarray(y)[np.asarray(w) > 0]))
                    for _, y, w in batches
                ]
                classes = np.unique(np.concatenate(labels)) if labels else None
            with self._learning(reset=True) as model:
                model._learn_each(batches, classes=classes, predict=predict, told=told)
            return None
        return self._learn_each(batches, classes=classes, predict=predict, told=told)

    def _learn_each(
        self, batches: Batches, *, classes: Any, predict: bool, told: Told | None
    ) -> Any:
        predictions, parts, n_rows = [], [], 0
        for number, (X, y, weight) in enumerate(batches):
            own = (told or Told()).alike()
            try:
                found = RowEstimator._learn(
                    self, X, y, weight, classes=classes, predict=predict, told=own
                )
            except Exception as error:
                before = f"batch {number}" + (f", after {n_rows:,} rows" if n_rows else "")
                raise named_error(error, before) from error
            n_rows += len(y)
            predictions.append(found)
            parts.append(own)
        if not parts:
            raise ValueError(f"there is no row in this {batches.kind}")
        if told is not None:
            told.join(parts)
        return np.concatenate(predictions) if predict else None

    def _learn_first(self, x: Any, y: Any, classes: ArrayLike | None = None) -> None:
        """Begin with a single row, whose errors leave nothing behind."""
        with self._learning() as model:
            # Another thread may have begun meanwhile.
            if model is not self:
                model.begin(np.size(x), np.array([y]), classes)
            cast(Any, model).learn_one(x, y)


class NumberEstimator(UncertaintyMixin, RowEstimator):
    """Learning numbers row by row."""

    def partial_fit(
        self,
        X: Source,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Go on learning with some more rows, in their order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers, n at least 1. float64 arrays in any memory order are not copied.
            Or a source of batches, as for `fit`; then a bad row leaves those of the batches before
            it learned.
        y : array-like of shape (n,) or (n, n_targets), or str or list of str, optional
            Their targets, finite; or the names of their columns in a frame or source.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, finite, 0 or more; 0: the row is not learned. See
            the Notes of `KernelRegressor`. None: 1.

        Returns
        -------
        self : object
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is bad (the message names it); the model is as it was.
        KeyboardInterrupt
            Ctrl-C; the rows done by then stay learned (see ``n_seen_``).
        """
        self._learn(X, y, sample_weight)
        return self

    def partial_fit_predict(
        self,
        X: Source,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Predict each row just before learning it (prequential predictions).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers, n at least 1. Or a source of batches, as for `partial_fit`.
        y : array-like of shape (n,) or (n, n_targets), or str or list of str, optional
            Their targets, finite; or the names of their columns in a frame or source.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, finite, 0 or more; 0: the row is predicted, and
            not learned. See the Notes of `KernelRegressor`. None: 1.

        Returns
        -------
        predictions : ndarray, of the shape of y
            The prediction for row i made when the rows before it had been learned. The first row of
            all gets 0.

        Raises
        ------
        ValueError, TypeError
            A row is bad (the message names it); the model is as it was.
        """
        return cast("NDArray[np.float64]", self._learn(X, y, sample_weight, predict=True))

    def learn_one(self, x: Row, y: float | Sequence[float]) -> None:
        """Learn one row: `partial_fit` for live use, without its checks and copies.

        Parameters
        ----------
        x : float64 array or sequence of n_features floats, or dict of values by column
            The row.
        y : float or sequence of n_targets floats
            Its target or targets.

        Raises
        ------
        ValueError, TypeError
            The row is bad; the model is as it was.
        """
        try:
            core = self._core
        except AttributeError:
            self._learn_first(x, y)
            return
        try:
            core.learn_one(self._row(x), y)
        except TypeError:
            self._check_targets(y, None)
            raise

    @overload
    def predict_one(  # numpydoc ignore=GL08
        self, x: Row, return_std: Literal[False] = False
    ) -> float | NDArray[np.float64]: ...

    @overload
    def predict_one(  # numpydoc ignore=GL08
        self, x: Row, return_std: Literal[True]
    ) -> tuple[float, float] | tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    def predict_one(self, x: Row, return_std: bool = False) -> Any:
        """Predict one row, for live use.

        Parameters
        ----------
        x : float64 array or sequence of n_features floats, or dict of values by column
            The row.
        return_std : bool, default=False
            Whether to give the standard deviation too, as a pair: see `predict`.

        Returns
        -------
        prediction : float, or ndarray of shape (n_targets,) if there are several
            The prediction.
        deviation : the same, if `return_std`
            Its standard deviation.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            The row is bad, or the learner does not know deviations.
        """
        try:
            core = self._core
        except AttributeError:
            check_is_fitted(self)
            raise
        row = self._row(x)
        return core.predict_one_with_deviation(row) if return_std else core.predict_one(row)


class LabelEstimator(RowEstimator):
    """Learning labels row by row, of which `classes` names all when the stream begins.

    The class that derives from this learns one row (``_learn_row``) and predicts one
    (``_predict_row``).
    """

    def partial_fit(
        self,
        X: Source,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Go on learning with some more rows, in their order.

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
            How many times each row's loss counts, finite, 0 or more; times the weight of its class,
            if classes have weights. See the Notes of `KernelRegressor`. None: 1.

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

    @available_where(lambda self: self.predict_proba)
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
        told = Told(probabilities=True)
        self._learn(X, y, sample_weight, classes=classes, told=told)
        return cast("NDArray[np.float64]", told.probabilities)

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
            self.check_targets([y], classes)
        self._learn_row(x, y)

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
        return self._predict_row(x)

    @abstractmethod
    def _learn_row(self, x: Row, y: Any) -> None:
        """Learn one row of a stream that has begun."""

    @abstractmethod
    def _predict_row(self, x: Row) -> Any:
        """Predict one row."""
