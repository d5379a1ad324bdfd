"""Training on an environment in stages, and episodes to measure by."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream.control import environments
from kernelstream.control.controller import EmbeddingValueIteration, Policy

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Training", "evaluate", "train"]

FloatArray = NDArray[np.float64]

# Episodes that nothing else ends are ended after so many steps.
_MOST_STEPS = 10_000


@dataclass
class Training:
    """How a training went, stage by stage.

    Attributes
    ----------
    returns : list of ndarray of shape (n_episodes,)
        Returns of the greedy policy over the episodes played after each stage.
    n_seen : list of int
        Transitions learned by then.
    n_stored : list of int
        Stored states with actions by then.
    n_outputs : list of int
        Stored next states by then.
    best : list of bool
        Whether the policy of the stage was kept as the best so far.
    seconds : list of float
        Time since the beginning.
    """

    returns: list[FloatArray] = field(default_factory=list)
    n_seen: list[int] = field(default_factory=list)
    n_stored: list[int] = field(default_factory=list)
    n_outputs: list[int] = field(default_factory=list)
    best: list[bool] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def medians(self) -> FloatArray:
        """Median return of each stage's policy."""
        return np.array([np.median(returns) for returns in self.returns])

    @property
    def kept(self) -> int:
        """Stage, from 0, whose policy is kept; -1 before the first."""
        return max((i for i, best in enumerate(self.best) if best), default=-1)


