"""Rows that are met exactly: against scikit-learn's Gaussian process, cut anyhow, and left out."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

import kernelstream as ks
from conftest import random_stream


def model(noise=0.2, **parameters):
    some = "tolerance" in parameters
    basis = ks.NoisyPoints(noise, parameters.pop("max_size", 4000), loss_driven=some)
    return ks.KernelRegressor(ks.Gaussian(1.3), basis, ks.Interpolation(**parameters), scale=False)


def test_it_is_the_mean_of_a_gaussian_process_on_the_rows_before():
    X, y = random_stream(150, 3)
    X[-30:] = X[:30]
    made = model(center=False).partial_fit_predict(X, y)
    for i in (1, 40, 120, 149):
        process = GaussianProcessRegressor(RBF(1.3), alpha=0.2, optimizer=None).fit(X[:i], y[:i])
        np.testing.assert_allclose(made[i], process.predict(X[i : i + 1])[0], atol=1e-10)


def test_it_is_ridge_regression_on_all_points():
    X, y = random_stream(300, 3)
    ridge = ks.Ridge(0.2, clip=False)
    exact = ks.KernelRegressor(ks.Gaussian(1.3), ks.AllPoints(), ridge, scale=False)
    expected = exact.partial_fit_predict(X, y + 7.0)
    np.testing.assert_allclose(model().partial_fit_predict(X, y + 7.0), expected, atol=1e-6)


@pytest.mark.parametrize("tolerance", [None, 0.3])
@pytest.mark.parametrize("size", [1, 33, 100])
def test_any_chunking_gives_the_same_and_so_does_a_file(tolerance, size, tmp_path):
    X, y = random_stream(400, 3)
    parameters = {"max_size": 120} | ({} if tolerance is None else {"tolerance": tolerance})
    whole = model(**parameters).partial_fit(X, y)
    parts = model(**parameters)
    for start in range(0, len(X), size):
        parts.partial_fit(X[start : start + size], y[start : start + size])
        if start == 200:
            parts.save(tmp_path / "half")
            parts = ks.load(tmp_path / "half")
    assert parts.n_seen_ == 400
    np.testing.assert_array_equal(parts.dictionary_, whole.dictionary_)
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-10)


def test_labels_are_learned_from_the_rows_that_were_not_clear():
    X, y = random_stream(800, 2)
    label = np.where(y > np.median(y), "high", "low")

    def mistakes(basis, learner):
        classifier = ks.KernelClassifier(
            ks.ManhattanLaplacian(2.0, 0.75), basis, learner, scale=False
        )
        wrong = classifier.partial_fit_predict(X, label, classes=["high", "low"]) != label
        return wrong[400:].mean(), classifier.n_stored_

    every, stored = mistakes(ks.NoisyPoints(), ks.Interpolation(center=False))
    assert stored == 800
    some, stored = mistakes(
        ks.NoisyPoints(loss_driven=True), ks.Interpolation(center=False, tolerance=0.3)
    )
    assert stored < 600
    assert some < every + 0.02
    assert every < 0.25


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: ks.KernelRegressor(learner=ks.Interpolation(), scale=False), "noisy_points only"),
        (lambda: ks.KernelRegressor(basis=ks.NoisyPoints(0.0), scale=False), "noise"),
        (lambda: model(tolerance=-1.0), "tolerance"),
        (lambda: ks.KernelRegressor(ks.ManhattanLaplacian(1.0, 1.5), scale=False), "exponent"),
    ],
)
def test_invalid_arguments_are_refused(refused, message):
    X, y = random_stream(20, 2)
    with pytest.raises(ValueError, match=message):
        refused().partial_fit(X, y)


def test_unsupported_calls_raise_an_error():
    X, y = random_stream(50, 2)
    parts = [model().partial_fit(X, y) for _ in range(2)]
    with pytest.raises(ValueError, match="noise of their own"):
        parts[0].merge(parts[1])
    with pytest.raises(ValueError, match=r"basis"):
        ks.Koopman(ks.Gaussian(1.0), ks.NoisyPoints(), ks.Ridge()).partial_fit(X[:-1], X[1:])
    gradient = parts[0].gradient(X[:3])
    step = 1e-6
    for k in range(2):
        moved = X[:3] + step * np.eye(2)[k]
        slope = (parts[0].predict(moved) - parts[0].predict(X[:3])) / step
        np.testing.assert_allclose(gradient[:, k], slope, atol=1e-4)
