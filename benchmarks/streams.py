"""Regression tables as streams, for the benchmarks.

The folder of ``*.npz`` files (arrays ``X`` and ``y``) is given by the environment variable
KERNELSTREAM_DATA; the default is ../shared/data beside the repository. A missing regression table
is fetched from OpenML by scikit-learn, which caches it; without a network it is skipped with a
message.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from report import Report
from sklearn.datasets import fetch_openml

FloatArray = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(os.environ.get("KERNELSTREAM_DATA", ROOT.parent / "shared" / "data"))

# Identifiers at openml.org. Rows may be in another order there.
OPENML = {
    "elevators_raw": 216,
    "ailerons": 296,
    "bank32nh": 558,
    "cpusmall": 227,
    "cal_housing": 537,
    "protein_raw": 42903,
}


class Missing(SystemExit):
    """A table is neither in the folder nor at OpenML; the message names it."""


@lru_cache(maxsize=4)
def load(name: str) -> tuple[FloatArray, FloatArray]:
    """Rows and targets of a table as they are on disk or at OpenML, in float64."""
    path = FOLDER / f"{name}.npz"
    if path.exists():
        with np.load(path, allow_pickle=False) as data:
            return data["X"].astype(np.float64), data["y"].astype(np.float64).ravel()
    missing = f"{path} is missing (KERNELSTREAM_DATA names the folder)"
    if name not in OPENML:
        raise Missing(missing)
    try:
        X, y = fetch_openml(data_id=OPENML[name], return_X_y=True, as_frame=False)
        return np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64).ravel()
    except (OSError, ValueError) as error:
        raise Missing(f"{missing}, and OpenML cannot be read ({error})") from error


def available(report: Report, name: str) -> bool:
    """Whether a table is available; if not, the report lists it."""
    try:
        load(name)
    except Missing as error:
        report.remark(f"skipped: {error}")
        return False
    return True


# Tables with numbers as targets.
NUMBERS = (
    "elevators_raw",
    "cpusmall",
    "bank32nh",
    "cal_housing",
    "ailerons",
    "protein_raw",
    "parkinsons_raw",
)


def min_max(values: FloatArray, low: float, high: float) -> FloatArray:
    """Each column stretched to [low, high]; a constant column goes to `low`."""
    bottom, top = values.min(axis=0), values.max(axis=0)
    span = np.where(top > bottom, top - bottom, 1.0)
    return low + (high - low) * (values - bottom) / span


def standardized(values: FloatArray) -> FloatArray:
    """Each column at mean 0 and deviation 1; a constant column goes to 0."""
    deviation = values.std(axis=0)
    scaled: FloatArray = (values - values.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return scaled


def random_order(n_rows: int, seed: int) -> NDArray[np.int64]:
    """The random order of rows of a seed."""
    return np.random.default_rng(seed).permutation(n_rows)
