"""The command line: learn a table, predict with what was learned, watch a demo."""

from __future__ import annotations

import csv
import functools
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as Grid

from kernelstream import __version__, demos
from kernelstream._display import LearningBar
from kernelstream._metrics import RunningError
from kernelstream._modelfile import load
from kernelstream._specs import parse_basis, parse_kernel, parse_learner
from kernelstream._tables import Batch, Table
from kernelstream.regressor import KernelRegressor
from kernelstream.table import TableRegressor

__all__ = ["app"]

app = typer.Typer(
    help="Learn from a stream with kernels: one pass, constant memory, second order.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

P = ParamSpec("P")


def _one_line_errors(command: Callable[P, None]) -> Callable[P, None]:
    """End with one line and status 1 where the user's input is at fault, not with a traceback."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except BrokenPipeError:
            # The reader of the output, such as head, has had enough. Python would complain when it
            # flushes at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except (ValueError, TypeError, OSError, ImportError, pa.ArrowException) as error:
            message = " ".join(str(error).split())
            if isinstance(error, OSError) and error.filename and error.strerror:
                message = f"{error.filename}: {error.strerror}"
            typer.secho(f"error: {message}", err=True, fg="red")
            raise typer.Exit(1) from None

    return wrapped


def _version(asked: bool) -> None:
    if asked:
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
        str,
        typer.Option(
            help="How alike two rows are: gaussian[:BANDWIDTH], laplacian, matern32, matern52, "
            "polynomial:DEGREE, linear, or a sum such as 0.4*gaussian:0.5+0.6*gaussian:2. "
            "The default bandwidth is sqrt(number of columns)."
        ),
    ] = "gaussian",
    basis: Annotated[
        str | None,
        typer.Option(
            help="Which rows are stored: ald:TOLERANCE[,max_size=N], all_points, first_points:N. "
            "The default is ald:1e-3; budgeted learners choose themselves."
        ),
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            help="How weights follow: ridge:REGULARIZATION, gradient:STEP, newton:MU; on a budget "
            "functional_gradient:STEP,budget=N, and for labels of -1 and 1 perceptron:N and "
            "passive_aggressive:N."
        ),
    ] = "ridge:1e-2",
    save: Annotated[
        Path | None, typer.Option("--save", "-s", help="Write the model to this file.")
    ] = None,
    scale: Annotated[
        bool,
        typer.Option(
            help="Standardize the columns by the mean and deviation of the first batch of rows."
        ),
    ] = True,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Pass over rows with missing values.")
    ] = False,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", "-x", help="Column not to learn from; may be repeated."),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="Between columns of a CSV file; default a comma.")
    ] = None,
) -> None:
    """Learn to predict columns of a table from its other numeric columns, in one pass.

    Each row is predicted before it is learned, so the error shown is that on rows not yet seen.
    """
    console = Console(stderr=True)
    regressor = KernelRegressor(
        parse_kernel(kernel), None if basis is None else parse_basis(basis), parse_learner(learner)
    )
    if save is not None and not save.resolve().parent.is_dir():
        raise ValueError(f"{save.resolve().parent} is not a folder")
    table = Table(file, delimiter)
    targets = list(dict.fromkeys(target))
    excluded = exclude or []
    _require(table, [*targets, *excluded], numeric=targets)
    features = [name for name in table.numeric if name not in {*targets, *excluded}]
    if not features:
        raise ValueError(f"{file} has no numeric column to learn from beside the target")
    _announce(console, table, features, targets)

    model = TableRegressor(regressor, features, targets, scale)
    error = RunningError(len(targets))
    skipped = rows = 0
    stopped = False
    with LearningBar(console, table.total) as bar:
        try:
            for batch in table.batches([*features, *targets]):
                values, missing = _complete(batch, [*features, *targets], skip=skip_missing)
                skipped += missing
                if len(values):
                    X, y = values[:, : len(features)], values[:, len(features) :]
                    error.update(y, model.partial_fit_predict(X, y))
                    rows += len(values)
                    bar.update(batch.done, rows, error, regressor.n_stored_)
        except KeyboardInterrupt:
            stopped = True
    seconds, speed = bar.seconds, bar.rows_per_second
    if not rows:
        raise ValueError(f"{file} has no row to learn from ({skipped} skipped)")
    if stopped:
        console.print(f"stopped after {rows:,} rows")
    if save is not None:
        model.save(save)
    _summarize(Console(), error, targets)
    facts = Grid.grid(padding=(0, 2))
    facts.add_row("rows learned", f"{rows:,}" + (f" ({skipped:,} skipped)" if skipped else ""))
    facts.add_row("points stored", f"{regressor.n_stored_:,}")
    facts.add_row("speed", f"{speed:,.0f} rows per second, {seconds:.1f} s in all")
    if save is not None:
        facts.add_row("model saved", f"{save} ({save.stat().st_size / 1024:,.0f} kB)")
    Console().print(facts)
    if stopped:
        raise typer.Exit(130)


@app.command()
@_one_line_errors
def predict(
    model: Annotated[Path, typer.Argument(help="File that 'learn --save' wrote.")],
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file with the model's columns.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write to this .csv or .parquet file, not to the terminal."
        ),
    ] = None,
    skip_missing: Annotated[
        bool,
        typer.Option("--skip-missing", help="Leave predictions empty where values are missing."),
    ] = False,
    delimiter: Annotated[
        str | None, typer.Option(help="Between columns of a CSV file; default a comma.")
    ] = None,
) -> None:
    """Predict the rows of a table with a saved model.

    Where the table also holds the targets, the error is shown.
    """
    console = Console(stderr=True)
    estimator = load(model)
    features, targets = _columns_of(estimator, model)
    table = Table(file, delimiter)
    _require(table, features, numeric=features)
    judged = targets if set(targets) <= set(table.numeric) else []
    error = RunningError(len(targets))
    rows = 0
    with _writer(output, targets) as write, LearningBar(console, table.total, "predicting") as bar:
        for batch in table.batches([*features, *judged]):
            inputs = batch.values[:, : len(features)]
            whole = np.isfinite(inputs).all(axis=1)
            if not skip_missing:
                _complete(Batch(inputs, batch.first_row, batch.done), features, skip=False)
            predictions = np.full((len(inputs), len(targets)), np.nan)
            if whole.any():
                with warnings.catch_warnings():
                    # The columns were picked by the names that scikit-learn would miss here.
                    warnings.filterwarnings("ignore", "X does not have valid feature names")
                    answers = estimator.predict(inputs[whole])
                predictions[whole] = answers.reshape(-1, len(targets))
            write(predictions)
            if judged:
                truth = batch.values[:, len(features) :]
                known = whole & np.isfinite(truth).all(axis=1)
                error.update(truth[known], predictions[known])
            rows += len(inputs)
            bar.update(batch.done, rows, error if judged else None)
    if judged and error.n_rows:
        _summarize(console, error, targets)
    if output is not None:
        console.print(f"{rows:,} predictions written to {output}")


@app.command()
@_one_line_errors
def demo(
    name: Annotated[
        str, typer.Argument(help=f"Which one: {', '.join(demos.NAMES)}.")
    ] = demos.NAMES[0],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the picture.")] = Path(
        "demo_output"
    ),
) -> None:
    """Watch a stream being learned, and get a picture of it."""
    demos.run(name, output, Console())


def _require(table: Table, names: list[str], numeric: list[str]) -> None:
    have = table.schema.names
    for name in names:
        if name not in have:
            raise ValueError(f"{table.path} has no column {name!r}; it has: {', '.join(have)}")
    for name in numeric:
        if name in table.left_out:
            raise ValueError(f"column {name!r} holds {table.left_out[name]}, not numbers")


def _announce(console: Console, table: Table, features: list[str], targets: list[str]) -> None:
    console.print(f"learning {_listed(targets)} from {len(features)} columns of {table.path}")
    if table.left_out:
        what = [f"{name} ({kind})" for name, kind in table.left_out.items()]
        console.print(f"left out, not numeric: {_listed(what)}")


def _listed(names: list[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _complete(batch: Batch, columns: list[str], *, skip: bool) -> tuple[NDArray[np.float64], int]:
    """Give the rows without a gap, and the number of the others."""
    bad = ~np.isfinite(batch.values)
    rows = bad.any(axis=1)
    if not rows.any():
        return batch.values, 0
    if not skip:
        row, column = (int(place) for place in np.argwhere(bad)[0])
        what = "is missing" if np.isnan(batch.values[row, column]) else "is infinite"
        raise ValueError(
            f"row {batch.first_row + row}, column {columns[column]!r}: the value {what}; "
            "fill it, or pass over such rows with --skip-missing"
        )
    return batch.values[~rows], int(rows.sum())


def _summarize(console: Console, error: RunningError, targets: list[str]) -> None:
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("target")
    for title in ("RMSE", "running mean's", "R²"):
        grid.add_column(title, justify="right")
    rows = zip(targets, error.rmse, error.baseline_rmse, error.r2, strict=True)
    for name, rmse, baseline, r2 in rows:
        grid.add_row(name, f"{rmse:.5g}", f"{baseline:.5g}", f"{r2:.4f}")
    console.print(grid)


def _columns_of(estimator: Any, path: Path) -> tuple[list[str], list[str]]:
    if isinstance(estimator, TableRegressor):
        return estimator.features, estimator.targets
    names = getattr(estimator, "feature_names_in_", None)
    if not isinstance(estimator, KernelRegressor) or names is None:
        raise ValueError(
            f"{path} holds a {type(estimator).__name__} that knows no column names: learn it with "
            "'kernelstream learn', or from a data frame"
        )
    count = estimator.n_outputs_
    return list(names), ["target"] if count == 1 else [f"target{i}" for i in range(count)]


@contextmanager
def _writer(
    output: Path | None, targets: list[str]
) -> Iterator[Callable[[NDArray[np.float64]], None]]:
    """Give a function that writes predictions, to a file that appears only when all went well."""
    names = [f"{name}_predicted" for name in targets]
    schema = pa.schema([(name, pa.float64()) for name in names])

    def columns(predictions: NDArray[np.float64]) -> pa.RecordBatch:
        # NaN stands for no prediction, which a file shows as an empty field.
        arrays = [pa.array(column, from_pandas=True) for column in predictions.T]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def csv_writer(sink: Any) -> Callable[[NDArray[np.float64]], None]:
        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(names)
        sink.write(header.getvalue().encode())

        def write(predictions: NDArray[np.float64]) -> None:
            lines = pa.BufferOutputStream()
            pa_csv.write_csv(columns(predictions), lines, pa_csv.WriteOptions(include_header=False))
            sink.write(lines.getvalue().to_pybytes())

        return write

    if output is None:
        yield csv_writer(sys.stdout.buffer)
        return
    part = output.with_name(output.name + ".part")
    try:
        if output.suffix.lower() in {".parquet", ".pq"}:
            with pa_parquet.ParquetWriter(part, schema) as parquet:
                yield lambda predictions: parquet.write_batch(columns(predictions))
        else:
            with part.open("wb") as file:
                yield csv_writer(file)
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)
