"""Eigenvalues, eigenfunctions, residuals and modes of an operator."""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from kernelstream.koopman.queries import (
    ComplexArray,
    FloatArray,
    Function,
    Operator,
    count_of,
    queried,
    rank_of,
    values_of,
)
from kernelstream.koopman.remedies import warn_of_degrees

__all__ = [
    "amplitudes",
    "dynamical_modes",
    "eig",
    "eigenfunctions",
    "eigenvalues",
    "influences",
    "modes",
    "residuals",
    "standard_errors",
    "unsplit",
]


def eigenvalues(model: Operator) -> ComplexArray:
    """Compute the eigenvalues that ``rank`` keeps.

    Parameters
    ----------
    model : fitted Koopman
        The operator.

    Returns
    -------
    eigenvalues : ndarray of complex of shape (k,)
        By decreasing modulus, conjugate pairs together.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    """
    check_is_fitted(model)
    values = cast(ComplexArray, model._core.eigenvalues())
    rank = rank_of(model)
    return values if rank is None else values[: unsplit(values, rank)]


def influences(
    model: Operator, k: int | None
) -> tuple[ComplexArray, FloatArray, ComplexArray, float]:
    """Compute the influence of each block of the stream on the eigenvalues.

    Parameters
    ----------
    model : fitted Koopman
        The operator, with ``n_blocks``.
    k : int, optional
        Number of eigenvalues. None: all.

    Returns
    -------
    influences : ndarray of complex of shape (n_blocks, k)
        How much less each eigenvalue would be without a block, to first order.
    shares : ndarray of shape (n_blocks,)
        The share of each block in all pairs.
    bias : ndarray of complex of shape (k,)
        What regularization takes from each.
    inflation : float
        How much larger errors are than those seen from the pairs learned: pairs over degrees of
        freedom left; infinite where less than one is left, with a warning.

    Raises
    ------
    NotFittedError, ValueError
        Nothing has been learned yet, or there are no blocks.
    """
    count = count_of(model, k)
    if count == 0:
        none = np.zeros((0, 0), dtype=np.complex128)
        return none, np.zeros(0), np.zeros(0, dtype=np.complex128), 1.0
    changes, shares, bias, (pairs, degrees) = model._core.influences(count)
    left = pairs - degrees
    if left < 1.0:
        warn_of_degrees(pairs, degrees, model._warned())
    return changes, shares, bias, pairs / left if left >= 1.0 else np.inf


def eig(
    model: Operator,
    eval_left_on: ArrayLike | None = None,
    eval_right_on: ArrayLike | None = None,
    k: int | None = None,
) -> ComplexArray | tuple[ComplexArray, ...]:
    """Compute eigenvalues, and eigenfunctions at points (with the signature of kooplearn).

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    eval_left_on : array-like of shape (n, n_features), optional
        Where to evaluate the left eigenfunctions.
    eval_right_on : array-like of shape (n, n_features), optional
        Where to evaluate the right eigenfunctions.
    k : int, optional
        Exactly this many, even if the last is one of a conjugate pair. None: as many as
        `eigenvalues_`.

    Returns
    -------
    eigenvalues : ndarray of complex of shape (k,)
        See `eigenvalues_`.
    left : ndarray of complex of shape (n, k)
        Only if `eval_left_on` is given.
    right : ndarray of complex of shape (n, k)
        Only if `eval_right_on` is given.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid; the message names it.
    """
    out = [model.eigenvalues_[: count_of(model, k)]]
    if eval_left_on is not None:
        out.append(eigenfunctions(model, eval_left_on, k, left=True))
    if eval_right_on is not None:
        out.append(eigenfunctions(model, eval_right_on, k))
    return out[0] if len(out) == 1 else tuple(out)


