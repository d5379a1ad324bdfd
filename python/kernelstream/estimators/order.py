"""Whether rows come in an order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kernelstream.estimators.validation import located_error
from kernelstream.exceptions import DataError

__all__ = ["is_serial", "naming_rows_of", "shuffled"]

# Fewest rows, and the ratio below which neighbours are alike: by chance it is 1 with a deviation of
# 1 / sqrt(n), so that one table in 30,000 of 64 rows in a random order is shuffled, of more none.
_FEWEST = 64
_RATIO = 0.5


def is_serial(targets: NDArray[Any]) -> bool:
    """Tell whether neighbouring targets are more alike than others, as in a sorted table."""
    if len(targets) < _FEWEST:
        return False
    if targets.dtype.kind == "f":
        columns = targets.reshape(len(targets), -1).T
        return any(_is_serial_column(column[np.isfinite(column)]) for column in columns)
    _, codes, counts = np.unique(targets, return_inverse=True, return_counts=True)
    expected = 1.0 - np.square(counts / len(targets)).sum()
    return bool(np.mean(codes[1:] != codes[:-1]) < _RATIO * expected)


def _is_serial_column(numbers: NDArray[Any]) -> bool:
    if len(numbers) < _FEWEST:
        return False
    successive = np.square(np.diff(numbers)).mean()
    return bool(successive < _RATIO * 2.0 * numbers.var())


def shuffled(n_rows: int) -> NDArray[np.intp]:
    """Give a random order of rows, the same at every call."""
    return np.random.default_rng(0).permutation(n_rows)


@contextmanager
def naming_rows_of(order: NDArray[np.intp] | None) -> Iterator[None]:
    """Name the rows that were given in errors about rows that were shuffled."""
    try:
        yield
    except DataError as error:
        if order is None or error.row is None:
            raise
        row = int(order[error.row])
        message = re.sub(rf"\brow {error.row}\b", f"row {row}", str(error), count=1)
        named = located_error(message, cast(str, error.array), row, error.column)
        named.reason = error.reason
        raise named from None
