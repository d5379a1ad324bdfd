"""Estimators learned in parts and merged, against least squares on all rows written out here."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

import kernelstream as ks
from realdata import random_stream

LAMBDA = 1e-2


def dense(Z, y):
    """Predictions of ridge regression with an intercept on coordinates, clipped."""
    ridge = Ridge(LAMBDA, solver="cholesky").fit(Z, y)
    return np.clip(ridge.predict(Z), y.min(axis=0), y.max(axis=0))


def merged_parts(model, X, y, parts):
    """Let copies learn the rows of each part, and merge them."""
    copies = [deepcopy(model).partial_fit(X[rows], y[rows]) for rows in parts if len(rows)]
    return clone(model).merge(*copies)


def partitions(X):
    n, order = len(X), np.random.default_rng(1).permutation(len(X))
    return {
        "one": [order],
        "two": np.array_split(order, 2),
        "sorted": np.array_split(np.argsort(X[:, 0]), 8),
        "a row each": np.arange(n)[:, None],
        "some empty": [order[:0], order[:1], order[1:], order[:0]],
    }


@pytest.mark.parametrize("partition", partitions(np.zeros((2, 1))))
@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("basis", [ks.ALD(1e-3), ks.FirstPoints(30), ks.Fourier(20)])
def test_parts_with_a_frozen_dictionary_are_one_least_squares(basis, partition, n_targets):
    X, y = random_stream(200, 3)
    y = np.column_stack([np.roll(y, k) for k in range(n_targets)]) if n_targets > 1 else y
    frozen = ks.KernelRegressor(basis=basis, learner=ks.Ridge(LAMBDA), scale=False).fit(
        X[::4], y[::4]
    )
    frozen.freeze_dictionary()
    assert frozen.n_seen_ == 0
    model = merged_parts(frozen, X, y, partitions(X)[partition])
    assert model.n_seen_ == len(X)
    np.testing.assert_allclose(model.predict(X), dense(frozen.transform(X), y), atol=1e-9)


@pytest.mark.filterwarnings("ignore:KernelRegressor predicted the latest rows no better")
@pytest.mark.parametrize(
    ("order", "within"), [("as it comes", 2e-13), ("nearly duplicate", 2e-13), ("sorted", 1e-10)]
)
def test_rounding_of_many_rows_is_not_magnified(order, within):
    """Parts of one stream have nearly equal weights, and only the differences are rounded."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 4))
    if order == "sorted":
        X = X[np.argsort(X[:, 0])]
    elif order == "nearly duplicate":
        X = np.repeat(X[::2], 2, axis=0) + 1e-9 * rng.normal(size=X.shape)
    y = np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=len(X))
    model = ks.KernelRegressor(
        ks.Gaussian(2.0), ks.ALD(1e-3, max_size=150), ks.Ridge(LAMBDA), scale=False
    ).fit(X[::30], y[::30])
    model.freeze_dictionary()
    one = deepcopy(model).partial_fit(X, y)
    several = merged_parts(model, X, y, np.array_split(np.arange(len(X)), 16))
    np.testing.assert_allclose(several.predict(X[::7]), one.predict(X[::7]), rtol=0, atol=within)


