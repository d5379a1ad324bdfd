"""The period of a record, from how much states differ that are some time apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream.estimators.validation import refuse_masked, whole_number
from kernelstream.koopman.trajectories import as_trajectories

__all__ = ["find_period"]

FloatArray = NDArray[np.float64]

# States a period apart differ by at most this share of the squared difference of those half-way,
_RETURN = 0.5
# and the first period is taken that is within this factor of the best: multiples are as good.
_ALIKE = 1.25
# That noise does not say when exactly: the best of the lags so near.
_NEAR = 1.1


def find_period(T: ArrayLike | Sequence[ArrayLike], longest: int | None = None) -> int | None:
    """Find after how many states a record comes back to where it was.

    The mean squared difference of states some lag apart (the structure function, each component
    in units of its variance) rises from lag 0; the period is the first lag at which it has come
    back to half of its height in between or less. Trends and slow drifts do not hide it.

    Parameters
    ----------
    T : array-like of shape (n_times, n_features), or several
        A trajectory, or several; those shorter than three periods say little.
    longest : int, optional
        Longest period looked for, in states. None: a third of the longest trajectory.

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
    O(n log n) for each component, by fast Fourier transforms.

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
    most = max(map(len, pieces)) // 3 if longest is None else whole_number("longest", longest, 2)
    most = min(most, max(map(len, pieces)) - 1)
    if most < 2:
        return None
    differences = _structure(pieces, most)
    # Up to each lag, the largest before it.
    height = np.maximum.accumulate(differences)
    lags = np.arange(2, most)
    turns = (differences[lags] <= differences[lags - 1]) & (
        differences[lags] < differences[lags + 1]
    )
    back = lags[turns & (differences[lags] <= _RETURN * height[lags])]
    if not len(back):
        return None
    first = back[differences[back] <= _ALIKE * differences[back].min() + 1e-9][0]
    near = back[(back >= first) & (back <= _NEAR * first)]
    return int(near[differences[near].argmin()])


def _states(piece: Any) -> FloatArray:
    refuse_masked(piece, "T")
    states = np.asarray(piece, dtype=np.float64)
    return states[:, None] if states.ndim == 1 else states


def _structure(pieces: list[FloatArray], most: int) -> FloatArray:
    """Give the mean squared difference at each lag, the mean over varying components."""
    deviation = np.concatenate(pieces).std(axis=0)
    units = np.where(deviation > 0.0, deviation, np.inf)
    sums, counts = np.zeros(most + 1), np.zeros(most + 1)
    for piece in pieces:
        lags = np.arange(min(most, len(piece) - 1) + 1)
        scaled = (piece - piece.mean(axis=0)) / units
        spectrum = np.fft.rfft(scaled, 2 * len(piece), axis=0)
        products = np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[lags].sum(axis=1)
        ends = np.append(0.0, np.cumsum(np.sum(scaled**2, axis=1)))
        sums[lags] += ends[len(piece) - lags] + ends[-1] - ends[lags] - 2.0 * products
        counts[lags] += len(piece) - lags
    differences: FloatArray = np.maximum(sums, 0.0) / np.maximum(counts, 1.0)
    return differences
