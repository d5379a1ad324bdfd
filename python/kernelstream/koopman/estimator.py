"""The Koopman operator as an estimator."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from kernelstream import _core
from kernelstream.components.admission import Admission
from kernelstream.components.bases import ALD, Basis
from kernelstream.components.kernels import Gaussian, Kernel
from kernelstream.components.learners import Learner, Ridge
from kernelstream.components.rank import Rank
from kernelstream.components.replay import Replay
from kernelstream.components.scikit import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from kernelstream.estimators.availability import attribute_of
from kernelstream.estimators.diagnostics import warn_of_weights
from kernelstream.estimators.merging import MergingEstimator
from kernelstream.estimators.validation import (
    located_error,
    numbers_of,
    sample_weights,
    whole_number,
)
from kernelstream.koopman import forecasts, scores, singular, spectrum
from kernelstream.koopman import rates as times
from kernelstream.koopman import skill as skills
from kernelstream.koopman.held import states_of
from kernelstream.koopman.inputs import joined, joined_pieces
from kernelstream.koopman.learning import (
    Warned,
    core_spec,
    reporting,
    warn_of_learned,
)
from kernelstream.koopman.queries import (
    ComplexArray,
    FloatArray,
    control_width,
    queried,
    span_of,
)
from kernelstream.koopman.remedies import warn_of_growth, warn_of_other_units
from kernelstream.koopman.times import LastTimes, Reading, last_times, state_of_times
from kernelstream.koopman.trajectories import (
    LearnedStates,
    check_lengths,
    check_states,
    flat_weights,
    naming_states,
    paired,
    rows_of_states,
    trajectories_as_given,
    warn_of_codes,
    warn_of_outlier,
    weights_of_pairs,
)

__all__ = ["Koopman", "fitted_operator"]

# Largest weight of a pair that the core takes.
_HEAVIEST = 100.0
_FAR = 1e6  # deviations of components that are not compared, over those of the state


class Koopman(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    MergingEstimator,
):
    """The Koopman operator from pairs of states: one pass, constant memory.

    The operator maps a function f of states to ``x -> E[f(x_next) | x]``. It is linear for any
    dynamics; its eigenfunctions are the functions that decay, oscillate or persist. It is
    represented in the coordinates of a growing dictionary of states, as a small matrix.

    There are two learning algorithms:

    - **Recursive least squares** (``learner=Ridge(...)``, the default) on one dictionary over both
      states of every pair: the spectrum of batch kernel EDMD on the stored states, without a step
      size. The regularization is not divided by the number of pairs.
    - **Sparse stochastic gradient** (``learner=Gradient(...)``), with one dictionary
      (``basis=ALD()``) or with two, by the exact criterion of ``basis=HilbertSchmidt(...)``.
      See `presets.sparse_koopman`.

    A gradient learner with a constant step is biased on an ordered trajectory, where successive
    pairs are correlated, and averaging does not remove the bias (an Ornstein-Uhlenbeck eigenvalue
    of 0.607 is estimated as 0.29 to 0.34 with step 0.3). Shuffle with `Replay` and average, or
    use least squares, which does not depend on the order.

    The result does not depend, up to rounding, on how the pairs are split into calls of
    `partial_fit`. `fit` ends the warm-up, and so chooses parameters from all of fewer pairs than
    the next choice along the stream would wait for.

    **Without a kernel** parameters are selected by held-out error: states are centred and scaled,
    and the bandwidth of a Gaussian kernel and (without a learner) the regularization have the best
    one-step forecasts of held-out states among the first pairs (see `chosen_`). Without a basis,
    the tolerance is at most ten times that regularization. An affine kernel, or a sum of it and a
    Gaussian one, is selected where its held-out forecasts are clearly better, as for linear and
    finely sampled systems. Held-out forecasts of several steps then select how `predict` makes
    these (``chosen_["by"]``). Inputs and outputs are in the units of
    the states. The first 2,048 pairs (fewer of wide states) are a warm-up, in which the model is
    refitted when the number of pairs has doubled. With a kernel, whose bandwidth is in the units of
    the states, these are not scaled, unless ``scale=True``.

    A partially observed system, such as by one sensor, has no operator on the observed state: its
    next value depends on earlier ones. With **delays** each state is followed by `n_delays` earlier
    ones (Takens). Such a model learns trajectories only, and every query takes consecutive states
    in temporal order: the result has one row for each state with enough predecessors, so that the
    last ``n_delays * delay + 1`` states give one forecast. An array of shape
    (n, n_delays * delay + 1, n_features) is n such windows.

    A controlled system has **inputs**: with ``n_inputs`` the operator maps f to
    ``(x, u) -> E[f(x_next) | x, u]``, by the product of a kernel of states and a kernel of inputs,
    and forecasts are for given inputs. The states with their inputs form one dictionary, the next
    states another. There is a different operator for each input and no single spectrum. Delays
    hold past states, not past inputs: a system that is seen in part needs these too, as further
    inputs. With ``input_kernel=Polynomial(1, offset=1.0)`` the system is assumed affine in its
    input.

    Parameters
    ----------
    kernel : Kernel, optional
        Similarity of two states. None: a `Gaussian` whose bandwidth is chosen by the first pairs,
        or a kernel with affine functions (see above).
    basis : Basis or HilbertSchmidt, optional
        Which states are stored. None: ``ALD()``, with a smaller tolerance where kernel and
        regularization are chosen and forecasts are good to many digits. A `Basis` fills one
        dictionary with states and next states, one by one; `HilbertSchmidt` fills two, pair by
        pair, and needs a `Gradient` learner.
    learner : Ridge, Gradient or Replay, optional
        How the operator is fitted. None: ``Ridge()``, whose regularization is chosen by the first
        pairs if there is no kernel either. For a `Ridge`, ``regularization`` (above 0) and
        ``forgetting`` apply; centring and clipping are not used. For a `Gradient`, the loss must be
        "squared" or "half_squared" (with the latter, ``step`` and ``regularization`` are eta and
        lambda of the literature), the schedule not "adaptive". `Replay` around one of them learns
        collected pairs in shuffled order.
    lag : int, default=1
        Number of steps between the two states of a pair, 1 or more. Applies to trajectories,
        `timescales` and `rates`.
    rank : int, ReducedRank or TotalLeastSquares, optional
        Keep this many leading eigenvalues (one more if that would split a conjugate pair) in
        `eigenvalues_`, modes and forecasts. `koopman.ReducedRank` instead learns the best operator
        of this rank, `koopman.TotalLeastSquares` one without the bias of noisy observations. None:
        all.
    time_step : float, default=1.0
        Time between two states of a trajectory, in units of your choice, above 0.
    n_inputs : int, default=0
        Number of components of a control input, 0 for an autonomous system. One that has the same
        value in all stored states has no effect on forecasts; other values are warned of.
    input_kernel : Kernel, optional
        Similarity of two inputs. None: ``Gaussian()``, with a bandwidth of ``sqrt(n_inputs)``
        deviations of each input if the kernel is selected too, else of ``sqrt(n_inputs)``.
    scale : bool or None, default=None
        Whether states are centred and scaled by the first of them. None: without a kernel. If the
        bandwidth is chosen, so is whether all features have one scale or each its own; with a
        kernel each has its own. Inputs are not scaled; their kernel has their scale.
    n_delays : int, default=0
        How many earlier states follow each state, 0 or more.
    delay : int, default=1
        Steps from one of these to the next, 1 or more.
    n_blocks : int, default=0
        Keep sums over at most this many blocks of the stream, 1 or from 8 to 1024 (32 is a good
        number), for what the pairs learned say of the spectrum: standard errors
        (`eigenvalue_errors_`, ``timescales(return_std=True)``), which need 8 or more, and
        `residuals`, `vamp_score` and `singular_functions` without further pairs, for which 1 will
        do. 0: none. Costs
        about half the learning of a pair again, and ``3 * n_blocks * n_stored_**2`` numbers. For a
        `Ridge` learner without `Replay` and inputs.

    Attributes
    ----------
    eigenvalues_ : ndarray of complex of shape (k,)
        Eigenvalues by decreasing modulus; conjugate pairs together, positive imaginary part first.
    singular_values_ : ndarray of shape (k,)
        With `n_blocks`: the singular values by decreasing size, the first, 1, that of the constant
        function; at most ``n_stored_ + 1``, as many as there are functions that vary: how strongly
        the best functions of the state and of the next one are correlated.
    eigenvalue_errors_ : ndarray of shape (k,)
        With `n_blocks`: standard errors of `eigenvalues_` (of their distance from the expectation
        in the complex plane), by the infinitesimal jackknife over blocks of the stream, which are
        as long as the stream allows, so that states close in time may be correlated. Errors of
        sampling and, to first order, of regularization, not those that the dictionary makes;
        infinite where the pairs are less than one more than the operator's degrees of freedom.
    dictionary_ : ndarray of shape (n_stored_, n_features_in_ * (n_delays + 1))
        Stored states, each followed by its delays, the latest first; in order of admission.
    dictionary_inputs_ : ndarray of shape (n_stored_, n_inputs)
        Control input of each stored state.
    dictionary_next_ : ndarray of shape (n_stored_next, n_features_in_)
        Stored next states; the same as `dictionary_` unless there are two dictionaries.
    chosen_ : dict
        What was chosen by the first pairs: ``kernel``, ``basis``, ``learner`` and ``scale``
        ("common": one scale for all features, "each": one for each, or None).
    center_, scale_ : ndarray of shape (n_features_in_,)
        Subtracted from each feature, and then divided by; 0 and 1 without scaling.
    operator_ : ndarray of shape (n_stored_next, n_stored_)
        The operator in coordinates: ``operator_ @ z(x)`` is the expectation of the coordinates of
        the next state.
    n_seen_ : int
        Number of pairs received.
    n_left_out_ : int
        Number of these that were left out because one of their states is an outlier: see the Notes.
    n_pending_ : int
        Number of pairs in the buffer of a `Replay`, not yet learned.
    n_stored_ : int
        Number of stored states.
    n_features_in_ : int
        Number of components of a state.
    feature_names_in_ : ndarray of str of shape (n_features_in_,)
        Column names, if the first states were a data frame.

    Notes
    -----
    Where states are scaled, a single outlying state, such as a sensor's code for a missing value,
    does not set scale and bandwidth, and the pairs that contain it are left out, as at a gap. From
    the 16th pair on, a state is an outlier if one of its components is more than 40 deviations from
    its mean, and more than 40 root mean square steps from the other state of the pair, which is
    not that far from the mean. States that the system stays near are learned: after the warm-up
    without the pairs that lead there and back. If more than one in 400 states of the warm-up are
    outliers, or one of them comes twice in a row, all are learned, also later. A warm-up that ends
    before the 16th pair, as by `fit` with fewer, gives no limits.

    References
    ----------
    B. Hou, S. Sanjari, N. Dahlin, A. Koppel, S. Bose, "Nonparametric sparse online learning of the
    Koopman operator", 2024.
    M. Williams, C. Rowley, I. Kevrekidis, "A kernel-based method for data-driven Koopman spectral
    analysis", Journal of Computational Dynamics, 2015 (kernel EDMD).

    Examples
    --------
    >>> import numpy as np
    >>> import kernelstream as ks
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 1))
    >>> model = ks.Koopman(ks.Gaussian(1.0), ks.ALD(1e-6), ks.Ridge(1e-6))
    >>> model = model.partial_fit(X, 0.8 * X)
    >>> [float(mu.real.round(2)) for mu in model.eigenvalues_[:3]]
    [1.0, 0.8, 0.64]
    >>> bool(abs(model.predict([[1.0]], n_steps=2)[0, 0] - 0.64) < 0.01)
    True
    """

    _core_class = _core.Koopman
    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {
        "kernel": Gaussian,
        "basis": ALD,
        "learner": Ridge,
        "input_kernel": Gaussian,
    }

    n_features_in_: int
    _times: LastTimes | None

    def __init__(
        self,
        kernel: Kernel | None = None,
        basis: Basis | Admission | None = None,
        learner: Learner | Replay | None = None,
        *,
        lag: int = 1,
        rank: int | Rank | None = None,
        time_step: float = 1.0,
        n_inputs: int = 0,
        input_kernel: Kernel | None = None,
        scale: bool | None = None,
        n_delays: int = 0,
        delay: int = 1,
        n_blocks: int = 0,
    ) -> None:
        self.kernel = kernel
        self.basis = basis
        self.learner = learner
        self.lag = lag
        self.rank = rank
        self.time_step = time_step
        self.n_inputs = n_inputs
        self.input_kernel = input_kernel
        self.scale = scale
        self.n_delays = n_delays
        self.delay = delay
        self.n_blocks = n_blocks

    # ------------------------------------------------------------------------------- learning

    def fit(
        self,
        X: ArrayLike | Sequence[ArrayLike],
        X_next: ArrayLike | None = None,
        *,
        inputs: ArrayLike | Sequence[ArrayLike] | None = None,
        sample_weight: ArrayLike | Sequence[ArrayLike] | None = None,
        verbose: bool = False,
    ) -> Self:
        """Reset, then learn pairs or trajectories in one pass.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or trajectories
            States; without `X_next` one or several trajectories as in
            `partial_fit_trajectory`, or a data set that holds them, such as deeptime's.
        X_next : array-like of shape (n, n_features), optional
            The next state of each.
        inputs : array-like of shape (n, n_inputs), or several, optional
            Control input at each state of X; required with ``n_inputs``.
        sample_weight : array-like of shape (n,), or several, optional
            How many times the pair that begins with each state counts, from 0 (left out) to 100:
            for states drawn from another distribution than that of interest. For a `Ridge` learner
            without `Replay` and delays. None: 1.
        verbose : bool, default=False
            Show a progress bar if the call takes longer than a second (needs ``rich``).

        Returns
        -------
        self : Koopman
            This estimator. The replay buffer is empty.

        Raises
        ------
        ValueError, TypeError
            A row is invalid (the message names it) or a parameter is; the model is unchanged.
        """
        with self._learning(reset=True) as model:
            X, X_next = states_of(X, X_next, whole_number("lag", self.lag))
            if X_next is None:
                learned = model._learn_trajectories(
                    X, inputs, continued=False, weights=sample_weight, verbose=verbose
                )
            else:
                learned = model._learn_pairs(X, X_next, inputs, sample_weight, verbose=verbose)
            model._core.flush()
        self._warned().clear()
        self._warn(learned, sample_weight)
        return self

    def partial_fit(
        self,
        X: ArrayLike | Sequence[ArrayLike],
        X_next: ArrayLike | None = None,
        *,
        continued: bool = False,
        inputs: ArrayLike | Sequence[ArrayLike] | None = None,
        sample_weight: ArrayLike | Sequence[ArrayLike] | None = None,
        verbose: bool = False,
    ) -> Self:
        """Learn further pairs, in their order.

        Without `X_next`, each call begins another trajectory: the pair of the last state of a call
        and the first of the next one is learned only with ``continued=True``.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or trajectories
            States, finite numbers; without `X_next` one or several trajectories as in
            `partial_fit_trajectory`.
        X_next : array-like of shape (n, n_features), optional
            The next state of each.
        continued : bool, default=False
            Without `X_next`: the first trajectory continues the last one of the previous call, as
            where one record arrives in pieces (the first call begins one).
        inputs : array-like of shape (n, n_inputs), or several, optional
            Control input at each state of X; required with ``n_inputs``.
        sample_weight : array-like of shape (n,), or several, optional
            How many times the pair that begins with each state counts, from 0 (left out) to 100:
            for states drawn from another distribution than that of interest. For a `Ridge` learner
            without `Replay` and delays. None: 1.
        verbose : bool, default=False
            Show a progress bar if the call takes longer than a second (needs ``rich``).

        Returns
        -------
        self : Koopman
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is invalid (the message names it), or pairs or weights are given with
            ``continued=True``; the model is unchanged.
        KeyboardInterrupt
            Ctrl-C; the pairs processed until then stay learned (see ``n_seen_``).
        """
        if continued and sample_weight is not None:
            raise ValueError(
                "continued=True takes no sample_weight, since weights belong to pairs: pass X and "
                "X_next, as in partial_fit(X, X_next, sample_weight=...)"
            )
        with self._learning() as model:
            X, X_next = states_of(X, X_next, whole_number("lag", self.lag))
            if X_next is None:
                learned = model._learn_trajectories(
                    X, inputs, continued=continued, weights=sample_weight, verbose=verbose
                )
            else:
                if continued:
                    raise ValueError(
                        "continued=True is for trajectories, but X_next gives the next state of "
                        "each state: pass X alone, or leave continued out"
                    )
                learned = model._learn_pairs(X, X_next, inputs, sample_weight, verbose=verbose)
        self._warn(learned, sample_weight)
        return self

    def fit_trajectory(
        self,
        T: ArrayLike | Sequence[ArrayLike],
        *,
        inputs: ArrayLike | Sequence[ArrayLike] | None = None,
        verbose: bool = False,
    ) -> Self:
        """Reset, then learn one or several trajectories in one pass.

        Parameters
        ----------
        T : array-like of shape (n_times, n_features), or several
            As in `partial_fit_trajectory`.
        inputs : array-like of shape (n_times, n_inputs), or several, optional
            As in `partial_fit_trajectory`.
        verbose : bool, default=False
            Show a progress bar if the call takes longer than a second (needs ``rich``).

        Returns
        -------
        self : Koopman
            This estimator. The replay buffer is empty.

        Raises
        ------
        ValueError, TypeError
            A row is invalid (the message names it) or a parameter is; the model is unchanged.
        """
        return self.fit(T, inputs=inputs, verbose=verbose)

    def partial_fit_trajectory(
        self,
        T: ArrayLike | Sequence[ArrayLike],
        *,
        continued: bool = False,
        inputs: ArrayLike | Sequence[ArrayLike] | None = None,
        verbose: bool = False,
    ) -> Self:
        """Learn one or several further trajectories.

        Each state is paired with the one `lag` steps later; pairs never span two trajectories. A
        trajectory that arrives in pieces is learned with ``continued=True``, for which the model
        keeps the last `lag` states.

        Parameters
        ----------
        T : array-like of shape (n_times, n_features) or (n_trajectories, n_times, n_features), \
