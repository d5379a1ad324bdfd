"""Demonstrations that run in seconds on data at hand: one module each, with a function ``run``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["NAMES", "run"]

# The first is the default.
NAMES = ("terrain", "duffing", "langevin")


def run(name: str, output: Path, console: Console) -> None:
    """Run a demonstration.

    Parameters
    ----------
    name : str
        One of ``NAMES``.
    output : Path
        Folder for its picture, made if need be.
    console : Console
        Where to show its progress.

    Raises
    ------
    ValueError
        There is no such demonstration.
    """
    if name not in NAMES:
        raise ValueError(f"unknown demo {name!r}; known: {', '.join(NAMES)}")
    output.mkdir(parents=True, exist_ok=True)
    picture = import_module(f"kernelstream.demos.{name}").run(output, console)
    console.print(f"picture saved: [bold]{picture}[/]")
