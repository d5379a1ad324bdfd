"""The Koopman operator by stochastic gradient with every pair stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted

from kernelstream import _core
from kernelstream.components.base import as_component, as_json
from kernelstream.components.kernels import Gaussian, Kernel
from kernelstream.estimators.validation import as_float64, rows_of, unchanged_by_errors

__all__ = ["AllPointsKoopman"]


class AllPointsKoopman(BaseEstimator):
    """The basic recursion behind the sparse gradient: every pair stored, nothing left out.

    Memory grows with the square of the pairs and time with the square for each pair. No matrix is
    ever factored, so repeated states are no trouble. For small data, and to judge sparse operators
    by.

    Parameters
    ----------
    kernel : Kernel, optional
        How alike two states are. None: ``Gaussian()``.
    step : float, default=0.1
        Step eta, above 0.
    schedule : {"constant", "inverse_sqrt"} or {"power": {...}}, default="constant"
        How the step changes, as in `Gradient`.
    regularization : float, default=0.0
        Lambda, 0 or more: a step shrinks the operator by ``1 - lambda eta``.

    Attributes
    ----------
    eigenvalues_ : ndarray of complex of shape (n_seen_,)
        Eigenvalues by falling modulus.
    weights_ : ndarray of shape (n_seen_, n_seen_)
        W, so that ``E[f(x_next) | x] = f(outputs_) @ weights_ @ k(inputs, x)``.
    outputs_ : ndarray of shape (n_seen_, n_features_in_)
        The second state of every pair.
    n_features_in_ : int
        Width of a state.

    References
    ----------
    B. Hou, S. Sanjari, N. Dahlin, A. Koppel, S. Bose, "Nonparametric sparse online learning of the
    Koopman operator", 2024, Lemma 4.2.
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        step: float = 0.1,
        schedule: str | Mapping[str, Any] = "constant",
        regularization: float = 0.0,
    ) -> None:
        self.kernel = kernel
        self.step = step
        self.schedule = schedule
        self.regularization = regularization

    def fit(self, X: ArrayLike, X_next: ArrayLike) -> Self:
        """Forget everything, then learn pairs.

        Parameters
        ----------
        X, X_next : array-like of shape (n, n_features)
            States before and after, finite numbers.

        Returns
        -------
        self : AllPointsKoopman
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is bad (the message names it) or a parameter is; the model is as it was.
        """
        return self._learn(X, X_next, reset=True)

    def partial_fit(self, X: ArrayLike, X_next: ArrayLike) -> Self:
        """Go on learning with some more pairs, in their order.

        Parameters
        ----------
        X, X_next : array-like of shape (n, n_features)
            States before and after, finite numbers.

        Returns
        -------
        self : AllPointsKoopman
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is bad (the message names it); the model is as it was.
        """
        return self._learn(X, X_next, reset="_core" not in vars(self))

    def _learn(self, X: Any, X_next: ArrayLike, *, reset: bool) -> Self:
        with unchanged_by_errors(self):
            before = self._rows(X, reset=reset)
            after = check_array(X_next, dtype="numeric", ensure_all_finite=False, estimator=self)
            if reset:
                kernel = json.dumps(as_component(self.kernel, Gaussian, Kernel).to_spec())
                schedule = json.dumps(as_json("schedule", self.schedule))
                self._core = _core.AllPointsKoopman(
                    kernel, float(self.step), schedule, float(self.regularization)
                )
            self._core.learn(before, as_float64(after, "X_next"))
        return self

    @property
    def eigenvalues_(self) -> NDArray[np.complex128]:
        """Eigenvalues by falling modulus."""
        check_is_fitted(self)
        return self._core.eigenvalues()

    @property
    def weights_(self) -> NDArray[np.float64]:
        """The operator's weights on the stored states."""
        check_is_fitted(self)
        return self._core.weights()

    @property
    def outputs_(self) -> NDArray[np.float64]:
        """The second state of every pair."""
        check_is_fitted(self)
        return self._core.outputs()

    def eigenfunctions(self, X: ArrayLike, k: int = 6) -> NDArray[np.complex128]:
        """Evaluate the leading eigenfunctions.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Where.
        k : int, default=6
            How many, at most.

        Returns
        -------
        values : ndarray of complex of shape (n, k)
            Column j belongs to ``eigenvalues_[j]``.

        Raises
        ------
        ValueError, TypeError
            A row is bad; the message names it.
        """
        check_is_fitted(self)
        return self._core.eigenfunctions(self._rows(X, reset=False), k)

    def expectation(
        self, f: Callable[[NDArray[np.float64]], ArrayLike] | ArrayLike, X: ArrayLike
    ) -> NDArray[np.float64]:
        """Expect a function of the next state: ``E[f(x_next) | x]``.

        Parameters
        ----------
        f : callable or array-like of shape (n_seen_,) or (n_seen_, p)
            A function from states (n, n_features) to (n,) or (n, p), or its values at `outputs_`.
        X : array-like of shape (n, n_features)
            States to start from.

        Returns
        -------
        expectation : ndarray of shape (n,) or (n, p)
            The expectation at each row.

        Raises
        ------
        ValueError, TypeError
            A row is bad (the message names it), or the values of f do not fit the stored outputs.
        """
        rows = self._rows(X, reset=False)
        values = as_float64(np.asarray(f(self.outputs_) if callable(f) else f), "the values of f")
        out = self._core.expectation(values.reshape(len(values), -1), rows)
        return out[:, 0] if values.ndim == 1 else out

    def __sklearn_is_fitted__(self) -> bool:
        return "_core" in vars(self)

    def _rows(self, X: Any, *, reset: bool) -> NDArray[np.float64]:
        return rows_of(self, X, reset=reset)
