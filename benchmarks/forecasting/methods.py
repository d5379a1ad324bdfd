"""The methods that `dynamics_peers.py` compares, all with the same interface.

Ours is asked twice, with nothing chosen and with parameters tuned by hand. Peers get the bandwidth
and the regularization that are best in a cross-validation, of a grid around the median distance of
two states: by the error of forecasts where these are asked for, else by the VAMP-E
score of five eigenpairs, which judges eigenfunctions and eigenvalues.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from forecasting.worlds import Fitted, World
from sklearn.metrics import pairwise_distances, r2_score
from sklearn.model_selection import KFold
from streams import FloatArray

import kernelstream as ks
from kernelstream.koopman.vamp import operator_score, real_functions

__all__ = ["METHODS", "Method"]

Pairs = tuple[FloatArray, FloatArray]
BANDWIDTHS = (0.25, 0.5, 1.0, 2.0)  # times the median distance of two states
RIDGES = (1e-9, 1e-7, 1e-5, 1e-4, 1e-3)  # times the number of pairs
SEARCHED, FOLDS = 1_200, 3  # pairs by which the search decides, in this many folds


@dataclass(frozen=True)
class Method:
    """A method that learns a system from at most this many pairs (some cost their cube)."""

    name: str
    package: str
    learn: Callable[[World, Pairs], Fitted]
    forecasts: bool = True
    spectra: bool = True
    linear: bool = False
    most: int = 1_000_000


# ------------------------------------------------------------------------------------- kernelstream


class Ours:
    """An operator of ours, asked with windows of delays as rows."""

    def __init__(self, model: ks.Koopman, width: int) -> None:
        self.model, self.width = model, width

    @property
    def eigenvalues_(self) -> np.ndarray:
        return self.model.eigenvalues_

    def eigenfunctions(self, X: FloatArray, k: int) -> np.ndarray:
        return self.model.eigenfunctions(X, k)

    def predict(self, X: FloatArray, n_steps: int) -> FloatArray:
        if X.shape[1] > self.width:  # windows, in the order of time
            X = X.reshape(len(X), -1, self.width)[:, ::-1]
        return np.asarray(self.model.predict(X, n_steps))


TUNED: dict[str, Callable[[], ks.Koopman]] = {
    "Ornstein-Uhlenbeck": lambda: ks.presets.recursive_koopman(ks.Gaussian(1.0), 1e-3, 1.0),
    "Duffing": lambda: ks.presets.recursive_koopman(ks.Gaussian(0.3), 1e-2, 0.1),
    "Langevin, four wells": lambda: ks.presets.recursive_koopman(
        0.4 * ks.Gaussian(0.4) + 0.6 * ks.Gaussian(0.7), 1e-2
    ),
    "alanine dipeptide": lambda: ks.presets.recursive_koopman(ks.Gaussian(1.0), 1e-2, 1e-3),
    "cylinder wake": lambda: ks.presets.recursive_koopman(ks.Gaussian(2.0), 1e-8, 1e-8),
    "Lorenz, x alone": lambda: ks.presets.recursive_koopman(ks.Gaussian(15.0), 1e-9, 1e-9),
}


def _ours(world: World, model: ks.Koopman) -> Fitted:
    if world.delays:
        model.set_params(n_delays=world.delays)
    model.fit(list(world.trajectories))
    return Ours(model, world.trajectories[0].shape[1])


def nothing_chosen(world: World, pairs: Pairs) -> Fitted:
    del pairs
    return _ours(world, ks.Koopman())


def by_hand(world: World, pairs: Pairs) -> Fitted:
    del pairs
    return _ours(world, TUNED[world.name]())


# -------------------------------------------------------------------------------------------- peers


class Kooplearn:
    """A fitted estimator of kooplearn."""

    def __init__(self, model: Any) -> None:
        self.model = model
        values = np.asarray(model.eig())
        self.order = np.argsort(-np.abs(values), kind="stable")
        self.eigenvalues_ = values[self.order]

    def eigenfunctions(self, X: FloatArray, k: int) -> np.ndarray:
        return np.asarray(self.model.eig(eval_right_on=X)[1])[:, self.order[:k]]

    def predict(self, X: FloatArray, n_steps: int) -> FloatArray:
        return np.asarray(self.model.predict(X, n_steps=n_steps)).reshape(X.shape)


def _on_pairs(estimator: type) -> type:
    """Make an estimator of kooplearn take pairs: first all states, then all next states."""

    class OnPairs(estimator):  # type: ignore[misc]
        def _split_trajectory(self, X: FloatArray) -> Pairs:
            return X[: len(X) // 2], X[len(X) // 2 :]

    return OnPairs


def _kooplearn(make: Callable[[float, float, int], Any]) -> Callable[[World, Pairs], Fitted]:
    def fit(pairs: Pairs, bandwidth: float, ridge: float) -> Any:
        return make(0.5 / bandwidth**2, ridge, len(pairs[0])).fit(np.concatenate(pairs))

    def r_squared(fitted: Any, before: FloatArray, after: FloatArray) -> float:
        forecast = np.asarray(fitted.predict(before)).reshape(after.shape)
        return float(r2_score(after, forecast))

    def vamp_e(fitted: Any, before: FloatArray, after: FloatArray) -> float:
        return _vamp_e(Kooplearn(fitted), before, after)

    def learn(world: World, pairs: Pairs) -> Fitted:
        score = r_squared if world.by_forecast else vamp_e
        return Kooplearn(fit(pairs, *_best(fit, score, pairs)))

    return learn


def _kernel_ridge(gamma: float, ridge: float, n_pairs: int) -> Any:
    from kooplearn.kernel import KernelRidge  # noqa: PLC0415

    return _on_pairs(KernelRidge)(
        n_components=min(50, n_pairs - 2),
        kernel="rbf",
        gamma=gamma,
        alpha=ridge,
        reduced_rank=False,
        eigen_solver="arpack",
        random_state=0,
    )


def _nystroem(gamma: float, ridge: float, n_pairs: int) -> Any:
    from kooplearn.kernel import NystroemKernelRidge  # noqa: PLC0415

    return _on_pairs(NystroemKernelRidge)(
        n_components=50,
        kernel="rbf",
        gamma=gamma,
        alpha=ridge,
        reduced_rank=False,
        n_centers=min(300, n_pairs // 2),
        random_state=0,
    )


class Deeptime:
    """A fitted model of deeptime's KernelEDMD, which has no forecasts."""

    def __init__(self, model: Any) -> None:
        self.model = model
        values = np.asarray(model.eigenvalues)
        self.order = np.argsort(-np.abs(values), kind="stable")
        self.eigenvalues_ = values[self.order]

    def eigenfunctions(self, X: FloatArray, k: int) -> np.ndarray:
        return np.asarray(self.model.transform(X))[:, self.order[:k]]


