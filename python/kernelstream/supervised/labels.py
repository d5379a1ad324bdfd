"""Labels of classes: which there are, and from labels to numbers and signs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

__all__ = [
    "choose",
    "class_table",
    "codes_of",
    "find_classes",
    "labels_of",
    "n_outputs",
    "row_weights",
    "signs",
    "unknown_label",
]

_NUMBERS = "biuf"
_TEXTS = "UO"
_NOTHING = {"<NA>", "nan", "NaT", "None"}


def labels_of(y: ArrayLike | None, owner: str) -> NDArray[Any]:
    """Give labels as an array of numbers, of strings or of objects.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels; a column of shape (n, 1) is flattened with a warning.
    owner : str
        Who asks, for errors.

    Returns
    -------
    labels : ndarray of shape (n,)
        The same labels, all of them known.

    Raises
    ------
    ValueError
        There are none, they are no column, or one is missing (the message names the row).
    TypeError
        They are of no kind that a class can have.
    """
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    labels = np.asarray(column_or_1d(y, warn=True))
    if labels.dtype.kind == "T":
        labels = labels.astype(object)
    if labels.dtype.kind not in _NUMBERS + _TEXTS:
        raise TypeError(
            f"labels must be strings, numbers or booleans, got an array of dtype {labels.dtype}"
        )
    missing = _missing(labels)
    if missing.any():
        row = int(missing.argmax())
        raise ValueError(
            f"y contains {labels[row]} at row {row}: remove the row, or give it a label"
        )
    return labels


def find_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """Give the different labels there are, sorted.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Labels.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        Each label once.

    Raises
    ------
    ValueError
        There is none, they are not discrete, or they cannot be sorted, being of different kinds.
    """
    if not len(labels):
        raise ValueError("at least one class is needed")
    try:
        classes = np.unique(labels)
    except TypeError as error:
        raise ValueError(f"labels must all be of one kind, strings or numbers: {error}") from None
    check_classification_targets(classes)
    return classes


def class_table(classes: NDArray[Any]) -> dict[Any, int]:
    """Give the number of each class by its label as a plain Python object.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        What ``find_classes`` gave.

    Returns
    -------
    table : dict
        Label to number; numpy's scalars find their like in it, too.
    """
    return {label: code for code, label in enumerate(classes.tolist())}


def codes_of(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Give the number of the class of each label.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        What ``find_classes`` gave.
    labels : ndarray of shape (n,)
        What ``labels_of`` gave.

    Returns
    -------
    codes : ndarray of int of shape (n,)
        ``classes[codes]`` are the labels.

    Raises
    ------
    ValueError
        A label is not among the classes; the message names its row.
    """
    numbers = classes.dtype.kind in _NUMBERS
    if numbers != (labels.dtype.kind in _NUMBERS):
        # Of another kind, or a mixture of objects: one by one.
        return _codes_of_objects(classes, labels)
    known = classes if numbers else classes.astype(object)
    try:
        places = np.searchsorted(known, labels if numbers else labels.astype(object))
    except TypeError:
        return _codes_of_objects(classes, labels)
    codes = np.minimum(places, len(classes) - 1)
    wrong = known[codes] != labels
    if wrong.any():
        raise _unknown(classes, labels, int(wrong.argmax()))
    return codes


def n_outputs(n_classes: int) -> int:
    """Give the number of outputs that tell so many classes apart.

    Parameters
    ----------
    n_classes : int
        How many classes there are.

    Returns
    -------
    n_outputs : int
        1 for two classes (or one), else one for each.
    """
    return n_classes if n_classes > 2 else 1


