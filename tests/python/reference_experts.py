"""Mixtures of experts written from their formulas: nothing here is shared with the library.

Every function takes the experts' predictions (n, n_experts), each made before its row was learned,
the targets (n,) and how many times each row counts (n,), and gives those of the mixture and
its weights after the last row.
"""

from __future__ import annotations

import numpy as np

SHARE, MEMORY = 1e-4, 0.999


def agree(made):
    """Whether experts differ by rounding alone, which is no evidence."""
    return np.ptp(made) <= 1e-12 * np.abs(made).max()


def polynomial(experts, targets, counts):
    """Regrets over the sum of their squared steps and the largest of these, and not far below 0."""
    n, k = experts.shape
    weights = np.full(k, 1.0 / k)
    regret, steps = np.zeros(k), []
    predictions = np.zeros(n)
    for t in range(n):
        predictions[t] = weights @ experts[t]
        if counts[t] == 0 or agree(experts[t]):
            continue
        step = counts[t] * (predictions[t] - targets[t]) * (predictions[t] - experts[t])
        steps.append(step**2)
        rate = np.sum(steps, axis=0) + np.max(steps, axis=0)
        regret = np.maximum(regret + step, -np.sqrt(rate))
        raw = np.divide(regret, rate, out=np.zeros(k), where=regret > 0.0)
        weights = raw / raw.sum() if raw.any() else np.full(k, 1.0 / k)
    return predictions, weights


def fixed_share(experts, targets, counts):
    """Posterior probabilities under errors of the mixture's variance, and a share for all."""
    n, k = experts.shape
    weights = np.full(k, 1.0 / k)
    loss = seen = 0.0
    predictions = np.zeros(n)
    for t in range(n):
        predictions[t] = weights @ experts[t]
        if counts[t] == 0 or agree(experts[t]):
            continue
        loss = MEMORY * loss + counts[t] * (predictions[t] - targets[t]) ** 2
        seen = MEMORY * seen + counts[t]
        if loss == 0.0:
            continue
        logs = np.log(weights) - counts[t] * (experts[t] - targets[t]) ** 2 / (2.0 * loss / seen)
        posterior = np.exp(logs - np.logaddexp.reduce(logs))
        weights = (1.0 - SHARE) * posterior + SHARE / k
    return predictions, weights
