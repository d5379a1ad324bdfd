"""Schedule of checkpoints."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

__all__ = ["Every"]

_EVERY = re.compile(r"(\d+(?:\.\d+)?)\s*(s|sec|m|min|h|rows?)", re.IGNORECASE)
_SECONDS = {"s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class Every:
    """When the next checkpoint is due.

    Raises
    ------
    ValueError
        It is neither.
    """

    def __init__(self, text: str, clock: Callable[[], float] = time.monotonic) -> None:
        found = _EVERY.fullmatch(text.strip())
        if found is None or not float(found[1]) > 0:
            raise ValueError(f"--every {text}: give a time such as 60s, 5m, 1h, or 100000rows")
        unit = found[2].lower()
        self._seconds = _SECONDS.get(unit)
        self._amount = float(found[1])
        self._clock = clock
        self._last_rows, self._last_time = 0, clock()

    @property
    def rows(self) -> int | None:
        """Rows between two checkpoints; None if it is a time."""
        return round(self._amount) if self._seconds is None else None

    def is_due(self, rows: int) -> bool:
        """Return whether a checkpoint is due; if so, restart the interval."""
        now = self._clock()
        if self._seconds is None:
            due = rows - self._last_rows >= self._amount
        else:
            due = now - self._last_time >= self._amount * self._seconds
        if due:
            self._last_rows, self._last_time = rows, now
        return due
