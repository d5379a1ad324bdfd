"""Coordinates hold in floating point: any rows, in any order, at any tolerance.

Each case is one of kernels x bases x rows x orders x tolerances. A sample of the product is drawn
here; with KERNELSTREAM_ALL_COORDINATES in the environment all of it runs.
"""

from __future__ import annotations

import itertools
import os
import random
import zlib

import numpy as np
import pytest

import kernelstream as ks

N = 160

KERNELS = {
    "gaussian": ks.Gaussian(0.7),
    "wide gaussian": ks.Gaussian(8.0),
    "matern": ks.Matern52(1.0),
    "laplacian": ks.Laplacian(1.0),
    "linear": ks.Linear(),
    "cubic": ks.Polynomial(3),
}


def rows(kind: str) -> np.ndarray:
    rng = np.random.default_rng(zlib.crc32(kind.encode()))
    t = np.linspace(0.0, 1.0, N)
    if kind == "line":
        return (6.0 * t - 3.0)[:, None]
    if kind == "circle":
        return np.c_[np.cos(7.0 * t), np.sin(7.0 * t)]
    if kind == "clock":
        return np.arange(N, dtype=float)[:, None] / 20.0
    if kind == "trajectory":
        return np.c_[np.sin(12 * t), np.cos(15.6 * t), np.sin(8.4 * t)]
    if kind == "sorted table":
        X = rng.normal(size=(N, 3))
        return X[np.argsort(X[:, 0])]
    if kind == "duplicates":
        return np.repeat(rng.normal(size=(N // 4, 2)), 4, axis=0)
    if kind == "near-duplicates":
        X = np.repeat(rng.normal(size=(N // 4, 2)), 4, axis=0)
        return X + 1e-9 * rng.normal(size=X.shape)
    return rng.normal(size=(N, 2))


KINDS = [
    "line",
    "circle",
    "clock",
    "trajectory",
    "sorted table",
    "duplicates",
    "near-duplicates",
    "random",
]
TOLERANCES = [1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 0.0]
BASES = {
    "ald": ks.ALD,
    "first points": lambda _: ks.FirstPoints(60),
    "all points": lambda _: ks.AllPoints(),
}
PRODUCT = list(itertools.product(KERNELS, BASES, KINDS, (True, False), TOLERANCES))
CASES = [case for case in PRODUCT if case[1] == "ald" or case[4] == TOLERANCES[0]]
if "KERNELSTREAM_ALL_COORDINATES" not in os.environ:
    CASES = random.Random(0).sample(CASES, 120)


@pytest.mark.parametrize(("kernel", "basis", "kind", "ordered", "tolerance"), CASES)
def test_coordinates_are_bounded_and_ridge_is_that_of_the_stored_points(
    kernel, basis, kind, ordered, tolerance
):
    X = rows(kind)
    y = np.sin(2.0 * X[:, 0]) + X.sum(axis=1) ** 2 / (1.0 + np.max(np.abs(X)) ** 2)
    if not ordered:
        order = np.random.default_rng(1).permutation(N)
        X, y = X[order], y[order]
    regularization = 1e-2
    model = ks.KernelRegressor(
        KERNELS[kernel],
        BASES[basis](tolerance),
        learner=ks.Ridge(regularization, center=False, clip=False, history="exact"),
        scale=False,
    ).fit(X, y)
    Z = model.transform(X)
    squares = np.sum(X**2, axis=1)
    own = {"linear": squares, "cubic": (squares / X.shape[1] + 1.0) ** 3}.get(kernel, np.ones(N))
    assert np.all(np.sum(Z**2, axis=1) <= own * (1.0 + 1e-9))
    # Ridge regression in these coordinates, solved without normal equations.
    stacked = np.vstack([Z, np.sqrt(regularization) * np.eye(Z.shape[1])])
    w = np.linalg.lstsq(stacked, np.r_[y, np.zeros(Z.shape[1])], rcond=None)[0]
    scale = np.abs(y).max()
    assert np.abs(model.predict(X) - Z @ w).max() <= 1e-6 * scale


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("mean", [0.0, 5.0, -20.0])
def test_a_linear_relation_of_columns_off_the_origin_is_exact_with_an_offset(mean, scale):
    rng = np.random.default_rng(0)
    for width in (1, 3):
        X = rng.normal(size=(500, width)) + mean
        y = X @ rng.normal(size=width)
        learner = ks.Ridge(1e-6, center=False, clip=False)
        model = ks.KernelRegressor(ks.Polynomial(1), ks.ALD(1e-10), learner=learner, scale=scale)
        error = model.fit(X[:400], y[:400]).predict(X[400:]) - y[400:]
        assert np.abs(error).max() < 1e-4 * np.abs(y).max()
