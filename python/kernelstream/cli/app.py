"""The commands: learn, predict, explain, show, merge, find dynamics, run a demonstration."""

from __future__ import annotations

from inspect import cleandoc
from shutil import get_terminal_size
from typing import Annotated

import typer

from kernelstream import __version__
from kernelstream.cli.commands.demo import demo
from kernelstream.cli.commands.dynamics import dynamics
from kernelstream.cli.commands.explain import explain
from kernelstream.cli.commands.info import info
from kernelstream.cli.commands.learn import learn
from kernelstream.cli.commands.parts import freeze, merge
from kernelstream.cli.commands.predict import predict

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


def _help(docstring: str) -> str:
    """Give a docstring with one line per paragraph, which a terminal wraps."""
    paragraphs = cleandoc(docstring).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


for command in (learn, predict, explain, info, dynamics, merge, freeze, demo):
    app.command(help=_help(command.__doc__ or ""))(command)
