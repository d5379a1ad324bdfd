"""Validation of arguments, for all estimators."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, timedelta
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, validate_data

from kernelstream.exceptions import DataError

__all__ = [
    "REMEDY_OF_GAPS",
    "Rows",
    "Source",
    "as_float64",
    "column_names",
    "finite_rows",
    "first_of",
    "located_error",
    "numbers_of",
    "refuse_masked",
    "refuse_objects",
    "refuse_times",
    "rows_of",
    "sample_weights",
    "unchanged_by_errors",
    "whole_number",
]

# What the methods take for rows; those of tables also dicts of columns, and lists of dicts.
Rows: TypeAlias = ArrayLike | Mapping[str, Any] | Sequence[Mapping[str, Any]]
# The same, or a source of batches.
Source: TypeAlias = Rows | Iterable[Any] | PathLike[str] | Callable[[], Iterable[Any]]

_LARGEST_WEIGHT = 1e50  # the core's

_REMEDY = "remove the row, or fill the gap before learning"
# The remedy where an estimator has this parameter.
REMEDY_OF_GAPS = f'{_REMEDY}, as missing="fill" does'
_REMEDY_OF_INFINITY = "correct it, or leave the row out"
# Beyond that, the core compares no numbers.
_LARGEST = 1e50


def as_float64(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Give an array of real numbers as aligned float64, without a copy where it is that already.

    Raises
    ------
    TypeError
        It holds something else than real numbers.
    """
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got an array of dtype {array.dtype}")
    floats = np.asarray(array, dtype=np.float64)
    return floats if floats.flags.aligned else floats.copy()


def _is_plain(values: Any) -> bool:
    """Tell whether it is an array of numbers that scikit-learn would give back, in 100 us."""
    return type(values) is np.ndarray and values.dtype.kind == "f" and values.size > 0


def rows_of(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    sparse: bool = False,
    named: bool = True,
    indexed: bool = False,
) -> Any:
    """Give the rows that an estimator is handed, with its width and names of columns checked.

    With `indexed` the estimator reads times from the index.

    Raises
    ------
    ValueError, TypeError
        They are not rows of real numbers, or have another width or other names.
    """
    known = None if reset else getattr(estimator, "n_features_in_", None)
    if _is_plain(X) and X.shape[1:] == (known,) and not hasattr(estimator, "feature_names_in_"):
        return as_float64(X, "X")
    refuse_masked(X, "X")
    if hasattr(type(X), "collect"):
        raise TypeError(f"X is a {type(X).__name__}, which is not computed yet: use X.collect()")
    refuse_times(X, indexed=indexed)
    _refuse_complex(X, "X")
    try:
        rows = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr" if sparse else False,
            dtype="numeric",
            ensure_all_finite=False,
        )
        rows = rows.astype(np.float64, copy=False) if issparse(rows) else as_float64(rows, "X")
    except (ValueError, TypeError):
        refuse_objects(X, indexed=indexed)
        _refuse_texts(X, categories=reset and hasattr(estimator, "columns"))
        raise
    if named and not issparse(rows) and (names := column_names(X)):
        finite_rows(rows, "X", names)
    return rows


def numbers_of(
    values: Any,
    name: str,
    *,
    estimator: Any = None,
    ensure_2d: bool = True,
    partial: bool = False,
) -> NDArray[np.float64]:
    """Give numbers that an estimator is handed beside its rows.

    With `partial` rows may lack some of several targets: NaN, or another missing value.

    Raises
    ------
    ValueError, TypeError
        They are not real numbers, or not of that many dimensions.
    """
    if _is_plain(values) and values.ndim in ((2,) if ensure_2d else (1, 2)):
        return as_float64(values, name)
    refuse_masked(values, name)
    _refuse_complex(values, name)
    if isinstance(values, list | tuple):
        # scikit-learn converts arrays of objects, None to NaN, but not lists of them.
        with suppress(ValueError):
            objects = np.asarray(values)
            values = objects if objects.dtype.kind == "O" else values
    checked = check_array(
        values,
        ensure_2d=ensure_2d,
        dtype="numeric",
        ensure_all_finite=False,
        input_name=name,
        estimator=estimator,
    )
    numbers = as_float64(checked, name)
    if names := column_names(values):
        columns = numbers.reshape(len(numbers), -1)
        if partial:
            gaps = np.isnan(columns)
            columns = np.where(gaps & ~gaps.all(axis=1, keepdims=True), 0.0, columns)
        finite_rows(columns, name, names)
    return numbers


