"""
Labels, with probabilities that mean what they say
==================================================

Two spirals in two of six raw columns, with noise that no classifier can undo.
``KernelExpertsClassifier()`` has nothing to choose: it finds what matters, and learns how to
correct its probabilities from how they went before, so that they are near the shares that come.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve

import kernelstream as ks
from kernelstream.plots import CYCLE, style_axes

rng = np.random.default_rng(0)
n = 5_000
angle = 2.5 * np.pi * np.sqrt(rng.random(n))
side = rng.integers(0, 2, n)
turned = angle + np.pi * side
spiral = angle[:, None] * np.column_stack([np.cos(turned), np.sin(turned)])
X = np.column_stack([spiral + 1.2 * rng.normal(size=(n, 2)), rng.normal(size=(n, 4))])
X *= [1, 1e3, 1, 1e-3, 50, 1]  # in whatever units
labels = np.where(side, "right", "left")

# %%
# Each row gets a probability before its label is known.
model = ks.KernelExpertsClassifier()
models = {
    "KernelExpertsClassifier()": model,
    "KernelClassifier()": ks.KernelClassifier(learner=ks.GaussNewton(loss="logistic")),
}
given = {}
for name, each in models.items():
    each.partial_fit(X[:100], labels[:100], classes=["left", "right"])
    parts = []
    for start in range(100, n, 100):
        rows = slice(start, start + 100)
        parts.append(each.predict_proba(X[rows])[:, 1])
        each.partial_fit(X[rows], labels[rows])
    given[name] = np.concatenate(parts)

# %%
# Left, the probability of "right" over the two columns that matter. Right, how often it was, of
# rows that were given about the same.
figure, (plane, curve) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
edge = np.linspace(-9, 9, 121)
grid = np.zeros((121 * 121, 6))
grid[:, :2] = np.stack(np.meshgrid(edge, 1e3 * edge), axis=-1).reshape(-1, 2)
image = plane.imshow(
    model.predict_proba(grid)[:, 1].reshape(121, 121),
    extent=(-9, 9, -9, 9),
    origin="lower",
    cmap="RdBu_r",
)
figure.colorbar(image, ax=plane, label="probability of right")
plane.set(xlabel="first column", ylabel="second column (thousands)")
style_axes(plane)
curve.plot([0, 1], [0, 1], color="0.7", linewidth=1)
for colour, (name, said) in zip(CYCLE, given.items(), strict=False):
    late = slice(2_000, None)
    share, mean = calibration_curve(labels[100:][late] == "right", said[late], n_bins=8)
    wrong = np.mean((said[late] > 0.5) != (labels[100:][late] == "right"))
    curve.plot(mean, share, "o-", color=colour, markersize=4, label=f"{name}: {wrong:.1%} wrong")
curve.set(xlabel="probability of right that was given", ylabel="share that was right")
curve.legend(frameon=False, fontsize=8)
style_axes(curve, frame=False)
plt.show()
