"""FORKS and SkeGD written out: explicit matrices, explicit decompositions, nothing incremental.

Source: Wen, Zhang, Wei, Hou, Li and Zhang, "Fast second-order online kernel learning through
incremental matrix sketching and decomposition", 2024: Algorithm 1, section 2.2 and appendix B.1,
with landmarks that stay, gradients at the prediction, and the change of features after its row.
"""

from __future__ import annotations

import numpy as np

MASK = 2**64 - 1


def bits(seed, count):
    """Output ``count + 1`` of SplitMix64 (Steele, Lea, Flood, 2014)."""
    z = (seed + (count + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def transform(n, width, blocks, seed):
    """The sparse transform S (n, width): one entry a row and block."""
    S, size = np.zeros((n, width)), width // blocks
    for i in range(n):
        for block in range(blocks):
            drawn = bits(seed, i * blocks + block)
            sign = -1.0 if drawn & 1 else 1.0
            S[i, block * size + (drawn * size >> 64)] = sign / np.sqrt(blocks)
    return S


def sample(n, size, seed):
    """The `size` numbers below n with the smallest hashes, in order."""
    return sorted(sorted(range(n), key=lambda i: bits(seed, i))[:size])


def feature_map(kernel, points, first, width, landmarks, rank, blocks, seed):
    """Points T and the matrix Z, so that ``phi(x) = Z' k(x, T)``."""
    K = kernel(points, points)
    S = transform(len(points), width, blocks, seed)
    chosen = sample(first, landmarks, seed ^ 0x6C616E646D61726B)
    values, vectors = np.linalg.eigh(S.T @ K @ S)
    values, vectors = np.maximum(values[::-1][:rank], 0.0), vectors[:, ::-1][:, :rank]
    Z = np.linalg.pinv(S.T @ K[:, chosen], rcond=1e-6) @ vectors @ np.diag(np.sqrt(values))
    return points[chosen], Z


def hinge_slope(f, y):
    return -y if y * f < 1.0 else 0.0


def predictions(
    kernel,
    X,
    y,
    *,
    size,
    width,
    landmarks,
    rank,
    blocks=1,
    period,
    step=0.2,
    shrinkage=0.01,
    alpha=0.01,
    sigma=0.5,
    second_order=True,
    seed=0,
):
    """What is said of each row before it is learned, and the points stored in the end."""
    out = np.zeros(len(y))
    stored, coefficients = [], []
    T = Z = w = A = None
    since = 0
    for t in range(len(y)):
        if T is None:
            similarities = kernel(X[t : t + 1], X[stored])[0] if stored else np.zeros(0)
            out[t] = similarities @ np.array(coefficients) if stored else 0.0
            slope = hinge_slope(out[t], y[t])
            coefficients = [(1.0 - step * shrinkage) * a for a in coefficients]
            if slope != 0.0:
                stored.append(t)
                coefficients.append(-step * slope)
            changes = len(stored) == size
        else:
            phi = Z.T @ kernel(T, X[t : t + 1])[:, 0]
            out[t] = w @ phi
            slope = hinge_slope(out[t], y[t])
            if second_order:
                A = A + sigma * slope**2 * np.outer(phi, phi)
                w = w - np.linalg.solve(A, slope * phi)
            else:
                w = (1.0 - step * shrinkage) * w - step * slope * phi
            since += 1
            changes = since == period
            if changes:
                stored.append(t)
        if changes:
            T, Z = feature_map(kernel, X[stored], size, width, landmarks, rank, blocks, seed)
            w, A, since = np.zeros(rank), alpha * np.eye(rank), 0
    return out, stored
