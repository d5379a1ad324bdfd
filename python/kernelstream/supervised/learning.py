"""Learning rows: validation of the arguments, learning as a whole or not at all, warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from kernelstream.columns.batches import Batches, batches_of, named_error, targets_apart
from kernelstream.estimators.diagnostics import (
    concerns_of,
    warn_of_concerns,
    warn_of_weights,
)
from kernelstream.estimators.order import naming_rows_of, shuffled
from kernelstream.estimators.progress import report_to_bar
from kernelstream.estimators.repeated import Seen, warn_of_copies
from kernelstream.estimators.uncertainty import Prequential
from kernelstream.estimators.validation import sample_weights
from kernelstream.exceptions import DataError
from kernelstream.supervised.columns import warn_of_codes, warn_of_levels, warn_of_rounded

__all__ = ["begin", "learn", "learn_rows"]

# Rows after an outlier in which it is named as the likely reason of large errors, in the mean of
# the errors over about 1,000 rows.
_RECENT = 2000


def begin(model: Any, n_features: int, targets: NDArray[Any], classes: Any, **how: Any) -> None:
    """Prepare a model for a stream of such rows and targets.

    Raises
    ------
    ValueError, TypeError
        A parameter is bad, or classes are missing or none.
    """
    model.n_features_in_ = n_features
    model._warned_of_unknown = model._warned_of_levels = False
    model._weights_before = 0, 0.0
    model._levels, model._n_counted = {}, 0
    model._outlier_at = None
    model._first_rows, model._look_at = [], 0
    model._rows_seen = Seen()
    model._begin_targets(targets, classes, **{"complete": False, **how})
    model._core = model._new_core()


def learn(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    classes: Any = None,
    reset: bool = False,
    shuffle: bool | None = False,
    predict: bool = False,
    prequential: Prequential | None = None,
) -> Any:
    """Check the arguments and learn the rows: all of them, or on an error none.

    Raises
    ------
    ValueError, TypeError
        A row, a target or a parameter is bad.
    """
    if (batches := batches_of(X, y, sample_weight)) is not None:
        if shuffle and reset:
            raise ValueError(
                f"shuffle=True needs all rows in memory, and a {batches.kind} is read in "
                "batches: shuffle what it reads"
            )
        return _learn_batches(
            model, batches, classes=classes, reset=reset, predict=predict, prequential=prequential
        )
    X, y, sample_weight = targets_apart(X, y, sample_weight)
    with model._learning(reset=reset) as learner:
        begins = learner is not model
        rows = learner._rows(X, reset=begins)
        weights = sample_weights(sample_weight, rows.shape[0], some=reset)
        if y is not None and weights is not None:
            check_consistent_length(rows, y)
            y = _with_targets_of_others(learner, y, classes, weights[:, 0] > 0.0)
        targets = learner._check_targets(y, classes)
        check_consistent_length(rows, targets)
        known = targets if weights is None else targets[weights[:, 0] > 0.0]
        if begins:
            if not is_classifier(model):
                warn_of_rounded("y", y, "subtract what they have in common before")
            begin(learner, rows.shape[1], known, classes, complete=reset)
        if weights is not None and is_classifier(model):
            # A row of weight 0 may have any label.
            targets = np.where(weights[:, 0] > 0.0, targets, learner.classes_[0])
        found, before = learner._find_sentinel(targets), _limited(learner)
        given, order = targets, None
        if shuffle is None:
            # A row without weight has no part in the order.
            counts = None if weights is None else np.flatnonzero(weights[:, 0] > 0.0)
            all_count = counts is None or len(counts) == rows.shape[0]
            shuffle = learner._is_in_order(X, rows if all_count else rows[counts], known)
        if shuffle:
            order = shuffled(rows.shape[0], weights)
            rows, targets = rows[order], targets[order]
            weights = None if weights is None else weights[order]
        concerns, n_before = concerns_of(learner), learner.n_seen_
        prequential = prequential or Prequential()
        with naming_rows_of(order), _naming_the_filling_of_gaps(rows):
            predictions = learner._learn_rows(
                rows, targets, weights, predict=predict, prequential=prequential
            )
        limited = [] if _limited(learner) == before else learner._core.latest_limited
        if found is not None and (found.column, found.value) not in limited:
            place = found.row if order is None else int(np.flatnonzero(order == found.row)[0])
            learner._outlier_at = n_before + place
        outlier_at = learner._outlier_at
        recent = outlier_at is not None and learner.n_seen_ - outlier_at <= _RECENT
    model._warn_of_outliers(given, found, limited)
    warn_of_codes(model, rows, weights)
    warn_of_levels(model, rows)
    warn_of_copies(model, rows, targets, weights)
    # Weighted errors are not those of the baseline.
    useless = None if weights is not None or not model._has_settings() else model._useless()
    warn_of_concerns(model, concerns, model._follows_drift(), useless, after_outlier=recent)
    # To experts that choose their settings only the ratios of weights matter.
    before = model._weights_before
    if weights is not None and model._has_settings() and before is not None:
        model._weights_before = warn_of_weights(weights, before)
    return predictions


@contextmanager
def _naming_the_filling_of_gaps(rows: Any) -> Iterator[None]:
    """Name the parameter that fills gaps in errors about these, as those about frames do."""
    try:
        yield
    except DataError as error:
        row, column = error.row, error.column
        is_cell = error.array == "X" and row is not None and isinstance(column, int)
        # By the cell, not by the words of the core.
        if is_cell and np.isnan(rows[row, column]):
            error.args = (f'{error}, as missing="fill" does', *error.args[1:])
        raise


def _limited(learner: Any) -> tuple[int, list[tuple[int, float]]]:
    """How many targets were winsorized, and the latest of them."""
    return learner._core.n_limited, learner._core.latest_limited


def _with_targets_of_others(model: Any, y: Any, classes: Any, known: NDArray[np.bool_]) -> Any:
    """Give targets, in rows of weight 0, where they may be anything, that of a valid row."""
    if known.all():
        return y
    if not known.any():
        if not is_classifier(model):
            return np.zeros(np.shape(y))
        own = getattr(model, "classes_", classes)
        return y if own is None else np.repeat(np.asarray(own)[:1], len(known))
    sound = np.flatnonzero(known)
    for place in sound:
        try:
            model._check_targets(_rows_at(y, np.array([place])), classes)
        except (ValueError, TypeError):
            continue
        return _rows_at(y, np.where(known, np.arange(len(known)), place))
    return y


def _rows_at(y: Any, places: NDArray[np.intp]) -> Any:
    if type(y).__module__.startswith("pyarrow"):
        return y.take(places)
    return _safe_indexing(y, places)


def _learn_batches(
    model: Any,
    batches: Batches,
    *,
    classes: Any,
    reset: bool,
    predict: bool,
    prequential: Prequential | None,
) -> Any:
    """Learn from a source of batches: all or nothing in `fit`, else batch by batch."""
    if reset:
        if is_classifier(model):
            batches.check_again(
                f"{type(model).__name__}.fit reads the labels first, to know all classes "
                "(partial_fit with classes= reads once)"
            )
            labels = [
                np.unique(np.asarray(y if w is None else np.asarray(y)[np.asarray(w) > 0]))
                for _, y, w in batches
            ]
            classes = np.unique(np.concatenate(labels)) if labels else None
        with model._learning(reset=True) as learner:
            _learn_each(learner, batches, classes=classes, predict=predict, prequential=prequential)
        return None
    return _learn_each(model, batches, classes=classes, predict=predict, prequential=prequential)


def _learn_each(
    model: Any, batches: Batches, *, classes: Any, predict: bool, prequential: Prequential | None
) -> Any:
    predictions, parts, n_rows = [], [], 0
    for number, (X, y, weight) in enumerate(batches):
        own = (prequential or Prequential()).alike()
        try:
            found = learn(model, X, y, weight, classes=classes, predict=predict, prequential=own)
        except Exception as error:
            before = f"batch {number}" + (f", after {n_rows:,} rows" if n_rows else "")
            named_error(error, before)
            raise
        n_rows += len(y)
        predictions.append(found)
        parts.append(own)
    if not parts:
        raise ValueError(f"there is no row in this {batches.kind}")
    if prequential is not None:
        prequential.join(parts)
    return np.concatenate(predictions) if predict else None


def learn_rows(
    model: Any,
    rows: NDArray[np.float64],
    targets: NDArray[Any],
    weights: NDArray[np.float64] | None,
    *,
    predict: bool,
    prequential: Prequential,
) -> NDArray[Any] | None:
    """Learn rows after the start of a stream.

    Raises
    ------
    ValueError, TypeError
        A row or target is bad.
    """
    outputs = model._encode(targets)
    prequential.begin(outputs.shape, len(getattr(model, "classes_", ())))
    more = (prequential.deviations, prequential.intervals, prequential.probabilities)
    predictions: Any = np.empty(outputs.shape) if predict or model.verbose else None
    if model.verbose:
        error = _error_so_far(model, outputs, predictions)
        recent = partial(_error_of_late, model)
        with report_to_bar(model._core, len(outputs), error, recent=recent) as report:
            model._core.learn(rows, outputs, predictions, report, weights, 0, *more)
    else:
        model._core.learn(rows, outputs, predictions, None, weights, 0, *more)
    return model._decode(predictions) if predict else None


def _error_of_late(model: Any) -> str:
    late = model._core.late_error
    return "" if late is None else "recent " + " ".join(f"{error:.4g}" for error in late)


def _error_so_far(
    model: Any, outputs: NDArray[np.float64], predictions: NDArray[np.float64]
) -> Callable[[int], object]:
    """Give a function from the rows done to the error on them, as the core predicts them."""
    error, compared = model._error(outputs.shape[1])
    counted = 0

    def so_far(done: int) -> object:
        nonlocal counted
        rows = slice(counted, done)
        error.update(compared(outputs[rows]), compared(predictions[rows]))
        counted = done
        return error

    return so_far
