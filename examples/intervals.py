"""
How sure? Intervals that hold, and rows unlike all before
=========================================================

A prediction comes with a standard deviation, from what is known near the row, and with an interval
that holds the next target as often as it was asked to, also when the noise changes: its width
follows the errors made on the stream. ``novelty`` says how far a row is from all that are stored.
"""

import matplotlib.pyplot as plt
import numpy as np

import kernelstream as ks
from kernelstream import plots
from kernelstream.plots import CYCLE, style_axes

rng = np.random.default_rng(0)
n, louder = 6_000, 3_000
x = rng.uniform(-2, 2, size=(n, 1))
x = x[np.abs(x[:, 0] - 0.7) > 0.45]  # between 0.25 and 1.15 there is nothing
n = len(x)
noise = np.where(np.arange(n) < louder, 0.1, 0.3)
y = np.sin(3 * x[:, 0]) + noise * rng.normal(size=n)

# %%
# Intervals for 90 % of the targets, each given before its target is known.
model = ks.KernelRegressor(ks.Gaussian(0.3), scale=False)
model.partial_fit(x[:200], y[:200])
inside, width = [], []
for start in range(200, n, 20):
    rows = slice(start, start + 20)
    low, high = model.predict_interval(x[rows], coverage=0.9).T
    inside.append(np.mean((low <= y[rows]) & (y[rows] <= high)))
    width.append(np.mean(high - low))
    model.partial_fit(x[rows], y[rows])
print(f"{np.mean(inside):.1%} of the targets were in their intervals, of 90 % to be")

# %%
# Left, what the model thinks in the end: sure where there were rows, unsure in the gap and outside.
# Right, the noise becomes three times as large: the intervals widen until they hold 90 % again.
figure, (curve, share) = plt.subplots(1, 2, figsize=(10.5, 4.0), layout="constrained")
grid = np.linspace(-2.6, 2.6, 300)[:, None]
mean, deviation = model.predict(grid, return_std=True)
curve.plot(x[-800:, 0], y[-800:], ".", color="0.8", markersize=3, label="the last rows")
curve.fill_between(
    grid[:, 0], mean - 2 * deviation, mean + 2 * deviation, color=CYCLE[0], alpha=0.15, linewidth=0
)
curve.plot(grid[:, 0], mean, color=CYCLE[0], label="prediction, two deviations")
curve.plot(grid[:, 0], model.novelty(grid) - 2.4, color=CYCLE[1], label="novelty (from 0 to 1)")
curve.set(xlabel="x", ylim=(-2.5, 2.6))
curve.legend(frameon=False, loc="upper left", fontsize=8)
rows = np.arange(200, n, 20)
recent = np.convolve(inside, np.ones(25) / 25, "valid")
share.plot(rows[24:], recent, color=CYCLE[0], label="share of targets inside, last 500")
share.plot(rows, width, color=CYCLE[1], linewidth=1, label="width of the intervals")
share.axhline(0.9, color="0.4", linestyle="--", linewidth=1)
share.axvline(louder, color="0.7", linewidth=1)
share.set(xlabel="row", ylim=(0, 1.5))
share.legend(frameon=False, loc="upper left", fontsize=8)
for ax in (curve, share):
    style_axes(ax, frame=False)
plt.show()

# %%
# The rows at which the noise changes, each interval given before its row is learned: some targets
# are outside at first, then barely more than one in ten.
model = ks.KernelRegressor(ks.Gaussian(0.3), scale=False).partial_fit(
    x[: louder - 60], y[: louder - 60]
)
rows = np.arange(louder - 60, louder + 120)
made = model.predict(x[rows])
ends = model.partial_fit_predict_interval(x[rows], y[rows], coverage=0.9)
plots.intervals(y[rows], ends, predictions=made, time=rows, coverage=0.9)
plt.show()
