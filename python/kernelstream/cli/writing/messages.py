"""Messages to the user."""

from __future__ import annotations

from rich.console import Console

__all__ = ["say"]


def say(console: Console, text: str) -> None:
    """Print a line as it is."""
    # A terminal breaks long lines between words, a log keeps them whole.
    console.print(text, markup=False, highlight=False, soft_wrap=not console.is_terminal)
