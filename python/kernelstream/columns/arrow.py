"""Columns of Arrow as arrays of what models learn: numbers, truth values, times, categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["as_array", "gaps_of", "has_fraction", "labels_of"]

_LARGEST = 2.0**63  # whole numbers of 64 bits are below it


def as_array(column: pa.Array, kind: str, zone: str = "") -> NDArray[Any]:
    """Give a column as an array.

    Parameters
    ----------
    column : Array
        The column.
    kind : {"number", "boolean", "time", "category"}
        What it holds.
    zone : str, default=""
        Time zone on whose clocks times are given, if they are instants; empty: UTC.

    Returns
    -------
    values : ndarray of shape (n,)
        float64, datetime64 in microseconds, or objects; NaN, NaT or None where a value is missing.
    """
    if kind == "category":
        return _words(column)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kind == "time":
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            unit = column.type.unit
            column = pc.local_timestamp(column.cast(pa.timestamp(unit, zone or "UTC")))
        column = column.cast(pa.timestamp("us"), safe=False)
    else:
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        if pa.types.is_duration(column.type) or pa.types.is_time(column.type):
            is_span = pa.types.is_duration(column.type)
            micro = column.cast(pa.duration("us") if is_span else pa.time64("us"), safe=False)
            micro = micro.cast(pa.int64())
            column = pc.divide(micro.cast(pa.float64(), safe=False), 1e6)
        if column.type != pa.float64():
            column = column.cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def gaps_of(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell where a column has no value.

    Parameters
    ----------
    values : ndarray of shape (n,)
        What `as_array` gave.

    Returns
    -------
    gaps : ndarray of bool of shape (n,)
        Where.
    """
    if values.dtype.kind == "O":
        return np.array([value is None for value in values.tolist()], dtype=bool)
    return np.asarray(np.isnat(values) if values.dtype.kind == "M" else np.isnan(values))


def has_fraction(numbers: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which numbers are not whole numbers of 64 bits.

    Parameters
    ----------
    numbers : ndarray of float64 of shape (n,)
        Numbers, NaN where there is none.

    Returns
    -------
    has_fraction : ndarray of bool of shape (n,)
        Where; False for NaN.
    """
    inside = np.abs(numbers) < _LARGEST
    whole = inside & (np.where(inside, numbers, 0.5) % 1.0 == 0.0)
    return np.asarray(~whole & ~np.isnan(numbers))


def labels_of(column: pa.Array, kind: pa.DataType) -> NDArray[Any]:
    """Give a column of labels.

    Parameters
    ----------
    column : pyarrow.Array
        The column.
    kind : pyarrow.DataType
        The type of the labels.

    Returns
    -------
    labels : ndarray of shape (n,)
        Labels in their own type, or objects with None for missing ones.
    """
    if column.type != kind:
        column = column.cast(kind)
    labels = column.to_pylist()
    if pa.types.is_string(kind) and "" in labels:
        labels = [label or None for label in labels]  # a quoted empty field
    return np.array(labels, dtype=object if None in labels else None)


def _words(column: pa.Array) -> NDArray[Any]:
    """Give categories as strings, each made once."""
    if not pa.types.is_dictionary(column.type):
        is_bool = pa.types.is_boolean(column.type)
        column = (column if is_bool else column.cast(pa.string())).dictionary_encode()
    words = np.array([*map(_word, column.dictionary.to_pylist()), None], dtype=object)
    places = column.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)
    found: NDArray[Any] = words[places]
    found[found == ""] = None
    return found


def _word(value: Any) -> Any:
    """Give the text of a category: 3.0 is 3, since whole numbers become floats beside gaps."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else str(value)
