"""The command ``predict``: a model and tables in, predictions out."""

from __future__ import annotations

from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

from kernelstream.cli.choices import Missing
from kernelstream.cli.reading.bad_cells import BadCells
from kernelstream.cli.reading.batches import batches_of
from kernelstream.cli.reading.columns import (
    Columns,
    check_alike,
    has_whole_numbers,
    listed,
    own_names,
    unused,
)
from kernelstream.cli.reading.gaps import usable
from kernelstream.cli.reading.reader import Reader
from kernelstream.cli.reading.sources import Extent, Source, find_sources
from kernelstream.cli.running.labels import Labels
from kernelstream.cli.running.messages import describe_repeated, print_notes
from kernelstream.cli.running.models import load_model
from kernelstream.cli.running.numbers import Numbers
from kernelstream.cli.running.options import RunOptions, check_coverage
from kernelstream.cli.running.progress import Progress
from kernelstream.cli.running.session import columns_of
from kernelstream.cli.running.task import Task
from kernelstream.cli.writing.identity import check_outputs
from kernelstream.cli.writing.messages import say
from kernelstream.cli.writing.predictions import check_ending, column_writer
from kernelstream.columns.arrow_types import can_be_label, is_number, kind_of, plain
from kernelstream.estimators.progress import ProgressBar

__all__ = ["Predicting"]

_ROWS = 4096
_REMEDY = (
    "write empty predictions for such rows with --skip-missing, or learn with --missing fill, "
    "which fills gaps"
)


@dataclass
class Predicting:
    """One run of ``predict``."""

    model: Path
    files: list[str]
    output: Path | None
    skip_missing: bool
    probabilities: bool
    coverage: float | None
    keep: list[str]
    options: RunOptions
    console: Console

    def run(self) -> None:
        """Predict everything.

        Raises
        ------
        ValueError, OSError
            Something is wrong with the model or a table.
        """
        sources = find_sources(self.files)
        inputs = [("model", self.model), *(("table", source.path) for source in sources)]
        check_outputs(inputs, {"output": self.output})
        check_ending(self.output)
        estimator = load_model(self.model)
        self._recall(estimator)
        bad_cells = BadCells(self.options.bad_cells)
        missing = Missing.SKIP if self.skip_missing else Missing.ERROR
        if getattr(estimator, "missing", None) == "fill":
            missing = Missing.FILL
        with ExitStack() as stack:
            first = stack.enter_context(self._open(sources[0]))
            printed = print_notes(self.console, first)
            columns, task = self._task(estimator, first)
            targets = columns_of(estimator, self.model).targets
            known = Columns(columns.kinds, [*columns.targets, *targets], kept=columns.kept)
            if names := unused(first, known):
                say(self.console, f"{first.name}: not used: {listed(names)}")
            extent = Extent(sources)
            write = stack.enter_context(
                column_writer(
                    self.output, [*columns.kept, *task.predicted], json_lines=first.is_json
                )
            )
            bar = stack.enter_context(ProgressBar(extent.total, "predicting", console=self.console))
            rows = 0
            for source in sources:
                with first if source is sources[0] else self._open(source) as table:
                    check_alike(table, columns, first.name)
                    printed = print_notes(self.console, table, printed)
                    found = batches_of(source, table, columns, 0, lambda: _ROWS, bad_cells)
                    for batch in found:
                        printed = print_notes(self.console, table, printed)
                        sound = usable(batch, columns, missing, need_target=False, remedy=_REMEDY)
                        with batch.naming(sound):
                            said = task.predict(estimator, batch, sound)
                        write([*batch.kept, *said])
                        rows += len(batch)
                        bar.update(extent.at(source, batch.share), rows, task.error)
                    if table.repeated:
                        say(self.console, f"headers repeated: {describe_repeated(table)}")
        if summary := bad_cells.summary():
            say(self.console, f"bad cells: {summary}")
        if task.error.n_rows:
            task.summarize(self.console)
            self._remark_on_learned(estimator, sources, task)
        if self.output is not None:
            say(self.console, f"{rows:,} predictions written to {self.output}")

    def _remark_on_learned(self, estimator: Any, sources: list[Source], task: Task) -> None:
        """Say that errors of rows that the model has learned are smaller than those of others."""
        progress = Progress.from_note(estimator._note, self.model)
        learned = [source.name for source in sources if progress.learned(source)]
        if not learned:
            return
        before = deepcopy(task.error)
        printed = ""
        if progress.error:
            before.set_state(progress.error)
            printed = f"; learn printed {before}" if before.n_rows else ""
        inside = "" if self.coverage is None else ", and fewer of them are inside their intervals"
        say(
            self.console,
            f"note: the model has learned {listed(learned)}: errors of new rows are larger"
            f"{inside}{printed}",
        )

    def _open(self, source: Source) -> Reader:
        # Lines of a pipe are answered as they arrive.
        return self.options.open(source, live=True)

    def _recall(self, estimator: Any) -> None:
        """Take over how the model's tables were read."""
        progress = Progress.from_note(estimator._note, self.model)
        self.options.recall(progress, columns_of(estimator, self.model), _classes_of(estimator))

    def _task(self, estimator: Any, table: Reader) -> tuple[Columns, Task]:
        """Find the columns of a model in a table, its targets too if they are there."""
        columns = columns_of(estimator, self.model)
        targets, label = columns.targets, columns.label
        check_coverage(self.coverage, label)
        check_alike(table, Columns(columns.kinds, []), str(self.model))
        names = {name: table.own_name(name) for name in targets}
        there = None not in names.values()
        own = {name: table.schema.field(names[name]).type for name in targets} if there else {}
        if label is None:
            if self.probabilities:
                raise ValueError(
                    f"{self.model} is a regression model, which predicts no probabilities"
                )
            there = there and all(
                is_number(plain(own[name])) or pa.types.is_null(own[name]) for name in targets
            )
            task: Task = Numbers(targets, judged=there, coverage=self.coverage)
        else:
            there = there and _can_be_judged(table, str(names[label]), columns.label_type)
            task = Labels(
                label, _classes_of(estimator), judged=there, probabilities=self.probabilities
            )
        if not there:
            columns = Columns(columns.kinds, [], zones=columns.zones)
        columns.kept = own_names(table, self.keep)
        return columns, task


def _can_be_judged(table: Reader, name: str, label_type: pa.DataType) -> bool:
    """Tell whether a column holds labels of this type."""
    own = table.schema.field(name).type
    if pa.types.is_floating(own) and pa.types.is_integer(label_type):
        # Without a sample a fraction is an error at its row.
        return has_whole_numbers(table, name) is not False
    # Anything can be read as text.
    return can_be_label(own) and kind_of(label_type) in {"category", kind_of(own)}


def _classes_of(estimator: Any) -> Any:
    """Give the labels of a classifier; None of a regressor."""
    return getattr(estimator, "classes_", None)
