"""The command ``dynamics``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelstream.cli.choices import BadCell
from kernelstream.cli.commands.options import (
    FILES_PANEL,
    MODEL_PANEL,
    BadCells,
    Dates,
    Delimiter,
    Encoding,
    MissingValues,
    one_line_errors,
    separated,
)
from kernelstream.cli.writing.messages import Terminal

__all__ = ["dynamics"]


@one_line_errors
def dynamics(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Tables whose rows are successive states, as for 'learn'; each file begins a new "
            "trajectory.",
        ),
    ],
    columns: Annotated[
        str | None,
        typer.Option(help="Components of the state, such as a,b,c. Default: all numbers."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Column of times, numbers or dates: a gap ends a trajectory."),
    ] = None,
    lag: Annotated[int, typer.Option(min=1, help="Rows from a state to the next.")] = 1,
    delays: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Earlier rows that belong to a state, for systems seen in part, such as by one "
            "sensor. Without it 8 of one column and 2 of several with --forecast, or none with "
            "--kernel, --basis or --learner or without --forecast.",
        ),
    ] = None,
    delay: Annotated[int, typer.Option(min=1, help="Rows between these.")] = 1,
    forecast: Annotated[
        int,
        typer.Option(
            min=0,
            help="Forecast this many rows after the last of each file; of more than 128, the first "
            "ones and later ones further and further apart.",
        ),
    ] = 0,
    coverage: Annotated[
        float, typer.Option(help="Share of what comes that the intervals of forecasts hold.")
    ] = 0.9,
    period: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Rows in a season, such as 24 of hourly ones. Default, and 0: found as rows come.",
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(help="Similarity of two states, as for 'learn'.", rich_help_panel=MODEL_PANEL),
    ] = None,
    basis: Annotated[
        str | None,
        typer.Option(help="Which states are stored, as for 'learn'.", rich_help_panel=MODEL_PANEL),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            help="How the operator is fitted: ridge:REGULARIZATION[,forgetting=G] or "
            "gradient:STEP.",
            rich_help_panel=MODEL_PANEL,
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", "-s", help="Write the operator here.", rich_help_panel=FILES_PANEL),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the forecasts to this .csv, .jsonl or .parquet file instead of the "
            "standard output.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw a page of pictures: .png, .svg or .pdf.", rich_help_panel=FILES_PANEL
        ),
    ] = None,
    dates: Dates = None,
    missing_values: MissingValues = None,
    bad_cells: BadCells = BadCell.ERROR,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
) -> None:
    """Find slow processes and oscillations in trajectories, and forecast, in one pass.

    Estimates the Koopman operator. Rows with missing values, and those that are left out, end a
    trajectory.
    """
    from kernelstream.cli.running.dynamics import Dynamics
    from kernelstream.cli.running.options import RunOptions

    status = Dynamics(
        files,
        [name.strip() for name in (columns or "").split(",") if name.strip()],
        time,
        lag,
        forecast,
        coverage,
        period,
        delays,
        delay,
        kernel=kernel,
        basis=basis,
        learner=learner,
        save=save,
        output=output,
        plot=plot,
        options=RunOptions(
            [],
            [],
            [],
            dates=dates or [],
            missing_values=separated(missing_values),
            bad_cells=bad_cells,
            delimiter=delimiter,
            encoding=encoding,
        ),
        console=Terminal(stderr=True),
    ).run()
    if status:
        raise typer.Exit(status)
