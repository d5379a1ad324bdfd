"""The command ``predict``: a model and tables in, predictions out."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

from kernelstream.cli.choices import Missing
from kernelstream.cli.reading.batches import batches_of
from kernelstream.cli.reading.columns import Columns, check_alike
from kernelstream.cli.reading.formats import open_table
from kernelstream.cli.reading.gaps import usable
from kernelstream.cli.reading.kinds import can_be_label, is_number, kind_of, plain
from kernelstream.cli.reading.reader import Reader
from kernelstream.cli.reading.sources import Extent, Source, find_sources
from kernelstream.cli.running.beginning import columns_of
from kernelstream.cli.running.labels import Labels
from kernelstream.cli.running.models import OnNumbers, load_model
from kernelstream.cli.running.numbers import Numbers
from kernelstream.cli.running.task import Task
from kernelstream.cli.running.wishes import check_coverage
from kernelstream.cli.writing.identity import check_outputs
from kernelstream.cli.writing.messages import say
from kernelstream.cli.writing.predictions import column_writer
from kernelstream.estimators.progress import ProgressBar
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.regressor import KernelRegressor
from kernelstream.supervised.tables import TableClassifier, TableRegressor

__all__ = ["Predicting"]

_ROWS = 4096
_REMEDY = "fill the gap, or write empty predictions for such rows with --skip-missing"


@dataclass
class Predicting:
    """One run of ``predict``.

    Parameters
    ----------
    model : Path
        The model file.
    files : list of str
        The tables.
    output : Path or None
        Where to; None: the standard output.
    skip_missing, probabilities : bool
        Whether incomplete rows get empty predictions, and labels their probabilities.
    coverage : float or None
        The share of numbers that intervals are to hold; None: no intervals.
    delimiter, encoding : str or None
        How text is written.
    console : Console
        Where messages go.
    """

    model: Path
    files: list[str]
    output: Path | None
    skip_missing: bool
    probabilities: bool
    coverage: float | None
    delimiter: str | None
    encoding: str | None
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
        estimator = load_model(self.model)
        missing = Missing.SKIP if self.skip_missing else Missing.ERROR
        if getattr(estimator, "missing", None) == "fill":
            missing = Missing.FILL
        with ExitStack() as stack:
            first = stack.enter_context(self._open(sources[0]))
            for note in first.notes:
                say(self.console, f"{first.name}: {note}")
            columns, task = self._task(estimator, first)
            if not isinstance(estimator, TableRegressor | TableClassifier):
                estimator = OnNumbers(estimator, columns.features)
            extent = Extent(sources)
            write = stack.enter_context(
                column_writer(self.output, task.predicted, json_lines=first.is_json)
            )
            bar = stack.enter_context(ProgressBar(extent.total, "predicting", console=self.console))
            rows = 0
            for source in sources:
                with first if source is sources[0] else self._open(source) as table:
                    check_alike(table, columns, first.name)
                    for batch in batches_of(source, table, columns, 0, lambda: _ROWS):
                        sound = usable(batch, columns, missing, need_target=False, remedy=_REMEDY)
                        with batch.naming(sound):
                            said = task.predict(estimator, batch, sound)
                        write(said)
                        rows += len(batch)
                        bar.update(extent.at(source, batch.share), rows, task.error)
        if task.error.n_rows:
            task.summarize(self.console)
        if self.output is not None:
            say(self.console, f"{rows:,} predictions written to {self.output}")

    def _open(self, source: Source) -> Reader:
        # Lines of a pipe are answered as they come.
        return open_table(source, self.delimiter, self.encoding, live=True)

    def _task(self, estimator: Any, table: Reader) -> tuple[Columns, Task]:
        """Find the columns of a model in a table, its targets too if they are there."""
        columns, classes = _columns_of(estimator, self.model)
        targets, label = columns.targets, columns.label
        check_coverage(self.coverage, label)
        check_alike(table, Columns(columns.kinds, []), str(self.model))
        own = {name: table.schema.field(name).type for name in table.schema.names}
        there = set(targets) <= own.keys()
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
            # Anything can be read as text.
            there = there and can_be_label(own[label])
            there = there and kind_of(columns.label_type) in {"category", kind_of(own[label])}
            task = Labels(label, classes, judged=there, probabilities=self.probabilities)
        if not there:
            columns = Columns(columns.kinds, [])
        return columns, task


def _columns_of(estimator: Any, path: Path) -> tuple[Columns, Any]:
    """Give the columns of a model, and its classes or None."""
    if isinstance(estimator, TableRegressor | TableClassifier):
        columns = columns_of(estimator)
        return columns, getattr(estimator, "classes_", None) if columns.label else None
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or not isinstance(estimator, KernelRegressor | KernelClassifier):
        raise ValueError(
            f"{path} contains a {type(estimator).__name__} without column names: fit it with "
            "'kernelstream learn' or on a data frame"
        )
    kinds = dict.fromkeys(names, "number")
    if isinstance(estimator, KernelClassifier):
        kind = pa.from_numpy_dtype(estimator.classes_.dtype)
        return Columns(kinds, ["target"], "target", kind), estimator.classes_
    count = estimator.n_outputs_
    targets = ["target"] if count == 1 else [f"target{i}" for i in range(count)]
    return Columns(kinds, targets), None
