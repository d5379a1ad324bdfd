"""Explanations of the predictions of supervised estimators."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from kernelstream.estimators.explanation import Explanation
from kernelstream.estimators.validation import whole_number
from kernelstream.supervised.columns import named_columns

__all__ = ["explain_rows"]


def explain_rows(
    estimator: Any,
    X: Any,
    background: Any,
    *,
    method: str,
    n_permutations: int,
    random_state: int,
) -> Explanation:
    """Explain the predictions of rows.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row or a parameter is bad.
    """
    check_is_fitted(estimator)
    values, errors, base = estimator._core.explain(
        _dense(estimator._rows(X, reset=False)),
        None if background is None else _dense(estimator._rows(background, reset=False)),
        method,
        whole_number("n_permutations", n_permutations),
        whole_number("random_state", random_state, least=0),
    )
    names, data = _table(estimator, X, values.shape[2])
    single = values.shape[1] == 1 and getattr(estimator, "_single", True)
    classes = getattr(estimator, "classes_", None)
    outputs = [str(name) for name in (range(values.shape[1]) if classes is None else classes)]

    repeated = np.broadcast_to(base, (len(data), len(base))).copy()
    return Explanation(
        _last_outputs(values, single=single),
        repeated[:, 0] if single else repeated,
        data,
        names,
        None if single else outputs,
        None if errors is None else _last_outputs(errors, single=single),
    )


def _last_outputs(array: NDArray[np.float64], *, single: bool) -> NDArray[np.float64]:
    """Give an array (n, outputs, columns) with the outputs last, or without them."""
    return array[:, 0] if single else np.ascontiguousarray(np.moveaxis(array, 1, 2))


def _dense(rows: Any) -> NDArray[np.float64]:
    return cast("NDArray[np.float64]", rows.toarray() if issparse(rows) else rows)


def _table(estimator: Any, X: Any, width: int) -> tuple[list[str], NDArray[Any]]:
    """Give names of the columns, and the rows as they were given."""
    names, columns = named_columns(estimator, X)
    if names is None:
        known = getattr(estimator, "feature_names_in_", None)
        given = [f"x{i}" for i in range(width)] if known is None else [str(name) for name in known]
        return given, _dense(X) if issparse(X) else np.asarray(X)
    arrays = [np.asarray(column) for column in columns]
    numbers = all(array.dtype.kind in "biuf" for array in arrays)
    kind = np.float64 if numbers else object
    return [str(name) for name in names], np.column_stack([array.astype(kind) for array in arrays])
