"""
Forecasts with intervals: fans
==============================

A ``Forecaster`` forecasts over several horizons by a mixture that keeps up with the
trivial forecasts, and says how sure it is: intervals that hold what comes as often as they were
asked to, at each horizon, learned from the errors that the forecasts themselves have made.
"""

import matplotlib.pyplot as plt
import numpy as np

import kernelstream as ks
from kernelstream import plots
from kernelstream.koopman import find_period
from kernelstream.plots import CYCLE, style_axes

# %%
# A temperature: a daily cycle, weather that lasts some days, and noise, in hours.
rng = np.random.default_rng(1)
hours = np.arange(3_000)
weather = np.zeros(len(hours))
for t in hours[1:]:
    weather[t] = 0.98 * weather[t - 1] + rng.normal(0, 0.6)
daily = 4.0 * np.sin(2 * np.pi * hours / 24) + 1.5 * np.cos(4 * np.pi * hours / 24)
kelvin = (280 + daily + weather + rng.normal(0, 0.3, len(hours)))[:, None]
seen, later = kelvin[:2_400], kelvin[2_400:]

model = ks.Forecaster(range(1, 49), ks.Koopman(n_delays=2), period=find_period(seen)).fit(seen)

# %%
# How often what came was inside, forecast and learned a day at a time. Left, two days ahead: bands
# of 50 and 90 % around the forecast, dots as it came. Right, a particle in four wells: near a well
# the forecast stays for a while, then the band opens to the other side, since at some time the
# particle crosses over, and nobody knows when.
steps, inside = np.array(model.horizons), []
for start in range(0, 504, 24):
    now = 2_400 + start
    low, high = np.moveaxis(model.forecast_interval(coverage=0.9)[:, 0, 0], -1, 0)
    truth = kelvin[now - 1 + steps, 0]
    inside.append((low <= truth) & (truth <= high))
    if start == 48:
        figure, (fan, wells) = plt.subplots(1, 2, figsize=(10.5, 4.0), layout="constrained")
        plots.forecast(model, kelvin[now - 72 : now], kelvin[now : now + 48], unit="h", ax=fan)
    model.partial_fit(kelvin[now : now + 24])
print(f"{np.mean(inside):.1%} of what came within two days was inside the 90 % intervals")

particle = ks.datasets.four_well_langevin(1_000, n_trajectories=20, random_state=0)
paths = particle.trajectories
crosses = ks.Forecaster((1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 90)).fit(list(paths[:-1]))
plots.forecast(
    crosses, paths[-1][:40], paths[-1][40:130], colour=CYCLE[1], coverages=(0.5, 0.9), ax=wells
)
fan.set(ylabel="temperature in K")
wells.set(ylabel="first coordinate", ylim=(-2, 2))
for ax in (fan, wells):
    style_axes(ax, frame=False)
plt.show()
