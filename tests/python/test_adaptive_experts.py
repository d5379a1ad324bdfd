"""Experts that choose themselves: nothing has to be set, whatever the columns are."""

from __future__ import annotations

import itertools
import json
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import kernelstream as ks
from kernelstream import _core
from kernelstream.exceptions import KernelstreamWarning
from realdata import random_stream, real_stream

MODEL = ks.KernelExperts(size=30)


def units(n):
    return 10.0 ** np.linspace(-6, 6, n)


def test_units_and_irrelevant_columns_do_not_matter():
    X, _ = random_stream(1200, 8)
    y = np.sin(3.0 * X[:, 0]) * X[:, 1]
    raw = X * units(8)

    def error(model, rows):
        return np.mean((model.partial_fit_predict(rows, y) - y)[600:] ** 2) / np.var(y)

    model = clone(MODEL)
    assert error(model, raw) < 0.05
    assert error(ks.KernelRegressor(), raw) > 0.2
    assert sorted(np.argsort(model.feature_importances_)[-2:]) == [0, 1]


@pytest.mark.parametrize("order", ["shuffled", "by the target", "by the number of words"])
def test_wide_sparse_rows_of_a_linear_relation_are_learned_as_by_ridge_regression(order):
    rng = np.random.default_rng(3)
    X = (rng.random((3600, 450)) < 0.03).astype(np.float64)
    y = X @ rng.normal(size=450) + 0.3 * rng.normal(size=3600)
    rows, later, mean = X[:3000], X[3000:], y[:3000].mean()
    places = {
        "shuffled": np.arange(3000),
        "by the target": np.argsort(y[:3000]),
        "by the number of words": np.argsort(rows.sum(axis=1), kind="stable"),
    }[order]
    coefficients = np.linalg.solve(rows.T @ rows + np.eye(450), rows.T @ (y[:3000] - mean))
    ridge = np.sqrt(np.mean((later @ coefficients + mean - y[3000:]) ** 2))
    model = ks.KernelExperts().partial_fit(rows[places], y[places])
    error = np.sqrt(np.mean((model.predict(later) - y[3000:]) ** 2))
    # By stored points alone it is 2.3 to 2.9 times that of ridge regression.
    assert error < 1.1 * ridge


def test_warns_when_no_better_than_the_mean():
    X, _ = random_stream(1000, 4)
    y = np.sin(3.0 * X[:, 0])
    given = ks.KernelExperts([ks.KernelRegressor(scale=False)], scale=False)
    for model in (ks.KernelRegressor(scale=False), given):
        with pytest.warns(UserWarning, match="no better than the mean .*scale=True") as found:
            clone(model).partial_fit_predict(X * units(4), y)
        assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (MODEL, given, clone(given).set_params(scale=True)):
            rows = X if model is given else X * units(4)
            clone(model).partial_fit_predict(rows, y)
        clone(given).partial_fit_predict(X[:100] * units(4), y[:100])


def test_a_bandwidth_that_suits_the_columns_as_they_are_is_named_with_its_units():
    X = np.random.default_rng(0).permutation(np.linspace(0, 100, 2000))[:, None]
    kernel = 0.5 * ks.Gaussian(1.0) + ks.Matern32(2.0) * ks.Linear()
    with pytest.warns(UserWarning, match="bandwidth 1 and 2 counts in standard dev.*scale=False"):
        ks.KernelRegressor(kernel).partial_fit(X, np.sin(2 * X[:, 0]))


@pytest.mark.parametrize("n_targets", [1, 2])
def test_any_chunking_gives_the_same_model(n_targets, stream):
    X, y = stream
    y = y if n_targets == 1 else np.c_[y, -y]
    whole, parts, rows = (clone(MODEL) for _ in range(3))
    predictions = whole.partial_fit_predict(X, y)
    edges = np.array([0, 1, 2, 77, 333, 400])
    found = [parts.partial_fit_predict(X[a:b], y[a:b]) for a, b in itertools.pairwise(edges)]
    np.testing.assert_allclose(np.concatenate(found), predictions, atol=1e-9)
    for x, target in zip(X, y, strict=True):
        rows.learn_one(x, target)
    for model in (parts, rows):
        np.testing.assert_allclose(model.weights_, whole.weights_, atol=1e-9)
        np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-9)
    np.testing.assert_allclose(rows.predict_one(X[7]), whole.predict(X[7:8])[0], atol=1e-9)


