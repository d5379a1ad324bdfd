"""A page of pictures of an operator."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kernelstream import plots
from kernelstream.cli.writing.replacing import replacing
from kernelstream.koopman import Koopman, chapman_kolmogorov
from kernelstream.plots import CYCLE, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["check_picture", "draw_page"]

Ahead = tuple[list[int], NDArray[np.float64], NDArray[np.float64]]

_PICTURES = ("png", "svg", "pdf", "jpg", "webp")
_MOST, _BEFORE = 4, 5  # columns and eigenfunctions drawn; rows before a forecast, in its lengths


def check_picture(path: Path) -> None:
    """Check that a picture can be drawn, before hours are spent on what it shows.

    Raises
    ------
    ValueError
        The file has another extension.
    ImportError
        matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise ImportError("--plot needs matplotlib: pip install 'kernelstream[plot]'")
    if _format(path) not in _PICTURES:
        raise ValueError(f"--plot {path}: the picture can be {', '.join(_PICTURES)}")


def draw_page(
    path: Path,
    model: Koopman,
    recent: list[NDArray[np.float64]],
    ahead: Ahead | None,
    names: list[str],
    unit: str,
) -> None:
    """Draw eigenvalues, the Chapman-Kolmogorov test, eigenfunctions along the way and a forecast.

    Parameters
    ----------
    path : Path
        File of the picture.
    model : Koopman
        The operator.
    recent : list of ndarray of shape (n, n_columns)
        The last states, as trajectories.
    ahead : tuple, or None
        Steps (n_steps,), forecasts (n_steps, n_columns) and intervals (n_steps, n_columns, 2) of
        what follows the last of them.
    names : list of str
        The columns.
    unit : str
        Unit of time.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(11.0, 8.0), layout="constrained")
    spectrum, test, along, curves = figure.subplots(2, 2).ravel()
    plots.spectrum(model, n=60, ax=spectrum)
    spectrum.set_title("eigenvalues", fontsize=10)
    steps = min(10, (max(map(len, recent)) - model._span() - 1) // model.lag)
    if steps:
        result = chapman_kolmogorov(model, recent, steps, k=_MOST - 1)
        plots.chapman_kolmogorov(result, unit=unit or "steps", ax=test)
    test.set_title("Chapman-Kolmogorov test", fontsize=10)
    if len(recent[-1]) > model._span():
        _draw_eigenfunctions(along, model, recent[-1], unit)
    _draw_forecast(curves, model, recent[-1], ahead, names, unit)
    with replacing(path) as file:
        figure.savefig(file, format=_format(path), dpi=150)


def _draw_eigenfunctions(ax: Axes, model: Koopman, states: NDArray[np.float64], unit: str) -> None:
    shown = states[-500 - model._span() :]
    values = model.eigenvalues_[: 2 * _MOST]
    chosen = np.setdiff1d(np.flatnonzero(values.imag >= 0.0), model._constants())[: _MOST - 1]
    functions = model.eigenfunctions(shown, int(chosen.max(initial=0)) + 1).real[:, chosen]
    times = np.arange(1 - len(functions), 1) * model.time_step
    for j, column in enumerate(functions.T):
        ax.plot(times, column, color=CYCLE[j % len(CYCLE)], linewidth=1.2, label=f"{j + 1}")
    ax.set_title("eigenfunctions along the last states", fontsize=10)
    ax.set(xlabel=f"time before the end ({unit or 'steps'})")
    ax.legend(frameon=False, fontsize=9, ncols=_MOST)
    style_axes(ax, frame=False)


def _draw_forecast(
    ax: Axes,
    model: Koopman,
    states: NDArray[np.float64],
    ahead: Ahead | None,
    names: list[str],
    unit: str,
) -> None:
    length = 50 if ahead is None else max(ahead[0][-1] * model.lag, 10)
    shown = states[-_BEFORE * length :]
    times = (np.arange(len(shown)) - len(shown) + 1) * model.time_step
    spread = states.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    for j, name in enumerate(names[:_MOST]):
        colour, middle = CYCLE[j % len(CYCLE)], states[:, j].mean()

        def height(
            values: NDArray[np.float64], j: int = j, middle: float = middle
        ) -> NDArray[np.float64]:
            heights: NDArray[np.float64] = (values - middle) / spread[j] + 4.0 * j
            return heights

        ax.plot(times, height(shown[:, j]), color=colour, linewidth=1.2, label=name)
        if ahead is not None:
            steps, forecasts, intervals = ahead
            later = np.append(0, steps) * model.lag * model.time_step
            ax.plot(
                later, height(np.append(shown[-1, j], forecasts[:, j])), "--", color=colour, lw=1.2
            )
            low, high = (height(ends) for ends in intervals[:, j].T)
            ax.fill_between(later[1:], low, high, color=colour, alpha=0.2, linewidth=0)
    ax.set_title("the last states and the forecast with intervals, standardized", fontsize=10)
    ax.set(xlabel=f"time ({unit or 'steps'})", yticks=[])
    ax.legend(frameon=False, fontsize=9, ncols=_MOST)
    style_axes(ax, frame=False)


def _format(path: Path) -> str:
    return path.suffix.lower().lstrip(".") or "png"
