"""
The spectrum of a random process, from one noisy trajectory
===========================================================

The Ornstein-Uhlenbeck process, ``dX = -X dt + sqrt(2) dB``, observed every 0.5 units of time, is
one of the few for which the Koopman operator is known: the eigenvalues are ``exp(-k/2)`` and the
eigenfunctions the Hermite polynomials. The operator is learned in one pass over 10,000 states, of
which a few are stored.
"""

import matplotlib.pyplot as plt
import numpy as np
from numpy.polynomial.hermite_e import HermiteE

import kernelstream as ks
from kernelstream import plots
from kernelstream.datasets import ornstein_uhlenbeck

data = ornstein_uhlenbeck(10_000, theta=1.0, tau=0.5, random_state=0)
model = ks.presets.recursive_koopman(ks.Gaussian(1.0), tolerance=1e-3, regularization=3.0)
model.partial_fit_trajectory(data.trajectories[0])

print(f"{model.n_seen_:,} pairs, {model.n_stored_} states stored")
print("estimated eigenvalues:", model.eigenvalues_[:5].real.round(3))
print("exact eigenvalues:    ", np.exp(-0.5 * np.arange(5)).round(3))
print("forecasts from X = 2: ", model.predict([[2.0]], n_steps=[1, 2, 3]).ravel().round(2))

# %%
# The eigenvalues, and the first eigenfunctions scaled to the polynomials they should be (dashed).
figure, (disc, functions) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
plots.spectrum(model, n=8, reference=data.eigenvalues[:8], ax=disc)
x = np.linspace(-2.5, 2.5, 200)
values = model.eigenfunctions(x[:, None], 4).real
for k in range(1, 4):
    exact = HermiteE.basis(k)(x)
    inner = np.abs(x) < 1.5
    factor = values[inner, k] @ exact[inner] / (values[inner, k] @ values[inner, k])
    functions.plot(x, factor * values[:, k], color=plots.CYCLE[k - 1], label=f"k = {k}")
    functions.plot(x, exact, "--", color=plots.CYCLE[k - 1], linewidth=1)
functions.set(xlabel="x", ylabel="eigenfunction (dashed: exact)", ylim=(-6, 6))
functions.legend(frameon=False)
plots.style_axes(functions, frame=False)
plt.show()
