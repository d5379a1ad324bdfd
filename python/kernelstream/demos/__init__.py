"""Demonstrations that run in seconds: one module each, with a function ``run``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["NAMES", "run"]

# The first is the default.
NAMES = ("terrain", "duffing", "langevin", "pendulum")

# Options of a demonstration.
_OPTIONS = {"pendulum": {"seed", "out", "animation"}}


def run(name: str, output: Path, console: Console, **options: Any) -> None:
    """Run a demonstration.

    Raises
    ------
    ValueError
        There is no such demonstration, or it does not have this option.
    """
    if name not in NAMES:
        raise ValueError(f"unknown demo {name!r}; known: {', '.join(NAMES)}")
    given = {option: value for option, value in options.items() if value is not None}
    if unknown := given.keys() - _OPTIONS.get(name, set()):
        raise ValueError(f"the demo {name} does not have the option {', '.join(sorted(unknown))}")
    output.mkdir(parents=True, exist_ok=True)
    result = import_module(f"kernelstream.demos.{name}").run(output, console, **given)
    # A demonstration may return a closing line.
    picture, *last = result if isinstance(result, tuple) else (result,)
    console.print(f"figure saved: [bold]{picture}[/]")
    for word in last:
        console.print(word)
