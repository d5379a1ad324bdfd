"""Coordinates hold in floating point: any rows, in any order, at any tolerance.

Each case is one of kernels x bases x learners x rows x orders x tolerances. A sample of the product
is drawn here; with KERNELSTREAM_ALL_COORDINATES in the environment all of it runs.
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
    match kind:
        case "line":
            return (6.0 * t - 3.0)[:, None]
        case "circle":
            return np.c_[np.cos(7.0 * t), np.sin(7.0 * t)]
        case "clock":
            return np.arange(N, dtype=float)[:, None] / 20.0
        case "ramp":
            return np.c_[t, t**2]
        case "trajectory":
            return np.c_[np.sin(12 * t), np.cos(15.6 * t), np.sin(8.4 * t)]
        case "sorted table":
            X = rng.normal(size=(N, 3))
            return X[np.argsort(X[:, 0])]
        case "duplicates":
            return np.repeat(rng.normal(size=(N // 4, 2)), 4, axis=0)
        case "near-duplicates":
            X = np.repeat(rng.normal(size=(N // 4, 2)), 4, axis=0)
            return X + 1e-9 * rng.normal(size=X.shape)
        case "far from the origin":
            return rng.normal(size=(N, 2)) + 1e8
    return rng.normal(size=(N, 2))


KINDS = [
    "line",
    "circle",
    "clock",
    "ramp",
    "trajectory",
    "sorted table",
    "duplicates",
    "near-duplicates",
    "far from the origin",
    "random",
]
TOLERANCES = [1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 0.0]
BASES = {
    "ald": lambda tolerance: ks.ALD(tolerance, max_size=None),
    "first points": lambda _: ks.FirstPoints(60),
    "all points": lambda _: ks.AllPoints(),
    "kors": lambda _: ks.KORS(0.1, random_state=1),
    "budget": lambda tolerance: ks.ALD(tolerance, max_size=25),
}
LAMBDA = 1e-2
LEARNERS = {
    "ridge": ks.Ridge(LAMBDA, center=False, clip=False, history="exact"),
    "newton": ks.OnlineNewton(1.0),
    "gradient": ks.Gradient(step=0.1),
}
PRODUCT = list(itertools.product(KERNELS, BASES, LEARNERS, KINDS, (True, False), TOLERANCES))
CASES = [case for case in PRODUCT if case[1] in {"ald", "budget"} or case[5] == TOLERANCES[0]]
SERIES = [
    (kernel, kind)
    for kernel, kind in itertools.product(KERNELS, KINDS)
    # Raw powers of columns this far off are the same number.
    if kind != "far from the origin" or kernel not in {"linear", "cubic"}
]
if "KERNELSTREAM_ALL_COORDINATES" not in os.environ:
    CASES = random.Random(0).sample(CASES, 120)
    SERIES = random.Random(0).sample(SERIES, 12)


def similarities(kernel: str, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The kernel written out, in extended precision."""
    A, B = A.astype(np.longdouble), B.astype(np.longdouble)
    square = ((A[:, None] - B[None]) ** 2).sum(axis=2)
    distance = np.sqrt(square)
    match kernel:
        case "gaussian" | "wide gaussian":
            return np.exp(-square / (2.0 * {"gaussian": 0.7, "wide gaussian": 8.0}[kernel] ** 2))
        case "matern":
            a = np.sqrt(np.longdouble(5.0)) * distance
            return (1.0 + a + a**2 / 3.0) * np.exp(-a)
        case "laplacian":
            return np.exp(-distance)
        case "linear":
            return A @ B.T
    return (A @ B.T / A.shape[1] + 1.0) ** 3


def targets(X: np.ndarray) -> np.ndarray:
    C = X - (X.mean(axis=0) if np.abs(X).max() > 1e6 else 0.0)
    return np.sin(2.0 * C[:, 0]) + C.sum(axis=1) ** 2 / (1.0 + np.max(np.abs(C)) ** 2)


