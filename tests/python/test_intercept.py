"""Centred ridge regression has an intercept without a penalty, off the origin and in any order."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import kernelstream as ks

KERNELS = {
    "gaussian": ks.Gaussian(0.7),
    "wide": ks.Gaussian(8.0),
    "matern": ks.Matern52(1.0),
    "laplacian": ks.Laplacian(1.0),
    "linear": ks.Linear(),
    "cubic": ks.Polynomial(3),
}
LAMBDA = 1e-2


def rows(kind, offset=0.0, n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    if kind == "sorted":
        X = X[np.argsort(X[:, 0])]
    y = np.sin(X[:, 0]) + X @ [1.0, -2.0] + 0.1 * rng.normal(size=n)
    if kind == "by target":
        order = np.argsort(y)
        X, y = X[order], y[order]
    weights = rng.uniform(0.1, 3.0, n) if kind == "weighted" else None
    return X + offset, y + offset, weights


@pytest.mark.parametrize("offset", [0.0, 5.0, 1e3, 1e6])
@pytest.mark.parametrize("kind", ["random", "sorted", "by target", "weighted"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_likelihood_equals_scikit_learns_in_the_same_coordinates(kernel, kind, offset):
    X, y, weights = rows(kind, offset)
    learner = ks.Ridge(LAMBDA, clip=False, history="exact")
    for scale in (True, False):
        model = ks.KernelRegressor(KERNELS[kernel], ks.ALD(1e-4), learner, scale=scale)
        model.partial_fit(X, y, sample_weight=weights)
        Z = model.transform(X)
        ridge = Ridge(LAMBDA, solver="svd").fit(Z, y, sample_weight=weights)
        assert np.abs(model.predict(X) - ridge.predict(Z)).max() <= 1e-8 * np.abs(y).max()


@pytest.mark.parametrize("mean", [0.0, 0.5, 5.0, -300.0])
@pytest.mark.parametrize("kind", ["random", "sorted", "by target"])
def test_a_line_off_the_origin_is_learned_by_a_linear_kernel(kind, mean):
    X, _, _ = rows(kind, mean)
    y = X @ [1.0, -2.0] + 7.0
    model = ks.KernelRegressor(ks.Linear(), ks.ALD(1e-6), ks.Ridge(1e-3, clip=False))
    model.partial_fit(X, y)
    assert np.abs(model.predict(X) - y).max() < 1e-4 * y.std()
    assert model.predict([[0.0, 0.0]])[0] == pytest.approx(7.0, abs=1e-3 * (1.0 + abs(mean)))


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_deviations_include_the_variance_of_the_intercept(kernel):
    X, y, weights = rows("weighted", 3.0, n=60)
    model = ks.KernelRegressor(
        KERNELS[kernel], ks.FirstPoints(20), ks.Ridge(LAMBDA, history="exact"), scale=False
    ).partial_fit(X, y, sample_weight=weights)
    T = np.array([[3.0, 3.0], [5.0, 1.0], [0.0, 0.0], [40.0, -40.0]])
    Z = np.column_stack([model.transform(X), np.ones(len(X))])
    at = np.column_stack([model.transform(T), np.ones(len(T))])
    penalty = LAMBDA * np.append(np.ones(Z.shape[1] - 1), 0.0)
    covariance = np.linalg.inv(Z.T @ (Z * weights[:, None]) + np.diag(penalty))
    left = 1.0 - (at[:, :-1] ** 2).sum(axis=1) if kernel == "gaussian" else 0.0
    variance = 1.0 + np.einsum("ij,jk,ik->i", at, covariance, at) + left / LAMBDA
    _, deviation = model.predict(T, return_std=True)
    np.testing.assert_allclose(deviation, model.noise_ * np.sqrt(variance), rtol=1e-6)


@pytest.mark.parametrize("history", ["none", "exact"])
def test_blocks_rows_files_and_parts_have_the_same(history, tmp_path):
    X, y, weights = rows("weighted", 4.0)
    learner = ks.Ridge(LAMBDA, clip=False, history=history)
    model = ks.KernelRegressor(ks.Gaussian(2.0), ks.ALD(1e-3), learner, scale=False)
    whole = deepcopy(model).partial_fit(X, y, sample_weight=weights)
    single = deepcopy(model)
    for x, target, weight in zip(X, y, weights, strict=True):
        single.partial_fit(x[None], [target], sample_weight=[weight])
    np.testing.assert_allclose(single.predict(X), whole.predict(X), atol=1e-9)
    half = deepcopy(model).partial_fit(X[:150], y[:150], sample_weight=weights[:150])
    half.save(tmp_path / "half")
    ends = [
        part.partial_fit(X[150:], y[150:], sample_weight=weights[150:]).predict(X)
        for part in (ks.load(tmp_path / "half"), half)
    ]
    np.testing.assert_array_equal(*ends)
    np.testing.assert_allclose(ends[0], whole.predict(X), atol=1e-9)
    whole.freeze_dictionary()
    parts = [deepcopy(whole).partial_fit(X[i::4], y[i::4] + 1e4) for i in range(4)]
    merged, one = parts[0].merge(*parts[1:]), deepcopy(whole).partial_fit(X, y + 1e4)
    np.testing.assert_allclose(merged.predict(X), one.predict(X), atol=1e-7)
    far = [[100.0, 100.0]]
    np.testing.assert_allclose(merged.predict(far), one.predict(far), atol=1e-4)


def test_old_rows_are_forgotten_by_the_intercept_too():
    X, y, _ = rows("random", 4.0)
    learner = ks.Ridge(1e-4, forgetting=0.95, clip=False)
    model = ks.KernelRegressor(ks.Gaussian(0.5), ks.ALD(1e-2), learner, scale=False)
    model.partial_fit(np.vstack([X, X]), np.append(y + 100.0, y))
    assert abs(model.predict([[50.0, 50.0]])[0] - 4.0) < 2.0


@pytest.mark.parametrize("kind", ["random", "sorted"])
def test_where_coordinates_hold_a_constant_the_intercept_stays_within_bounds(kind):
    # Without regularization the errors of the target 1 are rounding.
    X, y, _ = rows(kind, 0.0)
    for kernel in (ks.Polynomial(1), ks.Polynomial(3), ks.Gaussian(4.0)):
        for regularization in (0.0, 1e-10, 1e-6):
            learner = ks.Ridge(regularization, clip=False)
            model = ks.KernelRegressor(kernel, ks.ALD(1e-4), learner, scale=False).partial_fit(X, y)
            exact = ks.KernelRegressor(
                kernel, ks.ALD(1e-4), ks.Ridge(1e-4, clip=False), scale=False
            ).partial_fit(X, y)
            error = np.std(model.predict(X) - y)
            assert error <= 1.05 * np.std(exact.predict(X) - y)
