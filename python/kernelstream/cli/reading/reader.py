"""What the readers of all formats have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import ClassVar, Self

import pyarrow as pa

__all__ = ["Reader", "RowError"]


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
    is_json : bool
        Whether its rows are JSON.
    """

    schema: pa.Schema
    is_json: ClassVar[bool] = False

    def __init__(self, name: str, total: int | None = None) -> None:
        self.name = name
        self.total = total
        self.notes: list[str] = []

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
        count = Counter(name for name in self.schema.names if name)
        twice = sorted(name for name, times in count.items() if times > 1)
        if twice:
            raise ValueError(f"{self.name} has two columns named {twice[0]!r}")
