"""The command ``learn``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelstream.cli.choices import WINDOW, BadCell, Missing
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

__all__ = ["learn"]


@one_line_errors
def learn(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Tables: CSV with a header line, JSON lines, Parquet or Arrow (Feather), also "
            "compressed; several files or a quoted pattern such as 'day*.csv'; - or a named pipe "
            "for rows as they come.",
        ),
    ],
    target: Annotated[
        list[str] | None,
        typer.Option("--target", "-t", help="Column to predict; may be repeated."),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="Similarity of two rows: gaussian[:BANDWIDTH], laplacian, manhattan_laplacian, "
            "matern32, matern52, polynomial:DEGREE, linear; with a factor for each column, such as "
            "gaussian:2@1:0.5:0; or a sum such as 0.4*gaussian:0.5+0.6*gaussian:2. "
            "Default gaussian. The default bandwidth is sqrt(number of columns).",
            rich_help_panel=MODEL_PANEL,
        ),
    ] = None,
    basis: Annotated[
        str | None,
        typer.Option(
            help="Which rows are stored: ald:TOLERANCE[,max_size=N], all_points, first_points:N. "
            "Default ald:1e-3; not used with budgeted learners.",
            rich_help_panel=MODEL_PANEL,
        ),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            help="How the weights are fitted: ridge:REGULARIZATION, gradient:STEP, "
            "online_newton:MU, gauss_newton:REGULARIZATION; gradient and the Newtons with "
            "loss=LOSS; on a budget "
            "budgeted_gradient:STEP,budget=N, and for labels budgeted_perceptron:N and "
            "budgeted_passive_aggressive:N. Default ridge:1e-2, for labels gauss_newton:1e-2.",
            rich_help_panel=MODEL_PANEL,
        ),
    ] = None,
    experts: Annotated[
        bool | None,
        typer.Option(
            "--experts/--plain",
            help="Experts that choose kernels, bandwidths, regularizations and what columns matter "
            "themselves, weighted by past errors, right in any order of the rows; or a single "
            "model, ten times faster, of the three above. Default experts, unless one of the "
            "three, --no-scale or --workers is given.",
            show_default=False,
            rich_help_panel=MODEL_PANEL,
        ),
    ] = None,
    classify: Annotated[
        bool,
        typer.Option(
            "--classify", help="Treat a numeric target as a label.", rich_help_panel=MODEL_PANEL
        ),
    ] = False,
    classes: Annotated[
        str | None,
        typer.Option(
            help="Labels that may come, such as yes,no; another one is an error. Default: those of "
            "all files, found in a pass over that column; by a pipe, labels are learned as they "
            "come.",
            rich_help_panel=MODEL_PANEL,
        ),
    ] = None,
    balance: Annotated[
        bool,
        typer.Option(
            "--balance",
            help="Weight classes inversely to their frequency.",
            rich_help_panel=MODEL_PANEL,
        ),
    ] = False,
    scale: Annotated[
        bool,
        typer.Option(
            help="Standardize the columns by mean and deviation of the first rows.",
            rich_help_panel=MODEL_PANEL,
        ),
    ] = True,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            "-s",
            help="Write the model to this file at the end.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = None,
    compact: Annotated[
        bool,
        typer.Option(
            "--compact",
            help="Make the file of --save smaller, with predictions that differ by 1e-6 standard "
            "deviations of the target at most.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = False,
    begun_from: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Go on with this model: its columns, its targets. Rows of a file that it has "
            "learned before are not learned again.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Write the model to this file now and then, and at the end. If the file is "
            "there, continue it: the same command after a crash resumes at its row.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = None,
    every: Annotated[
        str,
        typer.Option(
            help="How often, such as 60s, 5m, 1h or 100000rows.", rich_help_panel=FILES_PANEL
        ),
    ] = "60s",
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="With --from or --checkpoint: learn files once more that the model has learned.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = False,
    skip_seen: Annotated[
        bool,
        typer.Option(
            "--skip-seen",
            help="With --from or --checkpoint: the pipe begins with the rows that were read of the "
            "one before; pass them over.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = False,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            help="Learn this many files at a time, with --save: a sample of all their rows settles "
            "the dictionary, then each process learns a file and the models are merged. The rows' "
            "order does not matter then, and there is no prequential error.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = 1,
    predict_to: Annotated[
        Path | None,
        typer.Option(
            help="Write the prediction of each row, made before it was learned, to this .csv, "
            ".jsonl or .parquet file, or to the standard output (-), line by line as rows come. "
            "Rows without a target are predicted only.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="Also predict intervals that hold this share of the targets, such as 0.9: their "
            "ends go to --predict-to, and the share of targets inside is shown.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option(
            help="Write the errors to this file, a line of JSON each second or 10,000 rows.",
            rich_help_panel=FILES_PANEL,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the errors over the rows: .png, .svg or .pdf.", rich_help_panel=FILES_PANEL
        ),
    ] = None,
    window: Annotated[
        int,
        typer.Option(min=2, help="The last rows whose error is shown beside that of all."),
    ] = WINDOW,
    missing: Annotated[
        Missing,
        typer.Option(
            help="Rows with missing values are an error, are skipped, or have their gaps filled: "
            "with the mean, and a sign that there was a gap."
        ),
    ] = Missing.ERROR,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="The same as --missing skip.")
    ] = False,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", "-x", help="Column not to learn from; may be repeated."),
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(
            "--category",
            "-c",
            help="Column whose values are names of categories, though they are numbers or differ "
            "in nearly every row; may be repeated.",
        ),
    ] = None,
    number: Annotated[
        list[str] | None,
        typer.Option(
            "--number",
            help="Column of numbers, though many of its cells are none; may be repeated.",
        ),
    ] = None,
    dates: Dates = None,
    missing_values: MissingValues = None,
    bad_cells: BadCells = BadCell.ERROR,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Show what each column was taken for, and by which counts of cells."
        ),
    ] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
) -> None:
    """Learn to predict columns of a table from its other columns, in one pass.

    Columns may hold numbers, truth values, times or, as text, categories. A text or boolean column
    as target is a label; a numeric one with --classify only.

    Each row is predicted before it is learned, so the error shown is the prequential error.
    """
    if not target and begun_from is None and (checkpoint is None or not checkpoint.exists()):
        typer.secho("error: --target is missing: name the column to predict", err=True, fg="red")
        raise typer.Exit(2)
    from kernelstream.cli.running.learning import Learning
    from kernelstream.cli.running.options import Paths, RunOptions
    from kernelstream.cli.running.workers import Workers

    paths = Paths(
        files,
        save=save,
        checkpoint=checkpoint,
        begun_from=begun_from,
        every=every,
        predict_to=predict_to,
        metrics=metrics,
        plot=plot,
        again=again,
        skip_seen=skip_seen,
        compact=compact,
    )
    if experts is None:
        resumes = begun_from is not None or (checkpoint is not None and checkpoint.exists())
        chosen = kernel or basis or learner or not scale or workers > 1
        experts = not (resumes or chosen)
    options = RunOptions(
        list(dict.fromkeys(target or [])),
        list(dict.fromkeys(exclude or [])),
        list(dict.fromkeys(category or [])),
        Missing.SKIP if skip_missing else missing,
        kernel=kernel,
        basis=basis,
        learner=learner,
        experts=experts,
        classify=classify,
        balance=balance,
        scale=scale,
        classes=classes,
        delimiter=delimiter,
        encoding=encoding,
        window=window,
        coverage=coverage,
        numbers=list(dict.fromkeys(number or [])),
        dates=dates or [],
        missing_values=separated(missing_values),
        bad_cells=bad_cells,
        explain=explain,
    )
    console = Terminal(stderr=True)
    if workers > 1:
        Workers(paths, options, workers, console).run()
        return
    status = Learning(paths, options, console).run()
    if status:
        raise typer.Exit(status)
