"""
Labels: digits, one after the other
===================================

A classifier sees 1,797 handwritten digits once. It names each before the label is revealed; what
it gets wrong, it gets wrong mostly in the beginning. Labels may be of any type, and a class may
appear late in the stream if it was named in the first call.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import kernelstream as ks
from kernelstream.plots import CYCLE, style_axes

pixels, digits = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(digits))
pixels, digits = pixels[order] / 16.0, digits[order]

model = ks.KernelClassifier(kernel=ks.Gaussian(1.4), scale=False)
answers = model.partial_fit_predict(pixels, digits, classes=range(10))
wrong = np.flatnonzero(answers != digits)
print(f"{len(wrong)} of {len(digits)} digits were named wrongly, {model.n_stored_} are stored")

# %%
# Mistakes so far, and the latest ones: answer, and what it was.
figure = plt.figure(figsize=(9.0, 3.8), layout="constrained")
curve, gallery = figure.subfigures(1, 2, width_ratios=[1.2, 1])
ax = curve.subplots()
ax.step(np.arange(len(digits)), np.cumsum(answers != digits), color=CYCLE[0], where="post")
ax.set(xlabel="digits seen", ylabel="mistakes so far")
style_axes(ax, frame=False)
gallery.suptitle("the last twelve mistakes (and the truth)", fontsize=10)
for picture, row in zip(gallery.subplots(3, 4).ravel(), wrong[-12:], strict=True):
    picture.imshow(pixels[row].reshape(8, 8), cmap="gray_r")
    picture.set_title(f"{answers[row]} ({digits[row]})", fontsize=9, color=CYCLE[1])
    picture.set_axis_off()
plt.show()
