"""Overdamped Langevin dynamics in a potential with four wells."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from kernelstream.datasets.dynamics import Dynamics, FloatArray, RandomState, check_positive
from kernelstream.estimators.validation import whole_number

__all__ = ["four_well_density", "four_well_eigenvalues", "four_well_langevin"]


def four_well_langevin(
    n_steps: int = 100,
    *,
    n_trajectories: int = 400,
    tau: float = 0.1,
    beta: float = 4.0,
    start: Literal["box", "stationary"] = "box",
    substeps: int = 50,
    random_state: RandomState = None,
) -> Dynamics:
    """Overdamped Langevin dynamics in a potential with four wells, at (+-1, +-1).

    dX = -grad V(X) dt + sqrt(2 / beta) dB with V(x) = (x1^2 - 1)^2 + (x2^2 - 1)^2, by the
    Euler-Maruyama scheme in sub-steps of `tau` / `substeps`. Transitions between wells are rare:
    four eigenvalues near 1, then a gap (1, 0.997, 0.997, 0.994, then 0.718 with the defaults).

    Parameters
    ----------
    n_steps : int, default=100
        Number of steps of each trajectory, at least 1.
    n_trajectories : int, default=400
        Number of trajectories, at least 1; the defaults give the 40,000 pairs of the reference.
    tau : float, default=0.1
        Time step, above 0.
    beta : float, default=4.0
        Inverse temperature, above 0.
    start : {"box", "stationary"}, default="box"
        Initial states uniform in [-2, 2]^2, or from the stationary density (see
        `four_well_density`).
    substeps : int, default=50
        Number of Euler-Maruyama steps per time step, at least 1; keep `tau` / `substeps` at 0.01 or
        below (the scheme diverges in this potential for large steps).
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator.

    Returns
    -------
    Dynamics
        States of shape (n_trajectories, n_steps + 1, 2), and the eight leading eigenvalues.

    References
    ----------
    Hou, Sanjari, Dahlin, Koppel, Bose, Nonparametric sparse online learning of the Koopman
    operator, 2024, section 4.2 and appendix F.1.
    """
    whole_number("n_steps", n_steps, 1)
    whole_number("n_trajectories", n_trajectories, 1)
    check_positive("tau", tau)
    check_positive("beta", beta)
    whole_number("substeps", substeps, 1)
    if tau / substeps > 0.02:
        raise ValueError(
            f"tau / substeps = {tau / substeps:g} is above 0.02, where the scheme may diverge: "
            f"use substeps >= {int(np.ceil(tau / 0.02))}"
        )
    rng = np.random.default_rng(random_state)
    if start == "box":
        now = rng.uniform(-2.0, 2.0, size=(n_trajectories, 2))
    elif start == "stationary":
        now = _draw_double_well(rng, beta, 2 * n_trajectories).reshape(n_trajectories, 2)
    else:
        raise ValueError(f"start must be 'box' or 'stationary', got {start!r}")
    step = tau / substeps
    scale = np.sqrt(2.0 * step / beta)
    states = np.empty((n_trajectories, n_steps + 1, 2))
    states[:, 0] = now
    for t in range(n_steps):
        for kick in scale * rng.standard_normal((substeps, n_trajectories, 2)):
            now = now - (4.0 * step) * now * (now * now - 1.0) + kick
        states[:, t + 1] = now
    return Dynamics(
        trajectories=states,
        time_step=float(tau),
        eigenvalues=four_well_eigenvalues(8, tau=tau, beta=beta),
        description=f"Langevin dynamics in four wells, beta = {beta:g}, tau = {tau:g}",
    )


def four_well_density(points: ArrayLike, *, beta: float = 4.0) -> FloatArray:
    """Stationary density of `four_well_langevin`, exp(-beta V), normalized over the plane.

    Parameters
    ----------
    points : array of shape (n_points, 2)
        Points.
    beta : float, default=4.0
        Inverse temperature, above 0.

    Returns
    -------
    ndarray of shape (n_points,)
        Probability per unit of area; its integral over the plane is 1.
    """
    check_positive("beta", beta)
    at = np.asarray(points, dtype=np.float64)
    if at.ndim != 2 or at.shape[1] != 2:
        raise ValueError(f"points have shape {at.shape}; it must be (n_points, 2)")
    grid, weights = _double_well_grid(beta)
    mass = float(np.sum(weights) * (grid[1] - grid[0]))
    density: FloatArray = np.exp(-beta * np.sum((at**2 - 1.0) ** 2, axis=1)) / mass**2
    return density


def four_well_eigenvalues(
    n_eigenvalues: int = 8, *, tau: float = 0.1, beta: float = 4.0
) -> FloatArray:
    """Leading eigenvalues of the Koopman operator of :func:`four_well_langevin`.

    The potential is a sum over the two coordinates, so the eigenvalues are the products of those
    of one coordinate, and these come from the generator V' d/dx - (1/beta) d2/dx2 discretised by
    finite volumes on 800 cells, which keeps it symmetric in the stationary measure
    (relative error of the rates about 1e-4).

    Parameters
    ----------
    n_eigenvalues : int, default=8
        How many, from 1 to 100.
    tau : float, default=0.1
        Time step, above 0.
    beta : float, default=4.0
        Inverse temperature, above 0.

    Returns
    -------
    ndarray of shape (n_eigenvalues,)
        Sorted in decreasing order; the first one is 1.
    """
    whole_number("n_eigenvalues", n_eigenvalues, 1)
    if n_eigenvalues > 100:
        raise ValueError(f"n_eigenvalues={n_eigenvalues} must be at most 100")
    check_positive("tau", tau)
    check_positive("beta", beta)
    grid, mass = _double_well_grid(beta)
    width = grid[1] - grid[0]
    at_faces = np.exp(-beta * ((0.5 * (grid[1:] + grid[:-1])) ** 2 - 1.0) ** 2)
    flow = at_faces / (beta * width * width)
    generator = np.diag(np.append(flow, 0.0) + np.insert(flow, 0, 0.0))
    generator -= np.diag(flow, 1) + np.diag(flow, -1)
    root = np.sqrt(mass)
    rates = np.linalg.eigvalsh(generator / np.outer(root, root))
    rates = np.maximum(rates - rates[0], 0.0)[:n_eigenvalues]
    products = np.exp(-tau * np.add.outer(rates, rates)).ravel()
    ordered: FloatArray = -np.sort(-products)[:n_eigenvalues]
    return ordered


def _double_well_grid(beta: float) -> tuple[FloatArray, FloatArray]:
    """Cells that hold all except 1e-12 of exp(-beta (x^2 - 1)^2), and its values there."""
    edge = np.sqrt(1.0 + np.sqrt(30.0 / beta))
    grid = np.linspace(-edge, edge, 800)
    return grid, np.exp(-beta * (grid**2 - 1.0) ** 2)


def _draw_double_well(rng: np.random.Generator, beta: float, count: int) -> FloatArray:
    grid, weights = _double_well_grid(beta)
    cells = rng.choice(len(grid), size=count, p=weights / weights.sum())
    drawn: FloatArray = grid[cells] + (grid[1] - grid[0]) * (rng.random(count) - 0.5)
    return drawn