def train(
    env: Any,
    controller: EmbeddingValueIteration,
    *,
    stages: int = 20,
    steps: int = 400,
    hold: int = 1,
    epsilon: float = 0.3,
    episodes: int = 20,
    seed: int | None = None,
    evaluation: Callable[[EmbeddingValueIteration], ArrayLike] | None = None,
    on_stage: Callable[[Training], object] | None = None,
    progress: bool | Console = False,
) -> Training:
    """Let a controller learn on an environment, in stages.

    In each stage the controller acts for some steps, mostly as it thinks best and sometimes at
    random (the first stage is all random); learns from what happened; improves its policy; and
    plays some episodes without learning from them, always the same ones, to find out how good the
    policy is. The policy with the best mean return is kept, and `act` goes by it afterwards.

    A controller that was trained before goes on from there.

    Parameters
    ----------
    env : gymnasium.Env or str
        The environment, or its name. Its rewards do not choose actions, the controller's `cost`
        does; they choose the policy that is kept.
    controller : EmbeddingValueIteration
        What learns. Its actions are in the environment's action space.
    stages : int, default=20
        How many, 1 or more.
    steps : int, default=400
        Transitions in each, 1 or more. An episode that ends makes place for the next; the last one
        of a stage is broken off.
    hold : int, default=1
        Steps of the environment for which each action is done; they count as one, and an episode is
        judged with the same. Where little happens in a step, such as in MountainCarContinuous-v0
        (8 is good there), more can be learned of several.
    epsilon : float, default=0.3
        Probability of an action at random.
    episodes : int, default=20
        Episodes to measure a policy by, 1 or more. They count for nothing with `evaluation`.
    seed : int, optional
        Where all chances come from: the same seed gives the same training. None: another each time.
    evaluation : callable, optional
        Gives the returns of the controller's latest policy (one or several, the larger the better)
        in place of episodes on `env`; it acts with ``policy="latest"``.
    on_stage : callable, optional
        Called with the training so far after each stage.
    progress : bool or rich.console.Console, default=False
        Show a bar with the stage, stored points and median return (needs ``rich``).

    Returns
    -------
    training : Training
        How it went.

    Raises
    ------
    ModuleNotFoundError
        gymnasium is not installed.
    ValueError, TypeError
        An action is not in the environment's space, an observation is no state, a cost is no
        number, or a parameter is out of range; the message names it.
    Exception
        Whatever the environment raises. In every case, Ctrl-C included, the transitions before it
        are learned and the policy that was kept stays.
    """
    for name, value in (("stages", stages), ("steps", steps), ("episodes", episodes)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if not 0.0 <= epsilon <= 1.0:
        raise ValueError(f"epsilon must be from 0 to 1, got {epsilon}")
    env = environments.held(env, hold)
    rng = np.random.default_rng(seed)
    measured = int(rng.integers(2**31))
    training = Training()
    begun = time.perf_counter()
    with _bar(progress, stages, steps) as show:
        for stage in range(stages):
            _collect(env, controller, steps, epsilon, rng, f"in stage {stage + 1}")
            controller.flush().improve()
            if evaluation is None:
                returns = evaluate(env, controller, episodes, seed=measured, policy="latest")
            else:
                returns = np.atleast_1d(np.asarray(evaluation(controller), dtype=np.float64))
            training.best.append(controller.keep(float(np.mean(returns))))
            training.returns.append(returns)
            training.n_seen.append(controller.n_seen_)
            training.n_stored.append(controller.n_stored_)
            training.n_outputs.append(controller.n_outputs_)
            training.seconds.append(time.perf_counter() - begun)
            show(training)
            if on_stage is not None:
                on_stage(training)
    return training


def evaluate(
    env: Any,
    controller: EmbeddingValueIteration | Callable[[FloatArray], ArrayLike],
    episodes: int = 200,
    *,
    hold: int = 1,
    seed: int | None = None,
    policy: Policy | None = None,
) -> FloatArray:
    """Play episodes and give their returns.

    Parameters
    ----------
    env : gymnasium.Env or str
        The environment, or its name.
    controller : EmbeddingValueIteration or callable
        Who acts: a controller, always as it thinks best, or a function from an observation to an
        action of the environment.
    episodes : int, default=200
        How many.
    hold : int, default=1
        Steps of the environment for which each action is done, as in `train`.
    seed : int, optional
        Where their beginnings come from. None: others each time.
    policy : {"kept", "latest"}, optional
        Which policy of a controller. None: the one that is kept, or the latest if none is.

    Returns
    -------
    returns : ndarray of shape (episodes,)
        The sum of rewards of each. An episode that goes on for 10,000 steps is broken off there.

    Raises
    ------
    ModuleNotFoundError
        gymnasium is not installed.
    ValueError, TypeError
        An observation is no state, or an action is not in the environment's space.
    """
    env = environments.held(env, hold)
    rng = np.random.default_rng(seed)
    act = _actor(env, controller, policy)
    returns = np.zeros(episodes)
    for i in range(episodes):
        observation, _ = env.reset(seed=int(rng.integers(2**31)))
        for step in range(_MOST_STEPS):
            observation, reward, terminated, truncated, _ = env.step(act(observation))
            if not np.isfinite(reward):
                raise ValueError(f"the reward at step {step} of episode {i} is {reward}")
            returns[i] += float(reward)
            if terminated or truncated:
                break
    return returns


def _actor(
    env: Any, controller: EmbeddingValueIteration | Callable[..., Any], policy: Policy | None
) -> Callable[[Any], Any]:
    """Give a function from an observation to an action as the environment takes it."""
    if not isinstance(controller, EmbeddingValueIteration):
        return controller
    converted = environments.converter(env, controller.actions_)
    width = controller.n_features_in_

    def act(observation: Any) -> Any:
        state = environments.observed(observation, width, "of an episode")
        return converted[controller._choose(state, policy)]

    return act


def _collect(
    env: Any,
    controller: EmbeddingValueIteration,
    steps: int,
    epsilon: float,
    rng: np.random.Generator,
    when: str,
) -> None:
    """Act for some steps and learn what happened, also if something goes wrong on the way."""
    trained = controller.__sklearn_is_fitted__()
    actions = controller._grid()
    converted = environments.converter(env, actions)
    width = controller.n_features_in_ if trained else None
    acts = trained and controller._core.has_policy
    X: list[FloatArray] = []
    X_next: list[FloatArray] = []
    chosen: list[int] = []
    ends: list[bool] = []

    def learn() -> None:
        if X:
            controller.learn(np.array(X), actions[chosen], np.array(X_next), np.array(ends))

    over = True
    state = np.zeros(0)
    try:
        for step in range(steps):
            if over:
                observation, _ = env.reset(seed=int(rng.integers(2**31)))
                state = environments.observed(observation, width, f"after a reset {when}")
                width = len(state)
            if not acts or rng.random() < epsilon:
                action = int(rng.integers(len(actions)))
            else:
                action = controller._choose(state, "latest")
            observation, _, terminated, truncated, _ = env.step(converted[action])
            after = environments.observed(observation, width, f"{when}, step {step + 1},")
            X.append(state)
            X_next.append(after)
            chosen.append(action)
            ends.append(bool(terminated))
            state, over = after, bool(terminated or truncated)
    except BaseException as error:
        try:
            learn()
        except ValueError as other:
            error.add_note(f"the {len(X)} transitions {when} could not be learned: {other}")
        else:
            error.add_note(f"the {len(X)} transitions {when} before this are learned")
        raise
    learn()


@contextmanager
def _bar(progress: bool | Console, stages: int, steps: int) -> Iterator[Callable[[Training], None]]:
    """Give a function that shows how far a training has come."""
    if not progress:
        yield lambda _: None
        return
    try:
        from rich.progress import (  # noqa: PLC0415  (an optional dependency)
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )
    except ModuleNotFoundError:
        warnings.warn("progress is shown with rich: pip install rich", stacklevel=4)
        yield lambda _: None
        return
    bar = Progress(
        TextColumn("stage"),
        MofNCompleteColumn(),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[status]}"),
        TimeRemainingColumn(),
        console=None if isinstance(progress, bool) else progress,
    )

    def show(training: Training) -> None:
        stage = len(training.returns)
        stored = f"{training.n_stored[-1]} + {training.n_outputs[-1]} stored"
        median = f"median return [bold]{training.medians[-1]:.4g}[/]"
        best = float(np.median(training.returns[training.kept]))
        status = f"{stage * steps:,} steps · {stored} · {median} · best {best:.4g}"
        bar.update(task, completed=stage, status=status)

    with bar:
        task = bar.add_task("", total=stages, status="")
        yield show
