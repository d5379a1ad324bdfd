"""Numbers that may stand for missing values, such as -9999."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Code", "Sentinel", "find_codes", "find_sentinel"]

# A value that far from the median of its column, in units of the median distance from it, is warned
# of; at most one in a hundred values, in at least this many rows.
_FAR, _RARE, _ENOUGH = 1000.0, 100, 50

# Numbers that programs write for a missing value: three nines or more, and the limits of integers.
_KNOWN = np.array(
    [
        *(sign * (10.0**digits - 1.0) for sign in (-1.0, 1.0) for digits in range(3, 11)),
        *(-999.25, -32768.0, 32767.0, 65535.0, -2147483648.0, 2147483647.0),
    ]
)
# One of these is warned of also nearer by, if it is further beyond the range of all other values
# than this share of that range, below and above: 999 and 9999 are prices as well. The largest of
# thousands of Gaussian numbers is 0.05 beyond the others.
_BELOW, _ABOVE = 0.1, 0.5

# Rows per block, so that memory is bounded.
_BLOCK = 8192

# A value of a column of features is a code if it is repeated, in at least this number and this
# share of the rows, but not in most of them.
_REPEATED, _SHARE, _MOST = 3, 0.01, 0.5
# The other values are no few levels, such as prices of three plans.
_DISTINCT = 10
# Distance from the nearest other value, in ranges and in interquartile ranges of the others, below
# and above: the largest prices are far from most others. Any repeated value is a code from
# _ANYTHING ranges on, such as 1e20.
_APART_BELOW, _APART_ABOVE, _ANYTHING = (0.5, 2.0), (2.0, 10.0), 1000.0


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
    others : tuple of (float, float), optional
        The range of all other values of its column, if the value is one that programs write for a
        missing one.
    """

    row: int
    column: int
    value: float
    times: float
    others: tuple[float, float] | None = None

    @property
    def is_far(self) -> bool:
        """Whether it is thousands of times further from the median than usual."""
        return self.times > _FAR

    @property
    def times_text(self) -> str:
        """The number of times, in words."""
        return f"{self.times:,.0f}" if self.times < 1e7 else f"{self.times:.0e}"

    @property
    def why(self) -> str:
        """Why it may stand for a missing value."""
        if self.is_far or self.others is None:
            return f"{self.times_text} times further from the median than usual"
        low, high = self.others
        return f"where all other values are from {low:.6g} to {high:.6g}"

    def describe(self, place: str, learned: str = "is learned as it is") -> str:
        """Describe it, with its place and what becomes of it."""
        return f"{self.value:.12g} at {place}, {self.why}, and {learned}"


class Code(NamedTuple):
    """A value that is repeated in a column of features, and may stand for a missing one.

    Attributes
    ----------
    column : int
        Its column.
    value, share : float
        The value, and its share of the known cells.
    others : tuple of (float, float)
        The range of all other values.
    """

    column: int
    value: float
    share: float
    others: tuple[float, float]


def find_codes(rows: NDArray[np.float64]) -> list[Code]:
    """Find the columns with a repeated value far outside all others, such as -9999; NaN: a gap.

    Columns whose others are mostly one value, such as counts with many zeros, have none: the
    interquartile range of these is 0.
    """
    if len(rows) < _ENOUGH:
        return []
    low, high = np.fmin.reduce(rows, axis=0), np.fmax.reduce(rows, axis=0)
    repeated = np.stack([(rows == end).sum(axis=0) for end in (low, high)])
    n_known = len(rows) - np.isnan(rows).sum(axis=0)
    usual = (repeated >= np.maximum(_REPEATED, _SHARE * n_known)) & (repeated <= _MOST * n_known)
    found = []
    for column in np.flatnonzero(usual.any(axis=0) & (n_known >= _ENOUGH)).tolist():
        values = rows[:, column]
        for below, end in ((True, low[column]), (False, high[column])):
            others = values[(values != end) & np.isfinite(values)]
            count = int(repeated[0 if below else 1, column])
            if usual[0 if below else 1, column] and _is_code(end, others, below=below):
                share = count / int(n_known[column])
                ends = (float(others.min()), float(others.max()))
                found.append(Code(column, float(end), share, ends))
                break
    return found


def _is_code(end: float, others: NDArray[np.float64], *, below: bool) -> bool:
    """Tell whether an end of a column is a code, by its digits and its distance from the others."""
    first, last = float(others.min()), float(others.max())
    gap = first - end if below else end - last
    if not gap > 0.5 * (last - first) or len(np.unique(others)) < _DISTINCT:
        return False
    quartiles = np.quantile(others, [0.25, 0.75])
    middle = float(quartiles[1] - quartiles[0])
    if middle <= 0.0:
        return False
    if gap > _ANYTHING * (last - first):
        return True
    ranges, middles = _APART_BELOW if below else _APART_ABOVE
    return _is_written(end) and gap > ranges * (last - first) and gap > middles * middle


def _is_written(value: float) -> bool:
    """Tell whether programs write a number for a missing value; below 0 also -99 and -99.9."""
    if np.isin(value, _KNOWN):
        return True
    digits = f"{-value:.12g}".replace(".", "")
    return value < 0.0 and len(digits) > 1 and set(digits) == {"9"}


def find_sentinel(
    values: NDArray[np.float64], which: Literal["any", "known", "far"] = "any"
) -> Sentinel | None:
    """Find the first value that may stand for a missing one.

    It is thousands of times further from the median of its column than usual (``"far"``), or is a
    number that programs write for a missing value and lies outside the range of all others
    (``"known"``).
    """
    # Distances between the largest numbers are infinite, and none is further than usual.
    with np.errstate(over="ignore", invalid="ignore"):
        found = _known_codes(values) if which != "far" else []
        if which != "known" and (far := _first_far(values)) is not None:
            found.append(far)
    return min(found, key=lambda one: one[:2], default=None)


def _known_codes(values: NDArray[np.float64]) -> list[Sentinel]:
    """Give the first number of each column that programs write and that is outside the others."""
    found: list[Sentinel] = []
    for column in np.flatnonzero(_has_known_end(values)).tolist():
        rows = np.flatnonzero(~np.isnan(values[:, column]))
        numbers = values[rows, column]
        if len(numbers) < _ENOUGH or (one := _known_beyond(numbers)) is None:
            continue
        row, others = one
        distance = np.abs(numbers - np.median(numbers))
        usual = float(np.median(distance))
        times = float(distance[row]) / usual if usual else 0.0
        found.append(Sentinel(int(rows[row]), column, float(numbers[row]), times, others))
    return found


def _first_far(values: NDArray[np.float64]) -> Sentinel | None:
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


def _has_known_end(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which columns have a known number as their least or largest value."""
    if not len(values):
        return np.zeros(values.shape[1], dtype=bool)
    ends = np.stack([np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)])
    # For a few columns, faster than np.isin, which sorts.
    return np.asarray((ends[..., np.newaxis] == _KNOWN).any(axis=(0, 2)))


def _known_beyond(values: NDArray[np.float64]) -> tuple[int, tuple[float, float]] | None:
    """Give the row of a known number that lies outside the range of all others, and that range."""
    low, high = float(values.min()), float(values.max())
    for end, share in ((low, _BELOW), (high, _ABOVE)):
        others = values[values != end]
        if not np.isin(end, _KNOWN) or 2 * len(others) < len(values):
            continue
        first, last = float(others.min()), float(others.max())
        if last > first and max(first - end, end - last) > share * (last - first):
            return int(np.argmax(values == end)), (first, last)
    return None
