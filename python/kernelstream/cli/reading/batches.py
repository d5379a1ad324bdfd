"""The rows of a table, in batches of columns, targets and labels."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelstream.cli.reading.cells import as_array, gaps_of, labels_of
from kernelstream.cli.reading.columns import Columns
from kernelstream.cli.reading.kinds import type_to_read
from kernelstream.cli.reading.reader import Reader
from kernelstream.cli.reading.sources import Source
from kernelstream.exceptions import DataError

__all__ = ["Batch", "batches_of", "find_classes"]

Mask = NDArray[np.bool_]


@dataclass
class Batch:
    """Some consecutive rows of a table.

    Attributes
    ----------
    features : dict of str to ndarray of shape (n,)
        The columns to learn from; NaN, NaT or None for missing values.
    targets : ndarray of float64 of shape (n, n_targets)
        The numbers to predict; NaN for missing ones.
    labels : ndarray of shape (n,), or None
        The labels, of their own type, or as objects with None for missing ones; None if no label
        column is read.
    source : Source
        Where the rows come from.
    first_row : int
        The first row's number there, counted from 1 without the header.
    share : float
        How much of the table has been read with it, from 0 to 1; 0 if that is not known.
    """

    features: dict[str, NDArray[Any]]
    targets: NDArray[np.float64]
    labels: NDArray[Any] | None
    source: Source
    first_row: int
    share: float

    def __len__(self) -> int:
        return len(self.targets)

    def rows(self, mask: Mask) -> dict[str, NDArray[Any]]:
        """Give the features of some rows.

        Parameters
        ----------
        mask : ndarray of bool of shape (n,)
            Which rows.

        Returns
        -------
        features : dict of str to ndarray
            Theirs.
        """
        if mask.all():
            return self.features
        return {name: values[mask] for name, values in self.features.items()}

    @property
    def gaps(self) -> Mask:
        """Rows in which a feature is missing."""
        return self._any(gaps_of)

    @property
    def infinite(self) -> Mask:
        """Rows in which a number is infinite."""
        return self._any(_infinite)

    @property
    def judged(self) -> Mask:
        """Rows whose targets or label are there."""
        judged = np.asarray(np.isfinite(self.targets).all(axis=1))
        return judged if self.labels is None else judged & ~_missing(self.labels)

    def where(self, row: int) -> str:
        """Say where a row comes from.

        Returns
        -------
        text : str
            Name of the table and number of the row.
        """
        return f"{self.source.name}, row {self.first_row + row}"

    @contextmanager
    def naming(self, mask: Mask) -> Iterator[None]:
        """Name the table and its row where a model refuses one of the rows that it was given.

        Parameters
        ----------
        mask : ndarray of bool of shape (n,)
            Which rows it was given.
        """
        try:
            yield
        except DataError as error:
            if error.row is None or error.reason is None:
                raise
            where = self.where(int(np.flatnonzero(mask)[error.row]))
            column = isinstance(error.column, str)
            what = f", column {error.column!r}: the value" if column else ": the target"
            raise ValueError(f"{where}{what} {error.reason}") from None

    def _any(self, find: Callable[[NDArray[Any]], Mask]) -> Mask:
        found = np.zeros(len(self), dtype=bool)
        for values in self.features.values():
            found |= find(values)
        return found


def batches_of(
    source: Source, table: Reader, columns: Columns, skip: int, size: Callable[[], int]
) -> Generator[Batch, None, None]:
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
    """
    kinds, targets, label = columns.kinds, columns.numeric_targets, columns.label
    own = dict(zip(table.schema.names, table.schema.types, strict=True))
    types = {name: type_to_read(kind, own[name]) for name, kind in kinds.items()}
    types |= {name: type_to_read("number", own[name]) for name in targets}
    if label is not None:
        types[label] = columns.label_type
    first, before = 1, 0.0
    for record, done in table.records(types):
        share = done / table.total if table.total else 0.0
        values = dict(zip(types, record.columns, strict=True))
        features = {name: as_array(values[name], kind) for name, kind in kinds.items()}
        numbers = np.empty((record.num_rows, len(targets)))
        for place, name in enumerate(targets):
            numbers[:, place] = as_array(values[name], "number")
        labels = None if label is None else labels_of(values[label], columns.label_type)
        start = max(skip + 1 - first, 0)
        while start < record.num_rows:
            end = min(start + max(1, size()), record.num_rows)
            yield Batch(
                {name: column[start:end] for name, column in features.items()},
                numbers[start:end],
                None if labels is None else labels[start:end],
                source,
                first + start,
                before + end / record.num_rows * (share - before),
            )
            start = end
        first += record.num_rows
        before = share


def find_classes(table: Reader, columns: Columns) -> set[Any]:
    """Find the distinct labels of a table, in a pass over that column alone.

    Returns
    -------
    classes : set
        The distinct labels, without missing ones.
    """
    label, kind = str(columns.label), columns.label_type
    known: set[Any] = set()
    for record, _ in table.records({label: kind}):
        column: pa.Array = record.column(label)
        known.update((column if column.type == kind else column.cast(kind)).unique().to_pylist())
    known.discard(None)
    return known


def _infinite(values: NDArray[Any]) -> Mask:
    return np.isinf(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def _missing(labels: NDArray[Any]) -> Mask:
    return gaps_of(labels) if labels.dtype == object else np.zeros(len(labels), dtype=bool)
