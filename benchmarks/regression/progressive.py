"""One prequential pass over a stream: error, time, size and curves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from report import OUTPUT
from streams import FloatArray

import kernelstream as ks

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.ticker import NullFormatter


@dataclass(frozen=True)
class Pass:
    """The result of one pass."""

    squared_errors: FloatArray
    # Processor seconds of `rounds` rows, which exclude other load of the machine.
    rounds: FloatArray
    seconds: FloatArray
    stored: int

    @property
    def error(self) -> float:
        """Prequential mean squared error."""
        return float(self.squared_errors.mean())

    @property
    def microseconds(self) -> float:
        """Time to predict and learn a row."""
        return float(1e6 * self.seconds[-1] / self.rounds[-1])

    def running_error(self) -> FloatArray:
        """Mean squared error so far, at each of `rounds`."""
        sums = np.cumsum(self.squared_errors)
        result: FloatArray = sums[self.rounds.astype(np.int64) - 1] / self.rounds
        return result


def run(model: ks.KernelRegressor, X: FloatArray, y: FloatArray, chunk: int = 500) -> Pass:
    """Pass over a stream in chunks, whose size affects only how often the clock is read."""
    errors, rounds, seconds, total = [], [], [], 0.0
    for start in range(0, len(y), chunk):
        rows, targets = X[start : start + chunk], y[start : start + chunk]
        began = time.process_time()
        predictions = model.partial_fit_predict(rows, targets)
        total += time.process_time() - began
        errors.append((predictions - targets) ** 2)
        rounds.append(float(start + len(targets)))
        seconds.append(total)
    stored = model.n_stored_
    return Pass(np.concatenate(errors), np.array(rounds), np.array(seconds), stored)


def draw(name: str, title: str, passes: Sequence[tuple[str, Pass]]) -> Path:
    """Running error against rounds and against seconds, saved in benchmarks/output."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
    for label, each in passes:
        for axis, across in zip(axes, (each.rounds, each.seconds), strict=True):
            axis.plot(across, each.running_error(), label=label)
    for axis, what in zip(axes, ("rows", "seconds"), strict=True):
        axis.set(xlabel=what, xscale="log", yscale="log")
        axis.grid(alpha=0.3, which="both")
        axis.xaxis.set_minor_formatter(NullFormatter())
    axes[0].set_ylabel("mean squared error so far")
    axes[1].legend(fontsize="small")
    figure.suptitle(title)
    OUTPUT.mkdir(exist_ok=True)
    path = OUTPUT / f"{name}.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
