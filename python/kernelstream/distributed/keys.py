"""A pseudorandom number for each row that depends on its content only.

The rows with the smallest numbers are a sample of all rows, and the same one however these are
divided, ordered and carried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from kernelstream.columns.batches import names_of

__all__ = ["keys_of"]

Keys = NDArray[np.uint64]

# The finalizer of splitmix64 (Steele, Lea and Flood, Fast splittable pseudorandom number
# generators, 2014).
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)


def keys_of(piece: Mapping[str, Any], n: int) -> Keys:
    """Give the numbers of rows."""
    keys = np.zeros(n, np.uint64)
    for name in sorted(piece):
        for column in _columns(piece[name]):
            keys = _mixed((keys ^ column) + _GAMMA)
    order = np.argsort(keys, kind="stable")
    equal = (
        np.concatenate([[False], keys[order[1:]] == keys[order[:-1]]]) if n else np.empty(0, bool)
    )
    if equal.any():
        place = np.arange(n)
        first = np.maximum.accumulate(np.where(equal, 0, place))
        keys[order] = _mixed(keys[order] + _GAMMA * (place - first).astype(np.uint64))
    return keys


def _mixed(keys: Keys) -> Keys:
    keys = (keys ^ (keys >> _S30)) * _FIRST
    keys = (keys ^ (keys >> _S27)) * _SECOND
    mixed: Keys = keys ^ (keys >> _S31)
    return mixed


def _columns(values: Any) -> Iterator[Keys]:
    """Give the bits of each column."""
    if issparse(values):
        yield _of_sparse(values.tocsr())
        return
    names = names_of(values)
    if names is not None:
        for name in names:
            yield _bits(values[name])
        return
    array = np.asarray(values)
    for column in array.reshape(len(array), -1).T:
        yield _bits(column)


def _bits(column: Any) -> Keys:
    array = np.asarray(column)
    if array.dtype.kind in "biuf":
        numbers = array.astype(np.float64) + 0.0  # one zero
        return np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)
    if array.dtype.kind in "mM":
        instants = array.astype(f"{array.dtype.kind}8[us]")
        return instants.view(np.uint64)
    words, places = np.unique(
        np.array([_text(value) for value in array.tolist()]), return_inverse=True
    )
    codes = np.array([crc32(word.encode()) for word in words.tolist()], np.uint64)
    return codes[places.reshape(-1)]


def _text(value: Any) -> str:
    """Give a text that does not depend on the library of the value; None for a missing one."""
    return "" if value is None or value != value else str(value)  # noqa: PLR0124


def _of_sparse(rows: Any) -> Keys:
    """Give a sum over the entries that does not depend on whether zeros are stored."""
    keys = np.zeros(rows.shape[0], np.uint64)
    entries = rows.data != 0.0
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[entries]
    column = _mixed(rows.indices[entries].astype(np.uint64) + _GAMMA)
    np.add.at(keys, row, _mixed(_bits(rows.data[entries]) ^ column))
    return keys