def test_labels_add_up():
    X, y = random_stream(300, 3)
    labels = np.array(["low", "mid", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    model = ks.KernelClassifier(learner=ks.Ridge(LAMBDA), scale=False).fit(X[:150], labels[:150])
    model.freeze_dictionary()
    one = deepcopy(model).partial_fit(X, labels)
    several = merged_parts(model, X, labels, np.array_split(np.argsort(y), 5))
    assert several.class_count_.tolist() == one.class_count_.tolist()
    np.testing.assert_allclose(several.decision_function(X), one.decision_function(X), atol=1e-9)


def test_operators_have_the_eigenvalues_of_one():
    X, _ = random_stream(400, 2)
    model = ks.Koopman(ks.Gaussian(1.0), ks.ALD(1e-4)).fit(X[:200], 0.8 * X[:200])
    model.freeze_dictionary()
    one = deepcopy(model).partial_fit(X, 0.8 * X)
    parts = [deepcopy(model).partial_fit(x, 0.8 * x) for x in np.array_split(X, 7)]
    several = clone(model).merge(*parts)
    np.testing.assert_allclose(several.eigenvalues_, one.eigenvalues_, atol=1e-8)
    np.testing.assert_allclose(several.predict(X), one.predict(X), atol=1e-9)


@pytest.mark.parametrize("columns", [None, {"b": {"type": "number", "logarithm": True}}])
def test_columns_settle_with_the_dictionary(columns):
    X, y = random_stream(300, 3)
    model = ks.KernelRegressor(columns=columns)
    rows = pd.DataFrame(100.0 * X, columns=["a", "b", "c"])
    model.partial_fit(rows.iloc[:80], y[:80])
    with pytest.raises(ValueError, match="freeze"):
        model.merge(deepcopy(model))
    model.freeze_dictionary()
    one = deepcopy(model).partial_fit(rows, y)
    parts = [deepcopy(model).partial_fit(rows.iloc[i], y[i]) for i in np.array_split(range(300), 4)]
    np.testing.assert_allclose(
        clone(model).merge(*parts).predict(rows), one.predict(rows), atol=1e-9
    )


def test_dictionaries_of_their_own_are_joined():
    X, y = random_stream(600, 2)
    model = ks.KernelRegressor(ks.Gaussian(0.7), ks.ALD(1e-4), ks.Ridge(LAMBDA), scale=False)
    parts = [clone(model).fit(X[i::3], y[i::3]) for i in range(3)]
    one, other = clone(model).merge(*parts), deepcopy(parts[2]).merge(parts[1], parts[0])
    np.testing.assert_array_equal(one.dictionary_, other.dictionary_)
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-9)
    whole = clone(model).fit(X, y)
    assert one.score(X, y) > whole.score(X, y) - 0.01


@pytest.mark.parametrize("history", ["reservoir", "exact"])
def test_remembered_rows_have_joint_coordinates(history, tmp_path):
    X, y = random_stream(450, 2)
    learner = ks.Ridge(LAMBDA, history=history)
    model = ks.KernelRegressor(ks.Gaussian(0.7), ks.ALD(1e-2), learner, scale=False)
    joined = clone(model).merge(*(clone(model).fit(X[i::3], y[i::3]) for i in range(3)))
    np.testing.assert_allclose(joined.predict(X), dense(joined.transform(X), y), atol=1e-8)
    joined.save(tmp_path / "joined")
    read = ks.load(tmp_path / "joined").partial_fit(X, y)
    np.testing.assert_array_equal(read.predict(X), joined.partial_fit(X, y).predict(X))


def test_untrained_parts_do_not_count(stream):
    X, y = stream
    model = ks.KernelRegressor(scale=False).fit(X, y)
    expected = model.predict(X)
    assert model.merge(clone(model)) is model
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(clone(model).merge(clone(model), model).predict(X), expected)
    assert not hasattr(
        ks.KernelRegressor(scale=False).merge(ks.KernelRegressor(scale=False)), "n_features_in_"
    )


def test_a_model_can_be_merged_with_itself(stream):
    X, y = stream
    model = ks.KernelRegressor(scale=False).fit(X, y)
    assert model.merge(model).n_seen_ == 2 * len(X)


@pytest.mark.parametrize(
    ("learner", "named"),
    [
        (ks.Gradient(), "ridge"),
        (ks.GaussNewton(loss="squared"), "ridge"),
        (ks.BudgetedGradient(), "ridge"),
    ],
)
def test_the_error_of_a_refused_merge_names_what_can_be_merged(stream, learner, named):
    X, y = stream
    model = ks.KernelRegressor(learner=learner, scale=False).fit(X, y)
    before = model.predict(X)
    for act in (lambda: model.merge(deepcopy(model)), model.freeze_dictionary):
        with pytest.raises(ValueError, match=named):
            act()
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("cuts", [[150], [50, 60, 290]])
def test_parts_that_follow_one_another_forget(cuts):
    X, y = random_stream(300, 2)
    # The recursion forgets the regularization too, and gives it back in turns: equal on average.
    little, keep = 3e-7, 0.98
    learner = ks.Ridge(little, forgetting=keep, clip=False)
    frozen = ks.KernelRegressor(basis=ks.FirstPoints(12), learner=learner, scale=False).fit(
        X[:20], y[:20]
    )
    frozen.freeze_dictionary()
    parts = [deepcopy(frozen).partial_fit(*part) for part in _cut(cuts, X, y)]
    with pytest.raises(ValueError, match="successive"):
        parts[0].merge(*parts[1:])
    merged = parts[0].merge(*parts[1:], successive=True).predict(X)
    one = deepcopy(frozen).partial_fit(X, y)
    np.testing.assert_allclose(merged, one.predict(X), atol=1e-4)
    weights = keep ** np.arange(299, -1, -1)
    Z = frozen.transform(X)
    expected = Ridge(little, solver="svd").fit(Z, y, sample_weight=weights).predict(Z)
    np.testing.assert_allclose(merged, expected, atol=1e-4)


def _cut(cuts, *arrays):
    return list(zip(*(np.split(array, cuts) for array in arrays), strict=True))


def test_others_are_refused(stream):
    X, y = stream
    model = ks.KernelRegressor(scale=False).fit(X, y)
    others = [
        ks.KernelRegressor(ks.Gaussian(2.0), scale=False),
        ks.KernelRegressor(scale=False).fit(X[:, :1], y),
    ]
    for other, named in zip(others, ["bandwidth", "columns"], strict=True):
        with pytest.raises(ValueError, match=named):
            model.merge(other)
    with pytest.raises(TypeError, match="Koopman"):
        model.merge(ks.Koopman())
    assert model.n_seen_ == len(X)


def test_a_frozen_model_comes_back_from_its_file(stream, tmp_path):
    X, y = stream
    table = ks.KernelRegressor().fit(X[:20], y[:20]).freeze_dictionary()
    table.save(tmp_path / "frozen")
    loaded = ks.load(tmp_path / "frozen").partial_fit(X, y)
    np.testing.assert_array_equal(loaded.predict(X), table.partial_fit(X, y).predict(X))
    assert loaded.merge(table).n_seen_ == 2 * len(X)
