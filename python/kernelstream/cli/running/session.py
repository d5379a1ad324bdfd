"""The model of a run: new, or continued."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelstream.cli.choices import Missing
from kernelstream.cli.reading.batches import find_classes
from kernelstream.cli.reading.columns import Columns, check_alike, choose, listed
from kernelstream.cli.reading.reader import Reader
from kernelstream.cli.reading.sources import Source
from kernelstream.cli.running.labels import Labels
from kernelstream.cli.running.models import load_model
from kernelstream.cli.running.numbers import Numbers
from kernelstream.cli.running.options import RunOptions, check_coverage
from kernelstream.cli.running.progress import Progress
from kernelstream.cli.running.task import Task
from kernelstream.components.parser import parse_basis, parse_kernel, parse_learner
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.columns import columns_of as columns_in
from kernelstream.supervised.experts import KernelExperts
from kernelstream.supervised.experts_classifier import KernelExpertsClassifier
from kernelstream.supervised.regressor import KernelRegressor
from kernelstream.supervised.texts import with_ways

__all__ = ["Session", "begin", "columns_of", "recall", "resume"]


@dataclass
class Session:
    """A model, and what it is to learn.

    Attributes
    ----------
    model : KernelRegressor or KernelClassifier
        The model.
    columns : Columns
        Its columns.
    task : Task
        How it learns them.
    progress : Progress
        What it has learned so far.
    n_before : int, default=0
        Rows that it had seen when this run began.
    """

    model: Any
    columns: Columns
    task: Task
    progress: Progress
    n_before: int = 0

    @property
    def n_seen(self) -> int:
        """Rows that the model has seen, in all its runs."""
        return int(self.model.n_seen_) if self.model.__sklearn_is_fitted__() else 0

    def save(self, path: Path, *, compact: bool = False) -> None:
        """Save the model, with what it has learned so far, in a compact file if that is wanted.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        self.progress.error = self.task.error.to_state()
        self.model._note = self.progress.to_note(path)
        # So that a frame or dict with the file's texts is read alike.
        known = columns_in(self.model)
        if known.kinds:
            self.model._columns = known.with_kinds(with_ways(known.kinds, self.progress.numerals))
        self.model.save(path, compact=compact)


def begin(options: RunOptions, table: Reader, sources: Sequence[Source]) -> Session:
    """Begin a new model.

    Raises
    ------
    ValueError
        It cannot be.
    """
    parts: dict[str, Any] = {
        "kernel": None if options.kernel is None else parse_kernel(options.kernel),
        "basis": None if options.basis is None else parse_basis(options.basis),
        "learner": None if options.learner is None else parse_learner(options.learner),
    }
    if options.experts and any(part is not None for part in parts.values()):
        raise ValueError("--experts cannot be combined with --kernel, --basis or --learner")
    classify = options.classify or options.balance or options.classes is not None
    columns = choose(
        table,
        options.targets,
        options.excluded,
        options.categories,
        options.numbers,
        classify=classify,
        fill=options.missing is Missing.FILL,
    )
    options.numerals = columns.numerals
    how: dict[str, Any] = {
        "columns": _kinds_of(columns),
        "scale": options.scale,
        "missing": "fill" if options.missing is Missing.FILL else "error",
    }
    if not options.experts:
        how |= parts
    model: KernelRegressor | KernelClassifier
    classes, grows = None, False
    if columns.label is not None:
        classes, grows = _classes(options, columns, table, sources)
        how |= {"class_weight": "balanced" if options.balance else None}
        model = KernelExpertsClassifier(**how) if options.experts else KernelClassifier(**how)
    else:
        model = KernelExperts(**how) if options.experts else KernelRegressor(**how)
    task = _task(options, columns, classes, grows, named=options.classes is not None)
    progress = Progress(options=options.given(), numerals=columns.numerals)
    return Session(model, columns, task, progress)


def recall(options: RunOptions, path: Path) -> Any:
    """Load a model that resumes, and take over how its tables are read.

    Raises
    ------
    TypeError
        It is none that learns tables.
    """
    model = load_model(path)
    columns = columns_of(model, path, options.targets)
    options.recall(Progress.from_note(model._note, path), columns, _classes_of(model))
    return model


