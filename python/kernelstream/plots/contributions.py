"""Contributions of columns to predictions: bars, a swarm of rows, and the steps of one row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kernelstream.plots.axes import CYCLE, FAINT, INK, new_axes, shortened, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["beeswarm", "contributions", "waterfall"]

_RISE, _FALL = CYCLE[1], CYCLE[0]


class _Explanation(Protocol):
    @property
    def values(self) -> NDArray[np.float64]: ...
    @property
    def base_values(self) -> NDArray[np.float64]: ...
    @property
    def data(self) -> NDArray[Any]: ...
    @property
    def feature_names(self) -> list[str]: ...


def contributions(explanation: _Explanation, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the mean size of each column's contributions as bars, the largest above.

    Parameters
    ----------
    explanation : Explanation
        What ``model.explain(X)`` gave; of several outputs one: ``explanation.output(0)``.
    most : int, default=20
        Draw at most this many columns.
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
        If the explanation is of several outputs.
    """
    values = _of_one_output(explanation)
    sizes = np.abs(values).mean(axis=0)
    shown = np.argsort(-sizes, kind="stable")[:most]
    ax = new_axes(ax, (5.4, 0.6 + 0.25 * len(shown)))
    ax.barh(np.arange(len(shown)), sizes[shown], height=0.7, color=CYCLE[0])
    _name_rows(ax, [explanation.feature_names[j] for j in shown])
    ax.set(xlim=(0.0, None))
    _name_values(ax, "mean size of the contribution")
    ax.grid(axis="x", color="#eceef0", linewidth=0.8)
    ax.set_axisbelow(True)
    return ax


def beeswarm(
    explanation: _Explanation, *, most: int = 12, colorbar: bool = True, ax: Axes | None = None
) -> Axes:
    """Draw the contributions of all rows: a line of points for each column, the largest above.

    Parameters
    ----------
    explanation : Explanation
        What ``model.explain(X)`` gave; of several outputs one: ``explanation.output(0)``.
    most : int, default=12
        Draw at most this many columns.
    colorbar : bool, default=True
        Whether to draw the scale of the colours.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into. None: a new figure's.

    Returns
    -------
    matplotlib.axes.Axes
        A point is a row; its colour is the rank of its number in the column, grey where the column
        has no numbers.

    Raises
    ------
    ImportError
        If matplotlib is missing.
    ValueError
        If the explanation is of several outputs.
    """
    values = _of_one_output(explanation)
    shown = np.argsort(-np.abs(values).mean(axis=0), kind="stable")[:most]
    ax = new_axes(ax, (6.0, 0.8 + 0.36 * len(shown)))
    ax.axvline(0.0, color=FAINT, linewidth=0.8, zorder=1)
    ranked = None
    for place, column in enumerate(shown):
        at = values[:, column]
        height = place + 0.38 * _stacked(at, np.ptp(values[:, shown]))
        ranks = _ranks(explanation.data[:, column])
        style: dict[str, Any] = {"s": 7, "linewidths": 0, "zorder": 2}
        if ranks is None:
            ax.scatter(at, height, color=CYCLE[5], **style)
        else:
            ranked = ax.scatter(at, height, c=ranks, cmap="coolwarm", vmin=0.0, vmax=1.0, **style)
    _name_rows(ax, [explanation.feature_names[j] for j in shown])
    _name_values(ax, "contribution to the prediction")
    if ranked is not None and colorbar:
        bar = ax.figure.colorbar(ranked, ax=ax, aspect=40, pad=0.02)
        bar.set_ticks([0.0, 1.0], labels=["low", "high"])
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0, labelcolor=INK, labelsize=9)
    return ax


def waterfall(
    explanation: _Explanation, row: int = 0, *, most: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw one row: from the base value to its prediction, a step for each column.

    Parameters
    ----------
    explanation : Explanation
        What ``model.explain(X)`` gave; of several outputs one: ``explanation.output(0)``.
    row : int, default=0
        Which row.
    most : int, default=10
        Steps at most; columns that contribute less are one step together.
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
        If the explanation is of several outputs.
    """
    values = _of_one_output(explanation)[row]
    base = float(np.asarray(explanation.base_values)[row])
    order = np.argsort(-np.abs(values), kind="stable")
    kept = order if len(order) <= most else order[: most - 1]
    names = [f"{explanation.feature_names[j]} = {_short(explanation.data[row, j])}" for j in kept]
    steps = list(values[kept])
    if len(kept) < len(order):
        names.append(f"{len(order) - len(kept)} others")
        steps.append(float(values[order[len(kept) :]].sum()))
    ax = new_axes(ax, (5.8, 0.9 + 0.32 * len(steps)))
    # The smallest step is the first from the base value, at the bottom.
    ends = base + np.cumsum(steps[::-1])[::-1]
    starts = np.append(ends[1:], base)
    span = max(float(np.ptp(np.append(ends, base))), 1e-300)
    for place, (start, end, step) in enumerate(zip(starts, ends, steps, strict=True)):
        ax.barh(place, end - start, left=start, height=0.7, color=_RISE if step > 0 else _FALL)
        ax.annotate(
            f"{step:+.3g}",
            (max(start, end) + 0.01 * span, place),
            va="center",
            color=INK,
            fontsize=8,
        )
        if place:
            ax.plot([end, end], [place - 0.65, place + 0.35], color=FAINT, linewidth=0.8, zorder=0)
    ax.axvline(base, color=FAINT, linestyle="--", linewidth=0.9, zorder=0)
    _name_rows(ax, names)
    # Bars would keep the margins away, and the numbers beside them.
    ax.use_sticky_edges = False
    ax.margins(x=0.12)
    ax.locator_params(axis="x", nbins=5)
    _name_values(ax, f"prediction: {base:.4g} of the background,\n{ends[0]:.4g} of this row")
    return ax


def _name_values(ax: Axes, label: str) -> None:
    """Name the axis below its right end: names of columns may leave it less room than its name."""
    ax.set_xlabel(label, loc="right")


def _of_one_output(explanation: _Explanation) -> NDArray[np.float64]:
    values = np.asarray(explanation.values, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError("the explanation is of several outputs: draw explanation.output(0)")
    return values


def _name_rows(ax: Axes, names: list[str]) -> None:
    ax.set_yticks(np.arange(len(names)), [shortened(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    style_axes(ax, frame=False)


def _stacked(at: NDArray[np.float64], span: float) -> NDArray[np.float64]:
    """Give heights from -1 to 1 that keep points at nearly the same place apart."""
    cells = np.round((at - at.min(initial=np.inf)) / max(span, 1e-300) * 60).astype(np.int64)
    heights = np.zeros(len(at))
    for cell in np.unique(cells):
        (here,) = np.nonzero(cells == cell)
        turn = np.arange(len(here))
        heights[here] = np.where(turn % 2, 1, -1) * ((turn + 1) // 2)
    return heights / max(float(np.abs(heights).max(initial=0.0)), 4.0)


def _ranks(column: NDArray[Any]) -> NDArray[np.float64] | None:
    """Give ranks from 0 to 1 of numbers; None for other data."""
    try:
        numbers = column.astype(np.float64)
    except (TypeError, ValueError):
        return None
    _, inverse = np.unique(numbers, return_inverse=True)
    ranks: NDArray[np.float64] = inverse / max(int(inverse.max(initial=0)), 1)
    return ranks


def _short(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    text = str(value)
    return text if len(text) <= 20 else f"{text[:19]}…"
