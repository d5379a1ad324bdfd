"""The rows of a table, in batches of columns, targets and labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelstream.cli.choices import BadCell
from kernelstream.cli.reading.bad_cells import BadCells
from kernelstream.cli.reading.columns import Columns
from kernelstream.cli.reading.reader import Reader, Rows
from kernelstream.cli.reading.sources import Source
from kernelstream.cli.reading.text import TextTable
from kernelstream.columns.arrow import as_array, gaps_of, has_fraction, labels_of
from kernelstream.columns.arrow_types import kind_of, plain, type_to_read
from kernelstream.columns.texts import Numerals, cast_texts
from kernelstream.exceptions import DataError

__all__ = ["Batch", "RefusedRowError", "batches_of", "find_classes"]

Mask = NDArray[np.bool_]


class RefusedRowError(ValueError):
    """A row that is not learned; those before it in its batch may be.

    Parameters
    ----------
    message : str
        What is wrong with it, and where it comes from.
    row : int
        Its place in the batch, from 0.
    """

    def __init__(self, message: str, row: int = 0) -> None:
        super().__init__(message)
        self.row = row


@dataclass
class Batch:
    """Some consecutive rows of a table.

    Attributes
    ----------
    features : dict of str to ndarray of shape (n,)
        The columns to learn from; NaN, NaT or None for missing values.
    targets : ndarray of float64 of shape (n, n_targets)
        The numbers to predict; NaN for missing ones.
    target_names : list of str
        Columns of the targets.
    labels : ndarray of shape (n,), or None
        The labels, of their own type, or as objects with None for missing ones; None if no label
        column is read.
    kept : list of Array of length n
        Columns that are carried along.
    bad : ndarray of bool of shape (n,)
        Rows that are left out, because a cell is not of its column's type.
    source : Source
        Where the rows come from.
    first_row : int
        The first row's number there, counted from 1 without the header.
    place : callable
        Says which row one of these is, for messages.
    share : float
        How much of the table has been read with it, from 0 to 1; 0 if that is not known.
    """

    features: dict[str, NDArray[Any]]
    targets: NDArray[np.float64]
    target_names: list[str]
    labels: NDArray[Any] | None
    kept: list[pa.Array]
    bad: Mask
    source: Source
    first_row: int
    place: Callable[[int, str | None], str]
    share: float

    def __len__(self) -> int:
        return len(self.targets)

    def __getstate__(self) -> dict[str, Any]:
        # Lines are known to the process alone that has the text.
        return vars(self) | {"place": partial(_numbered, self.first_row)}

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
        """Rows whose label is there, or some of whose targets, none of them infinite."""
        judged = np.asarray(~np.isinf(self.targets).any(axis=1))
        if self.targets.shape[1]:
            judged &= ~np.isnan(self.targets).all(axis=1)
        return judged if self.labels is None else judged & ~_missing(self.labels)

    def where(self, row: int, column: str | None = None) -> str:
        """Say where a row comes from.

        Returns
        -------
        text : str
            Name of the table and number of the row.
        """
        return f"{self.source.name}, {self.place(row, column)}"

    def before(self, row: int) -> Batch:
        """Give the rows before one.

        Parameters
        ----------
        row : int
            Its place among these, from 0.
        """
        return self._part(slice(row))

    def since(self, row: int) -> Batch:
        """Give one row and those after it.

        Parameters
        ----------
        row : int
            Its place among these, from 0.
        """
        part = self._part(slice(row, None))
        return replace(
            part, first_row=self.first_row + row, place=partial(_shifted, self.place, row)
        )

    def _part(self, rows: slice) -> Batch:
        return replace(
            self,
            features={name: values[rows] for name, values in self.features.items()},
            targets=self.targets[rows],
            labels=None if self.labels is None else self.labels[rows],
            kept=[column[rows] for column in self.kept],
            bad=self.bad[rows],
        )

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
            row = int(np.flatnonzero(mask)[error.row])
            column = error.column
            if error.array == "X" and isinstance(column, int):
                column = list(self.features)[column]
            elif error.array == "y" and self.target_names:
                # Others may be missing.
                column = self.target_names[int(np.nan_to_num(np.abs(self.targets[row])).argmax())]
            named = column if isinstance(column, str) else None
            what = "the target" if named is None else "the value"
            raise RefusedRowError(f"{self.where(row, named)}: {what} {error.reason}", row) from None

    def _any(self, find: Callable[[NDArray[Any]], Mask]) -> Mask:
        found = np.zeros(len(self), dtype=bool)
        for values in self.features.values():
            found |= find(values)
        return found


def batches_of(
    source: Source,
    table: Reader,
    columns: Columns,
    skip: int,
    size: Callable[[], int],
    bad_cells: BadCells | None = None,
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
    bad_cells : BadCells, optional
        What becomes of cells that are not of their column's type. None: an error.

    Raises
    ------
    ValueError
        A cell is not of its column's type; the rows before it have been given.
    """
    bad_cells = BadCells() if bad_cells is None else bad_cells
    kinds, targets, label = columns.kinds, columns.numeric_targets, columns.label
    own = {name: table.own_name(name) or name for name in columns.needed}
    fields = {name: table.schema.field(own[name]).type for name in columns.needed}
    types = {name: type_to_read(kind, fields[name]) for name, kind in kinds.items()}
    types |= {name: type_to_read("number", fields[name]) for name in targets}
    if label is not None:
        types[label] = _as_label(fields[label], columns.label_type)
    types |= {name: _as_kept(fields[name]) for name in columns.kept if name not in types}
    if isinstance(table, TextTable):
        # Instants have no offset: only their text has.
        instants = [name for name in columns.kept if getattr(types[name], "tz", None)]
        types |= dict.fromkeys(instants, pa.string())
    before = 0.0
    for rows in table.records({own[name]: kind for name, kind in types.items()}):
        record = rows.record
        share = rows.position / table.total if table.total else 0.0
        values = dict(zip(types, record.columns, strict=True))
        cells = _Cells(source, table, columns, rows, bad_cells)
        features = {name: cells.typed(name, own[name], values[name], kinds[name]) for name in kinds}
        numbers = np.empty((record.num_rows, len(targets)))
        for place, name in enumerate(targets):
            numbers[:, place] = cells.typed(name, own[name], values[name], "number")
        labels = None
        if label is not None:
            labels = cells.labels(label, own[label], values[label], columns.label_type)
        last = cells.last(skip)
        start = max(skip + 1 - rows.first, 0)
        while start < last:
            end = min(start + max(1, size()), last)
            yield Batch(
                {name: column[start:end] for name, column in features.items()},
                numbers[start:end],
                columns.numeric_targets,
                None if labels is None else labels[start:end],
                [record.column(own[name]).slice(start, end - start) for name in columns.kept],
                cells.bad[start:end],
                source,
                rows.first + start,
                partial(_place_after, rows, start),
                before + end / record.num_rows * (share - before),
            )
            start = end
        cells.refuse()
        before = share


