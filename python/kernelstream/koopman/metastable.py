"""Metastable sets and basins of attraction from the slow eigenfunctions of an operator."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["metastable_sets", "slow_coordinates"]


# Where an operator has the states that it forecasts functions of.
_STORED = "dictionary_next_"
# Steps after which states are expected in the set that they were in.
_STEPS = (1, 4, 16)
# Processes beyond the slowest that are compared, and the most combinations of them.
_FURTHER, _COMBINATIONS = 4, 16
# By how much more of the states have to stay in their sets for others than the slowest ones.
_CLEARLY = 0.1


class _HasSpectrum(Protocol):
    @property
    def eigenvalues_(self) -> NDArray[np.complex128]: ...
    def eigenfunctions(self, X: ArrayLike, k: int = ...) -> NDArray[np.complex128]: ...


def slow_coordinates(model: _HasSpectrum, X: ArrayLike, n: int) -> NDArray[np.float64]:
    """Embed states by the `n` slowest processes, so that states of one metastable set are close.

    Uses the eigenfunctions whose eigenvalues are nearest to 1 (not those of largest modulus, which
    include fast oscillations); a complex one by its real and imaginary parts, since two nearly
    equal real eigenvalues may appear as a conjugate pair. They are orthonormalized over the states,
    because eigenfunctions of nearly equal eigenvalues are determined up to their span only. Every
    state is then projected onto the unit sphere, where the states of one set cluster.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    X : array-like of shape (n_states, n_features)
        States.
    n : int
        Number of coordinates, at least 1.

    Returns
    -------
    coordinates : ndarray of shape (n_states, n)
        Rows of unit length.

    Raises
    ------
    ValueError
        The operator has fewer eigenfunctions.
    """
    table = _slow_functions(model, X, n)
    if table.shape[1] < n:
        raise ValueError(
            f"the operator has {table.shape[1]} eigenfunctions, but {n} are needed: store more "
            "states"
        )
    return _placed(table)


def _slow_functions(model: _HasSpectrum, X: ArrayLike, most: int) -> NDArray[np.float64]:
    """Evaluate the eigenfunctions nearest to 1, by real and imaginary parts, at most `most`."""
    values = model.eigenvalues_
    chosen: list[tuple[int, bool]] = []  # which eigenfunction, and whether its imaginary part
    for j in np.argsort(np.abs(values - 1.0), kind="stable"):
        if values[j].imag == 0.0:
            chosen.append((int(j), False))
        elif values[j].imag > 0.0:
            chosen += [(int(j), False), (int(j), True)]
        if len(chosen) >= most:
            break
    functions = model.eigenfunctions(X, max((j for j, _ in chosen[:most]), default=0) + 1)
    return np.column_stack(
        [
            functions[:, j].imag if imaginary else functions[:, j].real
            for j, imaginary in chosen[:most]
        ]
    )


def _placed(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Orthonormalize columns, and project each row onto the unit sphere."""
    sizes = np.sqrt(np.mean(table**2, axis=0))
    table = _orthonormal(table / np.maximum(sizes, np.finfo(float).tiny))
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    placed: NDArray[np.float64] = table / np.maximum(lengths, np.finfo(float).tiny)
    return placed


def _orthonormal(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the nearest orthonormal columns; directions at rounding level become zero."""
    values, vectors = np.linalg.eigh(table.T @ table / len(table))
    known = values > 1e-12 * values[-1]
    scales = np.where(known, 1.0 / np.sqrt(np.where(known, values, 1.0)), 0.0)
    orthonormal: NDArray[np.float64] = table @ (vectors * scales) @ vectors.T
    return orthonormal


def metastable_sets(
    model: _HasSpectrum,
    X: ArrayLike,
    n_sets: int,
    *,
    n_functions: int | None = None,
    random_state: int | None = None,
) -> NDArray[np.int64]:
    """Partition states into metastable sets or basins of attraction.

    Clusters the `slow_coordinates` of the states by scikit-learn's `KMeans`. The eigenvalues
    nearest to 1 may be errors of estimation: where the operator expects clearly more states to stay
    in the sets of other slow eigenfunctions beside the constant one, these are taken. Pass all
    states to be compared, such as a grid, in one call: the numbering of the sets is arbitrary.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    X : array-like of shape (n_states, n_features)
        States, at least `n_sets`.
    n_sets : int
        Number of sets, at least 1.
    n_functions : int, optional
        Number of slow coordinates, those nearest to 1. None: `n_sets`, chosen by the share of the
        states that stays.
    random_state : int, optional
        Seed of the clustering.

    Returns
    -------
    labels : ndarray of int of shape (n_states,)
        The set of each state, from 0 to ``n_sets - 1``.

    Raises
    ------
    ValueError
        The operator has too few eigenfunctions, or there are too few states.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelstream as ks
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(1000, 1))
    >>> X_next = X + 0.2 * (X - X**3)  # two stable points, -1 and 1
    >>> model = ks.Koopman(ks.Gaussian(0.3), learner=ks.Ridge(0.1)).partial_fit(X, X_next)
    >>> labels = ks.metastable_sets(model, X, 2, random_state=0)
    >>> right = labels == labels[X[:, 0].argmax()]
    >>> bool(np.mean(right == (X[:, 0] > 0)) > 0.95)
    True
    """
    from sklearn.cluster import KMeans  # noqa: PLC0415  (slow to load, seldom needed)

    places = slow_coordinates(model, X, n_sets if n_functions is None else n_functions)
    means = KMeans(n_sets, n_init=10, random_state=random_state).fit(places)
    labels: NDArray[np.int64] = means.labels_.astype(np.int64)
    if n_functions is not None or n_sets < 2 or not _forecasts_states(model):
        return labels
    rows = len(places)
    stored: NDArray[np.float64] = getattr(model, _STORED)
    table = _slow_functions(model, np.vstack([np.asarray(X), stored]), n_sets + _FURTHER)
    best = _staying(model, X, labels, means.predict(_placed(table[:, :n_sets])[rows:])) + _CLEARLY
    for columns in _combinations(table, n_sets):
        found = _placed(columns)
        means = KMeans(n_sets, n_init=10, random_state=random_state).fit(found[:rows])
        stays = _staying(model, X, means.labels_, means.predict(found[rows:]))
        if stays > best:
            best, labels = stays, means.labels_.astype(np.int64)
    return labels


def _forecasts_states(model: Any) -> bool:
    """Tell whether a model forecasts functions of the states that it stores."""
    delayed = getattr(model, "n_delays", 0) or getattr(model, "n_inputs", 0)
    return not delayed and hasattr(model, "predict") and hasattr(model, _STORED)


def _combinations(table: NDArray[np.float64], n: int) -> Iterator[NDArray[np.float64]]:
    """Give the constant function beside each choice of others, the slowest first."""
    constant = np.ones((len(table), 1))
    for columns in islice(combinations(range(table.shape[1]), n - 1), _COMBINATIONS):
        yield np.column_stack([constant, table[:, columns]])


def _staying(model: Any, X: ArrayLike, labels: NDArray[Any], stored: NDArray[Any]) -> float:
    """Compute the expected share of states in their set some steps later, a mean over the sets."""
    sets = np.eye(int(max(labels.max(), stored.max())) + 1)
    shares = []
    for steps in _STEPS:
        there = np.clip(model.predict(X, steps, observable=sets[stored]), 0.0, 1.0)
        shares += [there[labels == k, k].mean() for k in np.unique(labels)]
    return float(np.mean(shares))
