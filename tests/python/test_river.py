"""The learners as models of river: its own checks, and features and labels that come and go."""

from __future__ import annotations

import datetime as dt
import pickle

import numpy as np
import pandas as pd
import pytest

import kernelstream as ks

# Defaults on short streams, some of which predict no better than the mean.
pytestmark = pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")

river = pytest.importorskip("river", reason="river is not installed (extra `river`)")

from river import anomaly, checks, compose, datasets, ensemble, evaluate, metrics, preprocessing  # noqa: E402

from kernelstream.river import (  # noqa: E402
    KernelAnomaly,
    KernelClassifier,
    KernelExperts,
    KernelExpertsClassifier,
    KernelMultiTargetRegressor,
    KernelRegressor,
)

SMALL = {"basis": ks.ALD(1e-2, max_size=20), "n_warm_up": 50}
MODELS = [
    KernelRegressor(**SMALL),
    KernelExperts([ks.KernelRegressor(basis=ks.ALD(max_size=10))] * 2, n_warm_up=50),
    KernelClassifier(loss="logistic", **SMALL),
    KernelExpertsClassifier(n_warm_up=50, size=10),
    KernelAnomaly(**SMALL),
]
RNG = np.random.default_rng(0)
ROWS = [dict(zip("abc", map(float, row), strict=True)) for row in RNG.normal(size=(300, 3))]
TARGETS = [np.sin(2 * x["a"]) + x["b"] for x in ROWS]


def learned(model, rows=ROWS, targets=TARGETS):
    for x, y in zip(rows, targets, strict=True):
        model.learn_one(x, y)
    return model


@pytest.fixture
def local(monkeypatch):
    """River checks anomaly detectors by data that it downloads: give it others that it has."""
    monkeypatch.setattr(datasets, "CreditCard", datasets.Shuttle)


@pytest.mark.parametrize(
    "model",
    [*MODELS, KernelMultiTargetRegressor(**SMALL)],
    ids=lambda model: type(model).__name__,
)
def test_the_checks_of_river(model, local):
    done = 0
    for check in checks.yield_checks(model):
        check(model.clone())
        done += 1
    assert done > 25


def test_in_pipelines_ensembles_and_evaluations():
    score = evaluate.progressive_val_score(
        datasets.TrumpApproval().take(300),
        preprocessing.StandardScaler() | KernelRegressor(),
        metrics.MAE(),
    )
    assert score.get() < 1.0
    voting = ensemble.VotingClassifier([KernelClassifier(), KernelClassifier(ks.Gaussian(0.5))])
    score = evaluate.progressive_val_score(datasets.Bananas().take(600), voting, metrics.Accuracy())
    assert score.get() > 0.8
    words = compose.Select("kind") | preprocessing.OneHotEncoder()
    model = words + compose.Select("size") | KernelClassifier(absent="zero")
    for i in range(200):
        model.learn_one({"kind": "abc"[i % 3], "size": float(i % 7)}, "abc"[i % 3] == "b")
    assert model.predict_one({"kind": "b", "size": 3.0}) is True
    assert model.predict_one({"kind": "c", "size": 3.0}) is False


def test_scales_of_features_do_not_matter():
    raw = [{"a": 1e4 * x["a"] + 1e6, "b": 1e-4 * x["b"], "c": x["c"]} for x in ROWS]
    plain, scaled = learned(KernelRegressor()), learned(KernelRegressor(), raw)
    for x, same in zip(ROWS[:20], raw, strict=False):
        assert plain.predict_one(x) == pytest.approx(scaled.predict_one(same), abs=1e-6)


def test_a_feature_that_comes_during_the_warm_up_is_one_from_the_beginning():
    late = [{k: v for k, v in x.items() if k != "c" or i >= 10} for i, x in enumerate(ROWS)]
    model, full = learned(KernelRegressor(n_warm_up=200), late), learned(KernelRegressor())
    errors = [abs(model.predict_one(x) - full.predict_one(x)) for x in ROWS]
    assert np.median(errors) < 0.05
    # It is used: other values, other predictions.
    assert model.predict_one(ROWS[5]) != model.predict_one(ROWS[5] | {"c": 3.0})


