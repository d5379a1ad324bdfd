"""The references against each other: two forms of one method that share no algebra must agree."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import reference as ref
from realdata import random_stream, real_stream

GAUSSIAN = ref.gaussian(0.8)


def test_both_forms_of_kernel_ridge_and_awv_agree():
    X, y = random_stream(120, 3)
    ridge, awv = ref.cholesky_oracle(GAUSSIAN, X, y, 0.1)
    np.testing.assert_allclose(ref.kernel_ridge_online(GAUSSIAN, X, y, 0.1), ridge, atol=1e-11)
    np.testing.assert_allclose(ref.kernel_awv_online(GAUSSIAN, X, y, 0.1), awv, atol=1e-11)


@pytest.mark.parametrize("prediction", ["ridge", "awv"])
def test_ridge_on_all_nested_coordinates_is_kernel_ridge(prediction):
    X, y = random_stream(120, 3)
    features, sizes = ref.nested_features(GAUSSIAN, X, 1e-12)
    assert sizes[-1] == len(X)
    learner = ref.DenseRidge(0.1, center=False, clip=False, prediction=prediction)
    mine = ref.run_on_features(learner, features, sizes, y)
    oracle = ref.cholesky_oracle(GAUSSIAN, X, y, 0.1)[prediction == "awv"]
    np.testing.assert_allclose(mine, oracle, atol=1e-9)


def test_centring_is_ridge_with_an_intercept_without_a_penalty():
    X, y = random_stream(100, 2)
    features, sizes = ref.nested_features(GAUSSIAN, X, 1e-3)
    mine = ref.run_on_features(ref.DenseRidge(0.1, clip=False), features, sizes, y)
    for t in range(1, len(y)):
        past = features[:t, : sizes[t]]
        ridge = Ridge(0.1, solver="cholesky").fit(past, y[:t])
        expected = ridge.predict(features[t : t + 1, : sizes[t]])[0]
        assert mine[t] == pytest.approx(expected, abs=1e-10)


def test_forgetting_weighs_rows_by_their_age_and_keeps_the_ridge():
    X, y = random_stream(400, 2)
    features, sizes = ref.nested_features(GAUSSIAN, X, 1e-2)
    g, m = 0.97, sizes[-1]
    learner = ref.DenseRidge(0.1, forgetting=g, center=False, clip=False)
    ref.run_on_features(learner, features, sizes, y)
    weights = g ** np.arange(len(y) - 1, -1, -1.0)
    extra = learner.A - (features * weights[:, None]).T @ features
    # What stays of the regularization is diagonal and near lambda, however many rows have passed.
    np.testing.assert_allclose(extra, np.diag(np.diag(extra)), atol=1e-10)
    slack = g**-m
    assert np.all(np.diag(extra) < 0.1 * slack)
    assert np.all(np.diag(extra) > 0.1 / slack)
    np.testing.assert_allclose(learner.b_y, (features * weights[:, None]).T @ y, atol=1e-10)


def test_krls_is_the_limit_of_ridge_without_regularization():
    X, y = random_stream(300, 2)
    features, sizes = ref.nested_features(GAUSSIAN, X, 1e-2)
    krls = ref.run(ref.Krls(GAUSSIAN, tolerance=1e-2), X, y)
    gaps = []
    for regularization in (1e-6, 1e-8):
        learner = ref.DenseRidge(regularization, center=False, clip=False)
        gaps.append(np.abs(krls - ref.run_on_features(learner, features, sizes, y)).max())
    assert gaps[1] < 0.02 * gaps[0] < 1e-3


def test_aogd_in_the_dual_is_gradient_descent_on_nested_coordinates():
    X, y = random_stream(300, 2)
    features, sizes = ref.nested_features(GAUSSIAN, X, 1e-2)
    dual = ref.run(ref.AogdAldDual(GAUSSIAN, tolerance=1e-2, radius=1.5), X, y)
    primal = ref.DenseGradient(schedule="adaptive", radius=1.5)
    np.testing.assert_allclose(ref.run_on_features(primal, features, sizes, y), dual, atol=1e-10)


@pytest.mark.parametrize("name", ["diabetes", "elevators_raw"])
def test_online_newton_clips_and_learns(name):
    X, y = real_stream(name, 400)
    learner = ref.NonsAldSvd(ref.gaussian(4.0), mu=1.0, tolerance=0.01, bound=0.4, target_bound=1.0)
    predictions = ref.run(learner, X, y)
    assert np.abs(predictions).max() == pytest.approx(0.4, abs=1e-12)
    # The squared gradients so far, whatever the coordinates: A - mu I has their trace.
    assert np.trace(learner.A) > len(learner.w)
    assert np.mean((predictions - y)[200:] ** 2) < np.mean(y[200:] ** 2) / 2
