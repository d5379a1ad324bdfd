"""Figures: eigenfunctions, spectra and timescales of Koopman operators, growth, and importances.

matplotlib is needed when one of these functions is called: ``pip install "kernelstream[plot]"``.
Every function draws into `ax` (None: into a new figure), takes arrays or a fitted estimator, and
returns the axes, so that titles, limits and further curves can be added.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeGuard, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

__all__ = ["eigenfunction", "growth", "importances", "spectrum", "timescales"]

# INK for text, FAINT for frames and guides, CYCLE for curves (distinct also for the colour-blind)
INK, FAINT = "#333333", "#b8b8b8"
CYCLE = ("#0b5fa5", "#d1495b", "#2a9d62", "#c98a1b", "#7a4fa3", "#4a4a4a")


class _HasEigenvalues(Protocol):
    @property
    def eigenvalues_(self) -> NDArray[np.complex128]: ...


class _HasEigenfunctions(Protocol):
    def eigenfunctions(self, X: ArrayLike, k: int = ...) -> NDArray[np.complex128]: ...


class _HasImportances(Protocol):
    @property
    def feature_importances_(self) -> NDArray[np.float64]: ...


def _has_importances(source: object) -> TypeGuard[_HasImportances]:
    return inspect.getattr_static(source, "feature_importances_", None) is not None


def _has_eigenvalues(source: object) -> TypeGuard[_HasEigenvalues]:
    # looked up without being evaluated: an estimator that is not fitted raises its own error
    return inspect.getattr_static(source, "eigenvalues_", None) is not None


def _has_eigenfunctions(source: object) -> TypeGuard[_HasEigenfunctions]:
    return inspect.getattr_static(source, "eigenfunctions", None) is not None


def eigenfunction(
    source: _HasEigenfunctions | Callable[[NDArray[np.float64]], ArrayLike] | ArrayLike,
    *,
    box: tuple[float, float, float, float] = (-2.0, 2.0, -2.0, 2.0),
    index: int = 1,
    part: Literal["real", "imag", "abs", "phase"] = "real",
    trajectories: Iterable[ArrayLike] | None = None,
    points: ArrayLike | None = None,
    resolution: int = 151,
    labels: tuple[str, str] = ("$x_1$", "$x_2$"),
    colorbar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw a heat map of an eigenfunction over a plane, with trajectories on top.

    Parameters
    ----------
    source : fitted estimator, callable or array
        An estimator whose `eigenfunctions(X, k)` gives (n, k) values on (n, 2) points; or a
        function from (n, 2) points to (n,) values; or the values themselves on a regular grid,
        shape (n_vertical, n_horizontal), first row at the bottom.
    box : (left, right, bottom, top), default=(-2, 2, -2, 2)
        Limits of the plane.
    index : int, default=1
        Index of the eigenfunction of an estimator; 0 is the leading one (usually the constant).
    part : {"real", "imag", "abs", "phase"}, default="real"
        The part of complex values to draw. The colour scale of real and imaginary parts is
        symmetric about zero, so that white separates the signs.
    trajectories : list of (n_times, 2) arrays, or (n_trajectories, n_times, 2) array, optional
        Drawn as thin lines that end in a dot.
    points : array of shape (n_points, 2), optional
        Drawn as small crosses, for example the stored points of a model.
    resolution : int, default=151
        Number of grid points along each side, at least 2, unless `source` is an array.
    labels : (str, str)
        Labels of the two axes.
    colorbar : bool, default=True
        Whether to draw the colour scale.
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
        If the values do not have the stated shape.
    """
    ax = _axes(ax, (5.0, 4.2))
    left, right, bottom, top = box
    values = _parts(_on_grid(source, box, index, resolution), part)
    if part == "phase":
        colours, low, high = "twilight", -np.pi, np.pi
    elif part == "abs":
        colours, low, high = "viridis", 0.0, float(np.nanmax(values))
    else:
        # a few extreme values must not dominate the colour scale
        high = float(np.nanpercentile(np.abs(values), 99.5)) or 1.0
        colours, low = "RdBu_r", -high
    image = ax.imshow(
        values,
        extent=(left, right, bottom, top),
        origin="lower",
        aspect="auto",
        cmap=colours,
        vmin=low,
        vmax=high,
        interpolation="bilinear",
    )
    if trajectories is not None:
        for path in trajectories:
            states = _plane(path, "trajectory")
            ax.plot(states[:, 0], states[:, 1], color="black", linewidth=0.7, alpha=0.55)
            ax.plot(*states[-1], marker="o", markersize=2.6, color="black", linestyle="none")
    if points is not None:
        stored = _plane(points, "points")
        ax.plot(stored[:, 0], stored[:, 1], "+", color="black", markersize=4, alpha=0.6, mew=0.8)
    ax.set(xlim=(left, right), ylim=(bottom, top), xlabel=labels[0], ylabel=labels[1])
    if colorbar and ax.figure is not None:
        bar = ax.figure.colorbar(image, ax=ax, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0, colors=INK)
    style_axes(ax)
    return ax


