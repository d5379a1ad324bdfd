"""Variational scores (VAMP) of functions of the state, from held-out pairs."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Method", "operator_score", "real_functions", "score_of_moments", "vamp_score"]

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
Method = Literal["VAMP1", "VAMP2", "VAMPE"]

# Directions that are smaller than this share of the largest are rounding.
_CUTOFF = 1e-7


def vamp_score(
    features: ArrayLike,
    features_next: ArrayLike,
    method: Literal["VAMP1", "VAMP2"] = "VAMP2",
    k: int | None = None,
) -> float:
    """Compute the VAMP-r score of functions of the state.

    How well the functions at one time, combined linearly, predict themselves at the next: the sum
    of the r-th powers of their canonical correlations. It is bounded by that of the leading
    singular functions of the true operator. Costs O(n p^2) time and O(n p) memory.

    Parameters
    ----------
    features : array-like of shape (n, p)
        Values of the functions at n states, n above p. Constants are removed, and added to the
        score: the constant function always counts 1.
    features_next : array-like of shape (n, p)
        Values at the next states.
    method : {"VAMP1", "VAMP2"}, default="VAMP2"
        The sum of the correlations or of their squares.
    k : int, optional
        Count this many of them, the constant function included. None: all.

    Returns
    -------
    score : float
        From 1, for functions that predict nothing, to ``k`` or ``p + 1``.

    Raises
    ------
    ValueError
        The shapes differ, or the method is unknown.

    References
    ----------
    H. Wu, F. Noe, "Variational approach for learning Markov processes from time series data",
    Journal of Nonlinear Science, 2020, equation (33).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream.koopman import vamp_score
    >>> x = np.random.default_rng(0).normal(size=(1000, 1))
    >>> round(vamp_score(x, -0.5 * x), 6)  # the constant, and a function that predicts itself
    2.0
    """
    powers = {"VAMP1": 1, "VAMP2": 2}
    if method not in powers:
        raise ValueError(f'method must be "VAMP1" or "VAMP2", got {method!r}')
    before, after = _checked(features, features_next)
    left, right = _centred_directions(before), _centred_directions(after)
    if not left.shape[1] or not right.shape[1]:
        return 1.0
    correlations = np.linalg.svd(left.T @ right, compute_uv=False)
    kept = correlations if k is None else correlations[: max(k - 1, 0)]
    return 1.0 + float(np.sum(np.minimum(kept, 1.0) ** powers[method]))


def operator_score(features: ArrayLike, features_next: ArrayLike, matrix: ArrayLike) -> float:
    """Compute the VAMP-E score of a matrix that predicts functions of the state.

    The squared error of the predictions in units of the functions' own size: unlike VAMP-r, which
    only judges what the functions could predict, a matrix that was fitted badly lowers it. At
    most the VAMP-2 score of the same functions, and equal to it for the best matrix.

    Parameters
    ----------
    features, features_next : array-like of shape (n, p)
        Values of the functions at n states and at the next ones. With a constant among them, the
        constant counts.
    matrix : array-like of shape (p, p)
        ``features @ matrix`` predicts ``features_next``.

    Returns
    -------
    score : float
        At most p; negative if the predictions are worse than zeros.

    Raises
    ------
    ValueError
        The shapes differ.

    References
    ----------
    H. Wu, F. Noe, "Variational approach for learning Markov processes from time series data",
    Journal of Nonlinear Science, 2020, equation (30).
    """
    before, after = _checked(features, features_next)
    sizes = np.sqrt(np.mean(after**2, axis=0))
    scales = np.where(sizes > 0.0, sizes, 1.0)
    error = (after - before @ np.asarray(matrix, dtype=np.float64)) / scales
    _, values, axes = np.linalg.svd(after / scales, full_matrices=False)
    kept = values > _CUTOFF * values.max(initial=0.0)
    whitened = error @ (axes[kept].T / values[kept])
    return float(np.count_nonzero(kept) - np.sum(whitened**2))


def score_of_moments(
    means: ComplexArray, products: ComplexArray, values: ComplexArray, method: Method, k: int
) -> float:
    """Compute the score of eigenfunctions from means over pairs, without the pairs.

    Parameters
    ----------
    means : ndarray of complex of shape (2, p)
        Means of the functions, now and later.
    products : ndarray of complex of shape (3, p, p)
        Means of their products, the first factor conjugated: now, now with later, later.
    values : ndarray of complex of shape (p,)
        Eigenvalues, both of each conjugate pair.
    method : {"VAMP1", "VAMP2", "VAMPE"}
        As in `vamp_score`; "VAMPE" is `operator_score` of the eigenvalues.
    k : int
        Count this many correlations, the constant function included.

    Returns
    -------
    score : float
        That of `vamp_score` or `operator_score` of the functions' values.
    """
    now, across, later = products
    if method == "VAMPE":
        error = later - values.conj()[:, None] * across - across.conj().T * values
        error += values.conj()[:, None] * now * values
        axes = _whitening(later, later)
        return float(axes.shape[1] - np.trace(axes.conj().T @ error @ axes).real)
    centred = [
        product - np.outer(means[i].conj(), means[j])
        for product, i, j in ((now, 0, 0), (across, 0, 1), (later, 1, 1))
    ]
    left, right = _whitening(centred[0], now), _whitening(centred[2], later)
    correlations = np.linalg.svd(left.conj().T @ centred[1] @ right, compute_uv=False)
    power = 1 if method == "VAMP1" else 2
    return 1.0 + float(np.sum(np.minimum(correlations[: max(k - 1, 0)], 1.0) ** power))


def _whitening(products: ComplexArray, uncentred: ComplexArray) -> ComplexArray:
    """Find combinations of functions that are orthonormal, given means of their products."""
    sizes, rounding = np.diag(products).real, _CUTOFF**2 * np.diag(uncentred).real
    scales = np.where(sizes > rounding, 1.0 / np.sqrt(np.maximum(sizes, rounding)), 0.0)
    values, axes = np.linalg.eigh(scales[:, None] * products * scales)
    kept = values > _CUTOFF**2 * values.max(initial=0.0)
    whitening: ComplexArray = scales[:, None] * axes[:, kept] / np.sqrt(values[kept])
    return whitening


def real_functions(
    values: ComplexArray, functions: ComplexArray
) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
    """Write eigenfunctions as real functions with the same span.

    Parameters
    ----------
    values : ndarray of complex of shape (k,)
        Eigenvalues, of conjugate pairs the one with positive imaginary part first.
    functions : ndarray of complex of shape (n, k)
        Eigenfunctions at n states.

    Returns
    -------
    real : ndarray of shape (n, p)
        Real eigenfunctions as they are, of a pair the real and the imaginary part.
    matrix : ndarray of shape (p, p)
        ``real @ matrix`` is the expectation of `real` one step later.
    owners : ndarray of int of shape (p,)
        The eigenvalue of each.
    """
    columns: list[FloatArray] = []
    owners: list[int] = []
    matrix = np.zeros((2 * len(values), 2 * len(values)))
    for j, value in enumerate(values):
        if value.imag < 0.0:
            continue
        at = len(columns)
        columns.append(functions[:, j].real)
        owners.append(j)
        matrix[at, at] = value.real
        if value.imag > 0.0:
            columns.append(functions[:, j].imag)
            owners.append(j)
            matrix[at : at + 2, at : at + 2] = [
                [value.real, value.imag],
                [-value.imag, value.real],
            ]
    real = np.stack(columns, axis=1) if columns else np.zeros((len(functions), 0))
    return real, matrix[: len(columns), : len(columns)], np.array(owners, dtype=np.intp)


def _checked(features: ArrayLike, features_next: ArrayLike) -> tuple[FloatArray, FloatArray]:
    before = np.asarray(features, dtype=np.float64)
    after = np.asarray(features_next, dtype=np.float64)
    if before.ndim != 2 or before.shape != after.shape or not len(before):
        raise ValueError(
            f"features have shape {before.shape} and features_next {after.shape}, but both must "
            "have the same shape (n, p), n at least 1"
        )
    return before, after


def _centred_directions(table: FloatArray) -> FloatArray:
    """Compute an orthonormal basis of the span of the columns without their means.

    A column that varies by less than rounding is a constant, which counts by itself.
    """
    centred = table - table.mean(axis=0)
    varies = np.linalg.norm(centred, axis=0) > _CUTOFF * np.linalg.norm(table, axis=0)
    return _directions(centred[:, varies])


def _directions(table: FloatArray) -> FloatArray:
    """Compute an orthonormal basis of the span of the columns."""
    sizes = np.linalg.norm(table, axis=0)
    scaled = table / np.where(sizes > 0.0, sizes, 1.0)
    left, values, _ = np.linalg.svd(scaled, full_matrices=False)
    basis: FloatArray = left[:, values > _CUTOFF * values.max(initial=0.0)]
    return basis
