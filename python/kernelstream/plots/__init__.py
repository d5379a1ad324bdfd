"""Figures: operators, scores, fields, intervals, growth, importances and contributions.

matplotlib is needed when one of these functions is called: ``pip install "kernelstream[plot]"``.
Every function takes arrays or a fitted estimator, draws into `ax` (None: into a new figure) or, if
it needs several axes, into a new figure, and returns the axes, so that titles, limits and further
curves can be added.
"""

from kernelstream.plots.axes import CYCLE, FAINT, INK, style_axes
from kernelstream.plots.contributions import beeswarm, contributions, waterfall
from kernelstream.plots.coverage import calibration, intervals
from kernelstream.plots.eigenfunctions import eigenfunction
from kernelstream.plots.fields import modes
from kernelstream.plots.forecasts import forecast
from kernelstream.plots.scores import chapman_kolmogorov, vamp
from kernelstream.plots.spectra import spectrum, timescales
from kernelstream.plots.streams import growth, importances

__all__ = [
    "CYCLE",
    "FAINT",
    "INK",
    "beeswarm",
    "calibration",
    "chapman_kolmogorov",
    "contributions",
    "eigenfunction",
    "forecast",
    "growth",
    "importances",
    "intervals",
    "modes",
    "spectrum",
    "style_axes",
    "timescales",
    "vamp",
    "waterfall",
]
