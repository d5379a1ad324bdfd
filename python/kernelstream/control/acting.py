"""The policy of a controller: actions, and values of states and actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from kernelstream.control.encoding import Encoding
from kernelstream.estimators.validation import as_float64

__all__ = ["Acting", "Cost", "FloatArray", "Policy"]

FloatArray = NDArray[np.float64]
Cost = Callable[[FloatArray, FloatArray], ArrayLike]
Policy = Literal["kept", "latest"]


class Acting:
    """Greedy actions with respect to a value function.

    A derived class holds the parameter ``cost``, its core in ``_core`` and, once fitted,
    ``actions_``, ``n_features_in_`` and the encoding of states and actions in ``_encoding``.
    """

    cost: Cost | None
    actions_: FloatArray
    n_features_in_: int
    _core: Any
    _encoding: Encoding

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
            Probability of a uniformly random action instead of the greedy one.
        rng : numpy.random.Generator or int, optional
            Generator or seed of the random actions, used with `epsilon` only. None: a random seed.
        policy : {"kept", "latest"}, optional
            Which policy. None: the kept one, or the latest if none is kept.
        costs : array-like of shape (n_actions,) or (n, n_actions), optional
            Costs of each action in each state. None: computed by `cost`.

        Returns
        -------
        action : ndarray of shape (n_inputs,) or (n, n_inputs)
            One of `actions_`, or one for each row.

        Raises
        ------
        NotFittedError
            There is no policy yet.
        ValueError, TypeError
            A state is invalid or a cost is not finite (the message names it).
        """
        kept = self._uses_kept(policy)
        states = np.asarray(x)
        if not 0.0 <= epsilon <= 1.0:
            raise ValueError(f"epsilon must be between 0 and 1, got {epsilon}")
        single = states.ndim == 1
        rows, given = self._states_and_costs(states[None] if single else states, costs)
        scaled = self._encoding.states(rows)
        if single:
            chosen = np.array([self._core.greedy_one(scaled[0], given[0], kept)])
        else:
            chosen = self._core.greedy(scaled, given, kept).astype(np.int64)
        if epsilon > 0.0:
            generator = np.random.default_rng(rng)
            explores = generator.random(len(rows)) < epsilon
            any_of_them = generator.integers(len(self.actions_), size=len(rows))
            chosen = np.where(explores, any_of_them, chosen)
        actions = self.actions_[chosen]
        return cast(FloatArray, actions[0] if single else actions)

    def choose(self, x: FloatArray, *, policy: Policy | None = None) -> int:
        """Choose the index of the greedy action for one valid state, for live use.

        Parameters
        ----------
        x : ndarray of float64 of shape (n_features,)
            A state, which is not checked.
        policy : {"kept", "latest"}, optional
            Which policy. None: the kept one, or the latest if none is kept.

        Returns
        -------
        index : int
            The action is ``actions_[index]``.

        Raises
        ------
        NotFittedError
            There is no policy yet.
        ValueError, TypeError
            A cost is not finite (the message names it).
        """
        kept = self._uses_kept(policy)
        rows = x[None]
        scaled = self._encoding.states(rows)
        return cast(int, self._core.greedy_one(scaled[0], self._costs(rows)[0], kept))

    def action_values(
        self, X: ArrayLike, *, policy: Policy | None = None, costs: ArrayLike | None = None
    ) -> FloatArray:
        """Compute the action values ``c(x, u) + discount * E[v(x_next) | x, u]``.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            States.
        policy : {"kept", "latest"}, optional
            Which value function. None: that of the kept policy, or the latest if none is kept.
        costs : array-like of shape (n, n_actions), optional
            Costs of each action in each state. None: computed by `cost`.

        Returns
        -------
        values : ndarray of shape (n, n_actions)
            Expected discounted costs; the smallest of a row belongs to the greedy action.

        Raises
        ------
        NotFittedError
            There is no policy yet.
        ValueError, TypeError
            A state is invalid or a cost is not finite (the message names it).
        """
        kept = self._uses_kept(policy)
        rows, given = self._states_and_costs(X, costs)
        return cast(FloatArray, self._core.action_values(self._encoding.states(rows), given, kept))

    def value(
        self, X: ArrayLike, *, policy: Policy | None = None, costs: ArrayLike | None = None
    ) -> FloatArray:
        """Compute the value of states: the expected discounted cost of greedy actions.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            States.
        policy : {"kept", "latest"}, optional
            Which value function. None: that of the kept policy, or the latest if none is kept.
        costs : array-like of shape (n, n_actions), optional
            Costs of each action in each state. None: computed by `cost`.

        Returns
        -------
        values : ndarray of shape (n,)
            In the units of a cost.

        Raises
        ------
        NotFittedError
            There is no policy yet.
        ValueError, TypeError
            A state is invalid or a cost is not finite (the message names it).
        """
        kept = self._uses_kept(policy)
        rows, given = self._states_and_costs(X, costs)
        return cast(FloatArray, self._core.values(self._encoding.states(rows), given, kept))

    def _states_and_costs(
        self, X: ArrayLike, costs: ArrayLike | None
    ) -> tuple[FloatArray, FloatArray]:
        """Check states, and the costs of every action in them (n, n_actions)."""
        rows = as_float64(np.asarray(X), "X")
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"states have shape {rows.shape}, but the controller has learned states with "
                f"{self.n_features_in_} features"
            )
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            raise ValueError(f"X contains {rows[row, column]} at row {row}, column {column}")
        return rows, self._costs(rows) if costs is None else self._given(costs, len(rows))

    def _costs(self, X: FloatArray) -> FloatArray:
        """Evaluate the cost of every action in each state (n, n_actions)."""
        if self.cost is None:
            raise ValueError("this controller has no cost function: pass an array, costs=...")
        n_actions = len(self.actions_)
        states = np.repeat(X, n_actions, axis=0)
        actions = self.actions_ if len(X) == 1 else np.tile(self.actions_, (len(X), 1))
        costs = as_float64(np.asarray(self.cost(states, actions)), "cost(X, U)")
        if costs.shape != (len(states),):
            raise ValueError(
                f"cost(X, U) returned an array of shape {costs.shape} for {len(states)} states and "
                f"actions; ({len(states)},) is needed"
            )
        if not np.isfinite(costs).all():
            bad = int(np.argmin(np.isfinite(costs)))
            raise ValueError(
                f"cost(X, U) returned {costs[bad]} for the state {states[bad]} and the action "
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

    def _uses_kept(self, policy: Policy | None) -> bool:
        """Resolve a policy: whether it is the kept one. Raise an error if it does not exist."""
        if policy not in {None, "kept", "latest"}:
            raise ValueError(f'policy must be "kept", "latest" or None, got {policy!r}')
        if "_core" not in vars(self):
            check_is_fitted(self)
        has_kept = self._core.kept_score is not None
        kept = policy == "kept" or (policy is None and has_kept)
        if kept and not has_kept:
            raise NotFittedError("no policy is kept: call keep(score) after improve()")
        if not kept and not self._core.has_policy:
            raise NotFittedError("there is no policy yet: call improve() after learn(...)")
        return kept