def eigenfunctions(
    model: Operator, X: ArrayLike, k: int | None = None, *, left: bool = False
) -> ComplexArray:
    """Evaluate the leading eigenfunctions.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    X : array-like of shape (n, n_features)
        States.
    k : int, optional
        Number of eigenfunctions. None: as many as `eigenvalues_`.
    left : bool, default=False
        Those of the adjoint operator instead, dual to the right ones: the inner product of
        left i and right j is 1 for i = j, else 0. Up to a factor they are the densities
        between which a process moves.

    Returns
    -------
    values : ndarray of complex of shape (n, k)
        Column j belongs to ``eigenvalues_[j]``. Right ones have mean square 1 over the stored
        states, and their mean over these with weights 1, 1/2, 1/4, ... is real and positive,
        which fixes signs and phases along the stream. Those of a conjugate pair are complex
        conjugates.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid; the message names it.
    """
    rows = queried(model, X)
    count = count_of(model, k)
    if count == 0:
        return np.zeros((len(rows), 0), dtype=np.complex128)
    return cast(ComplexArray, model._core.eigenfunctions(rows, count, left))


def residuals(
    model: Operator,
    X: ArrayLike | None = None,
    X_next: ArrayLike | None = None,
    k: int | None = None,
    *,
    kind: Literal["projected", "raw"] | None = None,
) -> FloatArray:
    """Estimate the residuals of the eigenpairs.

    On held-out pairs, or, with ``n_blocks``, on those learned: at any moment of a stream and
    without further pairs, but in sample. The eigenpairs were fitted to these pairs, so that
    their residuals are smaller than on others, the more so the fewer pairs there are for each
    stored state.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    X, X_next : array-like of shape (n, n_features), optional
        Held-out pairs, several times as many as stored states. None: the pairs learned.
    k : int, optional
        Number of eigenpairs. None: as many as `eigenvalues_`.
    kind : {"projected", "raw"}, optional
        "projected" estimates the norm of ``E[phi(x_next) | x] - mu phi(x)``: the part of the
        difference that the state explains, corrected for chance. "raw" is the norm of
        ``phi(x_next) - mu phi(x)`` itself, for deterministic systems; noise adds
        ``sqrt(1 - |mu|^2)`` to a true pair. None: "projected" on held-out pairs, "raw" on those
        learned, where the projected one is zero by construction.

    Returns
    -------
    residuals : ndarray of shape (k,)
        Relative to the norm of phi: 0 for an exact eigenpair ("projected": also below the
        resolution of this many pairs), 1 for a spurious one.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid (the message names it), `kind` is unknown, or there are no pairs: the
        sums over those learned are kept with ``n_blocks`` only.

    References
    ----------
    M. Colbrook, A. Townsend, "Rigorous data-driven computation of spectral properties of
    Koopman operators for dynamical systems", Communications on Pure and Applied Mathematics,
    2024.
    """
    if kind not in {"projected", "raw", None}:
        raise ValueError(f'kind must be "projected" or "raw", got {kind!r}')
    if X is None or X_next is None:
        if X is not None or X_next is not None:
            raise ValueError("residuals need both X and X_next, or neither")
        if kind == "projected":
            raise ValueError(
                'kind="projected" needs held-out pairs: it is 0 on those learned, as fitted'
            )
        check_is_fitted(model)
        count = count_of(model, k)
        return cast(FloatArray, model._core.learned_residuals(count)) if count else np.zeros(0)
    before, after = queried(model, X), queried(model, X_next)
    count = count_of(model, k)
    if count == 0:
        return np.zeros(0)
    return cast(FloatArray, model._core.residuals(before, after, count, kind != "raw"))


def modes(
    model: Operator, observable: Function | None = None, k: int | None = None
) -> ComplexArray:
    """Compute the Koopman modes: the coefficients of an observable in the eigenfunctions.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    observable : callable or array-like, optional
        None: the state. Else a function of states, or its values at `dictionary_next_`.
    k : int, optional
        Number of modes. None: as many as
        `eigenvalues_`. Modes of small eigenvalues are dominated by rounding.

    Returns
    -------
    modes : ndarray of complex of shape (k,) or (k, p)
        ``sum_j eigenvalues_[j]**n * eigenfunctions(x)[j] * modes[j]`` is the forecast after n
        steps, n at least 1.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError
        The eigenfunctions are not independent; use a smaller `k`.
    """
    count = count_of(model, k)
    values = None if observable is None else values_of(model, observable)
    flat = values is not None and values.ndim == 1
    matrix = values[:, None] if values is not None and flat else values
    # The core computes those of whole conjugate pairs.
    out = model._core.modes(matrix, count)[:count]
    return cast(ComplexArray, out[:, 0] if flat else out)


