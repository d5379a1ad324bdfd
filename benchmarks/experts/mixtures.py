"""Aggregation rules of the literature, to compare with those of the library.

Every function takes the experts' predictions (n, n_experts), each made before its row was learned,
and the targets (n,), and returns the predictions of the mixture.
"""

from __future__ import annotations

import numpy as np
from streams import FloatArray

import kernelstream as ks


def _softmax(logs: FloatArray) -> FloatArray:
    raw = np.exp(logs - logs.max())
    result: FloatArray = raw / raw.sum()
    return result


def mean(experts: FloatArray, _targets: FloatArray) -> FloatArray:
    """The mean of the experts."""
    result: FloatArray = experts.mean(axis=1)
    return result


def aggregating(experts: FloatArray, targets: FloatArray) -> FloatArray:
    """Exponential weights at Vovk's rate, 2 over the squared range of the targets so far."""
    losses = np.cumsum((experts - targets[:, None]) ** 2, axis=0)
    span = np.maximum.accumulate(targets) - np.minimum.accumulate(targets)
    predictions = experts.mean(axis=1)
    for t in range(1, len(targets)):
        if span[t - 1] > 0.0:
            weights = _softmax(-2.0 / span[t - 1] ** 2 * losses[t - 1])
            predictions[t] = weights @ experts[t]
    return predictions


def boa(experts: FloatArray, targets: FloatArray) -> FloatArray:
    """Bernstein online aggregation with a rate for each expert (Wintenberger, 2017), on gradients.

    As in the R package opera, with a correction for steps below minus one half: as published it
    loses a tenth to a quarter on calhousing and casp.
    """
    n, k = experts.shape
    predictions = np.zeros(n)
    largest, squares, gain, rate = (np.zeros(k) for _ in range(4))
    weights = np.full(k, 1.0 / k)
    for t in range(n):
        predictions[t] = weights @ experts[t]
        step = 2.0 * (predictions[t] - targets[t]) * (predictions[t] - experts[t])
        largest, squares = np.maximum(largest, np.abs(step)), squares + step**2
        known = squares > 0.0
        if not known.any():
            continue
        rate[known] = np.minimum(0.5 / largest[known], np.sqrt(np.log(k) / squares[known]))
        short = rate * step < -0.5
        gain += 0.5 * (step * (1.0 - rate * step) + 2.0 * largest * short)
        logs = np.where(known, np.log(np.where(known, rate, 1.0)) + rate * gain, -np.inf)
        weights = _softmax(logs)
    return predictions


def ml_poly(experts: FloatArray, targets: FloatArray) -> FloatArray:
    """ML-Poly (Gaillard, Stoltz, van Erven, 2014) on gradients: regrets of any sign."""
    n, k = experts.shape
    predictions = np.zeros(n)
    regret, squares, largest = np.zeros(k), np.zeros(k), 0.0
    weights = np.full(k, 1.0 / k)
    for t in range(n):
        predictions[t] = weights @ experts[t]
        step = 2.0 * (predictions[t] - targets[t]) * (predictions[t] - experts[t])
        regret, squares = regret + step, squares + step**2
        largest = max(largest, float(np.max(step**2)))
        raw = np.maximum(regret, 0.0) / (largest + squares) if largest > 0.0 else np.zeros(k)
        weights = raw / raw.sum() if raw.any() else np.full(k, 1.0 / k)
    return predictions


def floored(experts: FloatArray, targets: FloatArray, floor: float = 1.0) -> FloatArray:
    """The library's polynomial rule: each regret is bounded below by minus `floor` times its scale.

    A floor of 0 is that of regret matching+ (Tammelin and others, 2015).
    """
    n, k = experts.shape
    predictions = np.zeros(n)
    regret, squares, largest = np.zeros(k), np.zeros(k), np.zeros(k)
    weights = np.full(k, 1.0 / k)
    for t in range(n):
        predictions[t] = weights @ experts[t]
        step = (predictions[t] - targets[t]) * (predictions[t] - experts[t])
        squares, largest = squares + step**2, np.maximum(largest, step**2)
        scale = squares + largest
        regret = np.maximum(regret + step, -floor * np.sqrt(scale))
        raw = np.divide(regret, scale, out=np.zeros(k), where=regret > 0.0)
        weights = raw / raw.sum() if raw.any() else np.full(k, 1.0 / k)
    return predictions


def floor_at_zero(experts: FloatArray, targets: FloatArray) -> FloatArray:
    """The library's polynomial rule with a floor of 0."""
    return floored(experts, targets, 0.0)


def stacked(experts: FloatArray, targets: FloatArray) -> FloatArray:
    """Ridge on the experts' deviations from their mean: weights of any sign that sum to 1."""
    middle = experts.mean(axis=1)
    second = ks.KernelRegressor(ks.Linear(), ks.ALD(1e-9), ks.Ridge(0.1, center=False), scale=False)
    deviations = second.partial_fit_predict(experts - middle[:, None], targets - middle)
    return np.clip(middle + deviations, targets.min(), targets.max())


def swapped(n_rows: int = 8000, n_experts: int = 20) -> tuple[FloatArray, FloatArray]:
    """Experts with biases from 0.05 to 1, which are reversed half way: predictions and targets."""
    rng = np.random.default_rng(0)
    truth = np.sin(np.arange(n_rows) / 30.0)
    bias = np.tile(np.linspace(0.05, 1.0, n_experts), (n_rows, 1))
    bias[n_rows // 2 :] = bias[n_rows // 2 :, ::-1]
    return truth[:, None] + bias, truth + 0.1 * rng.standard_normal(n_rows)
