"""Report on an operator: its slow processes and oscillations, and its forecasts' errors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from kernelstream.cli.running.trajectories import Cutter
from kernelstream.cli.writing.messages import say
from kernelstream.koopman import Koopman, Skill, chapman_kolmogorov
from kernelstream.koopman.queries import constants_of, elapsed_of, span_of

__all__ = ["Report", "print_report"]

_SHOWN = 8
# Eigenvalues whose shares of the variance are compared.
_COMPARED = 128


@dataclass(frozen=True)
class Report:
    """What was found in trajectories."""

    model: Koopman
    cutter: Cutter
    recent: list[NDArray[np.float64]]
    skill: Skill | None
    inside: NDArray[np.float64] | None
    coverage: float

    def spectrum(self) -> list[list[str]]:
        """Give a line of cells for each process, by falling share of the variance.

        A conjugate pair is one process. With many delays the leading eigenvalues are products of
        those of one oscillation, without a share of the variance. There is none in a constant
        record, or in one too short for a pair of states with their delays.
        """
        model = self.model
        if not model.n_seen_:
            return []
        k = min(_COMPARED, len(model.eigenvalues_))
        values, shares = model.eigenvalues_[:k], model.explained_variance(self.recent, k)
        processes = np.setdiff1d(np.flatnonzero(values.imag >= 0.0), constants_of(model))
        shares[values.imag > 0.0] *= 2.0
        largest = np.argsort(-shares[processes].round(3), kind="stable")[:_SHOWN]
        shown = processes[largest]
        if not len(shown):
            return []
        k = int(shown.max()) + 1
        scales, frequencies, errors = model.timescales(k), model.frequencies(k), self._errors(k)
        lines: list[list[str]] = []
        for j in shown:
            scale = _number(scales[j])
            if np.isfinite(scales[j]) and errors[j] >= scales[j]:
                scale = "undetermined"
            elif np.isfinite(scales[j]) and np.isfinite(errors[j]):
                scale += f" ± {_number(errors[j])}"
            period = _number(1.0 / frequencies[j]) if frequencies[j] > 0.0 else ""
            lines.append([_eigenvalue(values[j]), scale, period, f"{shares[j]:.1%}"])
        return lines

    def _errors(self, k: int) -> NDArray[np.float64]:
        """Give standard errors of the timescales, from those of the eigenvalues."""
        model, errors = self.model, np.full(k, np.nan)
        if max(map(len, self.recent)) > 10 * model.lag + span_of(model):
            test = chapman_kolmogorov(model, self.recent, 1, k=k)
            tested = test.index[test.index < k]
            moduli, scales = np.abs(model.eigenvalues_[tested]), model.timescales(k)[tested]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                slopes = scales**2 / (elapsed_of(model) * moduli)
                errors[tested] = slopes * test.error[0, : len(tested)]
        return errors


def print_report(
    console: Console, findings: Report, spectrum: list[list[str]], saved: Path | None
) -> None:
    """Print the results as tables of plain text."""
    model, cutter = findings.model, findings.cutter
    unit = f" ({cutter.unit})" if cutter.unit else ""
    header = ["eigenvalue", f"timescale{unit}", f"period{unit}", "share of variance"]
    if spectrum:
        _print_table(console, [header, *spectrum])
    elif model.n_seen_:
        say(console, "no spectrum: the operator found no process beside the constant function")
    else:
        say(console, "no spectrum: the record is too short for a pair of states with their delays")
    if findings.skill is not None:
        say(console, "")
        _print_table(console, _errors_table(findings, findings.skill))
        if findings.inside is None and findings.skill.over_persistence.min() < 0.0:
            say(
                console,
                "The operator alone forecasts worse than persistence here: --forecast N mixes it "
                "with simpler forecasts, and judges what comes of it.",
            )
    n_left_out = getattr(model, "n_left_out_", 0)
    # A forecaster learns all pairs, with outliers replaced.
    replaces = model._core.n_states > 0
    facts = {"pairs learned": f"{model.n_seen_ - (0 if replaces else n_left_out):,}"}
    if n_left_out and replaces:
        facts["outliers left out"] = f"{n_left_out:,}, far beyond all rows before"
    elif n_left_out:
        facts["pairs left out"] = f"{n_left_out:,}, with an outlying state"
    facts["states stored"] = f"{model.n_stored_:,}"
    facts["trajectories"] = f"{cutter.n_trajectories:,}"
    n_gaps = cutter.n_gaps - cutter.n_returns - cutter.n_setbacks
    ends = [f"{n_gaps:,} ended at a gap in time"] if n_gaps else []
    ends += [f"{cutter.n_returns:,} ended where times begin again"] if cutter.n_returns else []
    ends += [f"{cutter.n_setbacks:,} ended where times go back"] if cutter.n_setbacks else []
    if ends:
        facts["trajectories"] += f" ({', '.join(ends)})"
    if cutter.n_filled:
        facts["rows filled in"] = f"{cutter.n_filled:,} on lines between their neighbours"
    if cutter.n_incomplete:
        facts["incomplete rows"] = f"{cutter.n_incomplete:,} with missing values"
    if saved is not None:
        facts["model saved"] = f"{saved} ({saved.stat().st_size / 1024:,.0f} kB)"
    say(console, "")
    width = max(map(len, facts))
    for name, value in facts.items():
        say(console, f"{name:<{width}}  {value}")


def _errors_table(findings: Report, skill: Skill) -> list[list[str]]:
    """Give the skill of forecasts over trivial ones, one row for each number of steps."""
    what = "operator" if findings.inside is None else "forecast"
    rows = [[f"{what}, rows ahead", "saved over persistence", "over the mean"]]
    rows += [
        [f"{n * findings.model.lag}", f"{a:.1%}", f"{b:.1%}"]
        for n, a, b in zip(
            skill.n_steps, skill.over_persistence, skill.over_climatology, strict=True
        )
    ]
    if findings.inside is not None:
        rows[0].append(f"inside {findings.coverage:.3g} intervals")
        for row, share in zip(rows[1:], findings.inside, strict=True):
            row.append(f"{share:.1%}")
    return rows


def _print_table(console: Console, rows: list[list[str]]) -> None:
    """Print a table; where the terminal is narrower, a line for each cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + 2 * (len(widths) - 1) <= console.width:
        for row in rows:
            padded = (f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
            say(console, "  ".join(padded).rstrip())
        return
    for name, *cells in rows[1:]:
        say(console, f"{rows[0][0]} {name}")
        for title, cell in zip(rows[0][1:], cells, strict=True):
            if cell:
                say(console, f"  {title} {cell}")


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1000.0 <= abs(value) < 1e6 else f"{value:.3g}"


def _eigenvalue(value: complex) -> str:
    return f"{value.real:.4f}" if value.imag == 0.0 else f"{value.real:.4f} ± {value.imag:.4f}i"
