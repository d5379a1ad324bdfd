"""The share of a row that the stored points do not explain."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

import kernelstream as ks
from realdata import random_stream

X, Y = random_stream(400, 2, seed=1)
ASKED = np.concatenate([X[:50], np.random.default_rng(0).uniform(-2, 2, (300, 2)), [[9.0, 9.0]]])
SMALL = ks.KernelRegressor(ks.Gaussian(0.5), ks.ALD(1e-2, max_size=15), scale=False)


def dense(points):
    """1 - k' K^-1 k of a kernel that is 1 at a point and itself."""
    kernel = RBF(0.5)
    k = kernel(points, ASKED)
    return 1.0 - np.einsum("ij,ij->j", k, np.linalg.lstsq(kernel(points), k, rcond=1e-12)[0])


@pytest.mark.parametrize(
    "model",
    [
        SMALL,
        ks.KernelRegressor(ks.Gaussian(0.5), ks.KORS(1.0, random_state=0), scale=False),
        ks.KernelRegressor(ks.Gaussian(0.5), learner=ks.Gradient(), scale=False),
        ks.presets.kogd(ks.Gaussian(0.5), budget=15),
        ks.KernelClassifier(ks.Gaussian(0.5), ks.ALD(1e-2), scale=False),
    ],
    ids=["ridge", "kors", "gradient", "budget", "labels"],
)
def test_novelty_is_the_residual_of_the_stored_points(model):
    targets = Y > 0.7 if isinstance(model, ks.KernelClassifier) else Y
    model = clone(model).fit(X, targets)
    novelty = model.novelty(ASKED)
    np.testing.assert_allclose(novelty, dense(model.dictionary_), rtol=0, atol=1e-6)
    assert (novelty >= 0).all()
    assert novelty[-1] == pytest.approx(1.0)
    assert model.novelty(model.dictionary_).max() < 1e-6


def test_novelty_is_a_share_for_other_kernels():
    model = ks.KernelRegressor(ks.Polynomial(2), scale=False).fit(X, Y)
    assert np.ptp(model.novelty(ASKED)) < 1e-6  # six points span it


def test_novelty_of_experts_is_the_weighted_mean():
    members = [clone(SMALL).set_params(kernel__bandwidth=b) for b in (0.3, 1.0)]
    model = ks.KernelExperts(members, scale=False).fit(X, Y)
    expected = model.weights_ @ [member.fit(X, Y).novelty(ASKED) for member in members]
    np.testing.assert_allclose(model.novelty(ASKED), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [30, 100])
def test_novelty_of_adaptive_experts_is_low_near_learned_rows(size):
    near = []
    # Which experts have the weight in one stream of 400 rows is chance.
    for seed in range(1, 5):
        rows, targets = random_stream(400, 2, seed=seed)
        adaptive = ks.KernelExperts(size=size).fit(rows, targets)
        near.append(adaptive.novelty(rows[:50]).mean())
        assert adaptive.novelty([[9.0, 9.0]])[0] > 0.9
    assert np.mean(near) < 0.1


def test_scaled_rows_are_compared_as_the_model_sees_them():
    model = ks.KernelRegressor().fit(X * [1e4, 1e-4], Y)
    assert model.novelty(np.array([[9e4, 9e-4]]))[0] > 0.99
    assert model.novelty(X * [1e4, 1e-4]).max() < 0.01


def test_fixed_functions_store_no_points():
    model = ks.KernelRegressor(basis=ks.Fourier(20, random_state=0), scale=False).fit(X, Y)
    with pytest.raises(ValueError, match="stores no points"):
        model.novelty(X)
