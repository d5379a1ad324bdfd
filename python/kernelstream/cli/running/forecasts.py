"""Forecasts of a run: horizons, errors, and columns of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernelstream.cli.running.trajectories import Piece
from kernelstream.forecasting import Forecaster
from kernelstream.koopman import Koopman, Skill
from kernelstream.koopman.queries import span_of
from kernelstream.koopman.skill import SkillSums, steps_of

__all__ = ["MOST_COLUMNS", "Judge", "Outlook", "steps_ahead"]

FloatArray = NDArray[np.float64]

_STEPS, _NUMBERS = 128, 5_000  # most steps, and numbers, that are forecast
MOST_COLUMNS = _NUMBERS // _STEPS  # of which this many steps are forecast
_JUDGED = 200  # states of a piece from which forecasts are scored


def steps_ahead(count: int, width: int) -> list[int]:
    """Choose the steps that are forecast: all, or closer together at first if they are many."""
    most = min(_STEPS, max(2, _NUMBERS // width))
    if count <= most:
        return list(range(1, count + 1))
    # The first steps of a geometric sequence coincide when rounded: each is at least one more.
    steps = np.arange(1, most + 1)
    for ratio in np.geomspace(1.0 + 1.0 / count, 2.0, 200):
        rounded = np.rint(ratio ** np.arange(most)).astype(np.int64)
        steps = np.maximum.accumulate(rounded - np.arange(most)) + np.arange(most)
        if steps[-1] >= count:
            break
    found: list[int] = [*steps[steps < count].tolist(), count]
    return found


@dataclass(frozen=True)
class Outlook:
    """The forecasts after the end of a trajectory.

    Attributes
    ----------
    states : ndarray of shape (n_steps, n_columns)
        The forecasts.
    intervals : ndarray of shape (n_steps, n_columns, 2)
        Their intervals, NaN where there is none.
    """

    states: FloatArray
    intervals: FloatArray

    @classmethod
    def of(cls, model: Forecaster, last: FloatArray, coverage: float) -> Outlook:
        """Forecast from the last states of a trajectory."""
        ends = model.forecast_interval(last, coverage)[:, -1]
        return cls(model.forecast(last)[:, -1], np.where(np.isfinite(ends), ends, np.nan))

    def columns(self) -> Iterator[FloatArray]:
        """Give forecast, lower and upper end of each column."""
        for j, forecast in enumerate(self.states.T):
            yield from (forecast, *self.intervals[:, j].T)


@dataclass(frozen=True)
class _Made:
    """Pending forecasts."""

    horizon: int
    first: int  # row of the trajectory that the first of them is about
    forecasts: FloatArray
    start: FloatArray
    observed: NDArray[np.bool_]  # where the start was not filled in, which would tell the target
    mean: FloatArray
    intervals: FloatArray | None


class Judge:
    """Scores forecasts of the pieces of trajectories, each issued before its piece is learned."""

    def __init__(self, steps: list[int], width: int, coverage: float | None) -> None:
        self._steps, self._coverage = steps, coverage
        self._sums = SkillSums(steps, width)
        self._inside = np.zeros(len(steps))
        self._waiting: list[_Made] = []
        self._row = 0

    def take(
        self,
        model: Koopman | Forecaster | None,
        tail: list[FloatArray],
        piece: Piece,
    ) -> None:
        """Forecast from the first states of a piece, and score forecasts whose target is known.

        Neither from states that were filled in nor of these.
        """
        states, continued = piece.states, piece.continued
        if not continued:
            self._waiting, self._row = [], 0
        if model is not None:
            back = model._mixtures().back if isinstance(model, Forecaster) else span_of(model)
            before = tail[-1][-back:] if continued and back else states[:0]
            mean = np.concatenate(tail).mean(axis=0)
            self._forecast(model, before, states[:_JUDGED], piece.observed[:_JUDGED], mean)
        self._judge(states, piece.observed)
        self._row += len(states)

    def _forecast(
        self,
        model: Koopman | Forecaster,
        before: FloatArray,
        states: FloatArray,
        observed: NDArray[np.bool_],
        mean: FloatArray,
    ) -> None:
        operator = model.operator_ if isinstance(model, Forecaster) else model
        span = model._mixtures().span if isinstance(model, Forecaster) else span_of(model)
        shown = np.concatenate([before, states])
        if len(shown) <= span:
            return
        rows = slice(max(len(before) - span, 0), None)
        start, ends = shown[span:][rows], None
        if isinstance(model, Forecaster) and self._coverage is not None:
            horizons = steps_of(model.horizons)
            wanted = [horizons.index(n) for n in self._steps]
            ahead = model.forecast(shown)[wanted]
            ends = model.forecast_interval(shown, self._coverage)[wanted]
        else:
            ahead = operator.predict(shown, self._steps)
        first = self._row + len(states) - len(start)
        observed = observed[len(states) - len(start) :]
        for k, n in enumerate(self._steps):
            own = None if ends is None else ends[k, rows]
            about = first + n * operator.lag
            self._waiting.append(_Made(k, about, ahead[k, rows], start, observed, mean, own))

    def _judge(self, states: FloatArray, observed: NDArray[np.bool_]) -> None:
        end, still = self._row + len(states), []
        for made in self._waiting:
            first = max(made.first, self._row)
            last = min(made.first + len(made.forecasts), end)
            if first < last:
                here = slice(first - self._row, last - self._row)
                known = np.arange(first, last) - made.first
                known = known[observed[here] & made.observed[known]]
                truth = states[known + made.first - self._row]
                self._sums.add(
                    made.horizon, made.forecasts[known], truth, made.start[known], made.mean
                )
                if made.intervals is not None:
                    low, high = np.moveaxis(made.intervals[known], -1, 0)
                    inside = np.mean((low <= truth) & (truth <= high), axis=1)
                    self._inside[made.horizon] += inside.sum()
            if made.first + len(made.forecasts) > end:
                still.append(made)
        self._waiting = still

    def skill(self) -> Skill | None:
        """Give the errors over the steps that could be scored; None if there are none."""
        return self._sums.skill(known_only=True) if self._sums.known.any() else None

    def inside(self) -> FloatArray | None:
        """Give the shares inside the intervals over the same steps; None without intervals."""
        if self._coverage is None:
            return None
        shares: FloatArray = (self._inside / np.maximum(self._sums.counts, 1))[self._sums.known]
        return shares
