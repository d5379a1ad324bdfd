"""The command ``demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelstream.cli.commands.options import one_line_errors
from kernelstream.cli.writing.messages import Terminal
from kernelstream.demos import NAMES, run

__all__ = ["demo"]


@one_line_errors
def demo(
    name: Annotated[str, typer.Argument(help=f"Name: {', '.join(NAMES)}.")] = NAMES[0],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the figure.")] = Path(
        "demo_output"
    ),
    seed: Annotated[int | None, typer.Option(help="Random seed (pendulum).")] = None,
    out: Annotated[Path | None, typer.Option(help="File of the figure (pendulum).")] = None,
    animation: Annotated[
        Path | None, typer.Option(help="File of an animation: .gif, .webp or .png (pendulum).")
    ] = None,
) -> None:
    """Learn a stream of example data and save a figure of the result."""
    run(name, output, Terminal(), seed=seed, out=out, animation=animation)
