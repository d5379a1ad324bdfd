"""Eigenvalues of an operator in units of time."""

from __future__ import annotations

from typing import Literal, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from kernelstream.estimators.validation import whole_number
from kernelstream.koopman.gaps import rates_of_gaps
from kernelstream.koopman.queries import (
    ComplexArray,
    FloatArray,
    Operator,
    constants_of,
    count_of,
    elapsed_of,
)
from kernelstream.koopman.spectrum import influences, standard_errors

__all__ = ["decay_rates", "frequencies", "rates", "timescales"]


@overload
def timescales(  # numpydoc ignore=GL08
    model: Operator,
    k: int | None = None,
    *,
    constant: bool = True,
    return_std: Literal[False] = False,
    gaps: ArrayLike | None = None,
) -> FloatArray: ...


@overload
def timescales(  # numpydoc ignore=GL08
    model: Operator,
    k: int | None = None,
    *,
    constant: bool = True,
    return_std: Literal[True],
    gaps: ArrayLike | None = None,
) -> tuple[FloatArray, FloatArray]: ...


def timescales(
    model: Operator,
    k: int | None = None,
    *,
    constant: bool = True,
    return_std: bool = False,
    gaps: ArrayLike | None = None,
) -> FloatArray | tuple[FloatArray, FloatArray]:
    """Compute the implied timescales ``-lag * time_step / log|mu|``.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    k : int, optional
        Number of eigenpairs. None: as many as `eigenvalues_`.
    constant : bool, default=True
        Count the constant function, whose timescale is infinite or very long and does not describe
        the dynamics. With False it is left out, as deeptime does, and k others are given.
    return_std : bool, default=False
        Give standard errors too (needs ``n_blocks``): to first order those of the eigenvalues,
        see `eigenvalue_errors_`.
    gaps : array-like of shape (n,), optional
        Times between the states of the pairs learned, where these differ: see `rates`.

    Returns
    -------
    timescales : ndarray of shape (k,)
        In the units of ``time_step``, aligned with `eigenvalues_` if the constant function is
        counted, which usually is the first. Infinite where the modulus is 1 or more.
    std : ndarray of shape (k,)
        Standard errors, infinite where the timescale is. Only if `return_std`.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError
        Standard errors need blocks (see ``n_blocks``), or a gap is not positive.
    """
    most = None if k is None else whole_number("k", k)
    left_out = [] if constant else constants_of(model)
    kept = np.delete(np.arange(len(model.eigenvalues_)), left_out)[:most]
    count = int(kept.max()) + 1 if len(kept) else 0
    values, slopes = _rates(model, count, gaps)
    with np.errstate(divide="ignore"):
        scales: FloatArray = 1.0 / np.abs(np.minimum(values.real, 0.0))
    if not return_std:
        return scales[kept]
    with np.errstate(invalid="ignore"):
        errors = scales**2 * _rate_errors(model, slopes)[0]
    return scales[kept], np.where(np.isinf(scales), np.inf, errors)[kept]


@overload
def rates(  # numpydoc ignore=GL08
    model: Operator,
    k: int | None = None,
    *,
    return_std: Literal[False] = False,
    gaps: ArrayLike | None = None,
) -> ComplexArray: ...


@overload
def rates(  # numpydoc ignore=GL08
    model: Operator,
    k: int | None = None,
    *,
    return_std: Literal[True],
    gaps: ArrayLike | None = None,
) -> tuple[ComplexArray, ComplexArray]: ...


