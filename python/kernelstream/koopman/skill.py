"""Forecast errors beside those of the two trivial forecasts: persistence and climatology."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream.estimators.validation import whole_number
from kernelstream.koopman.forecasts import predict_rows
from kernelstream.koopman.queries import Operator, embedded, span_of, states_of
from kernelstream.koopman.trajectories import as_trajectories

__all__ = [
    "Forecasting",
    "Skill",
    "SkillSums",
    "prequential_skill",
    "prequential_skill_of",
    "skill",
    "skill_of",
    "steps_of",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Skill:
    """Root mean square errors of forecasts, by horizon and component.

    Attributes
    ----------
    n_steps : ndarray of int of shape (n_horizons,)
        Steps ahead.
    n_forecasts : ndarray of int of shape (n_horizons,)
        Number of forecasts.
    error : ndarray of shape (n_horizons, n_features)
        Errors of the model's forecasts, in the units of the states.
    persistence : ndarray of shape (n_horizons, n_features)
        Errors of persistence, the forecast that equals the current state.
    climatology : ndarray of shape (n_horizons, n_features)
        Errors of the mean.
    """

    n_steps: NDArray[np.int64]
    n_forecasts: NDArray[np.int64]
    error: FloatArray
    persistence: FloatArray
    climatology: FloatArray

    @property
    def over_persistence(self) -> FloatArray:
        """Share of the squared error of persistence that is saved, mean over the components."""
        return _saved(self.error, self.persistence)

    @property
    def over_climatology(self) -> FloatArray:
        """Share of the squared error of the mean that is saved, mean over the components."""
        return _saved(self.error, self.climatology)

    def __str__(self) -> str:
        """Give a table, a line for each horizon."""
        lines = [
            f"{'steps':>6} {'forecasts':>10} {'over persistence':>17} {'over climatology':>17}"
        ]
        rows = zip(
            self.n_steps,
            self.n_forecasts,
            self.over_persistence,
            self.over_climatology,
            strict=True,
        )
        lines += [f"{n:>6} {count:>10,} {a:>17.3f} {b:>17.3f}" for n, count, a, b in rows]
        return "\n".join(lines)


class SkillSums:
    """Squared errors, added up."""

    def __init__(self, n_steps: Sequence[int], n_features: int) -> None:
        self._steps = np.array(n_steps, dtype=np.int64)
        self._counts = np.zeros(len(self._steps), dtype=np.int64)
        self._sums = np.zeros((3, len(self._steps), n_features))

    def add(
        self,
        horizon: int,
        forecasts: FloatArray,
        truth: FloatArray,
        start: FloatArray,
        mean: FloatArray,
    ) -> None:
        """Judge forecasts.

        Parameters
        ----------
        horizon : int
            Index into `n_steps`.
        forecasts, truth, start : ndarray of shape (n, n_features)
            The forecasts, their targets, and the states from which they were issued.
        mean : ndarray of shape (n_features,)
            The forecast of climatology.
        """
        self._counts[horizon] += len(truth)
        for place, said in enumerate((forecasts, start, mean)):
            self._sums[place, horizon] += np.sum((said - truth) ** 2, axis=0)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of forecasts over each horizon."""
        return self._counts

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether there is a forecast over each horizon."""
        return self._counts > 0

    def skill(self, *, known_only: bool = False) -> Skill:
        """Give the errors so far.

        Parameters
        ----------
        known_only : bool, default=False
            Leave out horizons over which there is no forecast.

        Raises
        ------
        ValueError
            A horizon is longer than every trajectory.
        """
        known = self.known
        if not known.all() and not known_only:
            short = self._steps[~known].tolist()
            raise ValueError(
                f"no forecast {short} steps ahead could be judged: pass longer trajectories, or "
                "ask for fewer steps"
            )
        counts = self._counts[known]
        return Skill(self._steps[known], counts, *np.sqrt(self._sums[:, known] / counts[:, None]))


class Forecasting(Protocol):
    """What the skill of forecasts is computed from."""

    @property
    def steps(self) -> list[int]:
        """Steps ahead."""

    @property
    def lag(self) -> int:
        """States in a step."""

    @property
    def span(self) -> int:
        """Steps from the earliest delay of a state to it."""

    @property
    def back(self) -> int:
        """Earlier states that a forecast needs."""

    def forecast(self, past: FloatArray, steps: list[int]) -> FloatArray:
        """Forecast from successive states, but for the first `span` of them.

        Parameters
        ----------
        past : ndarray of shape (n, n_features)
            The states.
        steps : list of int
            How many steps ahead.
        """

    def learn(self, states: FloatArray, *, continued: bool) -> None:
        """Learn the next states of a trajectory.

        Parameters
        ----------
        states : ndarray of shape (n, n_features)
            The states.
        continued : bool
            Whether they follow those learned last.
        """

    @property
    def learned(self) -> bool:
        """Whether it can forecast."""


@dataclass(frozen=True)
class _Operator:
    """Forecasts by an operator, in the way that it has selected."""

    model: Any
    steps: list[int]
    lag: int
    span: int
    back: int

    def forecast(self, past: FloatArray, steps: list[int]) -> FloatArray:
        return predict_rows(self.model, embedded(self.model, past), steps, None)

    def learn(self, states: FloatArray, *, continued: bool) -> None:
        self.model.partial_fit_trajectory(states, continued=continued)

    @property
    def learned(self) -> bool:
        return bool(self.model.__sklearn_is_fitted__())


def _operator(model: Operator, n_steps: int | Sequence[int]) -> _Operator:
    span = span_of(model)
    return _Operator(model, steps_of(n_steps), whole_number("lag", model.lag), span, span)


def skill(
    model: Operator, T: ArrayLike | Sequence[ArrayLike], n_steps: int | Sequence[int] = 1
) -> Skill:
    """Compare forecasts of held-out trajectories with persistence and climatology.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    T : array-like of shape (n_times, n_features), or several
        Held-out trajectories, longer than the longest forecast.
    n_steps : int or sequence of int, default=1
        Steps (of `lag` states each) ahead.

    Returns
    -------
    skill : Skill
        Errors of the forecasts, of the state they start from (persistence) and of the mean of
        `T` (climatology, the best constant there is). ``print`` shows what is saved.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid (the message names it), a forecast is longer than every trajectory,
        or the operator has inputs.
    """
    return skill_of(
        _operator(model, n_steps), [states_of(model, one) for one in as_trajectories(T)]
    )


def skill_of(model: Forecasting, pieces: list[FloatArray]) -> Skill:
    """Compare forecasts of held-out trajectories with persistence and climatology.

    Raises
    ------
    ValueError
        A forecast is longer than every trajectory.
    """
    mean = np.concatenate(pieces).mean(axis=0)
    sums = SkillSums(model.steps, len(mean))
    for piece in pieces:
        reachable = [n for n in model.steps if n * model.lag + model.span < len(piece)]
        if not reachable:
            continue
        past = piece[: len(piece) - min(reachable) * model.lag]
        start = past[model.span :]
        forecasts = model.forecast(past, reachable)
        for n, forecast in zip(reachable, forecasts, strict=True):
            truth = piece[model.span + n * model.lag :]
            known = len(truth)
            sums.add(model.steps.index(n), forecast[:known], truth, start[:known], mean)
    return sums.skill()


def prequential_skill(
    model: Operator,
    T: ArrayLike | Sequence[ArrayLike],
    n_steps: int | Sequence[int] = 1,
    *,
    block: int | None = None,
) -> Skill:
    """Learn trajectories, each block of states after forecasts were issued from it.

    The errors that the model would have made in live use: no forecast uses anything later than
    the beginning of its block. Climatology is the mean of the states until then. Costs a
    spectrum for each block besides the learning.

    Parameters
    ----------
    model : Koopman
        The operator, without inputs; it is trained further, or from the beginning. The rows
        before its first forecast, one block of a new operator, are learned only.
    T : array-like of shape (n_times, n_features), or several
        Trajectories as in `Koopman.partial_fit_trajectory`.
    n_steps : int or sequence of int, default=1
        Steps (of `lag` states each) ahead.
    block : int, optional
        States in a block, more than the lag and the delays. None: a fiftieth of the longest
        trajectory.

    Returns
    -------
    skill : Skill
        The errors.

    Raises
    ------
    ValueError, TypeError
        A row is invalid (the message names it), or no forecast has a target.

    Examples
    --------
    >>> import kernelstream as ks
    >>> from kernelstream.koopman import prequential_skill
    >>> data = ks.datasets.ornstein_uhlenbeck(2_000, random_state=0)
    >>> model = ks.presets.recursive_koopman(ks.Gaussian(1.0), 1e-2)
    >>> skill = prequential_skill(model, data.trajectories[0], [1, 3])
    >>> bool((skill.over_persistence > 0.1).all() and (skill.over_climatology > 0.0).all())
    True
    """
    return prequential_skill_of(_operator(model, n_steps), T, block)


def prequential_skill_of(
    model: Forecasting, T: ArrayLike | Sequence[ArrayLike], block: int | None
) -> Skill:
    """Learn trajectories, each block of states after forecasts were issued from it.

    Raises
    ------
    ValueError, TypeError
        A row is invalid (the message names it), or no forecast has a target.
    """
    pieces = [np.asarray(piece, dtype=np.float64) for piece in as_trajectories(T)]
    least = model.lag + model.span + 1
    length = max(least, max(map(len, pieces)) // 50) if block is None else block
    length = whole_number("block", length, least)
    sums = SkillSums(model.steps, pieces[0].shape[1])
    with warnings.catch_warnings():
        # The blocks of a frame have no names.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        _learn_and_judge(model, pieces, length, sums, least=least)
    return sums.skill()


def _learn_and_judge(
    model: Forecasting, pieces: list[FloatArray], length: int, sums: SkillSums, *, least: int
) -> None:
    """Learn trajectories block by block, and judge the forecasts issued before each.

    The first block of a trajectory needs at least `least` states.
    """
    span, lag = model.span, model.lag
    total, count = np.zeros(pieces[0].shape[1]), 0
    for piece in pieces:
        for start in range(0, len(piece), length):
            part = piece[start : start + length]
            before = min(model.back, start)
            past = piece[start - before : start + length]
            if count and model.learned and len(past) > span:
                fresh = max(before - span, 0)  # rows of the block itself
                forecasts = model.forecast(past, model.steps)[:, fresh:]
                now = past[span + fresh :]
                first = start + len(part) - len(now)
                for i, n in enumerate(model.steps):
                    truth = piece[first + n * lag : first + n * lag + len(now)]
                    known = len(truth)
                    sums.add(i, forecasts[i, :known], truth, now[:known], total / count)
            if start or len(part) >= least:
                model.learn(part, continued=start > 0)
            total, count = total + part.sum(axis=0), count + len(part)


def steps_of(n_steps: int | Sequence[int], name: str = "n_steps") -> list[int]:
    """Check steps ahead.

    Raises
    ------
    ValueError, TypeError
        A number is not whole and positive.
    """
    return [whole_number(name, n) for n in np.atleast_1d(np.asarray(n_steps)).tolist()]


def _saved(error: FloatArray, trivial: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = 1.0 - (error / trivial) ** 2
    # a component that never changes is forecast by either
    means: FloatArray = np.mean(np.where(trivial > 0.0, shares, 0.0), axis=1)
    return means
