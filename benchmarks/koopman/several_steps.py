"""Forecasts of several steps: by powers, by iteration, and as `Koopman()` selects.

Each system is learned from 20 trajectories of 100 states, and forecast from the first states of 20
others. Figures are root mean square errors of the true states as shares of those of persistence,
geometric means over seeds. Noise of observation is added to all states that are seen.

    python benchmarks koopman several_steps [--seeds N] [--only NAME]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from report import Report
from streams import FloatArray

import kernelstream as ks

HORIZONS = (10, 50)
WAYS = ("powers", "iteration", None)
TRAJECTORIES, STATES, LONGEST_STEP = 20, 100, 0.02

Field = Callable[[FloatArray], FloatArray]


def duffing(s: FloatArray) -> FloatArray:
    x, v = s.T
    return np.column_stack([v, x - x**3 - 0.3 * v])


def van_der_pol(s: FloatArray) -> FloatArray:
    x, v = s.T
    return np.column_stack([v, (1 - x**2) * v - x])


def pendulum(s: FloatArray) -> FloatArray:
    angle, v = s.T
    return np.column_stack([v, -np.sin(angle) - 0.1 * v])


def lorenz(s: FloatArray) -> FloatArray:
    x, y, z = s.T
    return np.column_stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])


def lotka_volterra(s: FloatArray) -> FloatArray:
    prey, predators = s.T
    return np.column_stack([prey * (1 - predators), -predators * (1 - prey)])


def linear(s: FloatArray) -> FloatArray:
    x, v = s.T
    return np.column_stack([v, -4 * x - 0.2 * v])


def double_well(s: FloatArray) -> FloatArray:
    return s - s**3


@dataclass(frozen=True)
class System:
    field: Field
    step: float
    process: float = 0.0
    observation: float = 0.0

    def starts(self, rng: np.random.Generator) -> FloatArray:
        if self.field is lorenz:
            near = 5 * rng.normal(size=(TRAJECTORIES, 3)) + [0, 0, 25]
            return System(lorenz, 0.1).path(near, 50, rng)[:, -1]
        if self.field is lotka_volterra:
            return rng.uniform(0.5, 2, size=(TRAJECTORIES, 2))
        if self.field is double_well:
            return rng.normal(size=(TRAJECTORIES, 1))
        return rng.uniform(-1.5, 1.5, size=(TRAJECTORIES, 2))

    def path(self, s: FloatArray, states: int, rng: np.random.Generator) -> FloatArray:
        """True states (trajectories, states, d): Runge-Kutta's, or Euler-Maruyama's with noise."""
        parts = int(np.ceil(self.step / LONGEST_STEP))
        h, f, out = self.step / parts, self.field, [s]
        for _ in range(states - 1):
            for _ in range(parts):
                if self.process:
                    s = s + h * f(s) + np.sqrt(h) * self.process * rng.normal(size=s.shape)
                    continue
                a = f(s)
                b = f(s + h / 2 * a)
                c = f(s + h / 2 * b)
                s = s + h / 6 * (a + 2 * b + 2 * c + f(s + h * c))
            out.append(s)
        return np.stack(out, axis=1)

    def drawn(self, states: int, seed: int) -> tuple[FloatArray, FloatArray]:
        """True states and those seen."""
        rng = np.random.default_rng(seed)
        true = self.path(self.starts(rng), states, rng)
        return true, true + self.observation * rng.normal(size=true.shape)


SYSTEMS = {
    "Duffing, step .05": System(duffing, 0.05),
    "Duffing, .25": System(duffing, 0.25),
    "Duffing, .5": System(duffing, 0.5),
    "van der Pol, .05": System(van_der_pol, 0.05),
    "van der Pol, .25": System(van_der_pol, 0.25),
    "pendulum, .1": System(pendulum, 0.1),
    "pendulum, .5": System(pendulum, 0.5),
    "Lorenz, .02": System(lorenz, 0.02),
    "Lorenz, .05": System(lorenz, 0.05),
    "Lotka-Volterra, .1": System(lotka_volterra, 0.1),
    "linear, .1": System(linear, 0.1),
    "double well, process noise, .5": System(double_well, 0.5, process=0.7),
    "van der Pol, process noise, .25": System(van_der_pol, 0.25, process=0.3),
    "van der Pol, noise of observation, .25": System(van_der_pol, 0.25, observation=0.1),
}


def errors(system: System, seed: int) -> FloatArray:
    """Errors by way and horizon, as shares of those of persistence."""
    _, seen = system.drawn(STATES, seed)
    true, from_seen = system.drawn(max(HORIZONS) + 1, 1000 + seed)
    model = ks.Koopman().fit_trajectory(list(seen))
    still = true[:, 0]
    rows = []
    for way in WAYS:
        made = model.predict(from_seen[:, 0], list(HORIZONS), by=way)
        row = []
        for horizon, states in zip(HORIZONS, made, strict=True):
            then = true[:, horizon]
            row.append(np.linalg.norm(states - then) / np.linalg.norm(still - then))
        rows.append(row)
    return np.array(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="one system")
    given = parser.parse_args()
    report = Report("several_steps")
    report.heading(f"Errors as shares of persistence, {given.seeds} seeds")
    rows = []
    for name, system in SYSTEMS.items():
        if given.only in (None, name):
            logs = [np.log(errors(system, seed)) for seed in range(given.seeds)]
            shares = np.exp(np.mean(logs, axis=0)).T.ravel()
            rows.append([name, *(f"{share:.2g}" for share in shares)])
            report.remark(" | ".join(rows[-1]))
    ways = [way or "selected" for way in WAYS]
    report.table(["system", *(f"{n} steps: {way}" for n in HORIZONS for way in ways)], rows)
    report.write()
