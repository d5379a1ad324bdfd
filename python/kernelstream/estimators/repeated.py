"""Rows that are copies of earlier ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream.estimators.advice import advise, by_options
from kernelstream.exceptions import RepeatedRowsWarning

__all__ = ["share_of_copies", "warn_of_copies"]

# Fewer rows in one call show nothing, and of more the first decide.
_ENOUGH, _MOST = 100, 200_000
# Nor do fewer different ones.
_DIFFERENT = 20
# Copies are warned of from this share of the rows on.
_SHARE = 0.2
# Rows are no copies where every column has few values, as categories and counts do: one column has
# this share of its values in one row only.
_DISTINCT = 0.5


def share_of_copies(rows: NDArray[np.float64], targets: NDArray[Any]) -> float:
    """Give the share of rows that equal an earlier one in all columns and in the target.

    0 if no column has mostly distinct values. ``O(n (d + log n))``.
    """
    if len(rows) < _ENOUGH:
        return 0.0
    rows, targets = rows[:_MOST], targets[:_MOST]
    codes = np.unique(targets, return_inverse=True)[1].reshape(len(rows), -1)
    values = np.column_stack([rows, codes]).astype(np.float64)
    # Equal rows have equal sums with random weights, and others do not.
    weights = 1.0 + np.random.default_rng(0).random(values.shape[1])
    keys = np.zeros(len(rows))
    for column, weight in zip(values.T, weights, strict=True):
        largest = max(np.nanmax(np.abs(column), initial=0.0), 1e-300)
        keys += weight * np.nan_to_num(column / largest, nan=3.0)
    _, first = np.unique(keys, return_index=True)
    share = 1.0 - len(first) / len(rows)
    if share < _SHARE:
        return share
    if len(first) < _DIFFERENT:
        return 0.0
    own = rows[first]
    enough = _DISTINCT * len(own)
    return share if any(len(np.unique(column)) >= enough for column in own.T) else 0.0


def warn_of_copies(estimator: Any, rows: Any, targets: NDArray[Any]) -> None:
    """Warn, once, of experts that choose their settings by rows of which many are copies."""
    if estimator._has_settings() or estimator._warned_of_copies:
        return
    if not isinstance(rows, np.ndarray) or rows.dtype != np.float64:
        return
    share = share_of_copies(rows, targets)
    if share < _SHARE:
        return
    estimator._warned_of_copies = True
    remedy = "leave the copies out"
    if not by_options():
        remedy += " (frame.drop_duplicates() in pandas), or give how often a row came as its weight"
    advise(
        f"{100 * share:.0f} % of the {min(len(rows), _MOST):,} rows equal an earlier row in all "
        "columns and in the target: experts that remember rows seem better than they are, and so "
        f"do errors and intervals; {remedy}",
        RepeatedRowsWarning,
    )