def _shifted(
    place: Callable[[int, str | None], str], first: int, row: int, column: str | None
) -> str:
    """Say which row one is of a part that begins with this one."""
    return place(first + row, column)


def _numbered(first: int, row: int, column: str | None = None) -> str:
    return Rows(pa.record_batch({}), first, 0).place(row, column)


def _place_after(rows: Rows, start: int, row: int, column: str | None = None) -> str:
    return rows.place(start + row, column)


def _as_label(own: pa.DataType, kind: pa.DataType) -> pa.DataType:
    """Give the type to read a label as: whole numbers beside gaps may be written as floats."""
    return own if pa.types.is_integer(kind) and pa.types.is_floating(own) else kind


def _as_kept(kind: pa.DataType) -> pa.DataType:
    """Give the type to read a column as that is carried along: whole numbers may have gaps."""
    return pa.string() if pa.types.is_null(kind) else kind


class _Cells:
    """Casts the columns of some rows, and notes the cells that cannot be cast."""

    def __init__(
        self, source: Source, table: Reader, columns: Columns, rows: Rows, bad_cells: BadCells
    ) -> None:
        self._source, self._table, self._columns = source, table, columns
        self._rows, self._bad_cells = rows, bad_cells
        self._odd: list[tuple[int, str, str, str]] = []
        self.bad = np.zeros(rows.record.num_rows, dtype=bool)

    def typed(self, name: str, own: str, column: pa.Array, kind: str) -> NDArray[Any]:
        """Give a column of this kind."""
        if kind != "category" and kind_of(plain(column.type)) == "category":
            column = self._cast(name, own, column, kind)
        return self._known(as_array(column, kind, self._columns.zones.get(name, "")))

    def labels(self, name: str, own: str, column: pa.Array, kind: pa.DataType) -> NDArray[Any]:
        """Give a column of labels."""
        if kind_of(plain(column.type)) == "category" and kind_of(kind) != "category":
            wanted = "boolean" if pa.types.is_boolean(kind) else "number"
            column = self._cast(name, own, column, wanted)
        if pa.types.is_floating(column.type) and pa.types.is_integer(kind):
            column = self._whole(name, column)
        return self._known(labels_of(column, kind))

    def _whole(self, name: str, column: pa.Array) -> pa.Array:
        """Cast a column of floats to whole numbers, and note the cells with fractions."""
        numbers = as_array(column, "number")
        odd = has_fraction(numbers)
        known = ~odd & ~np.isnan(numbers)
        # Rows of the table before the first label.
        n_before = 0 if self._rows.first > 1 else int(np.append(known, True).argmax())
        for row in np.flatnonzero(odd).tolist():
            kind = "first label" if row < n_before else "label"
            self._odd.append((row, name, f"{numbers[row]:.12g}", kind))
        return pa.array(np.where(known, numbers, 0.0).astype(np.int64), mask=~known)

    def _cast(self, name: str, own: str, column: pa.Array, kind: str) -> pa.Array:
        """Cast a column of text, and note the cells that are odd."""
        table = self._table
        texts, settled = column.cast(pa.string()), table.settled_as(own)
        wanted = table.schema.field(own).type if settled is None else settled.type
        zoned = wanted if pa.types.is_timestamp(wanted) else None
        numerals = Numerals(table.decimal) if settled is None else settled.numerals
        column, odd = cast_texts(texts, kind, numerals, table.missing_values, zoned)
        for row in np.flatnonzero(odd).tolist():
            self._odd.append((row, name, str(texts[row]), kind))
        return column

    def _known(self, values: NDArray[Any]) -> NDArray[Any]:
        table = self._table
        return _without(values, table.missing_values) if table.missing_values_given else values

    def last(self, skip: int) -> int:
        """Settle what becomes of the cells; give how many rows come before one that is refused."""
        first = self._rows.first
        self._odd = sorted(cell for cell in self._odd if cell[0] + first > skip)
        if self._odd and self._bad_cells.policy is BadCell.ERROR:
            return self._odd[0][0]
        if self._bad_cells.policy is BadCell.SKIP:
            self.bad[[cell[0] for cell in self._odd]] = True
        return len(self.bad)

    def refuse(self) -> None:
        """Count the cells, or raise that for the first one."""
        for row, name, cell, kind in self._odd:
            where = f"{self._source.name}, {self._rows.place(row, name)}"
            self._bad_cells.add(where, cell, kind, self._remedy(row, name))

    def _remedy(self, row: int, name: str) -> str:
        others = {cell[1] for cell in self._odd if cell[0] == row}
        numeric = [*self._columns.numeric_targets]
        numeric += [name for name, kind in self._columns.kinds.items() if kind != "category"]
        # Some columns may have no unit.
        n_odd = len(others.intersection(numeric))
        if self._rows.first + row == 1 and len(others) > 1 and 2 * n_odd > len(numeric):
            return (
                "the line below the header seems to hold units: delete it, or leave it out with "
                "--bad-cells skip"
            )
        as_text = "" if name in self._columns.targets else f", or -c {name} if it holds categories"
        return f"correct it, or use --bad-cells skip or --bad-cells missing{as_text}"


