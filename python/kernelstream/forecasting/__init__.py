"""Forecasts of trajectories, with intervals, from a stream of states."""

from __future__ import annotations

from kernelstream.forecasting.estimator import Forecaster
from kernelstream.forecasting.skill import prequential_skill

__all__ = ["Forecaster", "prequential_skill"]
