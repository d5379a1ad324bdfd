"""Axes in the style that all the figures have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CYCLE", "FAINT", "INK", "new_axes", "shortened", "style_axes"]


_LONGEST = 40  # letters of a name beside an axis
# INK for text, FAINT for frames and guides, CYCLE for curves (distinct also for the colour-blind)
INK, FAINT = "#333333", "#b8b8b8"
CYCLE = ("#0b5fa5", "#d1495b", "#2a9d62", "#c98a1b", "#7a4fa3", "#4a4a4a")


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Give axes to draw into.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        The user's. None: a new figure's.
    size : (float, float)
        Width and height of a new figure, in inches.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is missing.
    """
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415 (optional)
    except ImportError as missing:
        raise ImportError(
            "figures need matplotlib, which is not installed: "
            'pip install "kernelstream[plot]" (or: pip install matplotlib)'
        ) from missing
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def shortened(name: str) -> str:
    """Give a name that leaves room beside it: its beginning and its end."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 16]}…{name[-15:]}"


def style_axes(ax: Axes, *, frame: bool = True) -> None:
    """Draw the frame and the ticks of axes in faint colours.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The axes.
    frame : bool, default=True
        Whether to draw the top and right sides of the frame.
    """
    for side, spine in ax.spines.items():
        spine.set_color(FAINT)
        if not frame and side in {"top", "right"}:
            spine.set_visible(False)
    ax.tick_params(color=FAINT, labelcolor=INK, labelsize=9)
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)
