"""Eigenvalues in the unit disc, and implied timescales over the lag."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, cast

import numpy as np

from kernelstream.plots.axes import CYCLE, FAINT, INK, new_axes, style_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

__all__ = ["spectrum", "timescales"]


_FEWEST_BLOCKS = 8  # by which an operator tells errors


class _HasEigenvalues(Protocol):
    @property
    def eigenvalues_(self) -> NDArray[np.complex128]: ...


def _has_eigenvalues(source: object) -> TypeGuard[_HasEigenvalues]:
    # looked up without being evaluated: an estimator that is not fitted raises its own error
    return inspect.getattr_static(source, "eigenvalues_", None) is not None


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
    ax = new_axes(ax, (5.0, 4.4))
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


def timescales(
    lags: ArrayLike,
    source: Sequence[_HasEigenvalues] | ArrayLike,
    *,
    errors: ArrayLike | None = None,
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
    errors : array of shape (n_lags, n_processes), optional
        Standard errors of the timescales, twice which are drawn as bars. None: those of estimators
        that have them (`Koopman` with ``n_blocks``).
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
        If `lags` are not positive and increasing, or `source` or `errors` does not have one row for
        each.
    """
    ax = new_axes(ax, (5.4, 3.8))
    steps = np.asarray(lags, dtype=np.float64).ravel()
    if not len(steps) or steps[0] <= 0.0 or np.any(np.diff(steps) <= 0.0):
        raise ValueError("lags must be positive and increasing, and there must be at least one")
    table = _implied(steps, source, n) * time_step
    shown = np.any(np.isfinite(table), axis=0)
    bars = 2.0 * time_step * _errors(steps, source, table / time_step, errors)[:, shown]
    times = table[:, shown]
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
    for i in np.flatnonzero(np.any(np.isfinite(bars), axis=0)).tolist():
        # a bar that reaches down to 0 ends at a twentieth: there is no 0 on the axis
        down = np.minimum(bars[:, i], 0.95 * times[:, i])
        reach, color = [down, bars[:, i]], CYCLE[i % len(CYCLE)]
        ax.errorbar(at, times[:, i], reach, fmt="none", color=color, elinewidth=1.0, capsize=2.5)
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
    _name_curves(ax, at, times)
    ax.text(
        0.98,
        0.03,
        "shorter than the lag: not resolved",
        transform=ax.transAxes,
        ha="right",
        color=INK,
        fontsize=8,
    )
    ax.set(xlabel=f"lag ({unit})", ylabel=f"implied timescale ({unit})")
    style_axes(ax, frame=False)
    return ax


def _name_curves(ax: Axes, at: NDArray[np.float64], times: NDArray[np.float64]) -> None:
    """Write the number of each process at its end; those that end in one place share a label."""
    low, high = np.log(ax.get_ylim())
    ends: dict[tuple[int, int], list[int]] = {}
    for i in range(times.shape[1]):
        last = int(np.flatnonzero(np.isfinite(times[:, i]))[-1])
        height = np.log(times[last, i])
        near = [
            key
            for key, (first, *_) in ends.items()
            if key[0] == last and abs(height - np.log(times[last, first])) < 0.05 * (high - low)
        ]
        ends.setdefault(near[0] if near else (last, i), []).append(i)
    for (last, first), processes in ends.items():
        ax.annotate(
            ", ".join(f"{i + 1}" for i in processes),
            (at[last], times[last, first]),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=CYCLE[first % len(CYCLE)],
            fontsize=9,
        )


def _residual_norm(residuals: NDArray[np.float64]) -> Any:
    from matplotlib.colors import LogNorm, Normalize  # noqa: PLC0415 (optional)

    some = residuals[np.isfinite(residuals) & (residuals > 0.0)]
    if len(some) and np.max(some) > 30.0 * np.min(some):
        return LogNorm(max(float(np.min(some)), 1e-6 * float(np.max(some))), float(np.max(some)))
    return Normalize(0.0, float(np.max(some, initial=0.0)) or 1.0)


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
    return np.array(rows).reshape(len(lags), n)


def _errors(
    lags: NDArray[np.float64],
    source: Sequence[_HasEigenvalues] | ArrayLike,
    times: NDArray[np.float64],
    errors: ArrayLike | None,
) -> NDArray[np.float64]:
    """Give standard errors of implied timescales in time steps, nan where they are not known."""
    most = times.shape[1]
    table = np.full((len(times), most), np.nan)
    if errors is not None:
        given = np.asarray(errors, dtype=np.float64)
        if given.ndim != 2 or len(given) != len(lags):
            raise ValueError(f"errors have shape {given.shape}, but there are {len(lags)} lags")
        known = given[:, :most]
        table[:, : known.shape[1]] = known
        return table
    for i, item in enumerate(cast("Sequence[Any]", source)):
        if getattr(item, "n_blocks", 0) >= _FEWEST_BLOCKS:
            rates, stds = item.rates(most + 1, return_std=True)
            known = (stds.real / np.abs(rates.real))[1:]
            table[i, : len(known)] = times[i, : len(known)] * known
    return table
