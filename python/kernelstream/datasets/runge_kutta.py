"""Integration of differential equations by the classical Runge-Kutta method."""

from __future__ import annotations

from collections.abc import Callable

from kernelstream.datasets.dynamics import FloatArray

__all__ = ["runge_kutta"]


def runge_kutta(
    field: Callable[[FloatArray], FloatArray], states: FloatArray, step: float, count: int
) -> FloatArray:
    """Follow states for some steps.

    Parameters
    ----------
    field : callable
        Time derivatives of states of shape (n, n_features).
    states : ndarray of shape (n, n_features)
        Initial states.
    step : float
        Time of a step; the error of one is of order ``step**5``.
    count : int
        Number of steps.

    Returns
    -------
    states : ndarray of shape (n, n_features)
        The states after them.
    """
    for _ in range(count):
        k1 = field(states)
        k2 = field(states + 0.5 * step * k1)
        k3 = field(states + 0.5 * step * k2)
        k4 = field(states + step * k3)
        states = states + (step / 6.0) * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return states
