"""What tables of text have in common: they are parsed by pyarrow, block by block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

import pyarrow as pa

from kernelstream.cli.reading.lines import Lines
from kernelstream.cli.reading.reader import Reader, RowError

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
    """

    _sample: pa.Table | None = None

    def __init__(self, lines: Lines, total: int | None) -> None:
        super().__init__(lines.name, total)
        self._lines = lines

    def records(self, columns: Mapping[str, pa.DataType]) -> Iterator[tuple[pa.RecordBatch, int]]:
        """See `Reader.records`."""
        with closing(self._tables(columns)) as tables:
            # A thread that waits for a pipe could not be stopped.
            for table, done in tables if self.total is None else _one_ahead(tables):
                for record in table.to_batches():
                    yield record, done

    def sample(self, name: str) -> pa.Array | None:
        """See `Reader.sample`."""
        return None if self._sample is None else self._sample.column(name)

    def close(self) -> None:
        """Close the file."""
        self._lines.close()

    @abstractmethod
    def _blocks(self) -> Iterator[bytes]:
        """Give the rows as text."""

    @abstractmethod
    def _parse(self, block: bytes, columns: Mapping[str, pa.DataType] | None) -> pa.Table:
        """Parse some rows: these columns, or all to find out their types."""

    @abstractmethod
    def _explained(self, error: str, rows_before: int) -> str | None:
        """Say what pyarrow means, and in which row; None if that is not known."""

    def _tables(
        self, columns: Mapping[str, pa.DataType]
    ) -> Generator[tuple[pa.Table, int], None, None]:
        rows = 0
        for block in self._blocks():
            table = self._parsed(block, columns, rows)
            rows += table.num_rows
            yield table, self._lines.done

    def _parsed(
        self, block: bytes, columns: Mapping[str, pa.DataType] | None, rows_before: int = 0
    ) -> pa.Table:
        if not block.strip():
            return pa.schema(list((columns or {}).items())).empty_table()
        try:
            return self._parse(block, columns)
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
