"""Six dynamical systems, and for each a question with a known or measurable answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from streams import FOLDER, FloatArray

import kernelstream as ks
from kernelstream import datasets
from kernelstream.koopman import vamp_score
from kernelstream.koopman.vamp import real_functions

__all__ = ["WORLDS", "Fitted", "World", "hankel"]


class Fitted(Protocol):
    """What a method has learned: a spectrum, forecasts, or both."""

    @property
    def eigenvalues_(self) -> np.ndarray: ...
    def eigenfunctions(self, X: FloatArray, k: int) -> np.ndarray: ...
    def predict(self, X: FloatArray, n_steps: int) -> FloatArray: ...


@dataclass(frozen=True)
class World:
    """A system, its data and its question.

    `delays` earlier values belong to a state; `judge` gives the figure of what was learned, and
    `by_forecast` says whether that needs forecasts (else eigenvalues or eigenfunctions).
    """

    name: str
    question: str
    trajectories: Sequence[FloatArray]
    judge: Callable[[Any], float]
    by_forecast: bool = False
    delays: int = 0
    linear_too: bool = True

    def pairs(self) -> tuple[FloatArray, FloatArray]:
        """Pairs of states, with the values before them if there are delays."""
        rows = [hankel(T, self.delays) for T in self.trajectories]
        return np.concatenate([r[:-1] for r in rows]), np.concatenate([r[1:] for r in rows])


def hankel(T: FloatArray, delays: int) -> FloatArray:
    """Each state followed by those before it."""
    return np.hstack([T[delays - i : len(T) - i] for i in range(delays + 1)])


def ornstein_uhlenbeck(seed: int) -> World:
    data = datasets.ornstein_uhlenbeck(5_000, n_eigenvalues=5, random_state=seed)

    def judge(fitted: Fitted) -> float:
        return float(np.abs(_leading(fitted, 5) - data.eigenvalues).max())

    question = "largest error of five eigenvalues"
    return World("Ornstein-Uhlenbeck", question, list(data.trajectories), judge)


def duffing(seed: int) -> World:
    side = np.linspace(-2.0, 2.0, 61)
    points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    truth = datasets.duffing_basin(points)

    def judge(fitted: Fitted) -> float:
        labels = ks.metastable_sets(fitted, points, 2, random_state=0)
        right = float(np.mean((labels == 1)[truth != 0] == (truth == 1)[truth != 0]))
        return 1.0 - max(right, 1.0 - right)

    data = datasets.duffing(random_state=seed)
    question = "share of the plane in the wrong basin"
    return World("Duffing", question, list(data.trajectories), judge, linear_too=False)


def langevin(seed: int) -> World:
    data = datasets.four_well_langevin(random_state=seed)
    known = -1.0 / np.log(data.eigenvalues[1:4])

    def judge(fitted: Fitted) -> float:
        moduli = np.clip(np.abs(_leading(fitted, 4)[1:]), 1e-9, 1.0 - 1e-9)
        return float(np.mean(np.abs(-1.0 / np.log(moduli) / known - 1.0)))

    question = "mean relative error of three timescales"
    return World("Langevin, four wells", question, list(data.trajectories), judge)


def alanine(seed: int) -> World:
    with np.load(FOLDER / "alanine_dipeptide_dihedrals.npz") as data:
        angles = data["trajectory"].astype(np.float64)
    runs = np.concatenate([np.cos(angles), np.sin(angles)], axis=-1)
    left_out = 2 - seed % 2  # the first run never visits the rarest conformation
    held_out = runs[left_out]

    def judge(fitted: Fitted) -> float:
        values = fitted.eigenvalues_[:3]
        parts = [
            real_functions(values, fitted.eigenfunctions(X, 3))[0]
            for X in (held_out[:-1], held_out[1:])
        ]
        return 3.0 - vamp_score(*parts, "VAMP2", 3)

    question = "3 minus the VAMP-2 score on a held-out run"
    return World("alanine dipeptide", question, list(np.delete(runs, left_out, axis=0)), judge)


def cylinder_wake(seed: int) -> World:
    with np.load(FOLDER / "cylinder_wake_pod.npz") as data:
        blocks = data["trajectory"].astype(np.float64).reshape(-1, 100, 9)
    seen, held_out = blocks[seed % 2 :: 2], blocks[1 - seed % 2 :: 2]
    start, truth = (part.reshape(-1, 9) for part in (held_out[:, :-50], held_out[:, 50:]))

    def judge(fitted: Fitted) -> float:
        return _relative_error(fitted.predict(start, 50), truth)

    question = "relative error 50 steps ahead"
    return World("cylinder wake", question, list(seen), judge, by_forecast=True)


def lorenz(seed: int) -> World:
    delays = 6
    x = datasets.lorenz(3_000, random_state=seed).trajectories[0, :, :1]
    rows = hankel(x[2_000:], delays)

    def judge(fitted: Fitted) -> float:
        return _relative_error(fitted.predict(rows[:-4], 4)[:, :1], rows[4:, :1])

    question = "relative error 4 steps ahead"
    return World("Lorenz, x alone", question, [x[:2_000]], judge, by_forecast=True, delays=delays)


def _leading(fitted: Fitted, k: int) -> np.ndarray:
    """Leading eigenvalues, with zeros for those that a method does not have."""
    return np.append(fitted.eigenvalues_, np.zeros(k))[:k]


def _relative_error(forecast: FloatArray, truth: FloatArray) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.linalg.norm(forecast - truth) / np.linalg.norm(truth))
    return min(error, 99.0) if np.isfinite(error) else 99.0


WORLDS: dict[str, Callable[[int], World]] = {
    "Ornstein-Uhlenbeck": ornstein_uhlenbeck,
    "Duffing": duffing,
    "Langevin, four wells": langevin,
    "alanine dipeptide": alanine,
    "cylinder wake": cylinder_wake,
    "Lorenz, x alone": lorenz,
}
