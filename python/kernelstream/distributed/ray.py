"""Parts of Ray: the blocks of a dataset, or objects in its store."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from kernelstream.columns.batches import batches_of
from kernelstream.distributed.models import model_of, predictions_of, shape_of
from kernelstream.distributed.outcomes import packed, unpacked
from kernelstream.distributed.rounds import joined_samples, learn, merged, sample, share

__all__ = ["has", "parts", "predict"]

# Estimators that a task merges.
_FAN_IN = 8


def has(data: Any) -> bool:
    """Tell whether rows are a dataset of Ray, or a list of references to its objects."""
    if isinstance(data, list | tuple):
        return len(data) > 0 and type(data[0]).__name__ == "ObjectRef"
    return hasattr(data, "map_batches") and hasattr(data, "iter_batches")


def parts(data: Any, target: Any, weight: Any) -> Any:
    """Give the parts of a dataset, or those that references are to."""
    if isinstance(data, list | tuple):
        return References(list(data), target, weight)
    batches_of(data, target, weight)  # refuses what names no column
    return Blocks(data, target, weight)


class Blocks:
    """Rows of a dataset."""

    def __init__(self, dataset: Any, target: Any, weight: Any) -> None:
        self._dataset, self._names = dataset, {"target": target, "weight": weight}

    def draw(self, model: Any, size: int) -> list[list[dict[str, Any]]]:
        """Sample the blocks."""
        names = self._names
        return self._run(
            lambda block, name: sample(model, block, size, name, **names),
            lambda drawn: joined_samples(drawn, size),
        )

    def learn(self, begun: Any, *, successive: bool) -> Any:
        """Learn each block by a copy, and merge the copies."""
        if successive:
            raise ValueError("blocks of a Ray dataset have no order: pass a list of references")
        names = self._names
        found = self._run(lambda block, name: learn(begun, block, name, **names), merged)
        return merged([begun, *found])

    def _run(self, work: Callable[[Any, str], Any], join: Callable[[list[Any]], Any]) -> list[Any]:
        def outcome(block: Any) -> Any:
            # Ray has no numbers of blocks; the first row shows which one it is.
            first = block.slice(0, 1).to_pylist()
            name = f"the block of {block.num_rows:,} rows that begins with {first}"
            return {"outcome": [packed(lambda: work(block, name))]}

        def together(found: Any) -> Any:
            parts = found["outcome"]
            return {"outcome": [packed(lambda: join([unpacked(one) for one in parts]))]}

        how = {"batch_format": "pyarrow", "zero_copy_batch": True}
        rows = self._dataset.map_batches(outcome, batch_size=None, **how)
        rows = rows.map_batches(together, batch_size=_FAN_IN, batch_format="numpy")
        return [unpacked(row["outcome"]) for row in rows.take_all()]


class References:
    """Parts in Ray's store."""

    def __init__(self, references: list[Any], target: Any, weight: Any) -> None:
        self._references, self._names = references, {"target": target, "weight": weight}

    def draw(self, model: Any, size: int) -> list[list[dict[str, Any]]]:
        """Sample the parts."""
        each = share(size, len(self._references))
        drawn = self._each(sample, model, lambda part, name: (part, each, name))
        return _gathered(drawn)

    def learn(self, begun: Any, *, successive: bool) -> Any:
        """Learn each part by a copy, and merge the copies as a tree."""
        ray = import_module("ray")

        def joined(*models: Any) -> Any:  # numpydoc ignore=GL08
            return merged(models, successive=successive)

        join = ray.remote(joined)
        models = self._each(learn, begun, lambda part, name: (part, name))
        while len(models) > 1:
            groups = range(0, len(models), _FAN_IN)
            models = [join.remote(*models[i : i + _FAN_IN]) for i in groups]
        return _gathered(models)[0]

    def _each(self, work: Callable[..., Any], model: Any, given: Callable[..., Any]) -> list[Any]:
        ray = import_module("ray")
        model, go = ray.put(model), ray.remote(work)
        named = [(part, f"part {i}") for i, part in enumerate(self._references)]
        return [go.remote(model, *given(*one), **self._names) for one in named]


def predict(model: Any, data: Any) -> Any:
    """Predict rows of a dataset, lazily, or those of parts."""
    ray, pa = import_module("ray"), import_module("pyarrow")
    if isinstance(data, list | tuple):
        go, given = ray.remote(predictions_of), ray.put(model)
        return [go.remote(given, part) for part in data]
    shape_of(model_of(model))  # refuses a model that has learned nothing

    def predicted(block: Any) -> Any:  # numpydoc ignore=GL08
        values = predictions_of(model, block)
        return block.append_column("prediction", pa.array(values.tolist()))

    return data.map_batches(predicted, batch_format="pyarrow")


def _gathered(references: list[Any]) -> list[Any]:
    """Give the objects; an error is that of the row, not of the task."""
    ray = import_module("ray")
    try:
        return list(ray.get(references))
    except ray.exceptions.RayTaskError as error:
        raise (error.cause if isinstance(error.cause, Exception) else error) from None
