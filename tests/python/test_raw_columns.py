"""Raw columns: text, times, gaps and units straight into the four supervised estimators."""

from __future__ import annotations

import json
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import kernelstream as ks

N = 400
RNG = np.random.default_rng(0)
HOURS = np.arange(N)
FRAME = pd.DataFrame(
    {
        "when": pd.Timestamp("2026-03-02") + pd.to_timedelta(HOURS, unit="h"),
        "shop": RNG.choice(["north", "south"], N),
        "price": RNG.normal(1e4, 1e3, N),
        "open": RNG.random(N) < 0.5,
    }
)
SALES = (
    np.sin(HOURS * np.pi / 12)
    + (FRAME["shop"] == "north").to_numpy()
    + (FRAME["price"].to_numpy() - 1e4) / 1e3
)
LABELS = np.where(SALES > 0.5, "high", "low")
MODELS = {
    "regressor": (ks.KernelRegressor(n_warm_up=100), SALES),
    "classifier": (ks.KernelClassifier(n_warm_up=100), LABELS),
    "experts": (ks.KernelExperts(size=20, n_warm_up=100), SALES),
    "experts_classifier": (ks.KernelExpertsClassifier(size=20, n_warm_up=100), LABELS),
}
CARRIERS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "columns": lambda frame: {name: frame[name].to_numpy() for name in frame},
    "rows": lambda frame: frame.to_dict("records"),
}
ORDERS = {
    "shuffled": np.random.default_rng(1).permutation(N),
    "sorted": np.argsort(FRAME["price"].to_numpy()),
    "rising": np.argsort(SALES),
    "label_after_label": np.argsort(LABELS, kind="stable"),
    "near_duplicates": np.repeat(np.arange(N // 4), 4),
}

pytestmark = pytest.mark.filterwarnings("ignore:.*(predicted the latest rows|have risen).*")


def new(name):
    model, targets = MODELS[name]
    return clone(model), targets


def begin(model, X, y):
    if hasattr(model, "predict_proba"):
        return model.partial_fit(X, y, classes=["high", "low"])
    return model.partial_fit(X, y)


@pytest.mark.parametrize("name", MODELS)
def test_frames_of_all_libraries_give_the_same_model(name):
    frame = FRAME.copy()
    frame.loc[5, "shop"] = None
    frame.loc[7, "price"] = np.nan
    predictions = []
    for carry in CARRIERS.values():
        model, y = new(name)
        model.set_params(missing="fill").fit(carry(frame), y)
        assert list(model.feature_names_in_) == list(frame.columns)
        assert model.columns_ == {
            "when": "time",
            "shop": "category",
            "price": "number",
            "open": "boolean",
        }
        predictions.append(model.predict(carry(frame[:50])))
        assert np.all(predictions[0] == predictions[-1])
    assert model.score(frame.to_dict("records"), y) > 0.8


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["regressor", "classifier"])
def test_any_chunking_of_any_order_gives_the_same_model(name, order):
    rows = ORDERS[order]
    frame, y = FRAME.iloc[rows], new(name)[1][rows]
    whole = begin(new(name)[0], frame, y)
    parts = new(name)[0]
    for start, stop in ((0, 1), (1, 64), (64, 65), (65, 130), (130, N)):
        begin(parts, frame[start:stop], y[start:stop])
    single = new(name)[0]
    begin(single, frame[:1], y[:1])
    for x, target in zip(frame[1:].to_dict("records"), y[1:], strict=True):
        single.learn_one(x, target)
    expected = whole.predict(FRAME)
    for model in (parts, single):
        assert model.n_stored_ == whole.n_stored_
        if name == "regressor":
            np.testing.assert_allclose(model.predict(FRAME), expected, atol=1e-10)
        else:
            assert np.all(model.predict(FRAME) == expected)


@pytest.mark.parametrize("name", MODELS)
def test_rows_are_predicted_before_the_warm_up_is_over(name):
    model, y = new(name)
    begin(model, FRAME[:30], y[:30])
    assert model.predict(FRAME[30:40]).shape == (10,)
    one, many = model.predict_one(FRAME.to_dict("records")[31]), model.predict(FRAME[31:32])[0]
    assert one == (many if isinstance(many, str) else pytest.approx(many, abs=1e-10))


@pytest.mark.parametrize("name", MODELS)
def test_models_of_frames_are_copied_pickled_and_saved(name, tmp_path):
    model, y = new(name)
    model.set_params(columns={"open": "category"}).fit(FRAME, y)
    model.save(tmp_path / "frame.model")
    row = FRAME.to_dict("records")[3]
    for again in (pickle.loads(pickle.dumps(model)), ks.load(tmp_path / "frame.model")):
        assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()
        assert again.columns_ == model.columns_
        assert again.predict_one(row) == model.predict_one(row)
        again.learn_one(row, y[3])
        assert np.all(clone(again).fit(FRAME, y).predict(FRAME) == model.predict(FRAME))


@pytest.mark.parametrize("name", MODELS)
def test_frames_go_through_pipelines_and_grids(name):
    model, y = new(name)
    rows = ORDERS["shuffled"][:200]
    pipeline = make_pipeline(FunctionTransformer(lambda X: X.drop(columns="open")), model)
    grid = {f"{type(model).__name__.lower()}__n_warm_up": [20, 100]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise")
    search.fit(FRAME.iloc[rows], y[rows])
    assert list(search.best_estimator_[-1].feature_names_in_) == ["when", "shop", "price"]


def test_units_do_not_matter():
    X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    plain, raw = ks.KernelRegressor().fit(X, y), ks.KernelRegressor().fit(X * [1e6, 1e-6], y)
    assert plain.score(X, y) > 0.99
    np.testing.assert_allclose(raw.predict(X * [1e6, 1e-6]), plain.predict(X), atol=1e-6)


def test_without_scaling_the_core_takes_numbers_as_they_are():
    X, y = FRAME[["price"]], SALES
    for rows in (X, X.to_numpy()):
        model = ks.KernelRegressor(scale=False).fit(rows, y)
        assert "columns" not in json.loads(model._core.spec)
    scaled = ks.KernelRegressor().fit(X, y)
    assert "columns" in json.loads(scaled._core.spec)
    np.testing.assert_array_equal(
        model.predict(X.to_numpy()), ks.KernelRegressor(scale=False).fit(X, y).predict(X)
    )


def test_a_number_may_be_a_category():
    zips = np.random.default_rng(0).integers(10_000, 10_008, 600)
    y = np.where(zips % 2 == 0, 3.0, -3.0)
    frame = pd.DataFrame({"zip": zips})
    model = ks.KernelRegressor(columns={"zip": "category"}).fit(frame, y)
    assert model.columns_ == {"zip": "category"}
    assert model.score(frame, y) > 0.99 > ks.KernelRegressor().fit(frame, y).score(frame, y)
    array = ks.KernelRegressor(columns={0: "category"}).fit(frame.to_numpy(), y)
    np.testing.assert_array_equal(array.predict(frame.to_numpy()), model.predict(frame))


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"zap": "category"}, "zap.*the columns are when, shop, price, open"),
        ({"shop": "colour"}, "column 'shop' the kind 'colour', which must be one of"),
        ({"shop": "categorical"}, "the kind 'categorical', .*; did you mean 'category'"),
        ({"shop": {"type": "cat"}}, "the kind {'type': 'cat'}, which must be one of"),
        ({"shop": None}, "the kind None, which must be one of"),
        ({"price": {"type": "number", "power": 2}}, "power"),
    ],
)
def test_wrong_kinds_are_refused(columns, complaint):
    model = ks.KernelRegressor(columns=columns)
    with pytest.raises(ValueError, match=complaint):
        model.fit(FRAME, SALES)
    assert not model.__sklearn_is_fitted__()


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("price", np.nan, 'row 3, column "price" is NaN: remove the row, or fill'),
        ("shop", None, 'row 3, column "shop" is NaN: remove the row, or fill'),
        ("price", "cheap", "row 3, column 'price' is 'cheap', which is no number"),
        ("when", "noon", "row 3, column 'when' is 'noon', which is no time"),
    ],
)
@pytest.mark.parametrize("model", MODELS)
def test_bad_cells_are_refused_by_row_and_column(model, name, value, complaint):
    estimator, y = new(model)
    begin(estimator, FRAME[:150], y[:150])
    before, bad = pickle.dumps(estimator), FRAME[150:160].astype({name: object})
    bad.iloc[3, list(FRAME.columns).index(name)] = value
    with pytest.raises(ValueError, match=complaint):
        begin(estimator, bad, y[150:160])
    assert pickle.dumps(estimator) == before
    with pytest.raises(ValueError, match=name):
        estimator.learn_one(bad.to_dict("records")[3], y[150])
    assert pickle.dumps(estimator) == before


