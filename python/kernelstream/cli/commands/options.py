"""What commands have in common: options, and errors in one line."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, ParamSpec

import typer

from kernelstream.cli.choices import BadCell
from kernelstream.cli.writing.failures import close_output
from kernelstream.cli.writing.messages import printable
from kernelstream.estimators.advice import naming_options
from kernelstream.starting import interrupt_again

__all__ = [
    "FILES_PANEL",
    "MODEL_PANEL",
    "BadCells",
    "Dates",
    "Delimiter",
    "Encoding",
    "MissingValues",
    "Output",
    "SavedModel",
    "Tables",
    "one_line_errors",
    "separated",
]

P = ParamSpec("P")

MODEL_PANEL, FILES_PANEL = "The model", "Models and figures"

Delimiter = Annotated[
    str | None, typer.Option(help="Delimiter of a CSV file. Default: it is found out.")
]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding of text, such as latin-1. Default: it is found out.")
]

MissingValues = Annotated[
    str | None,
    typer.Option(
        help="Texts that stand for a missing value, separated by commas, such as NA,-9999; no "
        "others do but empty cells. Default: the usual ones, such as NA, nan, null, and in columns "
        "of numbers ? and -; a text in quotation marks is a value."
    ),
]
Dates = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=FORMAT",
        help="How the times of a column of a CSV file are written that are not ISO 8601, such as "
        "day=%d/%m/%Y, or when=ms for milliseconds since 1970; may be repeated. Default: found "
        "where day and month can be distinguished.",
    ),
]
BadCells = Annotated[
    BadCell,
    typer.Option(
        help="A cell that is not of its column's type is an error, its row is left out (skip), or "
        "its value is missing; they are counted, and the first ones named."
    ),
]


SavedModel = Annotated[Path, typer.Argument(help="Model file, written by 'learn --save'.")]
Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE", help="Tables with the model's columns, as for 'learn'; - for a pipe."
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Write to this .csv, .jsonl or .parquet file instead of the terminal.",
    ),
]


def separated(text: str | None) -> list[str] | None:
    """Split a list of texts that are separated by commas."""
    return None if text is None else [part.strip() for part in text.split(",")]


def one_line_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Report invalid input in one line, with exit status 1 and without a traceback.

    Warnings are notes, a line each.
    """

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        # Slow imports are here, where Ctrl-C still ends the process.
        import pyarrow as pa

        import_module("kernelstream.public")

        interrupt_again()
        try:
            with warnings.catch_warnings(), naming_options():
                # The place in the code does not help the user of a command.
                warnings.showwarning = lambda message, *_: typer.echo(
                    f"note: {printable(str(message))}", err=True
                )
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
            typer.secho(f"error: {printable(message)}", err=True, fg="red")
            raise typer.Exit(1) from None

    return wrapped
