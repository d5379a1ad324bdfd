"""Rows whose loss counts more than once, less, or not at all."""

from __future__ import annotations

import re
import warnings
from copy import deepcopy

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier
from sklearn.preprocessing import StandardScaler

import kernelstream as ks
import reference as ref
import reference_classification as slow
from realdata import random_stream

X, Y = random_stream(500, 3)
WEIGHTS = np.random.default_rng(1).choice([0.0, 1e-3, 0.5, 1.0, 3.7], len(X), p=[0.1] + [0.225] * 4)
COUNTS = np.random.default_rng(2).integers(0, 4, len(X))
SIGNS = np.where(Y > 0.9, 1.0, -1.0)


def predictions_of(learner, weights, kernel, tolerance):
    """Forecasts of a dense learner, to whom a row of weight 0 never came."""
    dictionary = ref.Dictionary(kernel, tolerance)
    factor, outcome = np.zeros((0, 0)), []
    for x, y, weight in zip(X, Y, weights, strict=True):
        _, _, residual, own = dictionary.examine(x)
        phi = np.linalg.solve(factor, dictionary.similarities(x))
        if residual > tolerance * own:
            phi = np.append(phi, np.sqrt(residual))
        if weight == 0:
            outcome.append(deepcopy(learner).step(phi, y, 0.0))
            continue
        if residual > tolerance * own:
            dictionary.insert(x)
            factor = np.linalg.cholesky(dictionary.gram)
        outcome.append(learner.step(phi, y, weight))
    return np.array(outcome)


