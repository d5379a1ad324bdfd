"""What tables of text have in common: they are parsed by pyarrow, block by block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import NamedTuple, TypeVar

import pyarrow as pa

from kernelstream.cli.reading.lines import Lines
from kernelstream.cli.reading.reader import Reader, RowError, Rows
from kernelstream.columns.texts import settle

__all__ = ["SAMPLE", "Block", "TextTable"]

_NOT_UTF8 = "text that is not UTF-8 is read as cp1252; --encoding names another encoding"

SAMPLE = 1 << 18  # bytes from which the columns' types are determined

T = TypeVar("T")


class Block(NamedTuple):
    """Some consecutive rows as text.

    Attributes
    ----------
    text : bytes
        Whole lines.
    repeated : int
        Rows just before it that repeat the header.
    line : int
        The line of the file in which it begins, from 1.
    """

    text: bytes
    repeated: int
    line: int


class TextTable(Reader):
    """A table of text.

    Parameters
    ----------
    lines : Lines
        Its text.
    total : int or None
        Size in bytes; None for a pipe, whose rows are given as they arrive.
    missing_values : sequence of str, optional
        Texts that stand for a missing value. None: the usual ones.
    texts : collection of str
        Columns in which every text that is not empty is a value.
    """

    _sample: pa.Table | None = None

    def __init__(
        self,
        lines: Lines,
        total: int | None,
        missing_values: Sequence[str] | None = None,
        texts: Collection[str] = (),
    ) -> None:
        super().__init__(lines.name, total)
        self._lines = lines
        self._texts = frozenset(texts)
        self.missing_values_given = missing_values is not None
        if missing_values is not None:
            self.missing_values = ("", *missing_values)

    def records(self, columns: Mapping[str, pa.DataType]) -> Iterator[Rows]:
        """See `Reader.records`."""
        tables = self._tables(columns)
        # A thread that waits for a pipe could not be stopped.
        ahead = tables if self.total is None else _one_ahead(tables)
        # The thread ends before the file that it reads is closed.
        with closing(tables), closing(ahead):
            for table, first, done, block in ahead:
                before = 0
                for record in table.to_batches():
                    line_of = partial(self._line_after, block, before)
                    yield Rows(record, first + before, done, line_of)
                    before += record.num_rows

    def sample(self, name: str) -> pa.Array | None:
        """See `Reader.sample`."""
        return None if self._sample is None else self._sample.column(name)

    def close(self) -> None:
        """Close the file."""
        self._lines.close()

    @abstractmethod
    def _blocks(self) -> Iterator[Block]:
        """Give the rows as text."""

    @abstractmethod
    def _line_of(self, block: Block, row: int) -> int | None:
        """Give the line of the file in which a row of a block begins, both from the first."""

    def _line_after(self, block: Block, before: int, row: int) -> int | None:
        return self._line_of(block, before + row)

    @abstractmethod
    def _parse(self, block: bytes, columns: Mapping[str, pa.DataType] | None) -> pa.Table:
        """Parse some rows: these columns, or all to find out their types."""

    @abstractmethod
    def _parse_texts(self, block: bytes, columns: Mapping[str, pa.DataType] | None) -> pa.Table:
        """Parse some rows that have a cell of another type: such columns as text."""

    @staticmethod
    @abstractmethod
    def _is_about_a_cell(error: str) -> bool:
        """Tell whether pyarrow means that a cell is not of its column's type."""

    def _settle(self, sample: pa.Table, only: Collection[str] | None = None) -> pa.Table:
        """Settle the types of the columns whose first cells came as text.

        Parameters
        ----------
        sample : Table
            The first rows.
        only : collection of str, optional
            Columns that may become numbers or truth values; others only times. None: all.

        Returns
        -------
        sample : Table
            The same, with these types.
        """
        fields = []
        for name, column in zip(sample.column_names, sample.columns, strict=True):
            if pa.types.is_string(column.type) and name not in self._texts:
                settled = settle(column, self.decimal)
                if only is None or name in only or pa.types.is_temporal(settled.type):
                    self.settled[name] = settled
            settled_as = self.settled.get(name)
            fields.append(pa.field(name, settled_as.type if settled_as else column.type))
        self.schema = pa.schema(fields)
        return sample

    @abstractmethod
    def _explained(self, error: str) -> tuple[int, str] | None:
        """Give the row of a block and pyarrow's reason; None if that is not known."""

    def _tables(
        self, columns: Mapping[str, pa.DataType]
    ) -> Generator[tuple[pa.Table, int, int, Block], None, None]:
        rows = 0
        for block in self._blocks():
            for _ in range(block.repeated):
                rows += 1
                self.repeated.append(rows)
            table = self._parsed(block, columns, rows)
            yield table, rows + 1, self._lines.done, block
            rows += table.num_rows

    def _parsed(
        self, block: Block, columns: Mapping[str, pa.DataType] | None, rows_before: int = 0
    ) -> pa.Table:
        if self._lines.is_cp1252 and _NOT_UTF8 not in self.notes:
            self.notes.append(_NOT_UTF8)
        if not block.text.strip():
            return pa.schema(list((columns or {}).items())).empty_table()
        try:
            try:
                return self._parse(block.text, columns)
            except pa.ArrowInvalid as error:
                if not self._is_about_a_cell(str(error)):
                    raise
            return self._parse_texts(block.text, columns)
        except pa.ArrowInvalid as error:
            row, what = self._explained(str(error)) or (0, f" or later: {error}")
            place = Rows(pa.record_batch({}), rows_before + 1, 0, partial(self._line_of, block))
            raise RowError(f"{self.name}, {place.place(row)}{what}") from None


def _one_ahead(items: Iterator[T]) -> Generator[T, None, None]:
    """Prepare the next item in another thread while one is used."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item