def _without(values: NDArray[Any], missing: Sequence[str]) -> NDArray[Any]:
    """Give a column with these values taken for missing."""
    if values.dtype.kind == "O":
        found = [None if value in missing else value for value in values.tolist()]
        return np.array(found, dtype=object)
    if values.dtype.kind == "f":
        numbers = []
        for text in missing:
            with suppress(ValueError):
                numbers.append(float(text))
        return np.where(np.isin(values, numbers), np.nan, values)
    if values.dtype.kind in "iu":
        numbers = [int(text) for text in missing if re.fullmatch(r"[-+]?\d+", text)]
        hit = np.isin(values, numbers)
        return _nulled(values, hit) if hit.any() else values
    return values


def _nulled(values: NDArray[Any], hit: Mask) -> NDArray[Any]:
    found = values.astype(object)
    found[hit] = None
    return found


def find_classes(source: Source, table: Reader, columns: Columns) -> set[Any]:
    """Find the distinct labels of a table, in a pass over that column alone.

    Returns
    -------
    classes : set
        The distinct labels, without missing ones.
    """
    label, kind = str(columns.label), columns.label_type
    own = table.own_name(label) or label
    known: set[Any] = set()
    as_read = _as_label(table.schema.field(own).type, kind)
    for rows in table.records({own: as_read}):
        # Cells that are no labels are named where their rows are learned.
        cells = _Cells(source, table, columns, rows, BadCells(BadCell.MISSING))
        known.update(cells.labels(label, own, rows.record.column(0), kind).tolist())
    known.discard(None)
    return known


def _infinite(values: NDArray[Any]) -> Mask:
    return np.isinf(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def _missing(labels: NDArray[Any]) -> Mask:
    return gaps_of(labels) if labels.dtype == object else np.zeros(len(labels), dtype=bool)
