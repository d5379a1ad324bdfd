"""Messages to the user."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

__all__ = ["Terminal", "printable", "say"]

# C0 and C1 controls and delete: a terminal obeys them, in names of columns and files too.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_CONTROLS_IN_LINES = {code: text for code, text in _CONTROLS.items() if code != ord("\n")}


def printable(text: str) -> str:
    r"""Escape control characters, line breaks included, as ``\x1b``."""
    return text.translate(_CONTROLS)


class Terminal(Console):
    """A console that escapes control characters in all output, tables and bars included.

    Colours and movements of the cursor are rich's own, and stay.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render with control characters escaped."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(segment.text.translate(_CONTROLS_IN_LINES), segment.style)


def say(console: Console, text: str) -> None:
    """Print a line with control characters escaped."""
    # A terminal breaks long lines between words, a log keeps them whole.
    console.print(printable(text), markup=False, highlight=False, soft_wrap=not console.is_terminal)
