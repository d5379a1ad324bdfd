"""
The slow motions of a small molecule
====================================

Alanine dipeptide, from simulated trajectories. Two dihedral angles, phi and psi, every picosecond
in three runs of 20 nanoseconds. Angles are periodic, so the state consists of their cosines and
sines. The eigenvalues of the operator give the timescales of the slow motions, its eigenfunctions
the conformations between which they occur.

Data: ``alanine_dipeptide_dihedrals.npz`` in the folder KERNELSTREAM_DATA (default
../shared/data).
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import kernelstream as ks
from kernelstream import plots

LAGS = (1, 2, 3, 5, 8)  # picoseconds
LEFT_HANDED = (
    126.0  # degrees: beyond it a positive phi is the extended conformation, across 180 degrees
)


def load() -> np.ndarray:
    """Read the runs: (runs, frames, [phi, psi]) in radians."""
    folder = Path(os.environ.get("KERNELSTREAM_DATA", "../shared/data"))
    file = folder / "alanine_dipeptide_dihedrals.npz"
    if not file.exists():
        sys.exit(f"{file} is missing: set KERNELSTREAM_DATA to the folder that contains it")
    with np.load(file) as data:
        return data["trajectory"].astype(np.float64)


def embed(angles: np.ndarray) -> np.ndarray:
    """Map angles to circles."""
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=-1)


def learn(runs: np.ndarray, lag: int) -> ks.Koopman:
    """Learn the operator over `lag` picoseconds."""
    model = ks.presets.recursive_koopman(ks.Gaussian(1.0), tolerance=1e-2, regularization=1e-3)
    model.set_params(lag=lag)
    return model.fit_trajectory(embed(runs))


def main() -> None:
    """Learn, print and plot the results."""
    runs = load()
    models = [learn(runs, lag) for lag in LAGS]
    model = models[0]
    print(f"{model.n_seen_:,} pairs, {model.n_stored_} states stored")
    print("implied timescales (ps), lag 1 ps:", model.timescales(4)[1:].round(1))
    print("residuals on the held-out run:     ", held_out(runs).round(2))

    # The slowest eigenfunction has two plateaus, separated at their mean value.
    frames = runs.reshape(-1, 2)
    values = model.eigenfunctions(embed(frames), 2)[:, 1].real
    one_side = values > 0.5 * (values.min() + values.max())
    phi = np.degrees(frames[:, 0])
    rare = one_side != (np.mean(one_side) > 0.5)
    left, crossed = (phi > 0) & (phi < LEFT_HANDED), phi >= LEFT_HANDED
    print(f"phi < 0:            {np.mean(~rare[phi < 0]):8.2%} of {np.sum(phi < 0):,} on one side")
    print(f"0 < phi < 126 deg:  {np.mean(rare[left]):8.2%} of {np.sum(left)} on the other side")
    print(f"phi > 126 deg:      {np.mean(~rare[crossed]):8.2%} of {np.sum(crossed)} with phi < 0:")
    print("                    the extended conformation, across the cut at 180 degrees")
    draw(models, frames)


def held_out(runs: np.ndarray) -> np.ndarray:
    """Residuals of the leading eigenpairs on the third run, learned from the other two."""
    states = embed(runs)
    model = learn(runs[:2], 1)
    return model.residuals(states[2, :-1], states[2, 1:], 4)[1:]


def draw(models: list[ks.Koopman], frames: np.ndarray) -> None:
    """Draw two eigenfunctions over the angles, and the timescales at all lags."""
    figure = plt.figure(figsize=(15, 4.6), layout="constrained")
    second, third, times = figure.subplots(1, 3)
    functions = models[0].eigenfunctions(embed(frames), 3).real
    phi, psi = np.degrees(frames).T
    for ax, index, name in ((second, 1, "slowest process"), (third, 2, "next process")):
        values = functions[:, index]
        order = np.argsort(np.abs(values))  # rare conformations on top
        reach = np.quantile(np.abs(values), 0.999)
        dots = ax.scatter(
            phi[order], psi[order], c=values[order], s=4, cmap="coolwarm", vmin=-reach, vmax=reach
        )
        figure.colorbar(dots, ax=ax, pad=0.02).outline.set_visible(False)
        ax.axvline(0.0, color="0.6", linewidth=0.8)
        ax.set(xlim=(-180, 180), ylim=(-180, 180), xlabel="phi (degrees)", ylabel="psi (degrees)")
        ax.set_title(f"{name}, {models[0].timescales()[index]:.1f} ps", fontsize=10)
    plots.timescales(LAGS, models, n=3, unit="ps", ax=times)
    times.set_title("implied timescales", fontsize=10)
    plt.show()


if __name__ == "__main__":
    main()
