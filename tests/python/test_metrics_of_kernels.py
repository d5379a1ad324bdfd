"""Kernels after a linear map of the columns, and the Laplacian kernel of tables."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel

import kernelstream as ks
from realdata import random_stream


def similarities(kernel, X, points):
    """k(x, s_j): what a budgeted learner calls coordinates."""
    model = ks.KernelRegressor(kernel, learner=ks.BudgetedGradient(len(points)), scale=False)
    model.partial_fit(points, np.ones(len(points)))
    np.testing.assert_array_equal(model.dictionary_, points)
    return model.transform(X)


@pytest.mark.parametrize("bandwidth", [0.7, None])
def test_the_manhattan_laplacian_is_scikit_learns(bandwidth):
    X, _ = random_stream(40, 3)
    expected = laplacian_kernel(X, X[:10], gamma=1.0 / (bandwidth or 3.0))
    found = similarities(ks.ManhattanLaplacian(bandwidth), X, X[:10])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        ks.Gaussian(0.8),
        ks.ManhattanLaplacian(),
        ks.Polynomial(2),
        0.5 * ks.Laplacian() + ks.Linear(),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "metric",
    [np.array([2.0, 0.5, 0.0]), np.array([[1.0, -0.5, 0.2], [0.3, 2.0, 0.0]])],
    ids=["diagonal", "full"],
)
def test_a_mapped_kernel_is_the_kernel_of_mapped_rows(kernel, metric):
    X, y = random_stream(300, 3)
    seen = X * metric if metric.ndim == 1 else X @ metric.T
    basis = ks.ALD(1e-2, max_size=60)
    model = ks.KernelRegressor(ks.Mapped(kernel, metric), basis, scale=False)
    found = model.partial_fit_predict(X, y)
    plain = ks.KernelRegressor(kernel, basis, scale=False)
    np.testing.assert_allclose(found, plain.partial_fit_predict(seen, y), atol=1e-9)
    np.testing.assert_allclose(model.predict(X), plain.predict(seen), atol=1e-9)
    assert model.dictionary_.shape == (plain.n_stored_, 3)


def test_factors_of_the_columns_set_irrelevant_ones_aside():
    X, _ = random_stream(800, 6)
    y = np.sin(3.0 * X[:, 1])
    factors = (np.arange(6) == 1).astype(float)

    def error(kernel):
        predictions = ks.KernelRegressor(kernel, scale=False).partial_fit_predict(X, y)
        return np.mean((predictions - y)[200:] ** 2)

    assert error(ks.Mapped(ks.Gaussian(0.5), factors)) < 0.01 * error(ks.Gaussian(0.5))


def test_a_metric_of_another_width_is_refused():
    X, y = random_stream(20, 3)
    for kernel in (ks.Gaussian(), ks.Linear()):
        for metric in ([1.0, 2.0], [[1.0, 2.0]]):
            model = ks.KernelRegressor(ks.Mapped(kernel, metric), scale=False)
            with pytest.raises(ValueError, match="metric"):
                model.fit(X, y)


def test_the_metric_is_a_parameter_like_the_others():
    model = ks.KernelRegressor(ks.Mapped(ks.Gaussian(1.0), np.array([1.0, 2.0])), scale=False)
    changed = clone(model).set_params(kernel__metric=[3.0, 4.0], kernel__kernel__bandwidth=2.0)
    assert changed.kernel == ks.Mapped(ks.Gaussian(2.0), [3.0, 4.0])
    assert model.kernel == ks.Mapped(ks.Gaussian(1.0), [1.0, 2.0])
    with pytest.raises(ValueError, match="metric"):
        changed.kernel.set_params(metric=[])
    assert changed.kernel == ks.Mapped(ks.Gaussian(2.0), [3.0, 4.0])
    with pytest.raises(TypeError, match="kernel"):
        ks.Mapped("gaussian", [1.0])


def test_a_metric_comes_back_from_a_file(tmp_path):
    X, y = random_stream(50, 2)
    model = ks.KernelRegressor(
        ks.Mapped(ks.ManhattanLaplacian(), np.array([[1.0, 0.3]])), scale=False
    ).fit(X, y)
    model.save(tmp_path / "model")
    again = ks.load(tmp_path / "model")
    assert again.kernel == model.kernel
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
