"""Trajectories of dynamical systems, and pairs of states from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream.estimators.validation import whole_number
from kernelstream.koopman.trajectories import paired

__all__ = ["Dynamics", "FloatArray", "RandomState", "check_positive", "pairs"]

FloatArray: TypeAlias = NDArray[np.float64]
RandomState: TypeAlias = int | np.random.Generator | None


@dataclass(frozen=True)
class Dynamics:
    """Trajectories of a dynamical system, with its spectrum if known.

    Attributes
    ----------
    trajectories : ndarray of shape (n_trajectories, n_steps + 1, n_features)
        The states; the first one of each trajectory is its initial state.
    time_step : float
        Time between two states, in the units of the system's equation (1 for a map).
    eigenvalues : ndarray or None
        Leading eigenvalues of the Koopman operator over one `time_step`, sorted by decreasing
        modulus, beginning with 1 of the constant function; None if unknown.
    description : str
        The system in one line.
    """

    trajectories: FloatArray
    time_step: float
    # None, too; of each system it is known whether it is, so that nobody need ask.
    eigenvalues: NDArray[np.float64] | NDArray[np.complex128] | Any
    description: str

    def pairs(self, lag: int = 1) -> tuple[FloatArray, FloatArray]:
        """Pair the states `lag` steps apart.

        Parameters
        ----------
        lag : int, default=1
            Number of steps from x to x+, at least 1.

        Returns
        -------
        X, X_next : ndarray of shape (n_pairs, n_features)
            As returned by `kernelstream.datasets.pairs`.
        """
        return pairs(self.trajectories, lag)


def pairs(
    trajectories: ArrayLike | Sequence[ArrayLike], lag: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Pair states `lag` steps apart as (x, x+), never across two trajectories.

    Parameters
    ----------
    trajectories : array of shape (n_trajectories, n_times, n_features) or (n_times, n_features), \
or a sequence of arrays of shape (n_times, n_features)
        Trajectories, of any lengths if given as a sequence. Those of at most `lag` states give no
        pair.
    lag : int, default=1
        Number of steps from x to x+, at least 1.

    Returns
    -------
    X, X_next : ndarray of shape (n_pairs, n_features)
        Row i of `X_next` is the state `lag` steps after row i of `X`; pairs in order of time,
        one trajectory after the other.

    Raises
    ------
    ValueError
        If `lag` is below 1, if a trajectory is not two-dimensional, if their widths differ, or if
        every trajectory is too short to give a pair.

    Examples
    --------
    >>> from kernelstream.datasets import pairs
    >>> X, X_next = pairs([[[0.0], [1.0], [2.0]], [[7.0], [8.0]]])
    >>> X.ravel().tolist(), X_next.ravel().tolist()
    ([0.0, 1.0, 7.0], [1.0, 2.0, 8.0])
    """
    whole_number("lag", lag, 1)
    if isinstance(trajectories, np.ndarray) and trajectories.ndim == 2:
        trajectories = [trajectories]
    parts = [np.asarray(part, dtype=np.float64) for part in trajectories]  # type: ignore[union-attr]
    for i, part in enumerate(parts):
        if part.ndim != 2:
            raise ValueError(
                f"trajectory {i} has {part.ndim} dimensions; it must be (n_times, n_features)"
            )
        if part.shape[1] != parts[0].shape[1]:
            raise ValueError(
                f"trajectory {i} has {part.shape[1]} features, but the first has "
                f"{parts[0].shape[1]}"
            )
    before, after = paired(parts, lag, may_be_empty=False)
    return before.copy(), after.copy()


def check_positive(name: str, value: float) -> None:
    """Check a parameter that must be a finite number above 0.

    Parameters
    ----------
    name : str
        Its name, for the error message.
    value : float
        Its value.

    Raises
    ------
    ValueError
        It is not.
    """
    if not (np.isfinite(value) and value > 0.0):
        raise ValueError(f"{name} must be a finite number above 0, got {value}")