or sequence of array-likes of shape (n_times, n_features)
            One trajectory or several. Those of at most `lag` states give no pair. Where a frame has
            an index of times, gaps of one or two rows between evenly spaced times are filled
            linearly, while at most about one row in five is, and longer ones begin another
            trajectory, with ``continued=True`` also after the last time of the call before.
        continued : bool, default=False
            The first trajectory continues the last one of the previous call (the first call
            begins one).
        inputs : array-like of shape (n_times, n_inputs), or several, optional
            Control input at each state, in the same form; required with ``n_inputs``. The last
            input of a trajectory is used only if it is continued.
        verbose : bool, default=False
            Show a progress bar if the call takes longer than a second (needs ``rich``).

        Returns
        -------
        self : Koopman
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is invalid (the message names it), a time is there twice or not after the last
            one that is continued, no trajectory is longer than `lag` (unless continued), or there
            is nothing to continue; the model is unchanged.
        KeyboardInterrupt
            Ctrl-C; the pairs processed until then stay learned (see ``n_seen_``). What follows the
            second state of the last one can be learned with ``continued=True``.
        """
        with self._learning() as model:
            learned = model._learn_trajectories(T, inputs, continued=continued, verbose=verbose)
        self._warn(learned)
        return self

    def learn_one(
        self,
        x: FloatArray | Sequence[float],
        x_next: FloatArray | Sequence[float],
        inputs: FloatArray | Sequence[float] | None = None,
    ) -> None:
        """Learn one pair, for live use: without the conversions of `partial_fit`.

        Parameters
        ----------
        x : float64 array or sequence of n_features floats
            The state.
        x_next : float64 array or sequence of n_features floats
            The next state.
        inputs : float64 array or sequence of n_inputs floats, optional
            Control input; required with ``n_inputs``.

        Raises
        ------
        ValueError, TypeError
            The pair is invalid; the model is unchanged.
        """
        if self.n_inputs or inputs is not None:
            x = joined(np.atleast_2d(x), np.atleast_2d(cast(Any, inputs)), self.n_inputs)[0]
        if self.__sklearn_is_fitted__():
            self._core.learn_one(x, x_next)
            return
        with self._learning() as model:
            # Another thread may have begun meanwhile.
            if model is not self:
                model._core = self._new_core()
            model._core.learn_one(x, x_next)
            model.n_features_in_ = model._core.n_features

    def flush(self) -> Self:
        """Learn the pairs in the replay buffer.

        Returns
        -------
        self : Koopman
            This estimator.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError
            A gradient step would diverge; the model is unchanged.
        KeyboardInterrupt
            Ctrl-C; whatever is learned next, or another `flush`, first resumes where this stopped.
        """
        check_is_fitted(self)
        self._core.flush()
        return self

    def _learn_pairs(
        self, X: Any, X_next: ArrayLike, inputs: Any, weights: Any, *, verbose: bool
    ) -> LearnedStates:
        reset = not self.__sklearn_is_fitted__()
        before = joined(rows_of_states(self, X, reset=reset), inputs, control_width(self))
        after = numbers_of(X_next, "X_next", estimator=self)
        scores.warn_of_lag(before, after, whole_number("lag", self.lag))
        warn_of_other_units(before[:, : after.shape[1]] if after.ndim == 2 else before, after)
        if reset:
            self._core = self._new_core()
        names, n_inputs = getattr(self, "feature_names_in_", None), control_width(self)
        arrays = {" of X": before, " of X_next": after}
        learned = LearnedStates(arrays, names, n_inputs, are_pairs=True)
        self._core.take_first_outlier()
        self._learn_rows(before, after, weights, verbose=verbose)
        return learned

    def _learn_rows(
        self, before: FloatArray, after: FloatArray, weights: Any, *, verbose: bool
    ) -> None:
        counts = sample_weights(weights, len(before), some=False)
        if counts is not None and counts.max(initial=0.0) > _HEAVIEST:
            row = int(counts.argmax())
            raise located_error(
                f"sample_weight of row {row} is {counts[row, 0]}, but weights of pairs may be at "
                f"most {_HEAVIEST:g}: divide all of them by a common factor",
                "sample_weight",
                row,
            )
        if counts is not None and not counts.all():
            kept = counts[:, 0] > 0.0
            before, after, counts = before[kept], after[kept], counts[kept]
        with reporting(self, len(before), "pairs", verbose=verbose) as report:
            self._core.learn(before, after, report, counts)

    def _learn_trajectories(
        self, T: Any, inputs: Any, *, continued: bool, verbose: bool, weights: Any = None
    ) -> LearnedStates:
        lag, n_inputs = whole_number("lag", self.lag), control_width(self)
        if n_inputs and lag > 1:
            raise ValueError(
                f"lag must be 1 with n_inputs={n_inputs}, got {lag}; learn pairs instead"
            )
        reset = not self.__sklearn_is_fitted__()
        last = last_times(self) if continued else None
        reading = Reading(trajectories_as_given(T), last)
        pieces = [
            rows_of_states(self, one.rows, reset=reset and i == 0, named=False)
            for i, one in enumerate(reading.given)
        ]
        pieces = joined_pieces(pieces, inputs, n_inputs)
        names = getattr(self, "feature_names_in_", None)
        alone = inputs is None and weights is None
        longer = "longer ones begin another trajectory"
        check_states(pieces, names, timed=longer if reading.timed and alone else "")
        filled = reading.fill(pieces)
        check_lengths(filled, lag, continued=continued, span=span_of(self))
        if reset:
            self._core = self._new_core()
        learned = LearnedStates.of_trajectories(pieces, names, n_inputs)
        self._core.take_first_outlier()
        if weights is not None:
            self._learn_weighted(filled, weights_of_pairs(reading, weights, lag), verbose=verbose)
            reading.warn()
            return learned
        n_states = sum(map(len, filled))
        with (
            naming_states(pieces, names, n_inputs),
            reporting(self, n_states, "states", verbose=verbose) as report,
        ):
            self._core.follow(filled, lag, continued and not reading.begins, report)
        self._times = reading.last(self._core, filled)
        reading.warn()
        return learned

    def _learn_weighted(
        self, pieces: list[FloatArray], counts: FloatArray, *, verbose: bool
    ) -> None:
        if span_of(self):
            raise ValueError("sample_weight needs states without delays: set n_delays=0")
        before, after = paired(pieces, whole_number("lag", self.lag), may_be_empty=False)
        width = before.shape[1] - control_width(self)
        self._learn_rows(before, after[:, :width], counts, verbose=verbose)

    def _warn(self, learned: LearnedStates, sample_weight: Any = None) -> None:
        outlier = self._core.take_first_outlier()
        if outlier is not None:
            warn_of_outlier(outlier, learned, self._warned())
        if sample_weight is None and not learned.are_pairs:
            pieces = list(learned.arrays.values())
            warn_of_codes(pieces, learned.names, learned.n_inputs, besides=outlier)
        warn_of_learned(self, self._warned())
        unknown = sample_weight is not None and "weights" not in self._warned()
        # Large ones are refused.
        if unknown and warn_of_weights(flat_weights(sample_weight), largest=np.inf) is None:
            self._warned().add("weights")

    def _warned(self) -> Warned:
        """Give the warnings that were given, which files do without."""
        return cast(Warned, vars(self).setdefault("_warnings", set()))

    # ------------------------------------------------------------------------------ dictionary

    def transform(self, X: ArrayLike, *, inputs: ArrayLike | None = None) -> FloatArray:
        """Compute the coordinates of states, in which the operator is a matrix.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            States.
        inputs : array-like of shape (n, n_inputs), optional
            Control input at each state; required with ``n_inputs``.

        Returns
        -------
        coordinates : ndarray of shape (n, n_stored_)
            Coordinate j belongs to the j-th stored state; further learning appends columns and does
            not change existing ones.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is invalid; the message names it.
        """
        rows = joined(queried(self, X), inputs, control_width(self))
        return cast(FloatArray, self._core.transform(rows))

    def novelty(self, X: ArrayLike, *, inputs: ArrayLike | None = None) -> FloatArray:
        """Compute the novelty of states: the share of each that the stored ones do not explain.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            States, as for `predict`.
        inputs : array-like of shape (n, n_inputs), optional
            Control input at each state; required with ``n_inputs``.

        Returns
        -------
        novelty : ndarray of shape (n,)
            ``(k(x, x) - z' z) / k(x, x)``, from 0, a state that the stored ones span, to 1, one
            that is like none of them, such as one in other units: what is forecast from there is
            a guess.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is invalid; the message names it.

        Notes
        -----
        O(n m^2) for m stored states.
        """
        rows = joined(queried(self, X), inputs, control_width(self))
        return cast(FloatArray, self._core.novelty(rows))

    @property
    def eigenvalues_(self) -> ComplexArray:
        """Eigenvalues by decreasing modulus, conjugate pairs together."""
        values = attribute_of(lambda: spectrum.eigenvalues(self))
        moduli, selected = np.abs(values), self.kernel is None
        warn_of_growth(moduli, self._core.n_seen, selected=selected, seen=self._warned())
        return values

    @property
    def eigenvalue_errors_(self) -> FloatArray:
        """Standard errors of the eigenvalues, by blocks of the stream."""
        check_is_fitted(self)
        return attribute_of(lambda: spectrum.standard_errors(*spectrum.influences(self, None)))

    @property
    def singular_values_(self) -> FloatArray:
        """Singular values by decreasing size, from sums over the pairs learned."""
        check_is_fitted(self)
        return attribute_of(lambda: singular.singular_values(self))

    # Questions about the operator, each a function of it.

    eig = spectrum.eig
    eigenfunctions = spectrum.eigenfunctions
    residuals = spectrum.residuals
    modes = spectrum.modes
    dynamical_modes = spectrum.dynamical_modes
    amplitudes = spectrum.amplitudes
    singular_functions = singular.singular_functions
    kinetic_map = singular.kinetic_map

    timescales = times.timescales
    rates = times.rates
    frequencies = times.frequencies
    decay_rates = times.decay_rates

    predict = forecasts.predict
    expectation = forecasts.expectation
    weights = forecasts.weights
    reconstruct = forecasts.reconstruct

    score = scores.score
    risk = scores.risk
    vamp_score = scores.vamp_score
    explained_variance = scores.explained_variance
    skill = skills.skill

    # ------------------------------------------------------------------------------ attributes

    @property
    def chosen_(self) -> dict[str, Any]:
        """Kernel, basis, learner and scale that the first pairs have chosen, or that were given.

        `n_delays` is the number of delays by which states are compared, `by` how `predict` makes
        several steps.
        """
        check_is_fitted(self)
        spec = json.loads(self._core.operator_spec)
        deviations = np.array(self._core.units[1])
        scale, n_delays = None, whole_number("n_delays", self.n_delays, least=0)
        if len(deviations):
            latest = deviations[: self.n_features_in_]
            blocks = deviations.reshape(-1, len(latest))
            n_delays = int(np.sum((blocks < _FAR * latest).any(axis=1))) - 1
            scale = "common" if len(deviations) > 1 and np.ptp(latest) == 0 else "each"
        ((kind, stored),) = spec["dictionaries"].items()
        if kind != "shared":
            stored |= {"paired": kind == "paired"}
        return {
            "kernel": Kernel.from_spec(spec["kernel"]),
            "basis": (Basis if kind == "shared" else Admission).from_spec(stored),
            "learner": Learner.from_spec(spec["learner"]),
            "scale": scale,
            "n_delays": n_delays,
            "by": forecasts.way_of(self._core.reencoding),
        }

    @property
    def center_(self) -> FloatArray:
        """What is subtracted from each feature."""
        return self._units(0, 0.0)

    @property
    def scale_(self) -> FloatArray:
        """What each feature is then divided by."""
        return self._units(1, 1.0)

    def _units(self, part: int, default: float) -> FloatArray:
        check_is_fitted(self)
        values = np.array(self._core.units[part])[: self.n_features_in_]
        return values if len(values) else np.full(self.n_features_in_, default)

    @property
    def _n_features_out(self) -> int:
        return self.n_stored_

    @property
    def dictionary_(self) -> FloatArray:
        """Stored states, in order of admission."""
        check_is_fitted(self)
        return cast(FloatArray, self._core.dictionary())[:, : self._width()]

    @property
    def dictionary_next_(self) -> FloatArray:
        """Stored next states, in order of admission."""
        check_is_fitted(self)
        return cast(FloatArray, self._core.dictionary_next())

    @property
    def dictionary_inputs_(self) -> FloatArray:
        """Control input of each stored state."""
        check_is_fitted(self)
        return cast(FloatArray, self._core.dictionary())[:, self._width() :]

    def _width(self) -> int:
        return self.n_features_in_ * (whole_number("n_delays", self.n_delays, 0) + 1)

    @property
    def operator_(self) -> FloatArray:
        """The operator in coordinates."""
        check_is_fitted(self)
        return cast(FloatArray, self._core.coordinates())

    @property
    def n_left_out_(self) -> int:
        """Number of pairs that were left out because of an outlying state."""
        check_is_fitted(self)
        return cast(int, self._core.n_left_out)

    @property
    def n_pending_(self) -> int:
        """Number of pairs in the buffer of a `Replay`."""
        check_is_fitted(self)
        return cast(int, self._core.n_pending)

    # ---------------------------------------------------------------------------------- state

    def _new_core(self) -> _core.Koopman:
        return _core.Koopman(json.dumps(core_spec(self)))

    def to_spec(self) -> dict[str, Any]:
        """Describe the operator in the form that the core reads."""
        return cast("dict[str, Any]", core_spec(self)["operator"])

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        tail = state.get("tail")
        if tail is not None:  # in files of before it was the core's
            core.resume_trajectory(np.array(tail, dtype=np.float64).reshape(len(tail), -1))
        model = super()._from_state(core, state)
        model._times = LastTimes.from_state(state.get("times"), core)
        return model

    def _state(self) -> dict[str, Any]:
        return super()._state() | state_of_times(self)


def fitted_operator(operator: Koopman, core: Any) -> Koopman:
    """Make an operator with the parameters of another and a core of its own."""
    fitted = Koopman(**operator.get_params(deep=False))
    fitted._core = core
    fitted.n_features_in_ = core.n_features
    return fitted
