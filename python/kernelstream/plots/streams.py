"""Growth of a dictionary, and importances of columns."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Protocol, TypeGuard

import numpy as np

from kernelstream.plots.axes import CYCLE, FAINT, new_axes, shortened, style_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

__all__ = ["growth", "importances"]


class _HasImportances(Protocol):
    @property
    def feature_importances_(self) -> NDArray[np.float64]: ...


def _has_importances(source: object) -> TypeGuard[_HasImportances]:
    return inspect.getattr_static(source, "feature_importances_", None) is not None


def growth(
    n_seen: ArrayLike,
    n_stored: ArrayLike,
    *,
    label: str | None = None,
    cap: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the number of stored points against the number of rows.

    Call again with the same `ax` to add a curve.

    Parameters
    ----------
    n_seen : array of shape (n,)
        Numbers of rows, increasing.
    n_stored : array of shape (n,)
        Numbers of stored points after these rows.
    label : str, optional
        Label of the curve in the legend.
    cap : int, optional
        Limit on the number of points, drawn as a dashed line.
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
        If the two arrays differ in length.
    """
    ax = new_axes(ax, (5.4, 3.6))
    seen = np.asarray(n_seen, dtype=np.float64).ravel()
    stored = np.asarray(n_stored, dtype=np.float64).ravel()
    if len(seen) != len(stored):
        raise ValueError(f"n_seen has {len(seen)} values, but n_stored has {len(stored)}")
    curves = sum(1 for line in ax.get_lines() if line.get_gid() == "growth")
    colour = CYCLE[curves % len(CYCLE)]
    ax.plot(
        seen,
        stored,
        drawstyle="steps-post",
        color=colour,
        linewidth=1.8,
        label=label,
        gid="growth",
    )
    if len(seen):
        # if two curves end close to each other, their numbers are moved apart
        ends = [
            float(np.asarray(line.get_ydata())[-1])
            for line in ax.get_lines()
            if line.get_gid() == "growth"
        ]
        near = [end for end in ends[:-1] if abs(end - stored[-1]) < 0.05 * stored[-1]]
        shift = 0 if not near else 6 if stored[-1] > near[-1] else -6
        if near:
            ax.texts[-1].set_position((4, -shift))
        ax.annotate(
            f"{stored[-1]:,.0f}",
            (seen[-1], stored[-1]),
            xytext=(4, shift),
            textcoords="offset points",
            va="center",
            color=colour,
            fontsize=9,
        )
    if cap is not None:
        ax.axhline(cap, color=FAINT, linestyle="--", linewidth=1.0)
    ax.set(xlabel="rows seen", ylabel="points stored")
    ax.set_ylim(bottom=0.0)
    ax.margins(x=0.02)
    ax.locator_params(axis="x", nbins=6)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if label is not None:
        ax.legend(frameon=False, loc="lower right", fontsize=9)
    ax.grid(axis="y", color="#eceef0", linewidth=0.8)
    style_axes(ax, frame=False)
    return ax


def importances(
    source: _HasImportances | ArrayLike,
    *,
    names: Sequence[str] | None = None,
    most: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw how much each column matters as bars, the largest above.

    Parameters
    ----------
    source : fitted regressor or array of shape (n_features,)
        An estimator with `feature_importances_`, or such shares themselves.
    names : sequence of str of length n_features, optional
        Names of the columns. None: ``feature_names_in_`` of the estimator, or their numbers from 0.
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
        If there are more or fewer names than columns.
    """
    given = source.feature_importances_ if _has_importances(source) else source
    shares = np.asarray(given, dtype=np.float64).ravel()
    known = getattr(source, "feature_names_in_", range(len(shares)))
    labels = [str(name) for name in (known if names is None else names)]
    if len(labels) != len(shares):
        raise ValueError(f"{len(labels)} names for {len(shares)} columns")
    shown = np.argsort(-shares, kind="stable")[:most]
    ax = new_axes(ax, (5.4, 0.6 + 0.25 * len(shown)))
    places = np.arange(len(shown))
    ax.barh(places, shares[shown], height=0.7, color=CYCLE[0])
    ax.set_yticks(places, [shortened(labels[j]) for j in shown])
    ax.invert_yaxis()
    ax.set(xlim=(0.0, None))
    ax.set_xlabel("share of the squared slope", loc="right")
    ax.grid(axis="x", color="#eceef0", linewidth=0.8)
    ax.set_axisbelow(True)
    style_axes(ax, frame=False)
    return ax
