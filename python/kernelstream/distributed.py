"""Learning rows that are in many places: on the cores of one machine, or on many with Dask.

`fit` learns in two rounds. In the first a sample of each part's rows makes a dictionary, which is
frozen. In the second a copy of the estimator learns all rows of each part, and the copies are
merged, a few at a time. What comes out is least squares on all rows in that dictionary: it depends
neither on how rows are spread over parts nor on their order, to rounding.

Any other engine will do as well: `sample`, `begin`, `learn` and `merged` are the steps, plain
functions whose arguments and results can be pickled.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from importlib import import_module
from itertools import repeat
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import vstack
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from kernelstream.estimators.merging import MergingEstimator
from kernelstream.estimators.validation import whole_number
from kernelstream.koopman import Koopman

__all__ = ["begin", "fit", "learn", "merged", "sample"]

# Most estimators merged at once: few enough for a tree of them to be spread over workers.
_FAN_IN = 8

Estimator = TypeVar("Estimator", bound=MergingEstimator)
Part = Any
"""Arguments of ``partial_fit``: a pair (X, y) or a mapping; a trajectory; or a list of these."""


def fit(
    model: Estimator,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    sample_size: int | None = 10_000,
    n_jobs: int | None = None,
) -> Estimator:
    """Forget everything, then learn rows that are in many places, in two rounds.

    Parameters
    ----------
    model : estimator
        One that `merge` works for, such as ``KernelRegressor()``, ``KernelClassifier(learner=
        Ridge())``, ``Koopman()`` or a table of these.
    X : array-like, sequence of parts, or Dask collection
        Rows as for the estimator's ``fit``, which are divided among threads. Or a list of parts,
        each a pair (X, y), a mapping with the arguments of ``partial_fit``, or of a `Koopman` a
        trajectory. Or of Dask: an array, a data frame, a bag of parts, or a list of delayed parts;
        these are learned by whatever scheduler Dask has, a cluster's if there is a client.
    y : array-like, Dask array or series, or str, optional
        Targets, labels, or next states of the rows; of a Dask data frame also the name of its
        column. None: parts have them.
    sample_weight : array-like of shape (n,), optional
        How many times each row's loss counts; only beside arrays.
    sample_size : int or None, default=10000
        At about this many rows, drawn from all parts alike, the dictionary is made. None: it is
        that of `model`, which has learned.
    n_jobs : int, optional
        Number of threads where Dask is not used. None: one for each processor.

    Returns
    -------
    model : estimator
        `model`.

    Raises
    ------
    ValueError, TypeError
        A row is bad (the message names its part, and the row in it), there is no row, or the
        estimator's learner does not add; `model` is as it was.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelstream as ks
    >>> from kernelstream import distributed
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(20000, 2))
    >>> model = distributed.fit(ks.KernelRegressor(ks.Gaussian(0.5)), X, np.sin(3 * X[:, 0]))
    >>> model.n_seen_
    20000
    """
    parts: list[Part]
    if lazy := _delayed(X, y):
        return _take(model, _by_dask(model, lazy, sample_size))
    n_jobs = whole_number("n_jobs", os.cpu_count() if n_jobs is None else n_jobs)
    if y is None and isinstance(X, Sequence):
        parts, names = list(X), [_name(i) for i in range(len(X))]
    else:
        given = {"X": X, "y": y, "sample_weight": sample_weight}
        (piece,) = _pieces(given)
        # One trajectory loses no pair where it is cut.
        piece = _as_pairs(piece, model.lag) if isinstance(model, Koopman) else piece
        parts, names = _slices(piece, n_jobs)
    if not parts:
        raise ValueError("there is no row in any part")
    return _take(model, _by_threads(model, parts, names, sample_size, n_jobs))


def sample(
    model: MergingEstimator, part: Part, size: int, name: str = "a part"
) -> list[dict[str, Any]]:
    """Draw rows of a part, for `begin`.

    Parameters
    ----------
    model : estimator
        Says what is to be learned.
    part : part
        Rows and targets, as `fit` has them.
    size : int
        How many, at least 1.
    name : str, default="a part"
        What errors call the part.

    Returns
    -------
    drawn : list of dict
        Arguments of ``partial_fit``; of a classifier all classes of the part as ``"classes"``.
    """
    drawn = []
    pieces = [_as_pairs(piece, _lag(model)) for piece in _pieces(part)]
    for piece in pieces:
        n = _length(piece["X"])
        if any(value is not None and _length(value) != n for value in piece.values()):
            raise ValueError(f"{name}: the arguments have different numbers of rows")
        if n == 0:
            continue
        most = min(n, -(-size // len(pieces)))
        rows = np.sort(np.random.default_rng(n).choice(n, most, replace=False))
        chosen = {key: _safe_indexing(value, rows) for key, value in piece.items()}
        if is_classifier(model):
            chosen["classes"] = np.unique(np.asarray(piece["y"]))
        drawn.append(chosen)
    return drawn


def begin(model: Estimator, samples: Iterable[Sequence[Mapping[str, Any]]]) -> Estimator:
    """Make an estimator whose dictionary is frozen, from samples of all parts.

    Parameters
    ----------
    model : estimator
        Says what is to be learned. It stays as it is.
    samples : iterable of list of dict
        What `sample` gave for each part.

    Returns
    -------
    begun : estimator
        A new one that has learned nothing yet, for `learn`.
    """
    drawn = [piece for of_part in samples for piece in of_part]
    if not drawn:
        raise ValueError("there is no row in any part")
    begun = clone(model)
    classes = {}
    if is_classifier(model):
        classes["classes"] = np.unique(np.concatenate([piece["classes"] for piece in drawn]))
    names = [key for key in drawn[0] if key != "classes"]
    rows = {key: _joined([piece[key] for piece in drawn]) for key in names}
    n = _length(rows["X"])
    # The warm-up of a table is of all parts, too.
    order = np.random.default_rng(n).permutation(n)
    shuffled = {key: _safe_indexing(value, order) for key, value in rows.items()}
    try:
        _partial_fit(begun, {**shuffled, **classes})
    except ValueError:
        _learn_singly(begun, shuffled, classes)
    if hasattr(begun, "flush"):
        begun.flush()
    return begun.freeze_dictionary()  # type: ignore[no-any-return]


def learn(begun: Estimator, part: Part, name: str = "a part") -> Estimator:
    """Learn all rows of a part.

    Parameters
    ----------
    begun : estimator
        What `begin` gave. It stays as it is.
    part : part
        Rows and targets, as `fit` has them.
    name : str, default="a part"
        What errors call the part.

    Returns
    -------
    model : estimator
        A copy of `begun` that has learned them, for `merged`.
    """
    return _learn_all(begun, [part], [name])


def merged(models: Sequence[Estimator]) -> Estimator:
    """Merge estimators.

    Parameters
    ----------
    models : sequence of estimator
        What `learn` gave, or this function. They stay as they are.

    Returns
    -------
    model : estimator
        A new one, that has learned all their rows.
    """
    return clone(models[0]).merge(*models)  # type: ignore[no-any-return]


def _learn_all(begun: Estimator, parts: Sequence[Part], names: Sequence[str]) -> Estimator:
    """Let one copy learn several parts."""
    model = deepcopy(begun)
    for part, name in zip(parts, names, strict=True):
        try:
            for piece in _pieces(part):
                if _length(_as_pairs(piece, _lag(model))["X"]) > 0:
                    _partial_fit(model, piece)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{name}: {error}") from error
    if hasattr(model, "flush"):
        model.flush()
    return model


def _by_threads(
    model: Estimator, parts: list[Part], names: list[str], size: int | None, n_jobs: int
) -> Estimator:
    with ThreadPoolExecutor(n_jobs) as pool:
        each = _share(size, len(parts))
        if size is None:
            begun = deepcopy(model).freeze_dictionary()
        else:
            drawn = pool.map(sample, repeat(model), parts, repeat(each), names)
            begun = begin(model, drawn)
        groups = [slice(i, None, n_jobs) for i in range(min(n_jobs, len(parts)))]
        of_each = ([given[group] for group in groups] for given in (parts, names))
        models: list[Estimator] = list(pool.map(_learn_all, repeat(begun), *of_each))
    return merged(models)


def _by_dask(model: Estimator, parts: list[Any], size: int | None) -> Estimator:
    dask = import_module("dask")
    delayed = dask.delayed
    names = [_name(i) for i in range(len(parts))]
    if size is None:
        begun = deepcopy(model).freeze_dictionary()
    else:
        each, draw = _share(size, len(parts)), delayed(sample)
        drawn = [draw(model, part, each, name) for part, name in zip(parts, names, strict=True)]
        # By itself: what is to be computed next would have workers keep all the parts meanwhile.
        (begun,) = dask.compute(delayed(begin)(model, drawn))
    go = delayed(learn)
    models = [go(begun, part, name) for part, name in zip(parts, names, strict=True)]
    while len(models) > 1:
        models = [delayed(merged)(models[i : i + _FAN_IN]) for i in range(0, len(models), _FAN_IN)]
    (learned,) = dask.compute(models[0])
    return learned  # type: ignore[no-any-return]


def _take(model: Estimator, learned: Estimator) -> Estimator:
    with model._learning(reset=True) as new:
        new._take_over(learned)
    return model


def _delayed(X: Any, y: Any) -> list[Any]:
    """Give the parts of a Dask collection, or of a list of delayed parts; none of anything else."""
    if isinstance(X, Sequence) and any(hasattr(part, "__dask_graph__") for part in X):
        return list(X)
    if not hasattr(X, "__dask_graph__"):
        return []
    delayed = import_module("dask").delayed
    if y is None:
        return list(X.to_delayed())
    if isinstance(y, str):
        return [delayed(_apart)(frame, y) for frame in X.to_delayed()]
    if hasattr(X, "rechunk"):
        X = X.rechunk({1: -1})
        if not hasattr(y, "rechunk"):
            y = y.to_dask_array()
        if y.ndim > 1:
            y = y.rechunk({1: -1})
    rows, targets = (np.ravel(given.to_delayed()).tolist() for given in (X, y))
    if len(rows) != len(targets):
        raise ValueError(f"X has {len(rows)} partitions and y has {len(targets)}")
    return [delayed(_pair)(*pair) for pair in zip(rows, targets, strict=True)]


def _pair(X: Any, y: Any) -> tuple[Any, Any]:
    return X, y


def _apart(frame: Any, target: str) -> tuple[Any, Any]:
    return frame.drop(columns=target), frame[target]


def _pieces(part: Part) -> list[dict[str, Any]]:
    """Give the arguments of each call that learns a part."""
    if isinstance(part, list):
        return [piece for one in part for piece in _pieces(one)]
    if isinstance(part, Mapping):
        return [{key: value for key, value in part.items() if value is not None}]
    if isinstance(part, tuple):
        X, y = part
        return [{"X": X, "y": y}]
    return [{"X": part}]


def _as_pairs(piece: Mapping[str, Any], lag: int) -> dict[str, Any]:
    """Give the pairs of states of a trajectory."""
    if "y" in piece or "X_next" in piece:
        return dict(piece)
    X = np.asarray(piece["X"])
    pairs = {"X": X[:-lag], "X_next": X[lag:]}
    return pairs | ({"inputs": np.asarray(piece["inputs"])[:-lag]} if "inputs" in piece else {})


def _partial_fit(model: Any, piece: Mapping[str, Any]) -> None:
    if isinstance(model, Koopman):
        piece = {"X_next" if key == "y" else key: piece[key] for key in piece if key != "classes"}
    model.partial_fit(**piece)


def _learn_singly(model: Any, rows: Mapping[str, Any], more: Mapping[str, Any]) -> None:
    """Learn rows of a sample without those that are refused.

    Whoever learns the part they are from says which one of its rows is wrong.
    """
    n, refused = _length(rows["X"]), None
    for i in range(n):
        try:
            row = {key: _safe_indexing(value, np.array([i])) for key, value in rows.items()}
            _partial_fit(model, {**row, **more})
        except ValueError as error:
            refused = error
    if not model.__sklearn_is_fitted__() and refused is not None:
        raise refused


def _slices(given: dict[str, Any], n: int) -> tuple[list[Part], list[str]]:
    """Divide rows among `n` parts."""
    size = _length(given["X"])
    cuts = np.linspace(0, size, min(n, max(size, 1)) + 1).astype(int)
    bounds = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
    parts = [
        {key: _safe_indexing(value, slice(start, end)) for key, value in given.items()}
        for start, end in bounds
    ]
    return parts, [f"rows {start} to {end - 1}" for start, end in bounds]


def _joined(values: Sequence[Any]) -> Any:
    if hasattr(values[0], "iloc"):
        return import_module("pandas").concat(values, ignore_index=True)
    if hasattr(values[0], "tocsr"):
        return vstack(values, "csr")
    return np.concatenate([np.asarray(value) for value in values])


def _length(rows: Any) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _share(size: int | None, n_parts: int) -> int:
    size = 1 if size is None else whole_number("sample_size", size)
    return -(-size // max(n_parts, 1))


def _lag(model: Any) -> int:
    return int(model.lag) if isinstance(model, Koopman) else 1


def _name(part: int) -> str:
    return f"part {part}"