def kernel_edmd(world: World, pairs: Pairs) -> Fitted:
    from deeptime.decomposition import KernelEDMD  # noqa: PLC0415
    from deeptime.kernels import GaussianKernel  # noqa: PLC0415

    def fit(pairs: Pairs, bandwidth: float, ridge: float) -> Any:
        epsilon = ridge * len(pairs[0])
        return KernelEDMD(GaussianKernel(bandwidth), epsilon, n_eigs=10).fit(pairs).fetch_model()

    def score(fitted: Any, before: FloatArray, after: FloatArray) -> float:
        return _vamp_e(Deeptime(fitted), before, after)

    del world
    return Deeptime(fit(pairs, *_best(fit, score, pairs)))


class Linear:
    """Eigenfunctions that are linear in the states, with the constant one before them."""

    def __init__(self, values: np.ndarray, transform: Callable[[FloatArray], np.ndarray]) -> None:
        self.eigenvalues_ = np.append(1.0, values)
        self.transform = transform

    def eigenfunctions(self, X: FloatArray, k: int) -> np.ndarray:
        return np.column_stack([np.ones(len(X)), self.transform(X)])[:, :k]


def tica(world: World, pairs: Pairs) -> Fitted:
    from deeptime.decomposition import TICA  # noqa: PLC0415

    del world
    model = TICA(scaling=None).fit(pairs).fetch_model()
    return Linear(np.asarray(model.singular_values), model.transform)


class Modes:
    """Modes and eigenvalues for one step: a forecast projects the states on the modes."""

    def __init__(self, modes: np.ndarray, values: np.ndarray) -> None:
        self.modes = modes
        order = np.argsort(-np.abs(values), kind="stable")
        self.eigenvalues_ = values[order]
        self.inverse, self.values = np.linalg.pinv(modes), values

    def predict(self, X: FloatArray, n_steps: int) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            ahead = self.values**n_steps * (X @ self.inverse.T)
            return np.asarray((ahead @ self.modes.T).real)