def test_a_feature_that_comes_after_the_warm_up_is_ignored():
    model = learned(KernelRegressor(n_warm_up=100))
    before = model.predict_one(ROWS[0])
    assert model.predict_one(ROWS[0] | {"late": 1e9}) == before
    model.learn_one(ROWS[0] | {"late": "text"}, TARGETS[0])
    assert model.predict_one(ROWS[0] | {"late": -1e9}) == model.predict_one(ROWS[0])


@pytest.mark.parametrize("gap", [{}, {"b": None}, {"b": float("nan")}])
@pytest.mark.parametrize("absent", ["mean", "zero"])
def test_absent_features_count_as_the_running_mean_or_as_zero(gap, absent):
    model = learned(KernelRegressor(n_warm_up=200, absent=absent))
    stands = np.mean([x["b"] for x in ROWS]) if absent == "mean" else 0.0
    x = {"a": 0.5, "c": -0.5}
    assert model.predict_one(x | gap) == pytest.approx(model.predict_one(x | {"b": stands}))
    assert abs(model.predict_one(x | {"b": stands + 1.0}) - model.predict_one(x)) > 0.5


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("red", "'a'.* is 'red', which is no number"),
        (float("inf"), 'column "a" is inf'),
        ([1], "no number"),
        (10**400, "no number"),
    ],
    ids=["text", "infinity", "list", "huge"],
)
@pytest.mark.parametrize("n_warm_up", [50, 500])
def test_what_is_no_number_is_refused_by_name(value, complaint, n_warm_up):
    model = learned(KernelRegressor(n_warm_up=n_warm_up))
    before, bad = pickle.dumps(model), ROWS[0] | {"a": value}
    for call in (lambda: model.learn_one(bad, 0.0), lambda: model.predict_one(bad)):
        with pytest.raises(ValueError, match=complaint):
            call()
    # A column of lists is of a wrong type, as a whole; a warm-up may take its rows one by one.
    kinds = ValueError
    if value == [1]:
        kinds, complaint = (ValueError, TypeError), "no number|of type list"
    for call in (
        lambda: model.learn_many(pd.DataFrame([bad]), pd.Series([0.0])),
        lambda: model.predict_many(pd.DataFrame([bad])),
    ):
        with pytest.raises(kinds, match=complaint):
            call()
    assert pickle.dumps(model) == before


def test_text_booleans_and_times_are_features():
    start = dt.datetime(2026, 3, 1)
    rows = [
        {
            "colour": "red" if x["a"] > 0 else "green",
            "open": x["b"] > 0,
            "when": start + dt.timedelta(hours=i),
        }
        for i, x in enumerate(ROWS)
    ]
    y = [
        (x["colour"] == "red") + 2.0 * x["open"] + np.sin(x["when"].hour * np.pi / 12) for x in rows
    ]
    model = learned(KernelRegressor(n_warm_up=100), rows, y)
    same = ks.KernelRegressor(missing="fill", n_warm_up=100)
    same.partial_fit({name: [x[name] for x in rows] for name in ("colour", "open", "when")}, y)
    for x, target in zip(rows[200:], y[200:], strict=True):
        assert model.predict_one(x) == pytest.approx(same.predict_one(x), abs=1e-9)
        assert abs(model.predict_one(x) - target) < 0.2
    assert model.predict_one({"colour": "violet", "open": None}) < 10.0
    frame = pd.DataFrame(rows)
    np.testing.assert_allclose(model.predict_many(frame), same.predict(frame), atol=1e-9)


