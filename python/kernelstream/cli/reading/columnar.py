"""Parquet and Arrow tables."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from kernelstream.cli.reading.raw import Bytes
from kernelstream.cli.reading.reader import Reader, Rows
from kernelstream.cli.reading.sources import Source

__all__ = ["ArrowFile", "ArrowStream", "Parquet"]

_ROWS = 1 << 14
_SAMPLE = 2000


class Parquet(Reader):
    """A Parquet file.

    Parameters
    ----------
    source : Source
        The file.

    Raises
    ------
    ValueError
        It is damaged.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source.name)
        with _damage(self.name):
            self._file = pa_parquet.ParquetFile(source.path)
        self.schema = _declared(self._file)
        self.total = self._file.metadata.num_rows
        self._check_names()

    def records(self, columns: Mapping[str, pa.DataType]) -> Iterator[Rows]:
        """See `Reader.records`."""
        rows = 0
        with _damage(self.name):
            for record in self._file.iter_batches(batch_size=_ROWS, columns=list(columns)):
                yield Rows(record.select(list(columns)), rows + 1, rows + record.num_rows)
                rows += record.num_rows

    def sample(self, name: str) -> pa.Array | None:
        """See `Reader.sample`."""
        records = self._file.iter_batches(batch_size=_SAMPLE, columns=[name])
        return next((record.column(0) for record in records), None)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _declared(file: pa_parquet.ParquetFile) -> pa.Schema:
    """Give the columns of a file, those that are categories by their type as dictionaries."""
    schema, metadata = file.schema_arrow, file.metadata.metadata or {}
    if b"ARROW:schema" not in metadata:
        return schema
    try:
        written = pa.ipc.read_schema(pa.py_buffer(b64decode(metadata[b"ARROW:schema"])))
    except (pa.ArrowException, ValueError):
        return schema
    for place, field in enumerate(schema):
        found = written.get_field_index(field.name)
        if found >= 0 and pa.types.is_dictionary(written.field(found).type):
            type_ = written.field(found).type
            if type_.value_type == field.type:
                schema = schema.set(place, field.with_type(type_))
    return schema


class ArrowFile(Reader):
    """An Arrow file, also known as Feather.

    Parameters
    ----------
    source : Source
        The file.

    Raises
    ------
    ValueError
        It is damaged.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source.name)
        with _damage(self.name):
            self._map = pa.memory_map(str(source.path))
            self._file = pa.ipc.open_file(self._map)
        self.schema = self._file.schema
        self.total = self._file.num_record_batches
        self._check_names()

    def records(self, columns: Mapping[str, pa.DataType]) -> Iterator[Rows]:
        """See `Reader.records`."""
        first = 1
        with _damage(self.name):
            for place in range(self._file.num_record_batches):
                record = self._file.get_batch(place).select(list(columns))
                yield from _pieces(record, first, place + 1)
                first += record.num_rows

    def sample(self, name: str) -> pa.Array | None:
        """See `Reader.sample`."""
        if not self._file.num_record_batches:
            return None
        return self._file.get_batch(0).column(name).slice(0, _SAMPLE)

    def close(self) -> None:
        """Close the file."""
        self._map.close()


class ArrowStream(Reader):
    """Arrow's format for pipes.

    Parameters
    ----------
    bytes_ : Bytes
        Source of the rows.
    name : str
        What messages call it.
    total : int, optional
        Bytes there are.

    Raises
    ------
    ValueError
        It is damaged.
    """

    def __init__(self, bytes_: Bytes, name: str, total: int | None = None) -> None:
        super().__init__(name, total)
        self._bytes = bytes_
        with _damage(self.name):
            self._stream = pa.ipc.open_stream(pa.PythonFile(bytes_, "r"))
        self.schema = self._stream.schema
        # The first rows, read when a sample of them was asked for.
        self._read: list[pa.RecordBatch] = []
        self._check_names()

    def sample(self, name: str) -> pa.Array | None:
        """See `Reader.sample`."""
        if not self._read:
            with _damage(self.name):
                self._read = list(islice((one for one in self._stream if one.num_rows), 1))
        return self._read[0].column(name).slice(0, _SAMPLE) if self._read else None

    def records(self, columns: Mapping[str, pa.DataType]) -> Iterator[Rows]:
        """See `Reader.records`."""
        first = 1
        with _damage(self.name):
            for record in chain(self._read, self._stream):
                yield from _pieces(record.select(list(columns)), first, self._bytes.done)
                first += record.num_rows

    def close(self) -> None:
        """Close the file."""
        self._bytes.close()


def _pieces(record: pa.RecordBatch, first: int, position: int) -> Iterator[Rows]:
    for start in range(0, record.num_rows, _ROWS):
        yield Rows(record.slice(start, _ROWS), first + start, position)


@contextmanager
def _damage(name: str) -> Iterator[None]:
    """Name the file in an error of pyarrow."""
    try:
        yield
    except pa.ArrowException as error:
        first_line = str(error).strip().partition("\n")[0]
        raise ValueError(f"{name} is damaged: {first_line}") from None
