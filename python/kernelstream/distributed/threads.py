"""Parts learned in this process, by threads that read a few batches ahead."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from kernelstream.columns.batches import batches_of, named_error, rows_in_batches, targets_apart
from kernelstream.distributed.models import predictions_of
from kernelstream.distributed.rounds import Reservoir, as_pairs, learn_into, merged
from kernelstream.estimators.progress import ProgressBar
from kernelstream.estimators.validation import whole_number
from kernelstream.koopman import Koopman

__all__ = ["Parts", "predict"]

# Parts read ahead of each thread.
_AHEAD = 2


class Parts:
    """Rows in this process."""

    def __init__(
        self,
        model: Any,
        data: Any,
        target: Any,
        weight: Any,
        n_jobs: int | None,
        *,
        once: bool,
        verbose: bool,
    ) -> None:
        self._n_jobs = whole_number("n_jobs", os.cpu_count() if n_jobs is None else n_jobs)
        self._verbose = verbose
        if isinstance(model, Koopman) and hasattr(data, "__next__"):
            data = list(data)
        of_parts = isinstance(data, list | tuple) and target is None
        self._batches = None
        if not of_parts and not isinstance(model, Koopman):
            self._batches = batches_of(data, target, weight)
        if self._batches is not None:
            if not once:
                self._batches.check_again("distributed.fit reads rows twice, first for a sample")
            return
        if of_parts and weight is not None:
            raise TypeError(
                "parts bring their own weights, as (X, y, sample_weight): leave weight out"
            )
        self._named = (
            [(f"part {i}", part) for i, part in enumerate(data)]
            if of_parts
            else _slices(model, data, target, weight, self._n_jobs)
        )
        if not self._named:
            raise ValueError("there is no row in any part")

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        if self._batches is None:
            yield from self._named
            return
        for number, batch in enumerate(self._batches):
            yield f"batch {number}", tuple(batch)

    def draw(self, model: Any, size: int) -> list[list[dict[str, Any]]]:
        """Sample the parts."""
        drawn = Reservoir(model, size)
        for name, part in self:
            drawn.add(name, part)
        return [drawn.result()]

    def learn(self, begun: Any, *, successive: bool) -> Any:
        """Learn the parts, each thread by a copy of its own."""
        n_jobs = 1 if successive else self._n_jobs
        models: list[Any] = []
        with ExitStack() as stack:
            bar = stack.enter_context(ProgressBar(None, unit="parts")) if self._verbose else None
            threads = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(n_jobs)]
            waiting: list[deque[Future[None]]] = [deque() for _ in threads]
            for number, (name, part) in enumerate(self):
                turn = number % n_jobs
                if turn == len(models):
                    models.append(deepcopy(begun))
                if len(waiting[turn]) > _AHEAD:
                    waiting[turn].popleft().result()
                work = threads[turn].submit(learn_into, models[turn], part, name)
                waiting[turn].append(work)
                if bar is not None:
                    bar.update(number + 1)
            for work in (work for own in waiting for work in own):
                work.result()
        for model in models:
            if hasattr(model, "flush"):
                model.flush()
        return merged(models or [begun], successive=successive)


def predict(model: Any, data: Any, n_jobs: int | None) -> Any:
    """Predict rows in this process."""
    if (batches := rows_in_batches(data)) is not None:
        return _each(model, batches)
    n_jobs = whole_number("n_jobs", os.cpu_count() if n_jobs is None else n_jobs)
    n = data.shape[0] if hasattr(data, "shape") else len(data)
    if n < n_jobs or not hasattr(data, "shape"):
        return predictions_of(model, data)
    cuts = np.linspace(0, n, n_jobs + 1).astype(int).tolist()
    parts = [_cut(data, start, end) for start, end in pairwise(cuts)]
    with ThreadPoolExecutor(n_jobs) as pool:
        return np.concatenate(list(pool.map(lambda rows: predictions_of(model, rows), parts)))


def _each(model: Any, batches: Iterator[Any]) -> Iterator[Any]:
    for number, rows in enumerate(batches):
        try:
            yield predictions_of(model, rows)
        except (ValueError, TypeError) as error:
            named_error(error, f"batch {number}")
            raise


def _slices(
    model: Any, data: Any, target: Any, weight: Any, n: int
) -> Sequence[tuple[str, dict[str, Any]]]:
    """Divide rows in memory among `n` parts."""
    given: dict[str, Any] = {"X": data}
    if target is not None or not isinstance(model, Koopman):
        batch = targets_apart(data, target, weight)
        given = {key: value for key, value in batch._asdict().items() if value is not None}
        if "y" not in given:
            raise ValueError(f"{type(model).__name__} needs targets: pass target")
    # One trajectory loses no pair where it is cut.
    given = as_pairs(given, model)
    size = given["X"].shape[0] if hasattr(given["X"], "shape") else len(given["X"])
    cuts = np.linspace(0, size, min(n, max(size, 1)) + 1).astype(int).tolist()
    return [
        (
            f"rows {start} to {end - 1}",
            {key: _cut(value, start, end) for key, value in given.items()},
        )
        for start, end in pairwise(cuts)
    ]


def _cut(values: Any, start: int, end: int) -> Any:
    if hasattr(values, "to_batches") or hasattr(values, "to_arrow"):
        return values.slice(start, end - start)
    if isinstance(values, dict):
        return {name: _cut(column, start, end) for name, column in values.items()}
    return _safe_indexing(values, slice(start, end))
