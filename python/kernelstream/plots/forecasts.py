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
_BAR = 6.0  # width of the interval of a single horizon, in points


class _Forecasts(Protocol):
    @property
    def times_(self) -> NDArray[np.float64]: ...

    @property
    def operator_(self) -> Any: ...

    def _history_of(self, component: int) -> NDArray[np.float64]: ...

    def _seasons_of(self, component: int) -> list[int]: ...

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
        The forecaster; the fan has its points at the horizons. Horizons that are far apart, in
        between which the forecast may oscillate, are points with bars.
    X : array-like of shape (n, n_features), optional
        Successive states, drawn up to the last, from which the forecast starts. None: the last ones
        that the model has learned, two seasons or three times the longest horizon if there are as
        many; a model from a file has only those that its forecast needs.
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
    states = model._history_of(component) if X is None else np.asarray(X, dtype=np.float64)
    past = states[-1] if states.ndim == 3 else states
    past = past[:, component]
    order, step = np.argsort(model.times_), model.operator_.time_step
    rows = np.rint(model.times_[order] / step)
    runs = _runs(rows, model.operator_.lag, model._seasons_of(component))
    at = np.append(0.0, model.times_[order])
    for band in bands:
        low, high = (np.append(past[-1], ends[order]) for ends in band.T)
        known = np.isfinite(low) & np.isfinite(high)
        style: dict[str, Any] = {"color": colour, "alpha": _DARKEST / len(bands)}
        for run in (part[known[part]] for part in runs):
            if len(run) > 1:
                ax.fill_between(at[run], low[run], high[run], linewidth=0, **style)
            elif run.any():  # the last state has no interval
                ax.vlines(at[run], low[run], high[run], linewidth=_BAR, **style)
    ax.plot(step * np.arange(1 - len(past), 1), past, color=INK, linewidth=1.2)
    # Points that are not neighbours have a gap in between.
    values = np.append(past[-1], ahead[order])
    xs, ys = (
        np.concatenate([np.append(line[run], np.nan) for run in runs]) for line in (at, values)
    )
    is_sparse = len(runs) > 1 or bool(np.any(np.diff(rows) > model.operator_.lag))
    markers: dict[str, Any] = {"marker": "o", "markersize": 4} if is_sparse else {}
    ax.plot(xs[:-1], ys[:-1], color=colour, linewidth=1.8, **markers)
    if later is not None:
        truth = np.asarray(later, dtype=np.float64)[:, component]
        times = step * np.arange(1, len(truth) + 1)
        ax.plot(times, truth, ".", color=INK, markersize=3.5)
    ax.set_xlabel(f"time from now ({unit})")
    style_axes(ax, frame=False)
    return ax


def _runs(rows: NDArray[np.float64], lag: int, seasons: Sequence[int]) -> list[NDArray[np.int64]]:
    """Give points, the last state and the horizons, in runs that a line may join.

    Neighbouring steps may be; others if they are less apart than an eighth of the shortest season,
    or without a season, if the distance is at most 0.7 times the steps before.
    """
    before = np.append(0.0, rows[:-1])
    longest = np.full(len(rows), min(seasons) / 8.0) if seasons else 0.7 * before
    cuts = np.flatnonzero(rows - before > np.maximum(longest, lag)) + 1
    return np.split(np.arange(len(rows) + 1), cuts)
