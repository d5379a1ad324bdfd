"""
A stream that changes its mind
==============================

A regressor learns a stream row by row and answers each row before it learns it, so the curve of
its errors is an honest one. Half way the relation changes at once. A model that weighs all rows
alike averages two worlds from then on; with *forgetting* a row counts less the older it is, and
the model follows; experts have models that forget and models that do not, and take whichever is
better now.
"""

import matplotlib.pyplot as plt
import numpy as np

import kernelstream as ks
from kernelstream.plots import CYCLE, FAINT, style_axes

rng = np.random.default_rng(0)
n, change, noise = 8_000, 4_000, 0.1
X = rng.uniform(-1, 1, size=(n, 3))
before = np.sin(4 * X[:, 0]) + X[:, 1] ** 2
after = np.sin(4 * X[:, 1]) - X[:, 0] * X[:, 1]
y = np.where(np.arange(n) < change, before, after) + noise * rng.normal(size=n)

# %%
# ``partial_fit_predict`` predicts each row just before it is learned.
models = {
    "all rows count alike": ks.KernelRegressor(ks.Gaussian(0.7), scale=False),
    "forgetting=0.998": ks.KernelRegressor(
        ks.Gaussian(0.7), learner=ks.Ridge(forgetting=0.998), scale=False
    ),
    "experts": ks.KernelExperts(),
}
errors = {name: (model.partial_fit_predict(X, y) - y) ** 2 for name, model in models.items()}

# %%
# The mean squared error of windows of 300 rows. No model can be below the variance of the noise.
figure, ax = plt.subplots(figsize=(7.5, 4.0), layout="constrained")
window = np.ones(300) / 300
for colour, (name, squares) in zip(CYCLE, errors.items(), strict=False):
    ax.semilogy(np.arange(299, n), np.convolve(squares, window, "valid"), color=colour, label=name)
ax.axhline(noise**2, color="0.4", linestyle="--", linewidth=1)
ax.text(0, 0.85 * noise**2, "variance of the noise", va="top", fontsize=9)
ax.axvline(change, color=FAINT, linewidth=1)
ax.annotate("the relation changes", (change, 1.8), (-5, 0), textcoords="offset points", ha="right")
ax.set(xlabel="row", ylabel="squared error of the last 300 rows", ylim=(0.006, 3))
ax.legend(frameon=False, loc="upper right")
style_axes(ax, frame=False)
plt.show()
