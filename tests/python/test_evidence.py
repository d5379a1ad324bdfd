"""Regularization and bandwidth by the evidence of the warm-up: against dense algebra."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import kernelstream as ks
from kernelstream.exceptions import MovedColumnsWarning

RANDOM = np.random.default_rng(0)
N = 200
X = RANDOM.normal(size=(N, 2))
Y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * RANDOM.normal(size=N)
WEIGHTS = RANDOM.uniform(0.1, 3.0, size=N)
REGULARIZATIONS = 10.0 ** np.arange(-8, 2.1, 0.125)
BANDWIDTHS = np.sqrt(2) * 2.0 ** np.arange(-3, 3.1, 0.5)
ORDERS = {
    "random": np.arange(N),
    "sorted": np.argsort(X[:, 0], kind="stable"),
    "by target": np.argsort(Y, kind="stable"),
    "twice": np.repeat(np.arange(N // 2), 2),
}


def log_evidence(X, Y, bandwidth, regularization, weights=None):
    """The largest logarithm of N(y; mean, noise (K / regularization + 1 / weights)), summed."""
    weights = np.ones(len(X)) if weights is None else weights
    covariance = np.exp(-cdist(X, X, "sqeuclidean") / (2 * bandwidth**2)) / regularization
    covariance += np.diag(1 / weights)
    total = 0.0
    for y in Y.reshape(len(X), -1).T:
        centred = y - np.average(y, weights=weights)
        noise = centred @ np.linalg.solve(covariance, centred) / len(y)
        spread = np.linalg.slogdet(covariance)[1] + len(y) * (np.log(2 * np.pi * noise) + 1)
        total -= spread / 2
    return total


def best_of(X, Y, bandwidths, weights=None):
    pairs = [(bandwidth, value) for bandwidth in bandwidths for value in REGULARIZATIONS]
    return max(pairs, key=lambda pair: log_evidence(X, Y, *pair, weights))


def evidence(kernel=None, **parameters):
    parameters = {"scale": False, "n_warm_up": N} | parameters
    return ks.KernelRegressor(kernel, learner=ks.Ridge("evidence"), **parameters)


def saved(model, folder):
    model.save(folder / "model.ks")
    return ks.load(folder / "model.ks")


def chosen(model):
    return model.kernel_.bandwidth, model.regularization_


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
def test_the_evidence_of_the_rows_is_the_largest(order, weights):
    rows = ORDERS[order]
    weights = None if weights is None else weights[rows]
    model = evidence().partial_fit(X[rows], Y[rows], weights)
    np.testing.assert_allclose(chosen(model), best_of(X[rows], Y[rows], BANDWIDTHS, weights))
    given = evidence(ks.Gaussian(0.9)).partial_fit(X[rows], Y[rows], weights)
    np.testing.assert_allclose(chosen(given), best_of(X[rows], Y[rows], [0.9], weights))


def test_of_several_targets_it_is_the_sum():
    both = np.column_stack([Y, 20 * np.cos(X[:, 1])])
    model = evidence().partial_fit(X, both)
    np.testing.assert_allclose(chosen(model), best_of(X, both, BANDWIDTHS))


def test_labels_decide_by_their_signs():
    labels = np.where(Y > 0, "above", "below")
    model = ks.KernelClassifier(learner=ks.Ridge("evidence"), scale=False, n_warm_up=N)
    model.partial_fit(X, labels, classes=["above", "below"])
    signs = np.where(labels == "below", 1.0, -1.0)
    np.testing.assert_allclose(chosen(model), best_of(X, signs, BANDWIDTHS))


def test_scikit_learn_finds_hardly_more():
    model = evidence().partial_fit(X, Y)
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    process = GaussianProcessRegressor(kernel, n_restarts_optimizer=3, random_state=0)
    process.fit(X, Y - Y.mean())
    assert log_evidence(X, Y, *chosen(model)) > process.log_marginal_likelihood_value_ - 0.3
    np.testing.assert_allclose(model.noise_**2, process.kernel_.k2.noise_level, rtol=0.1)


@pytest.mark.parametrize("order", ["random", "sorted", "by target"])
@pytest.mark.parametrize("size", [1, 7, 64])
def test_chunks_and_files_in_the_warm_up_change_nothing(order, size, tmp_path):
    rows = ORDERS[order]
    with warnings.catch_warnings():
        # Sorted columns leave their scale.
        warnings.simplefilter("ignore", MovedColumnsWarning)
        check_chunks(rows, size, tmp_path)


def check_chunks(rows, size, folder):
    whole = evidence(n_warm_up=100, scale=True).partial_fit(X[rows], Y[rows])
    parts = evidence(n_warm_up=100, scale=True)
    for start in range(0, N, size):
        chunk = rows[start : start + size]
        parts.partial_fit(X[chunk], Y[chunk])
        parts = saved(parts, folder)
        if start + size == 7:
            assert parts.regularization_ == 0.01
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-11)
    assert chosen(parts) == chosen(whole)
    assert parts.learner == ks.Ridge("evidence")
    assert repr(parts) == repr(whole)
    # The copy without rows chooses again.
    assert chosen(clone(parts).partial_fit(X[rows], Y[rows])) == chosen(whole)


def test_constant_targets_and_few_rows_leave_the_defaults():
    model = evidence().partial_fit(X, np.ones(N))
    assert model.regularization_ == 0.01
    assert model.kernel_ == ks.Gaussian()
    assert evidence().partial_fit(X[:7], Y[:7]).regularization_ == 0.01


def test_targets_with_gaps_choose_each_for_itself(tmp_path):
    both = np.column_stack([Y, np.cos(X[:, 1])])
    both[::3, 1] = np.nan
    model = evidence().partial_fit(X, both)
    assert chosen(model) == chosen(evidence().partial_fit(X, Y))
    again = saved(model, tmp_path)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_parts_are_merged_with_what_the_first_rows_chose(tmp_path):
    sample = evidence(n_warm_up=100).partial_fit(X[:100], Y[:100])
    sample.freeze_dictionary()
    parts = []
    for chunk in (slice(0, 120), slice(120, N)):
        part = saved(sample, tmp_path)
        parts.append(part.partial_fit(X[chunk], Y[chunk]))
    merged = parts[0].merge(parts[1])
    whole = sample.partial_fit(X, Y)
    assert chosen(merged) == chosen(whole)
    np.testing.assert_allclose(merged.predict(X), whole.predict(X), atol=1e-10)


def test_frames_with_text_and_wide_numbers():
    rooms = np.array(["hall", "attic"])[RANDOM.integers(2, size=N)]
    frame = pd.DataFrame({"room": rooms, "metres": 1e4 * X[:, 0], "watts": 1e-3 * X[:, 1]})
    model = evidence(scale=True).fit(frame, Y + 3 * (rooms == "attic"))
    assert model.score(frame, Y + 3 * (rooms == "attic")) > 0.9
    assert model.regularization_ > 0.01


@pytest.mark.parametrize(
    "make",
    [
        lambda: ks.Koopman(learner=ks.Ridge("evidence")).fit(X[:-1], X[1:]),
        lambda: ks.KernelExperts(experts=[ks.KernelRegressor(learner=ks.Ridge("evidence"))]).fit(
            X, Y
        ),
    ],
    ids=["operator", "experts"],
)
def test_elsewhere_it_is_refused(make):
    with pytest.raises(ValueError, match="only in the warm-up of a regressor or classifier"):
        make()


def test_other_words_are_refused():
    with pytest.raises(ValueError, match='a number or "evidence"'):
        ks.Ridge("prior")
    with pytest.raises(ValueError, match="forgetting"):
        ks.Ridge("evidence", forgetting=2.0)
