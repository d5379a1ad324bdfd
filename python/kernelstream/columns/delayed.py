"""Collections of Dask as parts, each of which Dask computes by itself."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

__all__ = ["delayed_parts", "is_delayed"]

# Columns under which targets and weights of their own travel with a frame.
_OWN = "kernelstream {}"


def is_delayed(X: Any) -> bool:
    """Tell whether rows are a collection of Dask, or a list of delayed parts.

    Parameters
    ----------
    X : object
        Anything.

    Returns
    -------
    delayed : bool
        Whether.
    """
    several = isinstance(X, list | tuple) and len(X) > 0
    return hasattr(X[0] if several else X, "__dask_graph__")


def delayed_parts(X: Any, y: Any = None, weight: Any = None) -> list[Any]:
    """Give the parts of a collection.

    Parameters
    ----------
    X : Dask array, data frame, bag, or sequence of delayed parts
        Rows.
    y, weight : str or list of str, or Dask collection, optional
        Targets and weights; those with names are left in the parts.

    Returns
    -------
    parts : list of Delayed
        Frames with named targets in them; or else (X, y), or (X, y, weight), or what a bag or a
        list has.

    Raises
    ------
    ValueError, TypeError
        The collections do not match, or a name is no column.
    """
    if isinstance(X, Sequence) or not hasattr(X, "ndim"):
        if weight is not None or y is not None:
            raise TypeError(
                f"parts of a {'list' if isinstance(X, Sequence) else 'bag'} bring their own "
                "targets and weights, as (X, y) or {'X': ..., 'y': ..., 'sample_weight': ...}: "
                "leave y and sample_weight out"
            )
        return list(X) if isinstance(X, Sequence) else list(X.to_delayed())
    if hasattr(X, "columns"):
        return _of_frame(X, y, weight)
    return _of_array(X, y, weight)


def _of_frame(frame: Any, y: Any, weight: Any) -> list[Any]:
    names = list(frame.columns)
    named = {"y": _names(y), "sample_weight": _names(weight)}
    for name in [*named["y"], *named["sample_weight"]]:
        if name not in names:
            raise ValueError(
                f"there is no column {name!r}; the columns are {', '.join(map(str, names))}"
            )
    if y is None and weight is None:
        return list(frame.to_delayed())
    if named["y"] and (weight is None or named["sample_weight"]):
        return list(frame.to_delayed())
    if not hasattr(frame, "assign") or any(hasattr(given, "rechunk") for given in (y, weight)):
        raise TypeError(
            "beside a Dask data frame y and sample_weight are names of its columns, or series; "
            "beside a Dask array they are arrays"
        )
    # In one collection: each by itself would be divided into parts of its own.
    own: dict[str, list[str]] = {}
    for which, given in (("y", y), ("weight", weight)):
        if given is None:
            continue
        if not hasattr(given, "__dask_graph__") and not _names(given):
            raise TypeError(
                f"{'y' if which == 'y' else 'sample_weight'} beside a Dask data frame is a name "
                f"or a Dask series, got {type(given).__name__}"
            )
        columns = [frame[name] for name in _names(given)] or _columns(given)
        own[which] = [_OWN.format(f"{which} {i}") for i in range(len(columns))]
        frame = frame.assign(**dict(zip(own[which], columns, strict=True)))
    single = isinstance(y, str) or getattr(y, "ndim", 2) == 1
    drop = [*named["y"], *named["sample_weight"]]
    apart = import_module("dask").delayed(_apart)
    return [apart(part, own["y"], own.get("weight"), drop, single) for part in frame.to_delayed()]


def _apart(
    frame: Any, targets: list[str], weights: list[str] | None, drop: list[str], single: bool
) -> tuple[Any, Any, Any]:
    """Undo what put targets and weights into one frame with the rows."""
    rows = frame.drop(columns=[*targets, *(weights or []), *drop])
    y = frame[targets[0]] if single else frame[targets]
    return rows, y, None if weights is None else frame[weights[0]]


def _of_array(X: Any, y: Any, weight: Any) -> list[Any]:
    X = X.rechunk({1: -1})
    given = [X, *(_as_array(values) for values in (y, weight) if values is not None)]
    if y is None and weight is not None:
        raise ValueError("sample_weight needs y")
    if any(own.chunks[0] != X.chunks[0] for own in given) or _unknown(X):
        given = _aligned(given)
    blocks: list[list[Any]] = [np.ravel(own.to_delayed()).tolist() for own in given]
    if y is None:
        return blocks[0]
    triple = import_module("dask").delayed(_triple)
    return [triple(*parts) for parts in zip(*blocks, strict=True)]


def _aligned(given: list[Any]) -> list[Any]:
    """Divide arrays alike."""
    if any(map(_unknown, given)) and len({own.numblocks[0] for own in given}) > 1:
        given = [own.compute_chunk_sizes() if _unknown(own) else own for own in given]
    if any(map(_unknown, given)):
        return given
    lengths = [own.shape[0] for own in given]
    if len(set(lengths)) > 1:
        raise ValueError(f"X has {lengths[0]} rows, and y or sample_weight {lengths[-1]}")
    return [own.rechunk({0: given[0].chunks[0]}) for own in given]


def _unknown(array: Any) -> bool:
    return bool(np.isnan(array.chunks[0]).any())


def _as_array(values: Any) -> Any:
    if hasattr(values, "rechunk"):
        return values.rechunk({1: -1}) if values.ndim > 1 else values
    if hasattr(values, "to_dask_array"):
        return values.to_dask_array()
    raise TypeError(
        f"beside a Dask array y and sample_weight are Dask arrays, got {type(values).__name__}"
    )


def _triple(X: Any, y: Any, weight: Any = None) -> tuple[Any, Any, Any]:
    return X, y, weight


def _columns(given: Any) -> list[Any]:
    return [given] if given.ndim == 1 else [given[name] for name in given.columns]


def _names(given: Any) -> list[str]:
    if isinstance(given, str):
        return [given]
    return list(given) if isinstance(given, list | tuple) else []
