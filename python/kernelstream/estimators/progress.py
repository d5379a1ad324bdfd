"""What a person watches while rows are learned, with an estimator or on the command line."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kernelstream.estimators.advice import advise
from kernelstream.exceptions import MissingPackageWarning

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.live import Live
    from rich.text import Text

__all__ = ["ProgressBar", "report_to_bar"]

_PATIENCE = 1.0  # seconds before the bar of an estimator is worth showing
_PLAIN_EVERY = 5.0  # seconds from line to line where there is no terminal
_BAR_WIDTH = 12
_SEPARATOR = " · "


class ProgressBar:
    """A live line with the rows learned, their error, the points stored and the speed.

    It keeps to one line of a terminal of any width, even if that changes: what matters least is
    left out first. Where there is no terminal, a plain line is written now and then.

    Attributes
    ----------
    is_complete : bool
        Whether it is full when it closes without an error.

    Raises
    ------
    ModuleNotFoundError
        rich is not installed.
    """

    is_complete: bool = True

    def __init__(
        self,
        total: int | None,
        label: str = "learning",
        unit: str = "rows",
        *,
        console: Console | None = None,
        delay: float | None = None,
    ) -> None:
        from rich import get_console  # noqa: PLC0415  (an optional dependency)
        from rich.live import Live  # noqa: PLC0415

        self._console = get_console() if console is None else console
        self._live: Live | None = None
        if self._console.is_terminal or self._console.is_jupyter:
            self._live = Live(
                get_renderable=lambda: self, console=self._console, refresh_per_second=8
            )
        if delay is None:
            delay = _PLAIN_EVERY if self._live is None else 0.0
        self._total = total
        self._label = label
        self._unit = unit
        self._next = delay
        self._shown = False
        self._begun = time.perf_counter()
        self._ended: float | None = None
        self._finished = False
        self._rows = self._rows_before = self._done = self._done_before = 0
        self._parts: list[tuple[int, str]] = []

    @property
    def seconds(self) -> float:
        """Time from the creation of the bar until it closed."""
        return (self._ended or time.perf_counter()) - self._begun

    @property
    def rows_per_second(self) -> float:
        """Rows per second since the creation of the bar."""
        return (self._rows - self._rows_before) / max(self.seconds, 1e-9)

    def __enter__(self) -> Self:
        self._show()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended = time.perf_counter()
        self._finished = kind is None and self.is_complete
        if not self._shown:
            return
        if self._live is None:
            self._print()
        else:
            self._live.stop()

    def begin_at(self, done: int, rows: int) -> None:
        """Go on where an earlier run stopped, whose work does not count for the speed."""
        self._done = self._done_before = done
        self._rows = self._rows_before = rows

    def update(
        self,
        done: int,
        rows: int | None = None,
        error: object | None = None,
        stored: int | None = None,
        recent: object | None = None,
    ) -> None:
        """Show how far it has come."""
        self._done = done
        self._rows = done if rows is None else rows
        count = f"{done:,}/{self._total:,}" if rows is None and self._total else f"{self._rows:,}"
        # The smaller the number, the longer a part is kept where there is little room.
        parts = [(0, f"{count} {self._unit}")]
        if error is not None and str(error):
            first, *others = str(error).split(_SEPARATOR)
            parts += [(2, first), *((4, other) for other in others)]
        if recent is not None and str(recent):
            parts.append((3, str(recent)))
        if stored is not None:
            parts.append((5, f"{stored:,} stored"))
        parts.append((4, f"{self.rows_per_second:,.0f}/s"))
        self._parts = parts
        self._show()

    def line(self, width: int | None = None, *, ascii_only: bool = False) -> str:
        """Give the line, as far as it fits."""
        parts = [(7, self._label), *self._timing(ascii_only), *self._parts]
        # Without room it is the label and the bar that go first.
        for most in range(8, 0, -1):
            kept = [text for rank, text in parts if rank < most]
            line = _SEPARATOR.join(kept) if not ascii_only else ", ".join(kept)
            if width is None or len(line) <= width:
                return line
        return line

    def _timing(self, ascii_only: bool) -> list[tuple[int, str]]:
        if not self._total:
            return []
        share = 1.0 if self._finished else min(self._done / self._total, 1.0)
        parts = [(1, f"{share:4.0%}")]
        if self._live is not None:
            full = round(share * _BAR_WIDTH)
            drawn, empty = "#-" if ascii_only else "━─"
            parts.insert(0, (6, drawn * full + empty * (_BAR_WIDTH - full)))
        work = self._done - self._done_before
        if work > 0 and not self._finished and self.seconds > 1.0:
            left = max(self._total - self._done, 0) * self.seconds / work
            parts.append((3, f"{_duration(left)} left"))
        return parts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        from rich.text import Text  # noqa: PLC0415

        line = self.line(options.max_width, ascii_only=options.ascii_only)
        yield Text(line, no_wrap=True, overflow="ellipsis")

    def _print(self) -> None:
        self._console.print(self.line(), soft_wrap=True, markup=False, highlight=False)

    def _show(self) -> None:
        if self.seconds < self._next:
            return
        if self._live is None:
            if self._parts:
                self._print()
                self._shown = True
                self._next = self.seconds + _PLAIN_EVERY
        elif not self._shown:
            self._live.start()
            self._shown = True


def _duration(seconds: float) -> str:
    """Write a time in two units at most."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    return f"{whole // 3600:,}:{whole // 60 % 60:02} h"


@contextmanager
def report_to_bar(
    core: Any,
    total: int,
    error: Callable[[int], object] | None = None,
    unit: str = "rows",
    recent: Callable[[], object] | None = None,
) -> Iterator[Callable[[int], None] | None]:
    """Give a callable that shows how far a core's learning has come, if it takes over a second."""
    try:
        bar = ProgressBar(total, unit=unit, delay=_PATIENCE)
    except ModuleNotFoundError:
        advise("verbose=True shows its progress with rich: pip install rich", MissingPackageWarning)
        yield None
        return

    def _report(done: int) -> None:
        late = None if recent is None else recent()
        bar.update(done, None, None if error is None else error(done), core.n_stored, late)

    with bar:
        yield _report
