"""The period of a record, by how well the mean of each phase forecasts later rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream import _core
from kernelstream.estimators.validation import refuse_masked, whole_number
from kernelstream.koopman.trajectories import as_trajectories

__all__ = ["find_period"]

FloatArray = NDArray[np.float64]

# States looked at.
_MOST = 2048


def find_period(T: ArrayLike | Sequence[ArrayLike], longest: int | None = None) -> int | None:
    """Find after how many states a record repeats.

    Candidates are the peaks of the autocorrelation and the periods of calendars: 4, 7, 12, 24, 48,
    52, 168 and 336. Each is judged by what it is for: the mean of each phase over the first part
    of the record, about a moving mean, forecasts the rest. A drift without a period has peaks of
    autocorrelation by chance, but no mean of phases that lasts.

    Parameters
    ----------
    T : array-like of shape (n_times, n_features), or several
        A trajectory, or several; those shorter than three periods are of no use.
    longest : int, optional
        Longest period looked for, in states. None: what the longest trajectory holds 2.7 times.

    Returns
    -------
    period : int or None
        In states; None if there is none of 2 states or more.

    Raises
    ------
    ValueError, TypeError
        `longest` is not a whole number from 2.

    Notes
    -----
    O(n^2) for each component, of the latest 2,048 states of the longest trajectory.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream.koopman import find_period
    >>> t = np.arange(500)
    >>> find_period(np.column_stack([np.sin(2 * np.pi * t / 24), 0.01 * t]))
    24
    >>> find_period(np.random.default_rng(0).normal(size=(500, 1))) is None
    True
    """
    pieces = [_states(piece) for piece in as_trajectories(T)]
    most = None if longest is None else whole_number("longest", longest, 2)
    # The longest trajectory is one where the period was seen most often.
    record = max(pieces, key=len)[-_MOST:]
    deviation = record.std(axis=0)
    shares: dict[int, float] = {}
    for values, size in zip(record.T, deviation, strict=True):
        if size > 0.0:
            for period in _core.find_periods(values.tolist())[:1]:
                shares[period] = shares.get(period, 0.0) + 1.0
    found = {period: share for period, share in shares.items() if most is None or period <= most}
    return max(found, key=lambda period: (found[period], -period)) if found else None


def _states(piece: Any) -> FloatArray:
    refuse_masked(piece, "T")
    states = np.asarray(piece, dtype=np.float64)
    return states[:, None] if states.ndim == 1 else states