@pytest.mark.parametrize("late", [20, 150])
@pytest.mark.parametrize("kind", [KernelClassifier, KernelExpertsClassifier])
def test_a_label_may_come_at_any_time(kind, late):
    labels = ["much" if y > 0.5 else 1 if y > -0.5 else None for y in TARGETS]
    rows = [(x, y) for x, y in zip(ROWS, labels, strict=True) if y is not None]
    first = [(x, y) for x, y in rows[:late] if y == 1]
    model = kind(n_warm_up=50)
    for x, y in first:
        model.learn_one(x, y)
    assert model.predict_proba_one(ROWS[0]) == {1: 1.0}
    for x, y in rows[late:]:
        model.learn_one(x, y)
    assert model.predict_proba_one(ROWS[0]).keys() == {1, "much"}
    assert np.mean([model.predict_one(x) == y for x, y in rows[late:]]) > 0.8


@pytest.mark.parametrize("kind", [KernelClassifier, KernelExpertsClassifier])
def test_rows_of_a_class_count_by_its_weight(kind):
    labels = ["high" if y > 1.0 else "low" for y in TARGETS]
    plain = learned(kind(n_warm_up=50), targets=labels)
    heavy = learned(kind(n_warm_up=50, class_weight={"high": 50.0}), targets=labels)
    outcome = [sum(m.predict_one(x) == "high" for x in ROWS) for m in (plain, heavy)]
    assert outcome[0] < outcome[1] < len(ROWS)


def test_a_row_that_is_refused_brings_no_label():
    model = learned(KernelClassifier(), targets=[y > 0 for y in TARGETS])
    with pytest.raises(ValueError, match="no number"):
        model.learn_one({"a": "x"}, "new")
    assert model.predict_proba_one(ROWS[0]).keys() == {True, False}


def test_losses_without_probabilities():
    model = KernelClassifier(learner=ks.Gradient(), loss="hinge")
    learned(model, targets=[y > 0 for y in TARGETS])
    assert model.predict_one({"a": 0.7, "b": 1.0, "c": 0.0}) is True
    with pytest.raises(NotImplementedError, match="does not determine probabilities"):
        model.predict_proba_one(ROWS[0])


def test_whole_frames_are_learned_and_predicted_as_their_rows():
    frame, target = pd.DataFrame(ROWS, index=range(7, 307)), pd.Series(TARGETS)
    frame.iloc[250, 1] = None
    model, one = KernelRegressor(n_warm_up=120), KernelRegressor(n_warm_up=120)
    assert list(model.predict_many(frame)) == [0.0] * 300
    for part in (slice(0, 40), slice(40, 200), slice(200, 300)):
        model.learn_many(frame[part], target[part])
    learned(one, frame.to_dict("records"))
    predicted = model.predict_many(frame[["c", "b", "a"]])
    assert list(predicted.index) == list(frame.index)
    expected = [one.predict_one(x) for x in frame.to_dict("records")]
    np.testing.assert_allclose(predicted, expected, atol=1e-8)


def test_a_row_unlike_all_others_has_a_high_score():
    model = KernelAnomaly()
    assert model.score_one(ROWS[0]) == 0.0
    for x in ROWS:
        model.learn_one(x)
    usual = [model.score_one(x) for x in ROWS[:50]]
    assert min(usual) >= 0
    assert max(usual) < model.score_one({"a": 9.0, "b": -9.0, "c": 9.0}) <= 1


def test_a_filter_keeps_strange_rows_from_being_learned():
    model = anomaly.QuantileFilter(KernelAnomaly(), q=0.93)
    right = []
    for x, strange in datasets.Shuttle().take(2000):
        right.append(model.classify(model.score_one(x)) == strange)
        model.learn_one(x)
    assert np.mean(right[500:]) > 0.97


@pytest.mark.parametrize("label", [None, float("nan"), np.nan])
def test_a_missing_label_is_refused(label):
    model = learned(KernelClassifier(), targets=[y > 0 for y in TARGETS])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="the label is"):
        model.learn_one(ROWS[0], label)
    assert pickle.dumps(model) == before


