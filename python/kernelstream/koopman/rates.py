"""Eigenvalues of an operator in units of time."""

from __future__ import annotations

from typing import Literal, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from kernelstream.estimators.validation import whole_number
from kernelstream.koopman.gaps import rates_of_gaps
from kernelstream.koopman.queries import ComplexArray, FloatArray
from kernelstream.koopman.spectrum import Spectrum, standard_errors

__all__ = ["Rates"]

# How near to 1 the eigenvalue of the constant function is, and its mean over its mean square.
_NEAR_ONE, _CONSTANT = 0.1, 0.9


class Rates(Spectrum):
    """Time scales, rates and frequencies.

    A derived class also stores the parameters ``lag`` and ``time_step``.
    """

    lag: int
    time_step: float

    @overload
    def timescales(  # numpydoc ignore=GL08
        self,
        k: int | None = None,
        *,
        constant: bool = True,
        return_std: Literal[False] = False,
        gaps: ArrayLike | None = None,
    ) -> FloatArray: ...

    @overload
    def timescales(  # numpydoc ignore=GL08
        self,
        k: int | None = None,
        *,
        constant: bool = True,
        return_std: Literal[True],
        gaps: ArrayLike | None = None,
    ) -> tuple[FloatArray, FloatArray]: ...

    def timescales(
        self,
        k: int | None = None,
        *,
        constant: bool = True,
        return_std: bool = False,
        gaps: ArrayLike | None = None,
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Compute the implied timescales ``-lag * time_step / log|mu|``.

        Parameters
        ----------
        k : int, optional
            Number of eigenpairs. None: as many as `eigenvalues_`.
        constant : bool, default=True
            Count the constant function, whose timescale is infinite or very long and says nothing
            of the dynamics. With False it is left out, as deeptime does, and k others are given.
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
            There are no blocks to tell errors by (see ``n_blocks``), or a gap is not positive.
        """
        most = None if k is None else whole_number("k", k)
        left_out = [] if constant else self._constants()
        kept = np.delete(np.arange(len(self.eigenvalues_)), left_out)[:most]
        count = int(kept.max()) + 1 if len(kept) else 0
        rates, slopes = self._rates(count, gaps)
        with np.errstate(divide="ignore"):
            scales: FloatArray = 1.0 / np.abs(np.minimum(rates.real, 0.0))
        if not return_std:
            return scales[kept]
        errors = scales**2 * self._rate_errors(slopes)[0]
        return scales[kept], np.where(np.isinf(scales), np.inf, errors)[kept]

    @overload
    def rates(  # numpydoc ignore=GL08
        self,
        k: int | None = None,
        *,
        return_std: Literal[False] = False,
        gaps: ArrayLike | None = None,
    ) -> ComplexArray: ...

    @overload
    def rates(  # numpydoc ignore=GL08
        self, k: int | None = None, *, return_std: Literal[True], gaps: ArrayLike | None = None
    ) -> tuple[ComplexArray, ComplexArray]: ...

    def rates(
        self, k: int | None = None, *, return_std: bool = False, gaps: ArrayLike | None = None
    ) -> ComplexArray | tuple[ComplexArray, ComplexArray]:
        """Compute the rates in continuous time, ``log(mu) / (lag * time_step)``.

        Of pairs whose gaps in time differ, and do not depend on the state, an eigenvalue is the
        average of ``exp(rate * gap)``; with `gaps` this is solved for the rate.

        Parameters
        ----------
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
            There are no blocks to tell errors by (see ``n_blocks``), or a gap is not positive.
        """
        rates, slopes = self._rates(self._count(k), gaps)
        if not return_std:
            return rates
        real, imaginary = self._rate_errors(slopes)
        return rates, real + 1j * imaginary

    def frequencies(self, k: int | None = None, *, gaps: ArrayLike | None = None) -> FloatArray:
        """Compute the frequencies in cycles per unit of time, ``rates.imag / (2 pi)``.

        Parameters
        ----------
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
        frequencies: FloatArray = self.rates(k, gaps=gaps).imag / (2.0 * np.pi)
        return frequencies

    def decay_rates(self, k: int | None = None, *, gaps: ArrayLike | None = None) -> FloatArray:
        """Compute the rates of decay per unit of time, ``-rates.real``.

        Parameters
        ----------
        k : int, optional
            Number of eigenpairs. None: as many as `eigenvalues_`.
        gaps : array-like of shape (n,), optional
            Times between the states of the pairs learned, where these differ: see `rates`.

        Returns
        -------
        decay_rates : ndarray of shape (k,)
            The reciprocals of the timescales, aligned with `eigenvalues_`: positive for what
            decays, negative for what grows.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        """
        decays: FloatArray = -self.rates(k, gaps=gaps).real
        return decays

    def _rates(self, count: int, gaps: ArrayLike | None) -> tuple[ComplexArray, ComplexArray]:
        """Give the first rates, and how fast eigenvalues grow with them."""
        values = self.eigenvalues_[:count]
        if gaps is not None:
            return rates_of_gaps(values, gaps)
        elapsed = self._elapsed()
        with np.errstate(divide="ignore"):
            # apart, since an infinite complex number divided is none
            rates = np.log(np.abs(values)) / elapsed + 1j * (np.angle(values) / elapsed)
        return cast(ComplexArray, rates), values * elapsed

    def _rate_errors(self, slopes: ComplexArray) -> tuple[FloatArray, FloatArray]:
        """Give the standard errors of the real and imaginary parts of the first rates."""
        if not len(slopes):
            return np.zeros(0), np.zeros(0)
        influences, shares, taken = self._influences(len(slopes))
        with np.errstate(divide="ignore", invalid="ignore"):
            moved, bias = influences / slopes, taken / slopes
        return (
            standard_errors(moved.real, shares, bias.real),
            standard_errors(moved.imag, shares, bias.imag),
        )

    def _constants(self) -> list[int]:
        """Find the constant function among the eigenfunctions: its index, or nothing."""
        values = self.eigenvalues_
        near = np.flatnonzero(np.abs(values - 1.0) < _NEAR_ONE)
        if not len(near):
            return []
        stored = self._core.dictionary()
        functions = np.asarray(self._core.eigenfunctions(stored, int(near.max()) + 1))[:, near]
        sameness = np.abs(functions.mean(axis=0)) ** 2 / np.mean(np.abs(functions) ** 2, axis=0)
        best = int(np.argmax(sameness))
        return [int(near[best])] if sameness[best] > _CONSTANT else []

    def _elapsed(self) -> float:
        step = float(self.time_step)
        if not 0.0 < step < np.inf:
            raise ValueError(f"time_step must be a positive number, got {self.time_step!r}")
        return whole_number("lag", self.lag) * step
