"""Options of a run: input, output and the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelstream.cli.choices import WINDOW, BadCell, Missing
from kernelstream.cli.reading.columns import Columns, own_names
from kernelstream.cli.reading.formats import open_table
from kernelstream.cli.reading.raw import closed_on_error
from kernelstream.cli.reading.reader import Reader
from kernelstream.cli.reading.sources import Source
from kernelstream.cli.running.progress import Progress
from kernelstream.cli.writing.identity import check_outputs
from kernelstream.cli.writing.predictions import check_ending
from kernelstream.columns.texts import ABSENT, Numerals

__all__ = ["Paths", "RunOptions", "check_coverage"]


@dataclass
class Paths:
    """What a run reads and writes.

    Attributes
    ----------
    files : list of str
        The tables.
    save, checkpoint, begun_from : Path or None
        Model files: written at the end, written and continued, continued.
    every : str
        When checkpoints are written.
    predict_to, metrics, plot : Path or None
        Where predictions, figures and the picture go.
    again : bool
        Whether to learn files that were learned before.
    skip_seen : bool
        Whether a pipe begins with the rows of the one before, which are passed over.
    compact : bool
        Whether the model file at the end is a compact one.
    """

    files: list[str]
    save: Path | None = None
    checkpoint: Path | None = None
    begun_from: Path | None = None
    every: str = "60s"
    predict_to: Path | None = None
    metrics: Path | None = None
    plot: Path | None = None
    again: bool = False
    skip_seen: bool = False
    compact: bool = False

    @property
    def written(self) -> dict[str, str]:
        """Files besides models that are written, by what is written; without standard output."""
        paths = {
            "predictions written": self.predict_to,
            "metrics written": self.metrics,
            "picture written": self.plot,
        }
        return {
            what: str(path) for what, path in paths.items() if path is not None and str(path) != "-"
        }

    def check(self, sources: Sequence[Source]) -> None:
        """Check that everything can be written, and that no output is another file of this run.

        Raises
        ------
        ValueError
            A path is not suitable.
        """
        tables = [("table", source.path) for source in sources]
        outputs = {
            "save": self.save,
            "checkpoint": self.checkpoint,
            "predict-to": self.predict_to,
            "metrics": self.metrics,
            "plot": self.plot,
        }
        check_outputs([*tables, ("from", self.begun_from)], outputs, ("save", "checkpoint"))
        if self.compact and self.save is None:
            raise ValueError("--compact makes the file of --save smaller: give --save MODEL too")
        check_ending(self.predict_to)


@dataclass
class RunOptions:
    """Options of the model.

    Attributes
    ----------
    targets, excluded, categories, numbers : list of str
        Columns to predict, not to learn from, and to take for categories or numbers.
    missing : Missing
        What to do with missing values.
    missing_values : list of str or None
        Texts that stand for a missing value; None: the usual ones.
    bad_cells : BadCell
        What to do with cells that are not of their column's type.
    explain : bool
        Whether to show how the types of columns were settled.
    dates : list of str
        Columns and how their times are written, ``COLUMN=FORMAT``.
    numerals : dict of str to Numerals
        How numbers are written in columns of text, once a first table has settled it.
    texts : list of str
        More texts that are values in each column, even if they usually mean a missing value.
    kernel, basis, learner : str or None
        Its parts.
    experts, classify, balance, scale : bool
        As the options of the same names.
    classes : str or None
        Every possible label, separated by commas.
    delimiter, encoding : str or None
        How text is written.
    window : int
        The last rows whose error is shown.
    coverage : float or None
        The share of targets that intervals are to hold.
    """

    targets: list[str]
    excluded: list[str]
    categories: list[str]
    missing: Missing = Missing.ERROR
    kernel: str | None = None
    basis: str | None = None
    learner: str | None = None
    experts: bool = False
    classify: bool = False
    balance: bool = False
    scale: bool = True
    classes: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    window: int = WINDOW
    coverage: float | None = None
    numbers: list[str] = field(default_factory=list)
    missing_values: list[str] | None = None
    bad_cells: BadCell = BadCell.ERROR
    explain: bool = False
    texts: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    numerals: dict[str, Numerals] = field(default_factory=dict)

    def open(self, source: Source, *, live: bool = False, time: str | None = None) -> Reader:
        """Open a table with these options, and perhaps a column that is one of times."""
        # Where the labels are named, each text that is one of them is a value.
        texts = self.texts + self.categories
        texts += self.targets if self.classes is not None else []
        table = open_table(
            source,
            self.delimiter,
            self.encoding,
            live=live,
            missing_values=self.missing_values,
            texts=texts if self.missing_values is None else (),
        )
        with closed_on_error(table):
            table.obey(self.numerals)
            ways = self._ways_of_dates(table)
            own = None if time is None else table.own_name(time)
            form, note = table.like_times.get(own or "", ("", ""))
            # Seconds since 1970 are a clock as they are; 20240131 is none.
            if own is not None and own not in ways and form.startswith("%Y"):
                ways[own] = Numerals(date=form)
                said = f"{own} holds whole numbers that are read as times {form}"
                table.notes[table.notes.index(note)] = said
            table.obey(ways)
        return table

    def _ways_of_dates(self, table: Reader) -> dict[str, Numerals]:
        """Give the forms of times that the user set for columns."""
        ways = {}
        for text in self.dates:
            name, equals, form = text.partition("=")
            if not (equals and name and form):
                raise ValueError(
                    f"--dates {text!r}: a column and the format of its times are needed, such as "
                    "'day=%d/%m/%Y', or 'when=ms' for milliseconds since 1970"
                )
            own_names(table, [name])
            ways[name] = Numerals(date=form)
        return ways

    def recall(
        self,
        progress: Progress,
        columns: Columns,
        classes: Any,
    ) -> None:
        """Set the reading of tables from the options stored with a model."""
        options, self.numerals = progress.options, progress.numerals
        if classes is not None and set(map(str, classes.tolist())) & set(ABSENT):
            self.texts = list(columns.targets)
        self.categories = self.categories or list(options.get("category") or [])
        self.numbers = self.numbers or list(options.get("number") or [])
        if self.missing_values is None:
            self.missing_values = options.get("missing-values")

    def given(self) -> dict[str, Any]:
        """Give the options that differ from their defaults and determine the model."""
        options: dict[str, Any] = {
            "target": self.targets,
            "exclude": self.excluded,
            "category": self.categories,
            "number": self.numbers,
            "missing-values": self.missing_values,
            "missing": "fill" if self.missing is Missing.FILL else None,
            "kernel": self.kernel,
            "basis": self.basis,
            "learner": self.learner,
            "experts": self.experts,
            "classify": self.classify,
            "balance": self.balance,
            "no-scale": not self.scale,
        }
        return {name: value for name, value in options.items() if value}


def check_coverage(coverage: float | None, label: str | None = None) -> None:
    """Check that intervals of a coverage are possible, if they are requested.

    Raises
    ------
    ValueError
        It is none, or a label is predicted.
    """
    if coverage is not None and not 0.0 < coverage < 1.0:
        raise ValueError(f"--coverage must be above 0 and below 1, got {coverage}")
    if coverage is not None and label is not None:
        raise ValueError(
            f"--coverage is for numbers: {label!r} is a label, whose probabilities "
            "'predict --probabilities' gives"
        )
