"""Predictions written in batches: to the terminal, a pipe or a file."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from kernelstream.cli.writing.replacing import is_direct, replacing
from kernelstream.columns.zones import with_offsets

__all__ = ["Writer", "check_ending", "column_writer"]

Writer = Callable[[list[Any]], None]


_ENDINGS = {".csv", ".txt", ".dat", ".jsonl", ".ndjson", ".parquet", ".pq", ""}


def check_ending(output: Path | None) -> None:
    """Check that a file's ending names a format that can be written.

    Raises
    ------
    ValueError
        It names another one.
    """
    if output is None or is_direct(output) or output.suffix.lower() in _ENDINGS:
        return
    raise ValueError(
        f"{output}: predictions are written as .csv, .jsonl or .parquet, not {output.suffix}"
    )


@contextmanager
def column_writer(
    output: Path | None, names: list[str], *, json_lines: bool = False
) -> Iterator[Writer]:
    """Open a file, a pipe or the terminal for columns in batches; a file appears when complete."""
    suffix = "" if output is None else output.suffix.lower()
    json_lines = suffix in {".jsonl", ".ndjson"} or (json_lines and not suffix)
    with ExitStack() as files:
        sink: IO[bytes]
        if output is None or str(output) == "-":
            sink = sys.stdout.buffer
        elif is_direct(output):
            sink = files.enter_context(output.open("wb"))
        else:
            sink = files.enter_context(replacing(output))
        try:
            if suffix in {".parquet", ".pq"}:
                yield _parquet_writer(sink, names, files)
            elif json_lines:
                yield _json_writer(sink, names)
            else:
                yield _csv_writer(sink, names)
        except OSError as error:
            # Errors of writing name no file.
            if error.filename is None and error.errno is not None and sink is not sys.stdout.buffer:
                error.filename = str(output)
            raise


def _batch(columns: list[Any], names: list[str]) -> pa.RecordBatch:
    # NaN and None become empty fields.
    arrays = [pa.array(column, from_pandas=True) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, names)


def _csv_writer(sink: IO[bytes], names: list[str]) -> Writer:
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(names)
    sink.write(header.getvalue().encode())
    sink.flush()
    options, unquoted = (
        pa_csv.WriteOptions(include_header=False, quoting_style=style)
        for style in ("needed", "none")
    )

    def _write(columns: list[Any]) -> None:
        lines = pa.BufferOutputStream()
        batch = _batch(columns, names)
        types = batch.schema.types
        for place, kind in enumerate(types):
            if getattr(kind, "tz", None):
                texts = with_offsets(batch.column(place))
                batch = batch.set_column(place, names[place], texts)
        # Times need no quotation marks, which pyarrow puts around all text.
        are_plain = all(pa.types.is_primitive(kind) for kind in types)
        pa_csv.write_csv(batch, lines, unquoted if are_plain else options)
        sink.write(lines.getvalue().to_pybytes())
        sink.flush()

    return _write


def _json_writer(sink: IO[bytes], names: list[str]) -> Writer:
    def _write(columns: list[Any]) -> None:
        rows = _batch(columns, names).to_pylist()
        lines = (json.dumps(row, ensure_ascii=False, default=str) for row in rows)
        sink.write("".join(line + "\n" for line in lines).encode())
        sink.flush()

    return _write


def _parquet_writer(sink: IO[bytes], names: list[str], files: ExitStack) -> Writer:
    writer: pa_parquet.ParquetWriter | None = None

    def _write(columns: list[Any]) -> None:
        nonlocal writer
        rows = _batch(columns, names)
        if writer is None:
            writer = files.enter_context(pa_parquet.ParquetWriter(sink, rows.schema))
        writer.write_batch(rows.cast(writer.schema))

    return _write