def test_columns_of_a_frame_are_those_of_the_first_rows():
    model = ks.KernelRegressor().fit(FRAME, SALES)
    for wrong in (FRAME[["shop", "when", "price", "open"]], FRAME.drop(columns="shop")):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(wrong)
    with pytest.raises(ValueError, match="missing: price"):
        model.predict({name: FRAME[name] for name in ("when", "shop", "open")})
    with pytest.raises(TypeError, match="fitted on rows without"):
        ks.KernelRegressor().fit(FRAME[["price"]].to_numpy(), SALES).predict({"price": [1.0]})
    # By name, whatever their order.
    names = ("open", "price", "shop", "when")
    same = model.predict({name: FRAME[name] for name in names})
    np.testing.assert_array_equal(same, model.predict(FRAME))


@pytest.mark.parametrize("name", MODELS)
def test_importances_are_those_of_the_columns(name):
    frame = FRAME[["shop", "price"]].assign(noise=np.random.default_rng(3).normal(size=N) * 1e-3)
    y = SALES - np.sin(HOURS * np.pi / 12)
    model = new(name)[0]
    model.fit(frame, y if new(name)[1] is SALES else np.where(y > 0.5, "high", "low"))
    shares = dict(zip(model.feature_names_in_, model.feature_importances_, strict=True))
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["price"] > shares["noise"]
    # A single classifier compares rows by all columns alike.
    assert name == "classifier" or shares["shop"] > shares["noise"]


