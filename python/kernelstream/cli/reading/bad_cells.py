"""Cells that are not of their column's type: refused, or counted and left out."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernelstream.cli.choices import BadCell

__all__ = ["BadCells"]

_NAMED = 3  # cells that are named at the end
WANTED = {
    "number": "a number",
    "boolean": "true or false",
    "time": "a time as the others",
    "label": "a whole number, as the labels before are",
    "first label": "a whole number",
}


@dataclass
class BadCells:
    """What becomes of cells that are not of their column's type, and how many there were.

    Attributes
    ----------
    policy : BadCell
        Whether the first one is an error, its row is left out, or its value is missing.
    count : int
        Cells so far.
    first : list of str
        The first ones, with their places.
    """

    policy: BadCell = BadCell.ERROR
    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, where: str, cell: str, kind: str, remedy: str) -> None:
        """Count a cell.

        Parameters
        ----------
        where : str
            Its table, row and column.
        cell, kind : str
            Its text, and the type of the column.
        remedy : str
            What the user can do about it.

        Raises
        ------
        ValueError
            Such cells are an error.
        """
        short = cell if len(cell) <= 40 else cell[:40] + "…"
        text = f"{where}: {short!r} is not {WANTED[kind]}"
        if self.policy is BadCell.ERROR:
            raise ValueError(f"{text}; {remedy}")
        self.count += 1
        if len(self.first) < _NAMED:
            self.first.append(text)

    def summary(self) -> str:
        """Give the number of cells and the first of them; empty if there was none."""
        if not self.count:
            return ""
        done = "rows left out" if self.policy is BadCell.SKIP else "taken for missing"
        more = f" and {self.count - len(self.first):,} more" if self.count > _NAMED else ""
        return f"{self.count:,} ({done}): {'; '.join(self.first)}{more}"
