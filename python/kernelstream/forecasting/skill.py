"""Errors of the forecasts of a forecaster beside those of persistence and climatology."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream.koopman.skill import Skill, prequential_skill_of

if TYPE_CHECKING:
    from kernelstream.forecasting.estimator import Forecaster

__all__ = ["Mixtures", "prequential_skill"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Mixtures:
    """The forecasts of a forecaster."""

    model: Forecaster
    steps: list[int]
    lag: int
    span: int
    back: int

    def forecast(self, past: FloatArray, steps: list[int]) -> FloatArray:
        """Forecast from successive states.

        Parameters
        ----------
        past : ndarray of shape (n, n_features)
            The states.
        steps : list of int
            Horizons.

        Returns
        -------
        forecasts : ndarray of shape (n_steps, n - span, n_features)
            The forecasts.
        """
        return self.model._of_checked(past)[[self.steps.index(n) for n in steps]]

    def learn(self, states: FloatArray, *, continued: bool) -> None:
        """Learn states.

        Parameters
        ----------
        states : ndarray of shape (n, n_features)
            The states.
        continued : bool
            Whether they continue the trajectory.
        """
        self.model.partial_fit(states, continued=continued)

    @property
    def learned(self) -> bool:
        """Whether forecasts are possible yet."""
        return self.model.__sklearn_is_fitted__()


def prequential_skill(
    model: Forecaster, T: ArrayLike | Sequence[ArrayLike], *, block: int | None = None
) -> Skill:
    """Learn trajectories, each block of states after forecasts were issued from it.

    The errors that the model would have made in live use: no forecast uses anything later than
    the beginning of its block. Climatology is the mean of the states until then.

    Parameters
    ----------
    model : Forecaster
        The forecaster; it is trained further, or from the beginning. The rows before its first
        forecast, one block of a new forecaster, are learned only.
    T : array-like of shape (n_times, n_features), or several
        Trajectories.
    block : int, optional
        States in a block, more than the lag and the delays. None: a fiftieth of the longest
        trajectory.

    Returns
    -------
    skill : Skill
        The errors over each of the horizons.

    Raises
    ------
    ValueError, TypeError
        A row is invalid (the message names it), or no forecast has a target.

    Examples
    --------
    >>> import kernelstream as ks
    >>> from kernelstream.forecasting import prequential_skill
    >>> data = ks.datasets.ornstein_uhlenbeck(2_000, random_state=0)
    >>> skill = prequential_skill(ks.Forecaster([1, 3]), data.trajectories[0])
    >>> bool((skill.over_persistence > 0.0).all())
    True
    """
    return prequential_skill_of(model._mixtures(), T, block)