def dynamical_modes(
    model: Operator, X: ArrayLike, observable: Function | None = None, k: int | None = None
) -> ComplexArray:
    """Decompose states, or a function of them, by eigenvalues.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    X : array-like of shape (n, n_features)
        Initial states.
    observable : callable or array-like, optional
        None: the state. Else a function of states, or its values at `dictionary_next_`.
    k : int, optional
        Number of parts. None: as many as
        `eigenvalues_`.

    Returns
    -------
    parts : ndarray of complex of shape (n, k) or (n, k, p)
        Part j is ``eigenfunctions(X)[:, j] * modes()[j]``: it evolves by ``eigenvalues_[j]``,
        and the sum over j of ``eigenvalues_[j]**n`` times it is the forecast after n steps.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid (the message names it), or the eigenfunctions are not independent.
    """
    found = modes(model, observable, k)
    functions = model._core.eigenfunctions(queried(model, X), len(found))
    if found.ndim == 1:
        return cast(ComplexArray, functions * found)
    return cast(ComplexArray, functions[:, :, None] * found[None])


def amplitudes(
    model: Operator, X: ArrayLike, observable: Function | None = None, k: int | None = None
) -> ComplexArray:
    """Compute how strongly states contain each mode.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    X : array-like of shape (n, n_features)
        Initial states.
    observable : callable or array-like, optional
        As in `modes`.
    k : int, optional
        Number of modes. None: as many as
        `eigenvalues_`.

    Returns
    -------
    amplitudes : ndarray of complex of shape (n, k)
        ``eigenfunctions(X)`` times the Euclidean norms of `modes`: the coefficients of the
        states in modes of unit norm, which PyDMD calls amplitudes (of its first snapshot).

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid (the message names it), or the eigenfunctions are not independent.
    """
    found = modes(model, observable, k)
    sizes = np.abs(found) if found.ndim == 1 else np.linalg.norm(found, axis=1)
    functions = model._core.eigenfunctions(queried(model, X), len(found))
    return cast(ComplexArray, functions * sizes)


def unsplit(values: ComplexArray, count: int) -> int:
    """Return this count of eigenvalues, or one more where that would split a conjugate pair.

    Parameters
    ----------
    values : ndarray of complex of shape (m,)
        Eigenvalues, conjugate pairs together, positive imaginary part first.
    count : int
        Number of values requested.

    Returns
    -------
    count : int
        At most m.
    """
    count = min(count, len(values))
    return count + 1 if count and values[count - 1].imag > 0 else count


def standard_errors(
    influences: ComplexArray | FloatArray,
    shares: FloatArray,
    bias: ComplexArray | FloatArray,
    inflation: float,
) -> FloatArray:
    """Give the standard errors of estimates from the influence of each block on them.

    Parameters
    ----------
    influences : ndarray of shape (n_blocks, k)
        How much less each estimate would be without a block, to first order.
    shares : ndarray of shape (n_blocks,)
        The share of each block in all pairs.
    bias : ndarray of shape (k,)
        Additional bias of the estimates, independent of the sample.
    inflation : float
        Factor on the errors of sampling: residuals of the pairs learned are smaller than those of
        other pairs by about the share of the degrees of freedom left, as in the jackknife.

    Returns
    -------
    errors : ndarray of shape (k,)
        Standard errors; of complex estimates, of their distance from the expected one.
    """
    if np.isinf(inflation):
        return np.full(len(bias), np.inf)
    squares = inflation**2 * np.sum(np.abs(influences) ** 2, axis=0)
    errors: FloatArray = np.sqrt(squares / (1.0 - np.sum(shares**2)) + np.abs(bias) ** 2)
    return errors
