"""Tables on the screen and, the same, as Markdown in benchmarks/output."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import track
from rich.table import Table

T = TypeVar("T")

OUTPUT = Path(__file__).resolve().parent / "output"


def chosen(
    parser: argparse.ArgumentParser,
    items: Iterable[T],
    only: str | None,
    name: Callable[[T], str] = str,
) -> list[T]:
    """Those whose name begins as `--only` says, or all; it is an error if there are none."""
    known = list(items)
    found = [item for item in known if name(item).startswith(only or "")]
    if not found:
        parser.error(f"nothing begins with {only!r}: {', '.join(map(name, known))}")
    return found


@dataclass
class Report:
    """A page of titled tables and remarks."""

    name: str
    console: Console = field(default_factory=lambda: Console(width=150))
    lines: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        self.console.rule(text, align="left")
        self.lines += [f"## {text}", ""]

    def remark(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False)
        self.lines += [text, ""]

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print rows of cells; the first column is text, the others are numbers."""
        shown = Table(pad_edge=False)
        for i, column in enumerate(columns):
            shown.add_column(column, justify="right" if i else "left")
        for row in rows:
            shown.add_row(*row)
        self.console.print(shown)
        cells = [columns, ["---"] + ["---:"] * (len(columns) - 1), *rows]
        self.lines += ["|" + "|".join(row) + "|" for row in cells] + [""]

    def text(self, markdown: str) -> None:
        """Print paragraphs and lists as they are."""
        self.console.print(markdown, highlight=False, markup=False)
        self.lines += [markdown, ""]

    def picture(self, path: Path, text: str) -> None:
        self.console.print(f"{text}: {path}", highlight=False, markup=False)
        self.lines += [f"![{text}]({path.name})", ""]

    def track(self, items: Sequence[T], label: str) -> Iterable[T]:
        """The items, with a bar of progress where a person looks on."""
        watched = self.console.is_terminal
        return track(items, label, console=self.console, transient=True, disable=not watched)

    def write(self) -> Path:
        OUTPUT.mkdir(exist_ok=True)
        path = OUTPUT / f"{self.name}.md"
        path.write_text("\n".join(self.lines), encoding="utf-8")
        self.console.print(f"written to {path}")
        return path
