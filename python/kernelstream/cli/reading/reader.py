"""What the readers of all formats have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import ClassVar, NamedTuple, Self

import pyarrow as pa

from kernelstream.columns.arrow_types import kind_of
from kernelstream.columns.names import name_in
from kernelstream.columns.texts import MISSING, Numerals, Settled, fitting, settle

__all__ = ["Reader", "RowError", "Rows"]


class RowError(ValueError):
    """A row of a table that cannot be read."""


def _no_line(row: int) -> int | None:
    del row
    return None


def _numbered(row: int, column: str | None) -> str:
    return f"row {row}" + ("" if column is None else f", column {column!r}")


class Rows(NamedTuple):
    """Some consecutive rows of a table.

    Attributes
    ----------
    record : RecordBatch
        The rows.
    first : int
        The number of the first one, counted from 1 without the header.
    position : int
        How much of the table's `total` has been read with them.
    line_of : callable
        Gives the line of a text file in which a row of these begins; None where there are none.
    """

    record: pa.RecordBatch
    first: int
    position: int
    line_of: Callable[[int], int | None] = _no_line

    def place(self, row: int, column: str | None = None) -> str:
        """Say which row one of these is.

        Parameters
        ----------
        row : int
            Its place among these, from 0.
        column : str, optional
            A column of it.

        Returns
        -------
        text : str
            Its number in the table, and its line where that is another number.
        """
        number, line = self.first + row, self.line_of(row)
        where = _numbered(number, column)
        return where if line in {None, number} else f"{where} (line {line})"


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
    settled : dict of str to Settled
        How the types of columns of text were settled; empty for formats that declare types.
    codes : dict of str to str
        Columns of digits that are codes rather than numbers, and an example of each.
    like_times : dict of str to (str, str)
        Columns of whole numbers that may be times: how these would be written, and the note that
        says so.
    decimal : str
        The decimal sign of most of its numbers.
    missing_values : tuple of str
        Texts that stand for a missing value where numbers, times or truth values are.
    missing_values_given : bool
        Whether the user gave these, so that they hold for text, too.
    repeated : list of int
        Numbers of the rows that repeat the header, which are left out.
    is_json : bool
        Whether its rows are JSON.
    """

    schema: pa.Schema
    is_json: ClassVar[bool] = False

    def __init__(self, name: str, total: int | None = None) -> None:
        self.name = name
        self.total = total
        self.notes: list[str] = []
        self.settled: dict[str, Settled] = {}
        self.codes: dict[str, str] = {}
        self.like_times: dict[str, tuple[str, str]] = {}
        self.missing_values: tuple[str, ...] = MISSING
        self.missing_values_given = False
        self.repeated: list[int] = []
        self.decimal = "."
        self._text_settled: dict[str, Settled] = {}

    @abstractmethod
    def records(self, columns: Mapping[str, pa.DataType]) -> Iterator[Rows]:
        """Read the rows, once.

        Parameters
        ----------
        columns : mapping of str to DataType
            The columns to read, and their types.

        Yields
        ------
        rows : Rows
            Some more rows of these columns. A column of text comes as it is where a cell is not
            of the type: `columns.texts` casts it.

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

    def own_name(self, name: str) -> str | None:
        """Find a column whose name may be written in another form of Unicode.

        Returns
        -------
        own : str or None
            The table's own name; None if it has no such column.
        """
        found: str | None = name_in(name, self.schema.names)
        return found

    def settled_as(self, name: str) -> Settled | None:
        """Tell what a column of text would be by its first cells, also where it is declared text.

        Parameters
        ----------
        name : str
            The table's own name of the column.

        Returns
        -------
        settled : Settled or None
            See `columns.texts.settle`; None if it is none of text, or cannot be looked at.
        """
        if name in self.settled:
            return self.settled[name]
        if name not in self._text_settled and kind_of(self.schema.field(name).type) == "category":
            sample = self.sample(name)
            if sample is not None:
                self._text_settled[name] = settle(sample, self.decimal)
        return self._text_settled.get(name)

    def obey(self, numerals: Mapping[str, Numerals]) -> None:
        """Read numbers as they are written in the table with which a model was begun.

        Where more of the first cells fit another way, the table is read in that way, and a note
        says so.

        Parameters
        ----------
        numerals : mapping of str to Numerals
            How numbers are written, by the columns' names.
        """
        for name, way in numerals.items():
            own = self.own_name(name)
            if own is None or not way.date or way == getattr(self.settled.get(own), "numerals", ""):
                continue
            sample = self.sample(own)
            if sample is None or kind_of(self.schema.field(own).type) != "category":
                continue
            known, count = len(sample) - sample.null_count, fitting(sample, way)
            if 2 * count > known:
                type_ = pa.float64() if way.counts_seconds else pa.timestamp("us")
                self._text_settled[own] = Settled(type_, way, known, count, None)
            elif known:
                self.notes.append(f"{name} does not hold times {way}")

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
            raise ValueError(f"{self.name} has two columns named {twice[0]!r}: rename one")
