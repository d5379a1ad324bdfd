"""Forecasts with their intervals, as a fan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kernelstream.plots.axes import CYCLE, INK, new_axes, style_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

__all__ = ["forecast"]

_DARKEST = 0.3  # opacity of a fan with one band


class _Forecasts(Protocol):
    _core: Any

    @property
    def times_(self) -> NDArray[np.float64]: ...

    @property
    def operator_(self) -> Any: ...

    def forecast(self, X: ArrayLike | None = ...) -> NDArray[np.float64]: ...

    def forecast_interval(
        self, X: ArrayLike | None = ..., coverage: float = ...
    ) -> NDArray[np.float64]: ...


def forecast(
    model: _Forecasts,
    X: ArrayLike | None = None,
    later: ArrayLike | None = None,
    *,
    component: int = 0,
    coverages: Sequence[float] = (0.5, 0.9),
    unit: str = "steps",
    colour: str = CYCLE[0],
    ax: Axes | None = None,
) -> Axes:
    """Draw a forecast from the last of some states, and its intervals as a fan.

    Call again with the same `ax` for the fans of other models or components.

    Parameters
    ----------
    model : fitted Forecaster
        The forecaster; the fan has its points at the horizons.
    X : array-like of shape (n, n_features), optional
        Successive states, drawn up to the last, from which the forecast starts. None: the last ones
        that the model has learned.
    later : array-like of shape (n_later, n_features), optional
        The later states, drawn as dots.
    component : int, default=0
        Which number of the state.
    coverages : sequence of float, default=(0.5, 0.9)
        Coverages of the bands.
    unit : str, default="steps"
        Unit of time, for the axis: that of the operator's ``time_step``.
    colour : str, optional
        Colour of the fan.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into. None: a new figure's.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is missing.
    NotFittedError
        The model has learned nothing yet.
    ValueError, TypeError
        A coverage is out of range, or a row is invalid.
    """
    ahead = model.forecast(X)[:, -1, component]
    bands = [
        model.forecast_interval(X, coverage)[:, -1, component]
        for coverage in sorted(coverages, reverse=True)
    ]
    ax = new_axes(ax, (6.4, 3.6))
    states = model._core.latest() if X is None else np.asarray(X, dtype=np.float64)
    past = states[-1] if states.ndim == 3 else states
    past = past[:, component]
    order, step = np.argsort(model.times_), model.operator_.time_step
    at = np.append(0.0, model.times_[order])
    for band in bands:
        low, high = (np.append(past[-1], ends[order]) for ends in band.T)
        known = np.isfinite(low) & np.isfinite(high)
        ax.fill_between(
            at[known], low[known], high[known],
            color=colour, alpha=_DARKEST / len(bands), linewidth=0,
        )  # fmt: skip
    ax.plot(step * np.arange(1 - len(past), 1), past, color=INK, linewidth=1.2)
    ax.plot(at, np.append(past[-1], ahead[order]), color=colour, linewidth=1.8)
    if later is not None:
        truth = np.asarray(later, dtype=np.float64)[:, component]
        times = step * np.arange(1, len(truth) + 1)
        ax.plot(times, truth, ".", color=INK, markersize=3.5)
    ax.set_xlabel(f"time from now ({unit})")
    style_axes(ax, frame=False)
    return ax
