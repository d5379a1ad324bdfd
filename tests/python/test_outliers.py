"""Outliers among the targets of plain regressors, and among the first values of a column."""

import pickle
import warnings

import numpy as np
import pytest

import kernelstream as ks
from kernelstream.exceptions import OutlierWarning, SentinelWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::kernelstream.exceptions.OutlierWarning"),
    pytest.mark.filterwarnings("ignore::kernelstream.exceptions.SentinelWarning"),
    pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning"),
    pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning"),
    pytest.mark.filterwarnings("ignore::kernelstream.exceptions.DriftWarning"),
]
N = 3000
ORDERS = ["random", "by target", "by column"]


def stream(order="random", n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    places = {"random": np.arange(n), "by target": np.argsort(y), "by column": np.argsort(X[:, 1])}
    return X[places[order]], y[places[order]]


def with_outlier(y, row, value):
    return np.where(np.arange(len(y)) == row, value, y)


def rmse(errors):
    return float(np.sqrt(np.mean(np.square(errors))))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("row", [9, 100, 499, 700, 2000])
@pytest.mark.parametrize("value", [-9999.0, 100.0, 1e6, -1e30])
def test_one_outlying_target_is_winsorized(value, row, order):
    X, y = stream(order)
    plain = ks.KernelRegressor().partial_fit(X, y)
    model = ks.KernelRegressor().partial_fit(X, with_outlier(y, row, value))
    assert (model.n_limited_, plain.n_limited_) == (1, 0)
    late = np.arange(N) > 1000 if order == "random" else np.arange(N) >= 0
    assert rmse((model.predict(X) - y)[late]) < 1.1 * rmse((plain.predict(X) - y)[late])
    assert model.noise_ < 1.5 * plain.noise_
    widths = [np.median(np.diff(each.predict_interval(X))) for each in (model, plain)]
    assert widths[0] < 1.2 * widths[1]


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.WeightsWarning")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("weight", [1e-4, 700.0, 1e4])
def test_the_unit_of_weights_does_not_matter(weight, order):
    X, y = stream(order)
    far = with_outlier(y, 2000, -9999.0)
    weights = np.full(N, weight)
    plain = ks.KernelRegressor().partial_fit(X, y, sample_weight=weights)
    model = ks.KernelRegressor().partial_fit(X, far, sample_weight=weights)
    assert (model.n_limited_, plain.n_limited_) == (1, 0)
    errors = [rmse(each.predict(X) - y) for each in (model, plain)]
    assert errors[0] < 1.1 * errors[1]


def test_a_code_is_said_to_be_winsorized_though_another_target_follows():
    X, y = stream()
    y[[700, 1500]] = -9999.0, 60.0
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = ks.KernelRegressor().partial_fit(X[:2000], y[:2000])
    assert model.n_limited_ == 2
    (only,) = [each for each in seen if each.category in (OutlierWarning, SentinelWarning)]
    assert "-9999" in str(only.message)
    assert "nearest ordinary value" in str(only.message)


def test_few_ordinary_rows_are_not_warned_of():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(90, 2))
    y = np.where(rng.random(90) < 0.06, 12.0, 0.1 * (rng.random(90) < 0.2))
    model = ks.KernelRegressor()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for i in range(90):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert not [each for each in seen if each.category is OutlierWarning]


@pytest.mark.parametrize("row", [0, 3, 7])
def test_an_outlier_among_the_very_first_targets_is_winsorized_later(row):
    X, y = stream()
    plain = ks.KernelRegressor().partial_fit(X[:200], y[:200])
    model = ks.KernelRegressor().partial_fit(X[:200], with_outlier(y, row, 1e30)[:200])
    assert rmse(model.predict(X) - y) < 1.5 * rmse(plain.predict(X) - y)


@pytest.mark.parametrize(
    "model",
    [
        ks.KernelRegressor(basis=ks.AllPoints(max_size=200)),
        ks.KernelRegressor(learner=ks.GaussNewton(loss="squared")),
        ks.KernelRegressor(basis=ks.Fourier(100)),
        ks.KernelExperts([ks.KernelRegressor(), ks.KernelRegressor(ks.Laplacian())]),
    ],
)
def test_any_least_squares_is_protected(model):
    X, y = stream(n=1500)
    outlying = with_outlier(y, 700, 1e6)
    assert model.fit(X, outlying, shuffle=False).n_limited_ == 1
    assert rmse(model.predict(X) - y) < 2.0 * rmse(ks.KernelRegressor().fit(X, y).predict(X) - y)


@pytest.mark.parametrize(
    "model",
    [
        ks.KernelRegressor(scale=False),
        ks.KernelRegressor(learner=ks.Gradient("absolute")),
        ks.KernelRegressor(ks.Gaussian(1.0), ks.NoisyPoints(), ks.Interpolation()),
    ],
)
def test_other_models_learn_targets_as_they_are(model):
    X, y = stream(n=600)
    assert model.partial_fit(X, with_outlier(y, 550, 1e6)).n_limited_ == 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("row", [5, 300, 700])
