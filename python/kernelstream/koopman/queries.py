"""Validation of the arguments of functions of an operator."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kernelstream.components.rank import Rank
from kernelstream.estimators.validation import as_float64, whole_number
from kernelstream.koopman.trajectories import rows_of_states

__all__ = [
    "ComplexArray",
    "FloatArray",
    "Function",
    "Operator",
    "constants_of",
    "control_width",
    "count_of",
    "elapsed_of",
    "embedded",
    "queried",
    "rank_of",
    "span_of",
    "states_of",
    "values_of",
]

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
Function = Callable[[FloatArray], ArrayLike] | ArrayLike

# Largest distance of the eigenvalue of the constant function from 1, and least ratio of its squared
# mean to its mean square over the stored states.
_NEAR_ONE, _CONSTANT = 0.1, 0.9
# The same where no more states are stored than a state has numbers, plus one: a function that is
# linear in the state is nearly constant over few states that follow each other.
_NEAR_ONE_OF_FEW, _CONSTANT_OF_FEW = 1e-3, 0.999


class Operator(Protocol):
    """The parameters of an operator, its core and its eigenvalues."""

    lag: int
    rank: int | Rank | None
    time_step: float
    n_inputs: int
    n_delays: int
    delay: int
    n_features_in_: int
    _core: Any

    @property
    def eigenvalues_(self) -> ComplexArray:
        """Eigenvalues by decreasing modulus, conjugate pairs together."""

    @property
    def dictionary_next_(self) -> FloatArray:
        """Stored next states."""

    def _warned(self) -> set[str]:
        """Warnings that were given."""


def span_of(model: Operator) -> int:
    """Count the steps from the earliest delay of a state to it.

    Raises
    ------
    ValueError, TypeError
        A parameter is no such number.
    """
    return whole_number("n_delays", model.n_delays, 0) * whole_number("delay", model.delay)


def control_width(model: Operator) -> int:
    """Count the components of a control input.

    Raises
    ------
    ValueError, TypeError
        ``n_inputs`` is no such number.
    """
    return whole_number("n_inputs", model.n_inputs, 0)


def rank_of(model: Operator) -> int | None:
    """Check the rank.

    Raises
    ------
    ValueError, TypeError
        ``rank`` is no such number.
    """
    given = model.rank
    if isinstance(given, Rank):
        # The operator has the rank that it was fitted with.
        fitted = json.loads(model._core.operator_spec) if hasattr(model, "_core") else {}
        given = fitted.get("rank", {}).get("rank", given.rank)
    return None if given is None else whole_number("rank", given)


def elapsed_of(model: Operator) -> float:
    """Compute the time between the two states of a pair.

    Raises
    ------
    ValueError, TypeError
        One of them is not positive.
    """
    step = float(model.time_step)
    if not 0.0 < step < np.inf:
        raise ValueError(f"time_step must be a positive number, got {model.time_step!r}")
    return whole_number("lag", model.lag) * step


def states_of(model: Operator, X: ArrayLike) -> FloatArray:
    """Check states.

    Raises
    ------
    NotFittedError, ValueError, TypeError
        Nothing has been learned yet, or a row is invalid.
    """
    check_is_fitted(model)
    return rows_of_states(model, X, reset=False)


def queried(model: Operator, X: ArrayLike) -> FloatArray:
    """Check states, and append the delays of each.

    Raises
    ------
    NotFittedError, ValueError, TypeError
        Nothing has been learned yet, or a row is invalid.
    """
    check_is_fitted(model)
    span = span_of(model)
    if not span:
        return states_of(model, X)
    windows = np.asarray(X)[:, -span - 1 :] if np.ndim(X) == 3 else [X]
    return np.concatenate([model._core.embed(states_of(model, one)) for one in windows])


def embedded(model: Operator, states: FloatArray) -> FloatArray:
    """Append the delays of each of successive states that were checked before, without names."""
    if not span_of(model):
        return states
    return cast(FloatArray, model._core.embed(states))


def values_of(model: Operator, function: Function) -> FloatArray:
    """Evaluate a function at the stored next states.

    Raises
    ------
    NotFittedError, ValueError, TypeError
        Nothing has been learned yet, or the values have another shape.
    """
    check_is_fitted(model)
    values = np.asarray(function(model.dictionary_next_) if callable(function) else function)
    values = as_float64(values, "the values of the observable")
    if values.ndim not in {1, 2} or len(values) != model._core.n_stored_next:
        raise ValueError(
            f"the values of the observable have shape {values.shape}, but each of the "
            f"{model._core.n_stored_next} stored next states needs one value or row of values"
        )
    return values


def count_of(model: Operator, k: int | None) -> int:
    """Count the requested eigenpairs.

    Raises
    ------
    NotFittedError, ValueError, TypeError
        Nothing has been learned yet, or `k` is no such number.
    """
    most = len(model.eigenvalues_)
    return most if k is None else min(whole_number("k", k), most)


def constants_of(model: Operator) -> list[int]:
    """Find the constant function among the eigenfunctions."""
    values, stored = model.eigenvalues_, model._core.dictionary()
    few = len(stored) <= stored.shape[1] + 1
    within = _NEAR_ONE_OF_FEW if few else _NEAR_ONE
    near = np.flatnonzero(np.abs(values - 1.0) < within)
    if not len(near):
        return []
    functions = np.asarray(model._core.eigenfunctions(stored, int(near.max()) + 1))[:, near]
    sameness = np.abs(functions.mean(axis=0)) ** 2 / np.mean(np.abs(functions) ** 2, axis=0)
    best = int(np.argmax(sameness))
    least = _CONSTANT_OF_FEW if few else _CONSTANT
    return [int(near[best])] if sameness[best] > least else []
