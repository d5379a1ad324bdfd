"""The command ``info``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelstream.cli.commands.options import one_line_errors

__all__ = ["info"]


@one_line_errors
def info(
    model: Annotated[Path, typer.Argument(help="Model file, such as 'learn --save' writes.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Write one JSON object instead of a table.")
    ] = False,
) -> None:
    """Show the content of a model file: columns and their types, settings, rows, files."""
    from kernelstream.cli.running.describing import describe, print_description

    print_description(describe(model), as_json=as_json)
