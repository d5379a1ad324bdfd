"""Value iteration on the conditional mean embedding of a system with inputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_array, check_is_fitted

from kernelstream import _core
from kernelstream.components.base import as_json
from kernelstream.components.bases import ALD
from kernelstream.components.kernels import Gaussian
from kernelstream.components.learners import Ridge
from kernelstream.control import environments
from kernelstream.estimators.base import StreamEstimator
from kernelstream.estimators.model_file import (
    _revive,
    decode_parameters,
    encode_parameters,
    names_of,
    set_names,
)
from kernelstream.estimators.validation import as_float64, unchanged_by_errors
from kernelstream.koopman import Koopman
from kernelstream.koopman.inputs import rows_of_inputs

__all__ = ["EmbeddingValueIteration"]

FloatArray = NDArray[np.float64]
Cost = Callable[[FloatArray, FloatArray], ArrayLike]
Policy = Literal["kept", "latest"]

# What marks a state as the end of an episode, in a column of its own: far from every other state.
_ENDED = 4.0


class EmbeddingValueIteration(StreamEstimator, BaseEstimator):
    """Learn from transitions how to act at the least discounted cost.

    A Koopman operator with inputs learns the expectation of any function of the next state, given
    the state and what was done in it (the conditional mean embedding). Value iteration needs the
    value function at the stored next states only::

        v(x) <- min_u c(x, u) + discount * E[v(x_next) | x, u]

    so that a sweep is a small matrix product, and the policy that is greedy with respect to it acts
    on any state. Learn (`learn`), iterate (`improve`), act (`act`), and again, as long as new
    transitions come; `kernelstream.control.train` does that on an environment of gymnasium. Between
    stages policies jump between good and bad: `keep` the best.

    Parameters
    ----------
    model : Koopman, optional
        How the system is learned, with ``n_inputs`` the width of an action; it is not changed
        itself. It sees states and actions divided by their scales. None: least squares with
        Gaussian kernels, of bandwidth 0.3 for states and 1.5 for actions, which suits scales that
        bring both to about -1 to 1; at most 600 points are stored of either kind.
    actions : array-like of shape (n_actions, n_inputs) or (n_actions,)
        What to choose from.
    cost : callable, optional
        ``cost(X, U)`` gives the costs (n,) of doing U (n, n_inputs) in the states X
        (n, n_features). None: costs are given to `improve` and `act` as arrays.
    discount : float, default=0.95
        What a cost counts one step later, from 0 to below 1.
    state_scale : array-like of shape (n_features,) or float, optional
        States are divided by this before they are compared. None: 1.
    action_scale : array-like of shape (n_inputs,) or float, optional
        The same for actions.
    episodic : bool, default=True
        Whether states may end an episode, after which nothing costs anything (the `terminated` of
        `learn`). Takes one more column in the model.
    sweeps : int, default=150
        Most sweeps of one improvement.
    tolerance : float, default=1e-5
        Sweeps end when no value changes by more than this share of the largest value there can be.

    Attributes
    ----------
    model_ : Koopman
        A copy of what was learned about the system, in scaled states and actions; with `episodic`
        states have one more column, 0 or, where an episode ended, 4.
    actions_ : ndarray of shape (n_actions, n_inputs)
        What to choose from.
    states_ : ndarray of shape (n_outputs_, n_features_in_)
        The stored next states.
    state_values_ : ndarray of shape (k,)
        Values of the first of them, as many as there were at the latest improvement.
    n_seen_ : int
        Transitions received so far.
    n_stored_ : int
        Stored states with what was done in them.
    n_outputs_ : int
        Stored next states.
    n_sweeps_ : int
        Sweeps of the latest improvement.
    converged_ : bool
        Whether they ended by the tolerance.
    best_score_ : float
        Score of the policy that is kept; minus infinity if there is none.

    References
    ----------
    B. Hou, S. Sanjari, N. Dahlin, A. Koppel, S. Bose, "Nonparametric sparse online learning of the
    Koopman operator", 2024, section 6.2. Its literal settings (a constant step of 1e-4, bandwidth
    1/6) do not swing the pendulum up; least squares do, with a twentieth of its stored points.
    Values are kept between 0 and ``max(cost) / (1 - discount)``, as the learned expectation, whose
    weights may be negative, is no contraction.
    S. Grunewalder, G. Lever, L. Baldassarre, M. Pontil, A. Gretton, "Modelling transition dynamics
    in MDPs with RKHS embeddings", ICML 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelstream.control import EmbeddingValueIteration
    >>> rng = np.random.default_rng(0)
    >>> X, U = rng.uniform(-1, 1, (500, 1)), rng.choice([-0.1, 0.0, 0.1], (500, 1))
    >>> controller = EmbeddingValueIteration(
    ...     actions=[-0.1, 0.0, 0.1],
    ...     cost=lambda X, U: (X[:, 0] - 0.5) ** 2,
    ...     action_scale=0.1,
    ... )
    >>> controller = controller.learn(X, U, np.clip(X + U, -1, 1)).improve()
    >>> controller.act([-0.8]), controller.act([0.9])
    (array([0.1]), array([-0.1]))
    """

    _core_class = _core.Controller

    def __init__(
        self,
        model: Koopman | None = None,
        actions: ArrayLike | None = None,
        cost: Cost | None = None,
        discount: float = 0.95,
        *,
        state_scale: ArrayLike | None = None,
        action_scale: ArrayLike | None = None,
        episodic: bool = True,
        sweeps: int = 150,
        tolerance: float = 1e-5,
    ) -> None:
        self.model = model
        self.actions = actions
        self.cost = cost
        self.discount = discount
        self.state_scale = state_scale
        self.action_scale = action_scale
        self.episodic = episodic
        self.sweeps = sweeps
        self.tolerance = tolerance

    @classmethod
    def for_environment(cls, env: Any, cost: Cost, *, n_actions: int = 9, **params: Any) -> Self:
        """Make a controller that fits an environment of gymnasium.

        Parameters
        ----------
        env : gymnasium.Env or str
            The environment, or its name; its observations are states.
        cost : callable
            As for the constructor. The environment's reward is not used to choose actions.
        n_actions : int, default=9
            Actions along each dimension of a continuous action, from the least to the largest.
            Of discrete ones all are taken.
        **params : object
            Other parameters of the constructor. Scales are taken from the bounds of the
            environment's spaces (half their widths, 1 where there are none) unless given.

        Returns
        -------
        controller : EmbeddingValueIteration
            A controller that has learned nothing yet.

        Raises
        ------
        ModuleNotFoundError
            gymnasium is not installed.
        ValueError
            States or actions are not lists of numbers.
        """
        actions, state_scale, action_scale = environments.grid(env, n_actions)
        found = {"actions": actions, "state_scale": state_scale, "action_scale": action_scale}
        return cls(cost=cost, **(found | params))

    # ------------------------------------------------------------------------------- learning

    def fit(
        self, X: ArrayLike, U: ArrayLike, X_next: ArrayLike, terminated: ArrayLike | None = None
    ) -> Self:
        """Forget everything, then learn transitions and, with a `cost`, improve once.

        Parameters
        ----------
        X, U, X_next, terminated : array-like
            As for `learn`.

        Returns
        -------
        self : EmbeddingValueIteration
            This controller.

        Raises
        ------
        ValueError, TypeError
            A row, an action, a cost or a parameter is bad (the message names it); the controller is
            as it was.
        """
        with unchanged_by_errors(self):
            if self.__sklearn_is_fitted__():
                del self._core
            self.learn(X, U, X_next, terminated).flush()
            if self.cost is not None:
                self.improve()
        return self

    def learn(
        self, X: ArrayLike, U: ArrayLike, X_next: ArrayLike, terminated: ArrayLike | None = None
    ) -> Self:
        """Go on learning with some more transitions.

        The policies there are do not change until the next `improve`.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            States.
        U : array-like of shape (n, n_inputs), or (n,) for actions of one number
            What was done in each: any action between the smallest and the largest of `actions`.
        X_next : array-like of shape (n, n_features)
            The state that followed each.
        terminated : array-like of bool of shape (n,), optional
            Whether that state ended an episode for good (not by a limit of time). None: none did.

        Returns
        -------
        self : EmbeddingValueIteration
            This controller.

        Raises
        ------
        ValueError, TypeError
            A row is bad, or an action lies outside the grid (the message names it), or a parameter
            is; the controller is as it was.
        KeyboardInterrupt
            Ctrl-C; the transitions done by then stay learned.
        """
        with unchanged_by_errors(self):
            fresh = not self.__sklearn_is_fitted__()
            before = self._rows(X, reset=fresh)
            if fresh:
                self._begin()
            checked = check_array(
                X_next,
                dtype="numeric",
                ensure_all_finite=False,
                input_name="X_next",
                estimator=self,
            )
            after = as_float64(checked, "X_next")
            if after.shape != before.shape:
                raise ValueError(f"X has shape {before.shape} but X_next {after.shape}")
            acting = rows_of_inputs(U, len(before), self.actions_.shape[1], "U")
            self._check_range(acting)
            ends = self._ends(terminated, len(before))
            joint = np.hstack([self._scaled(before), acting / self._action_scale])
            self._core.learn(joint, self._scaled(after, ends))
        return self

    partial_fit = learn

    def flush(self) -> Self:
        """Learn the transitions that wait in the replay buffer of the model, if it has one.

        Returns
        -------
        self : EmbeddingValueIteration
            This controller.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError
            A gradient step would diverge; the controller is as it was.
        """
        check_is_fitted(self)
        self._core.flush()
        return self

    def improve(self, costs: ArrayLike | None = None) -> Self:
        """Iterate the value function on what was learned, from where it stands, and act by it.

        Takes milliseconds; most of it once, not a sweep.

        Parameters
        ----------
        costs : array-like of shape (n_outputs_, n_actions), optional
            Costs of each action in each of `states_`. None: those that `cost` gives.

        Returns
        -------
        self : EmbeddingValueIteration
            This controller.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A cost is no number (the message names state and action); the controller is as it was.
        """
        check_is_fitted(self)
        stored = self._core.states()
        given = self._costs(self.states_) if costs is None else self._given(costs, len(stored))
        ends = (stored[:, -1] > 0.5 * _ENDED).tolist() if self.episodic else None
        self.n_sweeps_, self.change_, self.converged_, *_ = self._core.improve(given, ends)
        return self

    def keep(self, score: float) -> bool:
        """Keep the policy of the latest improvement, if it is the best so far.

        Parameters
        ----------
        score : float
            How good it is: the larger the better, such as a mean return over some episodes.

        Returns
        -------
        kept : bool
            Whether it is the best so far. `act` and `value` go by the policy that is kept.

        Raises
        ------
        NotFittedError
            There is no policy yet.
        ValueError
            The score is no finite number.
        """
        self._require_policy("latest")
        return cast(bool, self._core.keep(float(score)))

    # --------------------------------------------------------------------------------- acting

    def act(
        self,
        x: ArrayLike,
        epsilon: float = 0.0,
        rng: np.random.Generator | int | None = None,
        *,
        policy: Policy | None = None,
        costs: ArrayLike | None = None,
    ) -> FloatArray:
        """Choose an action for a state, or one for each of several.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (n, n_features)
            A state, or several.
        epsilon : float, default=0.0
            Probability of taking any action instead of the best one, each as likely.
        rng : numpy.random.Generator or int, optional
            Where such chances come from; only used with `epsilon`. None: another each time.
        policy : {"kept", "latest"}, optional
            Which one to go by. None: the one that is kept, or the latest if none is.
        costs : array-like of shape (n_actions,) or (n, n_actions), optional
            Costs of each action in each state. None: those that `cost` gives.

        Returns
        -------
        action : ndarray of shape (n_inputs,) or (n, n_inputs)
            One of `actions_`, or one a row.

        Raises
        ------
        NotFittedError
            There is no policy yet.
        ValueError, TypeError
            A state is bad or a cost is no number (the message names it).
        """
        kept = self._require_policy(policy)
        states = np.asarray(x)
        if not 0.0 <= epsilon <= 1.0:
            raise ValueError(f"epsilon must be from 0 to 1, got {epsilon}")
        single = states.ndim == 1
        rows = self._states(states[None] if single else states)
        given = self._costs(rows) if costs is None else self._given(costs, len(rows))
        if single:
            chosen = np.array([self._core.greedy_one(self._scaled(rows)[0], given[0], kept)])
        else:
            chosen = self._core.greedy(self._scaled(rows), given, kept).astype(np.int64)
        if epsilon > 0.0:
            generator = np.random.default_rng(rng)
            explores = generator.random(len(rows)) < epsilon
            any_of_them = generator.integers(len(self.actions_), size=len(rows))
            chosen = np.where(explores, any_of_them, chosen)
        actions = self.actions_[chosen]
        return cast(FloatArray, actions[0] if single else actions)

    def action_values(
        self, X: ArrayLike, *, policy: Policy | None = None, costs: ArrayLike | None = None
    ) -> FloatArray:
        """Give what each action leads to: ``c(x, u) + discount * E[v(x_next) | x, u]``.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            States.
        policy : {"kept", "latest"}, optional
            Whose value function. None: that of the policy that is kept, or the latest.
        costs : array-like of shape (n, n_actions), optional
            Costs of each action in each state. None: those that `cost` gives.

        Returns
        -------
        values : ndarray of shape (n, n_actions)
            Discounted costs to come; the least of a row is the best.

        Raises
        ------
        NotFittedError
            There is no policy yet.
        ValueError, TypeError
            A state is bad or a cost is no number (the message names it).
        """
        kept = self._require_policy(policy)
        rows = self._states(X)
        given = self._costs(rows) if costs is None else self._given(costs, len(rows))
        return cast(FloatArray, self._core.action_values(self._scaled(rows), given, kept))

    def value(
        self, X: ArrayLike, *, policy: Policy | None = None, costs: ArrayLike | None = None
    ) -> FloatArray:
        """Give the value of states: the discounted costs to come under the best actions.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            States.
        policy : {"kept", "latest"}, optional
            Whose value function. None: that of the policy that is kept, or the latest.
        costs : array-like of shape (n, n_actions), optional
            Costs of each action in each state. None: those that `cost` gives.

        Returns
        -------
        values : ndarray of shape (n,)
            In the units of a cost.

        Raises
        ------
        NotFittedError
            There is no policy yet.
        ValueError, TypeError
            A state is bad or a cost is no number (the message names it).
        """
        kept = self._require_policy(policy)
        rows = self._states(X)
        given = self._costs(rows) if costs is None else self._given(costs, len(rows))
        return cast(FloatArray, self._core.values(self._scaled(rows), given, kept))

    def _grid(self) -> FloatArray:
        return self.actions_ if self.__sklearn_is_fitted__() else _action_rows(self.actions)

    def _choose(self, state: FloatArray, policy: Policy | None) -> int:
        """Give the number of the best action for one state that is known to be sound."""
        kept = self._require_policy(policy)
        rows = state[None]
        return cast(int, self._core.greedy_one(self._scaled(rows)[0], self._costs(rows)[0], kept))

    # ---------------------------------------------------------------------------------- state

    @property
    def model_(self) -> Koopman:
        """A copy of what was learned about the system, in scaled states and actions."""
        check_is_fitted(self)
        model = Koopman(**self._chosen_model().get_params(deep=False))
        model._core = self._core.operator()
        model._tail = None
        model.n_features_in_ = model._core.n_features
        return model

    @property
    def states_(self) -> FloatArray:
        """The stored next states."""
        check_is_fitted(self)
        return cast(FloatArray, self._core.states())[:, : self.n_features_in_] * self._state_scale

    @property
    def state_values_(self) -> FloatArray:
        """Values of the stored next states as of the latest improvement."""
        check_is_fitted(self)
        return cast(FloatArray, self._core.state_values())

    @property
    def n_outputs_(self) -> int:
        """Stored next states."""
        check_is_fitted(self)
        return cast(int, self._core.n_stored_outputs)

    @property
    def best_score_(self) -> float:
        """Score of the policy that is kept; minus infinity if there is none."""
        check_is_fitted(self)
        score = self._core.kept_score
        return -np.inf if score is None else cast(float, score)

    def _chosen_model(self) -> Koopman:
        if self.model is None:
            width = _action_rows(self.actions).shape[1]
            return Koopman(
                Gaussian(0.3),
                ALD(0.035, max_size=600),
                Ridge(5e-2),
                n_inputs=width,
                input_kernel=Gaussian(1.5),
            )
        if not isinstance(self.model, Koopman):
            raise TypeError(f"model must be a Koopman with inputs, got {self.model!r}")
        return self.model

    def _begin(self) -> None:
        """Fix actions and scales, and make the core."""
        actions = _action_rows(self.actions)
        if self.cost is not None and not callable(self.cost):
            raise TypeError(f"cost must be a function of states and actions, got {self.cost!r}")
        self.actions_ = actions
        self._set_scales(self.n_features_in_)
        spec = {
            "model": self._chosen_model().to_spec(),
            "actions": (actions / self._action_scale).tolist(),
            "discount": as_json("discount", self.discount),
            "sweeps": as_json("sweeps", self.sweeps),
            "tolerance": as_json("tolerance", self.tolerance),
        }
        self._core = _core.Controller(json.dumps(spec))

    def _set_scales(self, n_features: int) -> None:
        self._state_scale = _scale("state_scale", self.state_scale, n_features)
        self._action_scale = _scale("action_scale", self.action_scale, self.actions_.shape[1])

    def _scaled(self, X: FloatArray, ends: NDArray[np.bool_] | None = None) -> FloatArray:
        scaled = X / self._state_scale
        if not self.episodic:
            return scaled
        out = np.zeros((len(X), X.shape[1] + 1))
        out[:, :-1] = scaled
        if ends is not None:
            out[ends, -1] = _ENDED
        return out

    def _states(self, X: ArrayLike) -> FloatArray:
        """Give states to ask about."""
        rows = as_float64(np.asarray(X), "X")
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"states have shape {rows.shape}; the controller was started on "
                f"{self.n_features_in_} features"
            )
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            raise ValueError(f"X contains {rows[row, column]} at row {row}, column {column}")
        return rows

    def _ends(self, terminated: ArrayLike | None, n: int) -> NDArray[np.bool_]:
        ends = np.zeros(n, dtype=bool) if terminated is None else np.asarray(terminated)
        if ends.shape != (n,) or ends.dtype.kind != "b":
            raise ValueError(f"terminated must be {n} booleans, got {ends.dtype} of {ends.shape}")
        if ends.any() and not self.episodic:
            raise ValueError(
                f"the transition at row {int(np.argmax(ends))} ended an episode: make the "
                "controller with episodic=True"
            )
        return ends

    def _check_range(self, U: FloatArray) -> None:
        low, high = self.actions_.min(axis=0), self.actions_.max(axis=0)
        slack = 1e-6 * (high - low + np.abs(high))
        outside = ((low - slack > U) | (high + slack < U)).any(axis=1)
        if outside.any():
            row = int(np.argmax(outside))
            raise ValueError(
                f"U at row {row} is {U[row]}, outside the grid of actions, which goes from "
                f"{low} to {high}"
            )

    def _costs(self, X: FloatArray) -> FloatArray:
        """Give the costs of every action in each state (n, n_actions)."""
        if self.cost is None:
            raise ValueError("this controller has no cost: give costs, an array")
        n_actions = len(self.actions_)
        states = np.repeat(X, n_actions, axis=0)
        actions = self.actions_ if len(X) == 1 else np.tile(self.actions_, (len(X), 1))
        costs = as_float64(np.asarray(self.cost(states, actions)), "cost(X, U)")
        if costs.shape != (len(states),):
            raise ValueError(
                f"cost(X, U) gave an array of shape {costs.shape} for {len(states)} states and "
                f"actions; ({len(states)},) is needed"
            )
        if not np.isfinite(costs).all():
            bad = int(np.argmin(np.isfinite(costs)))
            raise ValueError(
                f"cost(X, U) gave {costs[bad]} for the state {states[bad]} and the action "
                f"{actions[bad]}: costs must be finite numbers"
            )
        return costs.reshape(len(X), n_actions)

    def _given(self, costs: ArrayLike, n: int) -> FloatArray:
        array = as_float64(np.asarray(costs), "costs")
        array = array[None] if array.ndim == 1 and n == 1 else array
        if array.shape != (n, len(self.actions_)):
            raise ValueError(
                f"costs have shape {array.shape}; {n} states and {len(self.actions_)} actions "
                f"need ({n}, {len(self.actions_)})"
            )
        return array

    def _require_policy(self, policy: Policy | None) -> bool:
        """Give whether to go by the policy that is kept."""
        if policy not in {None, "kept", "latest"}:
            raise ValueError(f'policy must be "kept", "latest" or None, got {policy!r}')
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        kept = policy == "kept" or (policy is None and self._core.kept_score is not None)
        if kept and self._core.kept_score is None:
            raise NotFittedError("no policy is kept: call keep(score) after improve()")
        if not kept and not self._core.has_policy:
            raise NotFittedError("there is no policy yet: call improve() after learn(...)")
        return kept

    # ------------------------------------------------------------------------------ model file

    def save(self, path: str | PathLike[str]) -> None:
        """Write the controller to a file, complete or not at all.

        It holds all that was learned, the latest policy and the one that is kept, but not `cost`,
        which is code: give it to `load`.

        Parameters
        ----------
        path : str or path-like
            Where to; an existing file is replaced.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        OSError
            The file cannot be written.
        """
        super().save(path)

    @classmethod
    def load(cls, path: str | PathLike[str], cost: Cost | None = None) -> Self:
        """Read a controller that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.
        cost : callable, optional
            What `cost` was, which no file holds.

        Returns
        -------
        controller : EmbeddingValueIteration
            It acts and goes on as the saved one, to the bit.

        Raises
        ------
        ModelFileError
            The file is not a model file, is damaged, is of another format version, or holds another
            kind of estimator.
        OSError
            The file cannot be read.
        """
        core, extra = cls._core_class.load(fspath(path))
        controller = cast(Self, _revive(core, extra, cls))
        controller.cost = cost
        return controller

    def _state(self) -> dict[str, Any]:
        params = self.get_params(deep=False) | {"model": None, "cost": None, "actions": None}
        return {
            "params": encode_parameters(params),
            "model": encode_parameters(self._chosen_model().get_params(deep=False)),
            "actions": self.actions_.tolist(),
            "n_features": self.n_features_in_,
            "feature_names": names_of(self),
        }

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        model = Koopman(**decode_parameters(state["model"]))
        controller = cls(**(decode_parameters(state["params"]) | {"model": model}))
        controller.actions = controller.actions_ = np.array(state["actions"], dtype=np.float64)
        controller.n_features_in_ = int(state["n_features"])
        controller._set_scales(controller.n_features_in_)
        set_names(controller, state["feature_names"], controller.n_features_in_)
        controller._core = core
        return controller


def _action_rows(actions: ArrayLike | None) -> FloatArray:
    if actions is None:
        raise ValueError("actions to choose from are needed, such as np.linspace(-2, 2, 9)")
    rows = as_float64(np.asarray(actions), "actions")
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.size == 0 or not np.isfinite(rows).all():
        raise ValueError(f"actions must be rows of finite numbers, at least one, got {actions!r}")
    return rows


def _scale(name: str, given: ArrayLike | None, width: int) -> FloatArray:
    scale = as_float64(np.asarray(1.0 if given is None else given), name)
    if scale.shape not in {(), (width,)} or not (np.isfinite(scale) & (scale > 0)).all():
        raise ValueError(f"{name} must be a positive number, or {width} of them, got {given!r}")
    return np.broadcast_to(scale, (width,)).copy()
