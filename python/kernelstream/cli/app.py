"""The commands: learn a table, predict with a saved model, run a demonstration."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import numpy as np
import pyarrow as pa
import typer
from rich.console import Console
from rich.table import Table as Grid

from kernelstream import __version__, demos
from kernelstream.cli.output import column_writer
from kernelstream.cli.tables import Batch, Table
from kernelstream.cli.tasks import Labels, Numbers, Task
from kernelstream.components.parser import parse_basis, parse_kernel, parse_learner
from kernelstream.estimators.model_file import load
from kernelstream.estimators.progress import ProgressBar
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.experts import KernelExperts
from kernelstream.supervised.regressor import KernelRegressor
from kernelstream.supervised.tables import TableClassifier, TableRegressor

__all__ = ["app"]

app = typer.Typer(
    help="Learn from a stream with kernels: one pass, constant memory, second order.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

P = ParamSpec("P")


def _one_line_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Report invalid input in one line, with exit status 1 and without a traceback."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except BrokenPipeError:
            # The reader of the output, such as head, has closed it. Python would raise an error
            # when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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
    file: Annotated[Path, typer.Argument(help="CSV (with a header line) or Parquet file.")],
    target: Annotated[
        list[str], typer.Option("--target", "-t", help="Column to predict; may be repeated.")
    ],
    kernel: Annotated[
        str | None,
        typer.Option(
            help="Similarity of two rows: gaussian[:BANDWIDTH], laplacian, matern32, matern52, "
            "polynomial:DEGREE, linear, or a sum such as 0.4*gaussian:0.5+0.6*gaussian:2. "
            "Default gaussian. The default bandwidth is sqrt(number of columns)."
        ),
    ] = None,
    basis: Annotated[
        str | None,
        typer.Option(
            help="Which rows are stored: ald:TOLERANCE[,max_size=N], all_points, first_points:N. "
            "Default ald:1e-3; not used with budgeted learners."
        ),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            help="How the weights are fitted: ridge:REGULARIZATION, gradient:STEP, "
            "online_newton:MU, gauss_newton:REGULARIZATION; gradient and the Newtons with "
            "loss=LOSS; on a budget "
            "budgeted_gradient:STEP,budget=N, and for labels budgeted_perceptron:N and "
            "budgeted_passive_aggressive:N. Default ridge:1e-2, for labels gauss_newton:1e-2."
        ),
    ] = None,
    experts: Annotated[
        bool,
        typer.Option(
            "--experts",
            help="Instead of the three: twenty regressors of different bandwidths and "
            "regularizations, weighted by past errors. Nothing to tune, at twenty times the cost.",
        ),
    ] = False,
    classify: Annotated[
        bool,
        typer.Option("--classify", help="Treat a numeric target as a label."),
    ] = False,
    balance: Annotated[
        bool, typer.Option("--balance", help="Weight classes inversely to their frequency.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option("--save", "-s", help="Write the model to this file.")
    ] = None,
    scale: Annotated[
        bool,
        typer.Option(
            help="Standardize the columns by mean and deviation of the first batch of rows."
        ),
    ] = True,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Skip rows with missing values.")
    ] = False,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", "-x", help="Column not to learn from; may be repeated."),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="Delimiter of a CSV file; default a comma.")
    ] = None,
) -> None:
    """Learn to predict columns of a table from its other numeric columns, in one pass.

    A text column is a label; a numeric column is a label with --classify only.

    Each row is predicted before it is learned, so the error shown is the prequential error.
    """
    console = Console(stderr=True)
    parts: dict[str, Any] = {
        "kernel": None if kernel is None else parse_kernel(kernel),
        "basis": None if basis is None else parse_basis(basis),
        "learner": None if learner is None else parse_learner(learner),
    }
    if experts and any(part is not None for part in parts.values()):
        raise ValueError("--experts cannot be combined with --kernel, --basis or --learner")
    if save is not None and not save.resolve().parent.is_dir():
        raise ValueError(f"cannot save the model: {save.resolve().parent} is not a folder")
    if save is not None and save.exists() and not save.is_file():
        # The core would refuse it too, but only once everything is learned.
        raise ValueError(f"cannot save the model: {save} is not a regular file")
    table = Table(file, delimiter)
    targets = list(dict.fromkeys(target))
    excluded = exclude or []
    _require(table, [*targets, *excluded])
    features = [name for name in table.numeric if name not in {*targets, *excluded}]
    if not features:
        raise ValueError(f"{file} has no numeric column besides the target")
    model: TableRegressor | TableClassifier
    task: Task
    if classify or balance or any(table.is_text(name) for name in targets):
        _require_label(table, targets)
        if experts:
            raise ValueError("--experts need a numeric target, but the target is a label")
        classifier = KernelClassifier(**parts, class_weight="balanced" if balance else None)
        model = TableClassifier(classifier, features, targets[0], scale)
        task = Labels(features, targets[0], table.classes(targets[0]))
    else:
        _require(table, targets, numeric=True)
        regressor = KernelExperts() if experts else KernelRegressor(**parts)
        model = TableRegressor(regressor, features, targets, scale)
        task = Numbers(features, targets)
    _announce(console, table, features, targets)

    rows, skipped, stopped, bar = _pass_over(table, task, model, console, skip_missing)
    seconds, speed = bar.seconds, bar.rows_per_second
    if not rows:
        raise ValueError(f"{file} has no complete row ({skipped} skipped)")
    if stopped:
        console.print(f"stopped after {rows:,} rows")
    if save is not None:
        model.save(save)
    task.summarize(Console())
    facts = Grid.grid(padding=(0, 2))
    facts.add_row("rows learned", f"{rows:,}" + (f" ({skipped:,} skipped)" if skipped else ""))
    facts.add_row("points stored", f"{model.n_stored_:,}")
    facts.add_row("speed", f"{speed:,.0f} rows per second, {seconds:.1f} s in total")
    if save is not None:
        facts.add_row("model saved", f"{save} ({save.stat().st_size / 1024:,.0f} kB)")
    Console().print(facts)
    if stopped:
        raise typer.Exit(130)


@app.command()
@_one_line_errors
def predict(
    model: Annotated[Path, typer.Argument(help="Model file, written by 'learn --save'.")],
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file with the model's columns.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write to this .csv or .parquet file instead of the terminal."
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
    delimiter: Annotated[
        str | None, typer.Option(help="Delimiter of a CSV file; default a comma.")
    ] = None,
) -> None:
    """Predict the rows of a table with a saved model.

    If the table also contains the targets, the error is shown.
    """
    console = Console(stderr=True)
    estimator: Any = load(model)
    features, targets, classes = _columns_of(estimator, model)
    table = Table(file, delimiter)
    _require(table, features, numeric=True)
    task: Task
    if classes is not None:
        judged = targets[0] in table.schema.names and table.is_label(targets[0])
        task = Labels(features, targets[0], classes, judged, probabilities)
    elif probabilities:
        raise ValueError(f"{model} is a regression model, which predicts no probabilities")
    else:
        task = Numbers(features, targets, judged=set(targets) <= set(table.numeric))
    rows = 0
    with (
        column_writer(output, task.predicted) as write,
        ProgressBar(table.total, "predicting", console=console) as bar,
    ):
        for batch in table.batches(task.columns, task.label):
            inputs = batch.values[:, : len(features)]
            if not skip_missing:
                _complete(Batch(inputs, batch.first_row, batch.done), features, skip=False)
            sound = np.asarray(np.isfinite(inputs).all(axis=1))
            write(task.predict(estimator, batch, sound))
            rows += len(inputs)
            bar.update(batch.done, rows, task.error)
    if task.error.n_rows:
        task.summarize(console)
    if output is not None:
        console.print(f"{rows:,} predictions written to {output}")


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


def _require(table: Table, names: list[str], *, numeric: bool = False) -> None:
    have = table.schema.names
    for name in names:
        if name not in have:
            raise ValueError(f"{table.path} has no column {name!r}; it has: {', '.join(have)}")
        if numeric and name in table.left_out:
            raise ValueError(f"column {name!r} contains {table.left_out[name]}, not numbers")


def _require_label(table: Table, targets: list[str]) -> None:
    if len(targets) > 1:
        raise ValueError(f"only one label column can be learned, got {_listed(targets)}")
    if not table.is_label(targets[0]):
        kind = table.left_out.get(targets[0], "numbers with fractions")
        raise ValueError(
            f"column {targets[0]!r} contains {kind}, not labels (text, whole numbers or booleans)"
        )


def _announce(console: Console, table: Table, features: list[str], targets: list[str]) -> None:
    console.print(f"learning {_listed(targets)} from {len(features)} columns of {table.path}")
    left_out = {name: kind for name, kind in table.left_out.items() if name not in targets}
    if left_out:
        what = [f"{name} ({kind})" for name, kind in left_out.items()]
        console.print(f"omitted, not numeric: {_listed(what)}")


def _listed(names: list[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _pass_over(
    table: Table, task: Task, model: Any, console: Console, skip_missing: bool
) -> tuple[int, int, bool, ProgressBar]:
    """Learn a table; return rows learned, rows skipped, whether interrupted, and the bar."""
    rows = skipped = 0
    stopped = False
    with ProgressBar(table.total, console=console) as bar:
        try:
            for batch in table.batches(task.columns, task.label):
                whole, missing = _complete(batch, task.columns, task.label, skip=skip_missing)
                skipped += missing
                if len(whole.values):
                    task.learn(model, whole)
                    rows += len(whole.values)
                    bar.update(batch.done, rows, task.error, model.n_stored_)
        except KeyboardInterrupt:
            stopped = True
    return rows, skipped, stopped, bar


def _complete(
    batch: Batch, columns: list[str], label: str | None = None, *, skip: bool
) -> tuple[Batch, int]:
    """Select the complete rows, and count the others."""
    bad = ~np.isfinite(batch.values)
    gaps = bad.any(axis=1) | ~batch.labelled
    if not gaps.any():
        return batch, 0
    if not skip:
        row = int(gaps.argmax())
        column, what = label, "is missing"
        if bad[row].any():
            place = int(bad[row].argmax())
            column = columns[place]
            what = "is missing" if np.isnan(batch.values[row, place]) else "is infinite"
        raise ValueError(
            f"row {batch.first_row + row}, column {column!r}: the value {what}; "
            "impute it, or skip such rows with --skip-missing"
        )
    labels = None if batch.labels is None else batch.labels[~gaps]
    return Batch(batch.values[~gaps], batch.first_row, batch.done, labels), int(gaps.sum())


def _columns_of(estimator: Any, path: Path) -> tuple[list[str], list[str], Any]:
    """Return the features and targets of a model, and its classes or None."""
    if isinstance(estimator, TableRegressor):
        return estimator.features, estimator.targets, None
    if isinstance(estimator, TableClassifier):
        return estimator.features, estimator.targets, estimator.classifier.classes_
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and isinstance(estimator, KernelClassifier):
        return list(names), ["target"], estimator.classes_
    if names is None or not isinstance(estimator, KernelRegressor):
        raise ValueError(
            f"{path} contains a {type(estimator).__name__} without column names: fit it with "
            "'kernelstream learn' or on a data frame"
        )
    count = estimator.n_outputs_
    targets = ["target"] if count == 1 else [f"target{i}" for i in range(count)]
    return list(names), targets, None
