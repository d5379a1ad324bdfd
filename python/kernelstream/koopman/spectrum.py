"""What the spectrum of an operator says: eigenvalues, eigenfunctions, time scales and modes."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from kernelstream.estimators.validation import whole_number
from kernelstream.koopman.queries import (
    Asked,
    ComplexArray,
    FloatArray,
    Function,
)

__all__ = ["Spectrum"]


class Spectrum(Asked):
    """An operator that is asked for its spectrum.

    The class that derives from this stores the parameters ``lag`` and ``time_step``, too.
    """

    lag: int
    time_step: float

    @property
    def eigenvalues_(self) -> ComplexArray:
        """Eigenvalues by falling modulus, conjugate pairs together."""
        check_is_fitted(self)
        values = cast(ComplexArray, self._core.eigenvalues())
        return values[: self._whole(values)]

    def _whole(self, values: ComplexArray) -> int:
        """Count the eigenvalues that `rank` keeps, no conjugate pair parted."""
        if self.rank is None:
            return len(values)
        rank = min(whole_number("rank", self.rank), len(values))
        return rank + 1 if rank and values[rank - 1].imag > 0 else rank

    def _count(self, k: int | None) -> int:
        most = len(self.eigenvalues_)
        return most if k is None else min(whole_number("k", k), most)

    def eig(
        self, eval_left_on: ArrayLike | None = None, eval_right_on: ArrayLike | None = None
    ) -> ComplexArray | tuple[ComplexArray, ...]:
        """Give the eigenvalues, and the eigenfunctions at points (the signature of kooplearn).

        Parameters
        ----------
        eval_left_on : array-like of shape (n, n_features), optional
            Where to evaluate the left eigenfunctions.
        eval_right_on : array-like of shape (n, n_features), optional
            Where to evaluate the right eigenfunctions.

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
            A row is bad; the message names it.
        """
        out = [self.eigenvalues_]
        if eval_left_on is not None:
            out.append(self.eigenfunctions(eval_left_on, left=True))
        if eval_right_on is not None:
            out.append(self.eigenfunctions(eval_right_on))
        return out[0] if len(out) == 1 else tuple(out)

    def eigenfunctions(
        self, X: ArrayLike, k: int | None = None, *, left: bool = False
    ) -> ComplexArray:
        """Evaluate the leading eigenfunctions.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Where.
        k : int, optional
            How many. None: as many as `eigenvalues_`.
        left : bool, default=False
            Those of the adjoint operator instead, dual to the right ones: the inner product of
            left i and right j is 1 for i = j, else 0. As densities they weigh where a process
            begins and ends, but for a factor.

        Returns
        -------
        values : ndarray of complex of shape (n, k)
            Column j belongs to ``eigenvalues_[j]``. Right ones have mean square 1 over the stored
            inputs, and their mean over these with weights 1, 1/2, 1/4, ... is real and positive,
            so that signs and phases stay while the stream goes on. The two of a conjugate pair are
            each other's conjugate.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        rows = self._queried(X)
        count = self._count(k)
        if count == 0:
            return np.zeros((len(rows), 0), dtype=np.complex128)
        return cast(ComplexArray, self._core.eigenfunctions(rows, count, left))

    def residuals(
        self, X: ArrayLike, X_next: ArrayLike, k: int | None = None, *, kind: str = "projected"
    ) -> FloatArray:
        """Tell which eigenpairs to trust: how far each is from being one, on pairs held out.

        Parameters
        ----------
        X, X_next : array-like of shape (n, n_features)
            Pairs that were not learned; several times more than there are stored states.
        k : int, optional
            How many. None: as many as `eigenvalues_`.
        kind : {"projected", "raw"}, default="projected"
            "projected" estimates the norm of ``E[phi(x_next) | x] - mu phi(x)``: what the state
            explains of the difference, less what chance would. "raw" is the norm of
            ``phi(x_next) - mu phi(x)`` itself, for deterministic systems; noise adds
            ``sqrt(1 - |mu|^2)`` to a true pair.

        Returns
        -------
        residuals : ndarray of shape (k,)
            Relative to the norm of phi: 0 is perfect (or, projected, better than can be told from
            so few pairs), 1 is worthless.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad (the message names it), or `kind` is unknown.
        """
        if kind not in {"projected", "raw"}:
            raise ValueError(f'kind must be "projected" or "raw", got {kind!r}')
        before, after = self._queried(X), self._queried(X_next)
        count = self._count(k)
        if count == 0:
            return np.zeros(0)
        return cast(FloatArray, self._core.residuals(before, after, count, kind == "projected"))

    def timescales(self, k: int | None = None) -> FloatArray:
        """Give the implied timescales ``-lag * time_step / log|mu|``.

        Parameters
        ----------
        k : int, optional
            How many. None: as many as `eigenvalues_`.

        Returns
        -------
        timescales : ndarray of shape (k,)
            In the units of ``time_step``, aligned with `eigenvalues_`: the first usually belongs to
            the constant. Infinite where the modulus is 1 or more.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        """
        moduli = np.abs(self.eigenvalues_[: self._count(k)])
        with np.errstate(divide="ignore"):
            scales: FloatArray = self._elapsed() / np.abs(np.log(np.minimum(moduli, 1.0)))
        return scales

    def rates(self, k: int | None = None) -> ComplexArray:
        """Give the rates in continuous time, ``log(mu) / (lag * time_step)``.

        Parameters
        ----------
        k : int, optional
            How many. None: as many as `eigenvalues_`.

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

    def _elapsed(self) -> float:
        step = float(self.time_step)
        if not 0.0 < step < np.inf:
            raise ValueError(f"time_step must be a positive number, got {self.time_step!r}")
        return whole_number("lag", self.lag) * step

    def modes(self, observable: Function | None = None, k: int | None = None) -> ComplexArray:
        """Give the Koopman modes: the part of each eigenfunction in an observable.

        Parameters
        ----------
        observable : callable or array-like, optional
            None: the state. Else a function of states, or its values at `outputs_`.
        k : int, optional
            How many (one more where that would part a conjugate pair). None: as many as
            `eigenvalues_`. Ask for few: the last ones of many are made of rounding.

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
            The eigenfunctions are not independent; ask for fewer.
        """
        count = self._count(k)
        values = None if observable is None else self._values_of(observable)
        flat = values is not None and values.ndim == 1
        matrix = values[:, None] if values is not None and flat else values
        out = self._core.modes(matrix, count)
        return cast(ComplexArray, out[:, 0] if flat else out)

    def dynamical_modes(
        self, X: ArrayLike, observable: Function | None = None, k: int | None = None
    ) -> ComplexArray:
        """Split states, or a function of them, into what each eigenvalue carries.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            States to start from.
        observable : callable or array-like, optional
            None: the state. Else a function of states, or its values at `outputs_`.
        k : int, optional
            How many parts (one more where that would part a conjugate pair). None: as many as
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
            A row is bad (the message names it), or the eigenfunctions are not independent.
        """
        modes = self.modes(observable, k)
        functions = self._core.eigenfunctions(self._queried(X), len(modes))
        if modes.ndim == 1:
            return cast(ComplexArray, functions * modes)
        return cast(ComplexArray, functions[:, :, None] * modes[None])
