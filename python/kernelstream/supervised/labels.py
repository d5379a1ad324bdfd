"""Classes: their labels, and the conversion to numbers and signs and back."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from kernelstream.estimators.validation import refuse_masked

__all__ = ["Classes", "find_classes", "labels_of"]

_NUMBERS = "biuf"
_TEXTS = "UO"
_NOTHING = {"<NA>", "nan", "NaT", "None"}


class Classes:
    """The classes of a stream: labels as codes, which the core learns, and back.

    scikit-learn's `LabelEncoder` is not used since it turns labels into the type of the classes, so
    that 1.5 passes for 1 and "abcd" for "abc", and names no row.

    Attributes
    ----------
    labels : ndarray of shape (n_classes,)
        The same.
    names : list
        The same as plain Python objects.
    table : dict
        Number of each class by its name; numpy's scalars find their like in it, too.
    """

    def __init__(self, labels: NDArray[Any]) -> None:
        self.labels = labels
        self.names: list[Any] = labels.tolist()
        self.table = {name: code for code, name in enumerate(self.names)}

    @classmethod
    def of_core(cls, core: Any, dtype: str) -> Self:
        """Give the classes that a core has, as an array of this type.

        Raises
        ------
        ValueError, TypeError
            The core has no classes, or none of this type.
        """
        kind = np.dtype(dtype)
        # The width of text is that of the labels, not of the file.
        labels = labels_of(np.array(core.classes, str if kind.kind == "U" else kind), "the file")
        if labels.tolist() != core.classes:
            raise ValueError(f"its classes are not of type {dtype}")
        return cls(labels)

    def to_spec(self, class_weight: Mapping[Any, float] | str | None) -> dict[str, Any]:
        """Give the description of the classes that the core understands.

        Raises
        ------
        TypeError
            A label is none that a model file can hold.
        ValueError
            A weight is not a positive number, or of a label that is not among the classes.
        """
        plain = [name.item() if isinstance(name, np.generic) else name for name in self.names]
        for name in plain:
            if not isinstance(name, bool | int | float | str):
                raise TypeError(
                    f"labels must be strings, numbers or booleans, got {name!r}, "
                    f"a {type(name).__name__}"
                )
            if isinstance(name, int) and not -(1 << 63) <= name < 1 << 63:
                raise ValueError(f"the label {name} is too large: use its text, str(label)")
        return {"classes": plain, "weights": self._weights(class_weight)}

    def codes(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """Give the number of the class of each label.

        Raises
        ------
        ValueError
            A label is not among the classes; the message names its row.
        """
        codes = self._found(labels)
        if (codes < 0).any():
            row = int((codes < 0).argmax())
            raise self.unknown(labels.tolist()[row], f" at row {row}")
        return codes

    def _weights(self, class_weight: Mapping[Any, float] | str | None) -> Any:
        if class_weight is None:
            return "equal"
        if not isinstance(class_weight, Mapping):
            if not isinstance(class_weight, str) or class_weight != "balanced":
                raise ValueError(
                    'class_weight must be "balanced", a mapping from labels to weights or None, '
                    f"got {class_weight!r}"
                )
            return "balanced"
        of_class = [1.0] * len(self.names)
        for label, weight in class_weight.items():
            if label not in self.table:
                raise ValueError(
                    f"class_weight names {label!r}, which is not among the classes {self}: correct "
                    "or remove it"
                )
            if not isinstance(weight, Real) or not 0.0 < weight < np.inf:
                raise ValueError(
                    f"class_weight of {label!r} must be a positive number, got {weight!r}"
                )
            of_class[self.table[label]] = float(weight)
        return {"each": of_class}

    def unknown(self, label: object, place: str = "") -> ValueError:
        """Give the error for a label that no class has."""
        return ValueError(
            f"the label {label!r}{place} is not among the classes {self}: correct it, or begin "
            "again with partial_fit(X, y, classes=...) naming every label that may come"
        )

    def __str__(self, most: int = 10) -> str:
        named = ", ".join(repr(name) for name in self.names[:most])
        more = len(self.names) - most
        return named + (f" and {more} more" if more > 0 else "")

    def _found(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """Give the number of the class of each label, or -1."""
        numbers = self.labels.dtype.kind in _NUMBERS
        if numbers == (labels.dtype.kind in _NUMBERS):
            known, sought = self.labels, labels
            if not numbers:
                known, sought = known.astype(object), sought.astype(object)
            try:
                codes = np.minimum(np.searchsorted(known, sought), len(known) - 1)
            except TypeError:  # objects of several kinds have no order
                pass
            else:
                return np.where(known[codes] == labels, codes, -1)
        # Other kinds, or a mixture of objects: one by one.
        return np.array([self.table.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def labels_of(y: ArrayLike | None, owner: str) -> NDArray[Any]:
    """Give labels as an array of numbers, of strings or of objects.

    Raises
    ------
    ValueError
        There are none, they are not one column, or one is missing (the message names the row).
    TypeError
        They are of no kind that a class can have.
    """
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    refuse_masked(y, "y")
    if isinstance(y, list | tuple) and np.asarray(y).dtype.kind == "U":
        # numpy makes the text "nan" of a missing value, and "1" of 1.
        y = y if all(isinstance(label, str) for label in y) else np.array(y, object)
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
    # scikit-learn makes floats or objects of pandas' nullable and Arrow-backed columns.
    kind = getattr(getattr(y, "dtype", None), "kind", labels.dtype.kind)
    if kind != labels.dtype.kind and kind in _NUMBERS:
        labels = labels.astype({"b": np.bool_, "i": np.int64, "u": np.uint64}.get(kind, np.float64))
    return _typed(labels) if labels.dtype.kind == "O" else labels


def find_classes(labels: NDArray[Any], *, declared: bool = False) -> NDArray[Any]:
    """Give the different labels, sorted.

    With `declared` each label is there once, and not once for each row.

    Raises
    ------
    ValueError
        There is none, they are not discrete, or they cannot be sorted, being of different kinds.
    """
    if not len(labels):
        raise ValueError("there are no labels: at least one class is needed")
    if labels.dtype.kind == "O":
        _refuse_mixed(labels, "class" if declared else "row")
    try:
        classes = np.unique(labels)
    except TypeError as error:
        raise ValueError(f"labels must all be of one kind, strings or numbers: {error}") from None
    # Beyond half as many classes as labels, scikit-learn warns of numbers that are no classes.
    are_few = declared or 2 * len(classes) <= len(labels)
    check_classification_targets(np.repeat(classes, 2) if are_few else labels)
    return classes


# The kinds of labels among objects; truth values are whole numbers to Python.
_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("boolean", (bool, np.bool_)),
    ("number", (int, float, np.number)),
    ("string", (str,)),
)


def _kind_of(label: object) -> str:
    return next((name for name, types in _KINDS if isinstance(label, types)), "")


def _typed(labels: NDArray[Any]) -> NDArray[Any]:
    """Give objects that are all booleans, or all numbers, as an array of these."""
    values = labels.tolist()
    kinds = set(map(_kind_of, values))
    if kinds == {"boolean"}:
        return labels.astype(np.bool_)
    if kinds != {"number"}:
        return labels
    if any(isinstance(value, float | np.floating) for value in values):
        return labels.astype(np.float64)
    # Whole numbers beyond 64 bits stay objects, which are refused by name.
    large = any(not -(1 << 63) <= value < 1 << 63 for value in values)
    return labels if large else labels.astype(np.int64)


def _refuse_mixed(labels: NDArray[Any], place: str) -> None:
    """Refuse labels of several kinds, or of none that a class can have, by their rows."""
    first: dict[str, int] = {}
    for row, label in enumerate(labels.tolist()):
        first.setdefault(_kind_of(label), row)
        if len(first) > 1 or "" in first:
            break
    if "" in first:
        label = labels[first[""]]
        raise TypeError(
            f"labels must be strings, numbers or booleans, got {label!r} at {place} {first['']}, a "
            f"{type(label).__name__}: convert it, such as by str(label)"
        )
    if len(first) > 1:
        (kind, row), (other, other_row) = first.items()
        remedy = "int" if "string" not in first else "str"
        raise ValueError(
            f"labels must all be of one kind, strings, numbers or booleans, got the {kind} "
            f"{labels[row]!r} at {place} {row} and the {other} {labels[other_row]!r} at {place} "
            f"{other_row}: make them one kind, such as [{remedy}(label) for label in y]"
        )
    if "number" in first:  # numbers that fit are no objects
        largest = max(labels.tolist(), key=abs)
        raise ValueError(f"the label {largest} is too large: use its text, str(label)")


def _missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        return cast("NDArray[np.bool_]", ~np.isfinite(labels))
    if labels.dtype.kind != "O":
        return np.zeros(len(labels), dtype=bool)
    try:
        # NaN and NaT differ from themselves.
        nothing = cast(Any, np.full(len(labels), None))
        return cast("NDArray[np.bool_]", (labels == nothing) | np.not_equal(labels, labels))
    except TypeError:  # pandas' NA has no truth value
        return np.array([not isinstance(label, str) and str(label) in _NOTHING for label in labels])
