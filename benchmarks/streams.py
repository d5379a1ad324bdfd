"""Regression tables as streams, for the benchmarks.

The folder of ``*.npz`` files (arrays ``X`` and ``y``) is named by the environment variable
KERNELSTREAM_DATA; the default is ../shared/data beside the repository.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(os.environ.get("KERNELSTREAM_DATA", ROOT.parent / "shared" / "data"))


def load(name: str) -> tuple[FloatArray, FloatArray]:
    """Rows and targets of a table as they are on disk, in float64."""
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        raise SystemExit(
            f"{path} is missing: set KERNELSTREAM_DATA to the folder of the data files"
        )
    with np.load(path, allow_pickle=False) as data:
        return data["X"].astype(np.float64), data["y"].astype(np.float64).ravel()


def min_max(values: FloatArray, low: float, high: float) -> FloatArray:
    """Each column stretched to [low, high]; a constant column goes to `low`."""
    bottom, top = values.min(axis=0), values.max(axis=0)
    span = np.where(top > bottom, top - bottom, 1.0)
    return low + (high - low) * (values - bottom) / span


def random_order(n_rows: int, seed: int) -> NDArray[np.int64]:
    """The order of rows that a seed stands for."""
    return np.random.default_rng(seed).permutation(n_rows)
