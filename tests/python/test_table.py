"""Tables of named raw columns."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import kernelstream as ks


@pytest.fixture
def frame(stream):
    X, y = stream
    return pd.DataFrame(
        {"metres": X[:, 0] * 1e4, "grams": 5 + X[:, 1] * 1e-3, "constant": 7.0, "price": y}
    )


def learned(frame, scale=True):
    model = ks.TableRegressor(
        ks.KernelRegressor(), ["metres", "grams", "constant"], ["price"], scale, n_warm_up=200
    )
    for start in (0, 200):
        part = frame.iloc[start : start + 200]
        model.partial_fit_predict(part, part[["price"]])
    return model


def test_columns_are_standardized_by_the_warm_up_for_good(frame):
    model = learned(frame)
    first = frame.iloc[:200]
    np.testing.assert_allclose(model.mean_, first[model.features].mean())
    np.testing.assert_allclose(model.deviation_[:2], first[["metres", "grams"]].std(ddof=0))
    assert model.deviation_[2] == 1.0
    raw = frame[model.features].to_numpy()
    by_hand = ks.KernelRegressor(scale=False).fit(
        (raw - model.mean_) / model.deviation_, frame[["price"]]
    )
    expected = by_hand.predict((raw - model.mean_) / model.deviation_)
    np.testing.assert_allclose(model.predict(frame), expected, atol=1e-9)


def test_columns_may_be_taken_as_they_are(frame):
    model = learned(frame, scale=False)
    raw = frame[model.features].to_numpy()
    expected = ks.KernelRegressor(scale=False).fit(raw, frame[["price"]]).predict(raw)
    np.testing.assert_allclose(model.predict(frame), expected, atol=1e-9)


def test_columns_are_found_by_name_in_any_order(frame):
    model = learned(frame)
    shuffled = frame[["price", "constant", "grams", "metres"]].assign(other="x")
    np.testing.assert_array_equal(model.predict(shuffled), model.predict(frame))
    with pytest.raises(ValueError, match="missing: grams"):
        model.predict(frame.drop(columns="grams"))
    with pytest.raises(ValueError, match="shape"):
        model.predict(np.ones((3, 2)))


def test_a_saved_table_model_comes_back_with_its_scale(frame, tmp_path):
    model = learned(frame)
    model.save(tmp_path / "model")
    again = ks.load(tmp_path / "model")
    assert isinstance(again, ks.TableRegressor)
    assert (again.features, again.targets) == (model.features, ["price"])
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    part = frame.iloc[:50]
    for each in (model, again):
        each.partial_fit_predict(part, part[["price"]])
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_a_copy_learns_on_its_own(duplicate, frame):
    model = learned(frame)
    before = model.predict(frame)
    other = duplicate(model)
    np.testing.assert_array_equal(other.predict(frame), before)
    other.partial_fit_predict(frame.iloc[:50], -frame[["price"]].iloc[:50])
    np.testing.assert_array_equal(model.predict(frame), before)
    assert "targets=['price']" in repr(model)


def test_a_bad_first_batch_fixes_no_scale(frame):
    model = ks.TableRegressor(ks.KernelRegressor(), ["metres"], ["price"])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit_predict([[np.nan], [1.0]], [[1.0], [2.0]])
    assert model.mean_ is None
    with pytest.raises(NotFittedError):
        model.predict([[1.0]])
    with pytest.raises(NotFittedError):
        model.save("never-written")


# ------------------------------------------------------------------------------------------- labels


def classified(frame):
    model = ks.TableClassifier(
        ks.KernelClassifier(class_weight={"dear": 2.0}),
        ["metres", "grams", "constant"],
        "kind",
        n_warm_up=200,
    )
    said = [
        model.partial_fit_predict(part, part["kind"], ["cheap", "dear"])
        for part in (frame.iloc[:200], frame.iloc[200:])
    ]
    return model, np.concatenate(said)


def test_labels_of_raw_columns(frame, tmp_path):
    frame["kind"] = np.where(frame["price"] > frame["price"].median(), "dear", "cheap")
    model, said = classified(frame)
    raw = frame[model.features].to_numpy()
    scaled = (raw - model.mean_) / model.deviation_
    by_hand = ks.KernelClassifier(class_weight={"dear": 2.0}, scale=False)
    expected = by_hand.partial_fit_predict(scaled, frame["kind"], ["cheap", "dear"])
    np.testing.assert_array_equal(said[200:], expected[200:])
    np.testing.assert_array_equal(model.predict(frame), by_hand.predict(scaled))
    np.testing.assert_allclose(model.predict_proba(frame), by_hand.predict_proba(scaled))
    assert "kind" in repr(model)
    model.save(tmp_path / "model")
    for again in (ks.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), copy.copy(model)):
        np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
        again.partial_fit_predict(frame, frame["kind"])
        assert again.classifier.n_seen_ == again.n_seen_ == again.class_count_.sum() == 800
    assert model.n_seen_ == 400


def test_labels_that_are_bad_leave_no_scale_behind(frame):
    model = ks.TableClassifier(ks.KernelClassifier(), ["metres"], "kind")
    with pytest.raises(ValueError, match="classes="):
        model.partial_fit_predict(frame, ["a"] * 400)
    assert model.mean_ is None
    with pytest.raises(NotFittedError):
        model.predict(frame)