def hankel_dmd(world: World, pairs: Pairs) -> Fitted:
    """DMD of the rows with delays; of one trajectory the same as PyDMD's HankelDMD."""
    from pydmd import DMD  # noqa: PLC0415

    def fit(pairs: Pairs, share: float, _: float) -> Any:
        rank = max(1, round(share * pairs[0].shape[1]))
        model = DMD(svd_rank=rank).fit(pairs[0].T, pairs[1].T)
        return Modes(np.asarray(model.modes), np.asarray(model.eigs))

    def score(fitted: Any, before: FloatArray, after: FloatArray) -> float:
        return -float(np.mean((fitted.predict(before, 1) - after) ** 2))

    del world
    grid = product((0.3, 0.5, 0.7, 1.0), (0.0,))
    share, _ = _best(fit, score, pairs, grid)
    return fit(pairs, share, 0.0)


def bop_dmd(world: World, pairs: Pairs) -> Fitted:
    """Optimized DMD, which fits exponentials to one trajectory: here the last."""
    from dynamics_worlds import hankel  # noqa: PLC0415
    from pydmd import BOPDMD  # noqa: PLC0415

    del pairs
    rows = hankel(world.trajectories[-1], world.delays)
    model = BOPDMD(svd_rank=min(rows.shape[1], 9), num_trials=0, eig_constraints={"stable"})
    model.fit(rows.T, np.arange(float(len(rows))))
    return Modes(np.asarray(model.modes), np.exp(np.asarray(model.eigs)))


def _vamp_e(fitted: Fitted, before: FloatArray, after: FloatArray) -> float:
    values = fitted.eigenvalues_[:5]
    now, matrix, _ = real_functions(values, fitted.eigenfunctions(before, 5))
    later, _, _ = real_functions(values, fitted.eigenfunctions(after, 5))
    return operator_score(now, later, matrix)


def _best(
    fit: Callable[[Pairs, float, float], Any],
    score: Callable[[Any, FloatArray, FloatArray], float],
    pairs: Pairs,
    grid: Iterable[tuple[float, float]] | None = None,
) -> tuple[float, float]:
    """Find the parameters that are best in a cross-validation on this many of the pairs."""
    chosen = np.linspace(0, len(pairs[0]) - 1, min(SEARCHED, len(pairs[0]))).astype(int)
    before, after = pairs[0][chosen], pairs[1][chosen]
    best, found = -np.inf, (np.nan, np.nan)
    for parameters in _around(before) if grid is None else grid:
        values = []
        for train, test in KFold(FOLDS).split(before):
            try:
                fitted = fit((before[train], after[train]), *parameters)
                values.append(score(fitted, before[test], after[test]))
            except (ValueError, ArithmeticError, RuntimeError, np.linalg.LinAlgError):
                values.append(-np.inf)
        if (value := float(np.mean(values))) > best:
            best, found = value, parameters
    if np.isnan(found[0]):
        raise RuntimeError("no parameters of the grid worked")
    return found


def _around(states: FloatArray) -> Iterator[tuple[float, float]]:
    distances = pairwise_distances(states[:: max(1, len(states) // 300)])
    median = float(np.median(distances[distances > 0.0]))
    return product((median * factor for factor in BANDWIDTHS), RIDGES)


METHODS = (
    Method("Koopman(), nothing chosen", "kernelstream", nothing_chosen),
    Method("tuned by hand", "kernelstream", by_hand),
    Method("kooplearn KernelRidge", "kooplearn", _kooplearn(_kernel_ridge), most=2_000),
    Method("kooplearn Nystroem, 300 centers", "kooplearn", _kooplearn(_nystroem), most=20_000),
    Method("deeptime KernelEDMD", "deeptime", kernel_edmd, forecasts=False, most=1_000),
    Method("deeptime TICA", "deeptime", tica, forecasts=False, linear=True),
    Method("PyDMD DMD of delays", "pydmd", hankel_dmd, spectra=False, linear=True),
    Method("PyDMD BOPDMD", "pydmd", bop_dmd, spectra=False, linear=True),
)

warnings.filterwarnings("ignore", module="kooplearn|deeptime|pydmd|sklearn|scipy")
