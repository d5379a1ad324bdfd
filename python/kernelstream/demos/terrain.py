"""A terrain model learned from survey points in random order."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from kernelstream.components.bases import ALD
from kernelstream.components.kernels import Gaussian
from kernelstream.estimators.metrics import RunningError
from kernelstream.estimators.progress import ProgressBar
from kernelstream.supervised.regressor import KernelRegressor

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["run"]

_BATCH = 256
_BANDWIDTH = 0.06  # of half the height of the map
_KILOMETRES = 111.2  # a degree of latitude
_SURVEY = 40_000  # points that the stream holds, of the 138,632 on the map


@dataclass
class _Terrain:
    """Elevations in metres on a grid, and the position of each in units of half the height."""

    elevation: NDArray[np.float64]
    points: NDArray[np.float64]
    extent: tuple[float, float, float, float]


@dataclass
class _Curve:
    """The curves below the maps, against the number of rows."""

    rows: list[int] = field(default_factory=list)
    rmse: list[float] = field(default_factory=list)
    baseline: list[float] = field(default_factory=list)
    stored: list[int] = field(default_factory=list)


def run(output: Path, console: Console) -> Path:
    """Learn elevation from longitude and latitude, then plot the learned surface."""
    terrain = _load()
    order = np.random.default_rng(0).permutation(terrain.elevation.size)[:_SURVEY]
    X = terrain.points[order]
    y = terrain.elevation.ravel()[order]
    model = KernelRegressor(kernel=Gaussian(_BANDWIDTH), basis=ALD(0.1, max_size=1000))
    error = RunningError(1)
    curve = _Curve()
    console.print(
        f"learning a mountain range from {len(y):,} survey points in random order: "
        "(longitude, latitude) → elevation in metres"
    )
    with ProgressBar(len(y), console=console) as bar:
        for start in range(0, len(y), _BATCH):
            stop = min(start + _BATCH, len(y))
            predictions = model.partial_fit_predict(X[start:stop], y[start:stop])
            error.update(y[start:stop, None], predictions[:, None])
            bar.update(stop, stop, error, model.n_stored_)
            curve.rows.append(stop)
            curve.rmse.append(float(error.rmse[0]))
            curve.baseline.append(float(error.baseline_rmse[0]))
            curve.stored.append(model.n_stored_)
    learned = model.predict(terrain.points).reshape(terrain.elevation.shape)
    return _draw(terrain, learned, model, curve, output / "terrain.png")


def _load() -> _Terrain:
    from matplotlib.cbook import get_sample_data  # noqa: PLC0415  (an optional dependency)

    with cast(Any, get_sample_data("jacksboro_fault_dem.npz")) as data:
        elevation = data["elevation"].astype(np.float64)
        west, east = float(data["xmin"]), float(data["xmax"])
        # The file gives its two latitudes from the top.
        south, north = sorted((float(data["ymin"]), float(data["ymax"])))
    rows, columns = elevation.shape
    # One degree of longitude is shorter than one of latitude, so distances are true distances.
    aspect = (east - west) * np.cos(np.radians((south + north) / 2)) / (north - south)
    x, y = np.meshgrid(np.linspace(-aspect, aspect, columns), np.linspace(1.0, -1.0, rows))
    return _Terrain(elevation, np.column_stack([x.ravel(), y.ravel()]), (west, east, south, north))


def _draw(
    terrain: _Terrain,
    learned: NDArray[np.float64],
    model: KernelRegressor,
    curve: _Curve,
    path: Path,
) -> Path:
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(11, 8.6), layout="constrained")
    truth_axes, learned_axes, error_axes, size_axes = figure.subplots(
        2, 2, height_ratios=[1.7, 1]
    ).ravel()
    west, east, south, north = terrain.extent
    blur = _BANDWIDTH * (north - south) / 2 * _KILOMETRES
    _map(truth_axes, terrain.elevation, terrain, f"the terrain, {terrain.elevation.size:,} points")
    _map(
        learned_axes,
        learned,
        terrain,
        f"learned in one pass from {curve.rows[-1]:,} of them, {model.n_stored_} stored (dots);\n"
        f"what is finer than the kernel, {blur:.1f} km, is smoothed",
    )
    figure.colorbar(
        _scale(terrain), ax=[truth_axes, learned_axes], label="elevation (m)", shrink=0.8
    ).outline.set_visible(False)
    stored = model.dictionary_
    half_width = terrain.points[:, 0].max()
    learned_axes.scatter(
        west + (stored[:, 0] / half_width + 1) / 2 * (east - west),
        south + (stored[:, 1] + 1) / 2 * (north - south),
        s=3,
        c="white",
        edgecolors="black",
        linewidths=0.25,
    )
    error_axes.loglog(curve.rows, curve.baseline, color="0.6", label="running mean")
    error_axes.loglog(curve.rows, curve.rmse, color="C0", label="kernelstream")
    error_axes.set(xlabel="points seen", ylabel="running RMSE (m)", ylim=(40, 250))
    error_axes.set_yticks([50, 100, 200], labels=["50", "100", "200"])
    error_axes.yaxis.set_minor_formatter("")
    error_axes.legend(frameon=False)
    size_axes.semilogx(curve.rows, curve.stored, color="C2")
    size_axes.set(xlabel="points seen", ylabel="points stored", ylim=(0, None))
    for axes in (error_axes, size_axes):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    figure.savefig(path, dpi=130)
    return path


def _map(axes: Any, elevation: NDArray[np.float64], terrain: _Terrain, title: str) -> None:
    from matplotlib.colors import LightSource  # noqa: PLC0415

    scale = _scale(terrain)
    west, east, south, north = terrain.extent
    shaded = LightSource(azdeg=315, altdeg=45).shade(
        elevation,
        cmap=scale.cmap,
        blend_mode="soft",
        vert_exag=4,
        dx=80,
        dy=90,
        norm=scale.norm,
    )
    shape = 1 / np.cos(np.radians((south + north) / 2))
    axes.imshow(shaded, extent=terrain.extent, aspect=shape)
    axes.set_title(title, fontsize=10)
    axes.set(xlabel="longitude", ylabel="latitude")
    axes.ticklabel_format(useOffset=False)
    axes.set_xlim(west, east)
    axes.set_ylim(south, north)


def _scale(terrain: _Terrain) -> Any:
    """Give the colours of elevations."""
    from matplotlib.cm import ScalarMappable  # noqa: PLC0415
    from matplotlib.colors import Normalize  # noqa: PLC0415

    low, high = float(terrain.elevation.min()), float(terrain.elevation.max())
    return ScalarMappable(Normalize(low, high), "gist_earth")
