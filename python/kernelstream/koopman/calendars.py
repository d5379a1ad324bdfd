"""Calendar steps of unequal length: months, half months, quarters, years, business days."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream.koopman.filling import usual_step

__all__ = ["KEPT", "Calendar", "find_calendar", "periods_of_times"]

Times = NDArray[np.datetime64]

_FEWEST = 4  # times by which a calendar is known
# Times that are kept from call to call: a calendar of business days shows by a weekend or two.
KEPT = 32
_DAY = np.timedelta64(1, "D")
_MONTHS_OF_YEAR = 12
# Steps in a year, or a week, of each unit; years have no period.
_PERIODS = {"months": [12], "half months": [24], "years": [1], "business days": [5, 261]}
# A day in microseconds, a week and a year in days, and a year in weeks.
_MICROSECONDS = 86_400_000_000
_WEEK, _YEAR, _WEEKS_OF_YEAR = 7, 365, 52
# Steps are a whole part of a day to within this share.
_NEAR = 1e-3
# Longer seasons are not looked for in few cycles: less than two are kept.
_LONGEST_PERIOD = 1024


@dataclass(frozen=True)
class Calendar:
    """A calendar whose steps are even though their lengths differ.

    Attributes
    ----------
    unit : {"months", "half months", "years", "business days"}
        Its unit.
    day : int
        Day of the month, from 1; 0: the last one; not used for business days.
    second_day : int
        The other day of half months, of which `day` is the earlier one.
    weekday : int, or None
        Day of the week, 0 for Monday: then `day` counts these days of the month.
    in_week : bool
        Whether a day at a weekend is replaced by the business day before, if it is the last one of
        its month, or after.
    """

    unit: str
    day: int = 1
    in_week: bool = False
    second_day: int = 0
    weekday: int | None = None

    def position(self, times: Times) -> NDArray[np.float64]:
        """Give times in units of the calendar."""
        known = ~np.isnat(times)
        found = np.full(len(times), np.nan)
        days = times[known].astype("datetime64[D]")
        if self.unit == "business days":
            found[known] = np.busday_count(np.datetime64("1970-01-01"), days)
        else:
            first = days.astype("datetime64[M]")
            months = first.astype(np.int64)
            found[known] = months / (_MONTHS_OF_YEAR if self.unit == "years" else 1)
            if self.unit == "half months":
                of_month = (days - first.astype("datetime64[D]")) / _DAY + 1
                found[known] = 2 * months + (of_month > self.day)
        return found

    def after(self, last: np.datetime64, step: float, count: int) -> Times:
        """Give the times that follow one."""
        ahead = np.rint(np.arange(1, count + 1) * step).astype(np.int64)
        day = last.astype("datetime64[D]")
        clock = last.astype("datetime64[us]") - day
        days: Any
        if self.unit == "business days":
            days = np.busday_offset(day, ahead, roll="backward")
        else:
            first = day.astype("datetime64[M]")
            if self.unit == "half months":
                at = int(self.position(np.array([last]))[0]) + ahead
                months = (at // 2).astype("datetime64[M]")
                days = np.where(
                    at % 2, _days_of(months, self.second_day), _days_of(months, self.day)
                )
            elif self.weekday is not None:
                days = _weekdays_of(first + ahead, self.day, self.weekday)
            else:
                years = self.unit == "years"
                months = np.rint(np.arange(1, count + 1) * step * (_MONTHS_OF_YEAR if years else 1))
                days = _days_of(first + months.astype(np.int64), self.day)
            if self.in_week:
                days = np.busday_offset(days, 0, roll="forward" if self.day else "backward")
        found: Times = days.astype("datetime64[us]") + clock
        return found


def _weekdays(days: NDArray[Any]) -> NDArray[np.int64]:
    """Give the days of the week, from 0 for Monday."""
    found: NDArray[np.int64] = (days.astype(np.int64) + 3) % 7  # 1970 began on a Thursday
    return found


def _days_of(months: NDArray[Any], day: int) -> NDArray[Any]:
    """Give a day of months, the last one for 0 and where there are not as many."""
    ends = (months + 1).astype("datetime64[D]") - _DAY
    first = months.astype("datetime64[D]")
    found: NDArray[Any] = np.minimum(first + (day - 1) * _DAY, ends) if day else ends
    return found


def _weekdays_of(months: NDArray[Any], count: int, weekday: int) -> NDArray[Any]:
    """Give the first, second, ... of a day of the week in months, the last one for 0."""
    name = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][weekday]
    if count:
        first = months.astype("datetime64[D]")
        return np.busday_offset(first, count - 1, roll="forward", weekmask=name)
    ends = (months + 1).astype("datetime64[D]") - _DAY
    return np.busday_offset(ends, 0, roll="backward", weekmask=name)


def find_calendar(times: Times) -> Calendar | None:
    """Find the calendar whose steps most of the times are."""
    days = times.astype("datetime64[D]")
    clocks = times.astype("datetime64[us]") - days
    if len(times) < _FEWEST or (clocks != clocks[0]).any():
        return None
    usual = usual_step(np.diff(days) / _DAY)
    if usual == 1:
        weekend = np.busday_count(days[:-1], days[1:]) < np.diff(days) / _DAY
        all_in_week = bool((_weekdays(days) < 5).all() and weekend.any())
        return Calendar("business days") if all_in_week else None
    first = days.astype("datetime64[M]")
    of_month = (days - first.astype("datetime64[D]")) / _DAY + 1
    is_end = (days + _DAY).astype("datetime64[M]") > first
    day = int(of_month.max())
    if 13 <= usual <= 17:
        return _find_halves(np.where(is_end & (of_month >= 28), 0, of_month).astype(np.int64))
    if usual < 28:
        return None
    steps = np.diff(first) // np.timedelta64(1, "M")
    unit = "years" if (steps % _MONTHS_OF_YEAR == 0).all() else "months"
    # The 31st of a month is its end; the 30th is that of February, too.
    if (is_end | (of_month == day)).all():
        return Calendar(unit, 0 if is_end.all() else day)
    ends = (first + 1).astype("datetime64[D]") - _DAY
    if (days == np.busday_offset(ends, 0, roll="backward")).all():
        return Calendar(unit, 0, in_week=True)
    if (days == np.busday_offset(first.astype("datetime64[D]"), 0, roll="forward")).all():
        return Calendar(unit, 1, in_week=True)
    return _find_weekday(days, of_month)


def _find_halves(of_month: NDArray[np.int64]) -> Calendar | None:
    """Find the two days of the month, 0 for the last one, that times nearly always alternate."""
    both = np.unique(of_month)
    if len(both) != 2 or 10 * np.count_nonzero(np.diff(of_month) == 0) > len(of_month):
        return None
    earlier, later = (both[1], both[0]) if both[0] == 0 else both
    return Calendar("half months", int(earlier), second_day=int(later))


def _find_weekday(days: NDArray[Any], of_month: NDArray[np.float64]) -> Calendar | None:
    """Find the day of the week, such as the third Wednesday of the month, that all times are."""
    weekdays = _weekdays(days)
    counts = (of_month.astype(np.int64) - 1) // 7 + 1
    is_last = (days + 7 * _DAY).astype("datetime64[M]") > days.astype("datetime64[M]")
    if (weekdays != weekdays[0]).any() or not (is_last.all() or (counts == counts[0]).all()):
        return None
    count = 0 if is_last.all() else int(counts[0])
    return Calendar("months", count, weekday=int(weekdays[0]))


def periods_of_times(instants: Times, clocks: Times) -> tuple[int, ...] | None:
    """Give the periods of the calendar of times in their usual steps, rising; None if not known.

    Parameters
    ----------
    instants, clocks : ndarray of datetime64
        The times, and the same by the clocks of their zone.
    """
    if len(instants) < _FEWEST:
        return None
    if (calendar := find_calendar(clocks)) is not None:
        step, found = usual_step(np.diff(calendar.position(clocks))), _PERIODS[calendar.unit]
    else:
        step = usual_step(np.diff(instants.astype("datetime64[us]").astype(np.float64)))
        step /= _MICROSECONDS
        # Steps of days are not longer than weeks.
        found = [1, _WEEK] if step < 1.0 - _NEAR else [_WEEK, _YEAR]
        if step > _WEEK - _NEAR:
            found, step = [_WEEKS_OF_YEAR], step / _WEEK
    if step <= 0.0:
        return ()
    counts = [one / step for one in found]
    whole = [round(one) for one in counts if abs(one - round(one)) <= _NEAR * one]
    return tuple(one for one in whole if 2 <= one <= _LONGEST_PERIOD)
