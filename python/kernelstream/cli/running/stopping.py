"""SIGINT, SIGTERM, SIGHUP: learning ends after the current rows, which stay learned."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

__all__ = ["Stop"]

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Stop:
    """A request to stop, by the user or the system.

    The first signal is noted, and looked at between batches, so that rows are counted as they are
    learned; while waiting for rows it ends the waiting. A second one interrupts at once, but not
    while the model is saved.

    Attributes
    ----------
    number : int or None
        The signal received.
    is_saving : bool
        Whether signals are only noted.
    """

    number: int | None = None
    is_saving: bool = False

    def __init__(self) -> None:
        self._waiting = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for name in _NAMES:
                number = getattr(signal, name, None)
                # Ignored signals, such as those under nohup, stay ignored.
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._received)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def wanted(self) -> bool:
        """Whether a signal was received."""
        return self.number is not None

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wait for rows; a signal meanwhile, or before, raises KeyboardInterrupt."""
        self._waiting = True
        try:
            if self.wanted:
                raise KeyboardInterrupt
            yield
        finally:
            self._waiting = False

    def _received(self, number: int, frame: FrameType | None) -> None:
        del frame
        again, self.number = self.wanted, number
        if (again or self._waiting) and not self.is_saving:
            raise KeyboardInterrupt
