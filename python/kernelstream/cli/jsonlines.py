"""JSON lines: one object a line, parsed by pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.json as pa_json

from kernelstream.cli.lines import Lines
from kernelstream.cli.reader import Reader, RowError

__all__ = ["JsonLines"]

_SAMPLE = 1 << 18  # bytes that tell the columns' types
_WHERE = re.compile(r"(?:JSON parse error: )?(.*?)(?: in row (\d+))?", re.DOTALL)
_CHANGED = re.compile(r"Column\(/(.*)\) changed from (\w+) to (\w+)", re.DOTALL)


class JsonLines(Reader):
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

    def __init__(self, lines: Lines, n_first: int, total: int | None = None) -> None:
        super().__init__()
        self.name = lines.name
        self.total = total
        self._lines = lines
        first = lines.first(1, n_first)
        first = first[: first.rfind(b"\n", 0, _SAMPLE) + 1] or first
        self._sample = self._parsed(first, None, 0)
        self.schema = self._sample.schema
        self._check_names()

    def records(self, columns: Mapping[str, pa.DataType]) -> Iterator[tuple[pa.RecordBatch, int]]:
        """See `Reader.records`."""
        rows = 0
        schema = pa.schema(list(columns.items()))
        for block in self._lines.blocks():
            table = self._parsed(block, schema, rows)
            rows += table.num_rows
            for record in table.to_batches():
                yield record, self._lines.done

    def sample(self, name: str) -> pa.Array | None:
        """See `Reader.sample`."""
        return None if self._sample is None else self._sample.column(name)

    def close(self) -> None:
        """Close the file."""
        self._lines.close()

    def _parsed(self, block: bytes, schema: pa.Schema | None, rows_before: int) -> pa.Table:
        behaviour = "infer" if schema is None else "ignore"
        if not block.strip():
            return (schema or pa.schema([])).empty_table()
        try:
            table = pa_json.read_json(
                pa.BufferReader(block),
                read_options=pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
                parse_options=pa_json.ParseOptions(
                    explicit_schema=schema, unexpected_field_behavior=behaviour
                ),
            )
        except pa.ArrowInvalid as error:
            raise RowError(self._explained(str(error), rows_before)) from None
        return table if schema is None else table.select(schema.names)

    def _explained(self, error: str, rows_before: int) -> str:
        found = _WHERE.fullmatch(error)
        if found is None or found[2] is None:
            return f"{self.name}, after row {rows_before}: {error}"
        where = f"{self.name}, row {rows_before + int(found[2]) + 1}"
        if changed := _CHANGED.search(found[1]):
            if not changed[1]:
                return f'{where}: the line is not a JSON object, such as {{"x": 1, "y": 2}}'
            return f"{where}, column {changed[1]!r}: a {changed[3]} where {changed[2]}s are wanted"
        return f"{where}: the line is not JSON: {found[1].rstrip('.')}"
