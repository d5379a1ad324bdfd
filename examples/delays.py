"""
A system seen in part: delays
=============================

Of Lorenz's system one of three coordinates is observed. It does not say what comes next, since it
is no state of the system; with some of its past it is one (Takens, 1981). ``n_delays`` adds that
past, so that the operator is learned, and forecasts are made, from what is seen.
"""

import matplotlib.pyplot as plt
import numpy as np

import kernelstream as ks
from kernelstream.datasets import lorenz
from kernelstream.plots import CYCLE, style_axes

x = lorenz(6_000, random_state=0).trajectories[0][:, :1]
seen, unseen = x[:4_500], x[4_500:]
models = {n: ks.Koopman(n_delays=n).fit(seen) for n in (0, 4)}
ahead = np.arange(1, 26)
skills = {n: [model.score(unseen, n_steps=int(k)) for k in ahead] for n, model in models.items()}

# %%
# Left, how much of the variance forecasts explain on what was not learned. Right, forecasts from a
# moment with an error that is typical: the model without delays does not know which way it goes,
# the one with delays follows. What cannot be known (errors double every 0.8 units of time) averages
# out, so forecasts far ahead go to the mean.
figure, (score, curve) = plt.subplots(1, 2, figsize=(10, 4.0), layout="constrained")
start, step = 960, lorenz(1, random_state=0).time_step
curve.plot(step * np.arange(-20, 26), unseen[start - 20 : start + 26], color="0.75", linewidth=4)
for colour, (n, model) in zip((CYCLE[1], CYCLE[0]), models.items(), strict=True):
    label = f"{n} delays" if n else "the coordinate alone"
    score.plot(step * ahead, skills[n], color=colour, label=label)
    forecast = model.predict(unseen[start - n : start + 1], n_steps=[int(k) for k in ahead])
    curve.plot(step * ahead, forecast.ravel(), color=colour)
score.set(xlabel="time ahead", ylabel="R² of forecasts", ylim=(0, 1.02))
score.legend(frameon=False)
curve.axvline(0, color="0.4", linestyle="--", linewidth=1)
curve.set(xlabel="time from now", ylabel="observed coordinate (grey: as it came)")
for ax in (score, curve):
    style_axes(ax, frame=False)
plt.show()
