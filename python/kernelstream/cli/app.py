"""The commands: learn a table, predict with a saved model, merge models, run a demonstration."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated, ParamSpec

import pyarrow as pa
import typer
from rich.console import Console

from kernelstream import __version__, demos
from kernelstream.cli.reading.gaps import Missing
from kernelstream.cli.running import merging
from kernelstream.cli.running.dynamics import Dynamics
from kernelstream.cli.running.learning import Learning
from kernelstream.cli.running.predicting import Predicting
from kernelstream.cli.running.task import WINDOW
from kernelstream.cli.running.wishes import Places, Wishes
from kernelstream.cli.running.workers import Workers
from kernelstream.cli.writing.failures import close_output
from kernelstream.starting import interrupt_again

__all__ = ["app"]

_ROOM = 60

app = typer.Typer(
    help="Learn from a stream with kernels: one pass, constant memory, second order.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Its frames need room.
    rich_markup_mode="rich" if get_terminal_size().columns >= _ROOM else None,
)

P = ParamSpec("P")

_MODEL, _FILES = "The model", "Models and figures"

Delimiter = Annotated[
    str | None, typer.Option(help="Delimiter of a CSV file. Default: it is found out.")
]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding of text, such as latin-1. Default UTF-8.")
]


def _one_line_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Report invalid input in one line, with exit status 1 and without a traceback."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        interrupt_again()
        try:
            command(*args, **kwargs)
        except KeyboardInterrupt:
            typer.echo("stopped", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:
            close_output()
            raise typer.Exit(1) from None
        except (ValueError, TypeError, OSError, ImportError, pa.ArrowException) as error:
            message = " ".join(str(error).split())
            if isinstance(error, OSError) and error.filename and error.strerror:
                message = f"{error.filename}: {error.strerror}"
            typer.secho(f"error: {message}", err=True, fg="red")
            raise typer.Exit(1) from None

    return wrapped


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kernelstream {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Learn from a stream with kernels: one pass, constant memory, second order."""


@app.command()
@_one_line_errors
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
            rich_help_panel=_MODEL,
        ),
    ] = None,
    basis: Annotated[
        str | None,
        typer.Option(
            help="Which rows are stored: ald:TOLERANCE[,max_size=N], all_points, first_points:N. "
            "Default ald:1e-3; not used with budgeted learners.",
            rich_help_panel=_MODEL,
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
            rich_help_panel=_MODEL,
        ),
    ] = None,
    experts: Annotated[
        bool,
        typer.Option(
            "--experts",
            help="Instead of the three: experts that choose kernels, bandwidths, regularizations "
            "and what columns matter themselves, weighted by past errors. Nothing to tune, more "
            "accurate, slower.",
            rich_help_panel=_MODEL,
        ),
    ] = False,
    classify: Annotated[
        bool,
        typer.Option(
            "--classify", help="Treat a numeric target as a label.", rich_help_panel=_MODEL
        ),
    ] = False,
    classes: Annotated[
        str | None,
        typer.Option(
            help="Every label that may come, such as yes,no. Needed where labels come by a pipe; "
            "of files they are found in a pass over that column.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    balance: Annotated[
        bool,
        typer.Option(
            "--balance",
            help="Weight classes inversely to their frequency.",
            rich_help_panel=_MODEL,
        ),
    ] = False,
    scale: Annotated[
        bool,
        typer.Option(
            help="Standardize the columns by mean and deviation of the first rows.",
            rich_help_panel=_MODEL,
        ),
    ] = True,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save", "-s", help="Write the model to this file at the end.", rich_help_panel=_FILES
        ),
    ] = None,
    begun_from: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Go on with this model: its columns, its targets. Rows of a file that it has "
            "learned before are not learned again.",
            rich_help_panel=_FILES,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Write the model to this file now and then, and at the end. If the file is "
            "there, go on with it: the same command after a crash continues at its row.",
            rich_help_panel=_FILES,
        ),
    ] = None,
    every: Annotated[
        str,
        typer.Option(help="How often, such as 60s, 5m, 1h or 100000rows.", rich_help_panel=_FILES),
    ] = "60s",
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="With --from or --checkpoint: learn files once more that the model has learned.",
            rich_help_panel=_FILES,
        ),
    ] = False,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            help="Learn so many files at a time, with --save: a sample of all their rows settles "
            "the dictionary, then each process learns a file and the models are merged. The rows' "
            "order does not matter then, and there is no prequential error.",
            rich_help_panel=_FILES,
        ),
    ] = 1,
    predict_to: Annotated[
        Path | None,
        typer.Option(
            help="Write the prediction of each row, made before it was learned, to this .csv, "
            ".jsonl or .parquet file, or to the standard output (-), line by line as rows come. "
            "Rows without a target are predicted only.",
            rich_help_panel=_FILES,
        ),
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option(
            help="Write the errors to this file, a line of JSON each second or 10,000 rows.",
            rich_help_panel=_FILES,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the errors over the rows: .png, .svg or .pdf.", rich_help_panel=_FILES
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
    places = Places(
        files,
        save=save,
        checkpoint=checkpoint,
        begun_from=begun_from,
        every=every,
        predict_to=predict_to,
        metrics=metrics,
        plot=plot,
        again=again,
    )
    wishes = Wishes(
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
    )
    console = Console(stderr=True)
    if workers > 1:
        Workers(places, wishes, workers, console).run()
        return
    status = Learning(places, wishes, console).run()
    if status:
        raise typer.Exit(status)


@app.command()
@_one_line_errors
def predict(
    model: Annotated[Path, typer.Argument(help="Model file, written by 'learn --save'.")],
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE", help="Tables with the model's columns, as for 'learn'; - for a pipe."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write to this .csv, .jsonl or .parquet file instead of the terminal.",
        ),
    ] = None,
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
    delimiter: Delimiter = None,
    encoding: Encoding = None,
) -> None:
    """Predict the rows of tables with a saved model.

    If the tables also contain the targets, the error is shown.
    """
    console = Console(stderr=True)
    Predicting(
        model, files, output, skip_missing, probabilities, delimiter, encoding, console
    ).run()


