"""Dynamical systems with known spectra: seeded simulators for examples, tests and benchmarks.

Each simulator returns a `Dynamics`: all trajectories in one array and, where theory gives them, the
leading eigenvalues of the Koopman operator over one time step, so that estimates can be compared
with exact values. All simulators are vectorized over trajectories and reproducible by
``random_state``.
"""

from __future__ import annotations

from kernelstream.datasets import adversarial
from kernelstream.datasets.duffing_oscillator import duffing, duffing_basin
from kernelstream.datasets.dynamics import Dynamics, pairs
from kernelstream.datasets.four_wells import (
    four_well_density,
    four_well_eigenvalues,
    four_well_langevin,
)
from kernelstream.datasets.logistic import logistic_map_eigenvalues, noisy_logistic_map
from kernelstream.datasets.lorenz_system import lorenz
from kernelstream.datasets.ou_process import ornstein_uhlenbeck

__all__ = [
    "Dynamics",
    "adversarial",
    "duffing",
    "duffing_basin",
    "four_well_density",
    "four_well_eigenvalues",
    "four_well_langevin",
    "logistic_map_eigenvalues",
    "lorenz",
    "noisy_logistic_map",
    "ornstein_uhlenbeck",
    "pairs",
]
