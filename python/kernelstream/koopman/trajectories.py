"""Trajectories, and pairs of their states."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_trajectories", "check_trajectories", "paired"]

FloatArray = NDArray[np.float64]


def as_trajectories(given: Any) -> list[Any]:
    """Split an argument into single trajectories.

    Parameters
    ----------
    given : array-like of shape (n_times, n_features) or (n_trajectories, n_times, n_features), \
or sequence of array-likes of shape (n_times, n_features)
        One trajectory (also a data frame), or several.

    Returns
    -------
    trajectories : list
        One entry per trajectory.

    Raises
    ------
    ValueError
        The argument contains no trajectory, or looks like one of fields.
    """
    if isinstance(given, np.ndarray):
        if given.ndim == 3:
            _refuse_field(given.shape)
        trajectories = list(given) if given.ndim == 3 else [given]
    elif isinstance(given, list | tuple) and (not given or np.ndim(given[0]) == 2):
        trajectories = list(given)
    else:
        trajectories = [given]
    if not trajectories:
        raise ValueError("the list of trajectories is empty: at least one is needed")
    return trajectories


def _refuse_field(shape: tuple[int, ...]) -> None:
    """Refuse an array of many short trajectories of wide states, as which it was hardly meant."""
    first, second, third = shape
    if third >= 8 and third >= second / 4 and first >= 2 * second:
        raise ValueError(
            f"an array of shape {shape} would be {first} trajectories of {second} states with "
            f"{third} numbers each. If these are {first} states of a field of {second} by {third} "
            "numbers, pass T.reshape(len(T), -1); if they are many short trajectories, pass a "
            "list: list(T)"
        )


def check_trajectories(
    pieces: list[FloatArray], lag: int, *, continued: bool, span: int = 0
) -> None:
    """Refuse trajectories that cannot be learned.

    Parameters
    ----------
    pieces : list of ndarray of shape (n_times, n_features)
        Trajectories.
    lag : int
        Steps between the two states of a pair.
    continued : bool
        Whether the first one goes on with an earlier one, so that there may be no pair at all.
    span : int
        Steps from the earliest delay of a state to it.

    Raises
    ------
    ValueError
        A state is not finite (the message names it), or there is no pair, although one is required.
    """
    for i, piece in enumerate(pieces):
        bad = np.argwhere(~np.isfinite(piece))
        if len(bad):
            row, column = bad[0]
            where = f"trajectory {i}" if len(pieces) > 1 else "the trajectory"
            raise ValueError(
                f"{where} contains {piece[row, column]} at row {row}, column {column}: split it "
                "there, or impute the value, before learning"
            )
    longest = max((len(piece) for piece in pieces), default=0)
    if longest <= lag + span and not continued:
        delays = f" with delays over {span} steps" if span else ""
        raise ValueError(
            f"no pair: the longest of {len(pieces)} trajectories has {longest} states, and "
            f"lag={lag}{delays} needs at least {lag + span + 1}"
        )


def paired(
    pieces: list[FloatArray], lag: int, *, may_be_empty: bool
) -> tuple[FloatArray, FloatArray]:
    """Pair states `lag` steps apart, never across two trajectories.

    Parameters
    ----------
    pieces : list of ndarray of shape (n_times, n_features)
        Trajectories; those of at most `lag` states give no pair.
    lag : int
        Steps between the two states of a pair.
    may_be_empty : bool
        Whether no pair at all is allowed.

    Returns
    -------
    X, X_next : ndarray of shape (n_pairs, n_features)
        The pairs in order of time, one trajectory after the other; views if there is only one.

    Raises
    ------
    ValueError
        There is no pair, although one is required.
    """
    used = [piece for piece in pieces if len(piece) > lag]
    if not used and not may_be_empty:
        longest = max((len(piece) for piece in pieces), default=0)
        raise ValueError(
            f"no pair: the longest of {len(pieces)} trajectories has {longest} states, and "
            f"lag={lag} needs at least {lag + 1}"
        )
    if not used:
        return pieces[0][:0], pieces[0][:0]
    if len(used) == 1:
        return used[0][:-lag], used[0][lag:]
    return (
        np.concatenate([piece[:-lag] for piece in used]),
        np.concatenate([piece[lag:] for piece in used]),
    )
