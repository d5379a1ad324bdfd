"""What columns hold, going by their types in Arrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

__all__ = [
    "WORDS",
    "can_be_label",
    "is_number",
    "kind_of",
    "named_zone",
    "plain",
    "type_to_read",
    "what_else",
]

WORDS = {"number": "numbers", "boolean": "true or false", "time": "times", "category": "text"}


def plain(kind: pa.DataType) -> pa.DataType:
    """Give the type of a column's values, whether they are stored once or many times.

    Parameters
    ----------
    kind : DataType
        A type, possibly of a dictionary.
    """
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_number(kind: pa.DataType) -> bool:
    """Whether values are numbers, truth values (0 and 1), or spans or times of the day (seconds).

    Parameters
    ----------
    kind : pyarrow.DataType
        The type of the column.
    """
    types: Any = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
        or types.is_duration(kind)
        or types.is_time(kind)
    )


def kind_of(kind: pa.DataType) -> str | None:
    """Say what a column holds, if that can be learned.

    Parameters
    ----------
    kind : pyarrow.DataType
        The type of the column.

    Returns
    -------
    kind : {"number", "boolean", "time", "category"} or None
        The kind; None: something else.
    """
    types: Any = pa.types
    if types.is_dictionary(kind):
        # Values stored once are categories by their type, also numbers.
        return "category"
    if types.is_boolean(kind):
        return "boolean"
    if is_number(kind):
        return "number"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "time"
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return "category" if text else None


def named_zone(kind: pa.DataType) -> str:
    """Give the time zone of a column of times; empty if that is UTC, an offset, or none.

    Parameters
    ----------
    kind : pyarrow.DataType
        The type of the column.
    """
    zone = getattr(plain(kind), "tz", None) or ""
    return "" if zone.upper() == "UTC" or zone[:1] in {"+", "-"} else str(zone)


def what_else(kind: pa.DataType) -> str:
    """Say what a column contains, for messages.

    Parameters
    ----------
    kind : pyarrow.DataType
        The type of the column.
    """
    types: Any = pa.types
    if (known := kind_of(kind)) is not None:
        return WORDS[known]
    kind = plain(kind)
    for found, what in (
        (types.is_null, "empty"),
        (types.is_binary, "bytes"),
        (types.is_nested, "a list or an object"),
    ):
        if found(kind):
            return what
    return str(kind)


def can_be_label(kind: pa.DataType) -> bool:
    """Tell whether a column may contain labels: text, whole numbers or truth values.

    Parameters
    ----------
    kind : pyarrow.DataType
        The type of the column.
    """
    kind = plain(kind)
    return bool(
        kind_of(kind) == "category" or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    )


def type_to_read(kind: str, own: pa.DataType) -> pa.DataType:
    """Give the type to read a column of a text table as.

    Parameters
    ----------
    kind : {"number", "boolean", "time", "category"}
        What it holds.
    own : DataType
        What its first rows look like.

    Returns
    -------
    type : DataType
        The type: whole numbers may be followed by fractions.
    """
    if kind == "category":
        return pa.string()
    if kind == "time":
        return own if pa.types.is_temporal(own) else pa.timestamp("us")
    if kind == "number" and (pa.types.is_time(own) or pa.types.is_duration(own)):
        return own
    if pa.types.is_boolean(own) or (kind == "boolean" and not is_number(own)):
        return pa.bool_()
    return pa.float64()
