"""JSON lines: one object a line, parsed by pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.json as pa_json

from kernelstream.cli.reading.lines import Lines
from kernelstream.cli.reading.text import SAMPLE, TextTable

__all__ = ["JsonLines"]

_WHERE = re.compile(r"(?:JSON parse error: )?(.*?)(?: in row (\d+))?", re.DOTALL)
_CHANGED = re.compile(r"Column\(/(.*)\) changed from (\w+) to (\w+)", re.DOTALL)


class JsonLines(TextTable):
    """A table of JSON objects, one a line; a name that an object lacks is a missing value.

    Parameters
    ----------
    lines : Lines
        Its text.
    n_first : int
        Lines by which the columns' types are decided, if so many come soon.
    total : int, optional
        Bytes there are.

    Raises
    ------
    ValueError
        It is no table.
    """

    is_json = True

    def __init__(self, lines: Lines, n_first: int, total: int | None = None) -> None:
        super().__init__(lines, total)
        first = lines.first(1, n_first)
        first = first[: first.rfind(b"\n", 0, SAMPLE) + 1] or first
        self._sample = self._parsed(first, None)
        self.schema = self._sample.schema
        self._check_names()

    def _blocks(self) -> Iterator[bytes]:
        return self._lines.blocks()

    def _parse(self, block: bytes, columns: Mapping[str, pa.DataType] | None) -> pa.Table:
        schema = None if columns is None else pa.schema(list(columns.items()))
        table = pa_json.read_json(
            pa.BufferReader(block),
            read_options=pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pa_json.ParseOptions(
                explicit_schema=schema,
                unexpected_field_behavior="infer" if schema is None else "ignore",
            ),
        )
        return table if schema is None else table.select(schema.names)

    def _explained(self, error: str, rows_before: int) -> str | None:
        found = _WHERE.fullmatch(error)
        if found is None or found[2] is None:
            return None
        where = f"row {rows_before + int(found[2]) + 1}"
        if changed := _CHANGED.search(found[1]):
            if not changed[1]:
                return f'{where}: the line is not a JSON object, such as {{"x": 1, "y": 2}}'
            return f"{where}, column {changed[1]!r}: a {changed[3]} where {changed[2]}s are wanted"
        return f"{where}: the line is not JSON: {found[1].rstrip('.')}"
