"""The spectrum of an Ornstein-Uhlenbeck process from one noisy trajectory, read once.

python examples/first_koopman.py
"""

import numpy as np

import kernelstream as ks
from kernelstream.datasets import ornstein_uhlenbeck

# dX = -X dt + sqrt(2) dB, sampled every 0.5 units of time. The k-th eigenfunction of the Koopman
# operator decays by exp(-k/2) from one state to the next.
states = ornstein_uhlenbeck(10_000, theta=1.0, tau=0.5, random_state=0).trajectories[0]

model = ks.presets.recursive_koopman(ks.Gaussian(1.0), tolerance=1e-3, regularization=3.0)
model.partial_fit_trajectory(states)

print(f"{model.n_seen_:,} pairs, {model.n_stored_} states stored")
print("estimated eigenvalues:", model.eigenvalues_[:5].real.round(3))
print("exact eigenvalues:    ", np.exp(-0.5 * np.arange(5)).round(3))
print("forecasts from X = 2: ", model.predict([[2.0]], n_steps=[1, 2, 3]).ravel().round(2))
