"""Forecast errors beside those of the two trivial forecasts: persistence and climatology."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream.estimators.validation import whole_number
from kernelstream.koopman.trajectories import as_trajectories

if TYPE_CHECKING:
    from kernelstream.koopman.estimator import Koopman

__all__ = ["Skill", "SkillSums", "prequential_skill", "steps_of"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Skill:
    """Root mean square errors of forecasts, by horizon and component.

    Attributes
    ----------
    n_steps : ndarray of int of shape (n_horizons,)
        Steps ahead.
    n_forecasts : ndarray of int of shape (n_horizons,)
        Number of forecasts judged.
    error : ndarray of shape (n_horizons, n_features)
        Of the operator's forecasts, in the units of the states.
    persistence : ndarray of shape (n_horizons, n_features)
        Of the forecast that nothing changes.
    climatology : ndarray of shape (n_horizons, n_features)
        Of the mean.
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
    """Squared errors, added up.

    Parameters
    ----------
    n_steps : sequence of int
        Steps ahead.
    n_features : int
        Number of components of a state.
    """

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
            The forecasts, what came, and the states that they were made from.
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


def prequential_skill(
    model: Koopman,
    T: ArrayLike | Sequence[ArrayLike],
    n_steps: int | Sequence[int] | None = 1,
    *,
    block: int | None = None,
) -> Skill:
    """Learn trajectories, each block of states only after forecasts were made from it.

    The errors that the model would have made in live use: no forecast knows anything later than
    the beginning of its block. Climatology is the mean of the states until then. Costs a
    spectrum for each block besides the learning.

    Parameters
    ----------
    model : Koopman
        The operator, without inputs; it is trained further, or from the beginning. What comes
        before its first forecast, one block of a new operator, is learned only.
    T : array-like of shape (n_times, n_features), or several
        Trajectories as in `Koopman.partial_fit_trajectory`.
    n_steps : int or sequence of int, default=1
        Steps (of `lag` states each) ahead. None: the model's `horizons`, and what is judged are the
        mixed forecasts of `Koopman.forecast`.
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
        A row is invalid (the message names it), or no forecast could be judged.

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
    steps = steps_of(model, n_steps)
    lag = whole_number("lag", model.lag)
    pieces = [np.asarray(piece, dtype=np.float64) for piece in as_trajectories(T)]
    span, mixed = model._span(), n_steps is None
    back = max(span, (model.period or 1) - 1) if mixed else span
    least = lag + span + 1
    length = max(least, max(map(len, pieces)) // 50) if block is None else block
    length = whole_number("block", length, least)
    sums = SkillSums(steps, pieces[0].shape[1])
    total, count = np.zeros(pieces[0].shape[1]), 0
    for piece in pieces:
        for start in range(0, len(piece), length):
            part = piece[start : start + length]
            before = min(back, start)
            past = piece[start - before : start + length]
            if count and model.__sklearn_is_fitted__() and len(past) > span:
                forecasts = model.forecast(past) if mixed else model.predict(past, steps)
                fresh = max(before - span, 0)  # rows of the block itself
                forecasts, now = forecasts[:, fresh:], past[span + fresh :]
                first = start + len(part) - len(now)
                for i, n in enumerate(steps):
                    truth = piece[first + n * lag : first + n * lag + len(now)]
                    known = len(truth)
                    sums.add(i, forecasts[i, :known], truth, now[:known], total / count)
            if start or len(part) >= least:
                model.partial_fit_trajectory(part, continued=start > 0)
            total, count = total + part.sum(axis=0), count + len(part)
    return sums.skill()


def steps_of(model: Koopman, n_steps: int | Sequence[int] | None) -> list[int]:
    """Check steps ahead.

    Parameters
    ----------
    model : Koopman
        Whose `horizons` are meant where none are given.
    n_steps : int or sequence of int, or None
        Steps ahead; None: the model's horizons.

    Returns
    -------
    steps : list of int
        The same, as whole numbers above 0.

    Raises
    ------
    ValueError, TypeError
        A number is not whole and positive, or the model has no horizons.
    """
    name, given = ("n_steps", n_steps) if n_steps is not None else ("horizons", model.horizons)
    if given is None:
        raise ValueError("n_steps=None needs a model with horizons, such as [1, 6, 24]")
    return [whole_number(name, n) for n in np.atleast_1d(np.asarray(given)).tolist()]


def _saved(error: FloatArray, trivial: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = 1.0 - (error / trivial) ** 2
    # a component that never changes is forecast by either
    means: FloatArray = np.mean(np.where(trivial > 0.0, shares, 0.0), axis=1)
    return means
