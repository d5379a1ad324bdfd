"""Mixed forecasts beside persistence, the mean and linear dynamic mode decomposition.

Records: alanine dipeptide's dihedral angles (as cosines and sines), the wake of a cylinder, and
made up: two slow columns (Kelvin with a daily cycle, pressure), a field of 30 numbers and one of
1,617 (744 hours), in Kelvin, with a daily cycle, waves that travel and decay, and noise. All is
prequential, in blocks of a fiftieth of a record: no forecast knows what is later than the
beginning of its block. Dynamic mode decomposition is refitted on all states before each block,
of fields in the ten leading modes. Errors are root mean squares over components, each
in units of its deviation, of all forecasts after the first tenth of the states.

    python benchmarks forecasting skill [--record NAME]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from report import Report
from streams import FOLDER, FloatArray

import kernelstream as ks
from kernelstream.koopman import find_period

HORIZONS = (1, 6, 24)
METHODS = ("mixture", "operator", "persistence", "mean", "DMD")
BLOCKS, MODES = 50, 10


def alanine() -> Sequence[FloatArray]:
    with np.load(FOLDER / "alanine_dipeptide_dihedrals.npz") as data:
        angles = data["trajectory"].astype(np.float64)
    return list(np.concatenate([np.cos(angles), np.sin(angles)], axis=-1))


def cylinder_wake() -> Sequence[FloatArray]:
    with np.load(FOLDER / "cylinder_wake_pod.npz") as data:
        return [data["trajectory"].astype(np.float64)]


def two_columns() -> Sequence[FloatArray]:
    rng, t = np.random.default_rng(0), np.arange(3000)
    kelvin = 280.0 + 8.0 * np.sin(2 * np.pi * t / 24) + np.cumsum(rng.normal(0, 0.15, 3000))
    pascal = 101_325.0 + np.cumsum(rng.normal(0, 20.0, 3000))
    record = np.column_stack([kelvin, pascal])
    return np.split(record, np.sort(rng.choice(3000, 5, replace=False)))


def field(hours: int, rows: int, columns: int) -> Sequence[FloatArray]:
    rng, t = np.random.default_rng(0), np.arange(hours)
    y, x = np.mgrid[0 : 1 : rows * 1j, 0 : 1 : columns * 1j]
    T = 280.0 + 3.0 * np.cos(2 * np.pi * t / 24)[:, None, None] * (1 - y / 2) + 6.0 * (y - 0.5)
    for kx, ky, turn in ((1, 1, 0.08), (2, 1, 0.15), (3, 2, 0.3)):
        wave = np.zeros(hours, dtype=complex)
        for i in range(1, hours):
            noise = 0.25 * rng.standard_normal(2) @ [1, 1j]
            wave[i] = 0.985 * np.exp(1j * turn) * wave[i - 1] + noise
        T = T + (wave[:, None, None] * np.exp(2j * np.pi * (kx * x + ky * y))).real
    return [(T + 0.2 * rng.standard_normal(T.shape)).reshape(hours, -1)]


RECORDS: dict[str, Callable[[], Sequence[FloatArray]]] = {
    "alanine dipeptide": alanine,
    "cylinder wake": cylinder_wake,
    "two slow columns": two_columns,
    "field, 30 numbers": lambda: field(1500, 5, 6),
    "field, 1,617 numbers": lambda: field(744, 33, 49),
}


class ModeDecomposition:
    """Linear least squares from each state to the next, in leading modes."""

    def __init__(self, pieces: Sequence[FloatArray]) -> None:
        states = np.concatenate(list(pieces))
        self.mean = states.mean(axis=0)
        width = states.shape[1]
        self.modes = np.eye(width)
        if width > 3 * MODES:
            self.modes = np.linalg.svd(states - self.mean, full_matrices=False)[2][:MODES].T
        reduced = [(piece - self.mean) @ self.modes for piece in pieces]
        before, after = (np.concatenate([piece[part] for piece in reduced if len(piece) > 1])
                         for part in (slice(None, -1), slice(1, None)))  # fmt: skip
        self.matrix = np.linalg.lstsq(before, after, rcond=None)[0]

    def forecast(self, states: FloatArray, steps: int) -> FloatArray:
        power = np.linalg.matrix_power(self.matrix, steps)
        ahead: FloatArray = self.mean + (states - self.mean) @ self.modes @ power @ self.modes.T
        return ahead


def errors(pieces: Sequence[FloatArray]) -> tuple[FloatArray, int | None]:
    """Root mean square errors (methods, horizons), and the period that was used."""
    total = sum(map(len, pieces))
    block, begun = max(total // BLOCKS, 2), total // 10
    first = np.concatenate(list(pieces))[:begun]
    period = find_period(first)
    model = ks.Forecaster(HORIZONS, period=period, candidates=False)
    back = (period or 1) - 1
    sums, counts = np.zeros((len(METHODS), len(HORIZONS), first.shape[1])), np.zeros(len(HORIZONS))
    seen: list[FloatArray] = []
    for piece in pieces:
        for start in range(0, len(piece), block):
            count = sum(map(len, seen))
            states = piece[start : start + block]
            if count >= begun:
                before = min(back, start)
                mixed = model.forecast(piece[start - before : start + block])[:, before:]
                plain = model.operator_.predict(states, HORIZONS)
                linear, mean = ModeDecomposition(seen), np.concatenate(seen).mean(axis=0)
                for k, n in enumerate(HORIZONS):
                    truth = piece[start + n :][: len(states)]
                    said = (mixed[k], plain[k], states, mean[None], linear.forecast(states, n))
                    for i, forecasts in enumerate(said):
                        ahead = np.broadcast_to(forecasts, states.shape)[: len(truth)]
                        sums[i, k] += np.sum((ahead - truth) ** 2, axis=0)
                    counts[k] += len(truth)
            model.partial_fit(states, continued=start > 0)
            if start:
                seen[-1] = piece[: start + block]
            else:
                seen.append(states)
    squares = sums / counts[:, None] / np.concatenate(list(pieces)).var(axis=0)
    result: FloatArray = np.sqrt(squares.mean(axis=-1))
    return result, period


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", choices=list(RECORDS), help="this one only")
    given = parser.parse_args()
    report = Report("forecast_skill")
    rows = []
    for name in report.track([given.record] if given.record else list(RECORDS), "records"):
        found, period = errors(RECORDS[name]())
        for k, n in enumerate(HORIZONS):
            best = found[2:, k].min()
            rows.append([
                name, f"{period or ''}", f"{n}", *(f"{error:.3g}" for error in found[:, k]),
                f"{found[0, k] / best - 1:+.1%}",
            ])  # fmt: skip
            report.console.print(rows[-1])
    report.heading("Errors of forecasts")
    columns = ["record", "period", "steps ahead", *METHODS, "mixture to best of the last three"]
    report.table(columns, rows)
    report.write()
