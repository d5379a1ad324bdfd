"""The estimator obeys scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelstream as ks
from scikit_checks import IN_THEIR_ORDER


@parametrize_with_checks(
    [
        ks.KernelRegressor(),
        ks.KernelRegressor(ks.Matern52(2.0), ks.AllPoints(), ks.Ridge(0.1, center=False)),
        ks.presets.aogd_ald(),
        ks.presets.nons_ald(),
    ],
    expected_failed_checks=lambda _: IN_THEIR_ORDER,
)
def test_estimator_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_shape_of_predictions_is_that_of_targets(stream):
    X, y = stream
    model = ks.KernelRegressor()
    assert model.fit(X, y).predict(X[:5]).shape == (5,)
    assert model.fit(X, y[:, None]).predict(X[:5]).shape == (5, 1)
    two = np.column_stack([y, -y])
    assert model.fit(X, two).predict(X[:5]).shape == (5, 2)
    assert model.n_outputs_ == 2
    np.testing.assert_allclose(model.predict(X)[:, 0], -model.predict(X)[:, 1], atol=1e-12)
    assert ks.KernelRegressor().partial_fit_predict(X, two).shape == two.shape


def test_several_targets_are_learned_as_each_alone(stream):
    X, y = stream
    targets = np.column_stack([y, X[:, 0] ** 2])
    both = ks.KernelRegressor().fit(X, targets).predict(X)
    for column in range(2):
        alone = ks.KernelRegressor().fit(X, targets[:, column]).predict(X)
        np.testing.assert_allclose(both[:, column], alone, atol=1e-10)


def test_fit_forgets_and_partial_fit_does_not(stream):
    X, y = stream
    model = ks.KernelRegressor().fit(X, y)
    before = model.predict(X)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), before)
    assert model.n_seen_ == len(X)
    model.partial_fit(X[:10], y[:10])
    assert model.n_seen_ == len(X) + 10


def test_fit_may_change_width_and_partial_fit_may_not(stream):
    X, y = stream
    model = ks.KernelRegressor().fit(X, y)
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(X[:, :2], y)
    assert model.fit(X[:, :2], y).n_features_in_ == 2


def test_score_is_r2_on_rows_not_seen(stream):
    X, y = stream
    model = ks.KernelRegressor(ks.Gaussian(0.8)).fit(X[:300], y[:300])
    residual = np.sum((model.predict(X[300:]) - y[300:]) ** 2)
    total = np.sum((y[300:] - y[300:].mean()) ** 2)
    assert model.score(X[300:], y[300:]) == pytest.approx(1 - residual / total)
    assert model.score(X[300:], y[300:]) > 0.8


def test_predictions_precede_the_learning_of_the_row(stream):
    X, y = stream
    model = ks.KernelRegressor(ks.Gaussian(0.8))
    predictions = model.partial_fit_predict(X[:50], y[:50])
    stepwise = ks.KernelRegressor(ks.Gaussian(0.8))
    assert predictions[0] == 0.0
    for t in range(50):
        if t:
            assert predictions[t] == pytest.approx(stepwise.predict(X[t : t + 1])[0], abs=1e-10)
        stepwise.partial_fit(X[t : t + 1], y[t : t + 1])


def test_coordinates_reproduce_the_kernel_between_stored_points(model):
    stored = model.dictionary_
    coordinates = model.transform(stored)
    distances = np.sum((stored[:, None] - stored[None]) ** 2, axis=-1)
    np.testing.assert_allclose(
        coordinates @ coordinates.T, np.exp(-distances / (2 * 0.8**2)), atol=1e-10
    )
    assert coordinates.shape == (model.n_stored_, model.n_stored_)
    assert model.get_feature_names_out()[0] == "kernelregressor0"


def test_learning_on_appends_coordinates_and_changes_none(model, stream):
    X, y = stream
    before = model.transform(X)
    model.partial_fit(X[200:], y[200:])
    after = model.transform(X)
    assert after.shape[1] > before.shape[1]
    np.testing.assert_allclose(after[:, : before.shape[1]], before, atol=1e-12)


def test_data_frames_carry_names_that_are_checked(stream):
    X, y = stream
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = ks.KernelRegressor().fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(frame), ks.KernelRegressor().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(X)


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.predict([[1.0]]),
        lambda m: m.predict_one([1.0]),
        lambda m: m.transform([[1.0]]),
        lambda m: m.dictionary_,
        lambda m: m.n_seen_,
        lambda m: m.n_stored_,
        lambda m: m.save("never-written"),
    ],
)
def test_queries_before_the_first_row_raise_not_fitted(ask):
    with pytest.raises(NotFittedError):
        ask(ks.KernelRegressor())


def test_grid_search_reaches_the_parameters_of_the_parts(stream):
    X, y = stream
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ks.KernelRegressor(ks.Gaussian(), ks.ALD(), ks.Ridge())),
        {
            "kernelregressor__kernel__bandwidth": [0.05, 2.0],
            "kernelregressor__learner": [ks.Ridge(1e-2), ks.OnlineNewton()],
        },
        cv=3,
    ).fit(X, y)
    assert search.best_params_ == {
        "kernelregressor__kernel__bandwidth": 2.0,
        "kernelregressor__learner": ks.Ridge(1e-2),
    }


@pytest.mark.parametrize(
    ("model", "part", "parameter", "made"),
    [
        (ks.KernelRegressor(), "kernel", "bandwidth", ks.Gaussian(0.5)),
        (ks.KernelRegressor(), "basis", "tolerance", ks.ALD(0.5)),
        (ks.KernelRegressor(), "learner", "regularization", ks.Ridge(0.5)),
        (ks.KernelClassifier(), "learner", "regularization", ks.GaussNewton(0.5, "logistic")),
        (
            ks.KernelClassifier(class_weight="balanced"),
            "learner",
            "regularization",
            ks.GaussNewton(0.5, "logistic"),
        ),
        (ks.Koopman(), "input_kernel", "bandwidth", ks.Gaussian(0.5)),
        (ks.control.EmbeddingValueIteration(actions=[0, 1]), "model", "time_step", None),
    ],
)
def test_a_parameter_of_a_part_that_is_none_makes_the_default_part(model, part, parameter, made):
    assert model.get_params()[part] is None
    changed = clone(model).set_params(**{f"{part}__{parameter}": 0.5})
    if made is not None:
        assert repr(changed) == repr(clone(model).set_params(**{part: made}))
    assert changed.get_params()[f"{part}__{parameter}"] == 0.5
    assert repr(clone(changed)) == repr(changed)
    assert model.get_params()[part] is None


def test_grid_search_over_parts_left_to_their_defaults(stream):
    X, y = stream
    grid = {"kernel__bandwidth": [0.01, 0.8], "learner__regularization": [1e-2, 1e6]}
    search = GridSearchCV(ks.KernelRegressor(), grid, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel__bandwidth": 0.8, "learner__regularization": 1e-2}
    assert search.estimator.kernel is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"kernel__width": 1.0},
        {"kernels__bandwidth": 1.0},
        {"kernel__bandwidth": -1.0},
        {"verbose": True, "kernel__bandwidth": 1.0, "learner__regularization": -1.0},
        {"verbose__level": 1},
    ],
)
def test_an_error_in_setting_parameters_sets_none(wrong):
    model = ks.KernelRegressor()
    with pytest.raises((ValueError, AttributeError)):
        model.set_params(**wrong)
    assert repr(model) == "KernelRegressor()"


@pytest.mark.parametrize(
    "transformer",
    [
        ks.KernelRegressor(),
        ks.KernelRegressor(basis=ks.Fourier(10)),
        ks.KernelRegressor(learner=ks.BudgetedGradient()),
        ks.KernelExperts(),
        ks.Koopman(),
    ],
)
def test_transformers_give_data_frames_where_these_are_asked_for(transformer, stream):
    X, y = stream
    rows = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(400) + 7)
    target = rows if isinstance(transformer, ks.Koopman) else y
    plain = clone(transformer).fit(rows, target).transform(rows)
    model = clone(transformer).set_output(transform="pandas").fit(rows, target)
    framed = model.transform(rows[:5])
    assert isinstance(framed, pd.DataFrame)
    assert list(framed.columns) == list(model.get_feature_names_out())
    assert list(framed.index) == list(rows.index[:5])
    np.testing.assert_array_equal(framed, plain[:5])
    # A step of a pipeline: the names continue to the next.
    pipeline = make_pipeline(clone(transformer), StandardScaler()).set_output(transform="pandas")
    assert list(pipeline.fit_transform(rows, target).columns) == list(framed.columns)


def test_clone_copies_parameters_only(model):
    copy = clone(model)
    assert copy.kernel == model.kernel
    assert copy.kernel is not model.kernel
    with pytest.raises(NotFittedError):
        copy.predict([[0.0, 0.0, 0.0]])


def test_parts_of_another_kind_are_refused_by_name():
    with pytest.raises(TypeError, match="kernel must be one of kernelstream's"):
        ks.KernelRegressor(kernel="gaussian").fit([[1.0]], [1.0])
    with pytest.raises(TypeError, match="learner must be one of kernelstream's"):
        ks.KernelRegressor(learner=ks.Gaussian()).fit([[1.0]], [1.0])
