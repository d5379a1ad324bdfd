"""Times of states: trajectories with an index of times, split at gaps or filled, across calls."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream.estimators.advice import advise
from kernelstream.koopman.calendars import KEPT, find_calendar, periods_of_times
from kernelstream.koopman.filling import (
    LONG,
    count_gaps,
    count_missing,
    insert_rows,
    usual_step,
)

__all__ = ["Given", "LastTimes", "Reading", "last_times", "read_times", "state_of_times"]

FloatArray = NDArray[np.float64]
Counts = NDArray[np.int64]
Times = NDArray[np.datetime64]

# Splits, and share of the rows that are missing there, from which a warning is issued.
_SPLITS, _MISSING = 10, 0.05
# Steps within these multiples of the usual one are even.
_EVEN = 0.5, LONG


@dataclass(frozen=True)
class Given:
    """A trajectory as given, up to a gap that is not filled.

    Attributes
    ----------
    rows : object
        Its rows.
    missing : ndarray of int of shape (n,), or None
        How many rows are to be filled in before each; None: none.
    gap : int
        How many rows are missing between the trajectory before and this one; 0: not known.
    """

    rows: Any
    missing: Counts | None = None
    gap: int = 0

    def places(self) -> Counts:
        """Give the number of each row among those filled in."""
        missing = np.zeros(len(self.rows), np.int64) if self.missing is None else self.missing
        return np.cumsum(missing + 1) - 1

    def fill(self, states: FloatArray, before: FloatArray | None = None) -> FloatArray:
        """Give states, or what belongs to them, with missing rows filled in."""
        if self.missing is None or not self.missing.any():
            return states
        return insert_rows(states, self.missing, before)[0]


@dataclass(frozen=True)
class LastTimes:
    """The last times that were learned, and the state of the last.

    Attributes
    ----------
    n_learned : int
        Number of states and pairs that the model had learned then: if it has learned others since,
        as in an interrupted call, these times are not its last ones.
    instants, clocks : ndarray of datetime64
        The last times, and the same by the clocks of their zone.
    zoned : bool
        Whether they have a zone.
    row : ndarray of shape (n_features + n_inputs,)
        The last state, with its inputs.
    n_complete, n_filled : int
        How many rows were learned, and how many filled in.
    """

    n_learned: int
    instants: Times
    clocks: Times
    zoned: bool
    row: FloatArray
    n_complete: int
    n_filled: int

    def to_state(self) -> dict[str, Any]:
        """Describe them by JSON values."""
        return {
            "n_learned": self.n_learned,
            "instants": self.instants.astype(np.int64).tolist(),
            "clocks": self.clocks.astype(np.int64).tolist() if self.zoned else None,
            "row": self.row.tolist(),
            "n_complete": self.n_complete,
            "n_filled": self.n_filled,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any] | None, core: Any) -> LastTimes | None:
        """Read what `to_state` describes; None if there is nothing.

        Raises
        ------
        ValueError, TypeError, KeyError, OverflowError
            It is something else.
        """
        if state is None:
            return None
        zoned = state["clocks"] is not None
        instants = _microseconds(np.array(state["instants"], dtype=np.int64))
        clocks = _microseconds(np.array(state["clocks"], dtype=np.int64)) if zoned else instants
        row = np.array(state["row"], dtype=np.float64)
        increase = (
            instants.ndim == 1 and len(instants) and (np.diff(instants).astype(int) > 0).all()
        )
        if (
            not increase
            or clocks.shape != instants.shape
            or row.shape != ((core.n_features or 0) + core.n_inputs,)
        ):
            raise ValueError("the last times do not increase, or are not those of a state")
        counts = [int(state[name]) for name in ("n_learned", "n_complete", "n_filled")]
        return cls(counts[0], instants, clocks, zoned, row, *counts[1:])


@dataclass
class _Read:
    """What was read of one frame."""

    given: list[Given]
    n_missing: int = 0
    begins: bool = False
    even: bool = True
    instants: Times | None = None
    clocks: Times | None = None
    zoned: bool = False
    n_complete: int = 0
    n_filled: int = 0
    periods: tuple[int, ...] | None = None


class Reading:
    """Trajectories as they are learned, from those of an argument.

    Parameters
    ----------
    trajectories : list
        The trajectories, as given.
    last : LastTimes, optional
        The last times learned, which the first trajectory continues. None: it continues none, or
        one without times.

    Attributes
    ----------
    given : list of Given
        The trajectories, split at gaps.
    begins : bool
        Whether the first one begins after a gap, so that it does not continue what was learned.

    Raises
    ------
    ValueError
        Times decrease, occur twice, or were learned already.
    """

    def __init__(self, trajectories: list[Any], last: LastTimes | None = None) -> None:
        self._last = last
        self._reads = [_read(one, last if i == 0 else None) for i, one in enumerate(trajectories)]
        self.given = [piece for read in self._reads for piece in read.given]
        self.begins = self._reads[0].begins

    def fill(self, states: list[FloatArray]) -> list[FloatArray]:
        """Give the states of all trajectories with missing rows filled in."""
        before = None if self._last is None or self.begins else self._last.row
        return [
            one.fill(rows, before if i == 0 else None)
            for i, (one, rows) in enumerate(zip(self.given, states, strict=True))
        ]

    @property
    def periods(self) -> list[int] | None:
        """The periods of the calendar of all trajectories, in rows; None if it is not known."""
        known = {read.periods for read in self._reads if read.periods is not None}
        return list(known.pop()) if len(known) == 1 else None

    @property
    def timed(self) -> bool:
        """Whether a trajectory has an index of times."""
        return any(read.instants is not None for read in self._reads)

    def last(self, core: Any, states: list[FloatArray]) -> LastTimes | None:
        """Give the last times once a core has learned these states; None without times."""
        read = self._reads[-1]
        if read.instants is None or read.clocks is None or not len(states[-1]):
            return None
        return LastTimes(
            _learned(core),
            read.instants[-KEPT:],
            read.clocks[-KEPT:],
            read.zoned,
            states[-1][-1].copy(),
            read.n_complete,
            read.n_filled,
        )

    def warn(self, estimated: int = 0) -> None:
        """Warn of gaps that leave short trajectories, but for those of this many rows at most."""
        splits = missing = absent = 0
        lengths: list[int] = []
        for read in self._reads:
            for i, one in enumerate(read.given if read.n_missing else ()):
                follows = i > 0 or read.begins
                if i > 0 and 0 < one.gap <= estimated:
                    lengths[-1] += len(one.rows)
                    missing -= one.gap
                else:
                    splits += follows
                    lengths.append(len(one.rows))
            missing += read.n_missing
            absent += read.n_missing + sum(_count_filled(one) for one in read.given)
        if not splits or not lengths or 2 * max(lengths) >= sum(lengths):
            return
        if splits < _SPLITS and missing <= _MISSING * (missing + sum(lengths)):
            return
        even = all(read.even for read in self._reads)
        remedy = "asfreq(...)" if even else "resample(...).mean()"
        advise(
            f"the index of times, of which {absent / (absent + sum(lengths)):.0%} are missing, has "
            f"{splits:,} gap{'s' * (splits > 1)} that are not filled, and each begins another "
            f"trajectory: the longest has {max(lengths):,} of "
            f"{sum(lengths):,} rows. If states in between may be interpolated, learn "
            f"frame.{remedy}.interpolate()"
        )


def _count_filled(one: Given) -> int:
    return 0 if one.missing is None else int(one.missing.sum())


def last_times(model: Any) -> LastTimes | None:
    """Give the last times that a model has learned; None if they are not known."""
    known: LastTimes | None = vars(model).get("_times")
    if known is None or "_core" not in vars(model) or known.n_learned != _learned(model._core):
        return None
    return known


def state_of_times(model: Any) -> dict[str, Any]:
    """Describe the last times that a model has learned by JSON values, by name."""
    known = last_times(model)
    return {} if known is None else {"times": known.to_state()}


def _learned(core: Any) -> int:
    return int(core.n_states) + int(core.n_seen)


def read_times(frame: Any) -> list[Any]:
    """Split a data frame where its index of times has a gap, also a short one.

    Raises
    ------
    ValueError
        Times decrease, or occur twice.
    """
    found = []
    for one in _read(frame, None).given:
        inside = [] if one.missing is None else np.flatnonzero(one.missing).tolist()
        if inside:
            found += [one.rows.iloc[a:b] for a, b in pairwise([0, *inside, len(one.rows)])]
        else:
            found.append(one.rows)
    return found


def _plain(index: Any) -> Any:
    """Give an index of Arrow's times as one of pandas' own; any other as it is."""
    import pandas as pd  # noqa: PLC0415 (optional)

    is_time = str(index.dtype).startswith(("timestamp", "date"))
    return pd.DatetimeIndex(index) if is_time else index


def _read(frame: Any, last: LastTimes | None) -> _Read:
    index: Any = getattr(frame, "index", None)
    if hasattr(index, "to_timestamp"):  # periods, such as months: by their beginnings
        index = index.to_timestamp()
    elif "[pyarrow]" in str(getattr(index, "dtype", "")):
        index = _plain(index)
    zoned = getattr(index, "tz", None) is not None
    if zoned:
        # Steps are those of instants, days those of the zone's clocks.
        times, clocks = index.tz_convert(None).to_numpy(), index.tz_localize(None).to_numpy()
    else:
        times = clocks = getattr(index, "values", None)
    if getattr(getattr(times, "dtype", None), "kind", "") != "M" or not len(frame):
        return _Read([Given(frame)])
    instants, clocks = times.astype("datetime64[us]"), clocks.astype("datetime64[us]")
    _check_order(np.diff(instants.astype(np.int64)), index)
    if last is not None and last.zoned != zoned:
        last = None
    steps, even = np.full(len(frame), np.nan), True
    n_before = 0
    if last is not None:
        _check_new(instants, last, index)
        n_before = len(last.instants)
        instants = np.concatenate([last.instants, instants])
        clocks = np.concatenate([last.clocks, clocks])
        found, even = _steps(type(index)(clocks), instants, clocks)
        steps[:] = found[n_before - 1 :]
    # The frequency of a frame by itself is even, whatever is between it and what was before.
    if _is_even(index):
        steps[1:] = 1.0
    elif last is None:
        steps[1:], even = _steps(index, instants, clocks)
    complete, filled = (0, 0) if last is None else (last.n_complete, last.n_filled)
    missing = count_missing(steps, n_complete=complete, n_filled=filled)
    gaps = (steps > LONG) & (missing == 0)
    lengths = count_gaps(np.where(gaps, steps, np.nan))
    edges = [0, *(np.flatnonzero(gaps[1:]) + 1).tolist(), len(frame)]
    whole = len(edges) == 2
    return _Read(
        [
            Given(frame if whole else frame.iloc[a:b], missing[a:b], int(lengths[a]))
            for a, b in pairwise(edges)
        ],
        n_missing=int(np.rint(steps[gaps] - 1.0).sum()),
        begins=bool(gaps[0]),
        even=even,
        instants=instants,
        clocks=clocks,
        zoned=zoned,
        n_complete=complete + len(frame),
        n_filled=filled + int(missing.sum()),
        periods=periods_of_times(instants, clocks),
    )


def _check_order(steps: Counts, index: Any) -> None:
    if (steps < 0).any():
        row = int(np.argmax(steps < 0)) + 1
        raise ValueError(
            f"the index of times decreases at row {row}, {index[row]}: sort the rows, "
            "T.sort_index(), or drop the index, T.reset_index(drop=True)"
        )
    if (steps == 0).any():
        row = int(np.argmax(steps == 0)) + 1
        raise ValueError(
            f"the index of times has {index[row]} twice, at rows {row - 1} and {row}: combine "
            "such rows, T.groupby(level=0).mean(), or pass several series as a list of "
            "trajectories, [a, b]"
        )


def _check_new(instants: Times, last: LastTimes, index: Any) -> None:
    if (known := int(np.count_nonzero(instants <= last.instants[-1]))) > 0:
        until = type(index)(last.clocks[-1:])[0]
        what = f"time {index[0]}, row 0, is"
        if known > 1:
            what = f"times {index[0]} to {index[known - 1]}, rows 0 to {known - 1}, are"
        raise ValueError(
            f"{what} not after the last one learned, {until}: pass the rows after it, T[{known}:], "
            "or begin another trajectory, continued=False"
        )


def _is_even(index: Any) -> bool:
    # Business days, months and the like are even steps of a calendar, also beside gaps.
    if getattr(index, "freqstr", None):
        return True
    steps = np.diff(index.asi8)
    if (steps == steps[:1]).all():
        return True
    with warnings.catch_warnings():
        # Pandas 3 warns of the type of the frequency, which is not used here.
        warnings.simplefilter("ignore", DeprecationWarning)
        return bool(getattr(index, "inferred_freq", None))


def _steps(index: Any, instants: Times, clocks: Times) -> tuple[FloatArray, bool]:
    """Give the time between each two rows in usual steps, and whether most are even."""
    if len(instants) < 3 or _is_even(index):
        return np.ones(len(instants) - 1), True
    steps: FloatArray = np.diff(instants).astype(np.float64)
    if (calendar := find_calendar(clocks)) is not None:
        steps = np.diff(calendar.position(clocks))
    usual = usual_step(steps)
    if usual <= 0.0:  # several times in one unit of the calendar
        return np.ones(len(steps)), True
    steps = steps / usual
    n_even = int(np.count_nonzero((steps > _EVEN[0]) & (steps < _EVEN[1])))
    return steps, 2 * n_even >= len(steps)


def _microseconds(values: NDArray[np.int64]) -> Times:
    found: Times = values.astype("datetime64[us]")
    return found
