"""The unforced Duffing oscillator and its basins of attraction."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream.datasets.dynamics import Dynamics, FloatArray, RandomState, check_positive
from kernelstream.datasets.runge_kutta import runge_kutta
from kernelstream.estimators.validation import whole_number

__all__ = ["duffing", "duffing_basin"]


def _duffing_field(states: FloatArray) -> FloatArray:
    position, velocity = states[..., 0], states[..., 1]
    return np.stack([velocity, -0.5 * velocity + position - position**3], axis=-1)


def duffing(
    n_steps: int = 10,
    *,
    n_trajectories: int = 355,
    tau: float = 0.25,
    box: float = 2.0,
    random_state: RandomState = None,
) -> Dynamics:
    """Unforced, damped Duffing oscillator with two stable fixed points, (-1, 0) and (1, 0).

    z'' = -z'/2 + z - z^3 with the state (z, z'), started uniformly in the square
    [-box, box]^2 and integrated by the classical Runge-Kutta method in sub-steps of at most 0.01
    (error under 1e-8 over a step of 0.25).

    Parameters
    ----------
    n_steps : int, default=10
        Number of steps of each trajectory, at least 1.
    n_trajectories : int, default=355
        Number of trajectories, at least 1; the defaults give the 3,550 pairs of the reference.
    tau : float, default=0.25
        Time step, above 0.
    box : float, default=2.0
        Half the width of the square of initial states, above 0.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator of the initial states; the system is deterministic.

    Returns
    -------
    Dynamics
        States of shape (n_trajectories, n_steps + 1, 2). `eigenvalues` is None: with
        two attractors 1 is a double eigenvalue, whose eigenfunctions distinguish the basins, and
        the rest of the spectrum depends on the function space.

    See Also
    --------
    duffing_basin : The exact basin of each point.

    References
    ----------
    Hou, Sanjari, Dahlin, Koppel, Bose, Nonparametric sparse online learning of the Koopman
    operator, 2024, section 6.1.
    """
    whole_number("n_steps", n_steps, 1)
    whole_number("n_trajectories", n_trajectories, 1)
    check_positive("tau", tau)
    check_positive("box", box)
    rng = np.random.default_rng(random_state)
    states = np.empty((n_trajectories, n_steps + 1, 2))
    states[:, 0] = rng.uniform(-box, box, size=(n_trajectories, 2))
    substeps = int(np.ceil(tau / 0.01))
    for t in range(n_steps):
        states[:, t + 1] = runge_kutta(_duffing_field, states[:, t], tau / substeps, substeps)
    return Dynamics(
        trajectories=states,
        time_step=float(tau),
        eigenvalues=None,
        description=f"Duffing oscillator z'' = -z'/2 + z - z^3, tau = {tau:g}",
    )


def duffing_basin(points: ArrayLike) -> NDArray[np.int64]:
    """Compute the stable fixed point of `duffing` that each point converges to.

    The energy z'^2/2 - z^2/2 + z^4/4 never grows, and where it is negative z cannot change its
    sign: each point is followed until then.

    Parameters
    ----------
    points : array of shape (n_points, 2)
        Positions and velocities.

    Returns
    -------
    ndarray of int64, shape (n_points,)
        -1 or 1, the position of the stable point; 0 for a point on the boundary (which runs
        into the saddle at the origin and is not decided within 200 units of time).
    """
    states = np.array(points, dtype=np.float64)
    if states.ndim != 2 or states.shape[1] != 2:
        raise ValueError(f"points have shape {states.shape}; it must be (n_points, 2)")
    if not np.all(np.isfinite(states)):
        raise ValueError("points must be finite")
    basin = np.zeros(len(states), dtype=np.int64)
    open_ = np.arange(len(states))
    for _ in range(400):
        z, v = states[open_].T
        trapped = 0.5 * v**2 - 0.5 * z**2 + 0.25 * z**4 < 0.0
        basin[open_[trapped]] = np.sign(z[trapped]).astype(np.int64)
        open_ = open_[~trapped]
        if not len(open_):
            break
        states[open_] = runge_kutta(_duffing_field, states[open_], 0.01, 50)
    return basin
