"""
Four wells: timescales and metastable sets
==========================================

A particle in a potential with four wells, kicked by noise, stays in a well for a long time before
it crosses to another. The slow eigenvalues of the operator say how long, and the eigenfunctions
where the wells are; both are known here, and drawn beside what was learned.
"""

import matplotlib.pyplot as plt
import numpy as np

import kernelstream as ks
from kernelstream import plots
from kernelstream.datasets import four_well_langevin

data = four_well_langevin(200, n_trajectories=300, random_state=0)
kernel = 0.4 * ks.Gaussian(0.4) + 0.6 * ks.Gaussian(0.7)
lags = (1, 2, 4, 8)
models = []
for lag in lags:
    model = ks.presets.recursive_koopman(kernel, tolerance=1e-2)
    model.set_params(lag=lag, time_step=data.time_step)
    models.append(model.fit_trajectory(data.trajectories))
model = models[0]
print(np.abs(model.eigenvalues_[:5]).round(4), "known:", data.eigenvalues[:5].round(4))

# %%
# An eigenfunction that separates wells, the sets found by all slow ones, and the timescales,
# which do not depend on the lag if the process was found (those in the grey wedge are shorter
# than the lag, so cannot be).
side = np.linspace(-2, 2, 121)
points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
sets = ks.metastable_sets(model, points, 4, random_state=0).reshape(121, 121)
figure, axes = plt.subplots(1, 3, figsize=(13, 4.0), layout="constrained")
plots.eigenfunction(model, trajectories=data.trajectories[:1], ax=axes[0])
axes[0].set_title("second eigenfunction, and a trajectory", fontsize=10)
axes[1].imshow(sets, extent=(-2, 2, -2, 2), origin="lower", cmap="Set2", aspect="auto")
axes[1].set(xlabel="$x_1$", ylabel="$x_2$")
axes[1].set_title("four metastable sets", fontsize=10)
plots.style_axes(axes[1])
known = -data.time_step / np.log(data.eigenvalues[1:5])
plots.timescales(
    lags, models, n=4, time_step=data.time_step, unit="time units", reference=known, ax=axes[2]
)
axes[2].set_title("implied timescales (dashed: known)", fontsize=10)
plt.show()
