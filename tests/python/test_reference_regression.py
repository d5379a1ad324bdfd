"""The slow versions agree with each other where two definitions must give the same."""

from __future__ import annotations

import numpy as np
import pytest

import reference as ref
import reference_regression as slow
from realdata import random_stream

KERNEL = ref.gaussian(0.9)
STORED = [0, 1, 2, 5, 9, 20, 40, 41, 70]


def test_all_points_are_the_whole_kernel():
    X, y = random_stream(60, 3, seed=1)
    everything = range(len(X))
    for prediction, expected in (
        ("awv", ref.kernel_awv_online(KERNEL, X, y, 0.5)),
        ("ridge", ref.kernel_ridge_online(KERNEL, X, y, 0.5)),
    ):
        for method in (slow.pkawv_nystrom_exact, slow.pkawv_nystrom_forgetful):
            found = method(KERNEL, X, y, everything, regularization=0.5, prediction=prediction)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)


def test_a_reservoir_that_holds_all_rows_is_exact():
    X, y = random_stream(90, 3, seed=2)
    exact = slow.pkawv_nystrom_exact(KERNEL, X, y, STORED, regularization=0.5)
    found = slow.pkawv_nystrom_reservoir(
        KERNEL, X, y, STORED, np.arange(90), regularization=0.5, size=90
    )
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-8)
    none = slow.pkawv_nystrom_forgetful(KERNEL, X, y, STORED, regularization=0.5)
    assert np.abs(none - exact).max() > 1e-3


def test_kons_is_a_newton_step_on_all_points():
    X, y = random_stream(80, 3, seed=3)
    settings = {"mu": 0.5, "bound": 1.2, "target_bound": 1.5}
    kept = np.random.default_rng(0).choice([0.0, 4.0], size=80, p=[0.75, 0.25])
    for weights in (None, kept):
        whole = slow.kons_online(KERNEL, X, y, **settings, kept=weights)
        learner = slow.NewtonOnPoints(KERNEL, 3, range(80), **settings, kept=weights)
        np.testing.assert_allclose(ref.run(learner, X, y), whole, rtol=0, atol=1e-7)
    assert (np.abs(whole) == 1.2).any()


def test_nons_ald_is_a_newton_step_on_its_points():
    X, y = random_stream(200, 2, seed=4)
    settings = {"mu": 0.5, "bound": 1.2, "target_bound": 1.5}
    _, sizes = ref.nested_features(KERNEL, X, 0.05)
    stored = np.flatnonzero(np.diff(sizes, prepend=0))
    for growth in ("carry", "restart"):
        one = ref.NonsAldSvd(KERNEL, tolerance=0.05, growth=growth, **settings)
        other = slow.NewtonOnPoints(KERNEL, 2, stored, growth=growth, **settings)
        np.testing.assert_allclose(ref.run(other, X, y), ref.run(one, X, y), rtol=0, atol=1e-9)


def test_taylor_features_are_the_printed_ones_and_come_to_the_kernel():
    X, _ = random_stream(30, 3, seed=5)
    for degree in (0, 1, 2, 4):
        features = slow.taylor_features(X, degree, 0.7)
        printed = np.array([slow.taylor_features_as_printed(x, degree, 0.7) for x in X])
        np.testing.assert_allclose(features @ features.T, printed @ printed.T, atol=1e-14)
        assert features.shape[1] <= printed.shape[1]
    high = slow.taylor_features(X, 30, 0.7)
    np.testing.assert_allclose(high @ high.T, ref.gaussian(0.7)(X, X), atol=1e-9)


def test_kors_stores_mainly_novel_points():
    X, _ = random_stream(80, 2, seed=6)
    chances = slow.kors_probabilities(KERNEL, X, STORED, mu=2.0, epsilon=0.5, beta=1.0)
    # The first row is compared with itself alone: 1 - 1 / (1 + mu).
    assert chances[0] == pytest.approx(1.5 / 2.0 * (1.0 - 1.0 / 3.0))
    assert chances[42:].mean() < 0.7 * chances[:10].mean()
    again = slow.kors_probabilities(KERNEL, np.vstack([X, X[:1]]), STORED, mu=2.0)
    assert again[-1] < 0.7 * chances[0]
    generous = slow.kors_probabilities(KERNEL, X, STORED, mu=0.2, beta=3.0)
    assert generous.max() == 1.0


def test_fourier_features_approach_the_gaussian_kernel():
    X, _ = random_stream(40, 2, seed=7)
    omegas = np.random.default_rng(1).standard_normal((20_000, 2)) / 0.9
    learner = slow.Fogd(omegas, step=0.1)
    features = np.array([learner.features(x) for x in X])
    np.testing.assert_allclose(features @ features.T, KERNEL(X, X), atol=0.03)
    unnormalized = slow.Fogd(omegas, step=0.1, normalized=False).features(X[0])
    np.testing.assert_allclose(unnormalized, features[0] * np.sqrt(20_000))


def test_nogd_with_all_eigenvectors_continues_as_it_was():
    X, y = random_stream(60, 2, seed=8)
    learner = slow.Nogd(KERNEL, 2, size=10, rank=10, step=0.2)
    ref.run(learner, X[:10], y[:10])
    handed_over = [learner.predict(x) for x in X]
    learner.map = None
    np.testing.assert_allclose(handed_over, [learner.predict(x) for x in X], rtol=0, atol=1e-9)
