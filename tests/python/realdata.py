"""Real streams for the tests: regression tables scaled as in the kernel literature.

The folder is named by the environment variable KERNELSTREAM_DATA (default: ../shared/data beside
the repository). Where a table is missing, tests that hold on any rows run on seeded ones in its
place, and those that know its figures are skipped. ``diabetes`` comes with scikit-learn.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("KERNELSTREAM_DATA", ROOT.parent / "shared" / "data"))
# How the reason of a test begins that is skipped for want of a table.
MISSING = "real data missing: "

# Features of the tables that others can stand in for; two labels, or a number to predict.
WIDTHS = {"cal_housing": 8, "cpusmall": 12, "elevators_raw": 18, "protein_raw": 9}
LABELLED = {"codrna_30k": 8, "german_numer": 24, "ijcnn1": 22, "svmguide3": 21}


def scaled(X, y):
    """Features to [-1, 1] and target to [0, 1], by their smallest and largest values."""
    low, high = X.min(axis=0), X.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    return 2.0 * (X - low) / span - 1.0, (y - y.min()) / (y.max() - y.min())


def table(name):
    """The arrays of a table by name, or the test is skipped."""
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{MISSING}{path.name}")
    with np.load(path, allow_pickle=False) as data:
        return {kind: values.astype(np.float64) for kind, values in data.items()}


def stand_in(name, n_rows):
    """Seeded rows of the same width as a table: correlated columns, a smooth target with noise."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    hidden = rng.normal(size=(n_rows, 3))
    X = np.tanh(hidden @ rng.normal(size=(3, (WIDTHS | LABELLED)[name])))
    X += 0.2 * rng.normal(size=X.shape)
    y = np.sin(hidden[:, 0]) + 0.5 * hidden[:, 1] * hidden[:, 2] + 0.2 * rng.normal(size=n_rows)
    return X, np.sign(y - np.quantile(y, 0.7)) if name in LABELLED else y


def real_stream(name, n_rows, seed=0):
    """`n_rows` rows of a table in random order, scaled; of its stand-in where it is missing."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True, scaled=False)
    elif (FOLDER / f"{name}.npz").exists():
        X, y = table(name)["X"], table(name)["y"].ravel()
    else:
        X, y = stand_in(name, n_rows)
    X, y = scaled(X, y)
    order = np.random.default_rng(seed).permutation(len(y))[:n_rows]
    return X[order], y[order]


def random_stream(n_rows, n_features, seed=0):
    """Rows uniform in a box and a smooth target with a little noise, of no particular mean."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n_rows, n_features))
    y = 0.7 + np.sin(3.0 * X[:, 0]) * np.cos(2.0 * X[:, -1]) + 0.1 * rng.standard_normal(n_rows)
    return X, y
