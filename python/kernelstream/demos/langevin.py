"""Metastable sets and timescales of Langevin dynamics in four wells, from a stream of states."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kernelstream import plots
from kernelstream.components.kernels import Gaussian, Sum
from kernelstream.datasets import (
    Dynamics,
    four_well_density,
    four_well_eigenvalues,
    four_well_langevin,
)
from kernelstream.demos.pairs import Growth, field_map, grid, learn
from kernelstream.koopman.metastable import metastable_sets
from kernelstream.presets import recursive_koopman

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console

    from kernelstream.koopman import Koopman

__all__ = ["run"]

_EDGE, _RESOLUTION = 2.0, 151
_LAGS = (1, 2, 4, 8, 16)
_WELLS = ["#9ec9e2", "#f4b6a6", "#a8d8b4", "#f0d68a"]


def run(output: Path, console: Console, n_trajectories: int = 400) -> Path:
    """Learn the operator at several lags, then plot the results."""
    streamed = four_well_langevin(200, n_trajectories=n_trajectories, random_state=0)
    console.print(
        f"learning the Koopman operator of {streamed.description} from {n_trajectories:,} "
        f"trajectories of 200 steps, at lags {', '.join(map(str, _LAGS))}"
    )
    kernel = Sum([Gaussian(0.4), Gaussian(0.7)], [0.4, 0.6])
    models: list[Koopman] = []
    curve = Growth()
    for lag in _LAGS:
        model = recursive_koopman(kernel, tolerance=1e-2)
        model.set_params(lag=lag, time_step=streamed.time_step)
        learned = learn(model, streamed.trajectories, console, f"lag {lag:<2}", lag=lag)
        curve = curve if models else learned
        models.append(model)
    points = grid(_EDGE, _RESOLUTION)
    wells, right = _wells(models[0], points)
    values = ", ".join(f"{value:.4f}" for value in np.abs(models[0].eigenvalues_[:5]))
    known = ", ".join(f"{value:.4f}" for value in four_well_eigenvalues(5))
    console.print(
        f"eigenvalues at lag 1, from {models[0].n_stored_} stored states: [bold]{values}[/] "
        f"(known: {known})"
    )
    console.print(f"stationary mass assigned to the correct well: [bold]{right:.2%}[/]")
    return _draw(streamed, models, curve, wells, right, output / "langevin.png")


def _wells(model: Koopman, points: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """Compute the well of each point, and the fraction of stationary mass assigned correctly."""
    found = metastable_sets(model, points, 4, random_state=0)
    truth = 2 * (points[:, 1] > 0.0) + (points[:, 0] > 0.0)
    mass = four_well_density(points)
    # Each set is identified with the well of which it contains most.
    shares = np.zeros((4, 4))
    np.add.at(shares, (found, truth), mass / mass.sum())
    named = shares.argmax(axis=1)[found]
    return named, float(mass[named == truth].sum() / mass.sum())


def _draw(
    streamed: Dynamics,
    models: list[Koopman],
    curve: Growth,
    wells: NDArray[np.int64],
    right: float,
    path: Path,
) -> Path:
    from matplotlib.figure import Figure  # noqa: PLC0415  (an optional dependency)
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415

    known = four_well_eigenvalues()
    model = models[0]
    figure = Figure(figsize=(15.5, 9.0), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08))
    axes = figure.subplots(2, 3)

    slow = model.eigenfunctions(grid(_EDGE, _RESOLUTION), 4)
    # The second and the third belong to a double eigenvalue and may appear as a conjugate pair.
    paired = model.eigenvalues_[1].imag != 0.0
    columns = [slow[:, 1].real, slow[:, 1].imag] if paired else [slow[:, 1].real, slow[:, 2].real]
    for ax, values, title in zip(
        axes[0], columns, ("second eigenfunction", "third eigenfunction"), strict=False
    ):
        # Both on one scale: an eigenfunction is known up to a factor.
        plots.eigenfunction(
            (values / np.percentile(np.abs(values), 99.5)).reshape(_RESOLUTION, _RESOLUTION),
            box=(-_EDGE, _EDGE, -_EDGE, _EDGE),
            trajectories=streamed.trajectories[:1, :40],
            points=model.dictionary_ if ax is axes[0, 0] else None,
            ax=ax,
        )
        ax.set_title(title, fontsize=10)
    axes[0, 0].set_title(
        f"second eigenfunction, {model.n_stored_} stored states (+), a trajectory", fontsize=10
    )
    field_map(axes[0, 2], wells, _EDGE, _WELLS)
    axes[0, 2].set(xlabel="$x_1$", ylabel="$x_2$")
    axes[0, 2].axhline(0.0, color="0.25", linewidth=1.0)
    axes[0, 2].axvline(0.0, color="0.25", linewidth=1.0)
    density = four_well_density(grid(_EDGE, _RESOLUTION)).reshape(_RESOLUTION, _RESOLUTION)
    side = np.linspace(-_EDGE, _EDGE, _RESOLUTION)
    axes[0, 2].contour(side, side, density, levels=4, colors="0.4", linewidths=0.6)
    axes[0, 2].set_title(
        f"metastable sets: {right:.2%} of mass correct (lines: exact)", fontsize=10
    )

    held_out = four_well_langevin(100, n_trajectories=100, random_state=1).pairs()
    plots.spectrum(
        model,
        residuals=model.residuals(*held_out),
        reference=known,
        n=60,
        ax=axes[1, 0],
    )
    axes[1, 0].set_title("spectrum at lag 1, with residuals on held-out pairs", fontsize=10)
    plots.timescales(
        _LAGS,
        np.array([np.sort(m.timescales()[1:5])[::-1] / streamed.time_step for m in models]),
        n=4,
        time_step=streamed.time_step,
        unit="time units",
        reference=np.unique((-streamed.time_step / np.log(known[1:5])).round(3)),
        ax=axes[1, 1],
    )
    axes[1, 1].set_title("implied timescales (dashed: known)", fontsize=10)
    plots.growth(curve.seen, curve.stored, ax=axes[1, 2])
    axes[1, 2].set(xlabel="pairs seen", ylabel="states stored")
    axes[1, 2].set_title("size of the dictionary", fontsize=10)
    figure.savefig(path, dpi=130)
    return path
