"""Intervals over a stream, and their coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelstream.plots.axes import CYCLE, FAINT, INK, new_axes, style_axes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

__all__ = ["calibration", "intervals"]


def _ends(ends: ArrayLike, rows: int) -> NDArray[np.float64]:
    found = np.asarray(ends, dtype=np.float64)
    if found.shape != (rows, 2):
        raise ValueError(f"intervals must have shape ({rows}, 2), as y has, got {found.shape}")
    return found


def intervals(
    y: ArrayLike,
    ends: ArrayLike,
    *,
    predictions: ArrayLike | None = None,
    time: ArrayLike | None = None,
    coverage: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw intervals over time, the targets, and those that were outside.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    ends : array of shape (n, 2)
        Lower and upper ends of their intervals, as `predict_interval` and
        `partial_fit_predict_interval` give them. Infinite ones are left out.
    predictions : array of shape (n,), optional
        What was predicted, drawn as a line. None: the middle of the intervals.
    time : array of shape (n,), optional
        Where the rows are along the axis. None: their numbers.
    coverage : float, optional
        What share the intervals were to hold, for the title.
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
        If the arrays do not fit together.
    """
    target = np.asarray(y, dtype=np.float64).ravel()
    low, high = _ends(ends, len(target)).T
    rows = np.arange(len(target)) if time is None else np.asarray(time).ravel()
    known = np.isfinite(low) & np.isfinite(high)
    made = np.full(len(target), np.nan)
    made[known] = 0.5 * (low[known] + high[known])
    if predictions is not None:
        made = np.asarray(predictions, dtype=np.float64).ravel()
    if not len(rows) == len(made) == len(target):
        raise ValueError(
            f"{len(target)} targets, {len(made)} predictions and {len(rows)} times do not fit"
        )
    outside = known & ((target < low) | (target > high))
    ax = new_axes(ax, (7.2, 3.4))
    low, high = (np.where(known, end, np.nan) for end in (low, high))
    ax.fill_between(rows, low, high, color=CYCLE[0], alpha=0.18, linewidth=0, label="interval")
    ax.plot(rows, made, color=CYCLE[0], linewidth=1.2, label="prediction")
    ax.plot(rows[~outside], target[~outside], ".", color=INK, markersize=3.5, label="inside")
    ax.plot(
        rows[outside],
        target[outside],
        "x",
        color=CYCLE[1],
        markersize=5,
        markeredgewidth=1.4,
        label="outside",
    )
    title = f"{100 - 100 * outside.sum() / max(known.sum(), 1):.1f} % inside"
    ax.set_title(
        title if coverage is None else f"{title}, of {100 * coverage:.4g} % asked", fontsize=10
    )
    ax.set(xlabel="row" if time is None else "time", ylabel="target")
    ax.margins(x=0.01)
    # Beside the axes, where no target is.
    ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    style_axes(ax, frame=False)
    return ax


def calibration(
    y: ArrayLike,
    ends: Mapping[float, ArrayLike],
    *,
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of targets inside intervals against the requested coverage.

    Call again with the same `ax` to add a curve.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    ends : mapping of float to array of shape (n, 2)
        Intervals by their coverage.
    label : str, optional
        Label of the curve in the legend.
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
        If the arrays do not fit together, or there are no intervals.
    """
    target = np.asarray(y, dtype=np.float64).ravel()
    if not ends:
        raise ValueError("there are no intervals to draw: pass some by their coverage")
    asked = np.array(sorted(ends))
    held = []
    for coverage in asked:
        low, high = _ends(ends[coverage], len(target)).T
        held.append(float(np.mean((low <= target) & (target <= high))))
    ax = new_axes(ax, (4.2, 4.0))
    curves = [line for line in ax.get_lines() if line.get_gid() == "calibration"]
    if not curves:
        ax.plot([0, 1], [0, 1], color=FAINT, linestyle="--", linewidth=1.0)
    ax.plot(
        asked,
        held,
        "o-",
        color=CYCLE[len(curves) % len(CYCLE)],
        markersize=4,
        label=label,
        gid="calibration",
    )
    ax.set(xlabel="coverage asked", ylabel="share of targets inside", xlim=(0, 1), ylim=(0, 1))
    ax.set_aspect("equal")
    if label is not None:
        ax.legend(frameon=False, loc="upper left", fontsize=9)
    style_axes(ax, frame=False)
    return ax
