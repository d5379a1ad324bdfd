"""Value iteration on the conditional mean embedding of a controlled system."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from kernelstream import _core
from kernelstream.components.base import as_json
from kernelstream.components.bases import ALD
from kernelstream.components.kernels import Gaussian
from kernelstream.components.learners import Ridge
from kernelstream.control import environments
from kernelstream.control.acting import Acting, Cost, FloatArray
from kernelstream.control.encoding import Encoding, action_rows
from kernelstream.estimators.base import StreamEstimator
from kernelstream.estimators.model_file import (
    decode_parameters,
    encode_parameters,
)
from kernelstream.estimators.validation import numbers_of
from kernelstream.koopman.estimator import Koopman, fitted_operator

__all__ = ["EmbeddingValueIteration"]


class EmbeddingValueIteration(Acting, StreamEstimator):
    """Learn from transitions a policy of minimal expected discounted cost.

    A Koopman operator with inputs gives the expectation of any function of the next state, given
    state and action (the conditional mean embedding). Value iteration needs the value function at
    the stored next states only::

        v(x) <- min_u c(x, u) + discount * E[v(x_next) | x, u]

    so that a sweep is a small matrix product; the greedy policy with respect to v is defined at any
    state. Learn (`learn`), iterate (`improve`), act (`act`), and repeat as further transitions
    arrive; `kernelstream.control.train` does that on an environment of gymnasium. Policies of
    successive improvements may differ considerably: `keep` the best.

    Parameters
    ----------
    model : Koopman, optional
        The operator, with ``n_inputs`` components of an action; the object itself is not changed.
        It receives states and actions divided by their scales. None: least squares with Gaussian
        kernels, of bandwidth 0.3 for states and 1.5 for actions, which suits scales that map both
        to about [-1, 1], with at most 600 stored points of either kind.
    actions : array-like of shape (n_actions, n_inputs) or (n_actions,)
        The actions to choose from.
    cost : callable, optional
        ``cost(X, U)`` returns the costs (n,) of the actions U (n, n_inputs) in the states X
        (n, n_features). None: costs are passed to `improve` and `act` as arrays.
    discount : float, default=0.95
        Factor on the cost of each later step, in [0, 1).
    state_scale : array-like of shape (n_features,) or float, optional
        States are divided by this before the kernel is evaluated. None: 1.
    action_scale : array-like of shape (n_inputs,) or float, optional
        The same for actions.
    episodic : bool, default=True
        Whether states may be terminal (`terminated` of `learn`): no cost follows them. Adds a
        column to the states of the operator.
    sweeps : int, default=150
        Maximal number of sweeps of one improvement, 1 to 1,000,000.
    tolerance : float, default=1e-5
        Sweeps end when no value changes by more than this fraction of the largest possible value.

    Attributes
    ----------
    model_ : Koopman
        A copy of the operator, in scaled states and actions; with `episodic` states have an
        additional column, 0 or, for terminal states, 4.
    actions_ : ndarray of shape (n_actions, n_inputs)
        The actions to choose from.
    states_ : ndarray of shape (n_stored_next_, n_features_in_)
        The stored next states.
    state_values_ : ndarray of shape (k,)
        Values of those that were stored at the latest improvement.
    n_seen_ : int
        Number of transitions received.
    n_stored_ : int
        Number of stored states with actions.
    n_stored_next_ : int
        Number of stored next states.
    has_policy_ : bool
        Whether there has been an improvement.
    n_sweeps_ : int
        Number of sweeps of the latest improvement.
    converged_ : bool
        Whether they reached the tolerance.
    best_score_ : float
        Score of the kept policy; minus infinity if there is none.

    References
    ----------
    B. Hou, S. Sanjari, N. Dahlin, A. Koppel, S. Bose, "Nonparametric sparse online learning of the
    Koopman operator", 2024, section 6.2. With its printed parameters (a constant step of 1e-4,
    bandwidth 1/6) the pendulum does not swing up; with least squares it does, with a twentieth of
    the stored points. Values are clipped between 0 and ``max(cost) / (1 - discount)``, because the
    learned expectation, whose weights may be negative, is not a contraction.
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
        """Make a controller for an environment of gymnasium.

        Parameters
        ----------
        env : gymnasium.Env or str
            The environment, or its name; its observations are states.
        cost : callable
            As for the constructor. The environment's reward is not used to choose actions.
        n_actions : int, default=9
            Number of actions along each dimension of a continuous action space, over its range. Of
            discrete actions all are used.
        **params : object
            Other parameters of the constructor. By default scales are half the widths of
            the environment's spaces, 1 where these are unbounded.

        Returns
        -------
        controller : EmbeddingValueIteration
            A controller that is not fitted.

        Raises
        ------
        ModuleNotFoundError
            gymnasium is not installed.
        ValueError
            States or actions are not vectors of numbers.
        """
        actions, state_scale, action_scale = environments.grid(env, n_actions)
        found = {"actions": actions, "state_scale": state_scale, "action_scale": action_scale}
        return cls(cost=cost, **(found | params))

    # ------------------------------------------------------------------------------- learning

    def fit(
        self, X: ArrayLike, U: ArrayLike, X_next: ArrayLike, terminated: ArrayLike | None = None
    ) -> Self:
        """Reset, then learn transitions and, with a `cost`, improve once.

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
            A row, an action, a cost or a parameter is invalid (the message names it); the
            controller is unchanged.
        """
        with self._learning(reset=True) as controller:
            controller._learn(X, U, X_next, terminated)
            controller._core.flush()
            if self.cost is not None:
                controller.improve()
        return self

    def learn(
        self, X: ArrayLike, U: ArrayLike, X_next: ArrayLike, terminated: ArrayLike | None = None
    ) -> Self:
        """Learn further transitions.

        Existing policies do not change until the next `improve`.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            States.
        U : array-like of shape (n, n_inputs), or (n,) for actions of one number
            Action in each: any between the smallest and the largest of `actions`.
        X_next : array-like of shape (n, n_features)
            The next state of each.
        terminated : array-like of bool of shape (n,), optional
            Whether that state is terminal (not a time limit). None: none is.

        Returns
        -------
        self : EmbeddingValueIteration
            This controller.

        Raises
        ------
        ValueError, TypeError
            A row or a parameter is invalid, or an action lies outside the grid (the message names
            it); the controller is unchanged.
        KeyboardInterrupt
            Ctrl-C; the transitions processed until then stay learned.
        """
        with self._learning() as controller:
            controller._learn(X, U, X_next, terminated)
        return self

    partial_fit = learn

    def _learn(self, X: Any, U: Any, X_next: Any, terminated: Any) -> None:
        reset = not self.__sklearn_is_fitted__()
        before = self._rows(X, reset=reset)
        if reset:
            self._begin()
        after = numbers_of(X_next, "X_next", estimator=self)
        self._core.learn(*self._encoding.transitions(before, U, after, terminated))

    def flush(self) -> Self:
        """Learn the transitions in the replay buffer of the model, if it has one.

        Returns
        -------
        self : EmbeddingValueIteration
            This controller.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError
            A gradient step would diverge; the controller is unchanged.
        """
        check_is_fitted(self)
        self._core.flush()
        return self

    def improve(self, costs: ArrayLike | None = None) -> Self:
        """Update the value function by value iteration, from its current values, and the policy.

        Takes milliseconds, most of them before the first sweep.

        Parameters
        ----------
        costs : array-like of shape (n_stored_next_, n_actions), optional
            Costs of each action in each of `states_`. None: computed by `cost`.

        Returns
        -------
        self : EmbeddingValueIteration
            This controller.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A cost is not finite (the message names state and action); the controller is unchanged.
        """
        check_is_fitted(self)
        stored = self._core.states()
        given = self._costs(self.states_) if costs is None else self._given(costs, len(stored))
        ends = self._encoding.terminal(stored)
        self.n_sweeps_, self.change_, self.converged_, *_ = self._core.improve(given, ends)
        return self

    def keep(self, score: float) -> bool:
        """Keep the policy of the latest improvement if its score is the best so far.

        Parameters
        ----------
        score : float
            Larger is better, such as a mean return over some episodes.

        Returns
        -------
        kept : bool
            Whether it is the best so far. `act` and `value` use the kept policy.

        Raises
        ------
        NotFittedError
            There is no policy yet.
        ValueError
            The score is not a finite number.
        """
        self._uses_kept("latest")
        return cast(bool, self._core.keep(float(score)))

    # ---------------------------------------------------------------------------------- state

    @property
    def model_(self) -> Koopman:
        """A copy of the operator, in scaled states and actions."""
        check_is_fitted(self)
        return fitted_operator(self._chosen_model(), self._core.operator())

    @property
    def states_(self) -> FloatArray:
        """The stored next states."""
        check_is_fitted(self)
        return self._encoding.decoded(self._core.states())

    @property
    def state_values_(self) -> FloatArray:
        """Values of the stored next states as of the latest improvement."""
        check_is_fitted(self)
        return cast(FloatArray, self._core.state_values())

    @property
    def n_stored_next_(self) -> int:
        """Number of stored next states."""
        check_is_fitted(self)
        return cast(int, self._core.n_stored_next)

    @property
    def has_policy_(self) -> bool:
        """Whether there has been an improvement."""
        check_is_fitted(self)
        return cast(bool, self._core.has_policy)

    @property
    def best_score_(self) -> float:
        """Score of the kept policy; minus infinity if there is none."""
        check_is_fitted(self)
        score = self._core.kept_score
        return -np.inf if score is None else cast(float, score)

    def _chosen_model(self) -> Koopman:
        model = self._default_part("model") if self.model is None else self.model
        if not isinstance(model, Koopman):
            raise TypeError(f"model must be a Koopman with n_inputs, got {model!r}")
        if model.n_delays or model.scale:
            raise ValueError(
                "the model of a controller takes states as they are: leave n_delays at 0 and "
                "scale at None; the controller scales states itself (state_scale)"
            )
        return model

    def _default_part(self, name: str) -> Any:
        if name != "model":
            return None
        return Koopman(
            Gaussian(0.3),
            ALD(0.035, max_size=600),
            Ridge(5e-2),
            n_inputs=action_rows(self.actions).shape[1],
            input_kernel=Gaussian(1.5),
        )

    def _begin(self) -> None:
        """Fix actions and scales, and make the core."""
        self.actions_ = action_rows(self.actions)
        if self.cost is not None and not callable(self.cost):
            raise TypeError(f"cost must be a function of states and actions, got {self.cost!r}")
        self._encode()
        spec = {
            "model": self._chosen_model().to_spec(),
            "actions": (self.actions_ / self._encoding.action_scale).tolist(),
            "discount": as_json("discount", self.discount),
            "sweeps": as_json("sweeps", self.sweeps),
            "tolerance": as_json("tolerance", self.tolerance),
        }
        self._core = _core.Controller(json.dumps(spec))

    def _encode(self) -> None:
        self._encoding = Encoding(
            self.actions_,
            self.n_features_in_,
            self.state_scale,
            self.action_scale,
            episodic=self.episodic,
        )

    # ------------------------------------------------------------------------------ model file

    @classmethod
    def load(cls, path: str | PathLike[str], cost: Cost | None = None) -> Self:
        """Read a controller written by `save`, which writes everything but `cost`, which is code.

        Parameters
        ----------
        path : str or path-like
            The file.
        cost : callable, optional
            The cost function, which is not saved.

        Returns
        -------
        controller : EmbeddingValueIteration
            The controller, bit-identical to the saved one.

        Raises
        ------
        ModelFileError
            The file is not a model file, is corrupted, of another format version, or contains
            another kind of estimator.
        OSError
            The file cannot be read.
        """
        controller = super().load(path)
        controller.cost = cost
        return controller

    def _state(self) -> dict[str, Any]:
        params = self.get_params(deep=False) | {"model": None, "cost": None, "actions": None}
        return {
            "params": encode_parameters(params),
            "model": encode_parameters(self._chosen_model().get_params(deep=False)),
            "actions": self.actions_.tolist(),
            "n_features": self.n_features_in_,
            "feature_names": self._feature_names(),
        }

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        model = Koopman(**decode_parameters(state["model"]))
        controller = cls(**(decode_parameters(state["params"]) | {"model": model}))
        controller.actions = controller.actions_ = np.array(state["actions"], dtype=np.float64)
        controller.n_features_in_ = int(state["n_features"])
        controller._encode()
        controller._set_feature_names(state["feature_names"], controller.n_features_in_)
        controller._core = core
        return controller
