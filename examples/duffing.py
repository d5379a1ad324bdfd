"""
Basins of attraction, from short trajectories
=============================================

A damped Duffing oscillator comes to rest at one of two points. Which one, a spiral decides. From
1,000 short trajectories the operator is learned in one pass; its eigenfunctions with eigenvalue 1
are constant on each basin, and so tell the two apart.
"""

import matplotlib.pyplot as plt
import numpy as np

import kernelstream as ks
from kernelstream.datasets import duffing, duffing_basin
from kernelstream.plots import CYCLE, style_axes

model = ks.presets.recursive_koopman(ks.Gaussian(0.3), tolerance=1e-2, regularization=0.1)
model.fit_trajectory(duffing(10, n_trajectories=1_000, random_state=0).trajectories)
print(f"{model.n_seen_:,} pairs, {model.n_stored_} states stored")

# %%
# Two sets that the dynamics never leaves.
side = np.linspace(-2, 2, 121)
points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
learned = ks.metastable_sets(model, points, 2, random_state=0)
truth = duffing_basin(points) > 0
if np.mean(learned == truth) < 0.5:
    learned = 1 - learned  # which of the sets is called which is arbitrary
print(f"{np.mean(learned == truth):.1%} of the points are in the right basin")

# %%
# Left, the sets that were found, with paths of some trajectories; right, the truth.
figure, axes = plt.subplots(1, 2, figsize=(9, 4.9), sharey=True, layout="constrained")
for ax, labels, title in zip(axes, (learned, truth), ("learned", "true"), strict=True):
    image = labels.reshape(121, 121)
    ax.imshow(image, extent=(-2, 2, -2, 2), origin="lower", cmap="coolwarm", alpha=0.5)
    ax.set(xlabel="position", title=f"{title} basins", xlim=(-2, 2), ylim=(-2, 2))
    style_axes(ax)
axes[0].set_ylabel("velocity")
axes[0].plot(*model.dictionary_.T, "+", color="0.2", markersize=3, alpha=0.6)
for path in duffing(80, n_trajectories=4, random_state=4).trajectories:
    axes[1].plot(*path.T, color=CYCLE[5], linewidth=0.8)
    axes[1].plot(*path[-1], "o", color=CYCLE[5], markersize=4)
plt.show()
