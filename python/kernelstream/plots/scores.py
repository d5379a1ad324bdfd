"""Scores of operators, and the Chapman-Kolmogorov test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from kernelstream.plots.axes import CYCLE, FAINT, new_axes, style_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

__all__ = ["chapman_kolmogorov", "vamp"]


class _Test(Protocol):
    @property
    def times(self) -> NDArray[np.float64]: ...
    @property
    def predicted(self) -> NDArray[np.complex128]: ...
    @property
    def estimated(self) -> NDArray[np.complex128]: ...
    @property
    def error(self) -> NDArray[np.float64]: ...


def chapman_kolmogorov(result: _Test, *, unit: str = "steps", ax: Axes | None = None) -> Axes:
    """Draw the autocorrelation of eigenfunctions: the operator's powers beside the data.

    Parameters
    ----------
    result : ChapmanKolmogorov
        What `koopman.chapman_kolmogorov` gave.
    unit : str, default="steps"
        Unit of time.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into. None: a new figure's.

    Returns
    -------
    matplotlib.axes.Axes
        Lines for the powers of the eigenvalues, points with two standard errors for the data; of
        complex ones the real parts.

    Raises
    ------
    ImportError
        If matplotlib is missing.
    """
    ax = new_axes(ax, (5.4, 3.8))
    ax.axhline(0.0, color=FAINT, linewidth=0.8, zorder=1)
    for j in range(result.predicted.shape[1]):
        colour = CYCLE[j % len(CYCLE)]
        line = np.append(1.0, result.predicted[:, j].real)
        ax.plot(np.append(0.0, result.times), line, color=colour, linewidth=1.6, label=f"{j + 1}")
        ax.errorbar(
            result.times,
            result.estimated[:, j].real,
            2.0 * result.error[:, j],
            color=colour,
            fmt="o",
            markersize=4,
            linewidth=1.0,
        )
    ax.set(xlabel=f"time ({unit})", ylabel="correlation: operator (line), data (points)")
    ax.legend(frameon=False, fontsize=9, title="eigenfunction", ncols=2)
    style_axes(ax, frame=False)
    return ax


def vamp(
    source: Any,
    scores: ArrayLike | None = None,
    *,
    label: str | None = None,
    xlabel: str | None = None,
    ylabel: str = "held-out score",
    ax: Axes | None = None,
) -> Axes:
    """Draw held-out scores over a parameter: the mean of the folds and its standard error.

    Call again with the same `ax` to add a curve.

    Parameters
    ----------
    source : fitted GridSearchCV or array of length n_values
        A search of scikit-learn over one parameter; or the values of the parameter.
    scores : array of shape (n_values,) or (n_values, n_folds), optional
        With values of a parameter: the score of each, or of each in each fold.
    label : str, optional
        Label of the curve in the legend.
    xlabel, ylabel : str, optional
        Labels of the axes. None: the name of the parameter.
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
        If the search has more than one parameter, or there is not a score for each value.
    """
    values: Sequence[Any]
    if scores is None:
        name, values, table = _of_search(source)
        xlabel = name if xlabel is None else xlabel
    else:
        values, table = list(source), np.asarray(scores, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != len(values):
        raise ValueError(f"scores have shape {table.shape} for {len(values)} values")
    ax = new_axes(ax, (5.4, 3.6))
    curves = sum(1 for line in ax.get_lines() if line.get_gid() == "scores")
    colour = CYCLE[curves % len(CYCLE)]
    numeric = all(isinstance(value, int | float | np.number) for value in values)
    at = np.asarray(values, dtype=np.float64) if numeric else np.arange(len(values))
    order = np.argsort(at, kind="stable")
    at, table = at[order], table[order]
    means = table.mean(axis=1)
    spread = table.std(axis=1, ddof=min(1, table.shape[1] - 1)) / np.sqrt(table.shape[1])
    ax.fill_between(at, means - spread, means + spread, color=colour, alpha=0.15, linewidth=0)
    ax.plot(at, means, "o-", color=colour, markersize=4, linewidth=1.6, label=label, gid="scores")
    if not numeric:
        ax.set_xticks(at, [str(value) for value in values])
    elif at[0] > 0.0 and at[-1] > 20.0 * at[0]:
        ax.set_xscale("log")
    ax.set(xlabel=xlabel or "", ylabel=ylabel)
    if label is not None:
        ax.legend(frameon=False, fontsize=9)
    style_axes(ax, frame=False)
    return ax


def _of_search(search: Any) -> tuple[str, list[Any], NDArray[np.float64]]:
    """Give the parameter of a search, its values and the score of each in each fold."""
    results = cast("dict[str, Any]", search.cv_results_)
    names = [name for name in results if name.startswith("param_")]
    if len(names) != 1:
        raise ValueError(
            f"the search has {len(names)} parameters, but a curve shows one: pass its values and "
            "their scores"
        )
    folds = [f"split{i}_test_score" for i in range(int(search.n_splits_))]
    table = np.stack([np.asarray(results[fold], dtype=np.float64) for fold in folds], axis=1)
    return names[0].removeprefix("param_"), list(results[names[0]]), table