def test_gradients_are_in_units_of_the_columns():
    X = np.random.default_rng(0).uniform(-1, 1, size=(800, 2)) * [1e3, 1e-3]
    y = np.sin(X[:, 0] / 1e3) + X[:, 1] * 1e3
    model = ks.KernelRegressor().fit(X, y)
    rows, step = X[:20], np.array([1e-2, 1e-8])
    slopes = model.gradient(rows)
    for j in range(2):
        aside = np.eye(2)[j] * step[j]
        change = (model.predict(rows + aside) - model.predict(rows - aside)) / (2 * step[j])
        np.testing.assert_allclose(slopes[:, j], change, rtol=1e-3)
    with pytest.raises(ValueError, match="no gradient"):
        ks.KernelRegressor().fit(FRAME, SALES).gradient(FRAME[:3])


def test_sparse_rows_are_scaled_as_dense_ones():
    X = np.random.default_rng(0).binomial(1, 0.2, size=(300, 5)) * [1.0, 10.0, 100.0, 1.0, 5.0]
    y = X @ [1.0, 0.1, 0.01, -1.0, 0.0]
    dense, sparse = ks.KernelRegressor().fit(X, y), ks.KernelRegressor().fit(csr_array(X), y)
    np.testing.assert_array_equal(sparse.predict(csr_array(X)), dense.predict(X))


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"missing": "drop"}, 'missing must be "error" or "fill"'),
        ({"n_warm_up": 0}, "n_warm_up must be at least 1"),
    ],
)
@pytest.mark.parametrize("name", MODELS)
def test_parameters_out_of_range_are_refused(name, params, complaint):
    model, y = new(name)
    with pytest.raises(ValueError, match=complaint):
        model.set_params(**params).fit(FRAME, y)


@pytest.mark.filterwarnings("ignore:column 'level' has 300 categories")
@pytest.mark.parametrize("order", ["shuffled", "by_level", "by_target"])
@pytest.mark.parametrize(("levels", "least"), [(33, 0.98), (100, 0.98), (300, 0.4)])
def test_columns_of_many_categories_keep_them_apart(levels, least, order):
    rng = np.random.default_rng(levels)
    n = 4500
    level, a = rng.integers(levels, size=n), rng.normal(size=n)
    y = a + 2.0 * rng.normal(size=levels)[level] + 0.2 * rng.normal(size=n)
    rows = pd.DataFrame({"a": a, "level": [f"k{k}" for k in level]})
    keys = {"shuffled": np.arange(3000), "by_level": level[:3000], "by_target": y[:3000]}
    first = np.argsort(keys[order], kind="stable")
    model = ks.KernelRegressor().fit(rows.iloc[first], y[first])
    assert model.score(rows[3000:], y[3000:]) > least


@pytest.mark.parametrize("model", [ks.KernelRegressor(), ks.KernelExperts(effort="low")], ids=repr)
def test_more_categories_than_are_kept_apart_are_warned_of_once(model):
    rng = np.random.default_rng(0)
    level = np.concatenate([rng.integers(100, size=400), rng.integers(150, size=1000)])
    rows, y = pd.DataFrame({"a": rng.normal(size=1400)}), 1.0 * level
    rows["shop"] = [f"k{k}" for k in level]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for begin in range(0, 1400, 200):
            model.partial_fit(rows[begin : begin + 200], y[begin : begin + 200])
    messages = [str(one.message) for one in caught if "kept apart" in str(one.message)]
    assert len(messages) == 1
    assert re.match(r"column 'shop' has 1[3-5]\d categories so far, more than the 128", messages[0])
    assert ("'max_size': 256" in messages[0]) == hasattr(model, "learner")
    assert "combine rare categories" in messages[0]


