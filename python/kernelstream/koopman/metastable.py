"""Metastable sets and basins of attraction from the slow eigenfunctions of an operator."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["metastable_sets", "slow_coordinates"]


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
    values = model.eigenvalues_
    chosen: list[tuple[int, bool]] = []  # which eigenfunction, and whether its imaginary part
    for j in np.argsort(np.abs(values - 1.0), kind="stable"):
        if values[j].imag == 0.0:
            chosen.append((int(j), False))
        elif values[j].imag > 0.0:
            chosen += [(int(j), False), (int(j), True)]
        if len(chosen) >= n:
            break
    if len(chosen) < n:
        raise ValueError(
            f"the operator has {len(chosen)} eigenfunctions, but {n} are needed: store more states"
        )
    functions = model.eigenfunctions(X, max(j for j, _ in chosen[:n]) + 1)
    table = np.column_stack(
        [functions[:, j].imag if imaginary else functions[:, j].real for j, imaginary in chosen[:n]]
    )
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

    Clusters the `slow_coordinates` of the states by scikit-learn's `KMeans`. Pass all states to be
    compared, such as a grid, in one call: the numbering of the sets is arbitrary.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    X : array-like of shape (n_states, n_features)
        States, at least `n_sets`.
    n_sets : int
        Number of sets, at least 1.
    n_functions : int, optional
        Number of slow coordinates. None: `n_sets`.
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
    means = KMeans(n_sets, n_init=10, random_state=random_state)
    return means.fit_predict(places).astype(np.int64)  # type: ignore[no-any-return]
