"""Eigenvalues of an operator in units of time."""

from __future__ import annotations

from typing import cast

import numpy as np

from kernelstream.estimators.validation import whole_number
from kernelstream.koopman.queries import ComplexArray, FloatArray
from kernelstream.koopman.spectrum import Spectrum

__all__ = ["Rates"]

# How near to 1 the eigenvalue of the constant function is, and its mean over its mean square.
_NEAR_ONE, _CONSTANT = 0.1, 0.9


class Rates(Spectrum):
    """Time scales, rates and frequencies.

    A derived class also stores the parameters ``lag`` and ``time_step``.
    """

    lag: int
    time_step: float

    def timescales(self, k: int | None = None, *, constant: bool = True) -> FloatArray:
        """Compute the implied timescales ``-lag * time_step / log|mu|``.

        Parameters
        ----------
        k : int, optional
            Number of eigenpairs. None: as many as `eigenvalues_`.
        constant : bool, default=True
            Count the constant function, whose timescale is infinite or very long and says nothing
            of the dynamics. With False it is left out, as deeptime does, and k others are given.

        Returns
        -------
        timescales : ndarray of shape (k,)
            In the units of ``time_step``, aligned with `eigenvalues_` if the constant function is
            counted, which usually is the first. Infinite where the modulus is 1 or more.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        """
        values = self.eigenvalues_ if constant else np.delete(self.eigenvalues_, self._constants())
        moduli = np.abs(values if k is None else values[: whole_number("k", k)])
        with np.errstate(divide="ignore"):
            scales: FloatArray = self._elapsed() / np.abs(np.log(np.minimum(moduli, 1.0)))
        return scales

    def rates(self, k: int | None = None) -> ComplexArray:
        """Compute the rates in continuous time, ``log(mu) / (lag * time_step)``.

        Parameters
        ----------
        k : int, optional
            Number of eigenpairs. None: as many as `eigenvalues_`.

        Returns
        -------
        rates : ndarray of complex of shape (k,)
            Decay (real part) and angular frequency (imaginary part, within the Nyquist range) per
            unit of ``time_step``. An eigenvalue of 0 has the rate minus infinity.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        """
        values = self.eigenvalues_[: self._count(k)]
        with np.errstate(divide="ignore"):
            rates = (np.log(np.abs(values)) + 1j * np.angle(values)) / self._elapsed()
        return cast(ComplexArray, rates)

    def frequencies(self, k: int | None = None) -> FloatArray:
        """Compute the frequencies in cycles per unit of time, ``rates.imag / (2 pi)``.

        Parameters
        ----------
        k : int, optional
            Number of eigenpairs. None: as many as `eigenvalues_`.

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
        frequencies: FloatArray = self.rates(k).imag / (2.0 * np.pi)
        return frequencies

    def decay_rates(self, k: int | None = None) -> FloatArray:
        """Compute the rates of decay per unit of time, ``-rates.real``.

        Parameters
        ----------
        k : int, optional
            Number of eigenpairs. None: as many as `eigenvalues_`.

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
        decays: FloatArray = -self.rates(k).real
        return decays

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