def test_frames_of_others_than_pandas_are_refused():
    for call in (KernelRegressor().learn_many, KernelClassifier().learn_many):
        with pytest.raises(TypeError, match="data frame of pandas, got list"):
            call(ROWS, TARGETS)


def test_intervals_hold_the_share_of_targets_that_they_should():
    model, inside = KernelRegressor(**SMALL), []
    assert model.predict_interval_one(ROWS[0]) == (-np.inf, np.inf)
    for x, y in zip(ROWS, TARGETS, strict=True):
        low, high = model.predict_interval_one(x, coverage=0.8)
        inside.append(low <= y <= high)
        model.learn_one(x, y)
    assert abs(np.mean(inside[100:]) - 0.8) < 0.06
    low, high = model.predict_interval_one(ROWS[0])
    assert low < model.predict_one(ROWS[0]) < high


@pytest.mark.parametrize("n_warm_up", [20, 500])
def test_a_row_counts_by_its_weight(n_warm_up):
    random = np.random.default_rng(3)
    rows = [{"a": float(a)} for a in random.normal(size=120)]
    targets = random.normal(size=120)
    weights = np.where(np.arange(120) % 3 == 0, 2.5, 1.0)
    model = KernelRegressor(n_warm_up=n_warm_up)
    for row, target, weight in zip(rows, targets, weights, strict=True):
        model.learn_one(row, target, weight)
    plain = ks.KernelRegressor(n_warm_up=n_warm_up, missing="fill")
    plain.partial_fit(pd.DataFrame(rows), targets, sample_weight=weights)
    asked = {"a": 0.3}
    np.testing.assert_allclose(model.predict_one(asked), plain.predict([asked])[0])
    labels = KernelClassifier(n_warm_up=n_warm_up)
    for row, target, weight in zip(rows, targets, weights, strict=True):
        labels.learn_one(row, bool(target > 0), w=weight)
    assert labels.predict_one(asked) in {True, False}


def test_several_targets_are_those_of_the_estimator():
    random = np.random.default_rng(4)
    frame = pd.DataFrame(random.normal(size=(150, 2)), columns=["a", "b"])
    targets = pd.DataFrame({"sum": frame["a"] + frame["b"], "sine": np.sin(frame["a"])})
    model = KernelMultiTargetRegressor()
    assert model.predict_one({"a": 0.0}) == {}
    records = zip(frame.to_dict("records"), targets.to_dict("records"), strict=True)
    for row, target in records:
        model.learn_one(row, target)
    plain = ks.KernelRegressor(missing="fill").partial_fit(frame, targets.to_numpy())
    made = model.predict_one({"b": 0.2, "a": 0.1})
    assert list(made) == ["sum", "sine"]
    expected = plain.predict(pd.DataFrame({"a": [0.1], "b": [0.2]}))[0]
    np.testing.assert_allclose(list(made.values()), expected)
    # In any order, and in every row the same.
    model.learn_one({"a": 0.0, "b": 0.0}, {"sine": 0.0, "sum": 0.0})
    # One may be missing.
    model.learn_one({"a": 0.0, "b": 0.0}, {"sum": 0.0})
    for other in ({"more": 1.0}, {"sum": 1.0, "sine": 0.0, "more": 2.0}, {}):
        with pytest.raises(ValueError, match="those of the first row were sum, sine"):
            model.learn_one({"a": 0.0, "b": 0.0}, other)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_memory_includes_the_core(model):
    random = np.random.default_rng(5)
    model = model.clone()
    empty = model._raw_memory_usage
    for _ in range(120):
        x = {name: float(value) for name, value in zip("abcde", random.normal(size=5), strict=True)}
        if isinstance(model, KernelAnomaly):
            model.learn_one(x)
        else:
            model.learn_one(x, x["a"] > 0)
    stored = model._model.n_stored_
    assert model._raw_memory_usage > empty + 8 * stored * (5 + stored) / 2
