"""Control inputs: checked, and joined with the states at which they act."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream.estimators.validation import (
    as_float64,
    located_error,
    refuse_masked,
    refuse_objects,
    refuse_times,
)
from kernelstream.koopman.times import Reading
from kernelstream.koopman.trajectories import trajectories_as_given

__all__ = [
    "joined",
    "joined_pieces",
    "numbers_of_inputs",
    "refuse_gaps",
    "rows_of_inputs",
    "sequences",
]

FloatArray = NDArray[np.float64]


def _required(inputs: Any, width: int) -> None:
    if width and inputs is None:
        raise ValueError(f"this operator has n_inputs={width}: pass the control inputs, inputs=...")
    if not width and inputs is not None:
        raise ValueError(
            "inputs are given, but this operator has n_inputs=0: set it in the constructor"
        )


def rows_of_inputs(inputs: Any, rows: int, width: int, name: str = "inputs") -> FloatArray:
    """Check that there is one control input for each row.

    Raises
    ------
    ValueError, TypeError
        They have another shape, or are not real numbers.
    """
    array = numbers_of_inputs(inputs, width, f"({rows}, {width})", name)
    if len(array) != rows:
        raise ValueError(
            f"X has {rows} rows but {name} have {len(array)}: one is needed for each row"
        )
    return array


def numbers_of_inputs(inputs: Any, width: int, shape: str, name: str = "inputs") -> FloatArray:
    """Check that inputs are numbers in rows of this width, and of this `shape` in words.

    Raises
    ------
    ValueError, TypeError
        They have another shape, or are not real numbers.
    """
    array = _numbers(inputs, name)
    if array.ndim == 1 and width == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] != width:
        raise ValueError(f"{name} have shape {array.shape}, but must have shape {shape}")
    return array


def refuse_gaps(inputs: FloatArray) -> None:
    """Refuse inputs that are not finite.

    Raises
    ------
    ValueError
        One is not; the message names the first one's row.
    """
    bad = np.argwhere(~np.isfinite(inputs))
    if len(bad):
        row, column = map(int, bad[0])
        value = "NaN" if np.isnan(inputs[row, column]) else str(inputs[row, column])
        message = f"inputs contains {value} at row {row}, column {column}"
        raise located_error(f"{message}: every state needs its inputs", "inputs", row, column)


def _numbers(inputs: Any, name: str) -> FloatArray:
    refuse_masked(inputs, name)
    refuse_times(inputs, name)
    refuse_objects(inputs, name)
    if hasattr(inputs, "to_numpy"):
        # Missing values of pandas are objects.
        with suppress(TypeError, ValueError):
            inputs = inputs.to_numpy(dtype=np.float64, na_value=np.nan)
    return as_float64(np.asarray(inputs), name)


def joined(X: FloatArray, inputs: Any, width: int) -> FloatArray:
    """Join each state with its control input.

    Raises
    ------
    ValueError, TypeError
        Inputs are missing or superfluous, or have another shape.
    """
    _required(inputs, width)
    return np.hstack([X, rows_of_inputs(inputs, len(X), width)]) if width else X


def joined_pieces(pieces: list[FloatArray], inputs: Any, width: int) -> list[FloatArray]:
    """Join each state of trajectories with its control input.

    Raises
    ------
    ValueError, TypeError
        Inputs are missing or superfluous, or have another shape.
    """
    _required(inputs, width)
    if not width:
        return pieces
    acting = [one.rows for one in Reading(trajectories_as_given(inputs)).given]
    lengths = [len(piece) for piece in pieces]
    if len(acting) == 1 < len(pieces) and len(acting[0]) == sum(lengths):
        # Trajectories that were split at gaps of their times.
        acting = np.split(np.asarray(acting[0]), np.cumsum(lengths)[:-1])
    if len(acting) != len(pieces):
        raise ValueError(f"{len(pieces)} trajectories, but inputs for {len(acting)}")
    both = [joined(piece, u, width) for piece, u in zip(pieces, acting, strict=True)]
    for piece in both:
        refuse_gaps(piece[:, -width:])
    return both


def sequences(
    inputs: Any, rows: int, width: int, n_steps: int | Sequence[int] | None
) -> tuple[FloatArray | None, int | Sequence[int]]:
    """Expand the control inputs to every step of a forecast, and find the number of steps.

    Raises
    ------
    ValueError, TypeError
        Inputs are missing or superfluous, have another shape, or are shorter than the steps.
    """
    _required(inputs, width)
    if not width:
        return None, 1 if n_steps is None else n_steps
    array = _numbers(inputs, "inputs")
    if array.ndim < 3:
        steps = 1 if n_steps is None else n_steps
        last = int(np.max(steps)) if np.size(steps) else 1
        held = rows_of_inputs(array, rows, width)[:, None]
        return np.repeat(held, max(last, 1), axis=1), steps
    if array.ndim > 3 or array.shape[2] != width or array.shape[0] not in {1, rows}:
        raise ValueError(
            f"inputs have shape {array.shape}; sequences for {rows} rows have "
            f"({rows} or 1, n_steps, {width})"
        )
    steps = array.shape[1] if n_steps is None else n_steps
    if np.size(steps) and int(np.max(steps)) > array.shape[1]:
        raise ValueError(
            f"inputs end after {array.shape[1]} steps, but n_steps goes up to {int(np.max(steps))}"
        )
    return array, steps
