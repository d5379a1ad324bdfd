"""How far recursive least squares drifts from the batch solution over a long stream.

Coordinates are random Fourier features, all there from the first row, so that the batch solution
is one linear system. With forgetting only the latest rows count in it, together with the
regularization that the learner gives back to the coordinates in turn.

    python benchmarks drift stability            # 10^5 rows, seconds
    python benchmarks drift stability 10000000   # the long form
"""

from __future__ import annotations

import sys

import numpy as np

import kernelstream as ks

BLOCK = 50_000
RIDGE = 1e-2
STREAMS = ("ordinary", "near-duplicates", "targets offset by 1e8")


def rows(stream, block):
    """Rows and targets of a block of the stream, drawn from its number."""
    rng = np.random.default_rng(block)
    X = rng.uniform(-2, 2, size=(BLOCK, 2))
    if stream == "near-duplicates":
        X = np.round(X) + 1e-9 * rng.normal(size=X.shape)
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=BLOCK)
    return X, y + 1e8 * (stream == STREAMS[2])


def drift(stream, forgetting, n_blocks):
    """Largest difference of predictions, relative to the largest prediction."""
    learner = ks.Ridge(RIDGE, forgetting, center=False, clip=False)
    model = ks.KernelRegressor(
        ks.Gaussian(1.0), ks.Fourier(10, random_state=0), learner, scale=False
    )
    n_rows, m = n_blocks * BLOCK, 20
    curvature, right = np.zeros((m, m)), np.zeros(m)
    for block in range(n_blocks):
        X, y = rows(stream, block)
        model.partial_fit(X, y)
        ages = n_rows - 1 - block * BLOCK - np.arange(BLOCK)
        weights = forgetting**ages
        Z = model.transform(X)
        curvature += (Z * weights[:, None]).T @ Z
        right += (Z * weights[:, None]).T @ y
        turns = (block * BLOCK + np.arange(BLOCK)) % m
        share = RIDGE * (1 - forgetting) * m
        curvature[np.diag_indices(m)] += share * np.bincount(turns, weights, minlength=m)
    curvature += RIDGE * forgetting**n_rows * np.eye(m)
    X, _ = rows(stream, n_blocks)
    batch = model.transform(X) @ np.linalg.solve(curvature, right)
    return np.abs(model.predict(X) - batch).max() / np.abs(batch).max()


def main():
    n_blocks = max(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, BLOCK) // BLOCK
    print(f"| drift after {n_blocks * BLOCK:,} rows | 1 | 0.999 | 0.99 |\n|---|---|---|---|")
    for stream in STREAMS:
        found = [f"{drift(stream, forgetting, n_blocks):.1e}" for forgetting in (1.0, 0.999, 0.99)]
        print(f"| {stream} | {' | '.join(found)} |", flush=True)
