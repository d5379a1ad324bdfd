"""
Many cores, many machines: models add up
========================================

What least squares learns are sums over rows, and sums add. Here each of four workers sees one
strip of a map only. Merged, they are the model that one worker would have learned from all rows.
The same call takes Dask arrays and data frames, on a cluster.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

import kernelstream as ks
from kernelstream import distributed
from kernelstream.plots import style_axes

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(40_000, 2))
X = X[np.argsort(X[:, 0])]  # each worker has a strip of its own


def height(x: np.ndarray) -> np.ndarray:
    """Compute the height of the map at some points."""
    return np.sin(5 * x[:, 0]) * np.cos(4 * x[:, 1]) + x[:, 0]


y = height(X) + 0.1 * rng.normal(size=len(X))
model = ks.KernelRegressor(ks.Gaussian(0.3), ks.ALD(1e-3), ks.Ridge(1e-2), scale=False)

# %%
# One worker's model, and the model of all rows, in four blocks of a Dask array.
one = distributed.fit(
    ks.KernelRegressor(**model.get_params(deep=False), scale=False), X[:10_000], y[:10_000]
)
blocks = da.from_array(X, chunks=(10_000, 2)), da.from_array(y, chunks=10_000)
distributed.fit(model, *blocks)
print(f"{model.n_seen_:,} rows, {model.n_stored_} stored")

# %%
# Alone, a worker knows its strip. Together they know the map.
side = np.linspace(-1, 1, 121)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.6), sharey=True, layout="constrained")
pictures = {
    "the first worker alone": one.predict(grid),
    "four workers, merged": model.predict(grid),
    "the truth": height(grid),
}
for ax, (title, values) in zip(axes, pictures.items(), strict=True):
    image = ax.imshow(
        values.reshape(121, 121),
        extent=(-1, 1, -1, 1),
        origin="lower",
        vmin=-2,
        vmax=2,
        cmap="RdBu_r",
    )
    for edge in X[10_000::10_000, 0]:
        ax.axvline(edge, color="0.3", linestyle="--", linewidth=0.8)
    ax.set_title(title, fontsize=10)
    style_axes(ax)
figure.colorbar(image, ax=axes, label="height")
plt.show()
