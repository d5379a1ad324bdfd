"""JSON lines: one object a line, parsed by pyarrow."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from kernelstream.cli.reading.lines import Lines, line_of_row
from kernelstream.cli.reading.text import SAMPLE, Block, TextTable

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
        Lines by which the columns' types are decided, if this many come soon.
    total : int, optional
        Bytes there are.
    missing_values, texts : sequence of str or None, collection of str
        As of `TextTable`.

    Raises
    ------
    ValueError
        It is no table.
    """

    is_json = True

    def __init__(
        self,
        lines: Lines,
        n_first: int,
        total: int | None = None,
        missing_values: Sequence[str] | None = None,
        texts: Collection[str] = (),
    ) -> None:
        super().__init__(lines, total, missing_values, texts)
        first = lines.first(1, n_first)
        first = first[: first.rfind(b"\n", 0, SAMPLE) + 1] or first
        self._mixed: set[str] = set()
        self._sample = self._with_zones_as_texts(self._parsed(Block(first, 0, 1), None), first)
        self.schema = self._sample.schema
        self._check_names()
        self._settle(self._sample, only=self._mixed)

    def _blocks(self) -> Iterator[Block]:
        line = 1
        for text in self._lines.blocks():
            yield Block(text, 0, line)
            line += text.count(b"\n")

    def _line_of(self, block: Block, row: int) -> int | None:
        line = line_of_row(block.text, row, None)
        return None if line is None else block.line + line

    @staticmethod
    def _is_about_a_cell(error: str) -> bool:
        changed = _CHANGED.search(error)
        return changed is not None and bool(changed[1])

    def _parse_texts(self, block: bytes, columns: Mapping[str, pa.DataType] | None) -> pa.Table:
        """Parse some rows of which a column has values of several types: that one comes as text."""
        rows = [json.loads(line) for line in block.splitlines() if line.strip()]
        names = list(columns or dict.fromkeys(name for row in rows for name in row))
        found = {name: _column([row.get(name) for row in rows]) for name in names}
        self._mixed.update(name for name, (_, mixed) in found.items() if mixed)
        return pa.table({name: column for name, (column, _) in found.items()})

    def _parse(self, block: bytes, columns: Mapping[str, pa.DataType] | None) -> pa.Table:
        schema = (
            None
            if columns is None
            else pa.schema(
                # Texts that are times are cast later, by the rules of all tables of text.
                [
                    (name, pa.string() if self._is_written(name) else kind)
                    for name, kind in columns.items()
                ]
            )
        )
        table = pa_json.read_json(
            pa.BufferReader(block),
            read_options=pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pa_json.ParseOptions(
                explicit_schema=schema,
                unexpected_field_behavior="infer" if schema is None else "ignore",
            ),
        )
        return table if schema is None else table.select(schema.names)

    def _with_zones_as_texts(self, sample: pa.Table, text: bytes) -> pa.Table:
        """Give times with a zone or offset as text: pyarrow would read them as times without."""
        times = [field.name for field in sample.schema if pa.types.is_timestamp(field.type)]
        if times:
            texts = self._parse(text, dict.fromkeys(times, pa.string()))
            for name in times:
                if pc.all(pc.match_substring_regex(texts[name], r":\d.*(Z|[-+]\d\d)")).as_py():
                    place = sample.column_names.index(name)
                    sample = sample.set_column(place, name, texts[name])
        return sample

    def _is_written(self, name: str) -> bool:
        return name in self.settled and pa.types.is_temporal(self.settled[name].type)

    def _explained(self, error: str) -> tuple[int, str] | None:
        found = _WHERE.fullmatch(error)
        if found is None or found[2] is None:
            return None
        if _CHANGED.search(found[1]):
            return int(found[2]), ': the line is not a JSON object, such as {"x": 1, "y": 2}'
        return int(found[2]), f": the line is not JSON: {found[1].rstrip('.')}"


def _column(values: list[Any]) -> tuple[pa.Array, bool]:
    """Give a column, as text if its values are of several types; and whether they are."""
    try:
        return pa.array(values), False
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        texts = [
            value if value is None or isinstance(value, str) else json.dumps(value)
            for value in values
        ]
        return pa.array(texts, pa.string()), True