@app.command()
@_one_line_errors
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
        int,
        typer.Option(
            min=0,
            help="Earlier rows that belong to a state, for systems seen in part, such as by one "
            "sensor.",
        ),
    ] = 0,
    delay: Annotated[int, typer.Option(min=1, help="Rows between these.")] = 1,
    forecast: Annotated[
        int, typer.Option(min=0, help="Forecast so many rows after the last of each file.")
    ] = 0,
    coverage: Annotated[
        float, typer.Option(help="Share of what comes that the intervals of forecasts hold.")
    ] = 0.9,
    period: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Rows in a period, such as 24 of hourly ones, whose last is one more forecast. "
            "Default: found in the first rows; 0: none.",
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(help="Similarity of two states, as for 'learn'.", rich_help_panel=_MODEL),
    ] = None,
    basis: Annotated[
        str | None,
        typer.Option(help="Which states are stored, as for 'learn'.", rich_help_panel=_MODEL),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            help="How the operator is fitted: ridge:REGULARIZATION[,forgetting=G] or "
            "gradient:STEP.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", "-s", help="Write the operator here.", rich_help_panel=_FILES),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the forecasts to this .csv, .jsonl or .parquet file instead of the "
            "standard output.",
            rich_help_panel=_FILES,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw a page of pictures: .png, .svg or .pdf.", rich_help_panel=_FILES),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
) -> None:
    """Find slow processes and oscillations in trajectories, and forecast, in one pass.

    Estimates the Koopman operator. Rows with missing values end a trajectory.
    """
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
        delimiter=delimiter,
        encoding=encoding,
        console=Console(stderr=True),
    ).run()
    if status:
        raise typer.Exit(status)


@app.command()
@_one_line_errors
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
    """Add up what models learned in several places.

    Models by ridge (learn --learner ridge) add up. They begin with copies of one model whose
    dictionary and scale were settled by 'freeze': then the result is the model that learned all
    rows, however they were divided.
    """
    merging.merge(models, output, Console(stderr=True), successive=successive)


@app.command()
@_one_line_errors
def freeze(
    model: Annotated[Path, typer.Argument(help="Model file, written by 'learn --save'.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File of the frozen model.")],
) -> None:
    """Settle the dictionary and the scale of a model, and forget its rows.

    Go on with it in several places by 'learn --from', and put the results together by 'merge'.
    """
    merging.freeze(model, output, Console(stderr=True))


@app.command()
@_one_line_errors
def demo(
    name: Annotated[str, typer.Argument(help=f"Name: {', '.join(demos.NAMES)}.")] = demos.NAMES[0],
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
    demos.run(name, output, Console(), seed=seed, out=out, animation=animation)
