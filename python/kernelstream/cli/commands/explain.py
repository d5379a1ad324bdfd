"""The command ``explain``."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelstream.cli.choices import BadCell
from kernelstream.cli.commands.options import (
    BadCells,
    Delimiter,
    Encoding,
    MissingValues,
    Output,
    SavedModel,
    Tables,
    one_line_errors,
    separated,
)
from kernelstream.cli.writing.messages import Terminal

__all__ = ["explain"]


@one_line_errors
def explain(
    model: SavedModel,
    files: Tables,
    output: Output = None,
    skip_missing: Annotated[
        bool,
        typer.Option("--skip-missing", help="Write empty cells for rows with missing values."),
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            "-k",
            help="Column of the tables to write before the contributions, such as an id; may be "
            "repeated.",
        ),
    ] = None,
    missing_values: MissingValues = None,
    bad_cells: BadCells = BadCell.ERROR,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
) -> None:
    """Explain the predictions of a saved model: how much each column contributes to each row's.

    The contributions of a row and its base value, the mean prediction of the model's stored points,
    add up to its prediction.
    """
    from kernelstream.cli.running.explaining import Explaining
    from kernelstream.cli.running.options import RunOptions

    Explaining(
        model,
        files,
        output,
        skip_missing,
        False,
        None,
        list(dict.fromkeys(keep or [])),
        RunOptions(
            [],
            [],
            [],
            missing_values=separated(missing_values),
            bad_cells=bad_cells,
            delimiter=delimiter,
            encoding=encoding,
        ),
        Terminal(stderr=True),
    ).run()
