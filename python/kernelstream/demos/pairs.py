"""Shared by the demonstrations of the Koopman operator: learning a stream of trajectories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelstream.estimators.progress import ProgressBar
from kernelstream.plots import style_axes

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console

    from kernelstream.koopman import Koopman

__all__ = ["Growth", "field_map", "grid", "learn"]


@dataclass
class Growth:
    """Number of stored states against the number of pairs."""

    seen: list[int] = field(default_factory=lambda: [0])
    stored: list[int] = field(default_factory=lambda: [0])


def learn(
    model: Koopman, trajectories: NDArray[np.float64], console: Console, label: str, lag: int = 1
) -> Growth:
    """Learn trajectories one after the other, with a progress bar."""
    growth = Growth()
    total = len(trajectories) * (trajectories.shape[1] - lag)
    at_once = max(1, 200 // trajectories.shape[1])
    with ProgressBar(total, label, "pairs", console=console) as bar:
        for start in range(0, len(trajectories), at_once):
            model.partial_fit_trajectory(trajectories[start : start + at_once])
            bar.update(model.n_seen_, model.n_seen_, stored=model.n_stored_)
            growth.seen.append(model.n_seen_)
            growth.stored.append(model.n_stored_)
    return growth


def grid(edge: float, resolution: int) -> NDArray[np.float64]:
    """Compute the grid points of a square around the origin, row by row from the bottom."""
    side = np.linspace(-edge, edge, resolution)
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


def field_map(
    axes: Any,
    labels: NDArray[np.int64],
    edge: float,
    colours: list[str],
    wrong: NDArray[np.bool_] | None = None,
) -> None:
    """Colour a square by the set of each of its points."""
    from matplotlib.colors import to_rgb  # noqa: PLC0415  (an optional dependency)

    side = round(len(labels) ** 0.5)
    image = np.array([to_rgb(colour) for colour in colours])[labels]
    if wrong is not None:
        image[wrong] = 0.1
    axes.imshow(
        image.reshape(side, side, 3),
        extent=(-edge, edge, -edge, edge),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
    )
    style_axes(axes)
