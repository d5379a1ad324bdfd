"""
Explaining predictions: exact contributions of columns
======================================================

A noisy function of six columns is learned from a stream (that of Friedman, 1991, whose sixth column
does not matter). ``explain`` divides each prediction among the columns: exact Shapley values, in
milliseconds a row, where the sum over all sets of columns would need 64 predictions for each
row of the background.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

import kernelstream as ks
from kernelstream import plots

X, y = make_friedman1(6_000, n_features=6, noise=1.0, random_state=0)
model = ks.KernelRegressor(learner=ks.Ridge(0.1)).fit(X, y)
found = model.explain(X[:500], background=X[1_000:1_100])
found.feature_names[:] = ["sine, with b", "sine, with a", "square", "10 d", "5 e", "nothing"]

# %%
# Left, all rows: a point is a row, its colour the number in that column. The square has large
# contributions on both sides, the two linear columns rise from low to high. Right, one row: from
# the mean prediction of the background to its own.
figure, (swarm, steps) = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
plots.beeswarm(found, ax=swarm)
plots.waterfall(found, 3, ax=steps)
plt.show()

# %%
# The contributions of a row and the base value add up to its prediction.
print(np.abs(found.predictions - model.predict(X[:500])).max())
