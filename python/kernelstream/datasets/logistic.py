"""The logistic map with trigonometric noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelstream.datasets.dynamics import Dynamics, RandomState
from kernelstream.estimators.validation import whole_number

__all__ = ["logistic_map_eigenvalues", "noisy_logistic_map"]


def noisy_logistic_map(
    n_steps: int = 1000,
    *,
    noise_exponent: int = 20,
    n_trajectories: int = 1,
    random_state: RandomState = None,
) -> Dynamics:
    """Logistic map on the circle with trigonometric noise, with a Koopman operator of finite rank.

    X+ = (4 X (1 - X) + xi) mod 1, where xi in [-1/2, 1/2] has the density proportional to
    cos(pi xi)^N, N = `noise_exponent`. That density has N + 1 Fourier terms, so the operator
    has rank N + 1 and its spectrum is that of a small matrix, see `logistic_map_eigenvalues`.

    Parameters
    ----------
    n_steps : int, default=1000
        Number of steps of each trajectory, at least 1.
    noise_exponent : int, default=20
        N, even, from 2 to 100; the noise decreases with N (standard deviation about
        1 / (pi sqrt(N)), 0.07 for 20).
    n_trajectories : int, default=1
        Number of trajectories, started uniformly in [0, 1).
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator.

    Returns
    -------
    Dynamics
        States of shape (n_trajectories, n_steps + 1, 1) in [0, 1), and all N + 1 eigenvalues.

    Notes
    -----
    With xi = arcsin(sqrt(b)) / pi and a random sign, b follows Beta(1/2, (N + 1)/2): the noise is
    drawn exactly.

    References
    ----------
    Ostruszka, Pakonski, Slomczynski, Zyczkowski, Dynamical entropy for systems with stochastic
    perturbation, Physical Review E 62 (2000). Kostic, Novelli, Maurer, Ciliberto, Rosasco,
    Pontil, Learning dynamical systems via Koopman operator regression in reproducing kernel
    Hilbert spaces, NeurIPS 2022.
    """
    whole_number("n_steps", n_steps, 1)
    whole_number("n_trajectories", n_trajectories, 1)
    eigenvalues = logistic_map_eigenvalues(noise_exponent)
    rng = np.random.default_rng(random_state)
    shape = (n_steps, n_trajectories)
    noise = np.arcsin(np.sqrt(rng.beta(0.5, 0.5 * (noise_exponent + 1), size=shape))) / np.pi
    noise *= rng.choice(np.array([-1.0, 1.0]), size=shape)
    states = np.empty((n_steps + 1, n_trajectories))
    states[0] = rng.random(n_trajectories)
    for t in range(n_steps):
        states[t + 1] = (4.0 * states[t] * (1.0 - states[t]) + noise[t]) % 1.0
    return Dynamics(
        trajectories=np.ascontiguousarray(states.T[:, :, None]),
        time_step=1.0,
        eigenvalues=eigenvalues,
        description=f"logistic map with noise density ~ cos(pi xi)^{noise_exponent}",
    )


def logistic_map_eigenvalues(noise_exponent: int = 20) -> NDArray[np.complex128]:
    """All nonzero eigenvalues of the Koopman operator of `noisy_logistic_map`.

    With F(x) = 4x(1 - x) the transition density is a sum of N + 1 products,

        p(y | x) = sum_j c_j exp(2 pi i j y) exp(-2 pi i j F(x)),   j = -N/2, ..., N/2,

    with c_j = binomial(N, N/2 + j) / binomial(N, N/2). So the operator's range is spanned by the
    functions exp(-2 pi i j F), and there it is the matrix
    c_j integral_0^1 exp(2 pi i (j y - k F(y))) dy, computed by Gauss-Legendre quadrature.

    Parameters
    ----------
    noise_exponent : int, default=20
        N, even, from 2 to 100.

    Returns
    -------
    ndarray of complex128, shape (N + 1,)
        Sorted by decreasing modulus, conjugate pairs together (positive imaginary part first);
        the first one is 1.
    """
    whole_number("noise_exponent", noise_exponent, 2)
    if noise_exponent % 2 or noise_exponent > 100:
        raise ValueError(f"noise_exponent must be even and at most 100, got {noise_exponent}")
    half = noise_exponent // 2
    orders = np.arange(-half, half + 1)
    # binomial(N, N/2 + j) / binomial(N, N/2) as a running product, which cannot overflow
    ratios = (half - np.arange(half)) / (half + 1.0 + np.arange(half))
    tail = np.concatenate([[1.0], np.cumprod(ratios)])
    weights = np.concatenate([tail[:0:-1], tail])
    # the phase turns fewer than 5N/2 times over the interval: 5 nodes per turn suffice
    nodes, node_weights = np.polynomial.legendre.leggauss(64 + 12 * noise_exponent)
    nodes, node_weights = 0.5 * (nodes + 1.0), 0.5 * node_weights
    left = np.exp(2j * np.pi * np.outer(orders, nodes)) * node_weights
    right = np.exp(-2j * np.pi * np.outer(4.0 * nodes * (1.0 - nodes), orders))
    values = np.linalg.eigvals(weights[:, None] * (left @ right)).astype(np.complex128)
    # the spectrum is closed under conjugation: rounding the keys keeps the pairs together
    keys = (-values.imag, np.round(-values.real, 9), np.round(-np.abs(values), 9))
    ordered: NDArray[np.complex128] = values[np.lexsort(keys)]
    return ordered
