"""What tables of text have in common: they are parsed by pyarrow, block by block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

import pyarrow as pa

from kernelstream.cli.reading.lines import Lines
from kernelstream.cli.reading.reader import Reader, RowError, Rows
from kernelstream.columns.texts import settle

__all__ = ["SAMPLE", "TextTable"]

SAMPLE = 1 << 18  # bytes that tell the columns' types

T = TypeVar("T")


class TextTable(Reader):
    """A table of text.

    Parameters
    ----------
    lines : Lines
        Its text.
    total : int or None
        Bytes there are; None for a pipe, whose rows are given as they come.
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
        with closing(self._tables(columns)) as tables:
            # A thread that waits for a pipe could not be stopped.
            for table, first, done in tables if self.total is None else _one_ahead(tables):
                before = first
                for record in table.to_batches():
                    yield Rows(record, before, done)
                    before += record.num_rows

    def sample(self, name: str) -> pa.Array | None:
        """See `Reader.sample`."""
        return None if self._sample is None else self._sample.column(name)

    def close(self) -> None:
        """Close the file."""
        self._lines.close()

    @abstractmethod
    def _blocks(self) -> Iterator[tuple[bytes, int]]:
        """Give the rows as text, and how many rows before each block repeat the header."""

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
    def _explained(self, error: str, rows_before: int) -> str | None:
        """Say what pyarrow means, and in which row; None if that is not known."""

    def _tables(
        self, columns: Mapping[str, pa.DataType]
    ) -> Generator[tuple[pa.Table, int, int], None, None]:
        rows = 0
        for block, repeated in self._blocks():
            for _ in range(repeated):
                rows += 1
                self.repeated.append(rows)
            table = self._parsed(block, columns, rows)
            yield table, rows + 1, self._lines.done
            rows += table.num_rows

    def _parsed(
        self, block: bytes, columns: Mapping[str, pa.DataType] | None, rows_before: int = 0
    ) -> pa.Table:
        if not block.strip():
            return pa.schema(list((columns or {}).items())).empty_table()
        try:
            try:
                return self._parse(block, columns)
            except pa.ArrowInvalid as error:
                if not self._is_about_a_cell(str(error)):
                    raise
            return self._parse_texts(block, columns)
        except pa.ArrowInvalid as error:
            what = self._explained(str(error), rows_before) or f"after row {rows_before}: {error}"
            raise RowError(f"{self.name}, {what}") from None


def _one_ahead(items: Iterator[T]) -> Iterator[T]:
    """Prepare the next item in another thread while one is used."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item
