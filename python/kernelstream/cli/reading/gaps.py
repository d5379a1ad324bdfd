"""Rows with missing values: which are learned, and messages about the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelstream.cli.choices import Missing
from kernelstream.cli.reading.batches import Batch, RefusedRowError
from kernelstream.cli.reading.columns import Columns
from kernelstream.columns.arrow import gaps_of

__all__ = ["usable"]


_REMEDY = "fill gaps with --missing fill, or skip such rows with --missing skip"


def usable(
    batch: Batch,
    columns: Columns,
    missing: Missing,
    *,
    need_target: bool,
    remedy: str = _REMEDY,
) -> NDArray[np.bool_]:
    """Tell which rows can be predicted.

    Parameters
    ----------
    batch : Batch
        Rows.
    columns : Columns
        What they contain.
    missing : Missing
        Treatment of rows with gaps.
    need_target : bool
        Whether a missing target is an error where a missing feature is.
    remedy : str, optional
        What the user can do about gaps.

    Returns
    -------
    usable : ndarray of bool of shape (n,)
        Which can.

    Raises
    ------
    RefusedRowError
        A row has gaps, and such rows are not skipped; the message names it.
    """
    bad = batch.infinite
    if missing is not Missing.FILL:
        bad |= batch.gaps
    if missing is not Missing.SKIP:
        known = missing is Missing.FILL or not need_target
        refused = (bad if known else bad | ~batch.judged) & ~batch.bad
        if refused.any():
            row = int(refused.argmax())
            raise RefusedRowError(_explained(batch, columns, row, missing, remedy), row)
    return ~(bad | batch.bad)


def _explained(batch: Batch, columns: Columns, row: int, missing: Missing, remedy: str) -> str:
    values = {name: column[row : row + 1] for name, column in batch.features.items()}
    numbers = [
        name for name, value in values.items() if value.dtype == np.float64 and np.isinf(value[0])
    ]
    gaps = [name for name, value in values.items() if gaps_of(value)[0]]
    if missing is not Missing.FILL and gaps:
        name = gaps[0]
        if columns.kinds[name] == "category" and remedy == _REMEDY:
            remedy += f"; if texts such as NA are values of {name!r}, name it with -c {name}"
        return f"{batch.where(row, name)}: the value is missing; {remedy}"
    remedy = "correct it, or " + remedy.rpartition(", or ")[2]
    if numbers:
        return f"{batch.where(row, numbers[0])}: the value is infinite; {remedy}"
    targets = batch.targets[row]
    infinite = bool(np.isinf(targets).any())
    bad = np.flatnonzero(np.isinf(targets) if infinite else np.isnan(targets))
    name = columns.label or columns.targets[bad[0]]
    what = "infinite" if infinite else "missing"
    return f"{batch.where(row, name)}: the value is {what}; {remedy}"