def refuse_masked(values: Any, name: str) -> None:
    """Refuse a masked array some of whose entries are masked.

    Raises
    ------
    ValueError
        An entry is masked; the message names the first one's row.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        place = np.argwhere(np.ma.getmaskarray(values))[0]
        where = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), place, strict=False))
        raise ValueError(
            f"{name} is masked at {where or 'its only entry'}: remove the row, or fill the gap "
            "before learning"
        )


# What pandas, polars and Arrow call types of dates, times and spans of time.
_TIMES = re.compile("date|time|duration|period|interval", re.IGNORECASE)
# Those that an index of times can hold, and a value of text that is one.
_MOMENTS = re.compile("date|timestamp|period", re.IGNORECASE)
_A_DAY = re.compile(r"'\d{4}-\d{2}-\d{2}|datetime\.date|Timestamp")
_TEXTS = re.compile("str|utf8|large_str|object|categor|enum|dictionary", re.IGNORECASE)


def column_names(frame: Any) -> list[Any]:
    """Give the names of a data frame's columns, or that of a series."""
    names = [name for name, _ in _columns(frame)]
    if not names and hasattr(frame, "dtype") and getattr(frame, "name", None) not in {None, ""}:
        names = [frame.name]
    return names


def _refuse_complex(values: Any, name: str) -> None:
    """Refuse complex numbers in one line."""
    if isinstance(values, np.ndarray | list | tuple):
        is_complex = np.iscomplexobj(values)
    else:
        kinds = [str(getattr(values, "dtype", "")), *(kind for _, kind in _columns(values))]
        is_complex = any(kind.startswith("complex") for kind in kinds)
    if is_complex:
        raise ValueError(
            f"Complex data not supported: {name} has complex numbers; pass their real and "
            f"imaginary parts side by side, np.hstack([{name}.real, {name}.imag])"
        )


def _columns(frame: Any) -> list[tuple[Any, str]]:
    """Give names and types of a data frame's columns; None for other data."""
    if hasattr(type(frame), "column_names"):  # Arrow's
        names, types = frame.column_names, frame.schema.types
    elif hasattr(frame, "columns") and hasattr(frame, "dtypes"):
        names, types = frame.columns, frame.dtypes
    else:
        return []
    return [(name, str(kind)) for name, kind in zip(names, types, strict=True)]


def refuse_times(X: Any, array: str = "X", *, indexed: bool = False) -> None:
    """Refuse columns that a data frame might turn into numbers of days or of nanoseconds.

    With `indexed` the estimator reads times from the index.

    Raises
    ------
    TypeError
        A column holds times; the message names it.
    """
    for name, kind in _columns(X):
        if _TIMES.match(kind):
            if indexed and _MOMENTS.match(kind):
                raise TypeError(
                    f"column {name!r} of {array} holds dates or times ({kind}), which are no part "
                    f"of the state: {_remedy_by_index(X, name, kind)}"
                )
            raise TypeError(
                f"column {name!r} of {array} holds dates or times ({kind}), whose unit and "
                "origin are not known: turn it into numbers, such as the hour of the day or the "
                "days since a start, or leave it out"
            )


def _remedy_by_index(frame: Any, name: Any, kind: str) -> str:
    """Give the code that makes a column the index of times of a frame of pandas."""
    index, to_pandas = f".set_index({name!r})", ""
    if hasattr(type(frame), "column_names"):  # Arrow's
        to_pandas = ".to_pandas(date_as_object=False)"
    elif hasattr(type(frame), "to_pandas"):  # polars'
        to_pandas = ".to_pandas()"
    elif not kind.startswith(("datetime64", "period")):
        index = f'.astype({{{name!r}: "datetime64[us]"}}){index}'
    remedy = f"make it the index, frame{to_pandas}{index}"
    return f"{remedy}, or leave it out if the states are evenly spaced"


def refuse_objects(X: Any, array: str = "X", *, indexed: bool = False) -> None:
    """Name the column of a data frame that holds text or dates, as a better error than numpy's.

    With `indexed` the estimator reads times from the index.

    Raises
    ------
    ValueError
        A column holds text or dates; the message names it, the value and its row.
    """
    for name, kind in _columns(X):
        if _TEXTS.match(kind) and (found := first_of(X[name], (str, bytes, date, timedelta))):
            if indexed and _A_DAY.match(found) and hasattr(X, "set_index"):
                raise ValueError(
                    f"column {name!r} of {array} holds {found}, which is no number: "
                    f"{_remedy_by_index(X, name, kind)}"
                ) from None
            raise ValueError(
                f"column {name!r} of {array} holds {found}, which is no number: leave it out, or "
                "encode it, for instance by scikit-learn's OneHotEncoder"
            ) from None


