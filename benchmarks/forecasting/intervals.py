"""Coverage of forecast intervals, prequential, at several horizons.

Alanine dipeptide's dihedral angles (as cosines and sines), the wake of a cylinder, particles in
four wells and one coordinate of Lorenz's system with delays, learned by `Forecaster(...)`
with nothing else chosen, in blocks of states: before a block is learned, intervals are asked for
from each of its states. A block is one state, as where a forecast is made whenever a state has
come; in larger ones, as where states are learned now and then, errors are known later. Coverage
is the mean over states and components of those in the second half of the stream; the furthest
component stands beside it. Widths are means, in standard deviations of the component.

    python benchmarks forecasting intervals [--coverage 0.9] [--block 1]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from report import Report
from streams import FOLDER, FloatArray

import kernelstream as ks
from kernelstream import datasets

HORIZONS = (1, 10, 100)

# States that begin a trajectory, learned at once: one alone is none.
FIRST = 50


def alanine() -> tuple[ks.Koopman, list[FloatArray]]:
    with np.load(FOLDER / "alanine_dipeptide_dihedrals.npz") as data:
        angles = data["trajectory"].astype(np.float64)
    return ks.Koopman(), list(np.concatenate([np.cos(angles), np.sin(angles)], axis=-1))


def cylinder_wake() -> tuple[ks.Koopman, list[FloatArray]]:
    with np.load(FOLDER / "cylinder_wake_pod.npz") as data:
        return ks.Koopman(), [data["trajectory"].astype(np.float64)]


def four_wells() -> tuple[ks.Koopman, list[FloatArray]]:
    wells = datasets.four_well_langevin(n_trajectories=40, n_steps=1_000, random_state=0)
    return ks.Koopman(), list(wells.trajectories)


def lorenz() -> tuple[ks.Koopman, list[FloatArray]]:
    x = datasets.lorenz(10_000, random_state=0).trajectories[0, :, :1]
    return ks.Koopman(n_delays=4), [x]


WORLDS = {
    "alanine dipeptide": alanine,
    "cylinder wake": cylinder_wake,
    "four wells": four_wells,
    "Lorenz, x alone": lorenz,
}


def inside_and_width(
    operator: ks.Koopman, trajectories: Sequence[FloatArray], coverage: float, block: int
) -> tuple[list[FloatArray], FloatArray]:
    """Learn; of each horizon whether later states were inside (n, d), and widths (horizons, d)."""
    model = ks.Forecaster(HORIZONS, operator, candidates=False)
    span = operator.n_delays * operator.delay
    total, count = sum(map(len, trajectories)), 0
    inside: list[list[FloatArray]] = [[] for _ in HORIZONS]
    widths: list[FloatArray] = []
    for T in trajectories:
        starts = [0, *range(FIRST, len(T), block)]
        for start, end in zip(starts, [*starts[1:], len(T)], strict=True):
            states = T[max(start - span, 0) : end]
            if count > total // 2 and len(states) > span:
                ends = model.forecast_interval(states, coverage)
                widths.append((ends[..., 1] - ends[..., 0]).mean(axis=1))
                for k, horizon in enumerate(HORIZONS):
                    truth = T[max(start, span) + horizon :][: ends.shape[1]]
                    low, high = np.moveaxis(ends[k, : len(truth)], -1, 0)
                    inside[k].append((low <= truth) & (truth <= high))
            model.partial_fit(T[start:end], continued=start > 0)
            count += end - start
    spread = np.concatenate(list(trajectories)).std(axis=0)
    return [np.concatenate(parts) for parts in inside], np.mean(widths, axis=0) / spread


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--coverage", type=float, default=0.9, help="of the intervals")
    parser.add_argument("--block", type=int, default=1, help="states learned at once")
    arguments = parser.parse_args()
    coverage = arguments.coverage
    report = Report("forecast_intervals")
    rows = []
    for name in report.track(list(WORLDS), "systems"):
        model, trajectories = WORLDS[name]()
        inside, widths = inside_and_width(model, trajectories, coverage, arguments.block)
        for k, horizon in enumerate(HORIZONS):
            shares = inside[k].mean(axis=0)
            furthest = shares[np.abs(shares - coverage).argmax()]
            rows.append([
                name, f"{horizon}", f"{len(inside[k]):,}", f"{shares.mean():.1%}",
                f"{furthest:.1%}", f"{widths[k].mean():.3g}",
            ])  # fmt: skip
    report.heading(f"Coverage of {coverage:.0%} intervals")
    report.table(["system", "steps ahead", "states", "inside", "furthest", "width"], rows)
    report.write()
