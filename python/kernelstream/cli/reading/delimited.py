"""CSV tables, parsed by pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from kernelstream.cli.reading.dialect import find_dialect
from kernelstream.cli.reading.lines import Lines, end_of_rows
from kernelstream.cli.reading.text import SAMPLE, TextTable

__all__ = ["Delimited"]

_BAD_FIELD = re.compile(r"In CSV column #(\d+): Row #(\d+): .*?invalid (.*)", re.DOTALL)
_HOW = "say how it is encoded, such as --encoding latin-1"
_BAD_ROW = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)(.*)", re.DOTALL)


class Delimited(TextTable):
    """A CSV table with a header line.

    Parameters
    ----------
    lines : Lines
        Its text.
    n_first : int
        Lines by which the columns' types are decided, if so many come soon.
    delimiter : str, optional
        What separates its fields. None: it is found out.
    total : int, optional
        Bytes there are.

    Raises
    ------
    ValueError
        It is no table.
    """

    def __init__(
        self, lines: Lines, n_first: int, delimiter: str | None = None, total: int | None = None
    ) -> None:
        super().__init__(lines, total)
        first = lines.first(2, n_first)
        self._dialect = find_dialect(first, self.name, delimiter)
        if self._dialect.notes:
            self.notes.append(" ".join(self._dialect.notes))
        self._names = self._dialect.names
        self.schema = pa.schema([(name, pa.null()) for name in self._names])
        self._check_names()
        rows = first[self._dialect.header_bytes :][:SAMPLE]
        if rows.strip():
            whole = end_of_rows(rows, self._dialect.delimiter.encode())
            self._sample = self._parsed(rows[: whole or None], None)
            self.schema = self._sample.schema
            if any(pa.types.is_binary(kind) for kind in self.schema.types):
                self.notes.append(f"not all text is UTF-8: {_HOW}")

    def _blocks(self) -> Iterator[bytes]:
        return self._lines.blocks(self._dialect.header_bytes, self._dialect.delimiter.encode())

    def _parse(self, block: bytes, columns: Mapping[str, pa.DataType] | None) -> pa.Table:
        return pa_csv.read_csv(
            pa.BufferReader(block),
            # In one thread it tells which row is at fault.
            read_options=pa_csv.ReadOptions(
                column_names=self._names, use_threads=False, block_size=len(block) + 1
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=self._dialect.delimiter, newlines_in_values=True
            ),
            convert_options=pa_csv.ConvertOptions(
                include_columns=None if columns is None else list(columns),
                column_types=dict(columns or {}),
                strings_can_be_null=True,  # an empty field is a missing label, not the label ""
                decimal_point=self._dialect.decimal,
            ),
        )

    def _explained(self, error: str, rows_before: int) -> str | None:
        if found := _BAD_FIELD.search(error):
            where = f"row {rows_before + int(found[2])}, column {self._names[int(found[1])]!r}"
            what = found[3].removeprefix("value ").strip()
            if "UTF8" in what:
                return f"{where}: the text is not UTF-8: {_HOW}"
            return f"{where}: {_short(what)} is not {self._wanted(error)}"
        if found := _BAD_ROW.search(error):
            return (
                f"row {rows_before + int(found[1])}: it has {found[3]} "
                f"field{'s' * (found[3] != '1')}, but "
                f"the header has {found[2]}{_short(found[4])}"
            )
        return None

    @staticmethod
    def _wanted(error: str) -> str:
        return "true or false" if "bool" in error else "a number"


def _short(text: Any, most: int = 60) -> str:
    words = " ".join(str(text).split())
    return words if len(words) <= most else words[:most] + "…"