@pytest.mark.filterwarnings("error:.*kept apart")
@pytest.mark.filterwarnings("ignore:column 'shop' is text with:UserWarning")
def test_few_categories_identifiers_and_chosen_sizes_are_not_warned_of():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=400), "shop": [f"k{i}" for i in range(400)]})
    ks.KernelRegressor().fit(frame, frame["a"])
    frame["shop"] = [f"k{i % 150}" for i in range(400)]
    kind = {"type": "category", "max_size": 100}
    ks.KernelRegressor(columns={"shop": kind}).fit(frame, frame["a"])
    frame["shop"] = [f"k{i % 128}" for i in range(400)]
    ks.KernelRegressor().fit(frame, frame["a"])


@pytest.mark.parametrize("n", [20, 30, 50, 63, 64])
@pytest.mark.parametrize("estimator", [ks.KernelRegressor, ks.KernelExperts])
def test_few_rows_that_come_category_by_category_are_shuffled(estimator, n):
    places = np.arange(n) * 6 // n
    means = np.array([14.0, 15.0, 2.0, 5.0, 3.5, 17.0])
    frame = pd.DataFrame({"town": [f"t{place}" for place in places]})
    model = estimator().fit(frame, means[places])
    others = pd.DataFrame({"town": [f"t{place}" for place in range(6)]})
    np.testing.assert_allclose(model.predict(others), means, atol=0.5)
    # Not where the order is said to be that of the stream, or of time.
    if n < 64:
        as_given = estimator().fit(frame, means[places], shuffle=False)
        timed = frame.set_index(pd.date_range("2024-01-01", periods=n, freq="D"))
        if n in (30, 50) and estimator is ks.KernelRegressor:
            assert np.abs(as_given.predict(others) - means).max() > 3.0
        dated = frame.assign(on=np.arange(n)).astype({"on": "datetime64[s]"})
        for rows in (timed, dated):
            model = estimator().fit(rows, means[places])
            given = estimator().fit(rows, means[places], shuffle=False)
            np.testing.assert_array_equal(model.predict(rows), given.predict(rows))


@pytest.mark.parametrize("order", ["shuffled", "by name", "by target"])
@pytest.mark.parametrize(
    "estimator",
    [ks.KernelRegressor, ks.KernelClassifier, ks.KernelExperts, ks.KernelExpertsClassifier],
)
def test_names_of_rows_have_no_effect(estimator, order, tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(900, 3)), columns=["a", "b", "c"])
    target = (np.sin(2 * frame["a"]) + frame["b"] * frame["c"]).to_numpy()
    names = pd.Series([f"customer {i:06}" for i in rng.permutation(10**6)[:900]])
    names[::30] = names[0]  # a few are the same
    if order == "by target":
        places = np.argsort(target)
    else:
        places = np.arange(900) if order == "shuffled" else np.argsort(names)
    frame, names, target = frame.iloc[places], names.iloc[places], target[places]
    y = target > 0 if "Classifier" in estimator.__name__ else target
    plain = estimator().fit(frame, y)
    with pytest.warns(UserWarning, match="'who' is text .* names rows, and has no effect"):
        named = estimator().fit(frame.assign(who=names.to_numpy()), y)
    assert named.feature_importances_[3] < 0.01
    later = pd.DataFrame(rng.normal(size=(500, 3)), columns=["a", "b", "c"])
    truth = (np.sin(2 * later["a"]) + later["b"] * later["c"]).to_numpy()
    others = later.assign(who=[f"customer {i}" for i in range(500)])
    if y.dtype == bool:
        errors = [
            np.mean(m.predict(X) != (truth > 0)) for m, X in ((plain, later), (named, others))
        ]
    else:
        errors = [np.std(m.predict(X) - truth) for m, X in ((plain, later), (named, others))]
    assert errors[1] < 1.25 * errors[0] + 0.02
    named.save(tmp_path / "model")
    np.testing.assert_array_equal(
        ks.load(tmp_path / "model").predict(others), named.predict(others)
    )


@pytest.mark.parametrize("name", MODELS)
def test_a_gap_names_the_parameter_that_fills_it(name):
    model, y = new(name)
    broken = FRAME.copy()
    broken.loc[3, "price"] = np.nan
    with pytest.raises(ks.exceptions.DataError, match='gap before learning, as missing="fill"'):
        model.fit(broken, y)
