"""The Lorenz system."""

from __future__ import annotations

import numpy as np

from kernelstream.datasets.dynamics import Dynamics, FloatArray, RandomState, check_positive
from kernelstream.datasets.runge_kutta import runge_kutta
from kernelstream.estimators.validation import whole_number

__all__ = ["lorenz"]


def _lorenz_field(states: FloatArray) -> FloatArray:
    x, y, z = states[..., 0], states[..., 1], states[..., 2]
    return np.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z], axis=-1)


def lorenz(
    n_steps: int = 2000,
    *,
    n_trajectories: int = 1,
    tau: float = 0.05,
    random_state: RandomState = None,
) -> Dynamics:
    """Lorenz's chaotic system, on its attractor.

    x' = 10 (y - x), y' = x (28 - z) - y, z' = x y - 8 z / 3, integrated by the classical
    Runge-Kutta method in sub-steps of at most 0.005, from random states that were followed for 20
    units of time before. Errors double about every 0.77 units of time (the largest Lyapunov
    exponent is 0.906). The next value of one coordinate depends on earlier ones, which delays add.

    Parameters
    ----------
    n_steps : int, default=2000
        Number of steps of each trajectory, at least 1.
    n_trajectories : int, default=1
        Number of trajectories, at least 1.
    tau : float, default=0.05
        Time step, above 0.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator of the initial states; the system is deterministic.

    Returns
    -------
    Dynamics
        States of shape (n_trajectories, n_steps + 1, 3). `eigenvalues` is None: beside 1 the
        spectrum is continuous.

    References
    ----------
    E. Lorenz, "Deterministic nonperiodic flow", Journal of the Atmospheric Sciences, 1963.
    """
    whole_number("n_steps", n_steps, 1)
    whole_number("n_trajectories", n_trajectories, 1)
    check_positive("tau", tau)
    rng = np.random.default_rng(random_state)
    states = np.empty((n_trajectories, n_steps + 1, 3))
    start = rng.normal([0.0, 0.0, 25.0], 5.0, size=(n_trajectories, 3))
    states[:, 0] = runge_kutta(_lorenz_field, start, 0.005, 4000)
    substeps = int(np.ceil(tau / 0.005))
    for t in range(n_steps):
        states[:, t + 1] = runge_kutta(_lorenz_field, states[:, t], tau / substeps, substeps)
    return Dynamics(
        trajectories=states,
        time_step=float(tau),
        eigenvalues=None,
        description=f"Lorenz system, tau = {tau:g}",
    )
