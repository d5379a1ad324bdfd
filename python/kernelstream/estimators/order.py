"""Whether rows come in an order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.stats import rankdata

from kernelstream.estimators.validation import located_error
from kernelstream.exceptions import DataError

__all__ = [
    "come_by_category",
    "has_serial_index",
    "is_serial",
    "naming_rows_of",
    "ordered_columns",
    "shuffled",
]

# Fewest rows, and the ratio below which neighbours are alike: by chance it is 1 with a deviation of
# 1 / sqrt(n), so that one table in 30,000 of 64 rows in a random order is shuffled, of more none.
_FEWEST = 64
_RATIO = 0.5
# Fewest rows by which categories are judged, whose neighbours are equal by chance less often.
_FEWEST_OF_CATEGORIES = 12
# Pairs of neighbouring rows by which columns are judged: the ratio's deviation is 0.04.
_PAIRS = 1000
# Variance of ranks, in that of ranks without ties, below which a column is not judged: a flag that
# is set in one row of sixty has neighbours that are alike by chance.
_LEAST_SPREAD = 0.05
# Columns whose ranks are computed at once, so that memory is bounded.
_COLUMNS = 256


def is_serial(targets: NDArray[Any]) -> bool:
    """Tell whether neighbouring targets are more alike than others, as in a sorted table."""
    if len(targets) < _FEWEST:
        return False
    if targets.dtype.kind == "f":
        columns = targets.reshape(len(targets), -1).T
        return any(_is_serial_column(column[np.isfinite(column)]) for column in columns)
    return _come_in_runs(targets)


def _come_in_runs(labels: NDArray[Any]) -> bool:
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    expected = 1.0 - np.square(counts / len(labels)).sum()
    return bool(np.mean(codes[1:] != codes[:-1]) < _RATIO * expected)


def come_by_category(rows: Any, columns: list[int]) -> bool:
    """Tell whether few rows come category by category, of which the last would share features.

    Parameters
    ----------
    rows : ndarray of shape (n, n_features)
        Rows; of more, `ordered_columns` tells it.
    columns : list of int
        Places of their categories.
    """
    if issparse(rows) or not _FEWEST_OF_CATEGORIES <= rows.shape[0] < _FEWEST:
        return False
    return any(_come_in_runs(rows[:, column]) for column in columns)


def _is_serial_column(numbers: NDArray[Any]) -> bool:
    if len(numbers) < _FEWEST:
        return False
    successive = np.square(np.diff(numbers)).mean()
    return bool(successive < _RATIO * 2.0 * numbers.var())


def has_serial_index(X: Any) -> bool:
    """Tell whether rows are those of a frame whose index is of times in an order.

    Parameters
    ----------
    X : object
        Rows.
    """
    times = getattr(getattr(X, "index", None), "asi8", None)
    if times is None:
        return False
    since = (times - times[:1]).astype(np.float64)
    rise = len(since) > 1 and bool((np.diff(since) > 0.0).all())
    return rise or _is_serial_column(since)


def ordered_columns(rows: Any, targets: NDArray[Any]) -> NDArray[np.intp]:
    """Find the columns in which neighbouring rows are more alike than others, as sorted ones.

    The statistic is the ratio of von Neumann of the ranks, so that it has no unit and outliers
    change nothing; gaps count as the least value. A row that repeats the one before, with its
    target, is another way to write a weight, and is not counted.

    Parameters
    ----------
    rows : ndarray or sparse matrix of shape (n, n_features)
        Rows.
    targets : ndarray of shape (n,) or (n, n_targets)
        Their targets.

    Returns
    -------
    places : ndarray of int
        Their places.

    References
    ----------
    R. Bartels, "The rank version of von Neumann's ratio test for randomness", Journal of the
    American Statistical Association 77, 1982.
    """
    n_rows, n_columns = rows.shape
    if n_rows < _FEWEST:
        return np.empty(0, np.intp)
    first = np.arange(n_rows - 1)
    if len(first) > _PAIRS:
        first = np.sort(np.random.default_rng(0).choice(len(first), _PAIRS, replace=False))
    pairs = rows[np.concatenate([first, first + 1])]
    new = (targets[first] != targets[first + 1]).reshape(len(first), -1).any(axis=1)
    columns = np.arange(n_columns)
    if issparse(pairs):
        pairs.data = np.where(np.isnan(pairs.data), -np.inf, pairs.data)
        new |= np.diff((pairs[: len(first)] != pairs[len(first) :]).tocsr().indptr) > 0
        pairs = pairs.tocsc()
        columns = _varied_columns(pairs)
    places = [columns[k : k + _COLUMNS] for k in range(0, len(columns), _COLUMNS)]
    if not issparse(pairs):
        for some in places:
            before, after = np.split(_block(pairs, some), 2)
            new |= (before != after).any(axis=1)
    if new.sum() < _FEWEST - 1:
        return np.empty(0, np.intp)
    found = [np.empty(0, np.intp)]
    for some in places:
        block = _block(pairs, some)
        ranks = rankdata(block, axis=0) / len(block)
        before, after = np.split(ranks, 2)
        spread = ranks.var(axis=0)
        alike = np.square(after - before)[new].mean(axis=0) < _RATIO * 2.0 * spread
        found.append(some[alike & (spread > _LEAST_SPREAD / 12.0)])
    return np.concatenate(found)


def _varied_columns(rows: Any) -> NDArray[np.intp]:
    """Find the columns of a matrix in CSC form whose ranks may vary enough to be judged.

    n ranks, of which z are of zeros, have at most the variance (n^3 - z^3 - n + z) / (12 n^3), in
    units of n.
    """
    n = float(rows.shape[0])
    zeros = n - np.diff(rows.indptr)
    return np.flatnonzero(n**3 - zeros**3 - n + zeros > _LEAST_SPREAD * n**3)


def _block(rows: Any, columns: NDArray[np.intp]) -> NDArray[np.float64]:
    """Give some columns of rows, whose gaps are less than all numbers."""
    block = rows[:, columns]
    values = block.toarray() if issparse(block) else block
    return np.where(np.isnan(values), -np.inf, values)


def shuffled(n_rows: int, weights: NDArray[np.float64] | None = None) -> NDArray[np.intp]:
    """Give a random order of rows, the same at every call: without weight, after all others.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    weights : ndarray of shape (n_rows, 1), optional
        Their weights.

    Returns
    -------
    order : ndarray of int, shape (n_rows,)
        Places of the rows.
    """
    draw = np.random.default_rng(0)
    if weights is None or (weights > 0.0).all():
        return draw.permutation(n_rows)
    counts = weights[:, 0] > 0.0
    return np.concatenate([draw.permutation(np.flatnonzero(counts)), np.flatnonzero(~counts)])


@contextmanager
def naming_rows_of(order: NDArray[np.intp] | None) -> Iterator[None]:
    """Name the rows that were given in errors about rows that were shuffled."""
    try:
        yield
    except DataError as error:
        if order is None or error.row is None:
            raise
        row = int(order[error.row])
        message = re.sub(rf"\brow {error.row}\b", f"row {row}", str(error), count=1)
        named = located_error(message, cast(str, error.array), row, error.column)
        named.reason = error.reason
        raise named from None
