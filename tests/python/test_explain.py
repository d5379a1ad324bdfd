"""Explanations: equal to sums over all sets of columns, on frames and arrays, and drawn."""

import itertools
import math

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import kernelstream as ks
from kernelstream import plots

mpl.use("Agg")

RIDGE = ks.Ridge(0.1, clip=False)


def by_all_sets(function, X, background):
    """Shapley values of a function of rows by all sets of columns."""
    n, d = X.shape
    values = {}
    for members in itertools.product([False, True], repeat=d):
        mixed = np.where(members, X[:, None, :], background[None, :, :])
        outputs = function(mixed.reshape(-1, d))
        values[members] = outputs.reshape(n, len(background), -1).mean(axis=1)
    total = np.zeros((n, d, next(iter(values.values())).shape[1]))
    for members, value in values.items():
        size = sum(members)
        for j in range(d):
            if not members[j]:
                weight = math.factorial(size) * math.factorial(d - 1 - size) / math.factorial(d)
                with_j = tuple(m or k == j for k, m in enumerate(members))
                total[:, j] += weight * (values[with_j] - value)
    return total


def before_calibration(model, rows):
    """Give the log-odds of which `decision_function` is an increasing, piecewise linear function.

    The function is ``scale * x + offset + above * max(x - 2, 0) + below * min(x + 2, 0)``.
    """
    outputs = model.decision_function(rows).reshape(len(rows), -1)
    scale, offset, above, below = model._core.pieces().T
    slopes = np.array([scale, scale + above, scale + below])
    assert (slopes > 0).all()
    high, low = 2.0 * scale + offset, -2.0 * scale + offset
    inside = (outputs - offset) / scale
    beyond = np.where(outputs > high, 2.0 + (outputs - high) / (scale + above), inside)
    return np.where(outputs < low, -2.0 + (outputs - low) / (scale + below), beyond)


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0]
    y = np.sin(X[:, 0]) * X[:, 3] + 0.1 * X[:, 1] + 0.1 * random.normal(size=300)
    return X, y


@pytest.mark.parametrize(
    "kernel",
    [
        ks.Gaussian(),
        ks.ManhattanLaplacian(),
        0.5 * ks.Gaussian(1.0) + 0.5 * ks.Linear(),
        ks.Mapped(ks.Gaussian(), [1.0, 0.5, 2.0, 0.0, 1.0]),
    ],
    ids=repr,
)
def test_values_are_those_of_all_sets_and_add_up(kernel, table):
    X, y = table
    model = ks.KernelRegressor(kernel, learner=RIDGE).fit(X, y)
    found = model.explain(X[:6], X[10:16])
    assert found.standard_errors is None
    expected = by_all_sets(model.predict, X[:6], X[10:16])[:, :, 0]
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.predictions, model.predict(X[:6]), atol=1e-12)
    np.testing.assert_allclose(found.base_values, model.predict(X[10:16]).mean(), atol=1e-12)
    assert found.feature_names == ["x0", "x1", "x2", "x3", "x4"]


def test_columns_that_were_not_learned_are_left_out(table):
    X, y = table
    frame = pd.DataFrame({"y": y, "b": X[:, 1], "a": X[:, 0]})
    model = ks.KernelRegressor().fit(frame[["b", "a"]], y)
    found, expected = (model.explain(rows[:4], rows[10:16]) for rows in (frame, frame[["b", "a"]]))
    assert found.feature_names == expected.feature_names == ["b", "a"]
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.data, expected.data)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.parametrize("seed", [4, 11, 14])
@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_values_where_the_constant_is_beyond_the_targets(order, seed):
    # Points of a smooth kernel in one column nearly depend on each other: the constant may be far.
    random = np.random.default_rng(seed)
    X = np.arange(400.0)[:, None]
    y = random.normal(size=400)
    places = np.arange(400) if order == "sorted" else random.permutation(400)
    model = ks.KernelRegressor().partial_fit(X[places], y[places])
    found = model.explain(X[::40], X[5:300:60])
    np.testing.assert_allclose(found.predictions, model.predict(X[::40]), atol=1e-8)
    np.testing.assert_allclose(found.base_values, model.predict(X[5:300:60]).mean(), atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_explain_their_scores(classes, table):
    X, y = table
    labels = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    # Scores are calibrated after what was learned, which is explained.
    model = ks.KernelClassifier().fit(X, labels)
    found = model.explain(X[:8], X[20:24])
    assert found.standard_errors is None
    values, predictions, base_values = (
        each if classes > 2 else each[..., None]
        for each in (found.values, found.predictions, np.asarray(found.base_values))
    )
    expected = by_all_sets(lambda rows: before_calibration(model, rows), X[:8], X[20:24])
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-11)
    learned = before_calibration(model, X[:8])
    np.testing.assert_allclose(predictions, learned, rtol=0, atol=1e-11)
    mean = before_calibration(model, X[20:24]).mean(axis=0)
    np.testing.assert_allclose(np.broadcast_to(base_values, learned.shape), [mean] * 8, atol=1e-11)
    known = model.decision_function(X[:8]).reshape(8, -1)
    assert not np.allclose(known, learned)
    model = ks.KernelClassifier(loss="squared_hinge").fit(X, labels)
    found = model.explain(X[:4], X[20:24])
    expected = by_all_sets(model.decision_function, X[:4], X[20:24])
    values = found.values if classes > 2 else found.values[:, :, None]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.predictions, model.decision_function(X[:4]), atol=1e-12)
    if classes > 2:
        assert found.output_names == ["0", "1", "2"]
        np.testing.assert_array_equal(found.output(1).values, found.values[:, :, 1])
    else:
        with pytest.raises(ValueError, match="one output only"):
            found.output(0)


