"""Singular values and functions of an operator, and the kinetic map."""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from kernelstream.estimators.validation import whole_number
from kernelstream.koopman.queries import FloatArray, Operator, queried

__all__ = ["kinetic_map", "singular_functions", "singular_values"]


class _HasSingularValues(Operator, Protocol):
    @property
    def singular_values_(self) -> FloatArray: ...


def singular_values(model: Operator) -> FloatArray:
    """Compute the singular values of an operator.

    Parameters
    ----------
    model : fitted Koopman
        The operator, with ``n_blocks``.

    Returns
    -------
    singular_values : ndarray of shape (k,)
        By decreasing size, the first 1; at most ``n_stored_ + 1``, as many as there are functions
        that vary over the pairs.

    Raises
    ------
    NotFittedError, ValueError
        Nothing has been learned yet, or there are no sums over the pairs.
    """
    check_is_fitted(model)
    return cast(FloatArray, model._core.singular_values())


def singular_functions(
    model: _HasSingularValues, X: ArrayLike, k: int | None = None, *, right: bool = False
) -> FloatArray:
    """Evaluate the leading singular functions.

    The left ones are the functions of the state that predict most, the right ones the functions
    of the next state that are predicted best: each pair of functions has the correlation
    ``singular_values_[j]`` over the pairs learned, and no other two of them are correlated. They
    are real for any process, also where it is not reversible, not stationary or driven, for which
    eigenfunctions mean little.

    Parameters
    ----------
    model : fitted Koopman
        The operator, with ``n_blocks``.
    X : array-like of shape (n, n_features)
        States.
    k : int, optional
        Number of functions, the constant one included. None: all.
    right : bool, default=False
        Those of the next state.

    Returns
    -------
    values : ndarray of shape (n, k)
        Column 0 is 1; the others have mean 0 and mean square 1 over the pairs learned, but for
        regularization, which makes them smaller. Signs are constant along the stream.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid (the message names it), or there are no sums over the pairs.

    References
    ----------
    H. Wu, F. Noe, "Variational approach for learning Markov processes from time series data",
    Journal of Nonlinear Science, 2020, section 2.2.
    """
    rows = queried(model, X)
    most = len(model.singular_values_)
    count = most if k is None else min(whole_number("k", k), most)
    return cast(FloatArray, model._core.singular_functions(rows, count, right))


def kinetic_map(model: _HasSingularValues, X: ArrayLike, n: int = 2) -> FloatArray:
    """Embed states so that their distance is the kinetic one.

    The distance of two states in all coordinates is that of the distributions of what follows
    them: states from which the future is the same have one place.

    Parameters
    ----------
    model : fitted Koopman
        The operator, with ``n_blocks``.
    X : array-like of shape (n_states, n_features)
        States.
    n : int, default=2
        Number of coordinates, 1 or more.

    Returns
    -------
    coordinates : ndarray of shape (n_states, n)
        The left singular functions after the constant one, times their singular values.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid (the message names it), there are no sums over the pairs, or the operator
        has fewer functions.

    References
    ----------
    F. Noe, C. Clementi, "Kinetic distance and kinetic maps from molecular dynamics simulation",
    Journal of Chemical Theory and Computation, 2015; F. Paul, H. Wu, M. Vossel, B. de Groot,
    F. Noe, "Identification of kinetic order parameters for non-equilibrium dynamics", Journal of
    Chemical Physics, 2019, section II.E.
    """
    count = whole_number("n", n) + 1
    values = singular_functions(model, X, count)
    if values.shape[1] < count:
        raise ValueError(
            f"the operator has {values.shape[1] - 1} singular functions beside the constant one, "
            f"but {n} are needed: store more states"
        )
    return np.asarray(values[:, 1:] * model.singular_values_[1:count])
