"""Forecasts of an operator: expected states, expectations of functions, and their weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from kernelstream.estimators.validation import whole_number
from kernelstream.koopman.inputs import sequences
from kernelstream.koopman.queries import FloatArray, Function, OperatorQueries

__all__ = ["KINDS", "Forecasts"]

# What a forecast is a mixture of; the last only with a period.
KINDS = ("operator", "increments", "linear", "modes", "persistence", "mean", "period")


class Forecasts(OperatorQueries):
    """The forecasts of an operator.

    A derived class stores the parameter ``lag``.
    """

    lag: int

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
            Initial states.
        n_steps : int or sequence of int, optional
            Number of steps (of `lag` states each) ahead, 1 or more; or several such numbers. None:
            1, or the length of a sequence of inputs.
        observable : callable or array-like, optional
            None: the state itself, whose coefficients are learned together with the operator, the
            most accurate choice. Otherwise a function from states (m, n_features) to (m,) or
            (m, p), or its values at `dictionary_next_`, see `expectation`.
        inputs : array-like of shape (n, n_inputs) or (n or 1, n_steps, n_inputs), optional
            Control inputs, required with ``n_inputs``: one for each row, held constant, or a
            sequence over the steps, for each row or one for all.
        clip_spectrum : bool, default=False
            Move eigenvalues outside the unit circle onto it, so that long forecasts stay bounded.

        Returns
        -------
        forecast : ndarray of shape (n, n_features), (n,) or (n, p)
            With a sequence of steps there is an additional leading axis.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is invalid (the message names it), or the forecast overflows.
        """
        if observable is not None:
            return self.expectation(
                observable, X, n_steps, inputs=inputs, clip_spectrum=clip_spectrum
            )
        return self._forecast(self._queried(X), n_steps, inputs, clip_spectrum=clip_spectrum)

    @overload
    def forecast(  # numpydoc ignore=GL08
        self, X: ArrayLike | None = ..., *, return_std: Literal[False] = ...
    ) -> FloatArray: ...

    @overload
    def forecast(  # numpydoc ignore=GL08
        self, X: ArrayLike | None = ..., *, return_std: Literal[True]
    ) -> tuple[FloatArray, FloatArray]: ...

    def forecast(
        self, X: ArrayLike | None = None, *, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Forecast the state over each of the `horizons`, by the mixture that did best so far.

        For each horizon these forecasts are mixed: the operator's, as by `predict`; the state and
        what is expected to be added to it, learned by least squares in the operator's coordinates
        ("increments") and in the state and its delays themselves ("linear", of up to 294 numbers
        with three horizons); the state expected by least squares in the leading modes of the states
        with which the model began ("modes": of more than 16 numbers, up to 30 modes, with scaled
        states only); the state itself ("persistence"); the mean of all states so far; and with
        `period` the state at the same phase of the last one. The weights, `forecast_weights_`,
        follow the squared errors that each would have made along the trajectories learned, for each
        component of the state. Every forecast was made before its state, and all that came later,
        was learned: in the long run the mixture is hardly worse than the best of them.

        Parameters
        ----------
        X : array-like of shape (n, n_features), optional
            Initial states; with delays as for `predict`. With `period`, successive states of a
            trajectory: the last period is known of those with so many states before them, of
            the others the mixture does without. None: the last state of the trajectory learned
            last.
        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        forecasts : ndarray of shape (n_horizons, n, n_features)
            In the order of `horizons`.
        deviations : ndarray of shape (n_horizons, n_features)
            Only with ``return_std``: standard deviations of what comes about the forecasts, those
            of the errors that the mixture has made, of which later ones count more; the same for
            all states. Infinite for horizons over which no forecast could be judged yet.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            There are no horizons, a row is invalid (the message names it), or without X no
            trajectory was learned last.

        References
        ----------
        P. Gaillard, G. Stoltz, T. van Erven, "A second-order bound with excess losses", COLT 2014
        (weights that all components have in common).
        M. Herbster, M. Warmuth, "Tracking the best expert", Machine Learning, 1998 (what each
        component makes of these and of the single forecasts).
        """
        check_is_fitted(self)
        forecasts = cast(FloatArray, self._core.forecasts(self._forecast_rows(X)))
        if not return_std:
            return forecasts
        return forecasts, cast(FloatArray, self._core.forecast_deviations())

    def forecast_interval(self, X: ArrayLike | None = None, coverage: float = 0.9) -> FloatArray:
        """Give intervals that hold what comes over each of the `horizons`.

        They lie around what `forecast` gives. For each horizon and component their reach follows
        whether what came was inside (adaptive conformal inference), so that over a stream the share
        of it that is inside is `coverage`, whatever the dynamics and the noise, also where these
        change. From states in which the kinds of forecasts agree they are narrower, as far as
        errors were smaller there.

        Parameters
        ----------
        X : array-like of shape (n, n_features), optional
            Initial states, as for `forecast`.
        coverage : float, default=0.9
            Share of what comes that is to be inside, above 0 and below 1, for each component by
            itself.

        Returns
        -------
        intervals : ndarray of shape (n_horizons, n, n_features, 2)
            Lower and upper ends. Infinite for horizons over which no forecast could be judged yet,
            as where all trajectories are shorter.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            There are no horizons (the argument of the operator that intervals need), `coverage`
            is out of range, a row is invalid (the message names it), or without X no trajectory was
            learned last.

        References
        ----------
        I. Gibbs, E. Candes, "Adaptive conformal inference under distribution shift", NeurIPS 2021.
        """
        check_is_fitted(self)
        rows = self._forecast_rows(X)
        return cast(FloatArray, self._core.forecast_intervals(rows, float(coverage)))

    @property
    def forecast_weights_(self) -> dict[str, FloatArray]:
        """Weights of the forecasts that `forecast` mixes, for each horizon and component."""
        check_is_fitted(self)
        return dict(zip(KINDS, self._core.forecast_weights(), strict=False))

    def _forecast_rows(self, X: ArrayLike | None) -> FloatArray:
        """Give the rows that the core is asked for forecasts with."""
        lag = whole_number("lag", self.lag)
        if X is None:
            return cast(FloatArray, self._core.forecast_rows(self._core.latest(), lag)[-1:])
        if not self._span() or np.ndim(X) != 3:
            return cast(FloatArray, self._core.forecast_rows(self._states(X), lag))
        windows = [self._core.forecast_rows(self._states(one), lag)[-1:] for one in np.asarray(X)]
        return np.concatenate(windows)

    def _forecast(
        self,
        queried: FloatArray,
        n_steps: int | Sequence[int] | None,
        inputs: ArrayLike | None,
        *,
        clip_spectrum: bool = False,
    ) -> FloatArray:
        """Forecast the state from rows in the form that the core is asked with."""
        rows, under, steps, single = self._ahead(queried, inputs, n_steps, clip_spectrum)
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
        """Forecast a function of the state, ``E[f(x_n) | x_0]``, by its conditional mean embedding.

        The sum of `weights` times the values of f at the stored next states, as accurate as the
        interpolation of f by the kernel between these states.

        Parameters
        ----------
        f : callable or array-like of shape (n_stored_next,) or (n_stored_next, p)
            A function from states (m, n_features) to (m,) or (m, p), or its values at
            `dictionary_next_`.
        X : array-like of shape (n, n_features)
            Initial states.
        n_steps : int or sequence of int, optional
            Number of steps ahead, 1 or more; or several such numbers. None: 1, or the length of a
            sequence of inputs.
        inputs : array-like of shape (n, n_inputs) or (n or 1, n_steps, n_inputs), optional
            Control inputs as in `predict`.
        clip_spectrum : bool, default=False
            Move eigenvalues outside the unit circle onto it, so that long forecasts stay bounded.

        Returns
        -------
        expectation : ndarray of shape (n,) or (n, p)
            With a sequence of steps there is an additional leading axis.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is invalid (the message names it), or the values of f do not have one row for
            each stored next state.
        """
        rows, under, steps, single = self._ahead(self._queried(X), inputs, n_steps, clip_spectrum)
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
        """Compute the weights of the stored next states in the conditional mean embedding.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Initial states.
        n_steps : int or sequence of int, optional
            Number of steps ahead, 1 or more; or several such numbers. None: 1, or the length of a
            sequence of inputs.
        inputs : array-like of shape (n, n_inputs) or (n or 1, n_steps, n_inputs), optional
            Control inputs as in `predict`.
        clip_spectrum : bool, default=False
            Move eigenvalues outside the unit circle onto it.

        Returns
        -------
        weights : ndarray of shape (n, n_stored_next)
            ``weights(X) @ f(dictionary_next_)`` estimates ``E[f(x_n) | x_0]``. They may be negative
            and need not sum to 1. With a sequence of steps there is an additional leading axis.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is invalid; the message names it.
        """
        rows, under, steps, single = self._ahead(self._queried(X), inputs, n_steps, clip_spectrum)
        if under is None:
            out = self._core.embedding(rows, steps, self._checked_rank(), clip_spectrum)
        else:
            out = self._core.embedding_under(rows, under, steps)
        return cast(FloatArray, out[0] if single else out)

    def _ahead(
        self,
        rows: FloatArray,
        inputs: Any,
        n_steps: int | Sequence[int] | None,
        clip_spectrum: bool,
    ) -> tuple[FloatArray, FloatArray | None, list[int], bool]:
        """Check the inputs of a forecast's steps, and the steps."""
        under, n_steps = sequences(inputs, len(rows), self._n_inputs(), n_steps)
        if under is not None and (clip_spectrum or self.rank is not None):
            raise ValueError(
                "rank and clip_spectrum need a spectrum, which an operator with inputs does not "
                "have: leave them at None and False"
            )
        return rows, under, *_steps(n_steps)


def _steps(n_steps: int | Sequence[int]) -> tuple[list[int], bool]:
    single = np.ndim(n_steps) == 0
    given = [n_steps] if single else list(cast("Sequence[int]", n_steps))
    return [whole_number("n_steps", n) for n in given], single
