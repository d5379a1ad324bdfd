"""The Ornstein-Uhlenbeck process."""

from __future__ import annotations

import numpy as np

from kernelstream.datasets.dynamics import Dynamics, RandomState, check_positive
from kernelstream.estimators.validation import whole_number

__all__ = ["ornstein_uhlenbeck"]


def ornstein_uhlenbeck(
    n_steps: int = 1000,
    *,
    theta: float = 1.0,
    tau: float = 0.5,
    n_trajectories: int = 1,
    n_eigenvalues: int = 6,
    random_state: RandomState = None,
) -> Dynamics:
    """Ornstein-Uhlenbeck process in one dimension, started from its stationary law N(0, 1).

    dX = -theta X dt + sqrt(2 theta) dB, sampled exactly every `tau`:
    X+ = a X + sqrt(1 - a^2) N(0, 1) with a = exp(-theta tau). The Koopman operator has the
    Hermite polynomials as eigenfunctions and a^k, k = 0, 1, 2, ..., as eigenvalues.

    Parameters
    ----------
    n_steps : int, default=1000
        Number of steps of each trajectory, at least 1.
    theta : float, default=1.0
        Rate of return to zero, above 0, per unit of time.
    tau : float, default=0.5
        Time step, above 0.
    n_trajectories : int, default=1
        Number of independent trajectories, at least 1.
    n_eigenvalues : int, default=6
        Number of eigenvalues to return, at least 1.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator.

    Returns
    -------
    Dynamics
        States of shape (n_trajectories, n_steps + 1, 1), and the eigenvalues a^k.

    References
    ----------
    Pavliotis, Stochastic Processes and Applications, Springer 2014, section 4.4.

    Examples
    --------
    >>> from kernelstream.datasets import ornstein_uhlenbeck
    >>> data = ornstein_uhlenbeck(100, theta=1.0, tau=0.5, random_state=0)
    >>> data.trajectories.shape, data.eigenvalues.round(3).tolist()[:3]
    ((1, 101, 1), [1.0, 0.607, 0.368])
    """
    whole_number("n_steps", n_steps, 1)
    check_positive("theta", theta)
    check_positive("tau", tau)
    whole_number("n_trajectories", n_trajectories, 1)
    whole_number("n_eigenvalues", n_eigenvalues, 1)
    rng = np.random.default_rng(random_state)
    decay = float(np.exp(-theta * tau))
    states = rng.standard_normal((n_steps + 1, n_trajectories))
    states[1:] *= np.sqrt(1.0 - decay * decay)
    for t in range(n_steps):
        states[t + 1] += decay * states[t]
    return Dynamics(
        trajectories=np.ascontiguousarray(states.T[:, :, None]),
        time_step=float(tau),
        eigenvalues=decay ** np.arange(n_eigenvalues, dtype=np.float64),
        description=f"Ornstein-Uhlenbeck process, theta = {theta:g}, tau = {tau:g}",
    )
