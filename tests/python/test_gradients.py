"""Slopes of predictions, and what they say of the columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance

import kernelstream as ks
from realdata import random_stream

BASIS = ks.ALD(1e-3, max_size=40)
# Predictions that are kept within a range have kinks.
RIDGE = ks.Ridge(clip=False)
DIRECTIONS = [[1.0, -0.5, 0.0], [0.2, 0.0, 2.0]]


def finite_differences(model, X, step=1e-5):
    slopes = []
    for j in range(X.shape[1]):
        moved = np.zeros_like(X)
        moved[:, j] = step
        slopes.append((model.predict(X + moved) - model.predict(X - moved)) / (2 * step))
    return np.stack(slopes, axis=-1)


@pytest.mark.parametrize(
    "model",
    [
        ks.KernelRegressor(ks.Gaussian(0.8), BASIS, RIDGE, scale=False),
        ks.KernelRegressor(
            ks.Gaussian(0.8), BASIS, ks.Ridge(center=False, clip=False), scale=False
        ),
        ks.KernelRegressor(ks.Matern52() + 0.1 * ks.Polynomial(2), BASIS, RIDGE, scale=False),
        ks.KernelRegressor(ks.Mapped(ks.Gaussian(), DIRECTIONS), BASIS, RIDGE, scale=False),
        ks.KernelRegressor(
            ks.Mapped(ks.Matern32(), [3.0, 0.0, 0.5]), ks.AllPoints(), RIDGE, scale=False
        ),
        ks.KernelRegressor(ks.Gaussian(), BASIS, ks.GaussNewton(loss="squared"), scale=False),
        ks.KernelExperts(
            [ks.KernelRegressor(ks.Gaussian(b), BASIS, RIDGE, scale=False) for b in (0.5, 2.0)],
            scale=False,
        ),
    ],
    ids=repr,
)
def test_gradients_are_those_of_finite_differences(model, stream):
    X, y = stream
    rows = X[:20] + 0.01
    model.fit(X, y)
    np.testing.assert_allclose(model.gradient(rows), finite_differences(model, rows), atol=1e-6)
    model.fit(X, np.c_[y, y**2])
    gradient = model.gradient(rows)
    assert gradient.shape == (20, 2, 3)
    expected = finite_differences(model, rows)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


def test_experts_that_choose_themselves_have_gradients_in_units_of_the_columns():
    X, _ = random_stream(1500, 2)
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2
    units = np.array([1e3, 1e-3])
    model = ks.KernelExperts(size=40).fit(X * units, y)
    rows = 0.5 * X[:50]
    truth = np.c_[2.0 * np.cos(2.0 * rows[:, 0]), 2.0 * rows[:, 1]]
    slopes = model.gradient(rows * units) * units
    assert np.median(np.abs(slopes - truth)) < 0.1


@pytest.mark.parametrize(
    "model", [ks.KernelRegressor(basis=BASIS, scale=False), ks.KernelExperts(size=20)]
)
def test_importances_find_the_columns_that_matter(model):
    X, _ = random_stream(800, 5)
    y = 3.0 * np.sin(2.0 * X[:, 3]) + X[:, 1]
    model.fit(X, y)
    shares = model.feature_importances_
    assert shares.shape == (5,)
    assert np.isclose(shares.sum(), 1.0)
    permuted = permutation_importance(model, X, y, random_state=0).importances_mean
    assert np.argsort(shares)[-2:].tolist() == np.argsort(permuted)[-2:].tolist() == [1, 3]


def test_models_without_gradients_raise_an_error(stream):
    X, y = stream
    for asked in ("gradient", "feature_importances_"):
        for model in (ks.KernelRegressor(scale=False), ks.KernelExperts()):
            with pytest.raises(NotFittedError):
                _ = model.gradient(X) if asked == "gradient" else model.feature_importances_
        random = ks.KernelRegressor(basis=ks.Fourier(10), scale=False).fit(X, y)
        with pytest.raises(ValueError, match="no gradient here"):
            _ = random.gradient(X) if asked == "gradient" else random.feature_importances_
    assert not hasattr(ks.KernelRegressor(scale=False), "feature_importances_")


def test_bad_rows_are_named(stream):
    X, y = stream
    model = ks.KernelRegressor(basis=BASIS, scale=False).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.gradient(X[:, :2])
    with pytest.raises(ValueError, match="row 3"):
        model.gradient(np.where(np.arange(len(X))[:, None] == 3, np.nan, X))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("categories", list("xyz") * 30),
        ("true or false", [True, False, False] * 30),
        ("times", pd.date_range("2024", periods=90, freq="h")),
    ],
)
@pytest.mark.parametrize("model", [ks.KernelRegressor(), ks.KernelExperts()])
def test_the_column_without_a_gradient_is_named(model, kind, values):
    a = np.linspace(-1, 1, 90)
    frame = pd.DataFrame({"a": a, "odd": values})
    model = clone(model).fit(frame, a)
    with pytest.raises(ValueError, match=f"column 'odd' holds {kind}.*no gradient here"):
        model.gradient(frame)
