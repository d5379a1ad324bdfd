"""
A film, and the waves in it
===========================

600 frames of 60 x 80 numbers: a wave that runs, a spot that stands and decays, and noise. ``POD``
reduces the frames to four coefficients in one pass, the operator is learned from these, and what
it finds becomes maps again. A mode has an amplitude, which says where, and a phase, which says
when.
"""

import matplotlib.pyplot as plt
import numpy as np

import kernelstream as ks
from kernelstream import plots

rng = np.random.default_rng(0)
y, x = np.meshgrid(np.linspace(0, 1, 60), np.linspace(0, 2, 80), indexing="ij")
spot = np.exp(-10 * ((x - 1.4) ** 2 + (y - 0.6) ** 2))


def frames(start: int, stop: int) -> np.ndarray:
    """Give the frames of some times, as a file of any size would."""
    t = np.arange(start, stop)[:, None, None]
    running = np.cos(2 * np.pi * (1.5 * x - t / 24)) * np.sin(np.pi * y)
    standing = 3 * np.exp(-t / 150) * spot
    return 280 + 4 * running + standing + 0.1 * rng.normal(size=(stop - start, 60, 80))


# %%
# Frames are read in blocks of 100; the coefficients of all of them are kept, four numbers each.
pod = ks.POD(n_components=4, keep_coefficients=True)
for start in range(0, 500, 100):
    pod.partial_fit(frames(start, start + 100))
scale = pod.coefficients_.std()
model = ks.Koopman(ks.Gaussian(4.0), ks.ALD(1e-3), ks.Ridge(1e-1)).fit(pod.coefficients_ / scale)
print(f"period: {1 / model.frequencies(3)[1]:.2f} frames")

# %%
# The running wave is one complex mode: its phase increases along the way it runs.
plots.modes(pod.maps(scale * model.modes(k=4))[1:2], n=1, titles=["the running wave"])
plt.show()

# %%
# A forecast of six frames, beside what came.
now, truth = frames(500, 501), frames(506, 507)
ahead = pod.inverse_transform(scale * model.predict(pod.transform(now) / scale, n_steps=6))
figure, axes = plt.subplots(1, 3, figsize=(11, 2.8), sharey=True, layout="constrained")
pictures = {"now": now, "forecast, 6 frames on": ahead, "6 frames on": truth}
for ax, (title, frame) in zip(axes, pictures.items(), strict=True):
    image = ax.imshow(frame[0], origin="lower", vmin=276, vmax=284, cmap="RdBu_r")
    ax.set_title(title, fontsize=10)
    plots.style_axes(ax)
figure.colorbar(image, ax=axes)
plt.show()