def spectrum(
    source: _HasEigenvalues | ArrayLike,
    *,
    residuals: ArrayLike | None = None,
    reference: ArrayLike | None = None,
    n: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw eigenvalues in the unit disc, coloured by their residuals.

    Parameters
    ----------
    source : fitted estimator or array of shape (n_eigenvalues,)
        An estimator with `eigenvalues_`, or complex eigenvalues.
    residuals : array of shape (n_eigenvalues,), optional
        Residual of each eigenpair, at least 0, dark if small; on a logarithmic scale if they span
        more than a factor of 30.
    reference : array, optional
        Known eigenvalues, drawn as circles.
    n : int, optional
        Number of leading eigenvalues to draw. None: all.
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
        If `residuals` does not match the eigenvalues.
    """
    ax = _axes(ax, (5.0, 4.4))
    values = np.asarray(
        source.eigenvalues_ if _has_eigenvalues(source) else source,
        dtype=np.complex128,
    ).ravel()
    angle = np.linspace(0.0, 2.0 * np.pi, 361)
    ax.fill(np.cos(angle), np.sin(angle), color="#f4f5f7", zorder=0)
    ax.plot(np.cos(angle), np.sin(angle), color=FAINT, linewidth=1.0, zorder=1)
    for radius in (0.25, 0.5, 0.75):
        ax.plot(radius * np.cos(angle), radius * np.sin(angle), color="#e3e5e8", lw=0.6, zorder=1)
    ax.axhline(0.0, color="#dcdfe3", linewidth=0.6, zorder=1)
    ax.axvline(0.0, color="#dcdfe3", linewidth=0.6, zorder=1)
    shown = values[:n]
    if residuals is None:
        ax.scatter(shown.real, shown.imag, s=30, color=CYCLE[0], linewidth=0, zorder=3)
    else:
        trust = np.asarray(residuals, dtype=np.float64).ravel()
        if len(trust) != len(values):
            raise ValueError(f"{len(trust)} residuals for {len(values)} eigenvalues")
        trust = trust[:n]
        # small residuals on top
        order = np.argsort(-trust, kind="stable")
        dots = ax.scatter(
            shown.real[order],
            shown.imag[order],
            c=trust[order],
            s=34,
            cmap="viridis",
            norm=_residual_norm(trust),
            edgecolors="white",
            linewidth=0.5,
            zorder=3,
        )
        if ax.figure is not None:
            bar = ax.figure.colorbar(dots, ax=ax, pad=0.02, label="residual")
            bar.outline.set_visible(False)
    if reference is not None:
        known = np.asarray(reference, dtype=np.complex128).ravel()
        ax.scatter(
            known.real,
            known.imag,
            s=110,
            facecolors="none",
            edgecolors=CYCLE[1],
            linewidth=1.2,
            zorder=4,
            label="known",
        )
        ax.legend(frameon=False, loc="lower right", fontsize=9)
    reach = 1.08 * max(1.0, float(np.max(np.abs(shown), initial=0.0)))
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel="real", ylabel="imaginary")
    ax.set_aspect("equal")
    style_axes(ax)
    return ax


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
    ax = _axes(ax, (5.4, 3.6))
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
    ax = _axes(ax, (5.4, 0.6 + 0.25 * len(shown)))
    places = np.arange(len(shown))
    ax.barh(places, shares[shown], height=0.7, color=CYCLE[0])
    ax.set_yticks(places, [labels[j] for j in shown])
    ax.invert_yaxis()
    ax.set(xlabel="share of the squared slope", xlim=(0.0, None))
    ax.grid(axis="x", color="#eceef0", linewidth=0.8)
    ax.set_axisbelow(True)
    style_axes(ax, frame=False)
    return ax


def timescales(
    lags: ArrayLike,
    source: Sequence[_HasEigenvalues] | ArrayLike,
    *,
    n: int = 4,
    time_step: float = 1.0,
    unit: str = "steps",
    reference: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw implied timescales against the lag: constant where the model is Markovian.

    A process with eigenvalue mu over a lag of tau has the timescale -tau / log|mu|. In the shaded
    region it decays within one lag and cannot be resolved.

    Parameters
    ----------
    lags : array of shape (n_lags,)
        Lags in time steps, increasing, above 0.
    source : sequence of fitted estimators, or array of shape (n_lags, n_processes)
        One estimator with `eigenvalues_` for each lag, beginning with 1 of the constant; or the
        implied timescales in time steps, slowest first.
    n : int, default=4
        Maximal number of processes to draw.
    time_step : float, default=1.0
        Time between two states, in `unit`.
    unit : str, default="steps"
        Unit of time of both axes.
    reference : array, optional
        Known timescales in `unit`, drawn as dashed lines.
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
        If `lags` are not positive and increasing, or `source` does not have one row for each.
    """
    ax = _axes(ax, (5.4, 3.8))
    steps = np.asarray(lags, dtype=np.float64).ravel()
    if not len(steps) or steps[0] <= 0.0 or np.any(np.diff(steps) <= 0.0):
        raise ValueError("lags must be positive and increasing, and there must be at least one")
    times = _implied(steps, source, n) * time_step
    at = steps * time_step
    for i in range(times.shape[1]):
        ax.plot(
            at,
            times[:, i],
            color=CYCLE[i % len(CYCLE)],
            marker="o",
            markersize=4,
            linewidth=1.6,
        )
        known = np.flatnonzero(np.isfinite(times[:, i]))
        if len(known):
            ax.annotate(
                f"{i + 1}",
                (at[known[-1]], times[known[-1], i]),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                color=CYCLE[i % len(CYCLE)],
                fontsize=9,
            )
    for value in np.asarray([] if reference is None else reference, dtype=np.float64).ravel():
        ax.axhline(value, color=INK, linestyle="--", linewidth=0.9, alpha=0.6, zorder=1)
    ax.set_yscale("log")
    if len(at) and at[-1] > 8.0 * at[0]:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    finite = times[np.isfinite(times)]
    low = 0.7 * float(np.min(np.append(finite, at)))
    fine = np.geomspace(at[0], at[-1], 200)
    ax.fill_between(fine, low, fine, color="#e9ebee", linewidth=0, zorder=0)
    ax.plot(fine, fine, color=FAINT, linewidth=1.0, zorder=1)
    ax.set_ylim(bottom=low)
    ax.margins(x=0.06)
    ax.set(xlabel=f"lag ({unit})", ylabel=f"implied timescale ({unit})")
    style_axes(ax, frame=False)
    return ax


# ---------------------------------------------------------------------------------- shared


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
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


def _residual_norm(residuals: NDArray[np.float64]) -> Any:
    from matplotlib.colors import LogNorm, Normalize  # noqa: PLC0415 (optional)

    some = residuals[np.isfinite(residuals) & (residuals > 0.0)]
    if len(some) and np.max(some) > 30.0 * np.min(some):
        return LogNorm(max(float(np.min(some)), 1e-6 * float(np.max(some))), float(np.max(some)))
    return Normalize(0.0, float(np.max(some, initial=0.0)) or 1.0)


def _on_grid(
    source: _HasEigenfunctions | Callable[[NDArray[np.float64]], ArrayLike] | ArrayLike,
    box: tuple[float, float, float, float],
    index: int,
    resolution: int,
) -> NDArray[Any]:
    if not (_has_eigenfunctions(source) or callable(source)):
        given = np.asarray(source)
        if given.ndim != 2:
            raise ValueError(
                f"values have {given.ndim} dimensions, but must be (n_vertical, n_horizontal)"
            )
        return given
    if resolution < 2:
        raise ValueError(f"resolution must be at least 2, got {resolution}")
    horizontal = np.linspace(box[0], box[1], resolution)
    vertical = np.linspace(box[2], box[3], resolution)
    grid = np.stack(np.meshgrid(horizontal, vertical), axis=-1).reshape(-1, 2)
    if _has_eigenfunctions(source):
        values = np.asarray(source.eigenfunctions(grid, k=index + 1))[:, index]
    else:
        function = cast("Callable[[NDArray[np.float64]], ArrayLike]", source)
        values = np.asarray(function(grid))
    if values.size != len(grid):
        raise ValueError(f"the function returned shape {values.shape} for {len(grid)} points")
    return values.reshape(resolution, resolution)


def _parts(values: NDArray[Any], part: str) -> NDArray[np.float64]:
    take: dict[str, Callable[[NDArray[Any]], Any]] = {
        "real": np.real,
        "imag": np.imag,
        "abs": np.abs,
        "phase": np.angle,
    }
    if part not in take:
        raise ValueError(f"part must be one of {', '.join(map(repr, take))}, got {part!r}")
    return np.asarray(take[part](values), dtype=np.float64)


def _plane(states: ArrayLike, name: str) -> NDArray[np.float64]:
    flat = np.asarray(states, dtype=np.float64)
    if flat.ndim != 2 or flat.shape[1] != 2:
        raise ValueError(f"{name} has shape {flat.shape}, but must be (n, 2)")
    return flat


def _implied(
    lags: NDArray[np.float64], source: Sequence[_HasEigenvalues] | ArrayLike, n: int
) -> NDArray[np.float64]:
    rows: list[NDArray[np.float64]] = []
    for lag, item in zip(lags, cast("Sequence[Any]", source), strict=False):
        if _has_eigenvalues(item):
            moduli = np.abs(np.asarray(item.eigenvalues_))[1:]
            # an eigenvalue of 1 or more does not decay, one of 0 decays at once
            with np.errstate(divide="ignore"):
                row = np.where(moduli < 1.0, -lag / np.log(np.minimum(moduli, 1.0)), np.nan)
        else:
            row = np.asarray(item, dtype=np.float64).ravel()
        rows.append(np.append(row, np.full(n, np.nan))[:n])
    if len(rows) != len(lags) or len(cast("Sequence[Any]", source)) != len(lags):
        raise ValueError(
            f"{len(cast('Sequence[Any]', source))} models for {len(lags)} lags: each needs one"
        )
    table = np.array(rows).reshape(len(lags), n)
    return table[:, np.any(np.isfinite(table), axis=0)]
