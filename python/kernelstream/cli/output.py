"""Predictions written in batches, to the terminal or to a file."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

__all__ = ["column_writer"]


@contextmanager
def column_writer(output: Path | None, names: list[str]) -> Iterator[Callable[[list[Any]], None]]:
    """Open a file, or the terminal, for columns in batches; the file appears only if complete.

    Parameters
    ----------
    output : Path or None
        A ``.parquet`` or ``.pq`` file, else a CSV file. None: CSV on the terminal.
    names : list of str
        Names of the columns.

    Yields
    ------
    write : callable of (columns: list of ndarray of shape (n,))
        Writes a batch; NaN and None stand for missing values.
    """

    def _batch(columns: list[Any]) -> pa.RecordBatch:
        # NaN and None become empty fields.
        arrays = [pa.array(column, from_pandas=True) for column in columns]
        return pa.RecordBatch.from_arrays(arrays, names)

    def _csv_writer(sink: Any) -> Callable[[list[Any]], None]:
        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(names)
        sink.write(header.getvalue().encode())

        def _write(columns: list[Any]) -> None:
            lines = pa.BufferOutputStream()
            options = pa_csv.WriteOptions(include_header=False, quoting_style="needed")
            pa_csv.write_csv(_batch(columns), lines, options)
            sink.write(lines.getvalue().to_pybytes())

        return _write

    if output is None:
        yield _csv_writer(sys.stdout.buffer)
        return
    part = output.with_name(output.name + ".part")
    try:
        if output.suffix.lower() in {".parquet", ".pq"}:
            with ExitStack() as files:
                parquet: pa_parquet.ParquetWriter | None = None

                def _write(columns: list[Any]) -> None:
                    nonlocal parquet
                    rows = _batch(columns)
                    if parquet is None:
                        parquet = files.enter_context(pa_parquet.ParquetWriter(part, rows.schema))
                    parquet.write_batch(rows.cast(parquet.schema))

                yield _write
        else:
            with part.open("wb") as file:
                yield _csv_writer(file)
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)