def test_several_targets_and_mixtures(table):
    X, y = table
    experts = [ks.KernelRegressor(ks.Gaussian(b), learner=RIDGE) for b in (1.0, 3.0)]
    for model in (ks.KernelExperts(experts), ks.KernelRegressor(learner=RIDGE)):
        model.fit(X, np.column_stack([y, -2.0 * y, X[:, 0]]))
        found = model.explain(X[:3], X[9:12], method="exact")
        expected = by_all_sets(model.predict, X[:3], X[9:12])
        np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-12)
        assert found[1:].shape == (2, 5, 3)


def test_columns_of_a_frame_are_explained_as_they_are():
    random = np.random.default_rng(1)
    n = 400
    frame = pd.DataFrame(
        {
            "size": random.normal(size=n),
            "room": random.choice(["hall", "attic", "cellar"], n),
            "at": pd.date_range("2024-01-01", periods=n, freq="5h"),
            "lit": random.random(n) < 0.5,
            "gaps": np.where(random.random(n) < 0.2, np.nan, random.normal(size=n)),
        }
    )
    y = frame["size"] + 2.0 * (frame["room"] == "hall") + 0.5 * frame["lit"]
    model = ks.KernelRegressor(learner=RIDGE, missing="fill").fit(frame, y)
    found = model.explain(frame[:20], frame[100:130])
    assert found.feature_names == list(frame.columns)
    assert found.values.shape == (20, 5)
    assert found.data.shape == (20, 5)
    assert found.data[0, 1] == frame["room"][0]
    np.testing.assert_allclose(found.predictions, model.predict(frame[:20]), atol=1e-11)
    sizes = np.abs(found.values).mean(axis=0)
    assert sizes[[0, 1]].min() > 3 * sizes[[2, 4]].max()
    # The order of the columns in another frame, and rows as dicts, do not matter.
    np.testing.assert_allclose(
        model.explain(frame[:20].to_dict("records"), frame[100:130]).values, found.values
    )
    again = model.explain(frame[:20])
    np.testing.assert_allclose(again.predictions, model.predict(frame[:20]), atol=1e-11)


@pytest.mark.parametrize(
    "model",
    [
        ks.KernelRegressor(ks.Matern32()),
        ks.KernelRegressor(ks.Polynomial(2)),
        ks.KernelRegressor(basis=ks.Fourier(50)),
        ks.KernelRegressor(ks.Mapped(ks.Gaussian(), np.eye(5)[:3] + 0.1)),
    ],
    ids=repr,
)
def test_other_models_are_sampled_with_standard_errors(model, table):
    X, y = table
    model.fit(X, y)
    found = model.explain(X[:5], X[10:14], n_permutations=60)
    expected = by_all_sets(model.predict, X[:5], X[10:14])[:, :, 0]
    assert (np.abs(found.values - expected) <= 6 * found.standard_errors + 1e-9).all()
    np.testing.assert_allclose(found.predictions, model.predict(X[:5]), atol=1e-10)
    with pytest.raises(ValueError, match=r"exact.*gaussian"):
        model.explain(X[:5], X[10:14], method="exact")


@pytest.mark.parametrize("kind", [ks.KernelExperts, ks.KernelExpertsClassifier])
def test_experts_that_choose_themselves(kind, table):
    X, y = table
    targets = y if kind is ks.KernelExperts else np.where(y > 0, "up", "down")
    model = kind(size=30).fit(X, targets)
    found = model.explain(X[:3], X[50:55])
    predict = model.predict if kind is ks.KernelExperts else model.decision_function
    np.testing.assert_allclose(found.predictions, predict(X[:3]), atol=1e-9)
    assert (found.standard_errors > 0).any()
    # The same seed, the same values; by default the background is what is remembered.
    np.testing.assert_array_equal(model.explain(X[:3], X[50:55]).values, found.values)
    assert model.explain(X[:2]).shape == (2, 5)


def test_sampling_agrees_with_exact_values(table):
    X, y = table
    model = ks.KernelRegressor(learner=RIDGE).fit(X, y)
    exact = model.explain(X[:5], X[10:20])
    found = model.explain(X[:5], X[10:20], method="sampling", n_permutations=100)
    assert (np.abs(found.values - exact.values) <= 6 * found.standard_errors + 1e-9).all()
    other = model.explain(X[:5], X[10:20], method="sampling", n_permutations=100, random_state=1)
    assert (other.values != found.values).any()


