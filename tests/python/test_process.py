"""Ridge as a Gaussian process: covariances, draws and likelihoods are scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

import kernelstream as ks

RANDOM = np.random.default_rng(0)
X = RANDOM.uniform(-2, 2, size=(80, 2))
Y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RANDOM.normal(size=80)
NEW = RANDOM.uniform(-2.5, 2.5, size=(12, 2))
EXACT = ks.Ridge(0.05, center=False, clip=False)


def process_of(kernel, regularization, noise):
    """The Gaussian process that ridge on all points is."""
    prior = ConstantKernel(noise**2 / regularization, "fixed")
    return GaussianProcessRegressor(prior * kernel, alpha=noise**2, optimizer=None)


def squared_noise(gram, y, regularization):
    """The noise that makes the likelihood largest, by dense algebra."""
    return y @ np.linalg.solve(gram / regularization + np.eye(len(y)), y) / len(y)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (ks.Gaussian(0.7), RBF(0.7, "fixed")),
        (ks.Matern32(1.5), Matern(1.5, "fixed", nu=1.5)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("order", ["random", "sorted"])
def test_the_marginal_likelihood_is_that_of_the_process(ours, theirs, order):
    rows = np.arange(len(X)) if order == "random" else np.argsort(X[:, 0])
    model = ks.KernelRegressor(ours, ks.AllPoints(), EXACT, scale=False)
    for chunk in np.array_split(rows, 3):
        model.partial_fit(X[chunk], Y[chunk])
    noise = np.sqrt(squared_noise(theirs(X), Y, 0.05))
    process = process_of(theirs, 0.05, noise).fit(X, Y)
    expected = process.log_marginal_likelihood_value_
    np.testing.assert_allclose(model.log_marginal_likelihood_, expected, rtol=1e-8)
    # It is the largest over the noise.
    for factor in (0.9, 1.1):
        other = process_of(theirs, 0.05, noise * factor).fit(X, Y)
        assert other.log_marginal_likelihood_value_ < expected


def test_weights_are_the_noise_of_each_row():
    weights = RANDOM.uniform(0.2, 5.0, size=len(X))
    model = ks.KernelRegressor(ks.Gaussian(0.7), ks.AllPoints(), EXACT, scale=False)
    model.fit(X, Y, sample_weight=weights)
    prior = RBF(0.7, "fixed")(X) / 0.05
    noise = Y @ np.linalg.solve(prior + np.diag(1 / weights), Y) / len(Y)
    kernel = ConstantKernel(noise / 0.05, "fixed") * RBF(0.7, "fixed")
    process = GaussianProcessRegressor(kernel, alpha=noise / weights, optimizer=None).fit(X, Y)
    expected = process.log_marginal_likelihood_value_
    np.testing.assert_allclose(model.log_marginal_likelihood_, expected, rtol=1e-8)
    np.testing.assert_allclose(model.predict(NEW), process.predict(NEW), atol=1e-8)


def test_covariances_are_those_of_the_process():
    model = ks.KernelRegressor(ks.Gaussian(0.7), ks.AllPoints(), EXACT, scale=False).fit(X, Y)
    process = process_of(RBF(0.7, "fixed"), 0.05, model.noise_).fit(X, Y)
    mean, covariance = model.predict(NEW, return_cov=True)
    expected, theirs = process.predict(NEW, return_cov=True)
    np.testing.assert_allclose(mean, expected, atol=1e-8)
    np.testing.assert_allclose(covariance, theirs + model.noise_**2 * np.eye(12), atol=1e-8)
    np.testing.assert_allclose(np.diag(covariance), model.predict(NEW, return_std=True)[1] ** 2)
    np.testing.assert_array_equal(covariance, covariance.T)
    with pytest.raises(ValueError, match="cannot both"):
        model.predict(NEW, return_std=True, return_cov=True)


@pytest.mark.parametrize("noise", [True, False])
def test_draws_have_the_mean_and_the_covariance(noise):
    model = ks.KernelRegressor(ks.Gaussian(0.7), ks.ALD(1e-3), EXACT, scale=False)
    model.fit(X, np.column_stack([Y, -3 * Y]))
    draws = model.sample_y(NEW, 20_000, random_state=1, noise=noise)
    assert draws.shape == (12, 2, 20_000)
    mean, covariance = model.predict(NEW, return_cov=True)
    assert covariance.shape == (12, 12, 2)
    for c in range(2):
        expected = covariance[:, :, c] - (0 if noise else model.noise_[c] ** 2 * np.eye(12))
        spread = np.sqrt(expected.diagonal().max())
        np.testing.assert_allclose(draws[:, c].mean(axis=1), mean[:, c], atol=0.05 * spread)
        np.testing.assert_allclose(np.cov(draws[:, c]), expected, atol=0.05 * spread**2)
    again = model.sample_y(NEW, 20_000, random_state=1, noise=noise)
    np.testing.assert_array_equal(draws, again)
    assert (model.sample_y(NEW, 5, random_state=2) != draws[:, :, :5]).any()


@pytest.mark.parametrize("basis", [ks.ALD(1e-2), ks.Fourier(60), ks.KORS(random_state=0)], ids=repr)
def test_other_bases_agree_with_their_deviations(basis):
    frame = pd.DataFrame(X * [1.0, 50.0], columns=["a", "b"])
    model = ks.KernelRegressor(basis=basis).fit(frame, Y)
    _, covariance = model.predict(frame[:9], return_cov=True)
    _, deviations = model.predict(frame[:9], return_std=True)
    np.testing.assert_allclose(np.diag(covariance), deviations**2, rtol=1e-6)
    assert np.linalg.eigvalsh(covariance).min() > 0
    assert model.sample_y(frame[:9], 3).shape == (9, 3)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_the_likelihood_finds_bandwidth_and_regularization():
    n = 600
    random = np.random.default_rng(2)
    rows = random.uniform(-2, 2, size=(n, 1))
    y = np.sin(4 * rows[:, 0]) + 0.3 * random.normal(size=n)
    truth = np.sin(4 * rows[:, 0])
    found = {}
    for bandwidth in (0.03, 0.3, 3.0):
        for regularization in (1e-3, 1e-1, 10.0):
            learner = ks.Ridge(regularization)
            model = ks.KernelRegressor(ks.Gaussian(bandwidth), learner=learner, scale=False)
            model.fit(rows, y)
            error = np.mean((model.predict(rows) - truth) ** 2)
            found[bandwidth, regularization] = (model.log_marginal_likelihood_, error)
    best = max(found, key=lambda key: found[key][0])
    assert best[0] == 0.3
    assert found[best][1] <= 2 * min(error for _, error in found.values())


def test_learners_without_a_posterior_raise(tmp_path):
    model = ks.KernelRegressor(learner=ks.Gradient()).fit(X, Y)
    assert model.log_marginal_likelihood_ is None
    for call in (lambda: model.predict(NEW, return_cov=True), lambda: model.sample_y(NEW)):
        with pytest.raises(ValueError, match="does not know how sure"):
            call()
    assert (
        ks.KernelRegressor(learner=ks.Ridge(forgetting=0.99)).fit(X, Y).log_marginal_likelihood_
        is None
    )
    model = ks.KernelRegressor().fit(X, Y)
    model.save(tmp_path / "model")
    again = ks.load(tmp_path / "model")
    assert again.log_marginal_likelihood_ == model.log_marginal_likelihood_
    several = ks.KernelRegressor().fit(X, np.column_stack([Y, 2 * Y]))
    np.testing.assert_allclose(several.log_marginal_likelihood_[0], model.log_marginal_likelihood_)
