"""Cells of a table: what columns hold, as the numbers that the core takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream import _core

__all__ = ["KINDS", "cell_of", "cells_of", "kind_of"]

Cells = NDArray[np.float64]

_TRUE, _FALSE = {"true", "yes", "t", "y", "1", "1.0"}, {"false", "no", "f", "n", "0", "0.0"}


def kind_of(values: Any) -> str:
    """Say what a column seems to hold, by the type of its values.

    Parameters
    ----------
    values : array-like of shape (n,)
        A column, as a data frame gives it.

    Returns
    -------
    kind : {"number", "boolean", "time", "category"}
        The kind.
    """
    array = _plain(values)
    match array.dtype.kind:
        case "b":
            return "boolean"
        case "i" | "u" | "f":
            return "number"
        case "M":
            return "time"
    known = [value for value in array.tolist() if not _is_gap(value)]
    if known and all(isinstance(value, bool | np.bool_) for value in known):
        return "boolean"
    if known and all(isinstance(value, int | float | np.number) for value in known):
        return "number"
    if known and all(hasattr(value, "timestamp") for value in known):
        return "time"
    return "category"


def cells_of(values: Any, kind: str, name: str) -> Cells:
    """Give the cells of a column.

    Parameters
    ----------
    values : array-like of shape (n,)
        The column; None, NaN, NaT and the like are gaps.
    kind : {"number", "boolean", "time", "category"}
        What it holds. Times are dates and times of any library, ISO 8601, or seconds; of those with
        a time zone it is the time on its clocks that counts.
    name : str
        What errors call it.

    Returns
    -------
    cells : ndarray of float64 of shape (n,)
        One number each, NaN where there is a gap.

    Raises
    ------
    ValueError
        An entry is none of this kind; the message names its row.
    """
    array = _plain(values)
    numeric = array.dtype.kind in "biuf"
    if kind != "category" and numeric:
        return array.astype(np.float64)
    if kind == "time" and array.dtype.kind == "M":
        return _seconds(array)
    if array.dtype.kind not in "OUSTbiufM":
        raise TypeError(f"column {name!r} holds {array.dtype}, which is no {kind}")
    plain, places = _distinct(array)
    cells = np.empty(len(plain))
    for i, value in enumerate(plain):
        try:
            cells[i] = cell_of(value, kind)
        except (ValueError, TypeError):
            row = int(np.argmax(places == i))
            raise ValueError(
                f"X at row {row}, column {name!r} is {value!r}, which is no {kind}: correct it, "
                "leave the column out, or say what it holds by kinds="
            ) from None
    return cells[places]


def cell_of(value: Any, kind: str) -> float:
    """Give the cell of one value.

    Parameters
    ----------
    value : object
        The value; None, NaN and the like are a gap.
    kind : {"number", "boolean", "time", "category"}
        What it is.

    Returns
    -------
    cell : float
        Its number, NaN for a gap.

    Raises
    ------
    ValueError, TypeError
        It is none of this kind.
    """
    return np.nan if _is_gap(value) else KINDS[kind](value)


def _category(value: Any) -> float:
    # 3 and 3.0 are one category: whole numbers become floats where there are gaps.
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return _core.category(str(value))


def _boolean(value: Any) -> float:
    word = str(value).strip().lower()
    if word in _TRUE | _FALSE:
        return float(word in _TRUE)
    raise ValueError


def _time(value: Any) -> float:
    if isinstance(value, int | float | np.number):
        return float(value)
    if hasattr(value, "replace") and getattr(value, "tzinfo", None) is not None:
        value = value.replace(tzinfo=None)
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, str) and text.endswith("Z"):
        text = text[:-1]
    return float(_seconds(np.array([text], "datetime64[us]"))[0])


# What makes a number of a value that is no gap.
KINDS: Mapping[str, Callable[[Any], float]] = {
    "number": float,
    "boolean": _boolean,
    "time": _time,
    "category": _category,
}


def _seconds(times: NDArray[np.datetime64]) -> Cells:
    seconds = times.astype("datetime64[us]").astype(np.int64) / 1e6
    return np.where(np.isnat(times), np.nan, seconds)


def _is_gap(value: Any) -> bool:
    if value is None or (isinstance(value, str) and not value):
        return True
    try:
        return bool(value != value)  # noqa: PLR0124  (NaN and NaT differ from themselves)
    except TypeError:  # pandas' NA will not say
        return True


def _plain(values: Any) -> NDArray[Any]:
    """Give a column as an array, entries without a value as None or NaN."""
    accessor: Any = getattr(values, "dt", None)
    if hasattr(accessor, "tz_localize"):
        values = accessor.tz_localize(None)
    array = np.asarray(values)
    return array.reshape(-1) if array.ndim == 2 and array.shape[1] == 1 else array


def _distinct(array: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """Give the values there are, and the place of each entry among them."""
    found: dict[Any, int] = {}
    places = np.empty(len(array), np.intp)
    for i, value in enumerate(array.tolist()):
        key = None if _is_gap(value) else value
        places[i] = found.setdefault(key, len(found))
    return list(found), places
