"""Whether rows come in an order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_serial", "shuffled"]

# Fewest rows, and the ratio below which neighbours are alike: by chance it is 1 with a deviation of
# 1 / sqrt(n), so that one table in 30,000 of 64 rows in a random order is shuffled, of more none.
_FEWEST = 64
_RATIO = 0.5


def is_serial(targets: NDArray[Any]) -> bool:
    """Tell whether neighbouring targets are more alike than others, as in a sorted table."""
    if len(targets) < _FEWEST:
        return False
    if targets.dtype.kind == "f":
        variance = targets.var(axis=0)
        successive = np.square(np.diff(targets, axis=0)).mean(axis=0)
        return bool(np.any(successive < _RATIO * 2.0 * variance))
    _, codes, counts = np.unique(targets, return_inverse=True, return_counts=True)
    expected = 1.0 - np.square(counts / len(targets)).sum()
    return bool(np.mean(codes[1:] != codes[:-1]) < _RATIO * expected)


def shuffled(n_rows: int) -> NDArray[np.intp]:
    """Give a random order of rows, the same at every call."""
    return np.random.default_rng(0).permutation(n_rows)
