"""Short gaps between evenly spaced times, filled on a line between the rows before and after."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LONG",
    "MOST_FILLED",
    "count_gaps",
    "count_missing",
    "insert_rows",
    "usual_step",
]

FloatArray = NDArray[np.float64]
Counts = NDArray[np.int64]

# Gaps of at most this many rows are filled: another trajectory has lost its season.
MOST_FILLED = 2
# A difference of times above this multiple of the usual one is a gap.
LONG = 1.5
# Gaps are filled if they are this close to a whole number of steps.
_WHOLE = 0.25
# Rows that may be filled for each complete one, and besides: of more, most would be made up.
_FILLED, _FIRST = 0.25, 10
# Longer gaps are not counted.
_LONGEST = 1e6
# A step that is shorter than the median one is usual if at least one in ten is no longer, and
# nearly all are whole multiples of it, to within a tenth; of fewer steps it is not known.
_SHORT, _NEARLY_ALL, _NEAR, _FEWEST = 0.1, 0.95, 0.1, 8
# Steps after which a pattern of times occurs again, such as those of a day, and their share.
_PATTERN, _AGAIN = 31, 0.9
# Multiples by which the step is determined.
_CLOSER = 1, 3, 10, np.inf


def usual_step(steps: NDArray[np.float64]) -> float:
    """Give the step of evenly spaced times of which many may be missing.

    It is the median, or a shorter one of which nearly all are whole multiples, unless these follow
    a pattern, as of three times a day.

    Parameters
    ----------
    steps : ndarray of shape (n,)
        The differences of successive times, n at least 1.
    """
    median = float(np.median(steps))
    if len(steps) < _FEWEST or median <= 0.0:
        return median
    short = float(np.quantile(steps, _SHORT, method="lower"))
    if short <= 0.0 or LONG * short > median:
        return median
    step = short
    # Closer, by longer and longer steps.
    for most in _CLOSER:
        near = steps[steps < (most + 0.5) * step]
        step = float(near.sum() / np.rint(near / step).sum())
    if np.mean(np.abs(steps / step - np.rint(steps / step)) <= _NEAR) < _NEARLY_ALL:
        return median
    counts = np.rint(steps / step)
    again = range(1, min(_PATTERN, len(counts) // 2) + 1)
    if any(np.mean(counts[lag:] == counts[:-lag]) >= _AGAIN for lag in again):
        return median
    return step


def count_missing(
    steps: FloatArray, most: int = MOST_FILLED, *, n_complete: int = 0, n_filled: int = 0
) -> Counts:
    """Count the rows that are to be filled in before each row.

    Parameters
    ----------
    steps : ndarray of shape (n,)
        Time from the row before to each, in units of the usual step; NaN where there is none.
    most : int, default=2
        Longest gap to be filled, in rows.
    n_complete, n_filled : int
        How many rows there were, and how many were filled in, before these.

    Returns
    -------
    missing : ndarray of int of shape (n,)
        0 where there is no gap, or one that is not filled.
    """
    missing = count_gaps(steps)
    missing[missing > most] = 0
    for row in np.flatnonzero(missing):
        if n_filled + missing[row] > _FIRST + _FILLED * (n_complete + row):
            missing[row] = 0
        n_filled += int(missing[row])
    return missing


def count_gaps(steps: FloatArray) -> Counts:
    """Count the rows that are missing before each row, 0 where no whole number of them is.

    Parameters
    ----------
    steps : ndarray of shape (n,)
        Time from the row before to each, in units of the usual step; NaN where there is none.
    """
    whole = np.rint(steps)
    fits = (whole >= 2.0) & (whole < _LONGEST) & (np.abs(steps - whole) <= _WHOLE)
    return np.where(fits, whole - 1.0, 0.0).astype(np.int64)


def insert_rows(
    rows: FloatArray, missing: Counts, before: FloatArray | None = None
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Insert missing rows on a line between their neighbours.

    Parameters
    ----------
    rows : ndarray of shape (n, n_columns)
        The rows, n at least 1.
    missing : ndarray of int of shape (n,)
        How many rows are missing before each; before the first only if there is a row `before`.
    before : ndarray of shape (n_columns,), optional
        The row before the first.

    Returns
    -------
    rows : ndarray of shape (n + missing.sum(), n_columns)
        All rows.
    filled : ndarray of bool of shape (n + missing.sum(),)
        Which of them were filled in.
    """
    previous = np.roll(rows, 1, axis=0)
    previous[0] = rows[0] if before is None else before
    # Each row ends `steps` rows, of which the others are filled in.
    steps = np.repeat(missing + 1, missing + 1)
    last = np.repeat(np.cumsum(missing + 1), missing + 1)
    step = np.arange(1, len(steps) + 1) - last + steps
    here, there = (np.repeat(ends, missing + 1, axis=0) for ends in (previous, rows))
    filled = step < steps
    between = here + (step / steps)[:, None] * (there - here)
    return np.where(filled[:, None], between, there), filled
