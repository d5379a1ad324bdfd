"""The command ``explain``: a model and tables in, contributions of columns out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream.cli.reading.batches import Batch
from kernelstream.cli.reading.columns import Columns, check_alike, own_names
from kernelstream.cli.reading.reader import Reader
from kernelstream.cli.running.numbers import Numbers
from kernelstream.cli.running.predicting import Predicting
from kernelstream.cli.running.session import columns_of
from kernelstream.cli.running.task import Mask, Task
from kernelstream.cli.writing.messages import say

__all__ = ["Explaining"]


class Explaining(Predicting):
    """One run of ``explain``: as of ``predict``, with contributions in place of predictions."""

    _task_done: _Contributions

    def run(self) -> None:
        """Explain everything, and show how large the contributions of each column are.

        Raises
        ------
        ValueError, OSError
            Something is wrong with the model or a table.
        """
        super().run()
        self._task_done.report(self.console)

    def _task(self, estimator: Any, table: Reader) -> tuple[Columns, Task]:
        if not hasattr(estimator, "explain"):
            raise ValueError(
                f"{self.model} is a {type(estimator).__name__}, which explains nothing"
            )
        columns = columns_of(estimator, self.model)
        columns = Columns(columns.kinds, [], zones=columns.zones)
        check_alike(table, columns, str(self.model))
        columns.kept = own_names(table, self.keep)
        classes = getattr(estimator, "classes_", ())
        outputs = list(classes) if len(classes) > 2 else list(range(_n_outputs(estimator)))
        self._task_done = _Contributions(list(columns.kinds), outputs)
        return columns, self._task_done


def _n_outputs(estimator: Any) -> int:
    return 1 if hasattr(estimator, "classes_") else int(estimator.n_outputs_)


class _Contributions(Numbers):
    """Contributions of columns, of one output or several."""

    def __init__(self, names: list[str], outputs: list[Any]) -> None:
        super().__init__(["explained"], judged=False)
        self._names, self._n_outputs = names, len(outputs)
        marks = [""] if len(outputs) == 1 else [f"{output}: " for output in outputs]
        self.predicted = [f"{mark}{name}" for mark in marks for name in ["base_value", *names]]
        self._sizes = np.zeros(len(names))
        self._rows, self._error = 0, 0.0

    def predict(self, model: Any, batch: Batch, sound: Mask) -> list[NDArray[Any]]:
        out = np.full((len(batch), self._n_outputs, 1 + len(self._names)), np.nan)
        if sound.any():
            found = model.explain(batch.rows(sound))
            values = found.values.reshape(len(found), len(self._names), -1)
            out[sound, :, 0] = found.base_values.reshape(len(found), -1)
            out[sound, :, 1:] = np.moveaxis(values, 1, 2)
            self._rows += len(found)
            self._sizes += np.abs(values).mean(axis=2).sum(axis=0)
            if found.standard_errors is not None:
                self._error = max(self._error, float(found.standard_errors.max()))
        return list(out.reshape(len(batch), -1).T)

    def report(self, console: Any) -> None:
        """Print the mean sizes, the largest first."""
        if not self._rows:
            return
        sizes = self._sizes / self._rows
        order = np.argsort(-sizes, kind="stable")[:10]
        said = ", ".join(f"{self._names[j]} {sizes[j]:.3g}" for j in order)
        say(console, f"mean size of contributions: {said}")
        if self._error:
            say(console, f"sampled, with standard errors up to {self._error:.2g}")
