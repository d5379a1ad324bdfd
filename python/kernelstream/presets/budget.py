"""Algorithms on a budget, which remove stored points: KOGD, RBP, BPA-S, Projectron and BOGD."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelstream.components.budget import (
    BudgetedGradient,
    BudgetedPassiveAggressive,
    BudgetedPerceptron,
)
from kernelstream.components.kernels import Kernel
from kernelstream.presets.losses import estimator_of
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.regressor import KernelRegressor

__all__ = ["bogd", "bpas", "kogd", "projectron", "rbp"]


def kogd(
    kernel: Kernel | None = None,
    loss: str | Mapping[str, float] = "squared",
    step: float = 0.2,
    *,
    schedule: str | Mapping[str, Any] = "constant",
    regularization: float = 0.0,
    budget: int | None = None,
) -> KernelRegressor | KernelClassifier:
    """Functional gradient descent (KOGD), truncated to the latest points with a budget (NORMA).

    Every row with a nonzero gradient is stored with the coefficient ``-step_t l'(f(x), y)``, after
    all coefficients are multiplied by ``1 - step_t regularization``. One row costs O(m d) for m
    stored points of d features, memory is O(m d); without a budget m grows with the stream.

    Differences from the paper: no offset is learned, and the step is constant by default.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    loss : str or {"huber": float}, default="squared"
        Loss of a prediction, as in `BudgetedGradient`. With "hinge", "squared_hinge" or "logistic"
        the estimator is a classifier.
    step : float, default=0.2
        First step size eta, above 0; with the squared loss below ``1 / k(x, x)``.
    schedule : str or dict, default="constant"
        How the step changes, as in `BudgetedGradient`.
    regularization : float, default=0.0
        Lambda, 0 or more.
    budget : int, optional
        At most this many stored points: the oldest is removed, whose coefficient has decayed most.
        None: no limit.

    Returns
    -------
    model : KernelRegressor or KernelClassifier
        The estimator.

    References
    ----------
    J. Kivinen, A. Smola, R. Williamson, "Online learning with kernels", IEEE Transactions on Signal
    Processing, 2004, eqs. (8) to (12).
    """
    learner = BudgetedGradient(
        budget,
        "none" if budget is None else "oldest",
        loss,
        step,
        schedule,
        regularization,
    )
    return estimator_of(kernel, None, learner)


def rbp(
    kernel: Kernel | None = None, budget: int = 100, *, random_state: int = 0
) -> KernelClassifier:
    """Randomized budget perceptron (RBP): a mistake is stored and replaces a random point.

    One row costs O(m d) for m stored points of d features; memory is O(m d).

    Differences from the paper: a prediction of 0 is a mistake for either label; several classes are
    learned one against the rest on the same stored points.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    budget : int, default=100
        At most this many stored points, 1 or more.
    random_state : int, default=0
        Seed of the draws, 0 or more.

    Returns
    -------
    model : KernelClassifier
        The estimator.

    References
    ----------
    G. Cavallanti, N. Cesa-Bianchi, C. Gentile, "Tracking the best hyperplane with a simple budget
    perceptron", Machine Learning, 2007, Figure 3.
    """
    return KernelClassifier(
        kernel, learner=BudgetedPerceptron(budget, "random", random_state=random_state), scale=False
    )


def bpas(
    kernel: Kernel | None = None, budget: int = 100, aggressiveness: float = 1.0
) -> KernelClassifier:
    """Budgeted passive-aggressive learning with simple removal (BPA-S).

    A row with a margin below 1 is stored, as PA-I does; once the budget is exhausted that point is
    removed whose removal, compensated along the new point, minimizes the objective. One row costs
    O(m d) for m stored points of d features; memory is O(m d).

    Differences from the paper: the objective is summed over columns where there are several
    classes, and a margin within 1e-12 of 1 is no loss, so that rounding does not store a repeated
    row again.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    budget : int, default=100
        At most this many stored points, 1 or more.
    aggressiveness : float, default=1.0
        C, the upper bound of a coefficient when its point is stored, above 0.

    Returns
    -------
    model : KernelClassifier
        The estimator.

    References
    ----------
    Z. Wang, S. Vucetic, "Online passive-aggressive algorithms on a budget", AISTATS 2010,
    Algorithm 2 with V = {t}.
    """
    learner = BudgetedPassiveAggressive(budget, "cheapest", aggressiveness)
    return KernelClassifier(kernel, learner=learner, scale=False)


def projectron(
    kernel: Kernel | None = None,
    tolerance: float = 0.1,
    *,
    budget: int | None = None,
    margin: bool = False,
) -> KernelClassifier:
    """Projectron, and Projectron++ with `margin`: a perceptron that projects onto its points.

    A mistake is stored if its point is farther than `tolerance` from the span of the stored ones,
    and projected onto that span otherwise. One row costs O(m d) for m stored points of d features,
    and a mistake O(m^2) more; memory is O(m d + m^2).

    Differences from the paper: the span is represented by the Cholesky factor of its Gram matrix,
    which is accurate where the paper's recursive inverse loses all digits; distances are relative
    to ``sqrt(k(x, x))``, which is 1 for the Gaussian; a prediction of 0 is a mistake; with a budget
    all mistakes are projected once it is exhausted; several classes are learned one against the
    rest on the same stored points.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    tolerance : float, default=0.1
        Eta, in [0, 1). 0 stores every mistake that is not in the span to rounding.
    budget : int, optional
        At most this many stored points, 1 or more. None: limited by `tolerance` alone.
    margin : bool, default=False
        Projectron++: also learn from correct predictions with a margin below 1, by a projection,
        where its gain exceeds the projection error.

    Returns
    -------
    model : KernelClassifier
        The estimator.

    References
    ----------
    F. Orabona, J. Keshet, B. Caputo, "Bounded kernel-based online learning", Journal of Machine
    Learning Research, 2009, Figures 2 and 3.
    """
    learner = BudgetedPerceptron(budget, {"project": tolerance}, margin)
    return KernelClassifier(kernel, learner=learner, scale=False)


def bogd(
    kernel: Kernel | None = None,
    budget: int = 100,
    step: float = 0.2,
    *,
    loss: str | Mapping[str, float] = "hinge",
    regularization: float = 0.0,
    max_coefficient: float = 10.0,
    random_state: int = 0,
) -> KernelRegressor | KernelClassifier:
    """Bounded online gradient descent (BOGD): a random point is removed without bias.

    As `kogd`, but the removed point is drawn at random and the coefficients of the others are
    multiplied by ``budget / (budget - 1)``, so that the expected function is unchanged; then
    coefficients are clipped at ``max_coefficient * step``. One row costs O(m d) for m stored points
    of d features; memory is O(m d).

    Differences from the paper: any loss may be minimized, and coefficients are clipped in every
    round that stores a point, not only when one is removed, which is the same for gradients up to
    `max_coefficient`.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    budget : int, default=100
        At most this many stored points, 1 or more.
    step : float, default=0.2
        Step size eta, above 0.
    loss : str or {"huber": float}, default="hinge"
        Loss of a prediction, as in `BudgetedGradient`. With "hinge", "squared_hinge" or "logistic"
        the estimator is a classifier.
    regularization : float, default=0.0
        Lambda, 0 or more.
    max_coefficient : float, default=10.0
        Gamma, above 0.
    random_state : int, default=0
        Seed of the draws, 0 or more.

    Returns
    -------
    model : KernelClassifier or KernelRegressor
        The estimator.

    References
    ----------
    P. Zhao, J. Wang, P. Wu, R. Jin, S. Hoi, "Fast bounded online gradient descent algorithms for
    scalable kernel-based online learning", ICML 2012, Algorithm 1 with uniform sampling.
    """
    learner = BudgetedGradient(
        budget,
        "unbiased",
        loss,
        step,
        regularization=regularization,
        max_coefficient=max_coefficient,
        random_state=random_state,
    )
    return estimator_of(kernel, None, learner)
