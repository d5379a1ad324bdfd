"""Learners: how the weights of the coordinates follow the targets.

Each is a linear method on the coordinates that a basis gives; several targets cost one more column
of weights each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Self

from kernelstream.components.base import Component

__all__ = ["GaussNewton", "Gradient", "Interpolation", "OnlineNewton", "Ridge", "Staged"]


class Learner(Component):
    """What all learners share."""

    _part: ClassVar[str] = "learner"
    # The loss of learners that have no parameter for it.
    _own_loss: ClassVar[str] = "squared"
    # Whether without forgetting all rows have the same weight, the first as well as the latest.
    _weights_alike: ClassVar[bool] = True

    @property
    def _forgets(self) -> bool:
        """Whether earlier rows lose weight, so that rows are for the order of time."""
        return bool(getattr(self, "forgetting", 1.0) < 1.0)

    def loss_in_use(self) -> Any:
        """Give the loss that this learner minimizes, whether or not that is a parameter."""
        return getattr(self, "loss", self._own_loss)

    def with_loss(self, loss: str | Mapping[str, float]) -> Learner:
        """Give this learner with another loss.

        Parameters
        ----------
        loss : str or {"huber": float}
            The loss, as `Gradient` names it.

        Returns
        -------
        learner : Learner
            A copy; this one if it has that loss and no other.

        Raises
        ------
        ValueError
            There is no such loss, or this learner cannot have it.
        """
        if self.can_have(loss):
            return self._having(loss)
        able = [kind.__name__ for kind in self.kinds().values() if kind().can_have(loss)]
        if not able:
            Gradient()._having(loss)  # whose error names the losses there are
        raise ValueError(
            f"{type(self).__name__} cannot have loss={loss!r}; these learners can: "
            f"{', '.join(able)}"
        )

    def can_have(self, loss: str | Mapping[str, float]) -> bool:
        """Give whether this learner can minimize a loss.

        Parameters
        ----------
        loss : str or {"huber": float}
            The loss, as `Gradient` names it.

        Returns
        -------
        able : bool
            Whether it can.
        """
        try:
            return bool(self._having(loss).loss_in_use() == loss)
        except ValueError:
            return False

    def _having(self, loss: str | Mapping[str, float]) -> Learner:
        own = any(field.name == "loss" for field in fields(self))
        return replace(self, loss=loss) if own else self

    def unclipped(self) -> Learner:
        """Give this learner without the limits that targets seen so far put on predictions."""
        return self


@dataclass(eq=False)
class Ridge(Learner):
    """Recursive least squares with a ridge: after every row, the exact minimum of its loss.

    The loss is ``sum_t (w z_t - y_t)^2 + regularization |w|^2`` over the rows seen, in the
    coordinates stored at the time. The default choice: second order, no step size.

    Parameters
    ----------
    regularization : float or "evidence", default=1e-2
        Weight of the squared norm, 0 or more; 0 is the limit of Engel's KRLS. "evidence", for
        `KernelRegressor` and `KernelClassifier`: chosen in the warm-up, together with the bandwidth
        of a kernel that is given without one, by the largest marginal likelihood of a Gaussian
        process, as scikit-learn's chooses its kernel; see the Notes.
    forgetting : float, default=1.0
        Factor in (0, 1] on the weight of all past rows at each new one. 1: no forgetting;
        0.99 remembers about 100 rows, for a relation that drifts.
    center : bool, default=True
        Add an intercept, which is not penalized: the loss is that of ``w z_t + b - y_t``, at its
        exact minimum in ``b`` as well, also where rows come in order.
    clip : bool, default=True
        Keep predictions within the range of targets seen so far.
    prediction : {"ridge", "awv"}, default="ridge"
        "awv" shrinks each prediction by the leverage of its point, as the forecaster of Vovk,
        Azoury and Warmuth does, which has the best worst-case regret.
    history : {"none", "reservoir", "exact"}, default="none"
        What is known of past rows when a point is stored. "none": their new coordinate counts as
        0, right where past rows are dissimilar to the new point. "exact": all rows are kept, and
        each new point costs time in proportion to their number. "reservoir": the new coordinate of
        `reservoir` past rows is known, that of the others is guessed from them by regression. A row
        that is stored is then predicted, when it is learned, with what they say about it, which
        ``predict`` cannot use. Models that hold rows also merge better.
    reservoir : int, default=500
        Rows held for that, 1 or more: they cost ``reservoir * (d + m)`` memory, and
        ``reservoir * m^2`` operations when a point is stored.
    random_state : int, default=0
        Seed of which rows are held.

    Notes
    -----
    With "evidence" rows 8, 16, 32, ... and the last of the warm-up choose among 81 regularizations
    from 1e-8 to 100 and, for ``Gaussian()`` and other kernels of one bandwidth that is None, 13
    bandwidths from an eighth to eight times the default: the largest sum over targets of the
    logarithm of ``N(y; mean, noise^2 (K / regularization + I))``, each at the noise that makes it
    largest. At most 256 rows of the warm-up decide, evenly spaced; they are then learned again.
    ``regularization_`` and ``kernel_`` of the fitted model are what was chosen. A dictionary
    loses detail below its tolerance: choose one below the regularization, such as ``ALD(1e-5)``.
    Later rows may support a shorter bandwidth than those of the warm-up, which `KernelExperts`
    selects again. Rows count as exchangeable: where a column rises with them, such as a row number,
    the chosen bandwidth may be too short to extrapolate; leave that column out.

    References
    ----------
    Y. Engel, S. Mannor, R. Meir, "The kernel recursive least-squares algorithm", IEEE Transactions
    on Signal Processing, 2004.
    R. Jezequel, P. Gaillard, A. Rudi, "Efficient online learning with kernels for adversarial large
    scale problems", NeurIPS 2019.
    """

    _type: ClassVar[str] = "ridge"
    regularization: float | Literal["evidence"] = 1e-2
    forgetting: float = 1.0
    center: bool = True
    clip: bool = True
    prediction: Literal["ridge", "awv"] = "ridge"
    history: Literal["none", "reservoir", "exact"] = "none"
    reservoir: int = 500
    random_state: int = 0

    def unclipped(self) -> Learner:
        """Give this learner without the limits that targets seen so far put on predictions."""
        return replace(self, clip=False)

    def _check(self) -> None:
        if self.regularization == "evidence":
            replace(self, regularization=Ridge.regularization)  # whose errors are about the rest
        elif isinstance(self.regularization, str):
            raise ValueError(
                f'regularization must be a number or "evidence", got {self.regularization!r}'
            )
        else:
            super()._check()


@dataclass(eq=False)
class Gradient(Learner):
    """Online gradient descent: the cheapest step, linear in the number of coordinates.

    Parameters
    ----------
    loss : str or {"huber": float}, default="squared"
        Loss of a prediction f. For any target: "squared"; "half_squared", which has half its slope,
        for steps counted as in papers on least mean squares; "absolute"; ``{"huber": 1.0}``,
        quadratic within 1.0 of the target (in its units), linear beyond. For labels y of 1 and -1:
        "hinge", ``max(0, 1 - y f)``; "squared_hinge", its square; "logistic",
        ``log(1 + exp(-y f))``.
    step : float, optional, default=0.1
        Step size, above 0. None: 0.1. Not used by the "adaptive" schedule.
    schedule : {"constant", "inverse_sqrt", "adaptive"} or {"power": {...}}, default="constant"
        How the step changes with the round t. "inverse_sqrt": ``step / sqrt(t)``.
        ``{"power": {"half_life": t0, "exponent": a}}``: ``step / (1 + (t - 1) / t0)^a``.
        "adaptive": ``radius / sqrt(1 + sum of squared gradient norms)``, the step of AOGD.
    radius : float, optional
        The weights are kept in a ball of this radius, above 0. None: no ball; for "adaptive", twice
        the largest absolute target seen so far.
    regularization : float, default=0.0
        Weight decay, 0 or more.
    averaging : bool, default=False
        Predict with the mean of the weights of all rounds.

    References
    ----------
    J. Li, S. Liao, "Nearly optimal algorithms with sublinear computational complexity for online
    kernel regression", ICML 2023 (AOGD-ALD, the source of the "adaptive" schedule).
    """

    _type: ClassVar[str] = "gradient"
    _weights_alike: ClassVar[bool] = False
    _leading: ClassVar[str | None] = "step"
    loss: str | Mapping[str, float] = "squared"
    step: float | None = 0.1
    schedule: str | Mapping[str, Any] = "constant"
    radius: float | None = None
    regularization: float = 0.0
    averaging: bool = False


@dataclass(eq=False)
class GaussNewton(Learner):
    """Newton steps on the loss's own second derivative: the default for labels.

    Steps are implicit: a row moves the weights to the minimum of its loss and of
    ``(w - w0)^T A (w - w0) / 2``, past which no weight of a row carries them however small the
    regularization is; then ``A <- A + h z z^T`` with the curvature h of the loss there. O(m^2) a
    row. Where `OnlineNewton` takes the squared slope for the curvature, far too much where the loss
    is steep, this takes the loss's own (of the logistic loss and Huber's, which flatten, the mean
    over as far back as the margin is uncertain). With the squared loss it is ridge regression with
    half the regularization.

    Several outputs share one matrix A, which grows by the largest of their curvatures.

    Parameters
    ----------
    regularization : float, default=1e-2
        Starting value of the diagonal of A, above 0. With a loss of labels less than 1e-4 means
        1e-4: a prior deviation of the log-odds of 100 for a kernel whose similarity is 1.
    loss : str or {"huber": float}, default="squared_hinge"
        One that is curved: "squared_hinge" or "logistic" for labels of 1 and -1; "squared",
        "half_squared" or ``{"huber": 1.0}`` for any target. See `Gradient`.
    forgetting : float, default=1.0
        Factor in [0.01, 1] on the weight of all past rows at each new one, for labels that drift.
    center : bool, default=False
        Fit the deviations from a constant, which is then what is predicted far from all stored
        points: of the squared losses the intercept of `Ridge`, of others the best constant
        prediction so far, the mean target (of the logistic loss, its log-odds, so that targets must
        lie in [-1, 1]), which is not the exact minimum.
        Little is gained by it where the kernel is wide enough.
    """

    _type: ClassVar[str] = "gauss_newton"
    regularization: float = 1e-2
    loss: str | Mapping[str, float] = "squared_hinge"
    forgetting: float = 1.0
    center: bool = False


@dataclass(eq=False)
class Interpolation(Learner):
    """Meet every row exactly, by the coordinate that it adds: with `NoisyPoints` only.

    That is the mean of a Gaussian process, or kernel ridge regression with the points' noise as
    regularization, on all stored rows: no weight ever changes once it is there, and a row costs
    what its coordinates do, ``m^2``. `Ridge` on `AllPoints` is the same for four times the work,
    and knows deviations. Once there is room for no more points, further rows change nothing.

    Parameters
    ----------
    center : bool, default=True
        Add an intercept, which is not penalized and is what is predicted far from all stored
        points.
    tolerance : float, default=0.0
        With ``NoisyPoints(loss_driven=True)``, rows that are predicted within this of their target
        are not stored; 0 or more, in units of the targets. For labels, whose targets are 1 and -1,
        0.3 leaves out two thirds and makes as few mistakes.

    Notes
    -----
    Every row is met exactly, so weights have no use: `KernelRegressor` refuses a `sample_weight`
    other than 0 and 1.
    """

    _type: ClassVar[str] = "interpolation"
    center: bool = True
    tolerance: float = 0.0


@dataclass(eq=False)
class OnlineNewton(Learner):
    """Online Newton step: a second-order step from gradients alone.

    Parameters
    ----------
    regularization : float, default=1.0
        Starting value mu of the diagonal of the second-order matrix, above 0. With a curved loss
        of labels less than 1e-4 means 1e-4.
    bound : float, optional
        Predictions are kept within plus and minus this, above 0. None: the largest absolute target
        seen so far.
    target_bound : float, optional
        Largest absolute target to expect, above 0. None: the largest seen so far.
    curvature : float, optional
        Weight of a squared gradient in the second-order matrix, above 0.
        None: ``1 / (4 (bound^2 + target_bound^2))``, and 1/2 for losses of labels.
    growth : {"carry", "restart", "carry_unprojected"}, default="carry"
        When a point is stored: keep what was learned (NONS-ALD), restart (PROS-N-KONS), or keep
        it without moving it to the bound in that row (CON-KONS).
    loss : str or {"huber": float}, default="squared"
        Loss of a prediction; see `Gradient`. For a curved loss of labels `GaussNewton` learns
        faster; here steps are implicit too, and a row counts at most as much as all before it do
        along its coordinates.
    clip : bool, default=True
        False: `bound` does not limit predictions. `KernelClassifier` clips only where `bound` is
        given, since clipped predictions of several classes tie.
    sketch : float, default=1.0
        The share of rows whose curvature counts, 1 / sketch times, in (0, 1] (Sketched-KONS). Which
        ones is drawn.
    random_state : int, default=0
        Seed of that.

    References
    ----------
    J. Li, S. Liao, "Nearly optimal algorithms with sublinear computational complexity for online
    kernel regression", ICML 2023 (NONS-ALD).
    D. Calandriello, A. Lazaric, M. Valko, "Efficient second-order online kernel learning with
    adaptive embedding", NeurIPS 2017 (PROS-N-KONS, CON-KONS).
    D. Calandriello, A. Lazaric, M. Valko, "Second-order kernel online convex optimization with
    adaptive sketching", ICML 2017 (KONS, Sketched-KONS).
    """

    _type: ClassVar[str] = "online_newton"
    regularization: float = 1.0
    bound: float | None = None
    target_bound: float | None = None
    curvature: float | None = None
    growth: Literal["carry", "restart", "carry_unprojected"] = "carry"
    loss: str | Mapping[str, float] = "squared"
    clip: bool = True
    sketch: float = 1.0
    random_state: int = 0

    def unclipped(self) -> Learner:
        """Give this learner without the limits that targets seen so far put on predictions."""
        return replace(self, clip=False) if self.bound is None else self


def _shrinking_descent() -> Learner:
    return Gradient("hinge", 0.2, regularization=0.01)


def _newton_of_labels() -> Learner:
    return OnlineNewton(0.01, curvature=0.5, loss="hinge", clip=False)


@dataclass(eq=False)
class Staged(Learner):
    """One learner until the basis replaces its coordinates, another one from then on.

    For bases of two stages, such as `Sketched`. The second learner starts untrained.

    Parameters
    ----------
    first : Learner, default=Gradient("hinge", 0.2, regularization=0.01)
        The learner of stage one.
    then : Learner, default=OnlineNewton(0.01, curvature=0.5, loss="hinge", clip=False)
        The learner of stage two.
    """

    _type: ClassVar[str] = "staged"
    _weights_alike: ClassVar[bool] = False
    _own_loss: ClassVar[str] = "hinge"
    first: Learner = field(default_factory=_shrinking_descent)
    then: Learner = field(default_factory=_newton_of_labels)

    def __post_init__(self) -> None:
        for name, stage in (("first", self.first), ("then", self.then)):
            if not isinstance(stage, Learner):
                raise TypeError(f"Staged: {name} must be a learner, got {stage!r}")
        super().__post_init__()

    @property
    def _forgets(self) -> bool:
        return self.first._forgets or self.then._forgets

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Self:
        return cls(*(Learner.from_spec(values[name]) for name in ("first", "then")))