def kernel_ridge(
    K: np.ndarray, S: np.ndarray, y: np.ndarray, nugget: float | None = None
) -> np.ndarray:
    """Subset of regressors at the rows themselves: kernel ridge regression on the stored points.

    The minimum of ``|y - K a|^2 + lambda a' S a`` in the coordinates that eigenvectors of S give:
    those that are not rounding errors, or all with a nugget on the diagonal of S.
    """
    values, vectors = np.linalg.eigh(S.astype(float))
    if nugget is None:
        kept = values > 1e-13 * values[-1]
    else:
        kept = np.full(len(values), True)
        values = np.maximum(values, 0.0) + nugget * float(S.diagonal().max())
    Z = K.astype(float) @ (vectors[:, kept] / np.sqrt(values[kept]))
    stacked = np.vstack([Z, np.sqrt(LAMBDA) * np.eye(kept.sum())])
    return Z @ np.linalg.lstsq(stacked, np.r_[y, np.zeros(kept.sum())], rcond=None)[0]


def shuffled(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(1).permutation(N)
    return X[order], y[order]


@pytest.mark.parametrize(("kernel", "basis", "learner", "kind", "ordered", "tolerance"), CASES)
def test_coordinates_are_bounded_and_ridge_is_that_of_the_stored_points(
    kernel, basis, learner, kind, ordered, tolerance
):
    X = rows(kind)
    y = targets(X)
    if not ordered:
        X, y = shuffled(X, y)
    # Polynomials of raw columns have huge coordinates, for which steps of 0.1 are too long.
    steps = learner == "gradient" and kernel in {"linear", "cubic"}
    model = ks.KernelRegressor(
        KERNELS[kernel],
        BASES[basis](tolerance),
        learner=ks.Gradient(schedule="adaptive") if steps else LEARNERS[learner],
        scale=False,
    )
    model.partial_fit(X, y)
    Z = model.transform(X)
    own = similarities(kernel, X, X).diagonal().astype(float)
    assert np.all(np.sum(Z**2, axis=1) <= own * (1.0 + 1e-9))
    predictions, scale = model.predict(X), np.abs(y).max()
    assert np.all(np.isfinite(predictions))
    if learner != "ridge":
        assert np.abs(predictions).max() <= 1e3 * scale
        return
    # Ridge regression in these coordinates, solved without normal equations.
    stacked = np.vstack([Z, np.sqrt(LAMBDA) * np.eye(Z.shape[1])])
    w = np.linalg.lstsq(stacked, np.r_[y, np.zeros(Z.shape[1])], rcond=None)[0]
    assert np.abs(predictions - Z @ w).max() <= 1e-6 * scale
    if kind == "far from the origin" and kernel in {"linear", "cubic"}:
        return
    # And kernel ridge regression on the stored points, which shares no algebra with it. Rows far
    # from all of them are extrapolated along directions that rounding decides: such predictions
    # are determined up to what a nugget of rounding size changes, in any algorithm.
    D = model.dictionary_
    K, S = similarities(kernel, X, D), similarities(kernel, D, D)
    small, large = (kernel_ridge(K, S, y, nugget) for nugget in (1e-14, 1e-13))
    allowed = 1e-6 * scale + np.abs(small - large).max()
    exact = kernel_ridge(K, S, y)
    found = min(np.abs(predictions - other).max() for other in (exact, small, large))
    assert found <= allowed
    if basis == "all points":
        assert np.abs(predictions - exact).max() <= 1e-6 * scale


@pytest.mark.parametrize(("kernel", "kind"), SERIES)
def test_order_costs_a_choice_of_points_and_a_finer_tolerance_nothing(kernel, kind):
    X = rows(kind)
    y = targets(X)
    scale = np.abs(y).max()
    K = similarities(kernel, X, X)
    exact = kernel_ridge(K, K, y)

    def errors(X: np.ndarray, y: np.ndarray, exact: np.ndarray) -> list[float]:
        found = []
        for tolerance in TOLERANCES:
            model = ks.KernelRegressor(
                KERNELS[kernel], ks.ALD(tolerance, max_size=None), LEARNERS["ridge"], scale=False
            )
            made = model.partial_fit(X, y).predict(X)
            found.append(float(np.sqrt(np.mean((made - exact) ** 2))))
        return found

    ordered = errors(X, y, exact)
    random_order = errors(*shuffled(X, y), shuffled(X, exact)[1])
    for tolerance, one, other in zip(TOLERANCES, ordered, random_order, strict=True):
        allowed = max(3.0 * other, np.sqrt(max(tolerance, 1e-12)) * scale)
        assert one <= allowed
    for series in (ordered, random_order):
        assert all(fine <= coarse + 1e-6 * scale for coarse, fine in itertools.pairwise(series))


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
