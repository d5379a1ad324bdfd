"""What an operator expects: later states, functions of them, and the weights of stored states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import r2_score

from kernelstream.estimators.validation import whole_number
from kernelstream.koopman.inputs import sequences
from kernelstream.koopman.queries import Asked, FloatArray, Function

__all__ = ["Forecasts"]


class Forecasts(Asked):
    """An operator that is asked what comes."""

    def predict(
        self,
        X: ArrayLike,
        n_steps: int | Sequence[int] | None = None,
        observable: Function | None = None,
        *,
        inputs: ArrayLike | None = None,
        clip_spectrum: bool = False,
    ) -> FloatArray:
        """Forecast the state, or a function of it: ``E[g(x_n) | x_0]``.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            States to start from.
        n_steps : int or sequence of int, optional
            How many steps (of `lag` states each) ahead, 1 or more; or several such numbers. None:
            1, or as many as a sequence of inputs has.
        observable : callable or array-like, optional
            None: the state itself, whose weights are learned along with the operator: most
            accurate, and no stored state is needed. Else a function from states (m, n_features) to
            (m,) or (m, p), or its values at `outputs_`; these values stand for it, see
            `expectation`.
        inputs : array-like of shape (n, n_inputs) or (n or 1, n_steps, n_inputs), optional
            What acts, for an operator with inputs: on each row all the time, or at each step, one
            sequence for each row or one for all.
        clip_spectrum : bool, default=False
            Move eigenvalues outside the unit circle onto it, so that long forecasts stay bounded.

        Returns
        -------
        forecast : ndarray of shape (n, n_features), (n,) or (n, p)
            With a sequence of steps there is one axis more, in front.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad (the message names it), or the forecast overflows.
        """
        if observable is not None:
            return self.expectation(
                observable, X, n_steps, inputs=inputs, clip_spectrum=clip_spectrum
            )
        rows, under, steps, single = self._ahead(X, inputs, n_steps, clip_spectrum)
        if under is None:
            out = self._core.forecast(rows, steps, self._checked_rank(), clip_spectrum)
        else:
            out = self._core.forecast_under(rows, under, steps)
        return cast(FloatArray, out[0] if single else out)

    def expectation(
        self,
        f: Function,
        X: ArrayLike,
        n_steps: int | Sequence[int] | None = None,
        *,
        inputs: ArrayLike | None = None,
        clip_spectrum: bool = False,
    ) -> FloatArray:
        """Expect a function of a later state: ``E[f(x_n) | x_0]`` (conditional mean embedding).

        It is the sum of `weights` times the values of f at the stored outputs; as good as f can be
        interpolated by the kernel between these.

        Parameters
        ----------
        f : callable or array-like of shape (n_outputs,) or (n_outputs, p)
            A function from states (m, n_features) to (m,) or (m, p), or its values at `outputs_`.
        X : array-like of shape (n, n_features)
            States to start from.
        n_steps : int or sequence of int, optional
            How many steps ahead, 1 or more; or several such numbers. None: 1, or as many as a
            sequence of inputs has.
        inputs : array-like of shape (n, n_inputs) or (n or 1, n_steps, n_inputs), optional
            What acts, for an operator with inputs; as in `predict`.
        clip_spectrum : bool, default=False
            Move eigenvalues outside the unit circle onto it, so that long forecasts stay bounded.

        Returns
        -------
        expectation : ndarray of shape (n,) or (n, p)
            With a sequence of steps there is one axis more, in front.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad (the message names it), or the values of f do not fit the stored outputs.
        """
        rows, under, steps, single = self._ahead(X, inputs, n_steps, clip_spectrum)
        values = self._values_of(f)
        matrix = values[:, None] if values.ndim == 1 else values
        if under is None:
            out = self._core.expectation(matrix, rows, steps, self._checked_rank(), clip_spectrum)
        else:
            out = self._core.expectation_under(matrix, rows, under, steps)
        out = out[..., 0] if values.ndim == 1 else out
        return cast(FloatArray, out[0] if single else out)

    def weights(
        self,
        X: ArrayLike,
        n_steps: int | Sequence[int] | None = None,
        *,
        inputs: ArrayLike | None = None,
        clip_spectrum: bool = False,
    ) -> FloatArray:
        """Give the weights of the stored outputs in the conditional mean embedding.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            States to start from.
        n_steps : int or sequence of int, optional
            How many steps ahead, 1 or more; or several such numbers. None: 1, or as many as a
            sequence of inputs has.
        inputs : array-like of shape (n, n_inputs) or (n or 1, n_steps, n_inputs), optional
            What acts, for an operator with inputs; as in `predict`.
        clip_spectrum : bool, default=False
            Move eigenvalues outside the unit circle onto it.

        Returns
        -------
        weights : ndarray of shape (n, n_outputs)
            ``weights(X) @ f(outputs_)`` estimates ``E[f(x_n) | x_0]``. They may be negative and
            need not sum to 1. With a sequence of steps there is one axis more, in front.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        rows, under, steps, single = self._ahead(X, inputs, n_steps, clip_spectrum)
        if under is None:
            out = self._core.embedding(rows, steps, self._checked_rank(), clip_spectrum)
        else:
            out = self._core.embedding_under(rows, under, steps)
        return cast(FloatArray, out[0] if single else out)

    def score(self, X: ArrayLike, X_next: ArrayLike, *, inputs: ArrayLike | None = None) -> float:
        """Give the share of the next state's variance that the forecast explains (R squared).

        For model selection by scikit-learn's tools; noise that nothing can forecast keeps it
        below 1.

        Parameters
        ----------
        X, X_next : array-like of shape (n, n_features)
            Pairs that were not learned, n at least 2.
        inputs : array-like of shape (n, n_inputs), optional
            What acted on each state, for an operator with inputs.

        Returns
        -------
        score : float
            1 is perfect, 0 as good as the mean; the average over the features.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        return float(r2_score(self._queried(X_next), self.predict(X, inputs=inputs)))

    def _ahead(
        self, X: ArrayLike, inputs: Any, n_steps: int | Sequence[int] | None, clip_spectrum: bool
    ) -> tuple[FloatArray, FloatArray | None, list[int], bool]:
        """Give the rows of a forecast, the inputs of its steps, and the steps."""
        rows = self._queried(X)
        under, n_steps = sequences(inputs, len(rows), self._n_inputs(), n_steps)
        if under is not None and (clip_spectrum or self.rank is not None):
            raise ValueError(
                "rank and clip_spectrum cut a spectrum, which an operator with inputs has not"
            )
        return rows, under, *_steps(n_steps)


def _steps(n_steps: int | Sequence[int]) -> tuple[list[int], bool]:
    single = np.ndim(n_steps) == 0
    given = [n_steps] if single else list(cast("Sequence[int]", n_steps))
    return [whole_number("n_steps", n) for n in given], single
