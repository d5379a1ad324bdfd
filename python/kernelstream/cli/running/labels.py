"""A label as target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kernelstream.cli.choices import WINDOW
from kernelstream.cli.reading.batches import Batch, RefusedRowError
from kernelstream.cli.reading.columns import listed
from kernelstream.cli.running.late_labels import RowsSoFar
from kernelstream.cli.running.task import Mask, Task, last_leads, weights_of
from kernelstream.cli.running.windows import Drift, Window
from kernelstream.estimators.metrics import RunningMistakes
from kernelstream.supervised.labels import Classes

__all__ = ["Labels"]


class Labels(Task):
    """A label as target.

    Parameters
    ----------
    target : str
        Its column.
    classes : ndarray of shape (n_classes,)
        The labels.
    judged : bool, default=True
        Whether rows have labels.
    probabilities : bool, default=False
        Whether probabilities are predicted too.
    window : int
        Rows of the recent error.
    grows : bool, default=False
        Whether other labels may come: the model then begins again with the rows so far.
    named : bool, default=False
        Whether the labels are those of ``--classes``.
    """

    error: RunningMistakes

    def __init__(
        self,
        target: str,
        classes: NDArray[Any],
        judged: bool = True,
        probabilities: bool = False,
        window: int = WINDOW,
        grows: bool = False,
        named: bool = False,
    ) -> None:
        self.predicted = [f"{target}_predicted"]
        if probabilities:
            self.predicted += [f"{target}_is_{_written(name)}" for name in classes.tolist()]
        self.error = RunningMistakes(len(classes))
        self.window = Window(window, 1)
        self._drift = Drift(1.5)
        self._target = target
        self._judged = judged
        self.classes = classes
        self._codes: Mapping[Any, int] = Classes(classes).table
        self._probabilities = probabilities
        self._rows = RowsSoFar() if grows else None
        self._named = named

    def first_new(self, batch: Batch, learned: Mask) -> int | None:
        """See `Task.first_new`."""
        if self._rows is None:
            return None
        labels: Any = batch.labels
        new = (row for row in np.flatnonzero(learned).tolist() if labels[row] not in self._codes)
        return next(new, None)

    def begin_again(self, model: Any, batch: Batch, learned: Mask) -> tuple[Any, str]:
        """See `Task.begin_again`."""
        labels: Any = batch.labels
        rows = cast("RowsSoFar", self._rows)
        new = sorted(set(labels[learned].tolist()).difference(self._codes))
        former = self.classes.tolist()
        self.classes = np.array(sorted([*former, *new]))
        self._codes = Classes(self.classes).table
        self.error.extend(len(self.classes), [self._codes[label] for label in former])
        model = rows.begin_again(model, self.classes)
        if not rows.n_rows:
            return model, ""
        kept = "the row so far" if rows.n_rows == 1 else f"the {rows.n_rows:,} rows so far"
        if rows.n_kept < rows.n_rows:
            kept = f"a sample of {rows.n_kept:,} of {kept}"
        names = ", ".join(map(repr, new))
        what = f"the label {names} is" if len(new) == 1 else f"the labels {names} are"
        return model, (
            f"{batch.where(0)}: {what} new, and the model begins again with {kept}; "
            "--classes names labels from the beginning"
        )

    def learn(self, model: Any, batch: Batch, predicted: Mask, learned: Mask) -> list[NDArray[Any]]:
        """See `Task.learn`."""
        predictions = np.full(len(batch), None, dtype=object)
        # Before the first label of a pipe no class is known that could be predicted.
        if predicted.any() and len(self.classes):
            labels: Any = batch.labels
            self._refuse_new(batch, labels, learned)
            known = learned[predicted]
            # A row without a label counts zero times: any will do.
            names = np.where(learned, labels, self.classes[0])[predicted]
            y = np.array(names.tolist(), self.classes.dtype)
            X = batch.rows(predicted)
            said = model.partial_fit_predict(X, y, self.classes, weights_of(known))
            self._count(y[known], said[known])
            if self._rows is not None:
                self._rows.add(batch.rows(learned), y[known])
            predictions[predicted] = said.tolist()
        return [predictions]

    def _refuse_new(self, batch: Batch, labels: NDArray[Any], learned: Mask) -> None:
        new = (row for row in np.flatnonzero(learned).tolist() if labels[row] not in self._codes)
        row = next(new, None)
        if row is not None:
            names = [str(name) for name in self.classes.tolist()]
            label = f"{batch.where(row, self._target)}: the label {str(labels[row])!r}"
            every = f"--classes {','.join([*names, str(labels[row])])}"
            if self._named:
                why = f"is not among --classes {','.join(names)}: correct it, or name it: {every}"
            else:
                why = (
                    f"is new: the model was begun with {', '.join(names)}. Begin again, naming "
                    f"every label that may come: {every}"
                )
            raise RefusedRowError(f"{label} {why}", row)

    def predict(self, model: Any, batch: Batch, sound: Mask) -> list[NDArray[Any]]:
        """See `Task.predict`."""
        predicted = np.full(len(sound), None, dtype=object)
        probabilities = np.full((len(sound), len(self.predicted) - 1), np.nan)
        if sound.any():
            rows = batch.rows(sound)
            predicted[sound] = model.predict(rows).tolist()
            if self._probabilities:
                probabilities[sound] = model.predict_proba(rows)
        if self._judged and batch.labels is not None:
            known = sound & batch.judged
            self._count(batch.labels[known], predicted[known])
        return [predicted, *probabilities.T]

    @property
    def notes(self) -> list[str]:
        """See `Task.notes`."""
        names = self.classes.tolist()
        if len(names) == 1:
            note = (
                f"every row has the label {names[0]!r} of {self._target}, so that no mistake is "
                "possible: check the target and the rows"
            )
            return [note]
        alike: dict[str, list[str]] = {}
        for name in names:
            if isinstance(name, str):
                alike.setdefault(name.strip().casefold(), []).append(name)
        groups = [" and ".join(map(repr, group)) for group in alike.values() if len(group) > 1]
        if not groups:
            return []
        note = (
            f"labels of {self._target} differ only in case or in spaces around them: "
            f"{listed(groups, most=4)}; each is a label of its own, so write them alike if they "
            "mean the same"
        )
        return [note]

    def figures(self) -> dict[str, float]:
        """See `Task.figures`."""
        return {
            "error": self.error.rate,
            "window_error": float(self.window.mean[0]),
            "majority_error": self.error.majority_rate,
            "last_error": self.error.last_rate,
        }

    def _summary(self) -> list[list[str]]:
        rates = [self.error.rate, self.error.majority_rate, self.error.last_rate]
        titles = ["mistakes", "most frequent label's", "last label's"]
        if self.recent:
            titles.insert(1, f"in the last {self.window.size:,}")
            rates.insert(1, float(self.window.mean[0]))
        return [titles, [self._target, *(f"{rate:.2%}" for rate in rates)]]

    @property
    def in_order(self) -> str:
        """See `Task.in_order`."""
        error = self.error
        if not last_leads(error.n_rows, error.last_rate, error.rate, error.majority_rate):
            return ""
        return (
            f"labels come in long runs: repeating the last one makes {error.last_rate:.2%} "
            f"mistakes, the model {error.rate:.2%}"
        )

    def _count(self, labels: NDArray[Any], predicted: NDArray[Any]) -> None:
        # A label that is not among the model's classes counts as a mistake.
        codes, guesses = (
            np.array([self._codes.get(label, -1) for label in one.tolist()], dtype=np.intp)
            for one in (labels, predicted)
        )
        self.error.update(codes, guesses)
        self.window.add((codes != guesses).astype(np.float64)[:, None])

    @property
    def _recent(self) -> str:
        return f"{self.window.mean[0]:.2%}"

    @property
    def _negligible(self) -> NDArray[np.float64]:
        return np.full(1, 10.0 / self.window.size)


def _written(label: Any) -> str:
    """Give a label as predictions are written: truth values as true and false."""
    return str(label).lower() if isinstance(label, bool) else str(label)
