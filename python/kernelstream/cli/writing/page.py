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
from kernelstream.koopman.queries import constants_of, span_of
from kernelstream.plots import CYCLE, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["check_picture", "draw_page"]

Ahead = tuple[list[int], NDArray[np.float64], NDArray[np.float64]]

_PICTURES = ("png", "svg", "pdf", "jpg", "webp")
_MOST, _BEFORE = 4, 5  # columns and eigenfunctions drawn; rows before a forecast, in its lengths


def check_picture(path: Path) -> None:
    """Check that a picture can be drawn, before hours of computation.

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
    """Draw eigenvalues, the Chapman-Kolmogorov test, eigenfunctions over time and a forecast.

    The first three only if the operator found a process beside the constant function.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(11.0, 8.0), layout="constrained")
    spectrum, test, along, curves = figure.subplots(2, 2).ravel()
    if model.n_seen_ and len(model.eigenvalues_) > len(constants_of(model)):
        plots.spectrum(model, n=60, ax=spectrum)
        spectrum.set_title("eigenvalues", fontsize=10)
        steps = min(10, (max(map(len, recent)) - span_of(model) - 1) // model.lag)
        if steps:
            result = chapman_kolmogorov(model, recent, steps, k=_MOST - 1)
            plots.chapman_kolmogorov(result, unit=unit or "steps", ax=test)
        test.set_title("Chapman-Kolmogorov test", fontsize=10)
        if max(map(len, recent)) > span_of(model):
            _draw_eigenfunctions(along, model, recent, unit)
    else:
        spectrum.set_title("no spectrum", fontsize=10)
        for ax in (spectrum, test, along):
            ax.axis("off")
    _draw_forecast(curves, model, recent, ahead, names, unit)
    with replacing(path) as file:
        figure.savefig(file, format=_format(path), dpi=150)


def _draw_eigenfunctions(
    ax: Axes, model: Koopman, recent: list[NDArray[np.float64]], unit: str
) -> None:
    values, span = model.eigenvalues_[: 2 * _MOST], span_of(model)
    chosen = np.setdiff1d(np.flatnonzero(values.imag >= 0.0), constants_of(model))[: _MOST - 1]
    parts = _last([states for states in recent if len(states) > span], 500, span + 1)
    times = _times(ax, [len(states) - span for states in parts], model.time_step)
    for i, (states, at) in enumerate(zip(parts, times, strict=True)):
        functions = model.eigenfunctions(states, int(chosen.max(initial=0)) + 1).real[:, chosen]
        for j, column in enumerate(functions.T):
            label = None if i else f"{j + 1}"
            ax.plot(at, column, color=CYCLE[j % len(CYCLE)], linewidth=1.2, label=label)
    ax.set_title(f"eigenfunctions along the last states{_cut(parts)}", fontsize=10)
    ax.set(xlabel=f"time before the end ({unit or 'steps'})")
    ax.legend(frameon=False, fontsize=9, ncols=_MOST)
    style_axes(ax, frame=False)


def _draw_forecast(
    ax: Axes,
    model: Koopman,
    recent: list[NDArray[np.float64]],
    ahead: Ahead | None,
    names: list[str],
    unit: str,
) -> None:
    length = 50 if ahead is None else max(ahead[0][-1] * model.lag, 10)
    parts = _last(recent, _BEFORE * length, 2)
    times = _times(ax, [len(states) for states in parts], model.time_step)
    states = np.concatenate(parts)
    spread = states.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    for j, name in enumerate(names[:_MOST]):
        colour, middle = CYCLE[j % len(CYCLE)], states[:, j].mean()

        def height(
            values: NDArray[np.float64], j: int = j, middle: float = middle
        ) -> NDArray[np.float64]:
            heights: NDArray[np.float64] = (values - middle) / spread[j] + 4.0 * j
            return heights

        for i, (part, at) in enumerate(zip(parts, times, strict=True)):
            label = None if i else name
            ax.plot(at, height(part[:, j]), color=colour, linewidth=1.2, label=label)
        if ahead is not None:
            steps, forecasts, intervals = ahead
            later = np.append(0, steps) * model.lag * model.time_step
            ax.plot(
                later, height(np.append(states[-1, j], forecasts[:, j])), "--", color=colour, lw=1.2
            )
            low, high = (height(ends) for ends in intervals[:, j].T)
            ax.fill_between(later[1:], low, high, color=colour, alpha=0.2, linewidth=0)
    what = "last states" if ahead is None else "last states and the forecast"
    ax.set_title(f"the {what}, standardized{_cut(parts)}", fontsize=10)
    ax.set(xlabel=f"time ({unit or 'steps'})", yticks=[])
    ax.legend(frameon=False, fontsize=9, ncols=_MOST)
    style_axes(ax, frame=False)


def _last(recent: list[NDArray[np.float64]], count: int, least: int) -> list[NDArray[np.float64]]:
    """Give about this many of the last states, as trajectories of which each has the least."""
    ends = np.cumsum([len(states) for states in reversed(recent)])
    first, *rest = recent[-1 - int(np.searchsorted(ends[:-1], count)) :]
    return [first[-max(count - sum(map(len, rest)), least) :], *rest]


def _times(ax: Axes, lengths: list[int], step: float) -> list[NDArray[np.float64]]:
    """Give times up to 0, trajectory after trajectory, and mark where one ends."""
    ends = np.cumsum(lengths) - sum(lengths)
    for end in ends[:-1]:
        ax.axvline((end + 0.5) * step, color="0.8", linewidth=0.8, zorder=0)
    return [np.arange(end - n + 1, end + 1) * step for end, n in zip(ends, lengths, strict=True)]


def _cut(parts: list[NDArray[np.float64]]) -> str:
    return ", gaps left out" if len(parts) > 1 else ""


def _format(path: Path) -> str:
    return path.suffix.lower().lstrip(".") or "png"