def rates(
    model: Operator,
    k: int | None = None,
    *,
    return_std: bool = False,
    gaps: ArrayLike | None = None,
) -> ComplexArray | tuple[ComplexArray, ComplexArray]:
    """Compute the rates in continuous time, ``log(mu) / (lag * time_step)``.

    For pairs whose gaps in time differ, and do not depend on the state, an eigenvalue is the
    average of ``exp(rate * gap)``; with `gaps` this is solved for the rate.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    k : int, optional
        Number of eigenpairs. None: as many as `eigenvalues_`.
    return_std : bool, default=False
        Give standard errors too (needs ``n_blocks``).
    gaps : array-like of shape (n,), optional
        Times from the states learned to those that follow, above 0, or a sample of them. None:
        all are ``lag * time_step``.

    Returns
    -------
    rates : ndarray of complex of shape (k,)
        Decay (real part) and angular frequency (imaginary part, without `gaps` within the
        Nyquist range) per unit of time. An eigenvalue of 0 has the rate minus infinity; one
        that no rate explains has nan.
    std : ndarray of complex of shape (k,)
        Standard errors of the real and of the imaginary parts. Only if `return_std`.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError
        Standard errors need blocks (see ``n_blocks``), or a gap is not positive.
    """
    values, slopes = _rates(model, count_of(model, k), gaps)
    if not return_std:
        return values
    errors = np.empty(len(values), dtype=np.complex128)
    errors.real, errors.imag = _rate_errors(model, slopes)  # a sum of infinite ones is none
    return values, errors


def frequencies(
    model: Operator, k: int | None = None, *, gaps: ArrayLike | None = None
) -> FloatArray:
    """Compute the frequencies in cycles per unit of time, ``rates.imag / (2 pi)``.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    k : int, optional
        Number of eigenpairs. None: as many as `eigenvalues_`.
    gaps : array-like of shape (n,), optional
        Times between the states of the pairs learned, where these differ: see `rates`.

    Returns
    -------
    frequencies : ndarray of shape (k,)
        Per unit of ``time_step``, at most ``1 / (2 * lag * time_step)``, aligned with
        `eigenvalues_`; of a conjugate pair first the positive, then the negative one, as in
        PyDMD. 0 for real positive eigenvalues.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    """
    cycles: FloatArray = rates(model, k, gaps=gaps).imag / (2.0 * np.pi)
    return cycles


def decay_rates(
    model: Operator, k: int | None = None, *, gaps: ArrayLike | None = None
) -> FloatArray:
    """Compute the rates of decay per unit of time, ``-rates.real``.

    Parameters
    ----------
    model : fitted Koopman
        The operator.
    k : int, optional
        Number of eigenpairs. None: as many as `eigenvalues_`.
    gaps : array-like of shape (n,), optional
        Times between the states of the pairs learned, where these differ: see `rates`.

    Returns
    -------
    decay_rates : ndarray of shape (k,)
        The reciprocals of the timescales, aligned with `eigenvalues_`: positive for
        decay, negative for growth.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    """
    decays: FloatArray = -rates(model, k, gaps=gaps).real
    return decays


def _rates(
    model: Operator, count: int, gaps: ArrayLike | None
) -> tuple[ComplexArray, ComplexArray]:
    """Give the first rates, and how fast eigenvalues grow with them."""
    values = model.eigenvalues_[:count]
    if gaps is not None:
        return rates_of_gaps(values, gaps)
    elapsed = elapsed_of(model)
    with np.errstate(divide="ignore"):
        # apart, since an infinite complex number divided is none
        found = np.log(np.abs(values)) / elapsed + 1j * (np.angle(values) / elapsed)
    return cast(ComplexArray, found), values * elapsed


def _rate_errors(model: Operator, slopes: ComplexArray) -> tuple[FloatArray, FloatArray]:
    """Give the standard errors of the real and imaginary parts of the first rates."""
    if not len(slopes):
        return np.zeros(0), np.zeros(0)
    changes, shares, taken, inflation = influences(model, len(slopes))
    with np.errstate(divide="ignore", invalid="ignore"):
        moved, bias = changes / slopes, taken / slopes
    return (
        standard_errors(moved.real, shares, bias.real, inflation),
        standard_errors(moved.imag, shares, bias.imag, inflation),
    )