def test_chunks_rows_without_weight_and_files_do_not_matter(row, weighted):
    X, y = stream(n=1200)
    y = np.stack([with_outlier(y, row, 1e6), with_outlier(y**2, row + 41, -9999.0)], axis=1)
    weights = np.ones(1200)
    if weighted:
        weights[::7] = 0.0
        y[::7] = 1e8
        weights[[row, row + 41]] = 1.0
        y[[row, row + 41]] = [[1e6, 0.0], [0.0, -9999.0]]
    whole = ks.KernelRegressor().partial_fit(X, y, weights)
    assert whole.n_limited_ == 2
    for step in (1, 7, 137):
        model = ks.KernelRegressor()
        for start in range(0, 1200, step):
            rows = slice(start, start + step)
            model.partial_fit(X[rows], y[rows], weights[rows])
            if start % 5 == 0:
                model = pickle.loads(pickle.dumps(model))
        assert model.n_limited_ == 2
        np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-7)
    if not weighted:
        model = ks.KernelRegressor()
        for x, targets in zip(X, y, strict=True):
            model.learn_one(x, targets)
        assert model.n_limited_ == 2
        np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-7)


def test_targets_with_gaps_are_winsorized_each():
    X, y = stream(n=1200)
    y = np.stack([with_outlier(y, 700, 1e6), y], axis=1)
    y[900::9, 1] = np.nan
    y[1100, 1] = -9999.0
    model = ks.KernelRegressor().partial_fit(X, y)
    assert 1 <= model.n_limited_ <= 3
    assert rmse(model.predict(X)[:, 0] - stream(n=1200)[1]) < 0.6
    assert rmse(model.predict(X)[:, 1] - stream(n=1200)[1]) < 0.6


@pytest.mark.parametrize("jump", [10.0, 100.0, 1e4])
def test_a_new_level_is_followed_a_few_rows_late(jump):
    X, y = stream()
    y = np.where(np.arange(N) < 1500, y, y + jump)
    model = ks.KernelRegressor(learner=ks.Ridge(forgetting=0.98))
    predictions = model.partial_fit_predict(X, y)
    assert model.n_limited_ <= 3
    assert rmse((predictions - y)[1900:]) < 0.05 * jump


def test_growth_sorted_and_heavy_tailed_targets_are_ordinary():
    rng = np.random.default_rng(1)
    X, y = stream()
    t = np.arange(N)
    ordinary = {
        "growth": np.exp(t / 40) * (1 + 0.1 * y),
        "sorted": np.sort(np.exp(2 * y)),
        "constant at first": np.where(t < 1000, 1.0, 1 + (t - 1000) * y),
        "student": y + rng.standard_t(3, size=N),
        "counts": rng.poisson(np.exp(y)).astype(float),
        "rain": np.where(rng.uniform(size=N) < 0.05, rng.uniform(1, 50, N), 0.0),
    }
    for name, targets in ordinary.items():
        model = ks.KernelRegressor().partial_fit(X, targets)
        assert model.n_limited_ <= 1, name


@pytest.mark.parametrize("step", [1, 7, N])
def test_a_warning_names_the_target_once(step):
    X, y = stream(n=1000)
    outlying = with_outlier(y, 703, 60.0)
    model = ks.KernelRegressor()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for start in range(0, 1000, step):
            model.partial_fit(X[start : start + step], outlying[start : start + step])
    (message,) = (str(each.message) for each in caught if each.category is OutlierWarning)
    assert f"errors so far, 60 at row {703 % step}, and learned the nearest ordinary" in message


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("model", [ks.KernelRegressor, ks.KernelExperts])
def test_one_far_code_gives_one_warning(model, order):
    X, y = stream(order, 1000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model().partial_fit(X, with_outlier(y, 703, -9999.0))
    found = [each for each in caught if each.category in (OutlierWarning, SentinelWarning)]
    assert [each.category for each in found] == [SentinelWarning]
    assert "-9999 at row 703" in str(found[0].message)
    assert "is learned as the nearest ordinary value" in str(found[0].message)


def test_a_frozen_dictionary_learns_targets_as_they_are_and_merges():
    X, y = stream(n=1200)
    begun = ks.KernelRegressor().partial_fit(X[:600], y[:600])
    begun.freeze_dictionary()
    parts = [pickle.loads(pickle.dumps(begun)) for _ in range(2)]
    outlying = with_outlier(y, 700, 1e6)
    parts[0].partial_fit(X[:600], y[:600])
    parts[1].partial_fit(X[600:], outlying[600:])
    whole = pickle.loads(pickle.dumps(begun)).partial_fit(X, outlying)
    parts[0].merge(parts[1])
    assert whole.n_limited_ == parts[0].n_limited_ == 0
    np.testing.assert_allclose(parts[0].predict(X), whole.predict(X), rtol=1e-5)


@pytest.mark.parametrize("model", [ks.KernelRegressor, ks.KernelClassifier])
@pytest.mark.parametrize("row", [0, 3, 20])
@pytest.mark.parametrize("value", [-9999.0, 1e5])
def test_one_outlier_among_the_first_values_of_a_column_does_not_set_its_scale(value, row, model):
    rng = np.random.default_rng(0)
    X = 100.0 + 10.0 * rng.normal(size=(2000, 3))
    y = np.sin((X[:, 0] - 100) / 10) + ((X[:, 1] - 100) / 10) ** 2 / 3
    targets = np.where(y > 0.4, "a", "b") if model is ks.KernelClassifier else y
    wrong = X.copy()
    wrong[row, 1] = value
    scores = [
        1 - model().fit(rows[:n], targets[:n], shuffle=False).score(X, targets)
        for rows in (wrong, X)
        for n in (200, 2000)
    ]
    assert scores[0] < 1.5 * scores[2] + 0.02
    assert scores[1] < 1.5 * scores[3] + 0.02
