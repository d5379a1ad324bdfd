"""Rows that are copies of earlier ones."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream.estimators.advice import advise, by_options
from kernelstream.exceptions import RepeatedRowsWarning

__all__ = ["Seen", "keys_of", "warn_of_copies"]

# Fewer rows show nothing, the first of more decide, and calls of fewer rows are left out, since a
# call costs as much as several rows.
_ENOUGH, _MOST, _FEWEST = 100, 65_536, 8
# Copies are warned of from this share of the rows on.
_SHARE = 0.2
# Rows are no copies where every column has few values, as categories and counts do: in the first
# rows one column has as many values as this share of the different rows, which are at least some.
_FIRST, _DISTINCT, _DIFFERENT = 200, 0.5, 10


class Seen:
    """Keys of the rows so far, and the first of these."""

    def __init__(self) -> None:
        self.keys: list[NDArray[np.uint64]] = []
        self.first: list[NDArray[np.float64]] = []
        self.count, self.n_first, self.look_at = 0, 0, _ENOUGH

    def add(self, rows: NDArray[np.float64], targets: NDArray[np.float64]) -> None:
        """Add rows, no more than are compared."""
        rows, targets = rows[: _MOST - self.count], targets[: _MOST - self.count]
        self.keys.append(keys_of(rows, targets))
        self.count += len(rows)
        if self.n_first < _FIRST:
            self.first.append(np.array(rows[: _FIRST - self.n_first], dtype=np.float64))
            self.n_first += len(self.first[-1])

    def share(self) -> float:
        """Give the share of copies, 0 where rows have few values."""
        share = 1.0 - len(np.unique(np.concatenate(self.keys))) / self.count
        if share < _SHARE:
            return share
        different = np.unique(np.concatenate(self.first), axis=0)
        enough = _DISTINCT * len(different)
        vary = any(len(np.unique(column)) >= enough for column in different.T)
        return share if vary and len(different) >= _DIFFERENT else 0.0


@lru_cache(maxsize=8)
def _factors(width: int) -> NDArray[np.uint64]:
    rng = np.random.default_rng(0)
    return rng.integers(1, 1 << 63, (width,), dtype=np.uint64) | np.uint64(1)


def keys_of(rows: NDArray[np.float64], targets: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Give a key for each row and its targets: equal ones have equal keys, others almost never."""
    keys = np.zeros(len(rows), np.uint64)
    columns = [*rows.T, *targets.T]
    for column, factor in zip(columns, _factors(len(columns)), strict=True):
        # Zeros of both signs are equal.
        bits = (column.astype(np.float64, copy=False) + 0.0).view(np.uint64)
        keys += (bits ^ (bits >> np.uint64(32))) * factor
        keys ^= keys >> np.uint64(29)
    return keys


def warn_of_copies(
    estimator: Any, rows: Any, targets: NDArray[Any], weights: NDArray[np.float64] | None
) -> None:
    """Warn, once, of experts that choose their settings by rows of which many are copies.

    Rows equal an earlier one in all columns and in the target. Those of the first 65,536 are
    compared, when their number has grown by half: 8 bytes and ``O(d + log n)`` each.
    """
    seen: Seen | None = vars(estimator).get("_rows_seen")
    # Other estimators have no effort.
    if seen is None or not hasattr(estimator, "effort") or estimator._has_settings():
        return
    if not isinstance(rows, np.ndarray) or len(rows) < _FEWEST:
        return
    targets = estimator._encode(targets)
    if weights is not None:
        known = weights[:, 0] > 0.0
        rows, targets = rows[known], targets[known]
    seen.add(rows, targets)
    if seen.count < min(seen.look_at, _MOST):
        return
    seen.look_at = 3 * seen.count // 2
    share = seen.share()
    if share >= _SHARE or seen.count == _MOST:
        estimator._rows_seen = None
    if share < _SHARE:
        return
    remedy = "leave the copies out"
    if not by_options():
        remedy += " (frame.drop_duplicates() in pandas), or give how often a row came as its weight"
    advise(
        f"{100 * share:.0f} % of {seen.count:,} rows equal an earlier row in all columns and in "
        "the target: experts that remember rows seem better than they are, and so do errors and "
        f"intervals; {remedy}",
        RepeatedRowsWarning,
    )
