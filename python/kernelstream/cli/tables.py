"""CSV and Parquet tables, read in batches with pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
from numpy.typing import NDArray

__all__ = ["Batch", "Table"]

BATCH_ROWS = 1024
_BLOCK_BYTES = 1 << 18
_PACKED = {".gz", ".bz2", ".zst", ".lz4"}  # suffixes of compressed files that pyarrow reads


@dataclass
class Batch:
    """Some consecutive rows of a table.

    Attributes
    ----------
    values : ndarray of shape (n, n_columns)
        The numbers; NaN for missing values.
    labels : ndarray of shape (n,), or None
        The labels, of their own type, or as objects with None for missing ones; None if no label
        column is read.
    first_row : int
        Number of the first row in the file, counted from 1 without the header.
    done : int
        Position in the file after this batch, in the unit of `Table.total`.
    """

    values: NDArray[np.float64]
    first_row: int
    done: int
    labels: NDArray[Any] | None = None

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Rows that have a label, or need none."""
        if self.labels is None or self.labels.dtype != object:
            return np.ones(len(self.values), dtype=bool)
        return np.array([label is not None for label in self.labels])


class Table:
    """A file of rows and named columns.

    Parameters
    ----------
    path : Path
        A Parquet file (recognized by its first bytes), or a CSV file with a header line, possibly
        compressed (``.gz`` and others).
    delimiter : str, optional
        Delimiter of a CSV file. None: a tab for ``.tsv`` and ``.tab``, else a comma.

    Attributes
    ----------
    numeric : list of str
        Numeric columns (integer, floating, decimal or boolean).
    left_out : dict of str to str
        The other columns, and their types.
    total : int or None
        Size of the file in the unit of `Batch.done`; None if unknown.

    Raises
    ------
    ValueError
        The file is not a table, or two of its columns have the same name.
    OSError
        The file cannot be read.
    """

    def __init__(self, path: Path, delimiter: str | None = None) -> None:
        self.path = path
        with path.open("rb") as file:
            magic = file.read(4)
        if not magic:
            raise ValueError(f"{path} is empty")
        self._parquet = magic == b"PAR1"
        if delimiter is None:
            delimiter = "\t" if path.suffix.lower() in {".tsv", ".tab"} else ","
        self._delimiter = delimiter
        self.total: int | None = None
        if self._parquet:
            with pa_parquet.ParquetFile(path) as parquet:
                self.schema = parquet.schema_arrow
                self.total = parquet.metadata.num_rows
        else:
            with self._open_csv(pa_csv.ConvertOptions()) as reader:
                self.schema = reader.schema
            if path.suffix.lower() not in _PACKED:
                self.total = path.stat().st_size
        names = self.schema.names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{path} has two columns named {twice[0]!r}")
        self.numeric = [field.name for field in self.schema if _is_numeric(field.type)]
        self.left_out = {
            field.name: "empty" if pa.types.is_null(field.type) else str(field.type)
            for field in self.schema
            if not _is_numeric(field.type)
        }

    def batches(self, columns: Sequence[str], label: str | None = None) -> Iterator[Batch]:
        """Read the file from its beginning.

        Parameters
        ----------
        columns : sequence of str
            Numeric columns to read, in this order.
        label : str, optional
            A label column: strings, integers or booleans.

        Yields
        ------
        batch : Batch
            Up to ``BATCH_ROWS`` rows.

        Raises
        ------
        ValueError
            A value is not a number.
        """
        first_row = 1
        before = 0
        for record, done in self._records(list(columns), label):
            for start in range(0, record.num_rows, BATCH_ROWS):
                part = record.slice(start, BATCH_ROWS)
                share = (start + part.num_rows) / record.num_rows
                values = np.empty((part.num_rows, len(columns)), order="F")
                for place, name in enumerate(columns):
                    values[:, place] = _floats(part.column(name))
                labels = None if label is None else _labels(part.column(label))
                yield Batch(values, first_row, before + int(share * (done - before)), labels)
                first_row += part.num_rows
            before = done

    def classes(self, label: str) -> NDArray[Any]:
        """Find the distinct labels of a column, in a pass over that column alone.

        Parameters
        ----------
        label : str
            The column.

        Returns
        -------
        classes : ndarray of shape (n_classes,)
            The distinct labels, sorted, without missing ones.

        Raises
        ------
        ValueError
            The column is empty.
        """
        known: set[Any] = set()
        for record, _ in self._records([], label):
            known.update(record.column(label).unique().to_pylist())
        known.discard(None)
        if not known:
            raise ValueError(f"column {label!r} is empty: it contains no label")
        return np.array(sorted(known))

    def is_label(self, name: str) -> bool:
        """Whether a column may contain labels: strings, integers or booleans.

        Parameters
        ----------
        name : str
            The column.

        Returns
        -------
        ok : bool
            Whether it may.
        """
        kind = self._kind(name)
        return _is_text(kind) or bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))

    def is_text(self, name: str) -> bool:
        """Whether a column contains text, which can only be labels.

        Parameters
        ----------
        name : str
            The column.

        Returns
        -------
        words : bool
            Whether it does.
        """
        return _is_text(self._kind(name))

    def _kind(self, name: str) -> pa.DataType:
        kind = self.schema.field(name).type
        return kind.value_type if pa.types.is_dictionary(kind) else kind

    def _records(
        self, columns: list[str], label: str | None = None
    ) -> Iterator[tuple[pa.RecordBatch, int]]:
        wanted = columns if label is None else [*columns, label]
        if self._parquet:
            rows = 0
            with pa_parquet.ParquetFile(self.path) as parquet:
                for record in parquet.iter_batches(batch_size=16 * BATCH_ROWS, columns=wanted):
                    rows += record.num_rows
                    yield record, rows
            return
        # Types were inferred from the first block; integers may be followed by fractions.
        types = {
            name: self.schema.field(name).type
            if pa.types.is_boolean(self.schema.field(name).type)
            else pa.float64()
            for name in columns
        }
        if label is not None:
            types[label] = self.schema.field(label).type
        # An empty field is a missing label, not the label "".
        options = pa_csv.ConvertOptions(
            include_columns=wanted, column_types=types, strings_can_be_null=True
        )
        bytes_done = 0
        size = self.total or 0
        rows = 0
        with self._open_csv(options) as reader:
            while True:
                try:
                    record = reader.read_next_batch()
                except StopIteration:
                    return
                except pa.ArrowInvalid as error:
                    raise ValueError(self._explain(error, rows)) from None
                rows += record.num_rows
                bytes_done = min(bytes_done + _BLOCK_BYTES, size)
                yield record, bytes_done

    def _explain(self, error: pa.ArrowInvalid, rows: int) -> str:
        """Describe why a block of a CSV file could not be read."""
        found = re.search(r"In CSV column #(\d+): .*invalid value (.*)", str(error), re.DOTALL)
        if found is None:
            return f"{self.path}, after row {rows}: {error}"
        name = self.schema.names[int(found[1])]
        return f"{self.path}, after row {rows}, column {name!r}: {found[2]} is not a number"

    def _open_csv(self, options: pa_csv.ConvertOptions) -> Any:
        return pa_csv.open_csv(
            self.path,
            read_options=pa_csv.ReadOptions(block_size=_BLOCK_BYTES),
            parse_options=pa_csv.ParseOptions(delimiter=self._delimiter),
            convert_options=options,
        )


def _is_numeric(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
    )


def _floats(column: pa.Array) -> NDArray[np.float64]:
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    return column.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]  # null is NaN


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _labels(column: pa.Array) -> NDArray[Any]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.null_count:
        return np.array(column.to_pylist(), dtype=object)
    return np.array(column.to_pylist())
