"""
Stop, and continue tomorrow
========================

A model file holds all that a model has learned: one that is loaded continues as if nothing had
happened, to the last bit, and files that Python wrote are read by Rust. They contain arrays and
JSON, never code, so that a file from a stranger is safe to load.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import kernelstream as ks
from kernelstream.plots import CYCLE, style_axes

rng = np.random.default_rng(0)
t = np.arange(3_000)
signal = np.sin(t / 20) + 0.5 * np.sin(t / 7.3) + 0.1 * rng.normal(size=len(t))
delays = 12  # the next value from the twelve before
X = np.lib.stride_tricks.sliding_window_view(signal, delays)[:-1]
y = signal[delays:]

# %%
# One model learns the whole stream. Another is stopped after every 500 rows and loaded again.
blocks = [slice(start, start + 500) for start in range(0, len(X), 500)]
whole = ks.KernelRegressor(ks.Gaussian(4.0), ks.ALD(1e-3), scale=False)
expected = np.concatenate([whole.partial_fit_predict(X[rows], y[rows]) for rows in blocks])

sizes = []
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "signal.model"
    ks.KernelRegressor(ks.Gaussian(4.0), ks.ALD(1e-3), scale=False).partial_fit(
        X[:500], y[:500]
    ).save(file)
    answers = [expected[:500]]
    for rows in blocks[1:]:
        model = ks.load(file)
        answers.append(model.partial_fit_predict(X[rows], y[rows]))
        model.save(file)
        sizes.append(file.stat().st_size)
interrupted = np.concatenate(answers)
assert np.array_equal(interrupted, expected)
print(f"the same {len(interrupted):,} predictions; files of {max(sizes) / 1000:.0f} kB")

# %%
# The errors do not show where it was stopped (dashed).
figure, (values, errors) = plt.subplots(2, 1, figsize=(8, 4.6), sharex=True, layout="constrained")
values.plot(y, color="0.75", linewidth=3, label="signal")
values.plot(interrupted, color=CYCLE[0], linewidth=1, label="forecast of the next value")
values.set(ylabel="signal", xlim=(300, 1_700), ylim=(-2, 2.6))
values.legend(frameon=False, ncols=2, loc="upper right")
errors.plot(interrupted - y, ".", color=CYCLE[1], markersize=2)
errors.set(xlabel="row", ylabel="error", ylim=(-0.6, 0.6))
for ax in (values, errors):
    for stop in range(500, len(X), 500):
        ax.axvline(stop, color="0.4", linestyle="--", linewidth=0.8)
    style_axes(ax, frame=False)
plt.show()
