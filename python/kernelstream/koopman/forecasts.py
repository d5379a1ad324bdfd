"""Forecasts of an operator: expected states, expectations of functions, and their weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from kernelstream.estimators.validation import whole_number
from kernelstream.koopman.inputs import sequences
from kernelstream.koopman.queries import (
    FloatArray,
    Function,
    Operator,
    control_width,
    embedded,
    queried,
    rank_of,
    span_of,
    states_of,
    values_of,
)
from kernelstream.koopman.remedies import warn_of_constant_inputs, warn_of_leaving

__all__ = ["expectation", "predict", "predict_rows", "reconstruct", "way_of", "weights"]

Way = Literal["powers", "iteration"] | int

# Steps after which the forecast begins again; 0: never.
_WAYS = {"powers": 0, "iteration": 1}


def way_of(every: int) -> Way:
    """Name the way of forecasting that begins again after this many steps.

    Parameters
    ----------
    every : int
        Steps; 0: never.

    Returns
    -------
    by : "powers", "iteration" or int
        As in `predict`.
    """
    if every == 0:
        return "powers"
    return "iteration" if every == 1 else every


def predict(
    model: Operator,
    X: ArrayLike,
    n_steps: int | Sequence[int] | None = None,
    observable: Function | None = None,
    *,
    inputs: ArrayLike | None = None,
    clip_spectrum: bool = False,
    by: Way | None = None,
) -> FloatArray:
    """Forecast the state, or a function of it: ``E[g(x_n) | x_0]``.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    X : array-like of shape (n, n_features)
        Initial states.
    n_steps : int or sequence of int, optional
        Number of steps (of `lag` states each) ahead, 1 or more; or several such numbers. None:
        1, or the length of a sequence of inputs.
    observable : callable or array-like, optional
        None: the state itself, whose coefficients are learned together with the operator, the
        most accurate choice. Otherwise a function from states (m, n_features) to (m,) or
        (m, p), or its values at `dictionary_next_`, see `expectation`.
    inputs : array-like of shape (n, n_inputs) or (n or 1, n_steps, n_inputs), optional
        Control inputs, required with ``n_inputs``: one for each row, held constant, or a
        sequence over the steps, for each row or one for all.
    clip_spectrum : bool, default=False
        Move eigenvalues outside the unit circle onto it, so that long forecasts stay bounded.
        Without a kernel given, this is done for those rows and numbers of steps, above 1, whose
        forecast is twice as far from the middle of the stored states as the outermost of them;
        a warning says so, unless the model has warned of growth before.
    by : "powers", "iteration" or int, optional
        How several steps are made. "powers": by powers of the operator, the conditional
        expectation, right for systems with noise. "iteration": each step by the operator from
        the state forecast before it, far more accurate for nonlinear systems without noise, and
        biased for others. A number k: by powers up to k steps, which begin again every k steps
        from the state forecast (Fathi et al., 2024). None: the best of these for held-out states
        of the first pairs, where scale or kernel are selected and the pairs are of trajectories
        (``chosen_["by"]``); "powers" elsewhere, and with `clip_spectrum` or ``rank``. From a step
        on whose forecast is further from the states learned than described there, it is "powers"
        again, with a warning. With inputs all steps are single ones.

    Returns
    -------
    forecast : ndarray of shape (n, n_features), (n,) or (n, p)
        With a sequence of steps there is an additional leading axis.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid (the message names it), or the forecast overflows.
    """
    if np.isscalar(X):
        raise ValueError(
            f"X must be states to begin with, of shape (n, n_features), got {X!r}: the number of "
            "steps ahead is named after them, predict(X, n_steps=3)"
        )
    if observable is not None:
        if by not in {None, "powers"}:
            raise ValueError(
                f"by={by!r} forecasts the state alone: expectations of observables are by powers"
            )
        return expectation(
            model, observable, X, n_steps, inputs=inputs, clip_spectrum=clip_spectrum
        )
    rows = queried(model, X)
    return predict_rows(model, rows, n_steps, inputs, clip_spectrum=clip_spectrum, by=by)


def reconstruct(model: Operator, T: ArrayLike, *, clip_spectrum: bool = False) -> FloatArray:
    """Forecast a whole trajectory from its first states.

    What the model makes of a record that it has learned, or of another: the longest forecast that
    can be compared with it. PyDMD calls it ``reconstructed_data``.

    Parameters
    ----------
    model : fitted Koopman
        The operator, without inputs.
    T : array-like of shape (n_times, n_features)
        A trajectory of which only the first ``lag + n_delays * delay`` states are used.
    clip_spectrum : bool, default=False
        Move eigenvalues outside the unit circle onto it, so that long forecasts stay bounded.

    Returns
    -------
    trajectory : ndarray of shape (n_times, n_features)
        The used states as they are, then the forecast of each of the others.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid (the message names it), or the forecast overflows.
    """
    given = states_of(model, T)
    lag, span = whole_number("lag", model.lag), span_of(model)
    used = min(span + lag, len(given))
    out = given.copy()
    steps = -(-(len(given) - used) // lag)
    if steps:
        begun = embedded(model, given[:used])
        ahead = predict_rows(
            model, begun, list(range(1, steps + 1)), None, clip_spectrum=clip_spectrum
        )
        out[used:] = ahead.reshape(-1, ahead.shape[-1])[: len(given) - used]
    return out


def predict_rows(
    model: Operator,
    rows: FloatArray,
    n_steps: int | Sequence[int] | None,
    inputs: ArrayLike | None,
    *,
    clip_spectrum: bool = False,
    by: Way | None = None,
) -> FloatArray:
    """Forecast the state from rows of the core.

    Raises
    ------
    ValueError, TypeError
        A row is invalid (the message names it), or the forecast overflows.
    """
    rows, under, steps, single = _ahead(model, rows, inputs, n_steps, clip_spectrum)
    every = _every(by)
    if under is not None and every not in {None, 1}:
        raise ValueError(
            f"by={by!r} needs an operator without inputs: under inputs all steps are single ones"
        )
    if under is None:
        way = None if every is None else (every, model.lag == model.delay)
        out, beyond = model._core.forecast(rows, steps, rank_of(model), clip_spectrum, way)
        warn_of_leaving(beyond, max(steps), model._warned())
    else:
        out = model._core.forecast_under(rows, under, steps)
    return cast(FloatArray, out[0] if single else out)


def expectation(
    model: Operator,
    f: Function,
    X: ArrayLike,
    n_steps: int | Sequence[int] | None = None,
    *,
    inputs: ArrayLike | None = None,
    clip_spectrum: bool = False,
) -> FloatArray:
    """Forecast a function of the state, ``E[f(x_n) | x_0]``, by its conditional mean embedding.

    The sum of `weights` times the values of f at the stored next states, as accurate as the
    interpolation of f by the kernel between these states.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    f : callable or array-like of shape (n_stored_next,) or (n_stored_next, p)
        A function from states (m, n_features) to (m,) or (m, p), or its values at
        `dictionary_next_`.
    X : array-like of shape (n, n_features)
        Initial states.
    n_steps : int or sequence of int, optional
        Number of steps ahead, 1 or more; or several such numbers. None: 1, or the length of a
        sequence of inputs.
    inputs : array-like of shape (n, n_inputs) or (n or 1, n_steps, n_inputs), optional
        Control inputs as in `predict`.
    clip_spectrum : bool, default=False
        Move eigenvalues outside the unit circle onto it, so that long forecasts stay bounded.

    Returns
    -------
    expectation : ndarray of shape (n,) or (n, p)
        With a sequence of steps there is an additional leading axis.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid (the message names it), or the values of f do not have one row for
        each stored next state.
    """
    rows, under, steps, single = _ahead(model, queried(model, X), inputs, n_steps, clip_spectrum)
    values = values_of(model, f)
    matrix = values[:, None] if values.ndim == 1 else values
    if under is None:
        out, beyond = model._core.expectation(matrix, rows, steps, rank_of(model), clip_spectrum)
        warn_of_leaving(beyond, max(steps), model._warned())
    else:
        out = model._core.expectation_under(matrix, rows, under, steps)
    out = out[..., 0] if values.ndim == 1 else out
    return cast(FloatArray, out[0] if single else out)


def weights(
    model: Operator,
    X: ArrayLike,
    n_steps: int | Sequence[int] | None = None,
    *,
    inputs: ArrayLike | None = None,
    clip_spectrum: bool = False,
) -> FloatArray:
    """Compute the weights of the stored next states in the conditional mean embedding.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    X : array-like of shape (n, n_features)
        Initial states.
    n_steps : int or sequence of int, optional
        Number of steps ahead, 1 or more; or several such numbers. None: 1, or the length of a
        sequence of inputs.
    inputs : array-like of shape (n, n_inputs) or (n or 1, n_steps, n_inputs), optional
        Control inputs as in `predict`.
    clip_spectrum : bool, default=False
        Move eigenvalues outside the unit circle onto it.

    Returns
    -------
    weights : ndarray of shape (n, n_stored_next)
        ``weights(X) @ f(dictionary_next_)`` estimates ``E[f(x_n) | x_0]``. They may be negative
        and need not sum to 1. With a sequence of steps there is an additional leading axis.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid; the message names it.
    """
    rows, under, steps, single = _ahead(model, queried(model, X), inputs, n_steps, clip_spectrum)
    if under is None:
        out, beyond = model._core.embedding(rows, steps, rank_of(model), clip_spectrum)
        warn_of_leaving(beyond, max(steps), model._warned())
    else:
        out = model._core.embedding_under(rows, under, steps)
    return cast(FloatArray, out[0] if single else out)


def _ahead(
    model: Operator,
    rows: FloatArray,
    inputs: Any,
    n_steps: int | Sequence[int] | None,
    clip_spectrum: bool,
) -> tuple[FloatArray, FloatArray | None, list[int], bool]:
    """Check the inputs of a forecast's steps, and the steps."""
    under, n_steps = sequences(inputs, len(rows), control_width(model), n_steps)
    if under is not None and (clip_spectrum or model.rank is not None):
        raise ValueError(
            "rank and clip_spectrum need a spectrum, which an operator with inputs does not "
            "have: leave them at None and False"
        )
    if under is not None:
        warn_of_constant_inputs(model._core, under, model._warned())
    return rows, under, *_steps(n_steps)


def _every(by: Way | None) -> int | None:
    """Count the steps after which a forecast begins again; 0: never."""
    if isinstance(by, str):
        if by not in _WAYS:
            raise ValueError(f'by must be "powers", "iteration", a number or None, got {by!r}')
        return _WAYS[by]
    return None if by is None else whole_number("by", by)


def _steps(n_steps: int | Sequence[int]) -> tuple[list[int], bool]:
    single = np.ndim(n_steps) == 0
    given = [n_steps] if single else list(cast("Sequence[int]", n_steps))
    return [whole_number("n_steps", n) for n in given], single
