"""States and actions of a controller as its operator receives them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream.estimators.validation import as_float64
from kernelstream.koopman.inputs import rows_of_inputs

__all__ = ["Encoding", "action_rows"]

FloatArray = NDArray[np.float64]

# A terminal state has this in a column of its own, which makes it dissimilar to every other state.
_TERMINAL = 4.0


class Encoding:
    """Scaled states and actions; with `episodic`, a column that marks terminal states.

    Parameters
    ----------
    actions : ndarray of shape (n_actions, n_inputs)
        The grid of actions.
    n_features : int
        Number of components of a state.
    state_scale, action_scale : array-like or None
        Positive numbers by which states and actions are divided, one or one for each column.
    episodic : bool
        Whether states may be terminal.
    """

    def __init__(
        self,
        actions: FloatArray,
        n_features: int,
        state_scale: ArrayLike | None,
        action_scale: ArrayLike | None,
        *,
        episodic: bool,
    ) -> None:
        self.actions = actions
        self.state_scale = _scale("state_scale", state_scale, n_features)
        self.action_scale = _scale("action_scale", action_scale, actions.shape[1])
        self.episodic = episodic

    def states(self, X: FloatArray, terminal: NDArray[np.bool_] | None = None) -> FloatArray:
        """Scale states, and mark those that are terminal.

        Parameters
        ----------
        X : ndarray of shape (n, n_features)
            States.
        terminal : ndarray of bool of shape (n,), optional
            Which are terminal. None: none is.

        Returns
        -------
        rows : ndarray of shape (n, n_features) or (n, n_features + 1)
            States of the operator.
        """
        scaled = X / self.state_scale
        if not self.episodic:
            return scaled
        marks = np.zeros((len(X), 1))
        if terminal is not None:
            marks[terminal] = _TERMINAL
        return np.hstack([scaled, marks])

    def decoded(self, rows: FloatArray) -> FloatArray:
        """Undo `states`.

        Parameters
        ----------
        rows : ndarray of shape (n, n_features) or (n, n_features + 1)
            States of the operator.

        Returns
        -------
        X : ndarray of shape (n, n_features)
            States.
        """
        return rows[:, : len(self.state_scale)] * self.state_scale

    def terminal(self, rows: FloatArray) -> list[bool] | None:
        """Find the terminal states of the operator; None if no state can be terminal.

        Parameters
        ----------
        rows : ndarray of shape (n, n_features) or (n, n_features + 1)
            States of the operator.

        Returns
        -------
        terminal : list of bool of length n, or None
            Whether each is terminal.
        """
        return (rows[:, -1] > 0.5 * _TERMINAL).tolist() if self.episodic else None

    def transitions(
        self, X: FloatArray, U: Any, X_next: FloatArray, terminated: ArrayLike | None
    ) -> tuple[FloatArray, FloatArray]:
        """Encode transitions as pairs of the operator.

        Parameters
        ----------
        X : ndarray of shape (n, n_features)
            States.
        U : array-like of shape (n, n_inputs), or (n,) for one component
            Actions.
        X_next : ndarray of shape (n, n_features)
            Next states.
        terminated : array-like of bool of shape (n,), optional
            Whether each next state is terminal. None: none is.

        Returns
        -------
        before, after : ndarray
            States with their actions, and next states.

        Raises
        ------
        ValueError, TypeError
            Shapes do not agree, or an action lies outside the grid; the message says where.
        """
        if X_next.shape != X.shape:
            raise ValueError(f"X has shape {X.shape} but X_next {X_next.shape}")
        acting = rows_of_inputs(U, len(X), self.actions.shape[1], "U")
        self._check_range(acting)
        ends = self._ends(terminated, len(X))
        joint = np.hstack([self.states(X), acting / self.action_scale])
        return joint, self.states(X_next, ends)

    def _ends(self, terminated: ArrayLike | None, n: int) -> NDArray[np.bool_]:
        ends = np.zeros(n, dtype=bool) if terminated is None else np.asarray(terminated)
        if ends.shape != (n,) or ends.dtype.kind != "b":
            raise ValueError(f"terminated must be {n} booleans, got {ends.dtype} of {ends.shape}")
        if ends.any() and not self.episodic:
            raise ValueError(
                f"the transition at row {int(np.argmax(ends))} is terminal: make the controller "
                "with episodic=True"
            )
        return ends

    def _check_range(self, U: FloatArray) -> None:
        low, high = self.actions.min(axis=0), self.actions.max(axis=0)
        slack = 1e-6 * (high - low + np.abs(high))
        outside = ((low - slack > U) | (high + slack < U)).any(axis=1)
        if outside.any():
            row = int(np.argmax(outside))
            raise ValueError(
                f"U at row {row} is {U[row]}, outside the grid of actions, which ranges from "
                f"{low} to {high}"
            )


def action_rows(actions: ArrayLike | None) -> FloatArray:
    """Check a grid of actions.

    Parameters
    ----------
    actions : array-like of shape (n_actions, n_inputs) or (n_actions,), or None
        The grid.

    Returns
    -------
    actions : ndarray of shape (n_actions, n_inputs)
        The grid as rows.

    Raises
    ------
    ValueError, TypeError
        There are no actions, or they are not rows of finite numbers.
    """
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
