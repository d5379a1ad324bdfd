"""What the readers of all formats have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

__all__ = ["Reader", "RowError", "is_number", "kind_of", "plain", "what_else"]


class RowError(ValueError):
    """A row of a table that cannot be read."""


class Reader(ABC):
    """A table that has been opened: its columns are known, its rows come in blocks.

    Attributes
    ----------
    name : str
        What messages call it.
    schema : pyarrow.Schema
        Its columns. Types of text formats are those of the first rows; null: no value yet.
    total : int or None
        Size in the unit of the position that `records` gives; None if unknown.
    notes : list of str
        What was found out about the format and is not usual, for the user to know.
    """

    name: str
    schema: pa.Schema
    total: int | None = None
    notes: list[str]

    def __init__(self) -> None:
        self.notes = []

    @abstractmethod
    def records(self, columns: Mapping[str, pa.DataType]) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Read the rows, once.

        Parameters
        ----------
        columns : mapping of str to DataType
            The columns to read, and their types.

        Yields
        ------
        record : RecordBatch
            Some more rows of these columns.
        position : int
            How much of `total` has been read.

        Raises
        ------
        RowError
            A row cannot be read; the message names it.
        """

    def sample(self, name: str) -> pa.Array | None:
        """Look at the first values of a column, without reading them.

        Parameters
        ----------
        name : str
            The column.

        Returns
        -------
        values : Array or ChunkedArray, or None
            Some of them; None if that is not possible.
        """
        del name
        return None

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError, pa.ArrowException):
            self.close()

    def _check_names(self) -> None:
        names = self.schema.names
        twice = sorted({name for name in names if names.count(name) > 1 and name})
        if twice:
            raise ValueError(f"{self.name} has two columns named {twice[0]!r}")


def plain(kind: pa.DataType) -> pa.DataType:
    """Give the type of a column's values, whether they are stored once or many times.

    Parameters
    ----------
    kind : DataType
        A type, possibly of a dictionary.

    Returns
    -------
    kind : DataType
        The type of its values.
    """
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_number(kind: pa.DataType) -> bool:
    """Whether values are numbers, or truth values, which count as 0 and 1.

    Parameters
    ----------
    kind : DataType
        Their type.

    Returns
    -------
    number : bool
        Whether they are.
    """
    types: Any = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
    )


def kind_of(kind: pa.DataType) -> str | None:
    """Say what a column holds, if that can be learned.

    Parameters
    ----------
    kind : DataType
        Type of the column.

    Returns
    -------
    kind : {"number", "boolean", "time", "category"} or None
        The kind; None: something else.
    """
    types: Any = pa.types
    kind = plain(kind)
    if types.is_boolean(kind):
        return "boolean"
    if is_number(kind):
        return "number"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "time"
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return "category" if text else None


def what_else(kind: pa.DataType) -> str:
    """Say what a column contains, for messages.

    Parameters
    ----------
    kind : DataType
        Type of the column.

    Returns
    -------
    what : str
        What it contains.
    """
    types: Any = pa.types
    kind = plain(kind)
    words = {"number": "numbers", "boolean": "true or false", "time": "times", "category": "text"}
    if (found := kind_of(kind)) is not None:
        return words[found]
    for found, what in (
        (types.is_null, "empty"),
        (types.is_time, "a time of the day"),
        (types.is_binary, "text that is not UTF-8"),
        (types.is_nested, "a list or an object"),
    ):
        if found(kind):
            return what
    return str(kind)
