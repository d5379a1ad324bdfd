"""Operators of simulated systems without noise: the defaults beside a fixed tolerance.

States are learned in the order of time. For each system the error one step ahead of states held
out, as a share of their deviation, of `Koopman()` and of `Koopman(basis=ALD(1e-6))`, and the
largest squared norm of coordinates, which a Gaussian kernel bounds by 1.

    python benchmarks koopman clean_systems
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.integrate import solve_ivp

import kernelstream as ks

N = 1000


def van_der_pol(_, s):
    return [s[1], (1 - s[0] ** 2) * s[1] - s[0]]


def duffing(_, s):
    return [s[1], s[0] - s[0] ** 3]


def damped_duffing(_, s):
    return [s[1], -0.1 * s[1] + s[0] - s[0] ** 3]


def lotka_volterra(_, s):
    return [s[0] * (1 - s[1]), s[1] * (s[0] - 1)]


def lorenz(_, s):
    return [10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]]


def roessler(_, s):
    return [-s[1] - s[2], s[0] + 0.2 * s[1], 0.2 + s[2] * (s[0] - 5.7)]


def pendulum(_, s):
    return [s[1], -np.sin(s[0])]


def damped_pendulum(_, s):
    return [s[1], -0.05 * s[1] - np.sin(s[0])]


def fitzhugh_nagumo(_, s):
    return [s[0] - s[0] ** 3 / 3 - s[1] + 0.5, 0.08 * (s[0] + 0.7 - 0.8 * s[1])]


def brusselator(_, s):
    return [1 + s[0] ** 2 * s[1] - 4 * s[0], 3 * s[0] - s[0] ** 2 * s[1]]


def selkov(_, s):
    return [-s[0] + 0.1 * s[1] + s[0] ** 2 * s[1], 0.6 - 0.1 * s[1] - s[0] ** 2 * s[1]]


def kepler(_, s):
    radius = np.hypot(s[0], s[1]) ** 3
    return [s[2], s[3], -s[0] / radius, -s[1] / radius]


def henon_heiles(_, s):
    return [s[2], s[3], -s[0] - 2 * s[0] * s[1], -s[1] - s[0] ** 2 + s[1] ** 2]


def epidemic(_, s):
    return [0.02 * (1 - s[0]) - 0.5 * s[0] * s[1], 0.5 * s[0] * s[1] - 0.22 * s[1]]


FLOWS = {
    "van der Pol, dt .05": (van_der_pol, [1.0, 0.0], 0.05, 10.0),
    "van der Pol, dt .1": (van_der_pol, [1.0, 0.0], 0.1, 10.0),
    "Duffing": (duffing, [1.0, 0.9], 0.05, 0.0),
    "damped Duffing": (damped_duffing, [1.5, 1.0], 0.05, 0.0),
    "Lotka-Volterra": (lotka_volterra, [0.5, 0.7], 0.05, 0.0),
    "Lorenz, dt .01": (lorenz, [1.0, 1.0, 20.0], 0.01, 5.0),
    "Lorenz, dt .005": (lorenz, [1.0, 1.0, 20.0], 0.005, 5.0),
    "Lorenz, dt .002": (lorenz, [1.0, 1.0, 20.0], 0.002, 5.0),
    "Roessler": (roessler, [1.0, 1.0, 0.0], 0.1, 50.0),
    "pendulum, dt .1": (pendulum, [2.0, 0.0], 0.1, 0.0),
    "pendulum, dt .02": (pendulum, [2.0, 0.0], 0.02, 0.0),
    "damped pendulum": (damped_pendulum, [2.5, 0.0], 0.1, 0.0),
    "FitzHugh-Nagumo": (fitzhugh_nagumo, [0.0, 0.0], 0.2, 50.0),
    "Brusselator": (brusselator, [1.0, 1.0], 0.02, 20.0),
    "Selkov": (selkov, [1.0, 1.0], 0.05, 50.0),
    "Kepler": (kepler, [1.0, 0.0, 0.0, 1.2], 0.05, 0.0),
    "Henon-Heiles": (henon_heiles, [0.1, 0.1, 0.3, 0.1], 0.1, 0.0),
    "epidemic": (epidemic, [0.6, 0.05], 0.5, 0.0),
}


def systems() -> dict[str, np.ndarray]:
    """Trajectories (N + 100, d) by name, in the order of time."""
    out = {}
    for name, (field, start, step, skipped) in FLOWS.items():
        times = skipped + step * np.arange(N + 100)
        flow = solve_ivp(field, (0, times[-1]), start, t_eval=times, rtol=1e-10, atol=1e-10)
        out[name] = flow.y.T
    steps = np.arange(N + 100)
    angles = 2 * np.pi * np.outer(steps, [0.01, 0.01 * np.sqrt(2)])
    circle = 2 * np.pi * 0.159 * steps
    out["circle"] = np.c_[np.cos(circle), np.sin(circle)]
    out["torus"] = np.c_[np.cos(angles), np.sin(angles)]
    waves = 2 * np.pi * np.outer(steps, [0.004, 0.013])
    out["two oscillators"] = np.c_[np.sin(waves), np.cos(waves[:, :1])]
    return out


def one_step(model: ks.Koopman, states: np.ndarray) -> float:
    """Root of the mean squared error one step ahead, as a share of the states' deviation."""
    gap = model.predict(states[:-1]) - states[1:]
    return float(np.sqrt((gap**2).mean() / states.var(axis=0).mean()))


def main() -> None:
    heads = f"{'stored':>13s} {'one step ahead':>20s} {'ratio':>7s} {'largest z z':>12s}"
    print(f"{'system':20s} {heads}")
    worst = 0.0
    for name, states in systems().items():
        free = ks.Koopman().fit(states[:N])
        fixed = ks.Koopman(basis=ks.ALD(1e-6)).fit(states[:N])
        errors = [one_step(model, states[N:]) for model in (free, fixed)]
        norm = max(float((model.transform(states) ** 2).sum(1).max()) for model in (free, fixed))
        ratio = errors[0] / errors[1]
        worst = max(worst, ratio)
        sizes = f"{free.n_stored_:5d} {fixed.n_stored_:5d}"
        print(
            f"{name:20s} {sizes:>13s} {errors[0]:10.1e} {errors[1]:9.1e} {ratio:7.2f} {norm:12.9f}",
            flush=True,
        )
    print(f"largest ratio {worst:.2f}")
