"""Eigenvalues, eigenfunctions, residuals and modes of an operator."""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from kernelstream.estimators.validation import whole_number
from kernelstream.koopman.queries import (
    ComplexArray,
    FloatArray,
    Function,
    OperatorQueries,
)

__all__ = ["Spectrum", "standard_errors", "unsplit"]


class Spectrum(OperatorQueries):
    """The spectrum of an operator."""

    @property
    def eigenvalues_(self) -> ComplexArray:
        """Eigenvalues by decreasing modulus, conjugate pairs together."""
        check_is_fitted(self)
        values = cast(ComplexArray, self._core.eigenvalues())
        return values[: self._whole(values)]

    @property
    def eigenvalue_errors_(self) -> FloatArray:
        """Standard errors of the eigenvalues, by blocks of the stream."""
        check_is_fitted(self)
        return standard_errors(*self._influences(None))

    def _influences(self, k: int | None) -> tuple[ComplexArray, FloatArray, ComplexArray]:
        """Give what blocks do to eigenvalues, their shares, and what regularization takes."""
        count = self._count(k)
        if count == 0:
            none = np.zeros((0, 0), dtype=np.complex128)
            return none, np.zeros(0), np.zeros(0, dtype=np.complex128)
        return cast("tuple[ComplexArray, FloatArray, ComplexArray]", self._core.influences(count))

    def _whole(self, values: ComplexArray) -> int:
        """Count the eigenvalues that `rank` keeps without splitting a conjugate pair."""
        if self.rank is None:
            return len(values)
        return unsplit(values, whole_number("rank", self.rank))

    def _count(self, k: int | None) -> int:
        most = len(self.eigenvalues_)
        return most if k is None else min(whole_number("k", k), most)

    def eig(
        self, eval_left_on: ArrayLike | None = None, eval_right_on: ArrayLike | None = None
    ) -> ComplexArray | tuple[ComplexArray, ...]:
        """Compute eigenvalues, and eigenfunctions at points (with the signature of kooplearn).

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
            A row is invalid; the message names it.
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
        rows = self._queried(X)
        count = self._count(k)
        if count == 0:
            return np.zeros((len(rows), 0), dtype=np.complex128)
        return cast(ComplexArray, self._core.eigenfunctions(rows, count, left))

    def residuals(
        self,
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
            check_is_fitted(self)
            count = self._count(k)
            return cast(FloatArray, self._core.learned_residuals(count)) if count else np.zeros(0)
        before, after = self._queried(X), self._queried(X_next)
        count = self._count(k)
        if count == 0:
            return np.zeros(0)
        return cast(FloatArray, self._core.residuals(before, after, count, kind != "raw"))

    def modes(self, observable: Function | None = None, k: int | None = None) -> ComplexArray:
        """Compute the Koopman modes: the coefficients of an observable in the eigenfunctions.

        Parameters
        ----------
        observable : callable or array-like, optional
            None: the state. Else a function of states, or its values at `dictionary_next_`.
        k : int, optional
            Number of modes (one more if that would split a conjugate pair). None: as many as
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
        count = self._count(k)
        values = None if observable is None else self._values_of(observable)
        flat = values is not None and values.ndim == 1
        matrix = values[:, None] if values is not None and flat else values
        out = self._core.modes(matrix, count)
        return cast(ComplexArray, out[:, 0] if flat else out)

    def dynamical_modes(
        self, X: ArrayLike, observable: Function | None = None, k: int | None = None
    ) -> ComplexArray:
        """Decompose states, or a function of them, by eigenvalues.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Initial states.
        observable : callable or array-like, optional
            None: the state. Else a function of states, or its values at `dictionary_next_`.
        k : int, optional
            Number of parts (one more if that would split a conjugate pair). None: as many as
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
        modes = self.modes(observable, k)
        functions = self._core.eigenfunctions(self._queried(X), len(modes))
        if modes.ndim == 1:
            return cast(ComplexArray, functions * modes)
        return cast(ComplexArray, functions[:, :, None] * modes[None])

    def amplitudes(
        self, X: ArrayLike, observable: Function | None = None, k: int | None = None
    ) -> ComplexArray:
        """Compute how strongly states contain each mode.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Initial states.
        observable : callable or array-like, optional
            As in `modes`.
        k : int, optional
            Number of modes (one more if that would split a conjugate pair). None: as many as
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
        modes = self.modes(observable, k)
        sizes = np.abs(modes) if modes.ndim == 1 else np.linalg.norm(modes, axis=1)
        functions = self._core.eigenfunctions(self._queried(X), len(modes))
        return cast(ComplexArray, functions * sizes)


def unsplit(values: ComplexArray, count: int) -> int:
    """Count so many eigenvalues, or one more where that would split a conjugate pair.

    Parameters
    ----------
    values : ndarray of complex of shape (m,)
        Eigenvalues, conjugate pairs together, positive imaginary part first.
    count : int
        How many are asked for.

    Returns
    -------
    count : int
        At most m.
    """
    count = min(count, len(values))
    return count + 1 if count and values[count - 1].imag > 0 else count


def standard_errors(
    influences: ComplexArray | FloatArray, shares: FloatArray, bias: ComplexArray | FloatArray
) -> FloatArray:
    """Give the standard errors of estimates from what each block of the stream does to them.

    Parameters
    ----------
    influences : ndarray of shape (n_blocks, k)
        How much less each estimate would be without a block, to first order.
    shares : ndarray of shape (n_blocks,)
        The share of each block in all pairs.
    bias : ndarray of shape (k,)
        How far off estimates are whatever the sample, in addition.

    Returns
    -------
    errors : ndarray of shape (k,)
        Standard errors; of complex estimates, of their distance from the expected one.
    """
    squares = np.sum(np.abs(influences) ** 2, axis=0)
    errors: FloatArray = np.sqrt(squares / (1.0 - np.sum(shares**2)) + np.abs(bias) ** 2)
    return errors