@pytest.mark.parametrize(
    ("learner", "reference"),
    [
        (ks.Ridge(0.1), ref.DenseRidge(0.1)),
        (ks.Ridge(0.01, center=False, clip=False), ref.DenseRidge(0.01, center=False, clip=False)),
        (ks.Ridge(0.1, forgetting=0.99), ref.DenseRidge(0.1, forgetting=0.99)),
        (ks.Ridge(0.1, prediction="awv"), ref.DenseRidge(0.1, prediction="awv")),
        (ks.Gradient(step=0.1), ref.DenseGradient(step=0.1)),
        (
            ks.Gradient("absolute", 0.3, "inverse_sqrt", averaging=True),
            ref.DenseGradient(loss="absolute", step=0.3, schedule="inverse_sqrt", averaging=True),
        ),
        (
            ks.Gradient(schedule="adaptive", radius=2.0),
            ref.DenseGradient(schedule="adaptive", radius=2.0),
        ),
    ],
    ids=lambda part: repr(part) if isinstance(part, ks.Ridge | ks.Gradient) else "",
)
def test_weighted_rows_are_those_of_dense_algebra(learner, reference):
    expected = predictions_of(reference, WEIGHTS, ref.gaussian(0.8), 1e-3)
    model = ks.KernelRegressor(ks.Gaussian(0.8), ks.ALD(1e-3), learner, scale=False)
    outcome = clone(model).partial_fit_predict(X, Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(outcome, expected, rtol=0, atol=1e-8)
    outcome = []
    for start in range(0, len(X), 170):
        part = slice(start, start + 170)
        outcome.append(model.partial_fit_predict(X[part], Y[part], WEIGHTS[part]))
    np.testing.assert_allclose(np.concatenate(outcome), expected, rtol=0, atol=1e-8)
    assert model.n_seen_ == len(X)


@pytest.mark.parametrize(
    ("learner", "loss", "options"),
    [
        (ks.GaussNewton(0.1, "logistic"), slow.logistic, {"gauss_newton": True}),
        (
            ks.OnlineNewton(0.1, loss="squared_hinge", clip=False),
            slow.squared_hinge,
            {"gauss_newton": False},
        ),
    ],
)
def test_weighted_newton_steps(learner, loss, options):
    weights = np.maximum(WEIGHTS, 1e-3)
    reference = slow.Newton(ref.gaussian(0.8), loss, tolerance=0.02, regularization=0.1, **options)
    expected = [
        reference.step(x, np.array([y]), weight)[0]
        for x, y, weight in zip(X, SIGNS, weights, strict=True)
    ]
    model = ks.KernelRegressor(ks.Gaussian(0.8), ks.ALD(0.02), learner, scale=False)
    outcome = model.partial_fit_predict(X, SIGNS, sample_weight=weights)
    np.testing.assert_allclose(outcome, expected, rtol=0, atol=1e-8)


def test_the_step_of_a_budgeted_gradient_is_weighted():
    model = ks.KernelRegressor(
        ks.Gaussian(0.8), learner=ks.BudgetedGradient(None, "none", "absolute", 0.2), scale=False
    )
    kernel, coefficients, expected = ref.gaussian(0.8), np.zeros(len(X)), []
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        expected.append(kernel(x[None], X[:t])[0] @ coefficients[:t])
        coefficients[t] = -0.2 * WEIGHTS[t] * np.sign(expected[t] - y)
    outcome = model.partial_fit_predict(X, Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(outcome, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "learner",
    [
        ks.Ridge(0.1),
        ks.Ridge(0.1, prediction="awv"),
        ks.Ridge(0.1, history="exact"),
        ks.Ridge(0.0),
        ks.GaussNewton(0.1, "squared", center=True),
    ],
    ids=repr,
)
def test_a_weight_equals_repeated_rows(learner):
    """What scikit-learn's check of weights asks, with the rows in their order."""
    model = ks.KernelRegressor(ks.Gaussian(0.8), ks.ALD(1e-3), learner, scale=False)
    weighted = clone(model).fit(X, Y, sample_weight=COUNTS)
    repeated = model.fit(X.repeat(COUNTS, axis=0), Y.repeat(COUNTS))
    np.testing.assert_array_equal(weighted.dictionary_, repeated.dictionary_)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=0, atol=1e-7)


def test_exact_regression_on_all_points_minimizes_the_weighted_loss():
    """In any order, since nothing is left out: what scikit-learn's check of weights asks."""
    model = ks.KernelRegressor(
        ks.Matern52(1.0), ks.AllPoints(), ks.Ridge(0.1, center=False), scale=False
    )
    used = np.flatnonzero(WEIGHTS)
    gram = ref.matern52(1.0)(X[used], X[used])
    a = np.linalg.solve(gram + 0.1 * np.diag(1.0 / WEIGHTS[used]), Y[used])
    for order in (np.arange(len(X)), np.random.default_rng(3).permutation(len(X))):
        learned = clone(model).fit(X[order], Y[order], sample_weight=WEIGHTS[order])
        np.testing.assert_allclose(learned.predict(X[used]), gram @ a, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    "model",
    [
        ks.KernelRegressor(ks.Gaussian(0.8), scale=False),
        ks.KernelRegressor(ks.Gaussian(0.8), ks.Fourier(40), ks.Gradient(), scale=False),
        ks.KernelRegressor(ks.Gaussian(0.8), ks.KORS(1.0), ks.OnlineNewton(), scale=False),
        ks.KernelRegressor(learner=ks.BudgetedGradient(20), scale=False),
    ],
    ids=repr,
)
def test_a_row_of_weight_zero_is_predicted_and_changes_nothing_else(model):
    model.partial_fit(X[:200], Y[:200])
    before = model.predict(X)
    outcome = model.partial_fit_predict(X[200:], 1e6 * Y[200:], sample_weight=np.zeros(300))
    np.testing.assert_allclose(outcome, before[200:], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.n_seen_ == 500


@pytest.mark.parametrize("order", ["shuffled", "sorted"])
@pytest.mark.parametrize("learner", [ks.Ridge(1e-2), ks.OnlineNewton()])
def test_a_row_too_heavy_for_a_block_is_learned_by_itself(learner, order):
    """Rows before it are learned as a block; predictions are those of a call for each row."""
    rows = np.argsort(Y) if order == "sorted" else np.arange(len(Y))
    inputs, targets = X[rows], Y[rows]
    weights = np.ones(len(Y))
    weights[[150, 171, 300]] = 1e19

    def learned(step):
        model = ks.KernelRegressor(ks.Gaussian(0.5), ks.ALD(1e-6, 60), learner, scale=False)
        parts = [
            model.partial_fit_predict(
                inputs[i : i + step], targets[i : i + step], sample_weight=weights[i : i + step]
            )
            for i in range(0, len(targets), step)
        ]
        return np.concatenate(parts)

    np.testing.assert_allclose(learned(len(Y)), learned(1), rtol=1e-6, atol=1e-7)


def test_ones_are_no_weights_to_the_bit():
    for model in (
        ks.KernelRegressor(ks.Gaussian(0.8), scale=False),
        ks.KernelClassifier(ks.Gaussian(0.8), class_weight="balanced", scale=False),
    ):
        plain, ones = clone(model).fit(X, SIGNS), clone(model).fit(X, SIGNS, np.ones(len(X), int))
        assert ones._core.to_bytes() == plain._core.to_bytes()


def test_a_classifier_multiplies_the_weights_of_row_and_class():
    # A loss without probabilities; in others the weights of classes move the odds.
    model = ks.KernelClassifier(
        ks.Gaussian(0.8),
        learner=ks.Gradient("hinge", 0.2),
        class_weight={-1.0: 0.3, 1.0: 2.5},
        scale=False,
    )
    weights = WEIGHTS * np.where(SIGNS > 0, 2.5, 0.3)
    outcome = model.partial_fit_predict(X, SIGNS, [-1.0, 1.0], sample_weight=WEIGHTS)
    numbers = ks.KernelRegressor(ks.Gaussian(0.8), learner=ks.Gradient("hinge", 0.2), scale=False)
    predictions = numbers.partial_fit_predict(X, SIGNS, sample_weight=weights)
    np.testing.assert_array_equal(outcome, np.where(predictions > 0, 1.0, -1.0))
    np.testing.assert_allclose(model.decision_function(X), numbers.predict(X), atol=1e-12)
    assert model.class_count_.sum() == model.n_seen_ == len(X)


@pytest.mark.parametrize("labels", [False, True])
def test_a_model_that_scales_keeps_weights_while_it_warms_up(labels, tmp_path):
    y, options = (SIGNS, {"classes": [-1.0, 1.0]}) if labels else (Y, {})
    kind = ks.KernelClassifier if labels else ks.KernelRegressor
    rows = X * [1e3, 1.0, 1e-3]
    whole = kind(n_warm_up=200).fit(rows, y, WEIGHTS)
    parts = clone(whole)
    for start in (0, 90, 180, 270):
        part = slice(start, 500 if start == 270 else start + 90)
        parts.partial_fit(rows[part], y[part], sample_weight=WEIGHTS[part], **options)
        parts.save(tmp_path / "model")
        parts = ks.load(tmp_path / "model")
    # Rows of weight 0 do not determine the scale.
    scale = StandardScaler().fit(rows[WEIGHTS > 0][:200])
    plain = kind(scale=False).fit(scale.transform(rows), y, WEIGHTS)
    ask = "decision_function" if labels else "predict"
    expected = getattr(plain, ask)(scale.transform(rows))
    for model in (whole, parts):
        np.testing.assert_allclose(getattr(model, ask)(rows), expected, rtol=0, atol=1e-8)
    with pytest.raises(ValueError, match="row 499 is -1"):
        whole.partial_fit(rows, y, sample_weight=np.append(np.ones(499), -1.0))


@pytest.mark.filterwarnings("ignore:X (has|does not have).*feature names")
def test_rows_of_columns_have_weights():
    for kind, y in ((ks.KernelRegressor, Y[:, None]), (ks.KernelClassifier, SIGNS)):
        options = {"classes": [-1.0, 1.0]} if kind is ks.KernelClassifier else {}
        model, plain = kind(), kind(scale=False)
        columns = {f"x{i}": column for i, column in enumerate(X.T)}
        model.partial_fit(columns, y, sample_weight=WEIGHTS, **options)
        # The last of 2, 4, 8, ... rows of a weight above 0, of a warm-up that is not over.
        counted = X[WEIGHTS > 0][:256]
        rows = (X - counted.mean(axis=0)) / counted.std(axis=0)
        plain.partial_fit(rows, y, sample_weight=WEIGHTS, **options)
        np.testing.assert_allclose(model.predict(X), plain.predict(rows), atol=1e-9)


BAD = {
    "negative": (np.where(np.arange(500) == 7, -1.0, 1.0), "row 7 is -1"),
    "nan": (np.where(np.arange(500) == 7, np.nan, 1.0), "row 7 is nan"),
    "infinite": (np.where(np.arange(500) == 7, np.inf, 1.0), "row 7 is inf"),
    "huge": (np.where(np.arange(500) == 7, 1e60, 1.0), "row 7 is"),
    "too short": (np.ones(499), r"shape \(499,\)"),
    "a column": (np.ones((500, 1)), r"shape \(500, 1\)"),
    "a number": (2.0, "dimension"),
    "words": (["much"] * 500, "much|convert|dtype"),
    "complex": (np.ones(500) + 1j, "[Cc]omplex"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("method", ["fit", "partial_fit", "partial_fit_predict"])
@pytest.mark.parametrize(
    "model",
    [ks.KernelRegressor(scale=False), ks.KernelClassifier(class_weight={1.0: 3.0}, scale=False)],
    ids=repr,
)
def test_bad_weights_change_nothing(model, method, name):
    weights, complaint = BAD[name]
    model = clone(model).fit(X, SIGNS)
    before = model._core.to_bytes()
    with pytest.raises((ValueError, TypeError), match=complaint):
        getattr(model, method)(X, SIGNS, sample_weight=weights)
    assert model._core.to_bytes() == before


@pytest.mark.parametrize(
    "model", [ks.KernelRegressor(scale=False), ks.KernelClassifier(scale=False)], ids=repr
)
def test_fit_needs_a_row_to_learn(model):
    fresh = clone(model)
    with pytest.raises(ValueError, match="every sample_weight is zero"):
        fresh.fit(X, SIGNS, sample_weight=np.zeros(500))
    assert not hasattr(fresh, "n_features_in_")


def _forms(values):
    """Targets in whatever carries them."""
    yield values
    yield np.array(values, object)
    yield pd.Series(values)
    yield pa.array(values)


@pytest.mark.parametrize("place", [0, 3, 299])
@pytest.mark.parametrize("kind", ["number", "label"])
def test_targets_of_rows_of_weight_0_may_be_missing(kind, place):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    numbers = np.sin(X[:, 0]).tolist()
    make = ks.KernelRegressor if kind == "number" else ks.KernelClassifier
    values = numbers if kind == "number" else ["up" if y > 0 else "down" for y in numbers]
    weights = np.ones(300)
    weights[[place, 7, 8]] = 0.0
    kept = weights > 0.0
    whole = make().fit(X[kept], np.array(values)[kept], shuffle=False)
    for gap in (None, np.nan):
        given = [value if known else gap for value, known in zip(values, kept, strict=True)]
        for targets in _forms(given) if gap is None else [given, pd.Series(given)]:
            model = make().fit(X, targets, weights, shuffle=False)
            ask = getattr(model, "decision_function", model.predict)
            other = getattr(whole, "decision_function", whole.predict)
            np.testing.assert_allclose(ask(X), other(X), rtol=1e-9, atol=1e-9)
    # A gap in a row with a weight is named by its own row, whatever is before it.
    given[50] = None
    with pytest.raises(ValueError, match="row 50"):
        make().fit(X, np.array(given, object) if kind == "label" else given, weights, shuffle=False)


@pytest.mark.parametrize("row", [0, 77, 199])
@pytest.mark.parametrize("array", ["X", "y"])
def test_rows_that_are_learned_in_a_random_order_are_named_by_their_own_numbers(array, row):
    X = np.sort(np.random.default_rng(3).normal(size=(200, 2)), axis=0)
    y = np.sin(X[:, 0])
    (X if array == "X" else y)[row] = np.nan
    with pytest.raises(ks.exceptions.DataError, match=f"row {row}, column 0") as caught:
        ks.KernelRegressor().fit(X, y)
    assert (caught.value.row, caught.value.array) == (row, array)


@pytest.mark.parametrize("model", [ks.KernelRegressor(), ks.KernelClassifier()])
@pytest.mark.parametrize("order", ["random", "rising"])
def test_weights_that_sum_to_one_are_warned_of_once(model, order):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] > 0 if is_classifier(model) else X[:, 0]
    rows = np.argsort(X[:, 1]) if order == "rising" else np.arange(200)
    weights = np.full(200, 1 / 200)
    with pytest.warns(ks.exceptions.WeightsWarning, match="0.005 on average"):
        learned = clone(model).fit(X[rows], y[rows], sample_weight=weights)
    learned.partial_fit(X[rows], y[rows], sample_weight=weights)
    clone(model).fit(X[rows], y[rows], sample_weight=200 * weights)
    # Ratios are all that matters to experts.
    ks.KernelExperts(size=20).fit(X[rows], X[rows, 0], sample_weight=weights)


@pytest.mark.parametrize("model", [ks.KernelRegressor(), ks.KernelClassifier()])
@pytest.mark.parametrize("rows", [1, 7, 200])
def test_large_weights_are_warned_of_once(model, rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] > 0 if is_classifier(model) else X[:, 0]
    weights = rng.uniform(500.0, 2000.0, size=200)
    how = {"classes": [False, True]} if is_classifier(model) else {}
    model = clone(model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ks.exceptions.WeightsWarning)
        for first in range(0, 200, rows):
            part = slice(first, first + rows)
            model.partial_fit(X[part], y[part], sample_weight=weights[part], **how)
    found = [str(one.message) for one in caught]
    found = [text for text in found if "weights of the rows" in text]
    assert len(found) == 1
    assert "too weak for rows of large weights: divide the weights by their mean" in found[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ks.exceptions.WeightsWarning)
        clone(model).fit(X, y, sample_weight=weights / weights.mean())
        clone(model).fit(X, y, sample_weight=29.0 * weights / weights.mean())
        ks.KernelExperts(size=20).fit(X, X[:, 0], sample_weight=weights)


@pytest.mark.parametrize("weight", [-1e300, 1e51, 1e300])
@pytest.mark.parametrize("labels", [False, True])
def test_messages_of_weights_are_short(weight, labels):
    model = ks.KernelClassifier() if labels else ks.KernelExperts()
    weights = np.where(np.arange(500) == 7, weight, 1.0)
    with pytest.raises(ValueError, match=re.escape(f"row 7 is {weight:g}: ")) as error:
        model.fit(X, SIGNS, sample_weight=weights)
    assert "up to 1e+50" in str(error.value)
    assert len(str(error.value)) < 150
