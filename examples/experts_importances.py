"""
Nothing to choose: raw columns and what matters in them
=======================================================

Ten columns, each in units of its own, of which five matter (the function of Friedman, 1991, with
noise). ``KernelExperts()`` is given them as they are. It finds scales, kernels, bandwidths and
the columns that matter while it learns; ``KernelRegressor()``, which compares rows by all
columns alike, cannot ignore five of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

import kernelstream as ks
from kernelstream import plots

noise = 1.0
X, y = make_friedman1(8_000, n_features=10, noise=noise, random_state=0)
X = X * [1e6, 1, 1e-3, 50, 1, 1e4, 1, 1, 1e-6, 1]
names = ["a (sine)", "b (sine)", "c (square)", "d (linear)", "e (linear)", *"fghij"]

experts = ks.KernelExperts()
squares = {
    "KernelRegressor()": ks.KernelRegressor().partial_fit_predict(X, y) - y,
    "KernelExperts()": experts.partial_fit_predict(X, y) - y,
}

# %%
# Left, how errors fall as rows come in, towards the noise. Right, the share of each column in the
# slope of the predictions: the five others have none.
figure, (curve, bars) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
blocks = np.arange(250, len(y) + 1, 250)
for colour, (name, errors) in zip((plots.CYCLE[1], plots.CYCLE[0]), squares.items(), strict=True):
    means = [np.mean(errors[stop - 250 : stop] ** 2) for stop in blocks]
    curve.semilogy(blocks, means, color=colour, label=name)
curve.axhline(noise**2, color="0.4", linestyle="--", linewidth=1, label="variance of the noise")
curve.set(xlabel="rows seen", ylabel="squared error of 250 rows")
curve.legend(frameon=False)
plots.style_axes(curve, frame=False)
plots.importances(experts, names=names, ax=bars)
plt.show()

# %%
# What was found can be read: the expert with the largest weight.
best = int(np.argmax(experts.weights_))
print(experts.experts_[best]["kernel"], experts.experts_[best]["transform"])
