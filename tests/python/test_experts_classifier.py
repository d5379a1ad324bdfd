"""Experts for labels: nothing to choose, and probabilities that mean what they say."""

from __future__ import annotations

import itertools
import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelstream as ks
from kernelstream import _core
from realdata import random_stream
from scikit_checks import IN_THEIR_ORDER

MODEL = ks.KernelExpertsClassifier(size=30)


@parametrize_with_checks(
    [ks.KernelExpertsClassifier(size=15)], expected_failed_checks=lambda _: IN_THEIR_ORDER
)
def test_estimator_checks_of_scikit_learn(estimator, check):
    check(estimator)


def labeled(n, n_classes=2):
    """Rows of which two columns of four matter, in units of their own, and noisy labels."""
    X, _ = random_stream(n, 4)
    chance = np.random.default_rng(5)
    angle = np.sin(3.0 * X[:, 0]) + X[:, 1] + 0.3 * chance.normal(size=n)
    names = np.array(["high", "low", "middle"])[:n_classes]
    edges = np.quantile(angle, np.arange(1, n_classes) / n_classes)
    return X * [1.0, 1e6, 1e-3, 10.0], names[np.searchsorted(edges, angle)]


def learned(X, y, model=MODEL):
    return clone(model).partial_fit(X, y, classes=np.unique(y))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_chunking_gives_the_same_model(n_classes):
    X, y = labeled(500, n_classes)
    whole, parts, rows = (clone(MODEL) for _ in range(3))
    predicted = whole.partial_fit_predict(X, y, classes=np.unique(y))
    edges = [0, 1, 2, 77, 333, 500]
    found = [
        parts.partial_fit_predict(X[a:b], y[a:b], classes=np.unique(y))
        for a, b in itertools.pairwise(edges)
    ]
    assert (np.concatenate(found) == predicted).mean() > 0.99  # ties to rounding
    for x, label in zip(X, y, strict=True):
        rows.learn_one(x, label, classes=np.unique(y))
    for model in (parts, rows):
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-8)
    assert rows.predict_one(X[7]) == whole.predict(X[7:8])[0]
    assert list(rows.predict_proba_one(X[7]).values()) == rows.predict_proba(X[7:8])[0].tolist()
    outputs = () if n_classes == 2 else (n_classes,)
    assert whole.weights_.shape == (*outputs, len(whole.experts_))


def test_the_same_rows_give_the_same_bits_on_any_number_of_threads():
    X, y = labeled(700)
    models = []
    for threads in (1, 2, None):
        ks.set_num_threads(threads)
        models.append(learned(X, y)._core.to_bytes())
    assert models[0] == models[1] == models[2]


def test_its_odds_are_those_of_the_scores_of_its_experts():
    X, y = labeled(400)
    signs = np.where(y == "low", 1.0, -1.0)
    spec = {"adaptive": {"size": 30, "loss": "squared_hinge"}}
    core = _core.Regressor(json.dumps(spec))
    scores = np.zeros((400, 1))
    core.learn(X, signs[:, None], scores)
    model = clone(MODEL)
    for t, score in enumerate(scores[:, 0]):
        share = (1.0 + score) / 2.0
        inner = np.clip(share, 0.01, 0.99)
        expected = np.log(inner / (1.0 - inner)) + 4.0 * (share - inner)
        if t:
            np.testing.assert_allclose(model.decision_function(X[t : t + 1]), expected, atol=1e-6)
        model.learn_one(X[t], y[t], classes=["high", "low"])


