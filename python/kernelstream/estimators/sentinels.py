"""Numbers that may stand for missing values, such as -9999."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sentinel", "find_sentinel"]

# A value that far from the median of its column, in units of the median distance from it, is warned
# of; at most one in a hundred values, in at least this many rows.
_FAR, _RARE, _ENOUGH = 1000.0, 100, 50

# Rows per block, so that memory is bounded.
_BLOCK = 8192


class Sentinel(NamedTuple):
    """A number that may stand for a missing value.

    Attributes
    ----------
    row, column : int
        Where it is.
    value : float
        The number.
    times : float
        How many times further from the median of its column it is than usual.
    """

    row: int
    column: int
    value: float
    times: float

    @property
    def times_text(self) -> str:
        """The number of times, in words."""
        return f"{self.times:,.0f}" if self.times < 1e7 else f"{self.times:.0e}"

    def describe(self, place: str) -> str:
        """Describe it, with its place."""
        return (
            f"{self.value:.6g} at {place}, {self.times_text} times further from the median than "
            "usual, and is learned as it is"
        )


def find_sentinel(values: NDArray[np.float64]) -> Sentinel | None:
    """Find the first value that is thousands of times further from the median than usual."""
    for start in range(0, max(len(values) - _ENOUGH, 0) + 1, _BLOCK):
        # The last block is the longer one where too few rows would be left for another.
        stop = start + _BLOCK if start + _BLOCK <= len(values) - _ENOUGH else len(values)
        if (found := _in_block(values[start:stop])) is not None:
            return found._replace(row=start + found.row)
    return None


def _in_block(values: NDArray[np.float64]) -> Sentinel | None:
    if len(values) < _ENOUGH:
        return None
    if (gaps := np.isnan(values)).any():
        # Give the numbers of each column.
        columns = [_in_block(values[~gap, c : c + 1]) for c, gap in enumerate(gaps.T)]
        found = [
            one._replace(row=int(np.flatnonzero(~gaps[:, c])[one.row]), column=c)
            for c, one in enumerate(columns)
            if one is not None
        ]
        return min(found, default=None)
    distance = np.abs(values - np.median(values, axis=0))
    usual = np.median(distance, axis=0)
    far = (distance > _FAR * usual) & (usual > 0.0)
    far &= far.sum(axis=0) * _RARE <= len(values)
    if not far.any():
        return None
    row, column = np.argwhere(far)[0].tolist()
    return Sentinel(row, column, values[row, column], distance[row, column] / usual[column])
