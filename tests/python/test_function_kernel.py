"""Kernels that are Python functions: the model of the package's kernel, on any objects."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline

import kernelstream as ks
from kernelstream.exceptions import DataError

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(150, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1]
LEARNER = ks.Ridge(0.1, clip=False)


def gaussian(x, y):
    return float(np.exp(-0.5 * np.sum((x - y) ** 2)))


def pairs(word):
    return {word[i : i + 2] for i in range(len(word) - 1)}


def shared(a, b):
    return float(len(pairs(a) & pairs(b)))


def numbers_of(tolerance, size):
    features = ks.FunctionKernel(gaussian, tolerance=tolerance, max_size=size)
    regressor = ks.KernelRegressor(ks.Linear(), ks.ALD(1e-9), LEARNER, scale=False)
    return features, regressor


@pytest.mark.parametrize("order", ["random", "sorted"])
@pytest.mark.parametrize("size", [10, 100])
def test_it_is_the_model_of_the_kernel_of_the_package(order, size):
    rows = np.arange(len(X)) if order == "random" else np.argsort(X[:, 0])
    features, regressor = numbers_of(1e-2, size)
    built_in = ks.KernelRegressor(
        ks.Gaussian(1.0), ks.ALD(1e-2, max_size=size), LEARNER, scale=False
    )
    for chunk in np.array_split(rows, 5):
        features.partial_fit(X[chunk])
        regressor.partial_fit(features.transform(X[chunk]), Y[chunk])
    built_in.partial_fit(X[rows], Y[rows])
    np.testing.assert_allclose(np.array(features.objects_), built_in.dictionary_)
    made = features.transform(X)
    kernel = made @ made.T
    truth = built_in.transform(X) @ built_in.transform(X).T
    np.testing.assert_allclose(kernel, truth, atol=1e-8)
    assert made.shape == (150, size)
    assert features.n_seen_ == 150


def test_coordinates_are_appended_to():
    features, _ = numbers_of(1e-3, 60)
    before = features.partial_fit(X[:20]).transform(X)
    stored = len(features.objects_)
    after = features.partial_fit(X[20:]).transform(X)
    # Not to the bit: a solve of more rows is divided among threads otherwise, on some machines.
    np.testing.assert_allclose(before[:, :stored], after[:, :stored], rtol=1e-12, atol=1e-14)
    assert (before[:, stored:] == 0).all()
    assert len(features.objects_) > stored


def test_precomputed_similarities_are_a_function_of_numbers():
    gram = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    features = ks.FunctionKernel(lambda i, j: gram[i, j], tolerance=0.0, max_size=100)
    learner = ks.Ridge(0.1, center=False, clip=False)
    model = make_pipeline(
        features, ks.KernelRegressor(ks.Linear(), ks.ALD(1e-11), learner, scale=False)
    )
    train, test = np.arange(100), np.arange(100, 150)
    model.fit(train, Y[:100])
    peer = KernelRidge(alpha=0.1, kernel="precomputed").fit(gram[:100, :100], Y[:100])
    np.testing.assert_allclose(model.predict(test), peer.predict(gram[100:, :100]), atol=2e-3)


def test_words_in_a_pipeline():
    words = [stem + end for stem in ("read", "walk", "drink", "accept") for end in ("ing", "able")]
    labels = ["verb", "adjective"] * 4
    classifier = ks.KernelClassifier(ks.Linear(), scale=False)
    model = make_pipeline(ks.FunctionKernel(shared, max_size=20), classifier).fit(words, labels)
    assert model.predict(["talking", "thinkable"]).tolist() == ["verb", "adjective"]
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(words).tolist() == model.predict(words).tolist()
    assert clone(model).fit(words, labels).predict(words).tolist() == model.predict(words).tolist()
    assert len(model[0].get_feature_names_out()) == 20


def test_refusals():
    with pytest.raises(DataError, match=r"object 1 .*not those of a kernel") as caught:
        ks.FunctionKernel(lambda a, b: -1.0 if a == b == 1 else 1.0 + a * b).fit([0, 1])
    assert caught.value.row == 1
    with pytest.raises(DataError, match=r"object 2 .*finite"):
        ks.FunctionKernel(lambda a, b: np.nan if 2 in (a, b) else 1.0 + (a == b)).fit([0, 1, 2])
    features = ks.FunctionKernel(gaussian).fit(X[:10])
    stored = len(features.objects_)
    with pytest.raises(ValueError, match="finite"):
        features.partial_fit(np.full((1, 2), np.nan))
    assert len(features.objects_) == stored
    with pytest.raises(TypeError, match="one text"):
        features.transform("word")
    with pytest.raises(ValueError, match="tolerance"):
        ks.FunctionKernel(gaussian, tolerance=1.0).fit(X)
    with pytest.raises(TypeError, match="make_pipeline"):
        ks.KernelRegressor(ks.FunctionKernel(gaussian)).fit(X, Y)
