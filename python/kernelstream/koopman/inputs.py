"""Control inputs: checked, and joined with the states at which they act."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream.estimators.validation import as_float64, refuse_masked

__all__ = ["joined", "rows_of_inputs", "sequences"]

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

    Parameters
    ----------
    inputs : array-like of shape (rows, width), or (rows,) where width is 1
        Control inputs.
    rows : int
        Number of rows.
    width : int
        Number of components of an input.
    name : str
        Name in error messages.

    Returns
    -------
    inputs : ndarray of float64 of shape (rows, width)
        The inputs, possibly not finite.

    Raises
    ------
    ValueError, TypeError
        They have another shape, or are not real numbers.
    """
    refuse_masked(inputs, name)
    array = as_float64(np.asarray(inputs), name)
    if array.ndim == 1 and width == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] != width:
        raise ValueError(f"{name} have shape {array.shape}, but must have shape ({rows}, {width})")
    if len(array) != rows:
        raise ValueError(
            f"X has {rows} rows but {name} have {len(array)}: one is needed for each row"
        )
    return array


def joined(X: FloatArray, inputs: Any, width: int) -> FloatArray:
    """Join each state with its control input.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        States.
    inputs : array-like of shape (n, width), or None where width is 0
        Control input at each.
    width : int
        Number of components of an input.

    Returns
    -------
    rows : ndarray of shape (n, n_features + width)
        The rows of an operator with inputs, as the core expects them.

    Raises
    ------
    ValueError, TypeError
        Inputs are missing or superfluous, or have another shape.
    """
    _required(inputs, width)
    return np.hstack([X, rows_of_inputs(inputs, len(X), width)]) if width else X


def sequences(
    inputs: Any, rows: int, width: int, n_steps: int | Sequence[int] | None
) -> tuple[FloatArray | None, int | Sequence[int]]:
    """Expand the control inputs to every step of a forecast, and find the number of steps.

    Parameters
    ----------
    inputs : array-like of shape (rows, width) or (rows or 1, steps, width), or None
        One input for each row, held constant, or a sequence for each row, or one for all.
    rows : int
        Number of initial states.
    width : int
        Number of components of an input; 0 for an operator without inputs.
    n_steps : int, sequence of int, or None
        Steps to forecast. None: the length of a sequence, or 1.

    Returns
    -------
    inputs : ndarray of shape (rows or 1, steps, width), or None
        The sequences; None for an operator without inputs.
    n_steps : int or sequence of int
        Steps to forecast.

    Raises
    ------
    ValueError, TypeError
        Inputs are missing or superfluous, have another shape, or are shorter than the steps.
    """
    _required(inputs, width)
    if not width:
        return None, 1 if n_steps is None else n_steps
    refuse_masked(inputs, "inputs")
    array = as_float64(np.asarray(inputs), "inputs")
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
