"""The command ``predict``."""

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

__all__ = ["predict"]


@one_line_errors
def predict(
    model: SavedModel,
    files: Tables,
    output: Output = None,
    skip_missing: Annotated[
        bool,
        typer.Option(
            "--skip-missing", help="Write empty predictions for rows with missing values."
        ),
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option("--probabilities", help="Also write the probability of each label."),
    ] = False,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="Also write the ends of intervals that hold this share of the targets, such as "
            "0.9."
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            "-k",
            help="Column of the tables to write before the predictions, such as an id; may be "
            "repeated.",
        ),
    ] = None,
    missing_values: MissingValues = None,
    bad_cells: BadCells = BadCell.ERROR,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
) -> None:
    """Predict the rows of tables with a saved model.

    If the tables also contain the targets, the error is shown.
    """
    from kernelstream.cli.running.options import RunOptions
    from kernelstream.cli.running.predicting import Predicting

    console = Terminal(stderr=True)
    Predicting(
        model,
        files,
        output,
        skip_missing,
        probabilities,
        coverage,
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
        console,
    ).run()
