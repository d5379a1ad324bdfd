"""The steps of the two rounds, for a part: plain functions that any engine can call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from kernelstream.columns.batches import batches_of, named_error, targets_apart
from kernelstream.distributed.keys import keys_of
from kernelstream.estimators.merging import MergingEstimator
from kernelstream.estimators.validation import whole_number
from kernelstream.koopman import Koopman

__all__ = [
    "SAMPLE_SIZE",
    "Reservoir",
    "as_pairs",
    "begin",
    "joined_samples",
    "learn",
    "learn_into",
    "merged",
    "pieces_of",
    "sample",
    "share",
]

# Rows of the first round: for 500 stored points twenty of each.
SAMPLE_SIZE = 10_000
# A part draws up to this many times its share of the sample, and some more: if parts have about as
# many rows, none of those with the smallest keys of all is left out.
_SPARE, _MORE = 4, 30

Estimator = TypeVar("Estimator", bound=MergingEstimator)
Part = Any
"""A pair (X, y), a triple with weights, a mapping of arguments, a frame or source of batches with
the name of its target, of an operator a trajectory; or a list of these."""


def sample(
    model: MergingEstimator,
    part: Part,
    size: int = SAMPLE_SIZE,
    name: str = "a part",
    *,
    target: Any = None,
    weight: Any = None,
) -> list[dict[str, Any]]:
    """Draw rows of a part, for `begin`.

    Parameters
    ----------
    model : estimator
        Specifies the model.
    part : part
        Rows and targets, as `fit` has them. It is read once, a batch at a time.
    size : int, default=10000
        How many rows at most, at least 1. Each row is as likely as any other, by a number that
        depends on what is in it only: however rows are divided, the same ones are drawn.
    name : str, default="a part"
        What errors call the part.
    target, weight : str or list of str, optional
        Columns of targets and weights, of a part with names.

    Returns
    -------
    drawn : list of dict
        Arguments of ``partial_fit``, the numbers by which rows were drawn as ``"keys"``, and of a
        classifier all classes of the part as ``"classes"``. Empty if the part is.
    """
    drawn = Reservoir(model, size)
    drawn.add(name, part, target, weight)
    return drawn.result()


def begin(
    model: Estimator,
    samples: Iterable[Sequence[Mapping[str, Any]]],
    size: int = SAMPLE_SIZE,
) -> Estimator:
    """Make an estimator whose dictionary is frozen, from samples of all parts.

    Parameters
    ----------
    model : estimator
        Specifies the model. It is not changed.
    samples : iterable of list of dict
        What `sample` gave for each part.
    size : int, default=10000
        Rows that are learned, in all.

    Returns
    -------
    begun : estimator
        A new one that has learned nothing yet, for `learn`.
    """
    drawn = joined_samples(samples, whole_number("size", size))
    if not drawn:
        raise ValueError("there is no row in any part")
    begun = clone(model)
    classes = {"classes": drawn[0]["classes"]} if is_classifier(model) else {}
    rows = {key: value for key, value in drawn[0].items() if key not in {"classes", "keys"}}
    try:
        _partial_fit(begun, {**rows, **classes})
    except ValueError:
        _learn_singly(begun, rows, classes)
    if hasattr(begun, "flush"):
        begun.flush()
    return begun.freeze_dictionary()  # type: ignore[no-any-return]


def learn(
    begun: Estimator,
    part: Part,
    name: str = "a part",
    *,
    target: Any = None,
    weight: Any = None,
) -> Estimator:
    """Learn all rows of a part.

    Parameters
    ----------
    begun : estimator
        The result of `begin`, or a copy with a frozen dictionary. It is not changed.
    part : part
        Rows and targets, as `fit` has them. It is read once, a batch at a time.
    name : str, default="a part"
        What errors call the part.
    target, weight : str or list of str, optional
        Columns of targets and weights, of a part with names.

    Returns
    -------
    model : estimator
        A copy of `begun` that has learned them, for `merged`.

    Raises
    ------
    ValueError, TypeError
        `begun` has rows, which would count in every part, or a row is invalid; see the message.
    """
    if rows := begun.n_seen_:
        raise ValueError(
            f"the estimator has learned {rows:,} rows, which would count once in every part that "
            "begins with it: begin with distributed.begin(...), or with a copy that forgets them, "
            "copy.deepcopy(model).freeze_dictionary(), and merge what comes out into the model"
        )
    model = deepcopy(begun)
    learn_into(model, part, name, target, weight)
    if hasattr(model, "flush"):
        model.flush()
    return model


def merged(models: Sequence[Estimator], *, successive: bool = False) -> Estimator:
    """Merge estimators.

    Parameters
    ----------
    models : sequence of estimator
        What `learn` gave, or this function. They stay as they are.
    successive : bool, default=False
        The rows of each came after those of the ones before it, see ``merge``.

    Returns
    -------
    model : estimator
        A new one, that has learned all their rows.
    """
    return clone(models[0]).merge(*models, successive=successive)  # type: ignore[no-any-return]


def learn_into(model: Any, part: Part, name: str, target: Any = None, weight: Any = None) -> None:
    """Let an estimator learn all rows of a part."""
    for place, piece in _placed(model, part, name, target, weight):
        try:
            if _length(as_pairs(piece, model)["X"]) > 0:
                _partial_fit(model, piece)
        except Exception as error:
            named_error(error, place)
            raise


class Reservoir:
    """A sample of rows that come in parts, each as likely as any other."""

    def __init__(self, model: Any, size: int) -> None:
        self._model, self._size = model, whole_number("size", size)
        self._drawn: list[dict[str, Any]] = []
        self._n_rows = 0

    def add(self, name: str, part: Part, target: Any = None, weight: Any = None) -> None:
        """Draw from a further part."""
        for place, own in _placed(self._model, part, name, target, weight):
            piece = as_pairs(own, self._model)
            n = _length(piece["X"])
            if any(_length(value) != n for value in piece.values()):
                raise ValueError(f"{place}: the arguments have different numbers of rows")
            if n == 0:
                continue
            # Keys decide, so that a row is drawn or not wherever it is.
            drawn: dict[str, Any] = _smallest(piece | {"keys": keys_of(piece, n)}, self._size)
            if is_classifier(self._model):
                drawn["classes"] = np.unique(np.asarray(piece["y"]))
            self._drawn.append(drawn)
            self._n_rows += _length(drawn["keys"])
            if self._n_rows > 4 * self._size:
                self._drawn = self.result()
                self._n_rows = self._size

    def result(self) -> list[dict[str, Any]]:
        """Give the rows drawn."""
        return joined_samples([self._drawn], self._size)


def pieces_of(
    model: Any, part: Part, target: Any = None, weight: Any = None
) -> Iterator[dict[str, Any]]:
    """Give the arguments of each call that learns a part."""
    if isinstance(part, Mapping) and "X" in part:
        yield {key: value for key, value in part.items() if value is not None}
    elif isinstance(part, list) or (isinstance(model, Koopman) and hasattr(part, "__next__")):
        for one in part:
            yield from pieces_of(model, one, target, weight)
    elif isinstance(part, tuple):
        names = ("X", "y", "sample_weight")
        if len(part) not in {2, 3}:
            raise TypeError(f"a part is a pair (X, y) or a triple with weights, not {len(part)}")
        yield {name: value for name, value in zip(names, part, strict=False) if value is not None}
    elif isinstance(model, Koopman):
        yield {"X": part}
    elif (batches := batches_of(part, target, weight)) is not None:
        for batch in batches:
            yield {key: value for key, value in batch._asdict().items() if value is not None}
    else:
        batch = targets_apart(part, target, weight)
        if batch.y is None:
            raise TypeError(
                f"a {type(part).__name__} contains no targets: a part is a pair (X, y), or a "
                "frame with the name of its target"
            )
        yield {key: value for key, value in batch._asdict().items() if value is not None}


def _placed(
    model: Any, part: Part, name: str, target: Any, weight: Any
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the pieces of a part, with their names for errors."""
    several = isinstance(part, list) or not hasattr(part, "shape")
    several = several and not isinstance(part, tuple | Mapping)
    pieces, number = pieces_of(model, part, target, weight), 0
    while True:
        place = f"{name}, batch {number}" if several else name
        try:
            piece = next(pieces)
        except StopIteration:
            return
        except Exception as error:
            named_error(error, name)
            raise
        yield place, piece
        number += 1


