"""The rows of several tables, one after the other, in batches of numbers and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelstream.cli.columns import Columns
from kernelstream.cli.reader import Reader
from kernelstream.cli.sources import Source

__all__ = ["BATCH_ROWS", "Batch", "batches_of", "joined"]

BATCH_ROWS = 1024


@dataclass
class Batch:
    """Some consecutive rows.

    Attributes
    ----------
    values : ndarray of shape (n, n_columns)
        The numbers, the features' first; NaN for missing values.
    labels : ndarray of shape (n,), or None
        The labels, of their own type, or as objects with None for missing ones; None if no label
        column is read.
    rows : list of (Source, int, int)
        Where the rows come from: the table, its first row that is among them, counted from 1
        without the header, and their number.
    done : int
        Position in the last of these tables after the batch, in the unit of `Reader.total`.
    """

    values: NDArray[np.float64]
    labels: NDArray[Any] | None
    rows: list[tuple[Source, int, int]]
    done: int

    def __len__(self) -> int:
        return len(self.values)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Rows that have a label, or need none."""
        if self.labels is None or self.labels.dtype != object:
            return np.ones(len(self.values), dtype=bool)
        return np.array([label is not None for label in self.labels], dtype=bool)

    def split(self, count: int) -> tuple[Batch, Batch]:
        """Cut a batch of rows of one table in two.

        Parameters
        ----------
        count : int
            Rows of the first part.

        Returns
        -------
        first, rest : Batch
            The parts.
        """
        ((source, row, n_rows),) = self.rows
        parts = ((slice(0, count), row, count), (slice(count, None), row + count, n_rows - count))
        first, rest = (
            Batch(
                self.values[part],
                None if self.labels is None else self.labels[part],
                [(source, begin, size)],
                self.done,
            )
            for part, begin, size in parts
        )
        return first, rest

    def where(self, row: int) -> str:
        """Say where a row comes from.

        Parameters
        ----------
        row : int
            Its place in the batch.

        Returns
        -------
        text : str
            Name of the table and number of the row.
        """
        for source, first, count in self.rows:
            if row < count:
                return f"{source.name}, row {first + row}"
            row -= count
        raise IndexError


def batches_of(
    source: Source, table: Reader, columns: Columns, skip: int, size: Callable[[], int]
) -> Iterator[Batch]:
    """Read a table.

    Parameters
    ----------
    source : Source
        Where it comes from.
    table : Reader
        The table.
    columns : Columns
        What to read of it.
    skip : int
        Rows at its beginning not to be given.
    size : callable
        Gives the most rows of the next batch.

    Yields
    ------
    batch : Batch
        Some more rows.
    """
    first = 1
    before = 0
    names, label = columns.numbers, columns.label
    for record, done in table.records(_types(table, names, columns)):
        start = min(max(skip + 1 - first, 0), record.num_rows)
        while start < record.num_rows:
            part = record.slice(start, max(1, size()))
            start += part.num_rows
            values = np.empty((part.num_rows, len(names)), order="F")
            for place, name in enumerate(names):
                values[:, place] = _floats(part.column(name))
            labels = None if label is None else _labels(part.column(label), columns.label_type)
            share = start / record.num_rows
            yield Batch(
                values,
                labels,
                [(source, first + start - part.num_rows, part.num_rows)],
                before + int(share * (done - before)),
            )
        first += record.num_rows
        before = done


def joined(batches: Sequence[Batch]) -> Batch:
    """Put batches together.

    Parameters
    ----------
    batches : sequence of Batch
        One or more, in their order.

    Returns
    -------
    batch : Batch
        All their rows.
    """
    if len(batches) == 1:
        return batches[0]
    labels = [batch.labels for batch in batches if batch.labels is not None]
    return Batch(
        np.vstack([batch.values for batch in batches]),
        np.concatenate(labels) if labels else None,
        [rows for batch in batches for rows in batch.rows],
        batches[-1].done,
    )


def find_classes(table: Reader, columns: Columns) -> set[Any]:
    """Find the distinct labels of a table, in a pass over that column alone.

    Parameters
    ----------
    table : Reader
        The table.
    columns : Columns
        With the label.

    Returns
    -------
    classes : set
        The distinct labels, without missing ones.
    """
    label = str(columns.label)
    known: set[Any] = set()
    for record, _ in table.records(_types(table, [], columns)):
        column = record.column(label)
        known.update(_as(column, columns.label_type).unique().to_pylist())
    known.discard(None)
    return known


def _types(table: Reader, names: Sequence[str], columns: Columns) -> dict[str, pa.DataType]:
    """Give what to read columns as: whole numbers may be followed by fractions."""
    own = {name: table.schema.field(name).type for name in names}
    types = {
        name: kind if pa.types.is_boolean(kind) else pa.float64() for name, kind in own.items()
    }
    return types if columns.label is None else types | {columns.label: columns.label_type}


def _floats(column: pa.Array) -> NDArray[np.float64]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    return column.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]  # null is NaN


def _labels(column: pa.Array, kind: pa.DataType) -> NDArray[Any]:
    column = _as(column, kind)
    if column.null_count:
        return np.array(column.to_pylist(), dtype=object)
    return np.array(column.to_pylist())


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Give labels in the type of the first table's."""
    return column if column.type == kind else column.cast(kind)