# With four permutations and columns of two values, all may give the same contribution by chance,
# and nothing in the sample shows its error.
@pytest.mark.parametrize(
    ("order", "n_permutations"),
    [("shuffled", 4), ("sorted", 4), ("shuffled", 16), ("sorted", 16), ("repeated", 16)],
)
@pytest.mark.parametrize("n_background", [2, 25])
def test_two_standard_errors_cover_as_those_of_a_normal_law(order, n_permutations, n_background):
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 6))
    if order == "sorted":
        X = X[np.argsort(X[:, 0])]
    elif order == "repeated":
        X = (X > 0).astype(float)
    y = X[:, 0] * np.maximum(X[:, 1], 0) * np.maximum(X[:, 2], 0) + X[:, 3]
    model = ks.KernelRegressor(learner=RIDGE).fit(X, y)
    rows, background = X[::30], X[5 :: 300 // n_background][:n_background]
    exact = model.explain(rows, background).values
    outside = []
    for seed in range(40):
        found = model.explain(
            rows, background, method="sampling", n_permutations=n_permutations, random_state=seed
        )
        gaps = np.abs(found.values - exact)
        outside.append(gaps > 2 * found.standard_errors + 1e-9)
    assert np.mean(outside) < 0.0455


def test_a_model_file_explains_as_the_model_did(table, tmp_path):
    X, y = table
    model = ks.KernelRegressor().fit(X, y)
    model.save(tmp_path / "model")
    again = ks.load(tmp_path / "model").explain(X[:5])
    np.testing.assert_array_equal(again.values, model.explain(X[:5]).values)


def test_refusals(table):
    X, y = table
    with pytest.raises(NotFittedError):
        ks.KernelRegressor().explain(X)
    model = ks.KernelRegressor().fit(X, y)
    bad = X[:5].copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3"):
        model.explain(bad)
    with pytest.raises(ValueError, match=r"5 features|expecting 5|expected 5"):
        model.explain(X[:, :4])
    with pytest.raises(ValueError, match="method must be"):
        model.explain(X, method="kernel")
    with pytest.raises(ValueError, match="n_permutations must be even"):
        model.explain(X, n_permutations=3)
    with pytest.raises(ValueError, match="background"):
        ks.KernelRegressor(basis=ks.Fourier(20)).fit(X, y).explain(X[:2])


def test_shap_gets_the_same(table):
    shap = pytest.importorskip("shap")
    X, y = table
    model = ks.KernelRegressor(learner=RIDGE).fit(X, y)
    found = model.explain(X[:4], X[10:20])
    theirs = found.to_shap()
    np.testing.assert_array_equal(theirs.values, found.values)
    assert list(theirs.feature_names) == found.feature_names
    exact = shap.ExactExplainer(model.predict, X[10:20])(X[:4])
    np.testing.assert_allclose(found.values, exact.values, atol=1e-10)
    np.testing.assert_allclose(found.base_values, exact.base_values, atol=1e-10)


def test_without_shap_the_error_says_what_to_install(table, monkeypatch):
    X, y = table
    found = ks.KernelRegressor().fit(X, y).explain(X[:4])
    monkeypatch.setitem(__import__("sys").modules, "shap", None)
    with pytest.raises(ImportError, match="pip install shap"):
        found.to_shap()


def test_pictures(table):
    X, y = table
    frame = pd.DataFrame(X, columns=list("abcde"))
    found = ks.KernelRegressor(learner=RIDGE).fit(frame, y).explain(frame[:50], frame[100:110])
    ax = plots.contributions(found, most=3)
    sizes = np.abs(found.values).mean(axis=0)
    shown = [label.get_text() for label in ax.get_yticklabels()]
    assert shown == [found.feature_names[j] for j in np.argsort(-sizes)[:3]]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], np.sort(sizes)[::-1][:3])
    ax = plots.beeswarm(found)
    points = np.concatenate([swarm.get_offsets()[:, 0] for swarm in ax.collections])
    np.testing.assert_allclose(np.sort(points), np.sort(found.values.ravel()))
    for most in (10, 3):
        ax = plots.waterfall(found, 7, most=most)
        assert len(ax.patches) == min(most, 5)
        first, last = ax.patches[0], ax.patches[-1]
        np.testing.assert_allclose(first.get_x() + first.get_width(), found.predictions[7])
        np.testing.assert_allclose(last.get_x(), found.base_values[7])
    labels = ks.KernelClassifier().fit(X, np.digitize(y, [-0.5, 0.5]))
    for draw in (plots.contributions, plots.beeswarm, plots.waterfall):
        with pytest.raises(ValueError, match="several outputs"):
            draw(labels.explain(X[:3], X[3:6]))
