"""Parts of Dask's collections: learned and merged by any scheduler of Dask."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from typing import Any

from kernelstream.columns.delayed import delayed_parts, is_delayed
from kernelstream.distributed.models import model_of, predictions_of, shape_of
from kernelstream.distributed.rounds import learn, merged, sample, share
from kernelstream.koopman import Koopman

__all__ = ["Parts", "has", "predict"]

# Most estimators merged at once: few enough for a tree of them to be spread over workers.
_FAN_IN = 8
has = is_delayed


class Parts:
    """Rows of a Dask collection."""

    def __init__(self, model: Any, data: Any, target: Any, weight: Any, *, verbose: bool) -> None:
        if isinstance(model, Koopman) and target is None and hasattr(data, "rechunk"):
            # One trajectory loses no pair where it is cut.
            data, target = data[: -model.lag], data[model.lag :]
        if target is None and hasattr(data, "columns") and not isinstance(model, Koopman):
            raise ValueError(
                "target says which column is to be learned: pass its name; the columns are "
                f"{', '.join(map(str, data.columns))}"
            )
        self._parts = delayed_parts(data, target, weight)
        if not self._parts:
            raise ValueError("there is no row in any part")
        plain = isinstance(target, str | list)
        alone = plain and (weight is None or isinstance(weight, str))
        self._names = {"target": target, "weight": weight} if alone else {}
        self._verbose = verbose

    def draw(self, model: Any, size: int) -> list[list[dict[str, Any]]]:
        """Sample the parts."""
        delayed = import_module("dask").delayed
        model, draw = delayed(model), delayed(sample)
        each = share(size, len(self._parts))
        return self._computed(
            [
                draw(model, part, each, f"part {i}", **self._names)
                for i, part in enumerate(self._parts)
            ]
        )

    def learn(self, begun: Any, *, successive: bool) -> Any:
        """Learn each part by a copy, and merge the copies as a tree."""
        delayed = import_module("dask").delayed
        begun, go, join = delayed(begun), delayed(learn), delayed(merged)
        models = [go(begun, part, f"part {i}", **self._names) for i, part in enumerate(self._parts)]
        while len(models) > 1:
            groups = range(0, len(models), _FAN_IN)
            models = [join(models[i : i + _FAN_IN], successive=successive) for i in groups]
        return self._computed(models)[0]

    def _computed(self, values: list[Any]) -> list[Any]:
        dask = import_module("dask")
        # A cluster has a dashboard.
        bar = import_module("dask.diagnostics").ProgressBar if self._verbose else nullcontext
        with bar():
            return list(dask.compute(*values))


def predict(model: Any, data: Any) -> Any:
    """Predict rows of a collection, lazily."""
    dask = import_module("dask")
    n_targets, kind = shape_of(model_of(model))
    given = model if isinstance(model, str) else dask.delayed(model)
    if isinstance(data, list | tuple):
        return [dask.delayed(predictions_of)(given, part) for part in data]
    if hasattr(data, "columns"):
        pandas = import_module("pandas")
        meta = (
            pandas.Series([], dtype=kind, name="prediction")
            if n_targets is None
            else pandas.DataFrame({f"prediction_{i}": [0.0] for i in range(n_targets)}).iloc[:0]
        )
        return data.map_partitions(
            _of_frame, given, list(meta.columns) if n_targets else None, meta=meta
        )
    if not hasattr(data, "map_blocks"):
        raise TypeError(f"predict takes a Dask array, data frame or delayed parts, not a {data!r}")
    rows = data.rechunk({1: -1})
    axes: dict[str, Any] = {"drop_axis": 1}
    if n_targets is not None:
        axes = {"chunks": (rows.chunks[0], (n_targets,))}
    return rows.map_blocks(_of_block, given, dtype=kind, meta=_meta(n_targets, kind), **axes)


def _meta(n_targets: int | None, kind: Any) -> Any:
    numpy = import_module("numpy")
    return numpy.empty((0,) if n_targets is None else (0, 0), kind)


def _of_block(rows: Any, model: Any) -> Any:
    return predictions_of(model, rows)


def _of_frame(frame: Any, model: Any, names: list[str] | None) -> Any:
    pandas = import_module("pandas")
    found = predictions_of(model, frame)
    if names is None:
        return pandas.Series(found, frame.index, name="prediction")
    return pandas.DataFrame(found, frame.index, names)