def with_wild_numbers(n=1500, wild=1e9):
    X, _ = random_stream(n, 4)
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] + 0.1 * np.random.default_rng(7).normal(size=n)
    X_wild, y_wild = X.copy(), y.copy()
    y_wild[[5, 700]] = wild, -wild
    X_wild[[3, 800], [0, 3]] = 1e3 * wild
    return X, y, X_wild, y_wild


def test_isolated_outliers_do_not_ruin_a_model():
    X, y, X_wild, y_wild = with_wild_numbers()
    plain, model = clone(MODEL), clone(MODEL)
    late = np.arange(len(y)) > 1000
    expected = np.mean((plain.partial_fit_predict(X, y) - y)[late] ** 2)
    with pytest.warns(UserWarning, match="far beyond all errors .*n_limited_") as found:
        predictions = model.partial_fit_predict(X_wild, y_wild)
    assert [each.filename for each in found] == [__file__]
    assert np.mean((predictions - y)[late] ** 2) < 1.5 * expected
    assert (model.n_limited_, plain.n_limited_) == (1, 0)
    np.testing.assert_allclose(model.feature_importances_, plain.feature_importances_, atol=0.1)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.DriftWarning")
def test_targets_that_stay_on_another_scale_are_followed():
    X, y, _, _ = with_wild_numbers(1900)
    moved = np.where(np.arange(len(y)) < 900, y, 1e7 + 1e4 * y)
    with pytest.warns(UserWarning, match="n_limited_"):
        predictions = clone(MODEL).partial_fit_predict(X, moved)
    assert np.mean((predictions - moved)[1500:] ** 2) < 0.1 * np.var(moved[1500:])


@pytest.mark.filterwarnings("ignore:.*n_limited_")
def test_chunks_do_not_matter_where_targets_are_limited():
    _, _, X, y = with_wild_numbers(900)
    models = [clone(MODEL) for _ in range(3)]
    for model, step in zip(models, (900, 137, 1), strict=True):
        for first in range(0, 900, step):
            model.partial_fit(X[first : first + step], y[first : first + step])
    for model in models[1:]:
        np.testing.assert_allclose(model.predict(X), models[0].predict(X), atol=1e-7)
        assert model.n_limited_ == models[0].n_limited_ == 1


def test_a_relation_that_turns_steadily_is_followed():
    X, y = ks.datasets.adversarial.drifting(4000, 2, period=2000.0, random_state=0)
    predictions = ks.KernelExperts(size=60).partial_fit_predict(X, y)
    assert np.mean((predictions - y)[2000:] ** 2) < 0.1 * np.var(y)


def test_the_descriptions_of_experts_can_be_read():
    X, y = real_stream("cpusmall", 600)
    model = clone(MODEL).partial_fit(X[:5], y[:5])
    assert model.experts_ == []
    assert model.weights_.shape == (0,)
    assert model.n_generations_ == 0
    assert np.isfinite(model.predict(X)).all()
    model.partial_fit(X[5:], y[5:])
    assert len(model.experts_) == len(model.weights_)
    assert np.isclose(model.weights_.sum(), 1.0)
    assert model.n_stored_ == sum(each["n_stored"] for each in model.experts_)
    assert model.n_generations_ == max(each["generation"] for each in model.experts_) > 1
    for expert in model.experts_:
        ks.Mapped(expert["kernel"], expert["metric"])
        assert expert["transform"] in {"standardized", "normal_scores"}
        assert expert["regularization"] > 0.0
        assert 0.0 < expert["forgetting"] <= 1.0
        assert expert["n_stored"] <= 30 * expert["cells"]


