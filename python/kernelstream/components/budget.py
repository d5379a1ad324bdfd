"""Budgeted learners: sums over stored points that can be removed.

Each takes the place of a basis and a learner: it decides which points are stored, and how their
coefficients follow the targets, ``f(x) = sum_i a_i k(s_i, x)``. A row that teaches nothing costs
the comparison with the stored points alone, so these are the cheapest learners here. They are of
first order, and what a removed point knew is lost; on most data `ALD` with as many points is
better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from kernelstream.components.learners import Learner

__all__ = [
    "BudgetedGradient",
    "BudgetedPassiveAggressive",
    "BudgetedPerceptron",
]


class BudgetLearner(Learner):
    """What learners share that choose the stored points themselves, so that there is no basis."""

    _weights_alike: ClassVar[bool] = False


@dataclass(eq=False)
class BudgetedPerceptron(BudgetLearner):
    """Kernel perceptron on a budget: a mistake stores its point, with its label as the coefficient.

    For labels -1 and 1, several columns of them for several classes; a point is stored if it was a
    mistake in any column. A prediction of 0 is a mistake. One row costs O(m d) for m stored points
    of d features, projections O(m^2) more for a row that teaches; memory is O(m d), or
    O(m d + m^2).

    Parameters
    ----------
    budget : int or None, default=100
        At most this many stored points, 1 or more. None: no limit, which random and other removals
        do not allow.
    removal : str or {"project": float}, default="random"
        What makes room. "random": a stored point leaves, each as likely (RBP); "unbiased" is the
        same with the coefficients of the others scaled up by ``budget / (budget - 1)``. "oldest":
        the point stored longest leaves. "cheapest": the point leaves that the new one replaces at
        least cost in norm. "none": nothing more is stored or learned. ``{"project": tolerance}``:
        no point leaves; one enters only if its distance to the span of the stored ones, as a share
        of ``sqrt(k(x, x))``, is above `tolerance`, in [0, 1) (Projectron; its square is what `ALD`
        calls tolerance), and the others are projected onto that span, as all are once the budget is
        used up.
    margin : bool, default=False
        Learn from right answers with a margin below 1 too, as far as the stored points span them
        (Projectron++). Needs ``{"project": tolerance}`` with a positive tolerance.
    random_state : int, default=0
        Seed of the draws, 0 or more: same seed and same stream, same model, in chunks of any size.

    References
    ----------
    G. Cavallanti, N. Cesa-Bianchi, C. Gentile, "Tracking the best hyperplane with a simple budget
    perceptron", Machine Learning, 2007 (RBP).
    F. Orabona, J. Keshet, B. Caputo, "Bounded kernel-based online learning", Journal of Machine
    Learning Research, 2009 (Projectron and Projectron++).
    """

    _type: ClassVar[str] = "budgeted_perceptron"
    _own_loss: ClassVar[str] = "perceptron"
    budget: int | None = 100
    removal: str | Mapping[str, float] = "random"
    margin: bool = False
    random_state: int = 0


@dataclass(eq=False)
class BudgetedPassiveAggressive(BudgetLearner):
    """Passive-aggressive learning on a budget: the least change that gives each row a margin of 1.

    For labels -1 and 1, several columns of them for several classes; a point is stored if its
    margin was below 1 in any column. One row costs O(m d) for m stored points of d features; memory
    is O(m d).

    Parameters
    ----------
    budget : int or None, default=100
        At most this many stored points, 1 or more. None: no limit, which removals do not allow.
    removal : str or {"project": float}, default="cheapest"
        What makes room; see `BudgetedPerceptron`. With "cheapest" this is BPA-S: that point leaves
        whose part in the function, projected onto the new point, loses least, the smallest
        ``a_r^2 (k_rr - k_rt^2 / k_tt)``, summed over columns; what the new point can stand in for
        is added to its coefficient.
    aggressiveness : float, default=1.0
        Most that a coefficient may be when its point enters, above 0 (the C of PA-I).
    random_state : int, default=0
        Seed of the draws of random removals, 0 or more.

    References
    ----------
    Z. Wang, S. Vucetic, "Online passive-aggressive algorithms on a budget", AISTATS 2010 (BPA-S).
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer, "Online passive-aggressive
    algorithms", Journal of Machine Learning Research, 2006 (PA-I).
    """

    _type: ClassVar[str] = "budgeted_passive_aggressive"
    _own_loss: ClassVar[str] = "hinge"
    budget: int | None = 100
    removal: str | Mapping[str, float] = "cheapest"
    aggressiveness: float = 1.0
    random_state: int = 0


@dataclass(eq=False)
class BudgetedGradient(BudgetLearner):
    """Functional gradient descent, with or without a budget, for regression and classification.

    Each row moves the function by
    ``f <- (1 - step_t regularization) f - step_t l'(f(x), y) k(x, .)``; rows whose slope is 0 in
    every column store nothing. One row costs O(m d) for m stored points of d features; memory is
    O(m d).

    Parameters
    ----------
    budget : int or None, default=100
        At most this many stored points, 1 or more. None: no limit, which removals do not allow.
    removal : str or {"project": float}, default="oldest"
        What makes room; see `BudgetedPerceptron`. "oldest" is the truncation of NORMA, "unbiased"
        the removal of BOGD.
    loss : str or {"huber": float}, default="squared"
        Loss of a prediction: "squared", "half_squared", "absolute", ``{"huber": 1.0}``, and for
        labels -1 and 1 "hinge", "squared_hinge" and "logistic"; as in `Gradient`.
    step : float, default=0.2
        First step size, above 0.
    schedule : {"constant", "inverse_sqrt"} or {"power": {...}}, default="constant"
        How the step changes with the round, as in `Gradient`; without "adaptive".
    regularization : float, default=0.0
        Decay of the function in every round, 0 or more.
    max_coefficient : float, optional
        Coefficients are kept within plus and minus ``max_coefficient * step``, above 0 (the gamma
        of BOGD). None: no limit.
    random_state : int, default=0
        Seed of the draws of random removals, 0 or more.

    References
    ----------
    J. Kivinen, A. Smola, R. Williamson, "Online learning with kernels", IEEE Transactions on Signal
    Processing, 2004 (KOGD, NORMA).
    P. Zhao, J. Wang, P. Wu, R. Jin, S. Hoi, "Fast bounded online gradient descent algorithms for
    scalable kernel-based online learning", ICML 2012 (BOGD).
    """

    _type: ClassVar[str] = "budgeted_gradient"
    _leading: ClassVar[str | None] = "step"
    budget: int | None = 100
    removal: str | Mapping[str, float] = "oldest"
    loss: str | Mapping[str, float] = "squared"
    step: float = 0.2
    schedule: str | Mapping[str, Any] = "constant"
    regularization: float = 0.0
    max_coefficient: float | None = None
    random_state: int = 0