def linear(n, d, order, seed):
    """Rows and labels by a noisy linear function, in an order."""
    chance = np.random.default_rng(seed)
    X = chance.normal(size=(n, d))
    z = X @ chance.normal(size=d) / np.sqrt(d) + 0.15 * chance.normal(size=n)
    place = {"shuffled": np.arange(n), "rising": np.argsort(X[:, 0], kind="stable")}
    place["nearly twice"] = np.repeat(np.arange(n // 2), 2)
    X = X[place[order]] + (1e-9 if order == "nearly twice" else 0.0) * chance.normal(size=(n, d))
    return X, (z[place[order]] > 0).astype(int)


@pytest.mark.parametrize("order", ["shuffled", "rising", "nearly twice"])
def test_labels_that_are_linear_are_learned_almost_as_by_logistic_regression(order):
    ours, batch = [], []
    for seed in range(3):
        X, y = linear(600, 40, order, seed)
        made = ks.KernelExpertsClassifier().partial_fit_predict_proba(X, y, classes=[0, 1])
        # Trained again every 50 rows.
        found = np.full((600, 2), 0.5)
        for first in range(300, 600, 50):
            pipe = make_pipeline(StandardScaler(), LogisticRegression(C=0.3))
            found[first : first + 50] = pipe.fit(X[:first], y[:first]).predict_proba(
                X[first : first + 50]
            )
        loss = [-np.log(p[np.arange(300, 600), y[300:]].clip(1e-6)).mean() for p in (made, found)]
        ours.append(loss[0])
        batch.append(loss[1])
    assert np.mean(ours) < 1.25 * np.mean(batch)


def test_probabilities_are_frequencies():
    X, y = labeled(3000)
    model = clone(MODEL)
    found = np.full(3000, 0.5)
    for first in range(0, 3000, 100):
        rows = slice(first, first + 100)
        if first:
            found[rows] = model.predict_proba(X[rows])[:, 1]
        model.partial_fit(X[rows], y[rows], classes=["high", "low"])
    p, was = found[1000:], y[1000:] == "low"
    place = np.minimum((15 * p).astype(int), 14)
    gaps = [abs(np.sum(p[place == k] - was[place == k])) for k in range(15)]
    assert sum(gaps) / len(p) < 0.04
    assert np.mean((p > 0.5) == was) > 0.85


def test_units_and_order_of_columns_do_not_matter():
    X, y = labeled(1500)
    model = learned(X, y)
    scaled = learned(X * [1e6, 1e-6, 1e6, 1.0], y)
    rows = X[1000:]
    np.testing.assert_allclose(
        scaled.predict_proba(rows * [1e6, 1e-6, 1e6, 1.0]), model.predict_proba(rows), atol=1e-6
    )
    turned = learned(X[:, ::-1], y)
    assert np.mean(turned.predict(rows[:, ::-1]) == model.predict(rows)) > 0.9
    assert sorted(np.argsort(model.feature_importances_)[2:]) == [0, 1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_file_continues_in_the_middle(n_classes, tmp_path):
    X, y = labeled(500, n_classes)
    for n, weight in [(5, None), (250, "balanced")]:
        model = clone(MODEL).set_params(class_weight=weight)
        model.partial_fit(X[:n], y[:n], classes=np.unique(y))
        model.save(tmp_path / "model")
        again, pickled = ks.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))
        assert repr(again) == repr(model)
        for other in (again, pickled):
            other.partial_fit(X[n:], y[n:])
        model.partial_fit(X[n:], y[n:])
        for other in (again, pickled):
            np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))


def test_a_bad_row_or_label_is_named_and_changes_nothing():
    X, y = labeled(300)
    model = learned(X, y)
    before = model._core.to_bytes()
    with pytest.raises(ValueError, match="row 7"):
        model.partial_fit(np.where(np.arange(300)[:, None] == 7, np.nan, X), y)
    with pytest.raises(ValueError, match="'new' at row 3"):
        model.partial_fit(X, np.where(np.arange(300) == 3, "new", y))
    with pytest.raises(ValueError, match="calibrated depends"):
        model.merge(learned(X, y))
    assert model._core.to_bytes() == before


def test_a_class_may_come_late_and_weigh_more():
    X, y = labeled(600)
    late = np.where(np.arange(600) < 300, "high", y)
    model = clone(MODEL).partial_fit(X, late, classes=["high", "low"])
    assert np.mean(model.predict(X[300:]) == y[300:]) > 0.7
    heavy = learned(X, y, clone(MODEL).set_params(class_weight={"low": 10.0}))
    assert heavy.predict_proba(X)[:, 1].mean() > learned(X, y).predict_proba(X)[:, 1].mean() + 0.1


def test_columns_of_text_stand_beside_raw_numbers(tmp_path):
    X, y = labeled(500)
    kind = np.where(X[:, 0] > 0, "a", "b")
    table = {"kind": kind, "x": X[:, 1]}
    model = clone(MODEL)
    model.partial_fit(table, y, classes=["high", "low"])
    assert model.score(table, y) > 0.75
    model.save(tmp_path / "model")
    again = ks.load(tmp_path / "model")
    assert repr(again) == repr(model)
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))


def test_a_file_of_rust_is_an_estimator(tmp_path):
    X, y = labeled(200)
    spec = {"model": {"adaptive": {"size": 20}}, "labels": {"classes": ["high", "low"]}}
    core = _core.Regressor(json.dumps(spec))
    core.learn(X, (y == "low").astype(float)[:, None])
    core.save(tmp_path / "model")
    model = ks.load(tmp_path / "model")
    assert repr(model) == "KernelExpertsClassifier(scale=False, size=20)"
    np.testing.assert_array_equal(model.predict_proba(X), core.probabilities(X))
