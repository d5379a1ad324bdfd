"""Calendar steps of unequal length: months, quarters, years, business days."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Calendar", "find_calendar"]

Times = NDArray[np.datetime64]

_FEWEST = 4  # times by which a calendar is known
_DAY = np.timedelta64(1, "D")
_MONTHS_OF_YEAR = 12


@dataclass(frozen=True)
class Calendar:
    """A calendar whose steps are even though their lengths differ.

    Attributes
    ----------
    unit : {"months", "years", "business days"}
        Its unit.
    day : int
        Day of the month, from 1; 0: the last one; not used for business days.
    in_week : bool
        Whether a day at a weekend is replaced by the business day before, if it is the last one of
        its month, or after.
    """

    unit: str
    day: int = 1
    in_week: bool = False

    def position(self, times: Times) -> NDArray[np.float64]:
        """Give times in units of the calendar."""
        known = ~np.isnat(times)
        found = np.full(len(times), np.nan)
        days = times[known].astype("datetime64[D]")
        if self.unit == "business days":
            found[known] = np.busday_count(np.datetime64("1970-01-01"), days)
        else:
            months = days.astype("datetime64[M]").astype(np.int64)
            found[known] = months / (_MONTHS_OF_YEAR if self.unit == "years" else 1)
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
            ahead = (
                ahead
                if self.unit == "months"
                else np.rint(np.arange(1, count + 1) * step * _MONTHS_OF_YEAR).astype(np.int64)
            )
            months = day.astype("datetime64[M]") + ahead
            ends = (months + 1).astype("datetime64[D]") - _DAY
            first = months.astype("datetime64[D]")
            days = ends if not self.day else np.minimum(first + (self.day - 1) * _DAY, ends)
            if self.in_week:
                days = np.busday_offset(days, 0, roll="forward" if self.day else "backward")
        found: Times = days.astype("datetime64[us]") + clock
        return found


def find_calendar(times: Times) -> Calendar | None:
    """Find the calendar whose steps most of the times are."""
    days = times.astype("datetime64[D]")
    clocks = times.astype("datetime64[us]") - days
    if len(times) < _FEWEST or (clocks != clocks[0]).any():
        return None
    usual = np.median(np.diff(days) / _DAY)
    if usual == 1:
        weekdays = (days.astype(np.int64) + 3) % 7  # 1970 began on a Thursday
        weekend = np.busday_count(days[:-1], days[1:]) < np.diff(days) / _DAY
        all_in_week = bool((weekdays < 5).all() and weekend.any())
        return Calendar("business days") if all_in_week else None
    first = days.astype("datetime64[M]")
    of_month = (days - first.astype("datetime64[D]")) / _DAY + 1
    is_end = (days + _DAY).astype("datetime64[M]") > first
    day = int(of_month.max())
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
    return None