def resume(options: RunOptions, path: Path, model: Any, table: Reader) -> Session:
    """Continue a saved model.

    Raises
    ------
    ValueError
        It differs from the options, or a column is missing.
    """
    progress = Progress.from_note(model._note, path)
    columns = columns_of(model, path, options.targets)
    progress.options = {"target": columns.targets} | progress.options
    progress.check_options(options.given(), path)
    check_alike(table, columns, str(path))
    task = _task(options, columns, _classes_of(model))
    if model.missing == "fill":
        options.missing = Missing.FILL
    if progress.finished:
        # The errors of a run that came to its end are its own.
        progress.rows = progress.skipped = 0
        progress.finished = False
    elif progress.error:
        task.error.set_state(progress.error)
    return Session(model, columns, task, progress, n_before=int(model.n_seen_))


def _classes_of(model: Any) -> Any:
    """Give the labels of a classifier; None of a regressor."""
    return getattr(model, "classes_", None)


def _kinds_of(columns: Columns) -> dict[str, Any] | None:
    """Give what columns hold whose first rows need not say it, and the time zones of times."""
    kinds = {
        name: {"type": kind, "zone": columns.zones[name]} if name in columns.zones else kind
        for name, kind in columns.kinds.items()
        if kind != "number"
    }
    return kinds or None


def _task(
    options: RunOptions, columns: Columns, classes: Any, grows: bool = False, named: bool = False
) -> Task:
    """Give what learns the targets: a label, with other classes if they grow, or numbers."""
    check_coverage(options.coverage, columns.label)
    if columns.label is not None:
        return Labels(columns.label, classes, window=options.window, grows=grows, named=named)
    return Numbers(columns.targets, window=options.window, coverage=options.coverage)


def columns_of(model: Any, path: Path, targets: Sequence[str] = ()) -> Columns:
    """Give the columns of a model.

    Raises
    ------
    ValueError, TypeError
        It learned no rows with names of columns, or has another number of targets.
    """
    if not isinstance(model, KernelRegressor | KernelClassifier):
        raise TypeError(f"{path} contains a {type(model).__name__}, which learns no tables")
    kinds = columns_in(model).kinds
    if not kinds:
        raise ValueError(
            f"{path} contains a {type(model).__name__} without column names: fit it with "
            "'kernelstream learn' or on a data frame"
        )
    zones = {name: kind["zone"] for name, kind in kinds.items() if kind.get("zone")}
    columns = Columns({name: kind["type"] for name, kind in kinds.items()}, [], zones=zones)
    count = 1
    if isinstance(model, KernelRegressor):
        count = model.n_outputs_
    known = Progress.from_note(model._note, path).options.get("target") or targets
    columns.targets = list(known) or (
        ["target"] if count == 1 else [f"target{i}" for i in range(count)]
    )
    if len(columns.targets) != count:
        raise ValueError(f"--target {listed(columns.targets)}: {path} predicts {count} columns")
    if isinstance(model, KernelClassifier):
        columns.label = columns.targets[0]
        columns.label_type = pa.array(model.classes_.tolist()).type
    return columns


def _cast_names(names: Sequence[str], kind: pa.DataType) -> pa.Array:
    """Give names of labels in the labels' type; names such as 1.0 are whole numbers too."""
    texts = pa.array(names, pa.string())
    if not pa.types.is_integer(kind):
        return texts.cast(kind)
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        # A safe cast refuses fractions, infinities and NaN.
        return texts.cast(pa.float64()).cast(kind)


def _classes(
    options: RunOptions, columns: Columns, table: Reader, sources: Sequence[Source]
) -> tuple[NDArray[Any], bool]:
    """Find the labels that are named, or those of all the files, and whether others may come."""
    label = str(columns.label)
    kind = columns.label_type
    if options.classes is not None:
        named = [name.strip() for name in options.classes.split(",") if name.strip()]
        try:
            return np.array(sorted(set(_cast_names(named, kind).to_pylist()))), False
        except pa.ArrowInvalid as error:
            if not pa.types.is_integer(kind):
                raise ValueError(f"--classes {options.classes}: {error}") from None
            raise ValueError(
                f"--classes {options.classes}: the labels of {label!r} are whole numbers; "
                "name them as whole numbers: 0,1"
            ) from None
    known: set[Any] = set()
    if not all(source.is_file for source in sources):
        return np.array([]), True
    for source in sources:
        with options.open(source) as again:
            check_alike(again, columns, table.name)
            known |= find_classes(source, again, columns)
    if not known:
        raise ValueError(f"column {label!r} is empty: it contains no label")
    return np.array(sorted(known)), False