def as_pairs(piece: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """Give the pairs of states of an operator's trajectory; other data unchanged."""
    if "y" in piece or "X_next" in piece or not isinstance(model, Koopman):
        return dict(piece)
    X, lag = np.asarray(piece["X"]), int(model.lag)
    pairs = {"X": X[:-lag], "X_next": X[lag:]}
    return pairs | ({"inputs": np.asarray(piece["inputs"])[:-lag]} if "inputs" in piece else {})


def _partial_fit(model: Any, piece: Mapping[str, Any]) -> None:
    if isinstance(model, Koopman):
        if "sample_weight" in piece:
            raise TypeError("Koopman learns pairs without weights: leave sample_weight out")
        piece = {"X_next" if key == "y" else key: piece[key] for key in piece if key != "classes"}
    model.partial_fit(**piece)


def _learn_singly(model: Any, rows: Mapping[str, Any], more: Mapping[str, Any]) -> None:
    """Learn rows of a sample without those that are refused.

    Whoever learns the part they are from says which one of its rows is wrong.
    """
    n, refused = _length(rows["X"]), None
    for i in range(n):
        try:
            row = {key: _taken(value, np.array([i])) for key, value in rows.items()}
            _partial_fit(model, {**row, **more})
        except ValueError as error:
            refused = error
    if not model.__sklearn_is_fitted__() and refused is not None:
        raise refused


def _smallest(rows: dict[str, Any], size: int) -> dict[str, Any]:
    """Give the rows with the smallest keys, in the order of these."""
    order = np.argsort(rows["keys"], kind="stable")[:size]
    return {key: _taken(value, order) for key, value in rows.items()}


def share(size: int, n_parts: int) -> int:
    """Tell how many rows each of several parts draws."""
    return min(size, -(-_SPARE * size // n_parts) + _MORE)


def joined_samples(
    samples: Iterable[Sequence[Mapping[str, Any]]], size: int
) -> list[dict[str, Any]]:
    """Give one sample for those of several parts."""
    drawn = [piece for of_part in samples for piece in of_part]
    if not drawn:
        return []
    rows = [{key: piece[key] for key in piece if key != "classes"} for piece in drawn]
    joined = {key: _joined([piece[key] for piece in rows]) for key in rows[0]}
    joined = _smallest(joined, size)
    if "classes" in drawn[0]:
        joined["classes"] = np.unique(np.concatenate([piece["classes"] for piece in drawn]))
    return [joined]


def _joined(values: Sequence[Any]) -> Any:
    first = values[0]
    if len(values) == 1:
        return first
    if hasattr(first, "iloc"):
        return import_module("pandas").concat(values, ignore_index=True)
    if hasattr(first, "tocsr"):
        return vstack(values, "csr")
    if isinstance(first, Mapping):
        return {name: _joined([np.asarray(value[name]) for value in values]) for name in first}
    if hasattr(first, "to_batches"):
        return import_module("pyarrow").concat_tables(values)
    if hasattr(first, "to_arrow"):
        return import_module("polars").concat(values)
    return np.concatenate([np.asarray(value) for value in values])


def _taken(values: Any, rows: NDArray[np.int64]) -> Any:
    """Give some rows."""
    if isinstance(values, Mapping):
        return {name: _taken(column, rows) for name, column in values.items()}
    if hasattr(values, "to_batches"):
        return values.take(rows)
    return _safe_indexing(values, rows)


def _length(rows: Any) -> int:
    if isinstance(rows, Mapping):
        return max(map(_length, rows.values()), default=0)
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)
