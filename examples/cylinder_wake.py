"""
Forecasts of the flow behind a cylinder
=======================================

Nine coefficients of the flow, sampled every 0.1 time units: the flow starts at rest, its
amplitude grows for 50 units of time, and then it is periodic. Half of the record, in blocks of
ten units, is learned; forecasts over 50 steps are made within the held-out blocks, half of the
transient among them, and compared with dynamic mode decomposition.

Data: ``cylinder_wake_pod.npz`` in the folder KERNELSTREAM_DATA (default ../shared/data).
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import kernelstream as ks

BLOCK, AHEAD = 100, 50


def load() -> np.ndarray:
    """Read the record: (times, coefficients)."""
    folder = Path(os.environ.get("KERNELSTREAM_DATA", "../shared/data"))
    file = folder / "cylinder_wake_pod.npz"
    if not file.exists():
        sys.exit(f"{file} is missing: set KERNELSTREAM_DATA to the folder that contains it")
    with np.load(file) as data:
        return data["trajectory"].astype(np.float64)


def relative_error(forecast: np.ndarray, truth: np.ndarray) -> float:
    """Norm of all errors divided by the norm of all states."""
    return float(np.linalg.norm(forecast - truth) / np.linalg.norm(truth))


def main() -> None:
    """Learn half of the record, forecast within the other half, and plot one forecast."""
    blocks = load().reshape(-1, BLOCK, 9)
    seen, held_out = blocks[::2], blocks[1::2]
    start = held_out[:, :-AHEAD].reshape(-1, 9)
    truth = held_out[:, AHEAD:].reshape(-1, 9)
    size = np.linalg.norm(start, axis=1)
    rising = (size > 0.1) & (size < 3.1)

    # Dynamic mode decomposition: the least-squares matrix from each state to the next.
    before, after = seen[:, :-1].reshape(-1, 9), seen[:, 1:].reshape(-1, 9)
    matrix = np.linalg.lstsq(before, after, rcond=None)[0]

    # Coefficients are not rescaled, since their size reflects energy. No noise: a small ridge.
    model = ks.presets.recursive_koopman(ks.Gaussian(2.0), tolerance=1e-8, regularization=1e-8)
    model.fit_trajectory(list(seen))
    print(f"{model.n_seen_:,} pairs, {model.n_stored_} states stored")

    by_steps = start
    for _ in range(AHEAD):
        by_steps = model.predict(by_steps)
    forecasts = {
        "persistence": start,
        "dynamic mode decomposition": start @ np.linalg.matrix_power(matrix, AHEAD),
        "kernel, operator to the power 50": model.predict(start, n_steps=AHEAD),
        "kernel, 50 single steps": by_steps,
    }
    print(f"relative error {AHEAD} steps ahead       all       transient")
    for name, forecast in forecasts.items():
        errors = relative_error(forecast, truth), relative_error(forecast[rising], truth[rising])
        print(f"{name:34} {errors[0]:7.4f}   {errors[1]:7.4f}")

    draw(model, matrix, blocks)


def draw(model: ks.Koopman, matrix: np.ndarray, blocks: np.ndarray) -> None:
    """Plot a block of the transient, forecast from its first state."""
    truth = blocks[7]
    times = 0.1 * np.arange(BLOCK)
    linear, kernel = [truth[0]], [truth[0]]
    for _ in range(BLOCK - 1):
        linear.append(linear[-1] @ matrix)
        kernel.append(model.predict(kernel[-1][None])[0])
    figure = plt.figure(figsize=(11.5, 4.2), layout="constrained")
    curve, plane = figure.subplots(1, 2, width_ratios=[1.6, 1])
    for states, name, colour, style, width in (
        (truth, "data", "#b8b8b8", "-", 4.0),
        (np.array(linear), "dynamic mode decomposition", "#d1495b", "--", 1.6),
        (np.array(kernel), f"kernel, {model.n_stored_} stored states", "#0b5fa5", "-", 1.4),
    ):
        curve.plot(times, states[:, 0], style, color=colour, label=name, linewidth=width)
        plane.plot(states[:, 0], states[:, 1], style, color=colour, linewidth=width)
    curve.set(xlabel="time since the first state", ylabel="first coefficient")
    curve.set_title("a held-out block of the transient, forecast from its first state", fontsize=10)
    curve.legend(frameon=False, fontsize=9, loc="upper left")
    plane.set(xlabel="first coefficient", ylabel="second coefficient", aspect="equal")
    for ax in (curve, plane):
        ax.spines[["top", "right"]].set_visible(False)
    plt.show()


if __name__ == "__main__":
    main()
