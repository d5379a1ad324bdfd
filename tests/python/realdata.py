"""Real streams for the tests: regression tables scaled as in the kernel literature.

The folder is named by the environment variable KERNELSTREAM_DATA (default: ../shared/data beside
the repository); tests that need it are skipped where it is missing. ``diabetes`` comes with
scikit-learn and is always there.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("KERNELSTREAM_DATA", ROOT.parent / "shared" / "data"))


def scaled(X, y):
    """Features to [-1, 1] and target to [0, 1], by their smallest and largest values."""
    low, high = X.min(axis=0), X.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    return 2.0 * (X - low) / span - 1.0, (y - y.min()) / (y.max() - y.min())


def real_stream(name, n_rows, seed=0):
    """`n_rows` rows of a table in random order, scaled."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True, scaled=False)
    else:
        path = FOLDER / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"{path} is missing (set KERNELSTREAM_DATA)")
        with np.load(path, allow_pickle=False) as data:
            X, y = data["X"].astype(np.float64), data["y"].astype(np.float64).ravel()
    X, y = scaled(X, y)
    order = np.random.default_rng(seed).permutation(len(y))[:n_rows]
    return X[order], y[order]


def random_stream(n_rows, n_features, seed=0):
    """Rows uniform in a box and a smooth target with a little noise, of no particular mean."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n_rows, n_features))
    y = 0.7 + np.sin(3.0 * X[:, 0]) * np.cos(2.0 * X[:, -1]) + 0.1 * rng.standard_normal(n_rows)
    return X, y
