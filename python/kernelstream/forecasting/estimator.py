"""Forecasts of trajectories, with intervals, as an estimator."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Self, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kernelstream import _core
from kernelstream.components.base import as_json
from kernelstream.estimators.availability import attribute_of
from kernelstream.estimators.base import StreamEstimator
from kernelstream.estimators.model_file import decode_parameters, encode_parameters
from kernelstream.estimators.validation import whole_number
from kernelstream.forecasting.skill import Mixtures
from kernelstream.koopman.estimator import Koopman, fitted_operator
from kernelstream.koopman.inputs import joined_pieces, numbers_of_inputs, refuse_gaps
from kernelstream.koopman.learning import Warned, core_spec, reporting, warn_of_learned
from kernelstream.koopman.queries import span_of
from kernelstream.koopman.remedies import warn_of_constant_inputs
from kernelstream.koopman.skill import Skill, skill_of, steps_of
from kernelstream.koopman.times import Given, LastTimes, Reading, last_times, state_of_times
from kernelstream.koopman.trajectories import (
    LearnedStates,
    as_trajectories,
    check_lengths,
    check_states,
    naming_states,
    rows_of_states,
    series_as_columns,
    trajectories_as_given,
    warn_of_codes,
    warn_of_outlier,
)

__all__ = ["Forecaster", "delays_of"]

FloatArray = NDArray[np.float64]

# The forecasts of a mixture around an operator; the last only with a period.
KINDS = ("operator", "increments", "linear", "modes", "persistence", "mean", "period")
# Those of single components.
CANDIDATES = ("persistence", "mean", "autoregression", "smoothing", "direct", "operator")
# Delays of the default operator: for one component, for several, and for states so wide that
# components have no candidates of their own.
_DELAYS, _FEW_DELAYS, _WIDEST = 8, 2, 64


def delays_of(width: int) -> int:
    """Give the delays of the operator that is chosen for states of some components."""
    if width > _WIDEST:
        return 0
    return _DELAYS if width == 1 else _FEW_DELAYS


def _width_of(inputs: Any) -> int:
    """Count the inputs of a state.

    Raises
    ------
    ValueError
        They are no rows.
    """
    if inputs is None:
        return 0
    shape = np.shape(as_trajectories(inputs)[0])
    if len(shape) not in {1, 2} or shape[1:] == (0,):
        raise ValueError(
            f"inputs have shape {shape}, but must have shape (n_times, n_inputs), a row for each "
            "state"
        )
    return 1 if len(shape) == 1 else int(shape[1])


def _pieces(X: Any, inputs: Any) -> list[Given]:
    """Give a history in parts, between gaps of its times that are not filled; whole with inputs."""
    return Reading([X]).given if inputs is None else [Given(X)]


def _names_of(inputs: Any) -> list[str] | None:
    """Give the names of the columns of a frame; None if there are none."""
    frame = inputs[0] if isinstance(inputs, list | tuple) and len(inputs) else inputs
    names = list(getattr(frame, "columns", []))
    return names if names and all(isinstance(name, str) for name in names) else None


# Gaps of at most this many rows are estimated, by the core, in any record: see `MOST_ESTIMATED`.
_ESTIMATED = 12
# States kept for pictures: two of the longest seasons, or this multiple of the longest horizon, and
# at most this many numbers in this many parts; the fewest of them that are drawn.
_LONGEST_SEASON, _HISTORY, _RECENT_NUMBERS, _PARTS, _FEWEST_SHOWN = 512, 3, 200_000, 64, 20
_LONGER = "seasons continue after longer ones"


class Forecaster(StreamEstimator):
    """Forecasts of trajectories over several horizons, with intervals: one pass, constant memory.

    For each horizon and component of the state, several forecasts are mixed by their errors so far:
    autoregressions, exponential smoothing with trend and season, a line with the season, direct
    least squares, a Koopman operator of the state and its delays, persistence, also that of the
    latest season, and the mean. Trend, season and delays are estimated along the stream. Intervals
    follow the errors of the mixture.

    The result does not depend, up to rounding, on how trajectories are split into calls of
    `partial_fit`. `fit` ends the warm-up, and so chooses parameters from all of fewer pairs than
    the next choice along the stream would wait for.

    A value of a component is an outlier if it is outside the range of all before it by more than
    five times this range, and further from the last one than 40 times the mean size of a change,
    after 32 changes. It is replaced by the last value, which a warning names, in at most three
    states with fewer than eight between: with a fourth, they are a new level or a burst, and all
    are learned as they are. Besides three, one such run in 400 states is replaced. `forecast` does
    the same along a given history, if ``candidates`` is True.

    What is imposed on the system or known in advance, such as a valve, a price or the weather of
    tomorrow, are **inputs**, given beside the states: regressions and the operator learn what they
    do, and forecasts are made under those that will act, see `forecast`. The input of a row acts
    from its state until the next. What acts on the state of the same row, as the temperature of an
    hour on the load of this hour, acts from the state before: learn ``T`` with
    ``inputs=[*Z[1:], Z_ahead[0]]``, and forecast under ``Z_ahead``. As long as the input of the
    last state is not known, learn all rows but this one, and forecast from the last two,
    ``forecast(T[-2:], inputs=...)[:, -1]``. With inputs, the lag of the operator is 1. An input
    that was constant while learning has no effect, and a forecast under another value warns.

    Parameters
    ----------
    horizons : int or sequence of int, default=(1,)
        Steps (of ``operator.lag`` states each) ahead, different numbers from 1. Each costs about
        the learning of a state again, and its forecasts of the operator a product with a vector
        for every step, ten times in that many steps.
    operator : Koopman, optional
        The parameters of the operator: kernel, delays, lag, time step. It is not fitted; what was
        learned is `operator_`. None: a ``Koopman`` with 8 delays of one component, with 2 of up to
        64, and with none of more, and with as many inputs as are given. It compares states by 0, 1
        or 2 delays instead if their held-out errors in the warm-up are less than half.
    period : int, optional
        States in a season, 2 or more, such as 24 of hourly ones. None: up to two are looked for
        each time that the number of rows has grown by a third, or an eighth of up to 64, see
        `periods_`: one of a calendar (4, 7, 12, 24, 48, 52, 168, 336 rows, or a week of days that
        were found) from two cycles on, if these are alike, any other from three. A period of the
        calendar that an index of times tells, such as 12 of months or 365 of days, comes before
        others in up to eight cycles if it repeats itself.
    candidates : bool, default=True
        Whether each component is forecast by the statistical models too, of states of up to 64
        components. False: only by the operator and what is learned in its coordinates, for all
        components together, without inputs.

    Attributes
    ----------
    operator_ : Koopman
        The fitted operator, for its spectrum, scores and forecasts. It shares its state with the
        forecaster, which is the one to be trained.
    forecast_weights_ : dict of str to ndarray of shape (n_horizons, n_features_in_)
        Weights of "persistence", "mean", "autoregression", "smoothing", "direct" and "operator" in
        the forecasts of each component from the last state. Without `candidates` those of
        "operator", "increments", "linear", "modes", "persistence", "mean" and with a `period` of
        "period", see `forecast`.
    periods_ : list of list of int
        The seasons found in each component, at most two, the more important first.
    times_ : ndarray of shape (n_horizons,)
        The horizons in units of ``operator.time_step``.
    n_states_ : int
        Number of states learned, those filled in included: an interrupted call is resumed with the
        next.
    n_seen_ : int
        Number of pairs that the operator has learned, of states with their delays.
    n_left_out_ : int
        Number of states with an outlier that was left out: a value far beyond all before it.
    n_stored_ : int
        Number of stored states.
    n_features_in_ : int
        Number of components of a state.
    n_inputs_ : int
        Number of inputs.
    feature_names_in_ : ndarray of str of shape (n_features_in_,)
        Column names, if the first states were a data frame.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelstream as ks
    >>> t = np.arange(600)
    >>> T = np.column_stack([np.cos(0.3 * t), np.sin(0.3 * t)])
    >>> model = ks.Forecaster(horizons=(1, 6, 24)).partial_fit(T[:400]).partial_fit(T[400:500])
    >>> bool(np.abs(model.forecast()[:, 0] - T[[500, 505, 523]]).max() < 0.01)
    True
    >>> model.forecast_interval(coverage=0.9).shape
    (3, 1, 2, 2)

    Under inputs, here a heater that is switched on and off:

    >>> heat = np.random.default_rng(0).integers(0, 2, size=600)
    >>> room = np.zeros((600, 1))
    >>> for i in range(599):
    ...     room[i + 1] = 0.9 * room[i] + heat[i]
    >>> model = ks.Forecaster([1, 12]).fit(room[:500], inputs=heat[:500])
    >>> made = model.forecast(inputs=heat[499:511])[:, 0]
    >>> bool(np.abs(made - room[[500, 511]]).max() < 0.01)
    True
    """

    _core_class = _core.Koopman

    n_features_in_: int
    _input_names: list[str] | None
    _times: LastTimes | None
    # How many states were learned with the last of these.
    _recent: tuple[int, list[FloatArray]] | None

    def __init__(
        self,
        horizons: int | Sequence[int] = (1,),
        operator: Koopman | None = None,
        *,
        period: int | None = None,
        candidates: bool = True,
    ) -> None:
        self.horizons = horizons
        self.operator = operator
        self.period = period
        self.candidates = candidates

    # ------------------------------------------------------------------------------- learning

    def fit(
        self,
        T: ArrayLike | Sequence[ArrayLike],
        y: None = None,  # noqa: ARG002  (for pipelines)
        *,
        inputs: ArrayLike | Sequence[ArrayLike] | None = None,
        verbose: bool = False,
    ) -> Self:
        """Reset, then learn one or several trajectories in one pass.

        Parameters
        ----------
        T : array-like of shape (n_times, n_features), or several
            As in `partial_fit`, a series as a frame of one column or a sequence of numbers: short
            gaps between times are filled, and seasons continue after longer ones.
        y : None
            Not used; for pipelines.
        inputs : array-like of shape (n_times, n_inputs), or several, optional
            The inputs that act from each state on until the next, in the form of `T`: always, or
            never. The last one of a call counts once its trajectory is continued.
        verbose : bool, default=False
            Show a progress bar if the call takes longer than a second (needs ``rich``).

        Returns
        -------
        self : Forecaster
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is invalid (the message names it) or a parameter is, or no trajectory is longer
            than the lag; the model is unchanged.
        """
        with self._learning(reset=True) as model:
            learned, n_before = model._learn(T, inputs, continued=False, verbose=verbose)
            model._core.flush()  # ends the warm-up
        self._warned().clear()
        self._warn(learned, n_before)
        return self

    def partial_fit(
        self,
        T: ArrayLike | Sequence[ArrayLike],
        y: None = None,  # noqa: ARG002  (for pipelines)
        *,
        inputs: ArrayLike | Sequence[ArrayLike] | None = None,
        continued: bool = True,
        verbose: bool = False,
    ) -> Self:
        """Learn the next states.

        Parameters
        ----------
        T : array-like of shape (n_times, n_features) or (n_trajectories, n_times, n_features), \
