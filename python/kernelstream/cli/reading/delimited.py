"""CSV tables, parsed by pyarrow."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from kernelstream.cli.reading.dialect import find_dialect
from kernelstream.cli.reading.lines import Lines, end_of_rows, line_of_row
from kernelstream.cli.reading.text import SAMPLE, Block, TextTable
from kernelstream.columns.arrow_types import is_number
from kernelstream.columns.names import normalized
from kernelstream.columns.texts import (
    ABSENT,
    Numerals,
    Settled,
    are_codes,
    codes_in,
    fitting,
)

__all__ = ["Delimited"]

_PLAIN = "with a decimal point alone"
_BAD_CELL = "CSV conversion error"
_DAY = r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
# Whole numbers that may be times: their pattern, what they may be, and the form of --dates.
_LIKE_TIMES = (
    (rf"^{_DAY}$", "dates", "%Y%m%d"),
    (rf"^{_DAY}([01]\d|2[0-3])[0-5]\d[0-5]\d$", "dates and times", "%Y%m%d%H%M%S"),
    (rf"^{_DAY}([01]\d|2[0-3])[0-5]\d$", "dates and times", "%Y%m%d%H%M"),
    (r"^1[0-9]{9}$", "seconds since 1970", "s"),
    (r"^1[0-9]{12}$", "milliseconds since 1970", "ms"),
)
_BAD_ROW = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)(.*)", re.DOTALL)


class Delimited(TextTable):
    """A CSV table with a header line.

    Parameters
    ----------
    lines : Lines
        Its text.
    n_first : int
        Lines by which the columns' types are decided, if this many come soon.
    delimiter : str, optional
        What separates its fields. None: it is found out.
    total : int, optional
        Bytes there are.
    missing_values, texts : sequence of str or None, collection of str
        As of `TextTable`.

    Raises
    ------
    ValueError
        It is no table.
    """

    def __init__(
        self,
        lines: Lines,
        n_first: int,
        delimiter: str | None = None,
        total: int | None = None,
        missing_values: Sequence[str] | None = None,
        texts: Collection[str] = (),
    ) -> None:
        super().__init__(lines, total, missing_values, texts)
        first = lines.first(2, n_first)
        self._dialect = find_dialect(first, self.name, delimiter)
        if self._dialect.notes:
            self.notes.append(" ".join(self._dialect.notes))
        self._names = self._dialect.names
        self.decimal = self._dialect.decimal
        self.schema = pa.schema([(name, pa.null()) for name in self._names])
        self._check_names()
        self._first_line = 1 + first[: self._dialect.header_bytes].count(b"\n")
        self._header = first[: self._dialect.header_bytes].strip(b"\r\n").rpartition(b"\n")[2]
        self._repeated = _pattern_of(self._header, self._names, self._dialect.delimiter)
        wanted = {normalized(text) for text in self._texts}
        self._texts = frozenset(name for name in self._names if normalized(name) in wanted)
        rows = first[self._dialect.header_bytes :][:SAMPLE]
        if rows.strip():
            whole = end_of_rows(rows, self._dialect.delimiter.encode())
            pieces = self._without_headers(rows[: whole or None], self._first_line)
            rows = b"".join(piece.text for piece in pieces)
        self._first_rows = rows
        if rows.strip():
            self._sample = self._settle(
                _with_clocks_as_texts(self._parsed(Block(rows, 0, self._first_line), None))
            )
            self._hint_at_zeros(rows)

    def obey(self, numerals: Mapping[str, Numerals]) -> None:
        """See `Reader.obey`."""
        wanted: dict[str, Numerals] = {}
        for name, way in numerals.items():
            if (own_name := self.own_name(name)) is not None:
                wanted[own_name] = way
        if not wanted or not self._first_rows.strip():
            return
        texts = self._read(self._first_rows, dict.fromkeys(wanted, pa.string()), ABSENT)
        for name, way in wanted.items():
            settled = self.settled.get(name)
            own = Numerals(self.decimal) if settled is None else settled.numerals
            if way == own:
                continue
            known = len(texts[name]) - texts[name].null_count
            count = fitting(texts[name], way)
            if way.date and not way.counts_seconds:
                if 2 * count > known:
                    self._settle_as_times(
                        name, Settled(pa.timestamp("us"), way, known, count, None)
                    )
                elif known:
                    self.notes.append(f"{name} does not hold times {way}")
            # Cells of the other one of clock times and durations are odd: their unit differs.
            elif (way.counts_seconds and own.counts_seconds) or count >= fitting(texts[name], own):
                self.settled[name] = Settled(pa.float64(), way, known, count, None)
            else:
                self.notes.append(
                    f"{name} holds numbers {str(own) or _PLAIN}, where those before were written "
                    f"{str(way) or _PLAIN}"
                )

    def _settle_as_times(self, name: str, settled: Settled) -> None:
        self.settled[name] = settled
        place = self.schema.get_field_index(name)
        self.schema = self.schema.set(place, pa.field(name, settled.type))

    def _blocks(self) -> Iterator[Block]:
        delimiter, line = self._dialect.delimiter.encode(), self._first_line
        for text in self._lines.blocks(self._dialect.header_bytes, delimiter):
            yield from self._without_headers(text, line)
            line += text.count(b"\n")

    def _line_of(self, block: Block, row: int) -> int | None:
        line = line_of_row(block.text, row, self._dialect.delimiter.encode())
        return None if line is None else block.line + line

    def _without_headers(self, block: bytes, line: int) -> Iterator[Block]:
        """Split a block of lines where the header comes again, as in files that were joined."""
        start = repeated = 0
        for found in self._repeated.finditer(block):
            if block[start : found.start()].strip():
                before = block[:start].count(b"\n")
                yield Block(block[start : found.start()], repeated, line + before)
                repeated = 0
            repeated += 1
            start = found.end()
        yield Block(block[start:], repeated, line + block[:start].count(b"\n"))

    def _hint_at_zeros(self, rows: bytes) -> None:
        """Note whole numbers that are written with leading zeros, as postcodes are."""
        found = [one.name for one in self.schema if one.name and is_number(one.type)]
        if not found:
            return
        texts = self._read(rows, dict.fromkeys(found, pa.string()), ABSENT)
        for name in found:
            # Codes may have odd cells, such as 1e5; of numbers, whole ones are worth a hint.
            if are_codes(texts[name].combine_chunks()):
                self.codes[name] = codes_in(texts[name].combine_chunks())
            if name in self.codes or not pa.types.is_integer(self.schema.field(name).type):
                continue
            padded = texts[name].filter(pc.match_substring_regex(texts[name], r"^0\d+$"))
            if len(padded):
                self.notes.append(
                    f"{name} holds numbers with leading zeros, such as {padded[0]}: "
                    f"-c {name} takes them for names"
                )
            for pattern, what, form in _LIKE_TIMES:
                known = texts[name].drop_null()
                if len(known) and pc.all(pc.match_substring_regex(known, pattern)).as_py():
                    note = (
                        f"{name} holds numbers such as {known[0]}, which may be {what}: "
                        f"--dates '{name}={form}' takes them for times"
                    )
                    self.notes.append(note)
                    self.like_times[name] = form, note

    def _hint_at_header(self, count: int) -> str:
        """Say what may be wrong where rows have more fields than the header."""
        if count <= len(self._names):
            return ""
        if self._header.startswith((b"#", b"%", b"//")) or len(self._names) == 1:
            return "; delete the lines above the columns' names"
        return ""

    @staticmethod
    def _is_about_a_cell(error: str) -> bool:
        return _BAD_CELL in error

    def _parse(self, block: bytes, columns: Mapping[str, pa.DataType] | None) -> pa.Table:
        """Parse some rows; numbers written in another way than the table's come as text."""
        if columns is None:
            return self._with_texts(block, None)
        types = dict(columns)
        for name, settled in self.settled.items():
            is_read = settled.numerals.date or pa.types.is_floating(types.get(name, pa.null()))
            if name in types and is_read and settled.numerals != Numerals(self._dialect.decimal):
                types[name] = pa.string()
        return self._with_texts(block, types)

    def _parse_texts(self, block: bytes, columns: Mapping[str, pa.DataType] | None) -> pa.Table:
        return self._with_texts(block, dict.fromkeys(columns or self._names, pa.string()))

    def _with_texts(self, block: bytes, columns: Mapping[str, pa.DataType] | None) -> pa.Table:
        """Parse some rows; columns that keep all their texts are parsed by themselves."""
        absent = self.missing_values if self.missing_values_given else ABSENT
        kept = [name for name in columns or self._names if name in self._texts]
        if not kept:
            return self._read(block, columns, absent)
        names = list(columns or self._names)
        others = {name: (columns or {}).get(name) for name in names if name not in self._texts}
        tables = [self._read(block, dict.fromkeys(kept, pa.string()), ("",))]
        if others:
            tables.append(self._read(block, others, absent))
        found = {name: table[name] for table in tables for name in table.column_names}
        return pa.table({name: found[name] for name in names})

    def _read(
        self,
        block: bytes,
        columns: Mapping[str, pa.DataType | None] | None,
        absent: Sequence[str],
    ) -> pa.Table:
        types = {name: kind for name, kind in (columns or {}).items() if kind is not None}
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
                column_types=types,
                strings_can_be_null=True,  # an empty field is a missing label, not the label ""
                # A text in quotation marks is meant as one, such as "NA" for Namibia.
                quoted_strings_can_be_null=self.missing_values_given,
                null_values=list(absent),
                decimal_point=self._dialect.decimal,
            ),
        )

    def _explained(self, error: str) -> tuple[int, str] | None:
        if found := _BAD_ROW.search(error):
            return int(found[1]) - 1, (
                f": it has {found[3]} field{'s' * (found[3] != '1')}, but "
                f"the header has {found[2]}{_short(found[4])}{self._hint_at_header(int(found[3]))}"
            )
        return None


def _pattern_of(header: bytes, names: Sequence[str], delimiter: str) -> re.Pattern[bytes]:
    """Give what a line is that repeats the header, as other programs may write it.

    Quotes, blanks around names and capitals may differ where there are several names: a single one
    may be a value.
    """
    forms = [re.escape(header)]
    if len(names) > 1:
        own = (rb'[ \t]*"?' + re.escape(name.encode()) + rb'"?[ \t]*' for name in names)
        forms.append(b"(?i:" + re.escape(delimiter.encode()).join(own) + b")")
    return re.compile(rb"(?:\A|(?<=\n))(?:" + b"|".join(forms) + rb")\r?(?:\n|\Z)")


def _with_clocks_as_texts(sample: pa.Table) -> pa.Table:
    """Give times of the day as text, as which later blocks have them."""
    for place, kind in enumerate(sample.schema.types):
        if pa.types.is_time(kind):
            texts = pa.array([str(time or "") for time in sample.column(place).to_pylist()])
            sample = sample.set_column(place, sample.field(place).with_type(pa.string()), texts)
    return sample


def _short(text: Any, most: int = 60) -> str:
    words = " ".join(str(text).split())
    return words if len(words) <= most else words[:most] + "…"
