"""Snapshots of fields, a block at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream.estimators.validation import as_float64

__all__ = ["blocks_of", "shape_of"]

FloatArray = NDArray[np.float64]


def shape_of(X: Any) -> tuple[int, tuple[int, ...]]:
    """Give the number of snapshots, and the shape of each.

    Parameters
    ----------
    X : array-like of shape (n, ...)
        Snapshots.

    Returns
    -------
    count : int
        Number of snapshots.
    shape : tuple of int
        Shape of a snapshot.

    Raises
    ------
    ValueError
        There are fewer than two dimensions, or a snapshot has no number.
    """
    shape = tuple(X.shape if hasattr(X, "shape") else np.shape(X))
    if len(shape) < 2 or not math.prod(shape[1:]):
        raise ValueError(
            f"snapshots have shape {shape}, but must have shape (n, ...): one snapshot is X[None]"
        )
    return shape[0], shape[1:]


def blocks_of(X: Any, size: int) -> Iterator[FloatArray]:
    """Read snapshots block by block, so that only one block of a file is in memory.

    Parameters
    ----------
    X : array-like of shape (n, ...)
        Snapshots: an array in memory, or in a file (memory map, zarr, HDF5), of any real type.
    size : int
        Snapshots in a block.

    Yields
    ------
    block : ndarray of float64 of shape (at most size, n_features)
        Snapshots as rows.

    Raises
    ------
    ValueError, TypeError
        A value is not finite (the message says where), or they are not real numbers.
    """
    count, shape = shape_of(X)
    source = X if hasattr(X, "shape") else np.asarray(X)
    for start in range(0, count, size):
        part = source[start : start + size]
        if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
            part = np.ma.filled(part.astype(np.float64), np.nan)
        block = as_float64(np.asarray(part), "X").reshape(len(part), -1)
        if not np.isfinite(block.sum()) and not np.isfinite(block).all():
            row, place = np.argwhere(~np.isfinite(block))[0]
            where = tuple(int(i) for i in np.unravel_index(place, shape))
            raise ValueError(
                f"snapshot {start + row} contains {block[row, place]} at {where}: fill it, or "
                "leave out such places, X[:, mask]"
            )
        yield block