or sequence of array-likes of shape (n_times, n_features)
            The next states of the trajectory, one or more; or several trajectories, of which the
            first continues the one before. A series of pandas or polars, or a sequence of numbers
            while states have one component, is a frame of one column.
            Where a frame has an index of times, gaps of one or two rows between evenly spaced times
            are filled linearly, while at most about one row in five is. After longer ones, also
            after the last time of the call before, seasons continue (gaps of up to 12 rows or
            one season, four where all columns have some), and the operator begins another
            trajectory.
        y : None
            Not used; for pipelines.
        inputs : array-like of shape (n_times, n_inputs), or several, optional
            The inputs that act from each state on until the next, in the form of `T`: always, or
            never. The last one of a call counts once its trajectory is continued.
        continued : bool, default=True
            Whether the first state follows the last one of the previous call (the first call
            begins a trajectory). False: a new trajectory begins.
        verbose : bool, default=False
            Show a progress bar if the call takes longer than a second (needs ``rich``).

        Returns
        -------
        self : Forecaster
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is invalid (the message names it), a time is there twice or not after the last
            one that is continued, or a new trajectory is not longer than the lag; the model is
            unchanged.
        KeyboardInterrupt
            Ctrl-C; the states processed until then stay learned (see ``n_states_``).
        """
        return self._learn_next(T, inputs, continued=continued, verbose=verbose)

    def _learn_next(
        self,
        T: Any,
        inputs: Any = None,
        *,
        continued: bool,
        verbose: bool = False,
        missing: int = 0,
        periods: Sequence[int] | None = None,
    ) -> Self:
        """Learn the next states, of which as many are missing before the first; 0: not known.

        `periods` are those of the calendar of their times, where `T` has no index of these.
        """
        with self._learning() as model:
            learned, n_before = model._learn(
                T,
                inputs,
                continued=continued,
                begins=True,
                verbose=verbose,
                missing=missing,
                periods=periods,
            )
        self._warn(learned, n_before)
        return self

    def _learn(
        self,
        T: Any,
        inputs: Any,
        *,
        continued: bool,
        verbose: bool,
        begins: bool = False,
        missing: int = 0,
        periods: Sequence[int] | None = None,
    ) -> tuple[LearnedStates, int]:
        """Learn states; give them, and the number of those left out before."""
        reset = not self.__sklearn_is_fitted__()
        last = last_times(self) if continued else None
        reading = Reading(trajectories_as_given(series_as_columns(T, self._n_components)), last)
        pieces = [
            rows_of_states(self, one.rows, reset=reset and i == 0, named=False)
            for i, one in enumerate(reading.given)
        ]
        operator = self._operator(_width_of(inputs))
        self._check_inputs(inputs, operator.n_inputs, reset=reset)
        pieces = joined_pieces(pieces, inputs, operator.n_inputs)
        lag = whole_number("lag", operator.lag)
        by_component = self._by_component()
        span = 0 if by_component else span_of(operator)
        names = getattr(self, "feature_names_in_", None)
        # A trajectory of single components may begin with a single state.
        continued_or_begun = continued or (begins and by_component)
        check_states(pieces, names, timed=_LONGER if reading.timed and inputs is None else "")
        filled = reading.fill(pieces)
        check_lengths(filled, lag, continued=continued_or_begun, span=span)
        if reset:
            self._core = _core.Koopman(json.dumps(self._core_spec(operator)))
        learned = LearnedStates.of_trajectories(pieces, names, operator.n_inputs)
        recent = self._recent_parts()
        self._core.take_first_outlier()
        n_before = int(self._core.n_left_out)
        n_states = sum(map(len, filled))
        with (
            naming_states(pieces, names, operator.n_inputs),
            reporting(self, n_states, "states", verbose=verbose) as report,
        ):
            gaps = [reading.given[0].gap or missing, *(one.gap for one in reading.given[1:])]
            follows_on = continued and not reading.begins
            calendar = self._calendar(reading.periods if periods is None else list(periods))
            self._core.follow(filled, lag, follows_on, report, gaps, calendar)
        self._times = reading.last(self._core, filled)
        if filled:
            follows = len(filled) == 1 and continued and not any(gaps) and not reading.begins
            self._remember(filled[-1], recent if follows else [])
        reading.warn(estimated=_ESTIMATED if by_component and not operator.n_inputs else 0)
        return learned, n_before

    @property
    def _n_components(self) -> int:
        """Components of the states learned; 1 before the first."""
        return int(getattr(self, "n_features_in_", 1))

    def _calendar(self, periods: list[int] | None) -> list[int] | None:
        """Give the periods of the calendar of times if seasons are expected to be these."""
        return periods if self._by_component() else None

    def _recent_parts(self) -> list[FloatArray]:
        """Give the last states in parts; none if they are not those learned last."""
        known: tuple[int, list[FloatArray]] | None = vars(self).get("_recent")
        return [] if known is None or known[0] != self._n_learned() else known[1]

    def _n_learned(self) -> int:
        return int(self._core.n_states) + int(self._core.n_seen)

    def _remember(self, rows: FloatArray, before: list[FloatArray]) -> None:
        """Keep the last states for pictures; files do without."""
        width = rows.shape[1] - (self.operator.n_inputs if self.operator is not None else 0)
        most = max(2 * _LONGEST_SEASON, _HISTORY * max(steps_of(self.horizons)) * self._lag())
        most = min(most, max(_RECENT_NUMBERS // width, 1))
        parts = [*before, rows[-most:, :width].copy()]
        while sum(map(len, parts[1:])) >= most:
            parts.pop(0)
        if len(parts) > _PARTS:
            parts = [np.concatenate(parts)[-most:]]
        self._recent = self._n_learned(), parts

    def _lag(self) -> int:
        return whole_number("lag", self._operator().lag)

    def _history_of(self, component: int) -> FloatArray:
        """Give the last states learned that a picture shows: two seasons, or three horizons."""
        parts = self._recent_parts()
        if not parts:
            return cast(FloatArray, self._core.latest())
        seasons = self._seasons_of(component)
        ahead = max(steps_of(self.horizons)) * self._lag()
        count = max(2 * max(seasons, default=0), _HISTORY * ahead, _FEWEST_SHOWN)
        found: FloatArray = np.concatenate(parts)[-count:]
        return found

    def _seasons_of(self, component: int) -> list[int]:
        """Give the seasons of a component, given or found, in states."""
        return [*self.periods_[component], *([] if self.period is None else [int(self.period)])]

    def _check_inputs(self, inputs: Any, expected: int, *, reset: bool) -> None:
        """Refuse inputs that are missing or superfluous, or have other names."""
        found = _width_of(inputs)
        if found and not expected:
            remedy = (
                "fit starts again"
                if self.operator is None
                else f"set operator=Koopman(n_inputs={found}, ...)"
            )
            was = "its operator has none" if reset else "it has learned trajectories without"
            raise ValueError(f"{found} inputs of each state are given, but {was}: {remedy}")
        if expected and not found:
            raise ValueError(
                f"this forecaster learns a system with {expected} inputs: pass those of each "
                "state, inputs=..."
            )
        if found and not self.candidates:
            raise ValueError("forecasts under inputs need candidates=True")
        if reset:
            self._input_names = _names_of(inputs)
        else:
            self._check_input_names(inputs)

    def _check_input_names(self, inputs: Any) -> None:
        """Refuse inputs whose columns have other names than those learned, or another order."""
        known, names = vars(self).get("_input_names"), _names_of(inputs)
        if known is not None and names is not None and names != known:
            raise ValueError(
                f"the columns of inputs are {names}, but {known} were learned: give these, in this "
                "order"
            )

    def _operator(self, n_inputs: int = 0) -> Koopman:
        operator = self.operator
        if operator is None:
            core = vars(self).get("_core")
            n_inputs = n_inputs if core is None else core.n_inputs
            operator = Koopman(n_delays=self._delays(), n_inputs=n_inputs)
        if not isinstance(operator, Koopman):
            raise TypeError(f"operator must be a Koopman, got {operator!r}")
        return operator

    def _delays(self) -> int:
        width = vars(self).get("n_features_in_")
        return 0 if not self.candidates or width is None else delays_of(width)

    def _by_component(self, width: int | None = None) -> bool:
        width = vars(self).get("n_features_in_", 1) if width is None else width
        return bool(self.candidates) and width <= _WIDEST

    def _core_spec(self, operator: Koopman) -> dict[str, Any]:
        steps = steps_of(self.horizons, "horizons")
        if not steps:
            raise ValueError(
                "horizons must be the steps ahead that forecasts are for, such as [1, 6, 24], got "
                "none"
            )
        spec = core_spec(operator)
        if self.operator is None:
            spec["delays"]["fewer"] = True
        return spec | {
            "horizons": steps,
            "candidates": as_json("candidates", self.candidates),
            "period": None if self.period is None else whole_number("period", self.period),
        }

    def _warn(self, learned: LearnedStates, n_before: int) -> None:
        outlier = self._core.take_first_outlier()
        if outlier is not None:
            warn_of_outlier(outlier, learned, self._warned(), is_replaced=True)
        becomes = "is learned as it is"
        if self._core.n_left_out != n_before:
            becomes = f"{becomes}, or left out if it is far beyond all states before it"
        pieces = list(learned.arrays.values())
        warn_of_codes(pieces, learned.names, learned.n_inputs, besides=outlier, learned=becomes)
        chosen = self.operator is not None or not self._by_component()
        warn_of_learned(self.operator_, self._warned(), chosen=chosen)

    def _warned(self) -> Warned:
        """Give the warnings that were given, which files do without."""
        return cast(Warned, vars(self).setdefault("_warnings", set()))

    # ------------------------------------------------------------------------------ forecasts

    @overload
    def forecast(  # numpydoc ignore=GL08
        self,
        X: ArrayLike | None = ...,
        *,
        inputs: ArrayLike | None = ...,
        return_std: Literal[False] = ...,
    ) -> FloatArray: ...

    @overload
    def forecast(  # numpydoc ignore=GL08
        self,
        X: ArrayLike | None = ...,
        *,
        inputs: ArrayLike | None = ...,
        return_std: Literal[True],
    ) -> tuple[FloatArray, FloatArray]: ...

    def forecast(
        self,
        X: ArrayLike | None = None,
        *,
        inputs: ArrayLike | None = None,
        return_std: bool = False,
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Forecast the state over each of the `horizons`, by the mixture that did best so far.

        For each horizon and component these forecasts are mixed by their recent losses:
        autoregressions of up to 32 lags, and around the season, averaged by AICc, of the value, of
        its differences and seasonal differences and of the value less the mean of its phase;
        exponential smoothing with a damped trend and a season, for a grid of constants, and the
        line of least squares through up to 512 rows, with the means of phases ("smoothing"); least
        squares of what comes over the horizon on recent values, those of earlier seasons and the
        other components; all of these on logarithms too, of positive values that spread widely;
        the state, and with a season the latest of the same phase ("persistence"); the mean; and the
        mixture around the operator.

        The latter, and without `candidates` all, mixes: the operator's, as by `Koopman.predict`;
        the state and what is expected to be added to it, learned by least squares in the operator's
        coordinates ("increments") and in the state and its delays themselves ("linear", of up to
        294 numbers with three horizons); the state expected by least squares in the leading modes
        of the states with which the model began ("modes": of more than 16 numbers, up to 30 modes,
        with scaled states only); the state itself ("persistence"); the mean of all states so far;
        and with `period` the state at the same phase of the last one. The weights,
        `forecast_weights_`, follow the squared errors that each would have made along the
        trajectories learned, for each component of the state. Every forecast was issued before its
        target was learned: in the long run the mixture is little worse than the best of them.

        With inputs, autoregressions and direct least squares have recent inputs as further
        regressors (ARX models; L. Ljung, "System identification", 1999), and the operator is that
        of states and inputs, single steps of it as by `Koopman.predict`. Forecasts are compared
        with their targets once the inputs in between are known, by coefficients and a copy of the
        operator from before any state in between was learned: files are several times as large.
        Under inputs, forecasts may go ten times the range of the states seen beyond it.

        Parameters
        ----------
        X : array-like of shape (n, n_features) or (n, n_times, n_features), optional
            Successive states of a trajectory, with a forecast from each by those before it: kinds
            that need more of them are left out, as are seasons before their phase has been found
            from one whole season. Weights and the widths of intervals follow the errors along
            these states, so that a history at another level, or with other noise, is forecast by
            the kinds with the least errors there; nothing else is learned. Without `inputs`, gaps
            in a frame's index of times, of more than its own usual step, are filled as in
            learning, or begin another history. Where the first states equal the last that were
            learned, to the last bit, all that was learned before is known too. Or n such histories,
            also a list of them of different lengths, with a forecast from the last state of
            each. Without `candidates`, initial states, with delays as for `Koopman.predict`.
            None: the last state of the trajectory learned last.
        inputs : array-like of shape (n - 1 + longest, n_inputs), or (n, n_times - 1 + longest, \
n_inputs), optional
            For a system with inputs: those that act from each of these states on and after the
            last, up to the longest of the horizons. Without `X`, (longest, n_inputs): the first row
            acts from the last state learned.
        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        forecasts : ndarray of shape (n_horizons, n, n_features)
            In the order of `horizons`.
        deviations : ndarray of shape (n_horizons, n_features)
            Only with ``return_std``: root mean squared errors of the mixture's forecasts along the
            trajectories learned, exponentially weighted; the same for all states, also those of
            `X`. Infinite for horizons over which no forecast has a target yet.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is invalid; the message names it.

        References
        ----------
        K. Burnham, D. Anderson, "Model selection and multimodel inference", 2002 (AICc).
        E. Gardner, "Exponential smoothing: the state of the art", 1985.
        P. Gaillard, G. Stoltz, T. van Erven, "A second-order bound with excess losses", COLT 2014
        (weights that all components have in common).
        M. Herbster, M. Warmuth, "Tracking the best expert", Machine Learning, 1998 (what each
        component makes of these and of the single forecasts).
        """
        check_is_fitted(self)
        X = series_as_columns(X, self._n_components)
        if self._core.has_candidates:
            forecasts = self._of_states(X, inputs, self._core.ahead)
        else:
            self._acting(inputs, 1)
            forecasts = cast(FloatArray, self._core.forecasts(self._forecast_rows(X)))
        if not return_std:
            return forecasts
        core = self._core
        ahead = core.ahead_deviations if core.has_candidates else core.forecast_deviations
        return forecasts, cast(FloatArray, ahead())

    def forecast_interval(
        self,
        X: ArrayLike | None = None,
        coverage: float = 0.9,
        *,
        inputs: ArrayLike | None = None,
    ) -> FloatArray:
        """Give intervals for the state over each of the `horizons`.

        They are centred on the result of `forecast`. For each horizon and component their
        half-width is adapted to the share of targets inside (adaptive conformal inference), so that
        this share is `coverage` along a stream, for any dynamics and noise, also under drift. They
        are narrower where the kinds of forecasts agree, as far as errors were smaller there.

        Parameters
        ----------
        X : array-like of shape (n, n_features) or (n, n_times, n_features), optional
            Initial states, as for `forecast`.
        coverage : float, default=0.9
            Share of the targets inside, above 0 and below 1, for each component by
            itself.
        inputs : array-like, optional
            Inputs, as for `forecast`.

        Returns
        -------
        intervals : ndarray of shape (n_horizons, n, n_features, 2)
            Lower and upper ends. Infinite for horizons over which no forecast has a target yet,
            as where all trajectories are shorter.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            `coverage` is out of range, or a row is invalid (the message names it).

        References
        ----------
        I. Gibbs, E. Candes, "Adaptive conformal inference under distribution shift", NeurIPS 2021.
        """
        check_is_fitted(self)
        X = series_as_columns(X, self._n_components)
        if self._core.has_candidates:
            ask = partial(self._core.ahead_intervals, coverage=float(coverage))
            return self._of_states(X, inputs, ask)
        self._acting(inputs, 1)
        rows = self._forecast_rows(X)
        return cast(FloatArray, self._core.forecast_intervals(rows, float(coverage)))

    def _of_states(
        self, X: ArrayLike | None, inputs: ArrayLike | None, ask: Callable[..., Any]
    ) -> FloatArray:
        lag = whole_number("lag", self._operator().lag)
        if X is None:
            return cast(FloatArray, ask(None, self._acting(inputs, 1), lag=lag, first=0))
        several = isinstance(X, list | tuple) and any(np.ndim(one) == 2 for one in X)
        if not several and np.ndim(X) == 0:
            raise ValueError(
                f"X must be states to continue, of shape (n, n_features), got {X!r}: "
                f"{_remedy_of_number(X)}"
            )
        if not several and np.ndim(X) != 3:
            return self._of_one(X, inputs, lag, ask)
        each: Any = X if several else np.asarray(X)
        histories = [self._history(one, inputs) for one in each]
        if not histories:
            raise ValueError("X has no histories: its shape is (0, n_times, n_features)")
        acting: list[Any] = [None] * len(histories)
        if inputs is not None:
            acting = list(inputs if isinstance(inputs, list | tuple) else np.asarray(inputs))
        if len(acting) != len(histories):
            raise ValueError(f"{len(histories)} histories, but inputs for {len(acting)}")
        made = [
            ask(one, self._acting(under, len(one)), lag=lag, first=len(one) - 1)
            for one, under in zip(histories, acting, strict=True)
        ]
        return np.concatenate(made, axis=1)

    def _history(self, X: ArrayLike, inputs: ArrayLike | None) -> FloatArray:
        """Give the states of a history since its last gap that is not filled."""
        piece = _pieces(X, inputs)[-1]
        return piece.fill(rows_of_states(self, piece.rows, reset=False))

    def _of_one(
        self, X: ArrayLike, inputs: ArrayLike | None, lag: int, ask: Callable[..., Any]
    ) -> FloatArray:
        """Ask from each state of a trajectory, with short gaps between its times filled."""
        made = []
        for piece in _pieces(X, inputs):
            states = rows_of_states(self, piece.rows, reset=False)
            found = ask(piece.fill(states), self._acting(inputs, len(states)), lag=lag, first=0)
            made.append(found if piece.missing is None else found[:, piece.places()])
        return np.concatenate(made, axis=1)

    def _acting(self, inputs: ArrayLike | None, states: int) -> FloatArray | None:
        """Check the inputs under which forecasts are made from some states."""
        width = self._core.n_inputs
        needed = states - 1 + max(steps_of(self.horizons, "horizons"))
        if width and inputs is None:
            raise ValueError(
                f"this forecaster has learned a system with {width} inputs: pass those that act "
                f"from the first state on, inputs=... of shape ({needed}, {width})"
            )
        if inputs is None:
            return None
        if not width:
            raise ValueError(
                "inputs are given, but this forecaster has learned trajectories without: learn "
                "them with inputs=... too"
            )
        self._check_input_names(inputs)
        acting = numbers_of_inputs(inputs, width, f"({needed} or more, {width})")
        refuse_gaps(acting[:needed])
        warn_of_constant_inputs(self._core, acting[:needed], self._warned())
        return acting

    @property
    def forecast_weights_(self) -> dict[str, FloatArray]:
        """Weights of the forecasts that `forecast()` mixes, for each horizon and component."""
        check_is_fitted(self)
        if self._core.has_candidates:
            lag = whole_number("lag", self._operator().lag)
            weights = attribute_of(lambda: self._core.ahead_weights(lag))
            return dict(zip(CANDIDATES, weights, strict=True))
        weights = attribute_of(self._core.forecast_weights)
        return dict(zip(KINDS, weights, strict=False))

    @property
    def n_inputs_(self) -> int:
        """Number of inputs."""
        check_is_fitted(self)
        return cast(int, self._core.n_inputs)

    @property
    def n_states_(self) -> int:
        """Number of states learned; an interrupted call is resumed with the next."""
        check_is_fitted(self)
        return cast(int, self._core.n_states)

    @property
    def n_left_out_(self) -> int:
        """Number of states with an outlier that was left out."""
        check_is_fitted(self)
        return cast(int, self._core.n_left_out)

    @property
    def periods_(self) -> list[list[int]]:
        """The seasons found in each component, in states, the more important first."""
        check_is_fitted(self)
        return cast(list[list[int]], self._core.periods)

    def skill(self, T: ArrayLike | Sequence[ArrayLike]) -> Skill:
        """Compare forecasts of held-out trajectories with persistence and climatology.

        It is for systems without inputs.

        Parameters
        ----------
        T : array-like of shape (n_times, n_features), or several
            Held-out trajectories, longer than the longest horizon.

        Returns
        -------
        skill : Skill
            Errors of the forecasts over each of the horizons, of the state they start from
            (persistence) and of the mean of `T` (climatology, the best constant there is).
            ``print`` shows what is saved.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is invalid (the message names it), or a horizon is longer than every trajectory.
        """
        check_is_fitted(self)
        if self._core.n_inputs:
            raise ValueError(
                "skill is for systems without inputs: compare forecast(X, inputs=...) with the "
                "states that follow"
            )
        pieces = [
            rows_of_states(self, piece, reset=False)
            for piece in as_trajectories(series_as_columns(T, self._n_components))
        ]
        return skill_of(self._mixtures(), pieces)

    def _of_checked(self, states: FloatArray) -> FloatArray:
        """Forecast from each of successive states that were checked before, without names."""
        lag = whole_number("lag", self._operator().lag)
        if self._core.has_candidates:
            return cast(FloatArray, self._core.ahead(states, None, lag=lag, first=0))
        return cast(FloatArray, self._core.forecasts(self._core.forecast_rows(states, lag)))

    def _mixtures(self, width: int | None = None) -> Mixtures:
        operator = self._operator()
        # By component, the last state suffices.
        span, back = 0, 1
        if not self._by_component(width):
            span = span_of(operator)
            back = max(span, (self.period or 1) - 1)
        steps = steps_of(self.horizons, "horizons")
        return Mixtures(self, steps, whole_number("lag", operator.lag), span, back)

    def _forecast_rows(self, X: ArrayLike | None) -> FloatArray:
        """Give the rows from which the core forecasts."""
        operator = self._operator()
        lag = whole_number("lag", operator.lag)
        if X is None:
            return cast(FloatArray, self._core.forecast_rows(self._core.latest(), lag)[-1:])
        states = [X] if not span_of(operator) or np.ndim(X) != 3 else list(np.asarray(X))
        rows = [
            self._core.forecast_rows(rows_of_states(self, one, reset=False), lag) for one in states
        ]
        return (
            rows[0]
            if len(rows) == 1 and states[0] is X
            else np.concatenate([one[-1:] for one in rows])
        )

    # ---------------------------------------------------------------------------------- state

    @property
    def operator_(self) -> Koopman:
        """The fitted operator."""
        check_is_fitted(self)
        operator = fitted_operator(self._operator(), self._core)
        if (width := vars(self).get("n_features_in_")) is not None:
            operator.n_features_in_ = width
            operator._set_feature_names(self._feature_names(), width)
        return operator

    @property
    def times_(self) -> FloatArray:
        """The horizons in units of the operator's time step."""
        operator = self._operator()
        steps = np.array(steps_of(self.horizons, "horizons"), dtype=np.float64)
        times: FloatArray = steps * operator.lag * operator.time_step
        return times

    def _state(self) -> dict[str, Any]:
        names = vars(self).get("_input_names")
        named = {} if names is None else {"input_names": names}
        return super()._state() | named | state_of_times(self)

    def _params(self) -> dict[str, Any]:
        params: dict[str, Any] = self.get_params(deep=False)
        if np.ndim(self.horizons):
            params["horizons"] = steps_of(self.horizons, "horizons")
        if self.operator is not None:
            params["operator"] = encode_parameters(self.operator.get_params(deep=False))
        return params

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        params = dict(state["params"])
        if params["operator"] is not None:
            params["operator"] = Koopman(**decode_parameters(params["operator"]))
        model = cls(**params)
        model._core = core
        if core.n_features is not None:
            model.n_features_in_ = core.n_features
        model._set_feature_names(state["feature_names"], core.n_features)
        model._input_names = state.get("input_names")
        model._times = LastTimes.from_state(state.get("times"), core)
        return model


def _remedy_of_number(X: Any) -> str:
    """Name the call that a number in the place of states may have been meant for."""
    if isinstance(X, float) and 0.0 < X < 1.0:
        return f"a coverage is given by its name, coverage={X!r}"
    is_count = isinstance(X, int | np.integer) and X > 0
    ahead = f"{X}) or Forecaster(horizons=range(1, {X + 1})" if is_count else "[1, 6, 24]"
    return (
        f"how many steps ahead is chosen before learning, Forecaster(horizons={ahead}), "
        "and forecast() without X gives these steps"
    )
