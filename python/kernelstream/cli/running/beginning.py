"""The model that a run learns: a new one, or one that goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernelstream.cli.choices import Missing
from kernelstream.cli.reading.batches import find_classes
from kernelstream.cli.reading.columns import Columns, check_alike, choose
from kernelstream.cli.reading.reader import Reader
from kernelstream.cli.reading.sources import Source
from kernelstream.cli.running.labels import Labels
from kernelstream.cli.running.models import load_model
from kernelstream.cli.running.numbers import Numbers
from kernelstream.cli.running.progress import Progress
from kernelstream.cli.running.task import Task
from kernelstream.cli.running.wishes import Wishes, check_coverage
from kernelstream.components.parser import parse_basis, parse_kernel, parse_learner
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.experts import KernelExperts
from kernelstream.supervised.experts_classifier import KernelExpertsClassifier
from kernelstream.supervised.regressor import KernelRegressor
from kernelstream.supervised.tables import TableClassifier, TableRegressor

__all__ = ["Begun", "begin", "columns_of", "go_on", "recall"]


@dataclass
class Begun:
    """A model, and what it is to learn.

    Attributes
    ----------
    model : TableRegressor or TableClassifier
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

    def save(self, path: Path) -> None:
        """Save the model, with what it has learned so far.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        self.progress.error = self.task.error.to_state()
        self.model._note = self.progress.to_note(path)
        self.model.save(path)


def begin(wishes: Wishes, table: Reader, sources: Sequence[Source]) -> Begun:
    """Begin a new model.

    Raises
    ------
    ValueError
        It cannot be.
    """
    parts: dict[str, Any] = {
        "kernel": None if wishes.kernel is None else parse_kernel(wishes.kernel),
        "basis": None if wishes.basis is None else parse_basis(wishes.basis),
        "learner": None if wishes.learner is None else parse_learner(wishes.learner),
    }
    if wishes.experts and any(part is not None for part in parts.values()):
        raise ValueError("--experts cannot be combined with --kernel, --basis or --learner")
    classify = wishes.classify or wishes.balance or wishes.classes is not None
    columns = choose(
        table,
        wishes.targets,
        wishes.excluded,
        wishes.categories,
        wishes.numbers,
        classify=classify,
    )
    gaps: Any = "fill" if wishes.missing is Missing.FILL else "error"
    how = {"scale": wishes.scale, "kinds": _kinds_of(columns), "missing": gaps}
    model: TableRegressor | TableClassifier
    classes: Any = None
    if columns.label is not None:
        weight: Any = "balanced" if wishes.balance else None
        classifier = (
            KernelExpertsClassifier(class_weight=weight)
            if wishes.experts
            else KernelClassifier(**parts, class_weight=weight)
        )
        classes = _classes(wishes, columns, table, sources)
        model = TableClassifier(classifier, columns.features, columns.label, **how)
    else:
        regressor = KernelExperts() if wishes.experts else KernelRegressor(**parts)
        model = TableRegressor(regressor, columns.features, columns.targets, **how)
    task = _task(wishes, columns, classes)
    return Begun(model, columns, task, Progress(options=wishes.given()))


def recall(wishes: Wishes, path: Path) -> Any:
    """Load a model that resumes, and take over how its tables are read.

    Raises
    ------
    TypeError
        It is none that learns tables.
    """
    model = load_model(path)
    if not isinstance(model, TableRegressor | TableClassifier):
        raise TypeError(
            f"{path} contains a {type(model).__name__}, which knows no names of columns; "
            "go on with a model that 'kernelstream learn' saved"
        )
    wishes.recall(
        Progress.from_note(model._note, path).options, columns_of(model), _classes_of(model)
    )
    return model


def go_on(wishes: Wishes, path: Path, model: Any, table: Reader) -> Begun:
    """Go on with a saved model.

    Raises
    ------
    ValueError
        It is another than the user says, or a column is missing.
    """
    progress = Progress.from_note(model._note, path)
    options = {"target": model.targets} | progress.options
    Progress(options=options).check_options(wishes.given(), path)
    columns = columns_of(model)
    check_alike(table, columns, str(path))
    task = _task(wishes, columns, _classes_of(model))
    if model.missing == "fill":
        wishes.missing = Missing.FILL
    if progress.finished:
        # The errors of a run that came to its end are its own.
        progress.rows = progress.skipped = 0
        progress.finished = False
    elif progress.error:
        task.error.set_state(progress.error)
    return Begun(model, columns, task, progress, n_before=int(model.n_seen_))


def _classes_of(model: Any) -> Any:
    """Give the labels of a classifier; None of a regressor."""
    return getattr(model, "classes_", None)


def _kinds_of(columns: Columns) -> dict[str, Any]:
    """Give what the columns hold, and the time zones of those of times."""
    return {
        name: {"type": kind, "zone": columns.zones[name]} if name in columns.zones else kind
        for name, kind in columns.kinds.items()
    }


def _task(wishes: Wishes, columns: Columns, classes: Any) -> Task:
    """Give what learns the targets: a label of these classes, or numbers."""
    check_coverage(wishes.coverage, columns.label)
    if columns.label is not None:
        return Labels(columns.label, classes, window=wishes.window)
    return Numbers(columns.targets, window=wishes.window, coverage=wishes.coverage)


def columns_of(model: TableRegressor | TableClassifier) -> Columns:
    """Give the columns of a model."""
    zones = {name: kind["zone"] for name, kind in model._kinds.items() if kind.get("zone")}
    columns = Columns(model.kinds_, list(model.targets), zones=zones)
    if isinstance(model, TableClassifier):
        columns.label = model.target
        columns.label_type = pa.from_numpy_dtype(model.classes_.dtype)
    return columns


def _classes(
    wishes: Wishes, columns: Columns, table: Reader, sources: Sequence[Source]
) -> np.ndarray[Any, Any]:
    """Find all the labels that may come: those that are named, or those of all the files."""
    label = str(columns.label)
    kind = columns.label_type
    if wishes.classes is not None:
        named = [name.strip() for name in wishes.classes.split(",") if name.strip()]
        try:
            return np.array(sorted(set(pa.array(named).cast(kind).to_pylist())))
        except pa.ArrowInvalid as error:
            raise ValueError(f"--classes {wishes.classes}: {error}") from None
    known: set[Any] = set()
    for source in sources:
        if not source.is_file:
            raise ValueError(
                f"the labels of {source.name} cannot be known before they come: name every label "
                "that may come, such as --classes yes,no"
            )
        with wishes.open(source) as again:
            check_alike(again, columns, table.name)
            known |= find_classes(source, again, columns)
    if not known:
        raise ValueError(f"column {label!r} is empty: it contains no label")
    return np.array(sorted(known))
