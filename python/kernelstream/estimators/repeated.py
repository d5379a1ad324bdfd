"""Rows that are copies of earlier ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream.estimators.advice import advise, by_options
from kernelstream.exceptions import RepeatedRowsWarning

__all__ = ["keys_of", "warn_of_copies"]

# Fewer rows show nothing, the first of more decide, and calls of fewer rows, which are to be fast,
# are left out.
_ENOUGH, _MOST, _FEWEST = 100, 65_536, 8
# Copies are warned of from this share of the rows on.
_SHARE = 0.2
# Rows are no copies where every column has few values, as categories and counts do: one column has
# as many values as this share of the different rows, which are at least some.
_DISTINCT, _DIFFERENT = 0.5, 10


def keys_of(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Give a key for each row: equal rows have equal ones, and others do not."""
    rng = np.random.default_rng(0)
    factors: NDArray[np.uint64] = rng.integers(1, 1 << 63, (values.shape[1],), dtype=np.uint64)
    keys = np.zeros(len(values), np.uint64)
    for column, factor in zip(values.T, factors, strict=True):
        # Zeros of both signs are equal.
        bits = (column + 0.0).view(np.uint64)
        keys += (bits ^ (bits >> np.uint64(32))) * (factor | np.uint64(1))
        keys ^= keys >> np.uint64(29)
    return keys


def _vary(rows: NDArray[np.float64], keys: NDArray[np.uint64]) -> bool:
    """Whether a column has mostly distinct values in the different rows."""
    different = rows[np.unique(keys, return_index=True)[1]]
    if len(different) < _DIFFERENT:
        return False
    enough = _DISTINCT * len(different)
    return any(len(np.unique(column)) >= enough for column in different.T)


def warn_of_copies(estimator: Any, rows: Any, targets: NDArray[Any]) -> None:
    """Warn, once, of experts that choose their settings by rows of which many are copies.

    Rows equal an earlier one in all columns and in the target. Those of the first 65,536 are
    compared, when their number has grown by half: 8 bytes and ``O(d + log n)`` each.
    """
    kept: list[NDArray[np.uint64]] | None = vars(estimator).get("_row_keys")
    is_table = isinstance(rows, np.ndarray) and len(rows) >= _FEWEST
    if kept is None or not is_table or estimator._has_settings():
        return
    rows = rows.astype(np.float64, copy=False)
    keys = keys_of(np.column_stack([rows, estimator._encode(targets)]))
    kept.append(keys)
    count = sum(map(len, kept))
    if count < min(estimator._look_for_copies_at, _MOST):
        return
    estimator._look_for_copies_at = 3 * count // 2
    if count >= _MOST:
        estimator._row_keys = None
    share = 1.0 - len(np.unique(np.concatenate(kept))) / count
    if share < _SHARE or not _vary(rows, keys):
        return
    estimator._row_keys = None
    remedy = "leave the copies out"
    if not by_options():
        remedy += " (frame.drop_duplicates() in pandas), or give how often a row came as its weight"
    advise(
        f"{100 * share:.0f} % of {count:,} rows equal an earlier row in all columns and in the "
        "target: experts that remember rows seem better than they are, and so do errors and "
        f"intervals; {remedy}",
        RepeatedRowsWarning,
    )
