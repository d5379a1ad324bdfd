"""The commands ``merge`` and ``freeze``, for models learned in several places."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelstream.cli.commands.options import one_line_errors
from kernelstream.cli.writing.messages import Terminal

__all__ = ["freeze", "merge"]


@one_line_errors
def merge(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL", help="Model files of the same learner and columns."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File of the merged model.")],
    successive: Annotated[
        bool,
        typer.Option(
            "--successive",
            help="The rows of each model came after those of the ones before it: for learners that "
            "forget.",
        ),
    ] = False,
) -> None:
    """Merge models learned in several places.

    Models by ridge (learn --learner ridge) add up. They begin with copies of one model whose
    dictionary and scale were settled by 'freeze': then the result is the model that learned all
    rows, however they were divided.
    """
    from kernelstream.cli.running import merging

    merging.merge(models, output, Terminal(stderr=True), successive=successive)


@one_line_errors
def freeze(
    model: Annotated[Path, typer.Argument(help="Model file, written by 'learn --save'.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File of the frozen model.")],
) -> None:
    """Settle the dictionary and the scale of a model, and forget its rows.

    Go on with it in several places by 'learn --from', and put the results together by 'merge'.
    """
    from kernelstream.cli.running import merging

    merging.freeze(model, output, Terminal(stderr=True))
