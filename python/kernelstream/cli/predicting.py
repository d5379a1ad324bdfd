"""The command ``predict``: a model and tables in, predictions out."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

from kernelstream.cli.batches import batches_of
from kernelstream.cli.beginning import columns_of
from kernelstream.cli.columns import Columns, can_be_label, check_alike
from kernelstream.cli.formats import open_table
from kernelstream.cli.gaps import Missing, usable
from kernelstream.cli.jsonlines import JsonLines
from kernelstream.cli.models import OnNumbers, load_model
from kernelstream.cli.output import column_writer
from kernelstream.cli.reader import Reader, is_number, kind_of, plain
from kernelstream.cli.replacing import check_writable
from kernelstream.cli.sources import Source, find_sources
from kernelstream.cli.tasks import Labels, Numbers, Task
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
        if self.output is not None and str(self.output) != "-":
            check_writable(self.output, "the predictions")
            place = self.output.resolve()
            if any(
                source.path is not None and source.path.resolve() == place for source in sources
            ):
                raise ValueError(f"--output {self.output}: that file is read")
        estimator = load_model(self.model)
        missing = Missing.SKIP if self.skip_missing else Missing.ERROR
        if getattr(estimator, "missing", None) == "fill":
            missing = Missing.FILL
        with ExitStack() as stack:
            first = stack.enter_context(self._open(sources[0]))
            for note in first.notes:
                self.console.print(f"{first.name}: {note}", markup=False, soft_wrap=True)
            columns, task = self._task(estimator, first)
            if not isinstance(estimator, TableRegressor | TableClassifier):
                estimator = OnNumbers(estimator, columns.features)
            sizes = [source.size for source in sources]
            total = None if None in sizes else sum(size or 0 for size in sizes)
            as_json = isinstance(first, JsonLines)
            write = stack.enter_context(
                column_writer(self.output, task.predicted, json_lines=as_json)
            )
            bar = stack.enter_context(ProgressBar(total, "predicting", console=self.console))
            rows = base = 0
            for source, size in zip(sources, sizes, strict=True):
                table = first if source is sources[0] else stack.enter_context(self._open(source))
                check_alike(table, columns, first.name)
                for batch in batches_of(source, table, columns, 0, lambda: _ROWS):
                    sound = usable(batch, columns, missing, need_target=False, remedy=_REMEDY)
                    write(task.predict(estimator, batch, sound))
                    rows += len(batch)
                    share = batch.done / table.total if table.total else 0.0
                    bar.update(base + int(share * (size or 0)), rows, task.error)
                table.close()
                base += size or 0
        if task.error.n_rows:
            task.summarize(self.console)
        if self.output is not None:
            self.console.print(
                f"{rows:,} predictions written to {self.output}", markup=False, soft_wrap=True
            )

    def _open(self, source: Source) -> Reader:
        # Lines of a pipe are answered as they come.
        return open_table(source, self.delimiter, self.encoding, live=True)

    def _task(self, estimator: Any, table: Reader) -> tuple[Columns, Task]:
        """Find the columns of a model in a table, its targets too if they are there."""
        columns, classes = _columns_of(estimator, self.model)
        targets, label = columns.targets, columns.label
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
            task: Task = Numbers(targets, judged=there)
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
