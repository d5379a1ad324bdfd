"""Parts of Spark's data frames: each partition is learned as it comes, in batches of Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from kernelstream.columns.batches import batches_of
from kernelstream.distributed.models import model_of, predictions_of, shape_of
from kernelstream.distributed.outcomes import packed, unpacked
from kernelstream.distributed.rounds import learn, merged, sample, share

__all__ = ["Parts", "foreach_batch", "has", "predict"]

# More models than that are merged by Spark before they come to the driver.
_AT_ONCE = 32


def has(data: Any) -> bool:
    """Tell whether rows are a data frame of Spark."""
    if hasattr(data, "mapPartitions") and not hasattr(data, "mapInArrow"):
        raise TypeError("rows of an RDD come as a data frame: rdd.toDF()")
    return hasattr(data, "mapInArrow")


class Parts:
    """Rows of a data frame."""

    def __init__(self, frame: Any, target: Any, weight: Any) -> None:
        batches_of(frame, target, weight)  # refuses what names no column
        self._frame, self._names = frame, {"target": target, "weight": weight}
        self._n_parts = max(1, frame.rdd.getNumPartitions()) if hasattr(frame, "rdd") else 1

    def draw(self, model: Any, size: int) -> list[list[dict[str, Any]]]:
        """Sample the partitions."""
        each, names = share(size, self._n_parts), self._names
        return _run(self._frame, lambda part, name: sample(model, part, each, name, **names))

    def learn(self, begun: Any, *, successive: bool) -> Any:
        """Learn each partition by a copy, and merge the copies."""
        names = self._names
        found = _run(
            self._frame,
            lambda part, name: learn(begun, part, name, **names),
            merge=not successive and self._n_parts > _AT_ONCE,
        )
        return merged([begun, *found], successive=successive)


def predict(model: Any, frame: Any) -> Any:
    """Predict rows of a data frame, lazily."""
    types = import_module("pyspark.sql.types")
    n_targets, kind = shape_of(model_of(model))
    plain: dict[str, Any] = {
        "f": types.DoubleType,
        "b": types.BooleanType,
        "i": types.LongType,
        "u": types.LongType,
    }
    of_each = plain.get(kind.kind, types.StringType)()
    found = of_each if n_targets is None else types.ArrayType(of_each)
    schema = types.StructType([*frame.schema.fields, types.StructField("prediction", found)])

    def predicted(batches: Iterable[Any]) -> Iterator[Any]:  # numpydoc ignore=GL08
        pa = import_module("pyarrow")
        for batch in batches:
            values = predictions_of(model, pa.Table.from_batches([batch]))
            arrow = pa.array(values.tolist() if values.ndim > 1 or kind.kind in "OU" else values)
            columns = [*batch.columns, arrow]
            yield pa.RecordBatch.from_arrays(columns, [*batch.schema.names, "prediction"])

    return frame.mapInArrow(predicted, schema)


def foreach_batch(
    path: str | PathLike[str], target: Any, *, weight: Any = None, stream: str = "spark"
) -> Callable[[Any, int], None]:
    """Give a function for ``writeStream.foreachBatch`` that learns each micro-batch exactly once.

    Spark delivers a micro-batch again if it stopped after the model was saved and before its own
    checkpoint was. The number of the last one learned is in the note of the model file, which
    changes in the same instant as the model, so that it is passed over then.
    """
    from kernelstream.distributed.learning import partial_fit  # noqa: PLC0415  (which needs this)

    def learn_batch(frame: Any, epoch: int) -> None:  # numpydoc ignore=GL08
        model = import_module("kernelstream").load(path)
        note = model.note_ or {}
        epochs = note.get("epochs", {})
        if epoch <= epochs.get(stream, -1):
            return
        partial_fit(model, frame, target, weight=weight)
        model.save(path, note=note | {"epochs": epochs | {stream: int(epoch)}})

    if not Path(fspath(path)).exists():
        raise FileNotFoundError(
            f"there is no model file {fspath(path)}: distributed.fit begins one, from rows so far"
        )
    return learn_batch


def _run(frame: Any, work: Callable[[Any, str], Any], *, merge: bool = False) -> list[Any]:
    """Give the results of a function on each partition, in their order."""

    def outcomes(batches: Iterable[Any]) -> Iterator[Any]:
        number = import_module("pyspark").TaskContext.get().partitionId()
        yield _row(number, packed(lambda: work(iter(batches), f"partition {number}")))

    def together(outcomes: Iterable[Any]) -> Iterator[Any]:
        if found := [one for batch in outcomes for one in batch.to_pylist()]:
            yield _row(0, packed(lambda: merged([unpacked(one["outcome"]) for one in found])))

    rows = frame.mapInArrow(outcomes, "part int, outcome binary")
    if merge:
        rows = rows.repartition(_AT_ONCE).mapInArrow(together, "part int, outcome binary")
    found = sorted(rows.collect(), key=lambda row: row["part"])
    return [unpacked(row["outcome"]) for row in found]


def _row(number: int, outcome: bytes) -> Any:
    pa = import_module("pyarrow")
    columns = {"part": pa.array([number], pa.int32()), "outcome": [outcome]}
    return pa.RecordBatch.from_pydict(columns)
