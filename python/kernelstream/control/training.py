"""Training on an environment in stages, and evaluation over episodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kernelstream.control import environments
from kernelstream.control.acting import FloatArray, Policy
from kernelstream.control.controller import EmbeddingValueIteration
from kernelstream.control.encoding import action_rows
from kernelstream.estimators.advice import advise
from kernelstream.estimators.progress import ProgressBar
from kernelstream.exceptions import MissingPackageWarning

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Training", "evaluate", "train"]

# Upper bound on the steps of an episode.
_MOST_STEPS = 10_000


@dataclass
class Training:
    """The course of a training, stage by stage.

    Attributes
    ----------
    returns : list of ndarray of shape (n_episodes,)
        Returns of the greedy policy over the evaluation episodes after each stage.
    n_seen : list of int
        Number of transitions learned until then.
    n_stored : list of int
        Number of stored states with actions.
    n_stored_next : list of int
        Number of stored next states.
    best : list of bool
        Whether the policy of the stage was kept as the best so far.
    seconds : list of float
        Time since the start.
    """

    returns: list[FloatArray] = field(default_factory=list)
    n_seen: list[int] = field(default_factory=list)
    n_stored: list[int] = field(default_factory=list)
    n_stored_next: list[int] = field(default_factory=list)
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
    """Train a controller on an environment, in stages.

    Each stage takes some steps with an epsilon-greedy policy (random actions only in the first
    stage), learns the transitions, improves the policy, and evaluates it over some episodes, which
    are the same in all stages and are not learned. The policy with the best mean return is kept,
    and `act` uses it afterwards.

    A controller that was trained before continues from its current state.

    Parameters
    ----------
    env : gymnasium.Env or str
        The environment, or its name. Its rewards select the policy that is kept; actions are
        chosen by the controller's `cost`.
    controller : EmbeddingValueIteration
        The controller. Its actions must be in the environment's action space.
    stages : int, default=20
        Number of stages, 1 or more.
    steps : int, default=400
        Transitions of each stage, 1 or more. A new episode begins when one ends; the last one of a
        stage is truncated.
    hold : int, default=1
        Number of environment steps for which each action is repeated; they count as one, also in
        the evaluation. Useful if the state changes little in a step (8 suits
        MountainCarContinuous-v0).
    epsilon : float, default=0.3
        Probability of a random action.
    episodes : int, default=20
        Number of evaluation episodes, 1 or more. Not used with `evaluation`.
    seed : int, optional
        Seed of all random numbers: the same seed gives the same training. None: a random seed.
    evaluation : callable, optional
        Computes returns of the controller's latest policy (one or several, larger is better) in
        place of episodes on `env`; it should act with ``policy="latest"``.
    on_stage : callable, optional
        Called with the training so far after each stage.
    progress : bool or rich.console.Console, default=False
        Show a progress bar with the stage, stored points and median return (needs ``rich``).

    Returns
    -------
    training : Training
        The course of the training.

    Raises
    ------
    ModuleNotFoundError
        gymnasium is not installed.
    ValueError, TypeError
        An action is not in the environment's space, an observation is not a valid state, a cost is
        not finite, or a parameter is out of range; the message names it.
    Exception
        An error of the environment. In every case, Ctrl-C included, the transitions before it are
        learned and the kept policy remains.
    """
    for name, value in (("stages", stages), ("steps", steps), ("episodes", episodes)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if not 0.0 <= epsilon <= 1.0:
        raise ValueError(f"epsilon must be between 0 and 1, got {epsilon}")
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
            training.n_stored_next.append(controller.n_stored_next_)
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
    """Run episodes and compute their returns.

    Parameters
    ----------
    env : gymnasium.Env or str
        The environment, or its name.
    controller : EmbeddingValueIteration or callable
        A controller, which acts greedily, or a function from an observation to an action of the
        environment.
    episodes : int, default=200
        Number of episodes.
    hold : int, default=1
        Number of environment steps for which each action is repeated, as in `train`.
    seed : int, optional
        Seed of the initial states. None: a random seed.
    policy : {"kept", "latest"}, optional
        Which policy of a controller. None: the kept one, or the latest if none is kept.

    Returns
    -------
    returns : ndarray of shape (episodes,)
        The sum of rewards of each. Episodes are truncated after 10,000 steps.

    Raises
    ------
    ModuleNotFoundError
        gymnasium is not installed.
    ValueError, TypeError
        An observation is not a valid state, or an action is not in the environment's space.
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
    """Make a function from an observation to an action of the environment."""
    if not isinstance(controller, EmbeddingValueIteration):
        return controller
    converted = environments.converter(env, controller.actions_)
    width = controller.n_features_in_

    def act(observation: Any) -> Any:
        state = environments.observed(observation, width, "of an episode")
        return converted[controller.choose(state, policy=policy)]

    return act


def _collect(
    env: Any,
    controller: EmbeddingValueIteration,
    steps: int,
    epsilon: float,
    rng: np.random.Generator,
    when: str,
) -> None:
    """Act for some steps and learn the transitions, also if an error ends them early."""
    trained = controller.__sklearn_is_fitted__()
    actions = controller.actions_ if trained else action_rows(controller.actions)
    converted = environments.converter(env, actions)
    width = controller.n_features_in_ if trained else None
    acts = trained and controller.has_policy_
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
                action = controller.choose(state, policy="latest")
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
    """Make a function that shows the progress of a training."""
    if not progress:
        yield lambda _: None
        return
    console = None if isinstance(progress, bool) else progress
    try:
        bar = ProgressBar(stages, "training", "steps", console=console)
    except ModuleNotFoundError:
        advise("progress is shown with rich: pip install rich", MissingPackageWarning)
        yield lambda _: None
        return

    def show(training: Training) -> None:
        best = float(np.median(training.returns[training.kept]))
        returns = f"median return {training.medians[-1]:.4g}, best {best:.4g}"
        stored = training.n_stored[-1] + training.n_stored_next[-1]
        stage = len(training.returns)
        bar.update(stage, stage * steps, returns, stored)

    with bar:
        yield show
