"""Trajectories: rows with times, filled or split where time has a gap or a value is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelstream.columns.zones import Zoned, on_clocks
from kernelstream.koopman.calendars import KEPT, Calendar, find_calendar, periods_of_times
from kernelstream.koopman.filling import LONG, count_gaps, count_missing, insert_rows

__all__ = ["Cutter", "Piece", "Tail", "Times"]

FloatArray = NDArray[np.float64]
Times: TypeAlias = NDArray[Any] | pa.Array

# Differences within these multiples of the usual one are one step.
_SHORT, _LONG = 0.5, LONG
# The share of the range of times so far from which a step back is the beginning of another series:
# a clock that is set back, or rows that are not sorted, go back by less.
_RETURN = 0.5
_UNITS = {"d": 86_400.0, "h": 3_600.0, "min": 60.0, "s": 1.0}


@dataclass(frozen=True)
class Piece:
    """Successive states.

    Attributes
    ----------
    states : ndarray of shape (n, n_columns)
        The states, n at least 1.
    continued : bool
        Whether they continue the piece before.
    filled : ndarray of bool of shape (n,), or None
        Which of them were filled in; None: none.
    missing : int
        How many rows are missing between the piece before and this one; 0: not known.
    periods : tuple of int, or None
        The periods of the calendar of its times, in rows; None: not known.
    """

    states: FloatArray
    continued: bool
    filled: NDArray[np.bool_] | None = None
    missing: int = 0
    periods: tuple[int, ...] | None = None

    @property
    def observed(self) -> NDArray[np.bool_]:
        """Which states were not filled in."""
        return np.ones(len(self.states), dtype=bool) if self.filled is None else ~self.filled

    def split(self, size: int) -> Iterator[Piece]:
        """Give pieces of at most this many states."""
        for first in range(0, len(self.states), size):
            part = slice(first, first + size)
            filled = None if self.filled is None else self.filled[part]
            missing = 0 if first else self.missing
            continued = self.continued or first > 0
            yield Piece(self.states[part], continued, filled, missing, self.periods)


class Cutter:
    """Splits rows into trajectories.

    Parameters
    ----------
    kind : {"time", "number"}, optional
        Kind of the times; None: there are none, and rows follow one another.
    fill : int, default=0
        Gaps of at most this many rows are filled, on a line between the rows before and after,
        while at most one row in five is.

    Attributes
    ----------
    step : float or None
        Time between two rows, the median of the first ones, in `unit`; None: not known yet.
    unit : str
        Unit of time.
    n_trajectories, n_gaps, n_returns, n_setbacks, n_incomplete, n_filled : int
        How many trajectories there were, how many ended at a gap in time, after how many of these
        gaps times began again (they returned over at least half of the range so far), after how
        many they went back by less, how many rows had missing values, and how many were filled in.
    last_time : float, or datetime64 in microseconds, or None
        Time of the last complete row, of instants in UTC.
    zone : str
        Time zone or offset of that row; empty for none.
    """

    def __init__(self, kind: str | None, fill: int = 0) -> None:
        self._kind = kind
        self._fill = fill
        self.step: float | None = None if kind else 1.0
        self.unit = "" if kind else "rows"
        self.n_trajectories = self.n_gaps = self.n_returns = self.n_setbacks = 0
        self.n_incomplete = self.n_filled = 0
        self.last_time: float | np.datetime64 | None = None
        self.zone = ""
        # The same on its own clock, and whether steps are those of this clock.
        self._last_clock: np.datetime64 | None = None
        self._on_clocks = False
        self._seconds = 1.0
        self._calendar: Calendar | None = None
        # The last instants of the file, and the same on their clocks.
        self._recent: tuple[NDArray[Any], NDArray[Any]] | None = None
        self._open = False
        self._last: float | None = None
        self._range: tuple[float, float] | None = None
        # The last complete row, and incomplete ones since then.
        self._before: FloatArray | None = None
        self._incomplete = 0
        self._complete = 0

    def end(self) -> None:
        """End the trajectory, as at the end of a file."""
        self._open, self._last, self._before, self._incomplete = False, None, None, 0
        self._range = self._recent = None

    def cut(
        self, states: FloatArray, times: NDArray[Any] | None, zoned: Zoned | None = None
    ) -> Iterator[Piece]:
        """Cut rows.

        Parameters
        ----------
        states : ndarray of shape (n, n_columns)
            Successive rows, NaN where a value is missing.
        times : ndarray of shape (n,), optional
            Their times, of instants in UTC.
        zoned : Zoned, optional
            Zones or offsets of instants. None: there are none.

        Raises
        ------
        ValueError
            The times are not evenly spaced, so that there is no step.
        """
        whole = np.asarray(np.isfinite(states).all(axis=1))
        clock, clocks = None, times if zoned is None else zoned.clocks
        if times is not None and clocks is not None:
            if self._kind == "time" and self.step is None:
                self._find_calendar(times, clocks)
            clock = self._clock(clocks if self._on_clocks else times)
            whole &= np.isfinite(clock)
        periods = None
        if self._kind == "time" and times is not None and clocks is not None:
            periods = self._periods(times, clocks)
        rows = np.flatnonzero(whole)
        # Incomplete rows between each complete one and the one before it.
        between = np.diff(rows, prepend=-1) - 1
        between[:1] += self._incomplete
        self.n_incomplete += int(np.count_nonzero(~whole))
        if not len(rows):
            self._incomplete += len(states)
            return
        self._incomplete = int(len(states) - 1 - rows[-1])
        steps = between + 1.0 if clock is None else self._steps(clock[rows])
        returned = np.zeros(len(rows), dtype=bool)
        if clock is not None and times is not None and clocks is not None:
            returned = self._find_returns(clock[rows])
            last = times[rows[-1]]
            self.last_time = last if isinstance(last, np.datetime64) else float(last)
            self.zone = "" if zoned is None else zoned.zone(int(rows[-1]))
            if isinstance(last, np.datetime64):
                self._last_clock = clocks[rows[-1]]
            self._last = float(clock[rows[-1]])
        absent = self._absent(steps)
        breaks = (steps < _SHORT) | (steps > _LONG)
        cuts = (breaks | (between > 0)) & (absent == 0)
        ended = breaks & cuts & (between == 0)
        ended[0] &= self._open
        self.n_gaps += int(np.count_nonzero(ended))
        self.n_returns += int(np.count_nonzero(ended & returned))
        self.n_setbacks += int(np.count_nonzero(ended & ~returned & (steps < 0.0)))
        complete = states[rows]
        states, filled = insert_rows(complete, absent, self._before)
        self._before = complete[-1]
        starts = (np.cumsum(absent + 1) - 1)[cuts]
        missing = dict(zip(starts.tolist(), count_gaps(steps)[cuts].tolist(), strict=True))
        was_open = self._open
        for part in np.split(np.arange(len(states)), starts):
            if not len(part):
                continue
            self._open = self._open and part[0] not in starts
            self.n_trajectories += not self._open
            before = missing.get(int(part[0]), 0) if part[0] or was_open else 0
            yield Piece(states[part], self._open, filled[part], before, periods)
            self._open = True

    def _absent(self, steps: FloatArray) -> NDArray[np.int64]:
        """Give the number of rows to be filled in before each."""
        if not self._open:
            steps = np.append(np.nan, steps[1:])
        absent = count_missing(steps, self._fill, n_complete=self._complete, n_filled=self.n_filled)
        self._complete += len(steps)
        self.n_filled += int(absent.sum())
        return absent

    def _periods(self, times: NDArray[Any], clocks: NDArray[Any]) -> tuple[int, ...] | None:
        """Give the periods of the calendar of these times and the last ones before."""
        known = ~np.isnat(times)
        both = (times[known].astype("datetime64[us]"), clocks[known].astype("datetime64[us]"))
        if self._recent is not None:
            instants, on_clocks = map(np.concatenate, zip(self._recent, both, strict=True))
            both = instants, on_clocks
        self._recent = both[0][-KEPT:], both[1][-KEPT:]
        return periods_of_times(*both)

    def _find_calendar(self, times: NDArray[Any], clocks: NDArray[Any]) -> None:
        """Find whether the first times are those of a calendar, or of whole days on their clocks.

        A day on which clocks are changed does not have 24 hours.
        """
        known = clocks[~np.isnat(times)]
        if self._last_clock is not None:
            known = np.append(self._last_clock, known)
        self._calendar = find_calendar(known)
        self._on_clocks = self._calendar is not None or _are_daily(known)
        if self._on_clocks and self._last is not None:
            self._last = float(self._clock(known[:1])[0])
            self._range = self._last, self._last

    def _clock(self, times: NDArray[Any]) -> FloatArray:
        """Give times in seconds or units of the calendar, or as they are if they are numbers."""
        if self._calendar is not None:
            return self._calendar.position(times)
        return _numbers(times)

    def _steps(self, clock: FloatArray) -> FloatArray:
        """Give the time from the complete row before each, in steps; 1 where it is not known."""
        before = clock[:1] if self._last is None else np.array([self._last])
        steps = np.diff(np.concatenate([before, clock]))
        known = steps if self._last is not None else steps[1:]
        if self.step is None and len(known):
            self._find_step(known)
        if self.step is None:
            return np.ones(len(clock))
        steps /= self.step * self._seconds
        if self._last is None:
            steps[0] = 1.0
        return steps

    def _find_returns(self, clock: FloatArray) -> NDArray[np.bool_]:
        """Tell where times return over a large part of their range, as another series begins."""
        low, high = self._range or (clock[0], clock[0])
        lows = np.minimum.accumulate(np.append(low, clock))
        highs = np.maximum.accumulate(np.append(high, clock))
        spans = (highs - lows)[:-1]
        back = -np.diff(clock, prepend=clock[0] if self._last is None else self._last)
        self._range = float(lows[-1]), float(highs[-1])
        return np.asarray((back > 0.0) & (back >= _RETURN * spans) & (spans > 0.0))

    def _find_step(self, steps: FloatArray) -> None:
        forward = steps[steps > 0.0]
        if not len(forward):
            raise ValueError("the times do not increase: sort the rows, or name another column")
        usual = float(np.median(forward))
        near = np.count_nonzero((forward > _SHORT * usual) & (forward < _LONG * usual))
        if 2 * near < len(steps):
            raise ValueError(
                f"the times are not evenly spaced: less than half of the first {len(steps):,} "
                f"differences are near their median; resample the rows first"
            )
        if self._calendar is not None:
            self.unit = self._calendar.unit
        elif self._kind == "time":
            found = (item for item in _UNITS.items() if usual >= item[1])
            self.unit, self._seconds = next(found, ("s", 1.0))
        self.step = usual / self._seconds

    def after(self, count: int) -> Times | None:
        """Give the times of the rows that would follow, in the zone of the last one."""
        if self.last_time is None or self.step is None:
            return None
        if self._calendar is not None and self._last_clock is not None:
            days = self._calendar.after(self._last_clock, self.step, count)
            return self._zoned(days)
        ahead: NDArray[Any] = np.arange(1, count + 1) * (self.step * self._seconds)
        if self._last_clock is None:
            return np.asarray(self.last_time + ahead)
        ahead = np.rint(ahead * 1e6).astype("timedelta64[us]")
        return self._zoned((self._last_clock if self._on_clocks else self.last_time) + ahead)

    def _zoned(self, times: NDArray[Any]) -> Times:
        """Give times, instants or on clocks, the zone or offset of the last row."""
        if not self.zone:
            return times
        if self._on_clocks:
            return on_clocks(times, self.zone)
        return pa.array(times.astype("datetime64[us]"), pa.timestamp("us", self.zone))


class Tail:
    """The last states, kept as trajectories."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[list[FloatArray]] = []
        self._count = 0

    def add(self, piece: Piece) -> None:
        """Add states, and drop the oldest."""
        if piece.continued and self._parts:
            self._parts[-1].append(piece.states)
        else:
            self._parts.append([piece.states])
        self._count += len(piece.states)
        while self._count - len(self._parts[0][0]) >= self._most:
            self._count -= len(self._parts[0].pop(0))
            if not self._parts[0]:
                self._parts.pop(0)

    @property
    def trajectories(self) -> list[FloatArray]:
        """The states, in order of time."""
        return [np.concatenate(parts)[-self._most :] for parts in self._parts]


def _are_daily(clocks: NDArray[Any]) -> bool:
    """Tell whether times are of different days, all at the same time of the day."""
    days = clocks.astype("datetime64[D]")
    of_day = clocks.astype("datetime64[us]") - days
    return len(days) > 1 and bool((of_day == of_day[0]).all() and (days[1:] != days[:-1]).all())


def _numbers(times: NDArray[Any]) -> FloatArray:
    """Give times in seconds, or as they are if they are numbers; NaN where one is missing."""
    if times.dtype.kind != "M":
        return times.astype(np.float64)
    seconds = times.astype("datetime64[us]").astype(np.int64) / 1e6
    return np.where(np.isnat(times), np.nan, seconds)
