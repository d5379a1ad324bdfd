"""Eigenfunctions over a plane."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeGuard, cast

import numpy as np

from kernelstream.plots.axes import INK, new_axes, style_axes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

__all__ = ["eigenfunction"]


class _HasEigenfunctions(Protocol):
    def eigenfunctions(self, X: ArrayLike, k: int = ...) -> NDArray[np.complex128]: ...


def _has_eigenfunctions(source: object) -> TypeGuard[_HasEigenfunctions]:
    return inspect.getattr_static(source, "eigenfunctions", None) is not None


def eigenfunction(
    source: _HasEigenfunctions | Callable[[NDArray[np.float64]], ArrayLike] | ArrayLike,
    *,
    box: tuple[float, float, float, float] = (-2.0, 2.0, -2.0, 2.0),
    index: int = 1,
    part: Literal["real", "imag", "abs", "phase"] = "real",
    trajectories: Iterable[ArrayLike] | None = None,
    points: ArrayLike | None = None,
    resolution: int = 151,
    labels: tuple[str, str] = ("$x_1$", "$x_2$"),
    colorbar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw a heat map of an eigenfunction over a plane, with trajectories on top.

    Parameters
    ----------
    source : fitted estimator, callable or array
        An estimator whose `eigenfunctions(X, k)` gives (n, k) values on (n, 2) points; or a
        function from (n, 2) points to (n,) values; or the values themselves on a regular grid,
        shape (n_vertical, n_horizontal), first row at the bottom.
    box : (left, right, bottom, top), default=(-2, 2, -2, 2)
        Limits of the plane.
    index : int, default=1
        Index of the eigenfunction of an estimator; 0 is the leading one (usually the constant).
    part : {"real", "imag", "abs", "phase"}, default="real"
        The part of complex values to draw. The colour scale of real and imaginary parts is
        symmetric about zero, so that white separates the signs.
    trajectories : list of (n_times, 2) arrays, or (n_trajectories, n_times, 2) array, optional
        Drawn as thin lines that end in a dot.
    points : array of shape (n_points, 2), optional
        Drawn as small crosses, for example the stored points of a model.
    resolution : int, default=151
        Number of grid points along each side, at least 2, unless `source` is an array.
    labels : (str, str)
        Labels of the two axes.
    colorbar : bool, default=True
        Whether to draw the colour scale.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into. None: a new figure's.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is missing.
    ValueError
        If the values do not have the stated shape.
    """
    ax = new_axes(ax, (5.0, 4.2))
    left, right, bottom, top = box
    values = _parts(_on_grid(source, box, index, resolution), part)
    if part == "phase":
        colours, low, high = "twilight", -np.pi, np.pi
    elif part == "abs":
        colours, low, high = "viridis", 0.0, float(np.nanmax(values))
    else:
        # a few extreme values must not dominate the colour scale
        high = float(np.nanpercentile(np.abs(values), 99.5)) or 1.0
        colours, low = "RdBu_r", -high
    image = ax.imshow(
        values,
        extent=(left, right, bottom, top),
        origin="lower",
        aspect="auto",
        cmap=colours,
        vmin=low,
        vmax=high,
        interpolation="bilinear",
    )
    if trajectories is not None:
        for path in trajectories:
            states = _plane(path, "trajectory")
            ax.plot(states[:, 0], states[:, 1], color="black", linewidth=0.7, alpha=0.55)
            ax.plot(*states[-1], marker="o", markersize=2.6, color="black", linestyle="none")
    if points is not None:
        stored = _plane(points, "points")
        ax.plot(stored[:, 0], stored[:, 1], "+", color="black", markersize=4, alpha=0.6, mew=0.8)
    ax.set(xlim=(left, right), ylim=(bottom, top), xlabel=labels[0], ylabel=labels[1])
    if colorbar and ax.figure is not None:
        bar = ax.figure.colorbar(image, ax=ax, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0, colors=INK)
    style_axes(ax)
    return ax


def _on_grid(
    source: _HasEigenfunctions | Callable[[NDArray[np.float64]], ArrayLike] | ArrayLike,
    box: tuple[float, float, float, float],
    index: int,
    resolution: int,
) -> NDArray[Any]:
    if not (_has_eigenfunctions(source) or callable(source)):
        given = np.asarray(source)
        if given.ndim != 2:
            raise ValueError(
                f"values have {given.ndim} dimensions, but must be (n_vertical, n_horizontal)"
            )
        return given
    if resolution < 2:
        raise ValueError(f"resolution must be at least 2, got {resolution}")
    horizontal = np.linspace(box[0], box[1], resolution)
    vertical = np.linspace(box[2], box[3], resolution)
    grid = np.stack(np.meshgrid(horizontal, vertical), axis=-1).reshape(-1, 2)
    if _has_eigenfunctions(source):
        values = np.asarray(source.eigenfunctions(grid, k=index + 1))[:, index]
    else:
        function = cast("Callable[[NDArray[np.float64]], ArrayLike]", source)
        values = np.asarray(function(grid))
    if values.size != len(grid):
        raise ValueError(f"the function returned shape {values.shape} for {len(grid)} points")
    return values.reshape(resolution, resolution)


def _parts(values: NDArray[Any], part: str) -> NDArray[np.float64]:
    take: dict[str, Callable[[NDArray[Any]], Any]] = {
        "real": np.real,
        "imag": np.imag,
        "abs": np.abs,
        "phase": np.angle,
    }
    if part not in take:
        raise ValueError(f"part must be one of {', '.join(map(repr, take))}, got {part!r}")
    return np.asarray(take[part](values), dtype=np.float64)


def _plane(states: ArrayLike, name: str) -> NDArray[np.float64]:
    flat = np.asarray(states, dtype=np.float64)
    if flat.ndim != 2 or flat.shape[1] != 2:
        raise ValueError(f"{name} has shape {flat.shape}, but must be (n, 2)")
    return flat
