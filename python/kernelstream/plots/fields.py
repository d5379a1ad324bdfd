"""Modes of fields: maps of amplitude and phase."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, cast

import numpy as np

from kernelstream.plots.axes import CYCLE, INK, new_axes, style_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

__all__ = ["modes"]


class _HasModes(Protocol):
    @property
    def modes_(self) -> NDArray[np.float64]: ...


def _has_modes(source: object) -> TypeGuard[_HasModes]:
    return inspect.getattr_static(source, "modes_", None) is not None


def modes(
    source: _HasModes | ArrayLike,
    *,
    shape: tuple[int, ...] | None = None,
    n: int = 3,
    titles: Sequence[str] | None = None,
) -> NDArray[Any]:
    """Draw modes as maps: complex ones by amplitude and phase, real ones by their values.

    Parameters
    ----------
    source : fitted POD or array of shape (k, *shape) or (k, n_features)
        An estimator with `modes_`, or modes: real ones, or complex ones such as
        ``pod.maps(model.modes(k=4))``.
    shape : tuple of one or two ints, optional
        Shape of a map. None: that of the array. With one number, modes are drawn as curves.
    n : int, default=3
        Number of modes to draw, 1 or more.
    titles : sequence of str, optional
        Titles of the modes. None: their numbers from 0.

    Returns
    -------
    axes : ndarray of matplotlib.axes.Axes of shape (n, 2) or (n, 1)
        Axes of a new figure, one row per mode. The first row of a map is at its bottom. Phases lie
        between -pi and pi, and fade where the amplitude is small.

    Raises
    ------
    ImportError
        If matplotlib is missing.
    ValueError
        If the modes do not have one or two dimensions, or not the stated shape.
    """
    values = np.asarray(source.modes_ if _has_modes(source) else source)
    if shape is not None:
        if values.ndim < 2 or values[0].size != int(np.prod(shape)):
            raise ValueError(
                f"modes have shape {values.shape}, not (k, {', '.join(map(str, shape))})"
            )
        values = values.reshape(len(values), *shape)
    if values.ndim not in {2, 3} or not len(values):
        raise ValueError(
            f"modes have shape {values.shape}, but must be curves (k, n) or maps (k, n, m): "
            "pass their shape, or a slice"
        )
    values = values[: max(n, 1)]
    columns = 2 if np.iscomplexobj(values) else 1
    first = new_axes(None, (4.2 * columns, 3.0 * len(values)))
    figure: Any = first.figure
    first.remove()
    axes: NDArray[Any] = figure.subplots(len(values), columns, squeeze=False)
    for j, (row, mode) in enumerate(zip(axes, values, strict=True)):
        name = str(j) if titles is None else titles[j]
        if columns == 1:
            _draw(row[0], mode, name, "RdBu_r", symmetric=True)
            continue
        _draw(row[0], np.abs(mode), f"{name}: amplitude", "viridis")
        _draw_phase(row[1], mode, f"{name}: phase")
    return axes


def _draw(
    ax: Axes, mode: NDArray[np.float64], title: str, colours: str, *, symmetric: bool = False
) -> None:
    high = float(np.max(np.abs(mode), initial=0.0)) or 1.0
    if mode.ndim == 1:
        ax.plot(mode, color=CYCLE[0], linewidth=1.4)
    else:
        image = ax.imshow(
            mode, origin="lower", cmap=colours, vmin=-high if symmetric else 0.0, vmax=high
        )
        _add_scale(ax, image)
    _finish(ax, title)


def _draw_phase(ax: Axes, mode: NDArray[np.complex128], title: str) -> None:
    size = np.abs(mode)
    seen = np.minimum(1.0, 4.0 * size / (float(np.max(size, initial=0.0)) or 1.0))
    if mode.ndim == 1:
        ax.scatter(np.arange(len(mode)), np.angle(mode), s=6, color=CYCLE[0], alpha=cast(Any, seen))
        ax.set_ylim(-np.pi, np.pi)
    else:
        image = ax.imshow(
            np.angle(mode), origin="lower", cmap="twilight", vmin=-np.pi, vmax=np.pi, alpha=seen
        )
        _add_scale(ax, image)
    _finish(ax, title)


def _add_scale(ax: Axes, image: Any) -> None:
    if ax.figure is not None:
        bar = ax.figure.colorbar(image, ax=ax, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0, colors=INK)


def _finish(ax: Axes, title: str) -> None:
    ax.set_title(title, fontsize=10, color=INK)
    style_axes(ax, frame=False)