def test_a_bad_row_is_named_and_changes_nothing(stream):
    X, y = stream
    model = clone(MODEL).fit(X, y)
    before = model._core.to_bytes()
    with pytest.raises(ValueError, match="row 7"):
        model.partial_fit(np.where(np.arange(400)[:, None] == 7, np.inf, X), y)
    with pytest.raises(ValueError, match="size"):
        clone(model).set_params(size=5).fit(X, y)
    assert model._core.to_bytes() == before


def test_columns_of_text_stand_beside_raw_numbers(tmp_path):
    X, y = random_stream(500, 2)
    kind = np.where(X[:, 0] > 0, "a", "b")
    table = {"kind": kind, "x": X[:, 1] * 1e6}
    y = y + 2.0 * (kind == "a")
    model = clone(MODEL)
    model.partial_fit(table, y)
    assert model.score(table, y) > 0.5
    model.save(tmp_path / "model")
    again = ks.load(tmp_path / "model")
    assert repr(again) == repr(model)
    np.testing.assert_array_equal(again.predict(table), model.predict(table))


def test_a_file_of_rust_is_an_estimator(stream, tmp_path):
    X, y = stream
    core = _core.Regressor(json.dumps({"adaptive": {"size": 20, "mixture": "fixed_share"}}))
    core.learn(X, y[:, None])
    core.save(tmp_path / "model")
    model = ks.load(tmp_path / "model")
    assert repr(model) == "KernelExperts(mixture='fixed_share', scale=False, size=20)"
    np.testing.assert_array_equal(model.predict(X), core.predict(X)[:, 0])


@pytest.mark.parametrize("order", ["random", "sorted", "by label"])
@pytest.mark.parametrize("labels", [False, True])
def test_low_effort_leaves_the_trees_out_and_nothing_else(order, labels, tmp_path):
    X, y = random_stream(600, 3)
    orders = {
        "random": np.arange(600),
        "sorted": np.argsort(X[:, 0]),
        "by label": np.argsort(y > 0),
    }
    X, y = X[orders[order]], y[orders[order]]
    kind = ks.KernelExpertsClassifier if labels else ks.KernelExperts
    targets = (y > 0) if labels else y
    models = {effort: kind(size=20, effort=effort) for effort in ("low", "high")}
    for model in models.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KernelstreamWarning)
            model.partial_fit(X, targets, **({"classes": [False, True]} if labels else {}))
    low, high = (models[effort]._core.to_bytes() for effort in ("low", "high"))
    assert b"trees." in high
    assert b"trees." not in low
    assert [str(e) for e in models["low"].experts_] == [str(e) for e in models["high"].experts_]
    models["low"].save(tmp_path / "model")
    again = ks.load(tmp_path / "model")
    assert again.effort == "low"
    np.testing.assert_array_equal(again.predict(X), models["low"].predict(X))
    core = _core.Regressor(json.dumps({"adaptive": {"size": 20, "effort": "low"}}))
    core.learn(X, y[:, None])
    core.save(tmp_path / "core")
    assert ks.load(tmp_path / "core").effort == "low"


@pytest.mark.parametrize("kind", [ks.KernelExperts, ks.KernelExpertsClassifier])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"effort": "medium"}, "effort must be 'high' or 'low', got 'medium'"),
        ({"effort": None}, "effort must be 'high' or 'low', got None"),
        ({"mixture": "poly"}, "mixture must be 'polynomial' or 'fixed_share', got 'poly'"),
        ({"mixture": [ks.KernelClassifier()]}, "selects its experts itself, and takes none"),
        ({"size": "large"}, "size must be a whole number, got 'large'"),
    ],
)
def test_unknown_choices_are_named(stream, kind, parameters, message):
    X, y = stream
    with pytest.raises((ValueError, TypeError), match=message):
        kind(**parameters).fit(X, y > 0 if kind is ks.KernelExpertsClassifier else y)


def test_an_unknown_mixture_of_given_experts_is_named(stream):
    X, y = stream
    with pytest.raises(ValueError, match="mixture must be 'polynomial' or 'fixed_share'"):
        ks.KernelExperts([ks.KernelRegressor()], mixture="poly").fit(X, y)
