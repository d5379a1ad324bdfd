"""The Koopman operator as an estimator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kernelstream import _core
from kernelstream.components.admission import Admission, HilbertSchmidt
from kernelstream.components.base import as_component, as_json
from kernelstream.components.bases import ALD, Basis
from kernelstream.components.kernels import Gaussian, Kernel
from kernelstream.components.learners import Gradient, Learner, Ridge
from kernelstream.components.scikit import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from kernelstream.estimators.merging import MergeMixin
from kernelstream.estimators.parameters import DefaultPartsMixin
from kernelstream.estimators.progress import report_to_bar
from kernelstream.estimators.validation import numbers_of, whole_number
from kernelstream.koopman.inputs import joined
from kernelstream.koopman.queries import ComplexArray, FloatArray
from kernelstream.koopman.remedies import (
    Watch,
    warn_of_dictionary,
    warn_of_growth,
    warn_of_other_units,
)
from kernelstream.koopman.scores import Scores, warn_of_lag
from kernelstream.koopman.skill import steps_of
from kernelstream.koopman.trajectories import as_trajectories, check_trajectories

__all__ = ["Koopman", "fitted_operator"]


class Koopman(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    Scores,
    MergeMixin,
    DefaultPartsMixin,
    BaseEstimator,
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
    of 0.607 is estimated as 0.29 to 0.34 with step 0.3). Shuffle with ``replay`` and average, or
    use least squares, which does not depend on the order.

    The result does not depend, up to rounding, on how the pairs are split into calls.

    **Without a kernel** it suits itself to the states: these are centred and scaled, and the
    bandwidth of a Gaussian kernel and (without a learner) the regularization are those whose
    one-step forecasts of held-out states were best among the first pairs (see `chosen_`). Without
    a basis, too, the tolerance is at most ten times that regularization. All that
    comes in or out stays in the units of the states given. The first 2,048 pairs (fewer of wide
    states) are a warm-up, in which the model is anew made of the pairs so far at the 2nd, 4th, 8th,
    ... of them. With a kernel, whose bandwidth is a length in the units of the states, these are
    taken as they are, unless ``standardize=True``.

    A system seen in part, such as by one sensor, has no operator on what is seen: its next value
    depends on earlier ones. With **delays** each state is followed by `n_delays` earlier ones
    (Takens). Such a model learns trajectories only, and for every question takes consecutive states
    in the order of time: the answer has one row for each of them that has the earlier ones before
    it, so that the last ``n_delays * delay + 1`` states give one forecast. An array of shape
    (n, n_delays * delay + 1, n_features) is n such windows.

    A controlled system has **inputs**: with ``n_inputs`` the operator maps f to
    ``(x, u) -> E[f(x_next) | x, u]``, by the product of a kernel of states and a kernel of inputs,
    and forecasts are for given inputs. The states with their inputs form one dictionary, the next
    states another. There is a different operator for each input and no single spectrum. With
    ``input_kernel=Polynomial(1, offset=1.0)`` the system is assumed affine in its input.

    Parameters
    ----------
    kernel : Kernel, optional
        Similarity of two states. None: a `Gaussian` whose bandwidth is chosen by the first pairs.
    basis : Basis or HilbertSchmidt, optional
        Which states are stored. None: ``ALD()``, with a smaller tolerance where kernel and
        regularization are chosen and forecasts are good to many digits. A `Basis` fills one
        dictionary with states and next states, one by one; `HilbertSchmidt` fills two, pair by
        pair, and needs a `Gradient` learner.
    learner : Ridge or Gradient, optional
        How the operator is fitted. None: ``Ridge()``, whose regularization is chosen by the first
        pairs if there is no kernel either. Of a `Ridge`, ``regularization`` (above 0) and
        ``forgetting`` apply; centring and clipping are not used. Of a `Gradient`, the loss must be
        "squared" or "half_squared" (with the latter, ``step`` and ``regularization`` are eta and
        lambda of the literature), the schedule not "adaptive".
    paired : bool, default=False
        With `HilbertSchmidt`: store both states of a pair or neither, as Hou et al. do.
    lag : int, default=1
        Number of steps between the two states of a pair, 1 or more. Applies to trajectories,
        `timescales` and `rates`.
    rank : int, optional
        Keep this many leading eigenvalues (one more if that would split a conjugate pair) in
        `eigenvalues_`, modes and forecasts. None: all.
    time_step : float, default=1.0
        Time between two states of a trajectory, in units of your choice, above 0.
    replay : int, optional
        Collect this many pairs, then learn them in shuffled order, and so on. None: learn each pair
        as it arrives. `fit` learns the remaining pairs at the end; after `partial_fit` call
        `flush`.
    passes : int, default=1
        Number of passes over each buffer with ``replay``, 1 to 1000.
    random_state : int or None, default=None
        Seed of the shuffling. None: a random seed.
    verbose : bool, default=False
        Show a progress bar if a call takes longer than a second (needs ``rich``).
    n_inputs : int, default=0
        Number of components of a control input, 0 for an autonomous system.
    input_kernel : Kernel, optional
        Similarity of two inputs. None: ``Gaussian()``, whose bandwidth ``sqrt(n_inputs)`` suits
        standardized inputs.
    standardize : bool or None, default=None
        Whether states are centred and scaled by the first of them. None: without a kernel. If the
        bandwidth is chosen, so is whether all features have one scale or each its own; with a
        kernel each has its own. Inputs are not scaled.
    n_delays : int, default=0
        How many earlier states follow each state, 0 or more.
    delay : int, default=1
        Steps from one of these to the next, 1 or more.
    horizons : sequence of int, optional
        Steps (of `lag` states each) ahead for which `forecast` mixes the operator's forecasts with
        trivial ones, and `forecast_interval` gives intervals. Each costs about the learning of a
        state again, and its forecasts of the operator a product with a vector for every step, ten
        times in so many steps.
    period : int, optional
        States in a period, 2 or more, such as 24 of hourly ones: with `horizons`, what was there at
        the same phase of the last period is one more forecast. See `find_period`.
    n_blocks : int, default=0
        Keep sums over at most this many blocks of the stream, 1 or from 8 to 1024 (32 is a good
        number), for what the pairs learned say of the spectrum: standard errors
        (`eigenvalue_errors_`, ``timescales(return_std=True)``), which need 8 or more, and
        `residuals` and `vamp_score` without further pairs, for which 1 will do. 0: none. Costs
        about half the learning of a pair again, and ``3 * n_blocks * n_stored_**2`` numbers. For a
        `Ridge` learner without ``replay`` and inputs.

    Attributes
    ----------
    eigenvalues_ : ndarray of complex of shape (k,)
        Eigenvalues by decreasing modulus; conjugate pairs together, positive imaginary part first.
    eigenvalue_errors_ : ndarray of shape (k,)
        With `n_blocks`: standard errors of `eigenvalues_` (of their distance from the expectation
        in the complex plane), by the infinitesimal jackknife over blocks of the stream, which are
        as long as the stream allows, so that states close in time may be correlated. Errors of
        sampling and, to first order, of regularization, not those that the dictionary makes.
    dictionary_ : ndarray of shape (n_stored_, n_features_in_ * (n_delays + 1))
        Stored states, each followed by its delays, the latest first; in order of admission.
    dictionary_inputs_ : ndarray of shape (n_stored_, n_inputs)
        Control input of each stored state.
    dictionary_next_ : ndarray of shape (n_stored_next, n_features_in_)
        Stored next states; the same as `dictionary_` unless there are two dictionaries.
    chosen_ : dict
        What was chosen by the first pairs: ``kernel``, ``basis``, ``learner`` and ``standardize``
        ("common": one scale for all features, "each": one for each, or None).
    forecast_weights_ : dict of str to ndarray of shape (n_horizons, n_features_in_)
        With `horizons`: weights of "operator", "increments", "linear", "modes", "persistence",
        "mean" and with a `period` of "period" in the forecasts of each component, see `forecast`.
    center_, scale_ : ndarray of shape (n_features_in_,)
        Subtracted from each feature, and then divided by; 0 and 1 without standardization.
    operator_ : ndarray of shape (n_stored_next, n_stored_)
        The operator in coordinates: ``operator_ @ z(x)`` is the expectation of the coordinates of
        the next state.
    n_seen_ : int
        Number of pairs received.
    n_pending_ : int
        Number of these in the replay buffer, not yet learned.
    n_stored_ : int
        Number of stored states.
    n_features_in_ : int
        Number of components of a state.
    feature_names_in_ : ndarray of str of shape (n_features_in_,)
        Column names, if the first states were a data frame.

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

    def __init__(
        self,
        kernel: Kernel | None = None,
        basis: Basis | Admission | None = None,
        learner: Learner | None = None,
        *,
        paired: bool = False,
        lag: int = 1,
        rank: int | None = None,
        time_step: float = 1.0,
        replay: int | None = None,
        passes: int = 1,
        random_state: int | None = None,
        verbose: bool = False,
        n_inputs: int = 0,
        input_kernel: Kernel | None = None,
        standardize: bool | None = None,
        n_delays: int = 0,
        delay: int = 1,
        horizons: Sequence[int] | None = None,
        period: int | None = None,
        n_blocks: int = 0,
    ) -> None:
        self.kernel = kernel
        self.basis = basis
        self.learner = learner
        self.paired = paired
        self.lag = lag
        self.rank = rank
        self.time_step = time_step
        self.replay = replay
        self.passes = passes
        self.random_state = random_state
        self.verbose = verbose
        self.n_inputs = n_inputs
        self.input_kernel = input_kernel
        self.standardize = standardize
        self.n_delays = n_delays
        self.delay = delay
        self.horizons = horizons
        self.period = period
        self.n_blocks = n_blocks

    # ------------------------------------------------------------------------------- learning

    def fit(
        self,
        X: ArrayLike | Sequence[ArrayLike],
        X_next: ArrayLike | None = None,
        *,
        inputs: ArrayLike | Sequence[ArrayLike] | None = None,
    ) -> Self:
        """Reset, then learn pairs or trajectories in one pass.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or trajectories
            States; without `X_next` one or several trajectories as in
            `partial_fit_trajectory`.
        X_next : array-like of shape (n, n_features), optional
            The next state of each.
        inputs : array-like of shape (n, n_inputs), or several, optional
            Control input at each state of X; required with ``n_inputs``.

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
            if X_next is None:
                model._learn_trajectories(X, inputs, continued=False)
            else:
                model._learn_pairs(X, X_next, inputs)
            model._core.flush()
        self._warned().clear()
        self._warn_of_dictionary()
        return self

    def partial_fit(
        self,
        X: ArrayLike | Sequence[ArrayLike],
        X_next: ArrayLike | None = None,
        *,
        inputs: ArrayLike | Sequence[ArrayLike] | None = None,
    ) -> Self:
        """Learn further pairs, in their order.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or trajectories
            States, finite numbers; without `X_next` one or several trajectories as in
            `partial_fit_trajectory`.
        X_next : array-like of shape (n, n_features), optional
            The next state of each.
        inputs : array-like of shape (n, n_inputs), or several, optional
            Control input at each state of X; required with ``n_inputs``.

        Returns
        -------
        self : Koopman
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is invalid (the message names it); the model is unchanged.
        KeyboardInterrupt
            Ctrl-C; the pairs processed until then stay learned (see ``n_seen_``).
        """
        with self._learning() as model:
            if X_next is None:
                model._learn_trajectories(X, inputs, continued=False)
            else:
                model._learn_pairs(X, X_next, inputs)
        self._warn_of_dictionary()
        return self

    def fit_trajectory(
        self,
        T: ArrayLike | Sequence[ArrayLike],
        *,
        inputs: ArrayLike | Sequence[ArrayLike] | None = None,
    ) -> Self:
        """Reset, then learn one or several trajectories in one pass.

        Parameters
        ----------
        T : array-like of shape (n_times, n_features), or several
            As in `partial_fit_trajectory`.
        inputs : array-like of shape (n_times, n_inputs), or several, optional
            As in `partial_fit_trajectory`.

        Returns
        -------
        self : Koopman
            This estimator. The replay buffer is empty.

        Raises
        ------
        ValueError, TypeError
            A row is invalid (the message names it) or a parameter is; the model is unchanged.
        """
        return self.fit(T, inputs=inputs)

    def partial_fit_trajectory(
        self,
        T: ArrayLike | Sequence[ArrayLike],
        *,
        continued: bool = False,
        inputs: ArrayLike | Sequence[ArrayLike] | None = None,
    ) -> Self:
        """Learn one or several further trajectories.

        Each state is paired with the one `lag` steps later; pairs never span two trajectories. A
        trajectory that arrives in pieces is learned with ``continued=True``, for which the model
        keeps the last `lag` states.

        Parameters
        ----------
        T : array-like of shape (n_times, n_features) or (n_trajectories, n_times, n_features), \
or sequence of array-likes of shape (n_times, n_features)
            One trajectory or several. Those of at most `lag` states give no pair.
        continued : bool, default=False
            The first trajectory continues the last one of the previous call (the first call
            begins one).
        inputs : array-like of shape (n_times, n_inputs), or several, optional
            Control input at each state, in the same form; required with ``n_inputs``. The last
            input of a trajectory is used only if it is continued.

        Returns
        -------
        self : Koopman
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is invalid (the message names it), no trajectory is longer than `lag` (unless
            continued), or there is nothing to continue; the model is unchanged.
        KeyboardInterrupt
            Ctrl-C; the pairs processed until then stay learned (see ``n_seen_``). What follows the
            second state of the last one can be learned with ``continued=True``.
        """
        with self._learning() as model:
            model._learn_trajectories(T, inputs, continued=continued)
        self._warn_of_dictionary()
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
            Ctrl-C; whatever is learned next, or another `flush`, first goes on where this stopped.
        """
        check_is_fitted(self)
        self._core.flush()
        return self

    def _learn_pairs(self, X: Any, X_next: ArrayLike, inputs: Any) -> None:
        reset = not self.__sklearn_is_fitted__()
        before = joined(self._rows(X, reset=reset), inputs, self._n_inputs())
        after = numbers_of(X_next, "X_next", estimator=self)
        warn_of_lag(before, after, whole_number("lag", self.lag))
        warn_of_other_units(before[:, : after.shape[1]] if after.ndim == 2 else before, after)
        if reset:
            self._core = self._new_core()
        with self._reporting(len(before), "pairs") as report:
            self._core.learn(before, after, report)

    def _learn_trajectories(self, T: Any, inputs: Any, *, continued: bool) -> None:
        lag, n_inputs = whole_number("lag", self.lag), self._n_inputs()
        if n_inputs and lag > 1:
            raise ValueError(
                f"lag must be 1 with n_inputs={n_inputs}, got {lag}; learn pairs instead"
            )
        reset = not self.__sklearn_is_fitted__()
        pieces = [
            self._rows(piece, reset=reset and i == 0) for i, piece in enumerate(as_trajectories(T))
        ]
        if n_inputs:
            acting = as_trajectories(inputs)
            if len(acting) != len(pieces):
                raise ValueError(f"{len(pieces)} trajectories, but inputs for {len(acting)}")
            pairs = zip(pieces, acting, strict=True)
            pieces = [joined(piece, u, n_inputs) for piece, u in pairs]
        else:
            joined(pieces[0], inputs, n_inputs)
        check_trajectories(pieces, lag, continued=continued, span=self._span())
        if reset:
            self._core = self._new_core()
        with self._reporting(sum(map(len, pieces)), "states") as report:
            self._core.follow(pieces, lag, continued, report)

    @contextmanager
    def _reporting(self, total: int, unit: str) -> Iterator[Callable[[int], None]]:
        capped = getattr(self.basis, "max_size", 0) is not None
        if not self.verbose:
            yield Watch(self._core, total, capped=capped)
            return
        with report_to_bar(self._core, total, unit=unit) as report:
            yield Watch(self._core, total, capped=capped, then=report)

    def _warn_of_dictionary(self) -> None:
        # Each time that twice as many pairs are there: it takes all stored states.
        looked = f"at {self._core.n_seen.bit_length()}"
        if isinstance(self.basis, ALD | None) and looked not in self._warned():
            self._warned().add(looked)
            warn_of_dictionary(self._core, self._warned())

    def _warned(self) -> set[str]:
        """Give the warnings that were given, which files do without."""
        return cast("set[str]", vars(self).setdefault("_warnings", set()))

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
        rows = joined(self._queried(X), inputs, self._n_inputs())
        return cast(FloatArray, self._core.transform(rows))

    def novelty(self, X: ArrayLike, *, inputs: ArrayLike | None = None) -> FloatArray:
        """Say how new states are: the share of each that the stored states do not explain.

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
        rows = joined(self._queried(X), inputs, self._n_inputs())
        return cast(FloatArray, self._core.novelty(rows))

    def _span(self) -> int:
        return whole_number("n_delays", self.n_delays, 0) * whole_number("delay", self.delay)

    def _queried(self, X: ArrayLike) -> FloatArray:
        span = self._span()
        if not span:
            return self._states(X)
        windows = np.asarray(X)[:, -span - 1 :] if np.ndim(X) == 3 else [X]
        return np.concatenate([self._core.embed(self._states(one)) for one in windows])

    @property
    def eigenvalues_(self) -> ComplexArray:
        """Eigenvalues by decreasing modulus, conjugate pairs together."""
        values = super().eigenvalues_
        warn_of_growth(np.abs(values), self._core.n_seen, self._warned())
        return values

    @property
    def chosen_(self) -> dict[str, Any]:
        """Kernel, basis, learner and scale that the first pairs have chosen, or that were given."""
        check_is_fitted(self)
        spec = json.loads(self._core.operator_spec)
        deviations = np.array(self._core.units[1])
        scale = None
        if len(deviations):
            scale = "common" if len(deviations) > 1 and np.ptp(deviations) == 0 else "each"
        ((kind, stored),) = spec["dictionaries"].items()
        return {
            "kernel": Kernel.from_spec(spec["kernel"]),
            "basis": (Basis if kind == "shared" else Admission).from_spec(stored),
            "learner": Learner.from_spec(spec["learner"]),
            "standardize": scale,
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
    def n_pending_(self) -> int:
        """Number of pairs in the replay buffer."""
        check_is_fitted(self)
        return cast(int, self._core.n_pending)

    # ---------------------------------------------------------------------------------- state

    def _new_core(self) -> _core.Koopman:
        return _core.Koopman(json.dumps(self._core_spec()))

    def _core_spec(self) -> dict[str, Any]:
        chooses = self.kernel is None
        standardize = chooses if self.standardize is None else self.standardize
        return {
            "operator": self.to_spec(),
            "standardize": as_json("standardize", standardize),
            "choice": {
                "bandwidth": chooses,
                "regularization": chooses and self.learner is None,
                "tolerance": chooses and self.learner is None and self.basis is None,
            },
            "delays": {
                "count": whole_number("n_delays", self.n_delays, 0),
                "step": whole_number("delay", self.delay),
            },
            "horizons": [] if self.horizons is None else steps_of(self, None),
            "period": None if self.period is None else whole_number("period", self.period),
        }

    def to_spec(self) -> dict[str, Any]:
        """Describe the operator in the form that the core reads."""
        kernel = as_component(self.kernel, Gaussian, Kernel)
        learner = as_component(self.learner, Ridge, Learner)
        replay = None
        if self.replay is not None:
            seed = self.random_state
            if seed is None:
                seed = int(check_random_state(None).randint(2**31 - 1))
            replay = {
                "size": whole_number("replay", self.replay),
                "passes": whole_number("passes", self.passes),
                "seed": _seed(seed),
            }
        spec: dict[str, Any] = {
            "kernel": kernel.to_spec(),
            "dictionaries": self._dictionaries(learner),
            "learner": learner.to_spec(),
            "replay": replay,
        }
        if n_blocks := whole_number("n_blocks", self.n_blocks, 0):
            spec["n_blocks"] = n_blocks
        if n_inputs := self._n_inputs():
            input_kernel = as_component(self.input_kernel, Gaussian, Kernel)
            spec["control"] = {"width": n_inputs, "kernel": input_kernel.to_spec()}
        return spec

    def _dictionaries(self, learner: Any) -> dict[str, Any]:
        if isinstance(self.basis, Admission):
            if not isinstance(learner, Gradient):
                raise TypeError(
                    f"basis={type(self.basis).__name__}(...) needs learner=Gradient(...); with "
                    f"learner={type(learner).__name__}(...) use a basis such as ALD()"
                )
            return {"paired" if self.paired else "separate": self.basis.to_spec()}
        if self.paired:
            raise ValueError(f"paired=True needs basis={HilbertSchmidt.__name__}(...)")
        return {"shared": as_component(self.basis, ALD, Basis).to_spec()}

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        tail = state.get("tail")
        if tail is not None:  # in files of before it was the core's
            core.resume_trajectory(np.array(tail, dtype=np.float64).reshape(len(tail), -1))
        return super()._from_state(core, state)


def fitted_operator(operator: Koopman, core: Any) -> Koopman:
    """Make an operator with the parameters of another and a core of its own.

    Parameters
    ----------
    operator : Koopman
        The parameters.
    core : kernelstream._core.Koopman
        What was learned.

    Returns
    -------
    fitted : Koopman
        The fitted operator.
    """
    fitted = Koopman(**operator.get_params(deep=False))
    fitted._core = core
    fitted.n_features_in_ = core.n_features
    return fitted


def _seed(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ValueError(f"random_state must be a non-negative integer or None, got {value!r}")
    return int(value)
