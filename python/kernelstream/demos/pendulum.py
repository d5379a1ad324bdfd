"""Swing up a pendulum with a policy learned from observed transitions only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelstream.control import EmbeddingValueIteration, Training, evaluate, train
from kernelstream.plots import CYCLE, FAINT, style_axes

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console

__all__ = ["cost", "run"]

_NAME = "Pendulum-v1"
_HELD_OUT = 200  # episodes that evaluate the kept policy
_FORMATS = (".gif", ".webp", ".png")


def cost(X: NDArray[np.float64], U: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the cost of a step, the negative reward of the environment."""
    angle = np.arctan2(X[:, 1], X[:, 0])
    return np.asarray(angle**2 + 0.1 * X[:, 2] ** 2 + 0.001 * U[:, 0] ** 2)


def run(
    output: Path,
    console: Console,
    *,
    seed: int = 0,
    out: Path | None = None,
    animation: Path | None = None,
    stages: int = 20,
) -> tuple[Path, str]:
    """Train in stages, then plot returns and value function."""
    if animation is not None and animation.suffix.lower() not in _FORMATS:
        raise ValueError(f"an animation must be {', '.join(_FORMATS)}, got {animation.name!r}")
    controller = EmbeddingValueIteration.for_environment(_NAME, cost)
    console.print(
        f"learning to swing up {_NAME}: {stages} stages of 400 steps, the first with random torques"
    )
    training = train(_NAME, controller, stages=stages, seed=seed, progress=console)
    picture = output / "pendulum.png" if out is None else out
    _draw(controller, training, picture)
    if animation is not None:
        _film(controller, animation, seed)
        console.print(f"animation saved: [bold]{animation}[/]")
    returns = evaluate(_NAME, controller, _HELD_OUT, seed=seed + 1_000_000)
    return picture, (
        f"median return of the kept policy over {_HELD_OUT} held-out episodes: "
        f"[bold]{np.median(returns):.1f}[/]"
    )


def _draw(controller: EmbeddingValueIteration, training: Training, path: Path) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415  (an optional dependency)

    figure = Figure(figsize=(12.0, 4.8), layout="constrained")
    curve_axes, value_axes = figure.subplots(1, 2)
    _returns(curve_axes, training)
    _values(value_axes, controller)
    figure.savefig(path, dpi=130)


def _returns(axes: Any, training: Training) -> None:
    steps = np.array(training.n_seen)
    colour = CYCLE[0]
    for low, shade in ((0.0, 0.12), (0.25, 0.25)):
        band = np.quantile(training.returns, [low, 1.0 - low], axis=1)
        label = "all episodes" if low == 0.0 else "half of them"
        axes.fill_between(steps, *band, color=colour, alpha=shade, linewidth=0, label=label)
    axes.plot(steps, training.medians, color=colour, linewidth=1.8, label="median")
    kept = training.kept
    axes.plot(
        steps[kept],
        training.medians[kept],
        "o",
        color=CYCLE[1],
        label="kept",
        markersize=7,
        zorder=3,
    )
    axes.set(xlabel="steps learned", ylabel="return of an episode")
    axes.set_title("policy after each stage", fontsize=10)
    axes.legend(frameon=False, loc="lower right", fontsize=9)
    axes.grid(axis="y", color="#eceef0", linewidth=0.8)
    style_axes(axes, frame=False)


def _values(axes: Any, controller: EmbeddingValueIteration) -> None:
    angle, speed = np.linspace(-np.pi, np.pi, 181), np.linspace(-8.0, 8.0, 161)
    grid = np.stack(np.meshgrid(angle, speed), axis=-1).reshape(-1, 2)
    states = np.column_stack([np.cos(grid[:, 0]), np.sin(grid[:, 0]), grid[:, 1]])
    values = controller.value(states).reshape(len(speed), len(angle))
    image = axes.imshow(
        values,
        extent=(-np.pi, np.pi, -8.0, 8.0),
        origin="lower",
        aspect="auto",
        cmap="viridis_r",
    )
    axes.figure.colorbar(image, ax=axes, label="expected discounted cost")
    stored = controller.states_
    axes.plot(np.arctan2(stored[:, 1], stored[:, 0]), stored[:, 2], "+", color="white", alpha=0.5)
    path = _episode(controller, 0)
    axes.plot(path[:, 0], path[:, 1], ".", color=CYCLE[1], markersize=4, label="one episode")
    axes.set(xlabel="angle (0 is upright)", ylabel="angular velocity (1/s)")
    axes.set_title(
        f"value function; stored: {controller.n_stored_next_} next states (+), "
        f"{controller.n_stored_} states with actions;\n"
        "far from them it is 0 (bright lobes), so that the policy goes there to look",
        fontsize=10,
    )
    axes.legend(loc="upper right", fontsize=9, facecolor="white", edgecolor=FAINT)
    style_axes(axes)


def _episode(controller: EmbeddingValueIteration, seed: int) -> NDArray[np.float64]:
    """Compute angle and angular velocity along an episode that starts hanging down."""
    import gymnasium  # noqa: PLC0415  (an optional dependency)

    env = gymnasium.make(_NAME)
    env.reset(seed=seed)
    pendulum: Any = env.unwrapped
    pendulum.state = np.array([np.pi, 0.0])
    state, path = np.array([-1.0, 0.0, 0.0]), []
    for _ in range(200):
        path.append((np.arctan2(state[1], state[0]), state[2]))
        state, *_ = env.step(controller.act(state).astype(np.float32))
    return np.array(path)


def _film(controller: EmbeddingValueIteration, path: Path, seed: int) -> None:
    """Save an animation of an episode."""
    import gymnasium  # noqa: PLC0415  (an optional dependency)
    from PIL import Image  # noqa: PLC0415  (comes with matplotlib)

    env = gymnasium.make(_NAME, render_mode="rgb_array")
    state, _ = env.reset(seed=seed)
    frames = []
    for _ in range(200):
        picture: Any = env.render()
        frames.append(Image.fromarray(picture).resize((250, 250)))
        state, *_ = env.step(controller.act(state).astype(np.float32))
    env.close()
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=50, loop=0)
