"""Environments of gymnasium: spaces, actions and observations."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["converter", "grid", "held", "observed"]

FloatArray = NDArray[np.float64]


def gymnasium() -> Any:
    """Import the library, or raise an error that names the package to install."""
    try:
        import gymnasium as library  # noqa: PLC0415  (an optional dependency)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            'environments need gymnasium: pip install "kernelstream[control]"'
        ) from None
    return library


class _Held:
    """An environment that repeats each action for several steps of another one."""

    def __init__(self, env: Any, hold: int) -> None:
        self._env, self._hold = env, hold
        self.action_space = env.action_space

    def reset(self, *, seed: int | None = None) -> Any:
        return self._env.reset(seed=seed)

    def step(self, action: Any) -> Any:
        total = 0.0
        for _ in range(self._hold):
            observation, reward, terminated, truncated, info = self._env.step(action)
            total += reward
            if terminated or truncated:
                break
        return observation, total, terminated, truncated, info


def held(env: Any, hold: int = 1) -> Any:
    """Make an environment, in which each action may be repeated.

    Parameters
    ----------
    env : gymnasium.Env or str
        The environment, or its name.
    hold : int, default=1
        Number of steps for which each action is repeated, at least 1.

    Returns
    -------
    env : object
        It has `reset`, `step` and `action_space`; the environment itself for 1.

    Raises
    ------
    ModuleNotFoundError
        gymnasium is not installed.
    ValueError
        `hold` is less than 1.
    """
    if hold < 1:
        raise ValueError(f"hold must be at least 1, got {hold}")
    env = gymnasium().make(env) if isinstance(env, str) else env
    return env if hold == 1 else _Held(env, hold)


def grid(env: Any, n_actions: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute a grid of actions and the scales of states and actions.

    Parameters
    ----------
    env : gymnasium.Env or str
        The environment.
    n_actions : int
        Number of actions along each dimension of a continuous action space, at least 2.

    Returns
    -------
    actions : ndarray of shape (n, n_inputs)
        The grid.
    state_scale, action_scale : ndarray
        Half the width of each dimension; 1 where it is unbounded.

    Raises
    ------
    ValueError
        States or actions are not vectors of numbers.
    """
    spaces = gymnasium().spaces
    env = held(env)
    states, actions = env.observation_space, env.action_space
    if not isinstance(states, spaces.Box) or len(states.shape) != 1:
        raise ValueError(f"observations must be vectors of numbers, got {states}")
    if isinstance(actions, spaces.Discrete):
        numbers = actions.start + np.arange(actions.n, dtype=np.float64)
        return numbers[:, None], _half_widths(states), np.full(1, max(actions.n - 1, 1) / 2.0)
    if not isinstance(actions, spaces.Box) or len(actions.shape) != 1:
        raise ValueError(f"actions must be vectors of numbers or discrete, got {actions}")
    if not (np.isfinite(actions.low).all() and np.isfinite(actions.high).all()):
        raise ValueError(f"{actions} is unbounded: pass the actions to choose from, actions=...")
    if n_actions < 2:
        raise ValueError(f"n_actions must be at least 2, got {n_actions}")
    bounds = zip(actions.low, actions.high, strict=True)
    along = [np.linspace(float(low), float(high), n_actions) for low, high in bounds]
    return np.array(list(product(*along))), _half_widths(states), _half_widths(actions)


def _half_widths(space: Any) -> FloatArray:
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        half = (high - low) / 2.0
    # Unbounded spaces often have the largest float32 as their bounds.
    return np.where((half > 0.0) & (half < 1e6), half, 1.0)


def converter(env: Any, actions: FloatArray) -> list[Any]:
    """Convert actions to those of an environment.

    Parameters
    ----------
    env : gymnasium.Env
        The environment.
    actions : ndarray of shape (n_actions, n_inputs)
        Actions.

    Returns
    -------
    converted : list
        One entry for each action.

    Raises
    ------
    ValueError
        An action is not in the environment's action space.
    """
    spaces = gymnasium().spaces
    space = env.action_space
    converted: list[Any] = []
    for action in actions:
        fits = False
        if isinstance(space, spaces.Discrete) and action.shape == (1,):
            given: Any = int(action[0])
            fits = given == action[0] and space.contains(given)
        elif isinstance(space, spaces.Box):
            given = action.astype(space.dtype)
            fits = space.contains(given)
        if not fits:
            raise ValueError(f"the action {action} is not in the environment's {space}")
        converted.append(given)
    return converted


def observed(observation: Any, width: int | None, when: str) -> FloatArray:
    """Check an observation.

    Parameters
    ----------
    observation : array-like of shape (n_features,)
        Observation of the environment.
    width : int, optional
        Required number of features. None: any.
    when : str
        Description of the time, for error messages.

    Returns
    -------
    state : ndarray of shape (n_features,)
        The state.

    Raises
    ------
    ValueError
        It has another shape, or a component is not finite.
    """
    try:
        state = np.asarray(observation, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"the observation {when} is not a vector of numbers") from None
    if state.ndim != 1 or (width is not None and len(state) != width):
        expected = "a vector of numbers" if width is None else f"{width} numbers"
        raise ValueError(f"the observation {when} has shape {state.shape}, not {expected}")
    if not np.isfinite(state).all():
        raise ValueError(f"the observation {when} is {state}: not finite")
    return state
