"""Basins of attraction of a Duffing oscillator, from a stream of short trajectories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelstream import plots
from kernelstream.components.kernels import Gaussian
from kernelstream.datasets import duffing, duffing_basin
from kernelstream.demos.pairs import Growth, field_map, grid, learn
from kernelstream.koopman.metastable import metastable_sets
from kernelstream.presets import recursive_koopman, sparse_koopman

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console

    from kernelstream.koopman import Koopman

__all__ = ["run"]

_EDGE, _RESOLUTION = 2.0, 151
_LABELS = ("position", "velocity")


def run(output: Path, console: Console, n_trajectories: int = 2000) -> Path:
    """Learn the operator by least squares and by sparse gradient, then plot the results."""
    streamed = duffing(10, n_trajectories=n_trajectories, random_state=0)
    console.print(
        f"learning the Koopman operator of {streamed.description} from {n_trajectories:,} "
        "trajectories of 10 steps, in order"
    )
    squares = recursive_koopman(Gaussian(0.3), tolerance=1e-2, regularization=0.1)
    gradient = sparse_koopman(Gaussian(0.3), 0.2, 2.0, power=3, regularization=1e-3)
    curves = {
        "least squares": learn(squares, streamed.trajectories, console, "least squares  "),
        "sparse gradient": learn(gradient, streamed.trajectories, console, "sparse gradient"),
    }
    points = grid(_EDGE, _RESOLUTION)
    truth = duffing_basin(points)
    learned, right = _basins(squares, points, truth)
    _, right_by_gradient = _basins(gradient, points, truth)
    console.print(
        f"basins correct, of {len(points):,} grid points: least squares [bold]{right:.1%}[/] with "
        f"{squares.n_stored_} stored states, sparse gradient [bold]{right_by_gradient:.1%}[/] with "
        f"{gradient.n_stored_}"
    )
    return _draw(squares, curves, learned, truth, right, output / "duffing.png")


def _basins(
    model: Koopman, points: NDArray[np.float64], truth: NDArray[np.int64]
) -> tuple[NDArray[np.int64], float]:
    """Compute the learned basin (-1 or 1) of each point, and the fraction that is correct."""
    learned = 2 * metastable_sets(model, points, 2, random_state=0) - 1
    decided = truth != 0
    right = float(np.mean(learned[decided] == truth[decided]))
    # Which set is called which is arbitrary.
    return (learned, right) if right >= 0.5 else (-learned, 1.0 - right)


def _draw(
    model: Koopman,
    curves: dict[str, Growth],
    learned: NDArray[np.int64],
    truth: NDArray[np.int64],
    right: float,
    path: Path,
) -> Path:
    from matplotlib.figure import Figure  # noqa: PLC0415  (an optional dependency)

    figure = Figure(figsize=(11.5, 9.2), layout="constrained")
    function_axes, basin_axes, disc_axes, size_axes = figure.subplots(2, 2).ravel()
    shown = duffing(60, n_trajectories=5, random_state=4).trajectories

    plots.eigenfunction(
        _slow_function(model),
        box=(-_EDGE, _EDGE, -_EDGE, _EDGE),
        trajectories=shown,
        points=model.dictionary_,
        labels=_LABELS,
        ax=function_axes,
    )
    function_axes.set_title(
        f"the slow eigenfunction, {model.n_stored_} stored states (+), five trajectories",
        fontsize=10,
    )
    field_map(
        basin_axes,
        (learned + 1) // 2,
        _EDGE,
        ["#9ec9e2", "#f4b6a6"],
        (learned != truth) & (truth != 0),
    )
    _separate(basin_axes, truth)
    basin_axes.set(xlabel=_LABELS[0], ylabel=_LABELS[1])
    basin_axes.set_title(
        f"basins: {right:.1%} correct (wrong: black; line: true boundary)",
        fontsize=10,
    )
    before, after = duffing(10, random_state=1).pairs()
    plots.spectrum(model, residuals=model.residuals(before, after, kind="raw"), n=120, ax=disc_axes)
    disc_axes.set_title("spectrum, with residuals on held-out trajectories", fontsize=10)
    for label, curve in curves.items():
        plots.growth(curve.seen, curve.stored, label=label, ax=size_axes)
    size_axes.set(xlabel="pairs seen", ylabel="states stored")
    size_axes.set_title("size of the dictionary", fontsize=10)
    figure.savefig(path, dpi=130)
    return path


def _slow_function(model: Koopman) -> Any:
    """Return the non-constant one of the two eigenfunctions whose eigenvalues are nearest to 1."""
    nearest = np.argsort(np.abs(model.eigenvalues_ - 1.0), kind="stable")[:2]
    values = model.eigenfunctions(model.dictionary_, int(nearest.max()) + 1)[:, nearest].real
    index = int(nearest[np.argmax(values.std(axis=0))])
    left, right = model.eigenfunctions([[-1.0, 0.0], [1.0, 0.0]], index + 1)[:, index].real
    sign = 1.0 if right >= left else -1.0  # red is the basin of the right stable point

    def function(points: NDArray[np.float64]) -> NDArray[np.float64]:
        return sign * model.eigenfunctions(points, index + 1)[:, index].real

    return function


def _separate(axes: Any, truth: NDArray[np.int64]) -> None:
    side = np.linspace(-_EDGE, _EDGE, _RESOLUTION)
    axes.contour(
        side,
        side,
        truth.reshape(_RESOLUTION, _RESOLUTION),
        levels=[0.0],
        colors="0.25",
        linewidths=1.2,
    )
