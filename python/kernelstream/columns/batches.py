"""Rows that are not in memory at once: read one batch at a time, whatever carries them.

An iterator of batches, a Parquet file, a `pyarrow` dataset or reader, a polars `LazyFrame`, a Dask,
Spark or Ray collection, a `DataLoader`: each is a source of batches ``(X, y, sample_weight)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kernelstream.columns.delayed import delayed_parts, is_delayed

__all__ = [
    "Batch",
    "Batches",
    "batches_of",
    "named_error",
    "names_of",
    "rows_in_batches",
    "separated",
    "targets_apart",
]

# Rows of a batch where the source leaves a choice: 5 MB at ten columns.
_ROWS = 65_536
_NO_TARGET = "X is a {}, and y says which of its columns is the target; the columns are {}"
_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc"}


class Batch(NamedTuple):
    """Rows, their targets and weights."""

    X: Any
    y: Any
    sample_weight: Any = None


@dataclass(frozen=True)
class Batches:
    """A source of batches.

    Parameters
    ----------
    kind : str
        What errors call the source.
    read : callable of () -> iterable
        Gives what the source has: frames, or pairs (X, y).
    target : str or list of str, optional
        The columns of targets in frames. None: batches are pairs.
    weight : str, optional
        The column of weights.
    again : bool
        Whether it can be read from the beginning a second time.
    """

    kind: str
    read: Callable[[], Iterable[Any]]
    target: Any
    weight: Any
    again: bool

    def __iter__(self) -> Iterator[Batch]:
        for number, item in enumerate(self.read()):
            try:
                batch = _batch(item, self.target, self.weight)
            except (ValueError, TypeError) as error:
                named_error(error, f"batch {number}")
                raise
            if _length(batch.X):
                yield batch

    def check_again(self, why: str) -> None:
        """Refuse a source that can be read once only.

        Parameters
        ----------
        why : str
            What reads it twice, for the error.

        Raises
        ------
        ValueError
            It can be read once only.
        """
        if not self.again:
            raise ValueError(
                f"{why}, and a {self.kind} can be read only once: pass something that can be read "
                "again, such as a path, a pyarrow dataset or a function that returns the iterator"
            )


def batches_of(X: Any, y: Any = None, weight: Any = None) -> Batches | None:
    """Give the batches of a source.

    Parameters
    ----------
    X : object
        Anything that a user passes as rows.
    y : str or list of str, or Dask collection, optional
        The columns of the targets. None: batches are pairs.
    weight : str, or Dask collection, optional
        The column of the weights.

    Returns
    -------
    batches : Batches, or None
        None of rows in memory.

    Raises
    ------
    ValueError, TypeError
        The target is no name, or names no column.
    """
    if is_delayed(X):
        if y is None and (names := names_of(X)) is not None:
            raise ValueError(_NO_TARGET.format(f"Dask {type(X).__name__}", _listed(names)))
        parts = delayed_parts(X, y, weight)
        whole = y if _is_name(y) else None
        column = weight if whole is not None else None
        return Batches(
            f"Dask {type(X).__name__}",
            lambda: (part.compute() for part in parts),
            whole,
            column,
            again=True,
        )
    if (found := _reader(X, y)) is None:
        return None
    kind, read, names, again = found
    if y is not None and not _is_name(y):
        raise TypeError(
            f"X is a {kind}, which is read in batches: y must be the name of a column of it, or a "
            f"list of such, got {type(y).__name__}"
        )
    if weight is not None and not isinstance(weight, str):
        raise TypeError(
            f"X is a {kind}, which is read in batches: sample_weight must be the name of a column "
            f"of it, or be in each batch, (X, y, sample_weight), got {type(weight).__name__}"
        )
    if names is not None:
        if y is None:
            raise ValueError(_NO_TARGET.format(kind, _listed(names)))
        _check_there(names, y, weight)
    return Batches(kind, read, y, weight, again)


def rows_in_batches(X: Any) -> Iterator[Any] | None:
    """Give the rows of a source, batch by batch, without targets.

    Parameters
    ----------
    X : object
        Anything that a user passes as rows.

    Returns
    -------
    batches : iterator of rows, or None
        None of rows in memory.
    """
    if (found := _reader(X, None)) is None:
        return None
    _, read, _, _ = found
    return (_rows_alone(item) for item in read())


def _rows_alone(item: Any) -> Any:
    if isinstance(item, Mapping) and "X" in item:
        item = item["X"]
    elif isinstance(item, list | tuple) and len(item) in {2, 3} and np.ndim(item[0]) == 2:
        item = item[0]
    return _table(item) if hasattr(item, "to_struct_array") else _plain(item)


def separated(frame: Any, target: Any, weight: Any = None) -> Batch:
    """Take the columns of targets and weights out of a frame.

    Parameters
    ----------
    frame : frame of pandas, polars or pyarrow, or mapping of str to column
        Rows.
    target : str or list of str
        The columns of targets.
    weight : str, optional
        The column of weights.

    Returns
    -------
    batch : Batch
        The other columns, the targets and the weights.

    Raises
    ------
    ValueError
        There is no such column.
    """
    if hasattr(frame, "to_struct_array"):  # a batch or table of Arrow
        frame = _table(frame)
    names = names_of(frame)
    if names is None:
        raise TypeError(
            f"a {type(frame).__name__} has no columns with names, so that y={target!r} names none"
        )
    _check_there(names, target, weight)
    targets = [target] if isinstance(target, str) else list(target)
    others = [*targets, *([] if weight is None else [weight])]
    if hasattr(frame, "to_batches") or isinstance(frame, Mapping):
        columns = {name: _plain(frame[name]) for name in others}
        y = columns[target] if isinstance(target, str) else [columns[name] for name in targets]
        y = y if isinstance(target, str) else np.column_stack(y)
        kept = [name for name in names if name not in others]
        rest = {name: frame[name] for name in kept} if isinstance(frame, Mapping) else None
        X = frame.select(kept) if rest is None else rest
        return Batch(X, y, None if weight is None else columns[weight])
    X = frame.drop(columns=others) if hasattr(frame, "iloc") else frame.drop(others)
    return Batch(X, frame[target], None if weight is None else frame[weight])


def targets_apart(X: Any, y: Any, weight: Any) -> Batch:
    """Give rows in memory apart from their targets and weights, if these are columns of a frame.

    Parameters
    ----------
    X : object
        Rows.
    y : object
        Targets, or the name of their column in a frame, or a list of such names.
    weight : object
        Weights, or the name of their column.

    Returns
    -------
    batch : Batch
        Rows, targets and weights.

    Raises
    ------
    ValueError
        There is no such column.
    """
    names = names_of(X)
    named = isinstance(weight, str) or isinstance(y, str)
    if names is not None and isinstance(y, list) and _is_name(y):
        # Labels may be a list of texts too.
        named = len(y) != _length(X) and all(name in names for name in y)
    if names is None or not named:
        return Batch(X, y, weight)
    if isinstance(weight, str) and not _is_name(y):
        return Batch(separated(X, weight).X, y, X[weight])
    own = isinstance(weight, str)
    batch = separated(X, y, weight if own else None)
    return batch if own else batch._replace(sample_weight=weight)


def names_of(frame: Any) -> list[Any] | None:
    """Give the names of a frame's columns.

    Parameters
    ----------
    frame : object
        Anything.

    Returns
    -------
    names : list, or None
        None of what has none.
    """
    if isinstance(names := getattr(frame, "column_names", None), list):
        return names
    if hasattr(frame, "columns") and hasattr(frame, "dtypes"):
        return list(frame.columns)
    return list(frame) if isinstance(frame, Mapping) else None


def named_error(error: Exception, place: str) -> None:
    """Let the message of an error begin with a place; to be raised again as it is.

    Parameters
    ----------
    error : Exception
        The error; its attributes, such as ``row``, stay.
    place : str
        The part or batch.
    """
    error.args = (f"{place}: {error}", *error.args[1:])


_Found = tuple[str, Callable[[], Iterable[Any]], list[Any] | None, bool]


def _reader(X: Any, y: Any) -> _Found | None:
    """Give what errors call a source, how it is read, its columns, and whether again."""
    library, kind = type(X).__module__.partition(".")[0], type(X).__name__
    if isinstance(X, str | PathLike) or _are_paths(X):
        X, kind, library = _opened(X), f"file ({X})", "pyarrow"
    if library == "pyarrow" and names_of(X) is None:
        return _of_arrow(X, kind)
    if hasattr(X, "collect_batches"):
        return kind, lambda: X.collect_batches(chunk_size=_ROWS), _schema_names(X), True
    if hasattr(X, "mapInArrow"):
        return f"Spark {kind}", lambda: _of_spark(X), list(X.columns), True
    if hasattr(X, "iter_batches") and hasattr(X, "map_batches"):
        read = lambda: X.iter_batches(batch_format="pyarrow", batch_size=_ROWS)  # noqa: E731
        return f"Ray {kind}", read, list(X.schema().names), True
    if hasattr(X, "fetch_record_batch"):  # DuckDB
        return kind, lambda: X.fetch_record_batch(_ROWS), list(X.columns), True
    if isinstance(X, list | tuple):
        return _of_list(X, y)
    if hasattr(X, "__array__") or names_of(X) is not None or hasattr(X, "tocsr"):
        return None
    return _of_iterable(X, kind)


def _of_list(X: Sequence[Any], y: Any) -> _Found | None:
    """Give a list of frames, or without y of pairs; rows may be a list, too."""
    first = X[0] if len(X) else None
    if names_of(first) is not None and not isinstance(first, Mapping):
        return "list of frames", lambda: X, None, True
    pairs = isinstance(first, tuple) and len(first) in {2, 3} and np.ndim(first[0]) == 2
    if y is None and (pairs or (isinstance(first, Mapping) and "X" in first)):
        return "list of batches", lambda: X, None, True
    return None


def _of_iterable(X: Any, kind: str) -> _Found | None:
    """Give iterators, what can be iterated again, functions, and streams of Arrow."""
    if hasattr(X, "__arrow_c_stream__"):
        pa = import_module("pyarrow")
        return kind, lambda: pa.RecordBatchReader.from_stream(X), None, True
    if hasattr(X, "__iter__") and not hasattr(X, "__getitem__"):
        return kind, lambda: X, None, not hasattr(X, "__next__")
    if callable(X) and not isinstance(X, type) and not hasattr(X, "fit"):
        return "function", X, None, True
    return None


def _of_arrow(X: Any, kind: str) -> _Found | None:
    """Give readers, datasets, scanners and Parquet files of Arrow."""
    if hasattr(X, "read_next_batch"):
        return kind, lambda: X, list(X.schema.names), False
    if hasattr(X, "scanner"):
        # Few batches ahead of the model: memory, not the disk, is what runs out.
        ahead = {"batch_readahead": 2, "fragment_readahead": 1}
        return kind, lambda: X.to_batches(batch_size=_ROWS, **ahead), list(X.schema.names), True
    if hasattr(X, "projected_schema"):
        return kind, X.to_batches, list(X.projected_schema.names), True
    if hasattr(X, "iter_batches"):
        names = list(X.schema_arrow.names)
        return kind, lambda: X.iter_batches(batch_size=_ROWS), names, True
    return None


def _of_spark(frame: Any) -> Iterator[Any]:
    """Give the rows of a Spark frame as batches of Arrow, a partition at a time."""
    pa = import_module("pyarrow")
    written = frame.mapInArrow(_as_bytes, "batch binary")
    for row in written.toLocalIterator(prefetchPartitions=True):
        yield from pa.ipc.open_stream(row[0])


def _as_bytes(batches: Iterable[Any]) -> Iterator[Any]:
    pa = import_module("pyarrow")
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.RecordBatch.from_pydict({"batch": [sink.getvalue().to_pybytes()]})


def _are_paths(X: Any) -> bool:
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], PathLike)


def _opened(path: Any) -> Any:
    """Open files of Parquet or Arrow as a dataset."""
    try:
        dataset = import_module("pyarrow.dataset")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "reading files needs pyarrow: pip install 'kernelstream[cli]'"
        ) from None
    given = fspath(path) if isinstance(path, str | PathLike) else [fspath(one) for one in path]
    if isinstance(given, str) and "://" not in given:
        if any(sign in given for sign in "*?["):
            pattern = Path(given)
            found = Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))
            given = sorted(map(str, found))
            if not given:
                raise FileNotFoundError(f"no file matches {pattern}")
        elif not Path(given).exists():
            raise FileNotFoundError(f"there is no file {given}")
    first = given if isinstance(given, str) else given[0]
    suffix = Path(first).suffix.lower()
    if suffix and suffix not in _FORMATS and not Path(first).is_dir():
        raise ValueError(
            f"{first} is read neither as Parquet nor as Arrow: pass batches of it, such as "
            "pandas.read_csv(path, chunksize=100_000), or use 'kernelstream learn'"
        )
    return dataset.dataset(given, format=_FORMATS.get(suffix, "parquet"), partitioning="hive")


def _schema_names(X: Any) -> list[str]:
    return list(X.collect_schema().names())


def _batch(item: Any, target: Any, weight: Any) -> Batch:
    """Give the rows, targets and weights of what a source has."""
    if target is not None:
        return separated(item, target, weight)
    if isinstance(item, Mapping) and "X" in item:
        if unknown := item.keys() - set(Batch._fields):
            raise TypeError(f"a batch has no {', '.join(map(repr, sorted(map(str, unknown))))}")
        return Batch(*(_plain(item.get(name)) for name in Batch._fields))
    if isinstance(item, list | tuple) and len(item) in {2, 3}:
        return Batch(*map(_plain, item))
    if (names := names_of(item)) is not None:
        raise TypeError(
            f"a frame comes with the name of its target as y; its columns are {_listed(names)}"
        )
    raise TypeError(
        f"a batch is a pair (X, y), a triple (X, y, sample_weight) or a frame, not a "
        f"{type(item).__name__}"
    )


def _plain(values: Any) -> Any:
    """Give a tensor or a column of Arrow as an array."""
    if hasattr(values, "detach"):
        return values.detach().cpu().numpy()
    if type(values).__module__.startswith("pyarrow"):
        return _table(values) if names_of(values) is not None else values.to_numpy()
    return values


def _table(batch: Any) -> Any:
    """Give a batch of Arrow as a table, whose columns are all of one class."""
    if hasattr(batch, "to_batches"):
        return batch
    return import_module("pyarrow").Table.from_batches([batch])


def _is_name(y: Any) -> bool:
    return isinstance(y, str) or (
        isinstance(y, Sequence) and len(y) > 0 and all(isinstance(name, str) for name in y)
    )


def _check_there(names: Sequence[Any], target: Any, weight: Any) -> None:
    wanted = [target] if isinstance(target, str) else list(target)
    wanted += [] if weight is None else [weight]
    if missing := [str(name) for name in wanted if name not in names]:
        raise ValueError(
            f"there is no column {', '.join(map(repr, missing))}; the columns are {_listed(names)}"
        )
    if repeated := [name for name in dict.fromkeys(wanted) if wanted.count(name) > 1]:
        raise ValueError(f"column {repeated[0]!r} is named twice among targets and weights")
    if len(wanted) == len(names):
        raise ValueError(f"there is no column beside {', '.join(map(repr, wanted))}")


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names))


def _length(X: Any) -> int:
    if isinstance(X, Mapping):
        return max(map(_length, X.values()), default=0)
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