def _refuse_texts(X: Any, *, categories: bool) -> None:
    """Name the first entry of an array that is no number, as a better error than numpy's.

    With `categories` the estimator has columns of text, if they are declared.

    Raises
    ------
    ValueError
        An entry is text; the message names it, its row and its column.
    """
    if not isinstance(X, np.ndarray | list | tuple):
        return
    # Numbers alone are found so in a small part of the time that a loop takes.
    with suppress(ValueError, TypeError, OverflowError):
        np.asarray(X, dtype=float)
        return
    try:
        array = np.asarray(X, object if isinstance(X, list | tuple) else None)
    except ValueError:  # rows of several lengths
        return
    if array.ndim != 2 or array.dtype.kind not in "OUS":
        return
    for column, row in np.ndindex(array.shape[::-1]):
        value = array[row : row + 1, column].tolist()[0]
        if isinstance(value, str | bytes) and not _is_number(value):
            break
    else:
        return
    remedy = "leave it out, or encode it as numbers"
    if categories:
        remedy = (
            f"declare it, columns={{{column}: 'category'}}, or pass a data frame, whose columns "
            "have types"
        )
    what = f"X at row {row}, column {column} is {value!r}, which is no number: {remedy}"
    raise located_error(what, "X", row, column) from None


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def first_of(values: Any, types: tuple[type, ...]) -> str:
    """Give the place of the first value of some types, for an error."""
    array = np.asarray(values, dtype=object)
    width = array.size // max(len(array), 1) if array.ndim else 1
    place = next((i for i, value in enumerate(array.flat) if isinstance(value, types)), None)
    return "" if place is None else f"{array.flat[place]!r} at row {place // width}"


def finite_rows(
    rows: NDArray[np.float64],
    array: str = "X",
    names: Sequence[Any] | None = None,
    remedy: str = _REMEDY,
) -> NDArray[np.float64]:
    """Give rows, if all their numbers are finite, and not too large to be compared.

    Raises
    ------
    ValueError
        A number is not; the message says where.
    """
    bad = ~(np.abs(rows) <= _LARGEST)
    if bad.any():
        row, column = (int(place) for place in np.argwhere(bad)[0])
        value, name = rows[row, column], str(names[column]) if names else column
        where = f'column "{name}"' if names else f"column {column}"
        if np.isfinite(value):
            reason = f"is too large ({value:.3e}): correct it, or leave the row out"
        else:
            is_gap = np.isnan(value)
            reason = f"is {'NaN' if is_gap else value}: {remedy if is_gap else _REMEDY_OF_INFINITY}"
        error = located_error(f"{array} at row {row}, {where} {reason}", array, row, name)
        error.reason = reason
        raise error
    return rows


def located_error(message: str, array: str, row: int, column: int | str | None = None) -> DataError:
    """Make an error about one row as the core does."""
    error = DataError(message)
    error.array, error.row, error.column, error.reason = array, row, column, None
    return error


def sample_weights(
    sample_weight: ArrayLike | None, n_rows: int, *, some: bool
) -> NDArray[np.float64] | None:
    """Give how many times the loss of each row counts.

    Raises
    ------
    ValueError, TypeError
        They are not one finite number of 0 or more for each row (the message names the row).
    """
    if sample_weight is None:
        return None
    weights = numbers_of(sample_weight, "sample_weight", ensure_2d=False)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}: one number for each of the {n_rows} rows "
            "is needed"
        )
    bad = ~((weights >= 0.0) & (weights <= _LARGEST_WEIGHT))
    if bad.any():
        row = int(bad.argmax())
        message = (
            f"sample_weight of row {row} is {weights[row]:g}: weights must be zero or positive "
            f"numbers up to {_LARGEST_WEIGHT:g}; zero leaves a row out"
        )
        raise located_error(message, "sample_weight", row)
    if some and not weights.any():
        raise ValueError(
            "every sample_weight is zero, so that there is no row to learn: give at least one row "
            "a positive weight"
        )
    return weights[:, None]


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """Give a number that a user gave, if it is whole and large enough.

    Raises
    ------
    ValueError, TypeError
        It is less, or no integer.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    return int(value)


@contextmanager
def unchanged_by_errors(estimator: Any) -> Iterator[None]:
    """Put an estimator's attributes back if an error escapes, but not for KeyboardInterrupt."""
    before = dict(vars(estimator))
    try:
        yield
    except Exception:
        for name in vars(estimator).keys() - before.keys():
            delattr(estimator, name)
        vars(estimator).update(before)
        raise
