"""Which format a file or pipe has, found by its first bytes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kernelstream.cli.reading.columnar import ArrowFile, ArrowStream, Parquet
from kernelstream.cli.reading.delimited import Delimited
from kernelstream.cli.reading.jsonlines import JsonLines
from kernelstream.cli.reading.lines import Lines
from kernelstream.cli.reading.raw import Bytes, closed_on_error
from kernelstream.cli.reading.reader import Reader
from kernelstream.cli.reading.sources import Source

__all__ = ["open_table"]

_READ = "tables are read as CSV, JSON lines, Parquet or Arrow (Feather)"
_FOREIGN = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\xd0\xcf\x11\xe0": "a spreadsheet",
    b"SQLite": "a database",
    b"\x89HDF": "an HDF5 file",
    b"FEA1": "a Feather file of version 1",
    b"\x93NUMPY": "a numpy array",
    b"%PDF": "a PDF document",
}
_USUAL = {"", ".csv", ".tsv", ".tab", ".txt", ".dat", ".data", ".jsonl", ".ndjson", ".json"}
_LINES = 1000  # lines from which the types of a text table are decided


def open_table(
    source: Source,
    delimiter: str | None = None,
    encoding: str | None = None,
    *,
    live: bool = False,
    missing_values: Sequence[str] | None = None,
    texts: Collection[str] = (),
) -> Reader:
    """Open a table, of whichever format.

    Parameters
    ----------
    source : Source
        The file or pipe.
    delimiter : str, optional
        Delimiter of CSV. None: it is found out.
    encoding : str, optional
        Encoding of text. None: UTF-8 or cp1252, or UTF-16 with its mark.
    live : bool, default=False
        Whether to begin as soon as there is one row.
    missing_values : sequence of str, optional
        Texts that stand for a missing value. None: the usual ones.
    texts : collection of str
        Columns of which every text that is not empty is a value.

    Raises
    ------
    ValueError
        It is no table that can be read.
    OSError
        It cannot be opened.
    """
    bytes_ = Bytes(source.open())
    with closed_on_error(bytes_):
        table = _by_magic(source, bytes_)
        if table is not None:
            if missing_values is not None:
                table.missing_values = ("", *missing_values)
                table.missing_values_given = True
            return table
        return _text(source, bytes_, delimiter, encoding, live, missing_values, texts)


def _by_magic(source: Source, bytes_: Bytes) -> Reader | None:
    """Open a table that is no text; None if it may be text."""
    magic = bytes_.peek(8)
    if not magic:
        raise ValueError(f"{source.name} is empty")
    for mark, what in _FOREIGN.items():
        if magic.startswith(mark):
            raise ValueError(f"{source.name} is {what}: {_READ}")
    if magic.startswith(b"\xff\xff\xff\xff"):
        return ArrowStream(bytes_, source.name, source.size)
    if magic[:4] not in {b"PAR1", b"ARRO"}:
        return None
    if not source.is_file:
        raise ValueError(f"{source.name}: Parquet and Arrow files cannot come by a pipe")
    bytes_.close()
    return Parquet(source) if magic.startswith(b"PAR1") else ArrowFile(source)


def _text(
    source: Source,
    bytes_: Bytes,
    delimiter: str | None,
    encoding: str | None,
    live: bool,
    missing_values: Sequence[str] | None,
    texts: Collection[str],
) -> Reader:
    lines = Lines(bytes_, source.name, encoding)
    count = 1
    while not lines.first(count).strip() and count < _LINES:
        count *= 10
    head = lines.first(count)[: 1 << 16].lstrip()
    if not head:
        raise ValueError(f"{source.name} is empty")
    if b"\0" in head:
        raise ValueError(f"{source.name} is a binary file: {_READ}")
    if head.startswith(b"["):
        raise ValueError(f"{source.name} is a JSON array: write one object a line instead")
    n_first = 0 if live else _LINES
    table: Reader
    if head.startswith(b"{"):
        table, kind = JsonLines(lines, n_first, source.size, missing_values, texts), "JSON lines"
    else:
        table, kind = (
            Delimited(lines, n_first, delimiter, source.size, missing_values, texts),
            "CSV",
        )
    if source.suffix not in _USUAL and source.is_file:
        table.notes.insert(0, f"read as {kind}, going by its content")
    return table
