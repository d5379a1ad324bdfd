"""TISVD as printed, in plain numpy, and the sketches that it was made for.

Source: Wen, Zhang, Wei, Hou, Li and Zhang, "Fast second-order online kernel learning through
incremental matrix sketching and decomposition", 2024, Algorithm 2 and appendix B.1.
"""

from __future__ import annotations

import numpy as np


def start(A, rank):
    """U, s and V of the best approximation."""
    u, s, vt = np.linalg.svd(A)
    return u[:, :rank], s[:rank], vt[:rank].T


def update(U, s, V, left, right):
    """Algorithm 2: one projection, a basis of what is left, and a small decomposition."""
    k, r = len(s), left.shape[1]
    P, R_left = np.linalg.qr(left - U @ (U.T @ left))
    Q, R_right = np.linalg.qr(right - V @ (V.T @ right))
    H = np.zeros((k + r, k + r))
    H[:k, :k] = np.diag(s)
    H += np.vstack([U.T @ left, R_left]) @ np.vstack([V.T @ right, R_right]).T
    u, s, vt = np.linalg.svd(H)
    return np.hstack([U, P]) @ u[:, :k], s[:k], np.hstack([V, Q]) @ vt[:k].T


def gaussian(X, Y, bandwidth):
    squares = (X * X).sum(axis=1)[:, None] + (Y * Y).sum(axis=1) - 2.0 * X @ Y.T
    return np.exp(-np.maximum(squares, 0.0) / (2.0 * bandwidth**2))


def kernel_sketch(X, bandwidth, width, first, rounds, seed=0):
    """The sketch S'KS of the first rows' Gram matrix, then its changes D M D' as D and M."""
    rng = np.random.default_rng(seed)
    place, sign = rng.integers(width, size=len(X)), rng.choice([-1.0, 1.0], size=len(X))
    S = np.zeros((first, width))
    S[np.arange(first), place[:first]] = sign[:first]
    yield S.T @ gaussian(X[:first], X[:first], bandwidth) @ S
    for t in range(first, first + rounds):
        similarities = gaussian(X[t : t + 1], X[:t], bandwidth)[0]
        column = np.bincount(place[:t], weights=sign[:t] * similarities, minlength=width)
        row = np.zeros(width)
        row[place[t]] = sign[t]
        yield np.column_stack([row, column]), np.array([[1.0, 1.0], [1.0, 0.0]])
