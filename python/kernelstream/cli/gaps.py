"""Rows with missing values: refused, or skipped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelstream.cli.batches import Batch
from kernelstream.cli.columns import Columns

__all__ = ["complete_features", "refuse_gaps"]


def complete_features(batch: Batch, columns: Columns) -> NDArray[np.bool_]:
    """Tell which rows have all their features.

    Parameters
    ----------
    batch : Batch
        Rows.
    columns : Columns
        What they contain.

    Returns
    -------
    complete : ndarray of bool of shape (n,)
        Which have.
    """
    return np.asarray(np.isfinite(batch.values[:, : len(columns.features)]).all(axis=1))


def refuse_gaps(batch: Batch, columns: Columns, *, targets: bool) -> None:
    """Raise an error if there is a missing value.

    Parameters
    ----------
    batch : Batch
        Rows.
    columns : Columns
        What they contain.
    targets : bool
        Whether the targets must be there, too.

    Raises
    ------
    ValueError
        A value is missing or infinite; the message says where.
    """
    width = len(columns.numbers) if targets else len(columns.features)
    bad = ~np.isfinite(batch.values[:, :width])
    gaps = bad.any(axis=1)
    if targets:
        gaps |= ~batch.labelled
    if not gaps.any():
        return
    row = int(gaps.argmax())
    column, what = columns.label, "is missing"
    if bad[row].any():
        place = int(bad[row].argmax())
        column = columns.numbers[place]
        what = "is missing" if np.isnan(batch.values[row, place]) else "is infinite"
    raise ValueError(
        f"{batch.where(row)}, column {column!r}: the value {what}; "
        "impute it, or skip such rows with --skip-missing"
    )
