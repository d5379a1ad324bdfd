"""Budgeted learners written from their papers: small, slow, explicit.

Nothing here is shared with the library. Every function takes the Gram matrix of all rows `K` and
their targets `Y` (n, p), and gives the predictions, each made before its row was learned, and the
function learned as one coefficient for every row of the stream (n, p), 0 where it is not stored.
`draws` gives the places that random removals hit, in turn.
"""

from __future__ import annotations

import numpy as np


def splitmix(seed):
    """Yield the 64-bit numbers of SplitMix64 (Steele, Lea, Flood, 2014)."""
    mask = 2**64 - 1
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


def draws(seed, n):
    """Yield places below n, each as likely."""
    for number in splitmix(seed):
        yield number * n >> 64


def hinge_slope(f, y):
    return -y if y * f < 1.0 else 0.0


def squared_slope(f, y):
    return 2.0 * (f - y)


def logistic_slope(f, y):
    return -y / (1.0 + np.exp(y * f))


def kogd(K, Y, slope, step, regularization=0.0, budget=None, root=False):
    """Kivinen, Smola, Williamson (2004), eq. 8 to 12: shrink, add, and drop what is older."""
    n, p = Y.shape
    A = np.zeros((n, p))
    kept = []
    predictions = np.zeros((n, p))
    for t in range(n):
        f = A.T @ K[:, t]
        predictions[t] = f
        eta = step / np.sqrt(t + 1) if root else step
        new = np.array([-eta * slope(f[c], Y[t, c]) for c in range(p)])
        A *= 1.0 - eta * regularization
        if np.any(new != 0.0):
            if budget is not None and len(kept) == budget:
                A[kept.pop(0)] = 0.0
            A[t] = new
            kept.append(t)
    return predictions, A


def rbp(K, Y, budget, places):
    """Cavallanti, Cesa-Bianchi, Gentile (2007), Figure 3."""
    n, p = Y.shape
    A = np.zeros((n, p))
    kept = []
    predictions = np.zeros((n, p))
    for t in range(n):
        f = A.T @ K[:, t]
        predictions[t] = f
        new = np.where(Y[t] * f <= 0.0, Y[t], 0.0)
        if np.any(new != 0.0):
            if len(kept) == budget:
                place = next(places)
                A[kept[place]] = 0.0
                kept[place] = t
            else:
                kept.append(t)
            A[t] = new
    return predictions, A


def bpas(K, Y, budget, most):
    """Wang, Vucetic (2010), Algorithm 2 with V = {t}.

    Every removal is tried, and judged by the objective itself: half the squared norm of the change
    of the function plus C times the hinge loss afterwards.
    """
    n, p = Y.shape
    A = np.zeros((n, p))
    kept = []
    predictions = np.zeros((n, p))
    for t in range(n):
        f = A.T @ K[:, t]
        predictions[t] = f
        loss = 1.0 - Y[t] * f
        loss[loss < 1e-12] = 0.0  # ours: what rounding leaves is no loss
        tau = np.minimum(most, loss / K[t, t])
        if not np.any(tau > 0.0):
            continue
        if len(kept) < budget:
            A[t] = tau * Y[t]
        else:
            best = None
            for r in kept:
                trial = A.copy()
                trial[r] = 0.0
                trial[t] = tau * Y[t] + A[r] * K[r, t] / K[t, t]
                # Only r and t changed.
                moved, pair = (trial - A)[[r, t]], K[np.ix_([r, t], [r, t])]
                loss = np.maximum(0.0, 1.0 - Y[t] * (trial.T @ K[:, t])).sum()
                objective = 0.5 * np.einsum("ic,ij,jc", moved, pair, moved) + most * loss
                if best is None or objective < best[0]:
                    best = objective, r, trial
            _, gone, A = best
            kept.remove(gone)
        kept.append(t)
    return predictions, A


def projectron(K, Y, tolerance, budget=None, plus=False):
    """Orabona, Keshet, Caputo (2009), Figures 2 and 3; once full, everything is projected."""
    n, p = Y.shape
    A = np.zeros((n, p))
    kept = []
    predictions = np.zeros((n, p))
    for t in range(n):
        f = A.T @ K[:, t]
        predictions[t] = f
        wrong = Y[t] * f <= 0.0
        narrow = (Y[t] * f > 0.0) & (Y[t] * f < 1.0) & plus
        if not np.any(wrong | narrow):
            continue
        d = np.linalg.solve(K[np.ix_(kept, kept)], K[kept, t])
        within = K[kept, t] @ d
        delta = np.sqrt(max(K[t, t] - within, 0.0) / K[t, t])
        step = np.where(wrong, Y[t], 0.0)
        if np.any(wrong) and delta > tolerance and (budget is None or len(kept) < budget):
            A[t] = step
            store = True
        else:
            A[kept] += np.outer(d, step)
            store = False
        for c in np.flatnonzero(narrow):
            loss = 1.0 - Y[t, c] * f[c]
            if loss >= delta / tolerance:
                tau = min(loss / within, 2.0 * (loss - delta / tolerance) / within, 1.0)
                A[kept, c] += Y[t, c] * tau * d
        if store:
            kept.append(t)
    return predictions, A


def bogd(K, Y, slope, step, regularization, most, budget, places):
    """Zhao, Wang, Wu, Jin, Hoi (2012), Algorithm 1 with uniform sampling."""
    n, p = Y.shape
    A = np.zeros((n, p))
    kept = []
    predictions = np.zeros((n, p))
    for t in range(n):
        f = A.T @ K[:, t]
        predictions[t] = f
        new = np.array([-step * slope(f[c], Y[t, c]) for c in range(p)])
        A *= 1.0 - step * regularization
        if not np.any(new != 0.0):
            continue
        if len(kept) == budget:
            place = next(places)
            A[kept[place]] = 0.0
            A /= 1.0 - 1.0 / budget
            kept[place] = t
        else:
            kept.append(t)
        A[t] = new
        A = np.clip(A, -most * step, most * step)
    return predictions, A
