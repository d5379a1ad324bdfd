"""Koopman operators: sparse stochastic gradient and recursive least squares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelstream.components.admission import HilbertSchmidt
from kernelstream.components.bases import ALD
from kernelstream.components.kernels import Kernel
from kernelstream.components.learners import Gradient, Ridge
from kernelstream.components.replay import Replay
from kernelstream.koopman import Koopman

__all__ = ["recursive_koopman", "sparse_koopman"]


def sparse_koopman(
    kernel: Kernel | None = None,
    step: float = 0.2,
    tolerance: float = 0.01,
    *,
    power: float = 0.0,
    regularization: float = 0.0,
    schedule: str | Mapping[str, Any] = "constant",
    averaging: bool = False,
    paired: bool = False,
    max_size: int | None = 1000,
    replay: int | None = None,
    passes: int = 1,
    random_state: int | None = None,
) -> Koopman:
    """Sparse online learning of the Koopman operator by stochastic gradient (Hou et al.).

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel, for states as they are. None: chosen, with the scale of the states, by the first
        pairs, see `Koopman`.
    step : float, default=0.2
        Step eta, above 0 and below 2 / k(x, x).
    tolerance : float, default=0.01
        Largest error of a step that stores nothing (epsilon, in Hilbert-Schmidt norm), 0 or more;
        it is multiplied by ``eta**power``. The paper's ``2 eta^3`` is ``tolerance=2, power=3``.
    power : float, default=0.0
        See `tolerance`; 0 for a constant.
    regularization : float, default=0.0
        Lambda, 0 or more; keep ``lambda * eta * n_pairs`` below about 1.
    schedule : str or dict, default="constant"
        How the step changes, as in `Gradient`.
    averaging : bool, default=False
        Use the mean of the operators of all rounds: with a constant step on shuffled pairs, needed
        for unbiased eigenvalues.
    paired : bool, default=False
        Store both states of a pair or neither, as in the paper.
    max_size : int or None, default=1000
        At most this many states, and as many next states. None: no limit.
    replay : int, optional
        Learn in shuffled order from a buffer of this many pairs: needed for ordered trajectories.
    passes : int, default=1
        How often each pair is learned with `replay`, 1 to 1000.
    random_state : int, optional
        Seed of the shuffling.

    Returns
    -------
    model : Koopman
        The estimator.

    References
    ----------
    B. Hou, S. Sanjari, N. Dahlin, A. Koppel, S. Bose, "Nonparametric sparse online learning of the
    Koopman operator", 2024, Algorithm 1 (with the exact admission test, see `HilbertSchmidt`).
    """
    learner = Gradient(
        loss="half_squared",
        step=step,
        schedule=schedule,
        regularization=regularization,
        averaging=averaging,
    )
    return Koopman(
        kernel,
        HilbertSchmidt(tolerance, power, max_size, paired=paired),
        learner if replay is None else Replay(learner, replay, passes, random_state),
    )


def recursive_koopman(
    kernel: Kernel | None = None,
    tolerance: float = 1e-3,
    regularization: float = 1e-2,
    *,
    forgetting: float = 1.0,
    max_size: int | None = 1000,
) -> Koopman:
    """Recursive least squares for the Koopman operator: streaming kernel EDMD.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel, for states as they are. None: chosen, with the scale of the states, by the first
        pairs, see `Koopman`.
    tolerance : float, default=1e-3
        ALD tolerance, in (0, 1), of one dictionary over both states of every pair.
    regularization : float, default=1e-2
        Weight of the squared norm, above 0, not divided by the number of pairs. Smaller
        values make the fourth and further eigenvalues noisy.
    forgetting : float, default=1.0
        Factor in (0, 1] on the weight of all past pairs at each new one.
    max_size : int or None, default=1000
        At most this many stored states. None: no limit.

    Returns
    -------
    model : Koopman
        The estimator.
    """
    learner = Ridge(regularization, forgetting, center=False, clip=False)
    return Koopman(kernel, ALD(tolerance, max_size), learner)