def signs(codes: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Give the targets of one output for each class, or of one for two classes.

    Parameters
    ----------
    codes : ndarray of int of shape (n,)
        Numbers of classes.
    n_classes : int
        How many classes there are.

    Returns
    -------
    targets : ndarray of shape (n, n_outputs)
        1 for the class (of two: for the second) and -1 for any other.
    """
    if n_outputs(n_classes) == 1:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    targets = np.full((len(codes), n_classes), -1.0)
    targets[np.arange(len(codes)), codes] = 1.0
    return targets


def choose(forecasts: NDArray[np.float64], n_classes: int) -> NDArray[np.intp]:
    """Give the number of the class that forecasts speak for.

    Parameters
    ----------
    forecasts : ndarray of shape (n, n_outputs)
        Forecasts of what ``signs`` gave.
    n_classes : int
        How many classes there are.

    Returns
    -------
    codes : ndarray of int of shape (n,)
        Numbers of classes; the first one where nothing speaks for any.
    """
    if n_classes == 1:
        return np.zeros(len(forecasts), dtype=np.intp)
    if n_classes == 2:
        return (forecasts[:, 0] > 0).astype(np.intp)
    return cast("NDArray[np.intp]", forecasts.argmax(axis=1))


def row_weights(
    class_weight: Mapping[Any, float] | str | None,
    classes: NDArray[Any],
    counts: NDArray[np.int64],
    codes: NDArray[np.intp],
) -> NDArray[np.float64] | None:
    """Give how many times the loss of each row counts.

    Parameters
    ----------
    class_weight : mapping of label to float, "balanced" or None
        The weight of each class, above 0; those that are not named have 1. "balanced": that of a
        row is ``n_seen / (n_classes * count)``, counting the rows so far and those of its class
        among them, itself included.
    classes : ndarray of shape (n_classes,)
        What ``find_classes`` gave.
    counts : ndarray of int of shape (n_classes,)
        Rows of each class before these.
    codes : ndarray of int of shape (n,)
        Numbers of the classes of the rows.

    Returns
    -------
    weights : ndarray of shape (n, 1), or None
        The weights; None if all are 1.

    Raises
    ------
    ValueError
        A label is not among the classes, or a weight is no positive number.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f'class_weight must be "balanced", a mapping or None, got {class_weight!r}'
            )
        # How many rows of its class came before each row: its place among them, counted on.
        order = np.argsort(codes, kind="stable")
        place = np.arange(len(codes))
        first = np.searchsorted(codes[order], np.arange(len(classes)))
        among = np.empty(len(codes))
        among[order] = place - first[codes[order]]
        seen = counts.sum() + place + 1.0
        weights = seen / (len(classes) * (counts[codes] + among + 1.0))
        return cast("NDArray[np.float64]", weights)[:, None]
    table = class_table(classes)
    of_class = np.ones(len(classes))
    for label, weight in class_weight.items():
        if label not in table:
            raise ValueError(f"class_weight names {label!r}, which is not among {_listed(classes)}")
        if not 0.0 < weight < np.inf:
            raise ValueError(f"class_weight of {label!r} must be a positive number, got {weight}")
        of_class[table[label]] = weight
    return of_class[codes, None]


def _missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        return cast("NDArray[np.bool_]", ~np.isfinite(labels))
    if labels.dtype.kind != "O":
        return np.zeros(len(labels), dtype=bool)
    try:
        # NaN and NaT differ from themselves.
        nothing = cast(Any, np.full(len(labels), None))
        return cast("NDArray[np.bool_]", (labels == nothing) | np.not_equal(labels, labels))
    except TypeError:  # pandas' NA will not say
        return np.array([not isinstance(label, str) and str(label) in _NOTHING for label in labels])


def _codes_of_objects(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Look labels of mixed kinds up one by one."""
    table = class_table(classes)
    codes = np.array([table.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    if (codes < 0).any():
        raise _unknown(classes, labels, int((codes < 0).argmax()))
    return codes


def _unknown(classes: NDArray[Any], labels: NDArray[Any], row: int) -> ValueError:
    return unknown_label(classes, labels.tolist()[row], f" at row {row}")


def unknown_label(classes: NDArray[Any], label: object, place: str = "") -> ValueError:
    """Give the error for a label that no class has.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        What ``find_classes`` gave.
    label : object
        The label.
    place : str, default=""
        Where it stands.

    Returns
    -------
    error : ValueError
        To be raised.
    """
    return ValueError(
        f"the label {label!r}{place} is not among the classes {_listed(classes)}: correct it, or "
        "begin anew with partial_fit(X, y, classes=...) naming every label that may come"
    )


def _listed(classes: NDArray[Any], most: int = 10) -> str:
    named = ", ".join(repr(label) for label in classes[:most].tolist())
    return named + (f" and {len(classes) - most} more" if len(classes) > most else "")
