"""The classifier: labels, classes, probabilities, files, and what is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelstream as ks
from kernelstream.estimators import progress
from modelbytes import pack, unpack
from realdata import random_stream
from scikit_checks import IN_THEIR_ORDER

# Every other check that scikit-learn has for a classifier that is also a transformer applies.
EXPECTED_FAILED_CHECKS = {type(None): IN_THEIR_ORDER, ks.Ridge: IN_THEIR_ORDER} | {
    ks.OnlineNewton: IN_THEIR_ORDER
    | {
        "check_class_weight_classifiers": "the check's points are far apart on the scale of the "
        "kernel, and this learner is not centred, so that nothing is said between them"
    }
}

X, SMOOTH = random_stream(400, 3)
CODES = np.digitize(SMOOTH, [0.5, 1.0])
TWO = {
    "strings": np.array(["spam", "ham"])[(CODES > 0).astype(int)],
    "objects": np.array(["spam", "ham"], object)[(CODES > 0).astype(int)],
    "integers": np.array([7, -3])[(CODES > 0).astype(int)],
    "floats": np.array([1.0, 2.0])[(CODES > 0).astype(int)],
    "booleans": CODES > 0,
}
THREE = np.array(["low", "middle", "high"])[CODES]


@parametrize_with_checks(
    [
        ks.KernelClassifier(scale=False),
        ks.KernelClassifier(loss="logistic", scale=False),
        ks.KernelClassifier(ks.Matern52(2.0), ks.AllPoints(), ks.Ridge(0.1), scale=False),
        ks.KernelClassifier(learner=ks.OnlineNewton(), loss="hinge", scale=False),
    ],
    expected_failed_checks=lambda model: EXPECTED_FAILED_CHECKS[type(model.learner)],
)
def test_estimator_checks_of_scikit_learn(estimator, check):
    check(estimator)


def state(model):
    attributes = {name: value for name, value in vars(model).items() if name != "_core"}
    return repr(attributes), model._core.to_bytes()


# ------------------------------------------------------------------------------------------ labels


@pytest.mark.parametrize("kind", TWO)
def test_labels_of_any_kind_come_back_as_they_were(kind, tmp_path):
    y = TWO[kind]
    model = ks.KernelClassifier(ks.Gaussian(0.8), scale=False).fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    predicted = model.predict(X)
    assert predicted.dtype == y.dtype
    assert np.mean(predicted == y) > 0.9
    assert model.score(X, y) == np.mean(predicted == y)
    assert type(model.predict_one(X[0])) is type(y.tolist()[0])
    model.save(tmp_path / "model")
    again = ks.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), predicted)
    assert again.classes_.dtype == model.classes_.dtype
    # The learner sees signs only.
    learner = ks.GaussNewton(loss="squared_hinge")
    numbers = ks.KernelRegressor(ks.Gaussian(0.8), None, learner, scale=False)
    numbers.fit(X, np.where(y == model.classes_[1], 1.0, -1.0))
    hinge = ks.KernelClassifier(ks.Gaussian(0.8), None, learner, scale=False).fit(X, y)
    np.testing.assert_array_equal(hinge.decision_function(X), numbers.predict(X))


def test_series_frames_and_columns_are_labels_too():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    expected = ks.KernelClassifier(scale=False).fit(X, THREE).predict(X)
    for labels in (pd.Series(THREE), pd.Series(THREE, dtype="category"), THREE.tolist()):
        model = ks.KernelClassifier(scale=False).fit(frame, labels)
        np.testing.assert_array_equal(model.predict(frame), expected)
        assert list(model.feature_names_in_) == ["a", "b", "c"]
    with pytest.warns(DataConversionWarning):
        ks.KernelClassifier(scale=False).fit(X, THREE[:, None])


def test_later_labels_may_have_a_similar_type():
    model = ks.KernelClassifier(scale=False).partial_fit(X, CODES, classes=[0, 1, 2])
    for later in (CODES.astype(float), CODES.astype(np.int8), CODES.astype(object)):
        model.partial_fit(X, later)
    model = ks.KernelClassifier(scale=False).partial_fit(
        X, THREE, classes=["low", "middle", "high"]
    )
    model.partial_fit(X, THREE.astype(object))
    model.learn_one(X[0], np.str_("low"))
    model.learn_one(X[0], THREE.tolist()[0])
    assert model.n_seen_ == 802


# ----------------------------------------------------------------------------------------- classes


def test_each_class_is_one_output_against_the_rest():
    # Ridge regression has one curvature for all outputs, so that each is what it would be alone.
    model = ks.KernelClassifier(ks.Gaussian(0.8), learner=ks.Ridge(), scale=False).fit(X, THREE)
    decisions = model.decision_function(X)
    assert decisions.shape == (400, 3)
    for column, name in enumerate(model.classes_):
        alone = ks.KernelClassifier(ks.Gaussian(0.8), learner=ks.Ridge(), scale=False).fit(
            X, name == THREE
        )
        np.testing.assert_allclose(decisions[:, column], alone.decision_function(X), atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), model.classes_[decisions.argmax(axis=1)])


def test_predictions_precede_the_learning_of_the_row():
    model = ks.KernelClassifier(ks.Gaussian(0.8), scale=False)
    predicted = model.partial_fit_predict(X[:60], THREE[:60], classes=np.unique(THREE))
    stepwise = ks.KernelClassifier(ks.Gaussian(0.8), scale=False)
    for t in range(60):
        if t:
            assert stepwise.predict(X[t : t + 1])[0] == predicted[t]
            assert stepwise.predict_one(X[t]) == predicted[t]
        stepwise.partial_fit(X[t : t + 1], THREE[t : t + 1], classes=np.unique(THREE))
    assert predicted[0] == model.classes_[0]


@pytest.mark.parametrize("labels", [THREE, TWO["strings"]], ids=["three", "two"])
def test_chunks_single_rows_and_fit_give_one_model(labels):
    classes = np.unique(labels)
    whole = ks.KernelClassifier(ks.Gaussian(0.8), scale=False).fit(X, labels)
    parts, single = clone(whole), clone(whole)
    for rows in np.array_split(np.arange(400), 7):
        parts.partial_fit(X[rows], labels[rows], classes=classes)
    for x, label in zip(X, labels.tolist(), strict=True):
        single.learn_one(x, label, classes=classes)
    for other in (parts, single):
        np.testing.assert_allclose(
            other.decision_function(X), whole.decision_function(X), atol=1e-10
        )
        np.testing.assert_array_equal(other.class_count_, whole.class_count_)
        assert other.n_seen_ == 400
    assert whole.class_count_.tolist() == [np.sum(labels == name) for name in classes]


def test_a_declared_class_may_come_late():
    order = np.argsort(CODES, kind="stable")
    model = ks.KernelClassifier(ks.Gaussian(0.8), scale=False)
    model.partial_fit(X[order][:50], THREE[order][:50], classes=["low", "middle", "high"])
    assert set(model.predict(X)) == {"low"}
    assert model.class_count_.tolist() == [0, 50, 0]
    model.partial_fit(X[order][50:], THREE[order][50:])
    assert set(model.predict(X)) == {"low", "middle", "high"}
    assert model.score(X, THREE) > 0.8


def test_an_undeclared_class_is_refused_and_the_remedy_named():
    model = ks.KernelClassifier(scale=False).partial_fit(X, THREE, classes=np.unique(THREE))
    before = state(model)
    later = THREE.astype(object)
    later[[5, 9]] = "higher"
    for ask in (model.partial_fit, model.partial_fit_predict):
        with pytest.raises(ValueError, match=r"'higher' at row 5 .*'high', 'low'.*classes="):
            ask(X, later)
    with pytest.raises(ValueError, match=r"'higher' is not among.*classes="):
        model.learn_one(X[0], "higher")
    with pytest.raises(ValueError, match=r"1 at row 0"):
        model.partial_fit(X, CODES)
    with pytest.raises(ValueError, match=r"differ"):
        model.partial_fit(X, THREE, classes=["low", "high"])
    assert state(model) == before


def test_the_first_call_needs_the_classes():
    model = ks.KernelClassifier(scale=False)
    for ask in (
        model.partial_fit,
        model.partial_fit_predict,
        lambda x, y: model.learn_one(x[0], y[0]),
    ):
        with pytest.raises(ValueError, match=r"classes=np.unique"):
            ask(X, THREE)
        with pytest.raises(NotFittedError):
            model.predict(X)
    model.learn_one(X[0], "low", classes=np.unique(THREE))
    assert model.predict_one(X[0]) == "low"


@pytest.mark.parametrize("label", ["only", 3, True])
def test_one_class_only(label, tmp_path):
    y = np.full(400, label)
    model = ks.KernelClassifier(scale=False).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((400, 1)))
    assert model.partial_fit_predict(X, y).tolist() == y.tolist()
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(ks.load(tmp_path / "model").predict(X), y)
    with pytest.raises(ValueError, match="'other' at row 0"):
        model.partial_fit(X[:1], ["other"])


# ----------------------------------------------------------------------------------- probabilities


@pytest.mark.parametrize(
    "model",
    [
        ks.KernelClassifier(ks.Gaussian(0.8), scale=False),
        ks.KernelClassifier(ks.Gaussian(0.8), loss="logistic", scale=False),
        ks.KernelClassifier(ks.Gaussian(0.8), learner=ks.Ridge(), scale=False),
    ],
    ids=["squared hinge", "logistic", "squared"],
)
def test_probabilities_sum_to_one_and_agree_with_labels(model):
    for labels in (TWO["strings"], THREE):
        fitted = clone(model).fit(X, labels)
        shares = fitted.predict_proba(X)
        assert shares.shape == (400, len(fitted.classes_))
        assert shares.min() >= 0
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
        chosen = shares[np.arange(400), np.searchsorted(fitted.classes_, fitted.predict(X))]
        np.testing.assert_allclose(chosen, shares.max(axis=1), atol=1e-12)
        one = fitted.predict_proba_one(X[3])
        assert list(one) == fitted.classes_.tolist()
        np.testing.assert_allclose(list(one.values()), shares[3], atol=1e-10)


@pytest.mark.parametrize(
    "model",
    [
        ks.KernelClassifier(),
        ks.KernelClassifier(loss="squared"),
        ks.KernelExpertsClassifier(effort="low"),
    ],
    ids=repr,
)
def test_logarithms_of_probabilities(model):
    for labels in (TWO["strings"], THREE):
        fitted = clone(model).fit(X, labels)
        shares = fitted.predict_proba(X)
        logarithms = fitted.predict_log_proba(X)
        np.testing.assert_array_equal(np.isneginf(logarithms), shares == 0.0)
        np.testing.assert_allclose(np.exp(logarithms), shares, rtol=1e-12)
    if model.get_params().get("loss") == "squared":
        assert np.isneginf(logarithms).any()


def test_probabilities_are_those_of_the_labels():
    rng = np.random.default_rng(0)
    rows = np.repeat([[-1.0], [0.0], [1.0]], 4000, axis=0)
    truth = np.repeat([0.1, 0.5, 0.8], 4000)
    order = rng.permutation(12000)
    y = (rng.random(12000) < truth)[order]
    for learner in (
        ks.Ridge(),
        ks.GaussNewton(),
        ks.GaussNewton(loss="logistic"),
        ks.GaussNewton(loss="logistic", center=True),
        ks.Gradient("logistic", 0.5, "inverse_sqrt", averaging=True),
    ):
        model = ks.KernelClassifier(ks.Gaussian(0.5), learner=learner, scale=False).fit(
            rows[order], y
        )
        outcome = model.predict_proba([[-1.0], [0.0], [1.0]])[:, 1]
        np.testing.assert_allclose(outcome, [0.1, 0.5, 0.8], atol=0.04)


@pytest.mark.parametrize("weight", [5, [1.0, 2.0], "even", {"a": "much"}])
def test_class_weights_that_are_none_are_named(weight):
    with pytest.raises(ValueError, match="class_weight"):
        ks.KernelClassifier(class_weight=weight, scale=False).fit([[0.0], [1.0]], ["a", "b"])


@pytest.mark.parametrize("learner", [ks.GaussNewton(), ks.Ridge(), ks.BudgetedPerceptron()])
def test_a_loss_that_the_learner_cannot_have_names_those_that_can(learner):
    model = ks.KernelClassifier(learner=learner, loss="hinge", scale=False)
    with pytest.raises(ValueError, match=r"cannot have loss='hinge'; .* Gradient, OnlineNewton"):
        model.fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ValueError, match=r"absolute.*squared_hinge"):
        model.set_params(loss="hingy").fit([[0.0], [1.0]], ["a", "b"])


def test_losses_without_probabilities_lack_the_method():
    for loss in ("hinge", "absolute", {"huber": 1.0}):
        model = ks.KernelClassifier(learner=ks.Gradient(), loss=loss, scale=False).fit(X, THREE)
        assert not hasattr(model, "predict_proba")
        assert not hasattr(model, "predict_proba_one")
        assert not hasattr(model, "predict_log_proba")
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba': the loss"):
        ks.KernelClassifier(learner=ks.Gradient(), loss="hinge", scale=False).predict_proba(X)


def test_far_out_predictions_give_finite_probabilities():
    model = ks.KernelClassifier(ks.Linear(), learner=ks.Gradient("logistic", 50.0), scale=False)
    model.fit(1e3 * X, CODES > 0)
    shares = model.predict_proba(1e3 * X)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


# ------------------------------------------------------------------------------------------ losses


def test_the_loss_goes_into_the_learner():
    by_learner = ks.KernelClassifier(learner=ks.Gradient("hinge", 0.2), scale=False).fit(X, THREE)
    by_loss = ks.KernelClassifier(learner=ks.Gradient(step=0.2), loss="hinge", scale=False).fit(
        X, THREE
    )
    assert by_loss._core.spec == by_learner._core.spec
    assert not hasattr(
        ks.KernelClassifier(learner=ks.Ridge(), loss="hinge", scale=False), "predict_proba"
    )
    with pytest.raises(ValueError, match="Ridge cannot have loss"):
        ks.KernelClassifier(learner=ks.Ridge(), loss="hinge", scale=False).fit(X, THREE)
    with pytest.raises(ValueError, match=r"loss must be one of .*, got 'hing'"):
        ks.KernelClassifier(learner=ks.Gradient(), loss="hing", scale=False).fit(X, THREE)
    with pytest.raises(TypeError, match="learner must be one of"):
        ks.KernelClassifier(learner="ridge", scale=False).fit(X, THREE)


def test_grid_search_reaches_the_parts():
    search = GridSearchCV(
        ks.KernelClassifier(ks.Gaussian(), scale=False), {"kernel__bandwidth": [0.01, 0.8]}, cv=3
    ).fit(X, THREE)
    assert search.best_params_ == {"kernel__bandwidth": 0.8}


# ----------------------------------------------------------------------------------- class weights


def test_balanced_weights_are_those_of_the_counts_so_far():
    counts = {name: np.cumsum(name == THREE) for name in np.unique(THREE)}
    weights = [(t + 1) / (3 * counts[name][t]) for t, name in enumerate(THREE)]
    # A loss without probabilities is multiplied by the weights.
    learner = ks.OnlineNewton(regularization=0.1, loss="hinge")
    plain = ks.KernelClassifier(ks.Gaussian(0.8), None, learner, scale=False).fit(X, THREE, weights)
    balanced = ks.KernelClassifier(
        ks.Gaussian(0.8), None, learner, class_weight="balanced", scale=False
    )
    np.testing.assert_allclose(
        balanced.fit(X, THREE).decision_function(X), plain.decision_function(X), atol=1e-12
    )


def test_labels_that_no_file_can_hold_are_refused():
    for labels, complaint in ((np.array([1 << 63, 5], np.uint64), "too large"),):
        with pytest.raises(ValueError, match=complaint):
            ks.KernelClassifier(scale=False).fit(X[:2], labels)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared"])
@pytest.mark.parametrize("rate", [0.1, 0.02])
def test_balanced_weights_move_the_decision_and_keep_the_ranking(loss, rate):
    # Between classes that overlap, weights move the border to the rarer one's favour.
    rng = np.random.default_rng(0)
    y = rng.random(8000) < rate
    rows = rng.normal(size=(8000, 1)) + 1.5 * y[:, None]
    plain, even = (
        ks.KernelClassifier(loss=loss, class_weight=weight, scale=False).fit(rows, y)
        for weight in (None, "balanced")
    )
    assert np.mean(plain.predict(rows)[y]) < 0.5
    # The best there is is 0.773.
    found = even.predict(rows)
    assert 0.5 * (np.mean(found[y]) + np.mean(~found[~y])) > 0.74
    order = np.argsort(plain.decision_function(rows))
    assert (np.diff(even.decision_function(rows)[order]) > -1e-9).all()


@pytest.mark.parametrize("weight", ["balanced", {"high": 3.0}])
def test_weights_of_several_classes_multiply_their_probabilities(weight):
    parts = [(X[:250], THREE[:250]), (X[250:], THREE[250:])]
    # Frozen, so that nothing is calibrated.
    models = []
    for given in (None, weight):
        model = ks.KernelClassifier(
            ks.Gaussian(0.8), learner=ks.Ridge(), class_weight=given, scale=False
        )
        models.append(ks.distributed.fit(model, parts))
    plain, weighted = (model.predict_proba(X) for model in models)
    names, counts = np.unique(THREE, return_counts=True)
    each = 1.0 / counts if weight == "balanced" else np.where(names == "high", 3.0, 1.0)
    inside = (np.abs(models[0].decision_function(X)) < 0.97).all(axis=1)
    expected = plain * each / (plain * each).sum(axis=1, keepdims=True)
    assert inside.sum() > 20
    np.testing.assert_allclose(weighted[inside], expected[inside], atol=1e-9)


def test_weights_are_kept_in_any_chunking_and_in_files(tmp_path):
    for weight in ("balanced", {"low": 3.0, "high": np.float32(0.5)}):
        whole = ks.KernelClassifier(ks.Gaussian(0.8), class_weight=weight, scale=False).fit(
            X, THREE
        )
        parts = clone(whole).partial_fit(X[:90], THREE[:90], classes=np.unique(THREE))
        parts.save(tmp_path / "model")
        parts = ks.load(tmp_path / "model")
        assert parts.get_params()["class_weight"] == weight
        parts.partial_fit(X[90:300], THREE[90:300])
        for x, label in zip(X[300:], THREE[300:], strict=True):
            parts.learn_one(x, label)
        np.testing.assert_allclose(
            parts.decision_function(X), whole.decision_function(X), atol=1e-9
        )
    numbered = ks.KernelClassifier(class_weight={0: 2.0, np.int64(2): 0.5}, scale=False).fit(
        X, CODES
    )
    numbered.save(tmp_path / "model")
    assert ks.load(tmp_path / "model").class_weight == {0: 2.0, 2: 0.5}


def test_equal_weights_change_nothing():
    learner = ks.GaussNewton()
    plain = ks.KernelClassifier(ks.Gaussian(0.8), learner=learner, scale=False).fit(X, THREE)
    ones = ks.KernelClassifier(
        ks.Gaussian(0.8),
        learner=learner,
        class_weight={"low": 2, "high": 2.0, "middle": 2},
        scale=False,
    ).fit(X, THREE)
    np.testing.assert_array_equal(ones.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize(
    ("weight", "complaint"),
    [
        ({"lower": 1.0}, "'lower'.*not among"),
        ({"low": 0.0}, "'low' must be a positive"),
        ({"low": -1.0}, "positive"),
        ({"low": np.nan}, "positive"),
        ("even", "balanced"),
    ],
)
def test_bad_weights(weight, complaint):
    model = ks.KernelClassifier(class_weight=weight, scale=False)
    with pytest.raises(ValueError, match=complaint):
        model.fit(X, THREE)
    assert not hasattr(model, "classes_")


# --------------------------------------------------------------------------------- what is refused

ROWS = X[:20]
LABELS = THREE[:20]


def changed(array, place, value):
    copied = array.copy()
    copied[place] = value
    return copied


@pytest.mark.parametrize("method", ["fit", "partial_fit", "partial_fit_predict"])
@pytest.mark.parametrize(
    ("rows", "labels", "complaint"),
    [
        (changed(ROWS, (3, 1), np.nan), LABELS, "NaN at row 3, column 1"),
        (changed(ROWS, (19, 0), np.inf), LABELS, "inf at row 19"),
        (np.ones((20, 2)), changed(LABELS, 2, "none"), "2 features|at row 2"),
        (ROWS, None, "requires y"),
        (ROWS, LABELS[:19], "inconsistent"),
        (ROWS, np.column_stack([LABELS, LABELS]), "1d array"),
        (ROWS, changed(LABELS.astype(object), 4, None), "None at row 4"),
        (ROWS, changed(LABELS.astype(object), 4, np.nan), "nan at row 4"),
        (ROWS, pd.Series(changed(LABELS.astype(object), 4, None)), "(None|nan) at row 4"),
        (ROWS, pd.array(changed(LABELS.astype(object), 4, pd.NA), "string"), "<NA> at row 4"),
        (ROWS, changed(CODES[:20].astype(float), 6, np.nan), "nan at row 6"),
        (ROWS, changed(LABELS.astype(object), 4, 7), "one kind|7 at row 4"),
        (ROWS, np.full(20, np.datetime64("2020-01-01")), "datetime"),
        (ROWS, CODES[:20] + 1j, "[Cc]omplex"),
        (ROWS, "word", "shape"),
        (ROWS, [], "inconsistent"),
    ],
)
def test_bad_rows_and_labels_change_nothing(method, rows, labels, complaint):
    model = ks.KernelClassifier(scale=False).fit(X, THREE)
    if method == "fit" and rows.shape[1] == 2:
        pytest.skip("fit starts again, with any width and labels")
    before = state(model)
    with pytest.raises((ValueError, TypeError), match=complaint):
        getattr(model, method)(rows, labels)
    assert state(model) == before


@pytest.mark.filterwarnings("error")
def test_many_classes_with_few_rows_each_are_no_reason_to_warn():
    rows, labels = np.random.default_rng(0).normal(size=(90, 2)), np.repeat(np.arange(30), 3)
    model = ks.KernelClassifier().fit(rows, labels)
    assert len(model.classes_) == 30
    ks.KernelClassifier().partial_fit(rows[:2], labels[:2], classes=np.arange(30))
    with pytest.warns(UserWarning, match="number of unique classes"):
        ks.KernelClassifier().fit(rows[:40], np.arange(40))


def test_continuous_targets_are_no_labels():
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=r"[Uu]nknown label type|classes="):
            getattr(ks.KernelClassifier(scale=False), method)(X, SMOOTH)
    with pytest.raises(ValueError, match=r"[Uu]nknown label type"):
        ks.KernelClassifier(scale=False).partial_fit(X, SMOOTH, classes=SMOOTH)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([0.0, np.nan, 0.0], "low"),
        ([0.0, 0.0], "low"),
        (None, "low"),
        ([0.0, 0.0, 0.0], "lower"),
        ([0.0, 0.0, 0.0], None),
        ([0.0, 0.0, 0.0], 1.0),
        ([0.0, 0.0, 0.0], ["low"]),
    ],
)
def test_bad_single_rows(x, y):
    model = ks.KernelClassifier(scale=False).fit(X, THREE)
    before = state(model)
    with pytest.raises((ValueError, TypeError)):
        model.learn_one(x, y)
    assert state(model) == before
    new = ks.KernelClassifier(scale=False)
    with pytest.raises((ValueError, TypeError)):
        new.learn_one([0.0, np.nan, 0.0], "low", classes=["low", "high"])
    assert vars(new) == vars(ks.KernelClassifier(scale=False))


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.predict([[1.0]]),
        lambda m: m.predict_one([1.0]),
        lambda m: m.predict_proba([[1.0]]),
        lambda m: m.decision_function([[1.0]]),
        lambda m: m.transform([[1.0]]),
        lambda m: m.n_seen_,
        lambda m: m.save("never-written"),
    ],
)
def test_queries_before_the_first_row_raise_not_fitted(ask):
    with pytest.raises(NotFittedError):
        ask(ks.KernelClassifier(scale=False))


# ------------------------------------------------------------------------------------------- files

WAYS = {
    "file": lambda model, path: (model.save(path), ks.KernelClassifier.load(path))[1],
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, _: copy.deepcopy(model),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("labels", [THREE, TWO["booleans"]], ids=["three", "two"])
def test_a_round_trip_continues_as_the_model_would(way, labels, tmp_path):
    model = ks.KernelClassifier(ks.Gaussian(0.8), ks.ALD(1e-2), verbose=True, scale=False)
    model.partial_fit(X[:200], labels[:200], classes=np.unique(labels))
    again = WAYS[way](model, tmp_path / "model")
    assert again.get_params(deep=False) == model.get_params(deep=False)
    for each in (model, again):
        each.partial_fit(X[200:300], labels[200:300])
        each.learn_one(X[300], labels[300])
    assert again._core.to_bytes() == model._core.to_bytes()
    np.testing.assert_array_equal(again.class_count_, model.class_count_)
    model.partial_fit(X, labels)
    assert (again.n_seen_, again.class_count_.sum()) == (301, 301)


@pytest.mark.parametrize(
    ("classes", "dtype", "counts"),
    [
        (None, "<U6", [100, 100, 200]),
        (["a", "b"], "<U6", [200, 200]),
        (["a", "a", "b"], "<U6", [100, 100, 200]),
        (["b", "a", "c"], "<U6", [100, 100, 200]),
        (["a", 1, "c"], "<U6", [100, 100, 200]),
        (["a", "b", "c"], "<c16", [100, 100, 200]),
        (["a", "b", "c"], "<f8", [100, 100, 200]),
        ([1.5, 2.5, 3.5], "<i8", [100, 100, 200]),
        (["a", "b", "c"], "<U6", [1, 2, 3]),
        (["a", "b", "c"], "<U6", [400]),
    ],
)
def test_bad_classes_in_a_file_are_refused(classes, dtype, counts, tmp_path):
    ks.KernelClassifier(scale=False).fit(X, THREE).save(tmp_path / "model")
    config, arrays = unpack((tmp_path / "model").read_bytes())
    config["spec"]["labels"] = {**config["spec"]["labels"], "classes": classes}
    config["extra"]["classes"]["dtype"] = dtype
    arrays["labels.counts"] = np.array(counts, np.uint64)
    (tmp_path / "bad").write_bytes(pack(config, arrays))
    with pytest.raises(ks.ModelFileError, match="model file"):
        ks.load(tmp_path / "bad")


def test_a_file_cannot_ask_for_wide_labels(tmp_path):
    ks.KernelClassifier(scale=False).fit(X, THREE).save(tmp_path / "model")
    config, arrays = unpack((tmp_path / "model").read_bytes())
    config["extra"]["classes"]["dtype"] = "<U400000000"
    (tmp_path / "wide").write_bytes(pack(config, arrays))
    assert ks.load(tmp_path / "wide").classes_.dtype == "<U6"


def test_a_regressors_file_is_no_classifiers(model, tmp_path):
    model.save(tmp_path / "model")
    with pytest.raises(ks.ModelFileError, match="KernelRegressor, not a KernelClassifier"):
        ks.KernelClassifier.load(tmp_path / "model")


# ---------------------------------------------------------------------------------------- progress


def test_a_bar_shows_the_mistakes(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    for labels in (THREE, TWO["integers"]):
        loud = ks.KernelClassifier(verbose=True, scale=False)
        said = loud.partial_fit_predict(X, labels, classes=np.unique(labels))
        shown = capsys.readouterr().out
        assert "400/400" in shown
        assert f"mistakes {np.mean(said != labels):.2%}" in shown
        np.testing.assert_array_equal(
            ks.KernelClassifier(scale=False).fit(X, labels).predict(X), loud.predict(X)
        )


def test_an_interruption_keeps_the_rows_done_and_their_counts(monkeypatch):
    model = ks.KernelClassifier(scale=False).fit(X, THREE)
    before = model.class_count_.copy()

    class Interrupted:
        def __getattr__(self, name):
            return getattr(model_core, name)

        def learn(self, rows, targets, *_):
            model_core.learn(rows[:100], targets[:100])
            raise KeyboardInterrupt

    model_core = model._core
    monkeypatch.setattr(model, "_core", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, THREE)
    assert model.n_seen_ == 500
    expected = np.bincount(np.searchsorted(model.classes_, THREE[:100]), minlength=3)
    np.testing.assert_array_equal(model.class_count_ - before, expected)


# --------------------------------------------------------------------------------------- real data


def test_digits_in_one_pass():
    rows, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    model = ks.KernelClassifier(ks.Gaussian(1.4), ks.ALD(1e-3, max_size=500), scale=False)
    said = model.partial_fit_predict(rows[order] / 16, y[order], classes=range(10))
    assert np.mean((said != y[order])[len(y) // 2 :]) < 0.02


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        ks.KernelClassifier(ks.Gaussian(0.5), scale=False),
        ks.KernelClassifier(ks.Gaussian(0.5), loss="logistic", scale=False),
        ks.KernelClassifier(loss="squared", learner=ks.Ridge()),
        ks.KernelExpertsClassifier(),
    ],
    ids=lambda model: repr(model)[:40],
)
def test_probabilities_before_learning_are_those_of_the_model_then(model, n_classes):
    rng = np.random.default_rng(11)
    X = rng.uniform(-1, 1, (150, 2))
    y = np.minimum((np.hypot(*X.T) * 2).astype(int) + (rng.random(150) < 0.1), n_classes - 1)
    classes = np.arange(n_classes)
    outcome = clone(model).partial_fit_predict_proba(X, y, classes=classes)
    assert outcome.shape == (150, n_classes)
    np.testing.assert_allclose(outcome.sum(1), 1)
    np.testing.assert_allclose(outcome[0], 1 / n_classes)
    live = clone(model)
    for i in range(150):
        # Rows of the warm-up are predicted on a scale that is still changing.
        if i > 128 or (i and getattr(model, "loss", "") != "squared"):
            np.testing.assert_allclose(live.predict_proba(X[[i]])[0], outcome[i], atol=1e-8)
        live.partial_fit(X[[i]], y[[i]], classes=classes)
    parts = clone(model)
    cut = [
        parts.partial_fit_predict_proba(X[s : s + 37], y[s : s + 37], classes)
        for s in range(0, 150, 37)
    ]
    np.testing.assert_allclose(np.concatenate(cut), outcome, atol=1e-8)


def test_probabilities_before_learning_are_refused_with_the_row():
    X, y = np.zeros((3, 1)), ["a", "b", "c"]
    model = ks.KernelClassifier(ks.Gaussian(0.5), scale=False)
    with pytest.raises(ValueError, match="'c' at row 2 is not among"):
        model.partial_fit_predict_proba(X, y, classes=["a", "b"])
    for without in [
        ks.KernelClassifier(loss="hinge", scale=False),
        ks.KernelRegressor(),
    ]:
        assert not hasattr(without, "partial_fit_predict_proba")


@pytest.mark.parametrize("order", ["shuffled", "sorted", "one label after another"])
@pytest.mark.parametrize(
    ("regularization", "weight"), [(1e-2, 1.0), (1e-4, 1.0), (1e-2, 100.0), (1e-9, 1.0)]
)
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.WeightsWarning")
def test_noisy_labels_are_as_probable_as_to_the_batch_optimum(order, regularization, weight):
    scipy_special = pytest.importorskip("scipy.special")
    for seed, flipped in ((0, 0.1), (3, 0.2)):
        rng = np.random.default_rng(seed)
        X, X_new = rng.normal(size=(800, 2)), rng.normal(size=(2000, 2))
        sides = [np.sin(of[:, 0]) + of[:, 1] > 0 for of in (X, X_new)]
        y = np.where(rng.random(800) < flipped, ~sides[0], sides[0]).astype(int)
        if order == "sorted":
            rows = np.argsort(X[:, 0])
        elif order == "one label after another":
            rows = np.argsort(y, kind="stable")
        else:
            rows = np.arange(800)
        X, y = X[rows], y[rows]
        model = ks.KernelClassifier(learner=ks.GaussNewton(regularization), loss="logistic")
        model.partial_fit(X, y, classes=[0, 1], sample_weight=np.full(800, weight))
        # The expected loss of labels of which as many are flipped.
        share = np.where(sides[1], 1.0 - flipped, flipped)
        log_p = np.log(np.maximum(model.predict_proba(X_new), 1e-300))
        loss = -np.mean(share * log_p[:, 1] + (1.0 - share) * log_p[:, 0])
        # The optimum in the same coordinates, by Newton steps with halving.
        Z, signs = model.transform(X), 2 * y - 1
        w, ridge = np.zeros(Z.shape[1]), max(regularization / weight, 1e-4)

        def objective(w, Z=Z, signs=signs, ridge=ridge):
            return 0.5 * ridge * w @ w + np.logaddexp(0.0, -signs * (Z @ w)).sum()

        for _ in range(100):
            wrong = scipy_special.expit(-signs * (Z @ w))
            slope = ridge * w - Z.T @ (signs * wrong)
            bend = ridge * np.eye(len(w)) + (Z * (wrong * (1 - wrong))[:, None]).T @ Z
            step, share = np.linalg.solve(bend, slope), 1.0
            while objective(w - share * step) > objective(w) and share > 1e-6:
                share /= 2
            w -= share * step
        f = model.transform(X_new) @ w
        optimum = np.mean(share * np.logaddexp(0.0, -f) + (1.0 - share) * np.logaddexp(0.0, f))
        assert loss <= 1.3 * optimum, (seed, loss)


@pytest.mark.parametrize("weight", [1e4, 1e8, 1e12])
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.WeightsWarning")
def test_rows_of_enormous_weights_keep_the_odds_bounded(weight):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    sides = np.sin(X[:, 0]) + X[:, 1] > 0
    y = np.where(rng.random(600) < 0.1, ~sides, sides).astype(int)
    for learner in (ks.GaussNewton(loss="logistic"), ks.GaussNewton(loss="logistic", center=True)):
        model = ks.KernelClassifier(learner=learner, loss="logistic")
        model.partial_fit(X, y, classes=[0, 1], sample_weight=np.full(600, weight))
        assert np.mean(model.predict(X) == sides) > 0.85
        assert np.abs(model.decision_function(X)).max() < 1e3 * np.log(weight)


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ([True, False], np.array([False, True])),
        ([np.True_, False], np.array([False, True])),
        ([1, 0], np.array([0, 1])),
        ([1.0, 0], np.array([0.0, 1.0])),
    ],
)
def test_objects_of_one_kind_are_labels_of_it(values, classes):
    y = np.array(values * 200, object)
    model = ks.KernelClassifier().fit(X, y)
    assert model.classes_.dtype == classes.dtype
    np.testing.assert_array_equal(model.classes_, classes)
    assert model.predict(X).dtype == classes.dtype
    later = ks.KernelClassifier().partial_fit(X, y, classes=np.array(values, object))
    np.testing.assert_array_equal(later.classes_, classes)
    later.partial_fit(X, y)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, True], "the number 0 at row 0 and the boolean True at row 1: .*int"),
        (["no", True], "the string 'no' at row 0 and the boolean True at row 1: .*str"),
        (["no", 1], "the string 'no' at row 0 and the number 1 at row 1: .*str"),
        ([2**70, 1], "the label 1180591620717411303424 is too large"),
        ([(1,), (2,)], r"got \(1,\) at row 0, a tuple"),
    ],
)
def test_labels_of_several_kinds_are_named(values, message):
    y = np.empty(400, object)
    y[:] = values * 200
    with pytest.raises((ValueError, TypeError), match=message):
        ks.KernelClassifier().fit(X, y)
