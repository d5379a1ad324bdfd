"""Models on workers, and the form of their predictions."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from kernelstream.columns.batches import names_of

__all__ = ["Shape", "model_of", "predictions_of", "shape_of"]

Shape = tuple[int | None, np.dtype[Any]]
"""The number of targets, None for one without a second axis; and the type."""


def model_of(model: Any) -> Any:
    """Give a model, read from its file once in each process and for each version of the file."""
    if not isinstance(model, str):
        return model
    status = Path(model).stat()
    return _loaded(model, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=4)
def _loaded(path: str, changed: int, inode: int) -> Any:
    del changed, inode
    return import_module("kernelstream").load(path)  # which knows all estimators


def predictions_of(model: Any, rows: Any) -> Any:
    """Predict rows, which may have further columns."""
    model = model_of(model)
    names = names_of(rows)
    own = getattr(model, "feature_names_in_", None)
    if names is not None and own is not None and list(own) != names:
        wanted = list(own)
        if all(name in names for name in wanted):
            rows = rows.select(wanted) if hasattr(rows, "select") else rows[wanted]
    if not (rows.shape[0] if hasattr(rows, "shape") else len(rows)):
        n_targets, kind = shape_of(model)
        return np.empty((0,) if n_targets is None else (0, n_targets), kind)
    return model.predict(rows)


def shape_of(model: Any) -> Shape:
    """Give the form of predictions, without computing any."""
    if hasattr(model, "classes_"):
        return None, model.classes_.dtype
    if getattr(model, "_single", False):
        return None, np.dtype(np.float64)
    n_outputs = getattr(model._core, "n_outputs", None)
    return int(model._core.n_features if n_outputs is None else n_outputs), np.dtype(np.float64)
