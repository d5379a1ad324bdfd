"""Models that standardize their columns as the stream begins."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

import kernelstream as ks
from modelbytes import pack, unpack
from realdata import random_stream, table

RAW, Y = random_stream(600, 3)
X = RAW * [1e4, 1e-3, 1.0] + [5e4, 0.0, -7.0]
LABELS = np.array(["low", "high"])[(Y > 0.7).astype(int)]


def models():
    return [
        (ks.KernelRegressor(n_warm_up=200), Y, {}),
        (ks.KernelClassifier(n_warm_up=200), LABELS, {"classes": ["high", "low"]}),
    ]


@pytest.mark.parametrize(("model", "y", "options"), models(), ids=["numbers", "labels"])
def test_after_the_warm_up_it_is_the_model_on_standardized_rows(model, y, options):
    model.partial_fit(X, y, **options)
    scaler = StandardScaler().fit(X[:200])
    plain = clone(model).set_params(scale=False)
    plain.partial_fit(scaler.transform(X), y, **options)
    rows = scaler.transform(X)
    assert model.n_seen_ == 600
    np.testing.assert_allclose(model.scales_, np.c_[scaler.mean_, scaler.scale_], rtol=1e-9)
    assert plain.scales_ is None
    assert model.n_stored_ == plain.n_stored_
    np.testing.assert_array_equal(model.predict(X), plain.predict(rows)) if options else (
        np.testing.assert_allclose(model.predict(X), plain.predict(rows), atol=1e-9)
    )
    assert model.score(X, y) == pytest.approx(plain.score(rows, y))
    assert is_classifier(model) == bool(options)
    assert is_regressor(model) != bool(options)
    assert hasattr(model, "predict_proba") == bool(options)
    if options:
        np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(rows), atol=1e-9)
        np.testing.assert_allclose(
            model.decision_function(X), plain.decision_function(rows), atol=1e-9
        )
        assert model.classes_.tolist() == ["high", "low"]


@pytest.mark.parametrize(("model", "y", "options"), models(), ids=["numbers", "labels"])
def test_predictions_look_at_no_row_to_come(model, y, options):
    said = model.partial_fit_predict(X, y, **options)
    for stop in (1, 2, 3, 17, 128, 199, 200, 201, 450):
        early = clone(model).partial_fit_predict(X[:stop], y[:stop], **options)
        if options:
            np.testing.assert_array_equal(said[:stop], early)
        else:
            np.testing.assert_allclose(said[:stop], early, atol=1e-8)


@pytest.mark.parametrize(("model", "y", "options"), models(), ids=["numbers", "labels"])
def test_any_chunking_single_rows_and_files_give_one_model(model, y, options, tmp_path):
    whole = clone(model).partial_fit(X, y, **options)
    for cuts in ([1, 2, 3, 150, 600], [199, 200, 600], [50, 321, 600]):
        parts = clone(model)
        for i, (start, stop) in enumerate(itertools.pairwise([0, *cuts])):
            parts.partial_fit(X[start:stop], y[start:stop], **({} if i else options))
            parts.save(tmp_path / "model")
            parts = [
                ks.load(tmp_path / "model"),
                copy.deepcopy(parts),
                pickle.loads(pickle.dumps(parts)),
            ][i % 3]
        np.testing.assert_array_equal(parts.dictionary_, whole.dictionary_)
        np.testing.assert_array_equal(
            parts.predict(X[:50]), whole.predict(X[:50])
        ) if options else (
            np.testing.assert_allclose(parts.predict(X[:50]), whole.predict(X[:50]), atol=1e-8)
        )
    single = clone(model)
    for x, target in zip(X[:300], y[:300], strict=True):
        single.learn_one(x, target, **({"classes": ["high", "low"]} if options else {}))
    assert single.n_seen_ == 300
    third = clone(model).partial_fit(X[:300], y[:300], **options)
    for x in X[300:320]:
        if options:
            assert single.predict_one(x) == third.predict_one(x)
        else:
            assert single.predict_one(x) == pytest.approx(third.predict_one(x), abs=1e-8)


@pytest.mark.parametrize("n_rows", [0, 50, 400])
@pytest.mark.parametrize(("model", "y", "options"), models(), ids=["numbers", "labels"])
def test_bad_rows_are_named_in_errors_and_change_nothing(model, y, options, n_rows):
    model = clone(model)
    if n_rows:
        model.partial_fit(X[:n_rows], y[:n_rows], **options)
    before = pickle.dumps(model)
    rows, targets = X[:100].copy(), y[:100].astype(object if options else float)
    rows[77, 1] = np.nan
    with pytest.raises(ValueError, match="NaN at row 77, column 1"):
        model.partial_fit(rows, y[:100], **options)
    targets[78] = "lower" if options else np.nan
    with pytest.raises(ValueError, match="at row 78"):
        model.partial_fit(X[:100], targets, **options)
    with pytest.raises(ValueError, match="inconsistent"):
        model.partial_fit(X[:100], y[:99], **options)
    if n_rows:
        with pytest.raises(ValueError, match="2 features"):
            model.partial_fit(X[:100, :2], y[:100])
        for x in (X[0, :2], [np.nan] * 3):
            with pytest.raises(ValueError, match=r"NaN|2 columns"):
                model.learn_one(x, y[0])
            with pytest.raises(ValueError, match=r"NaN|2 columns"):
                model.predict_one(x)
    assert pickle.dumps(model) == before


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.SentinelWarning")
@pytest.mark.parametrize("n_rows", [0, 50, 190, 400])
def test_errors_found_in_learning_name_the_row_of_the_call(n_rows):
    model = ks.KernelRegressor(n_warm_up=200)
    if n_rows:
        model.partial_fit(X[:n_rows], Y[:n_rows])
    before = pickle.dumps(model)
    rows, targets = X[:100].copy(), Y[:100].astype(object)
    rows[77] = 1e200
    with pytest.raises(ValueError, match=r"X (contains inf )?at row 77"):
        model.partial_fit(rows, Y[:100])
    for bad, complaint in (
        (1e60, "y at row 78 is too large"),
        (np.nan, "y contains NaN at row 78"),
    ):
        targets[78] = bad
        with pytest.raises(ValueError, match=complaint):
            model.partial_fit_predict(X[:100], targets)
        with pytest.raises(ValueError, match=complaint):
            clone(model).fit(X[:100], targets)
    assert pickle.dumps(model) == before


def test_a_row_that_cannot_be_learned_again_is_named():
    # So long a step that two rows which see each other are one too many. On the scale of the first
    # two rows none does; on that of all four the first two are one point.
    rows, y = np.array([[0.0], [1.0], [1e6], [2e6]]), np.ones(4)
    model = ks.KernelRegressor(ks.Gaussian(0.1), learner=ks.Gradient(step=1e50))
    with pytest.raises(ValueError, match="diverge at row 1"):
        clone(model).fit(rows, y)
    model.partial_fit(rows[:2], y[:2])
    with pytest.raises(ValueError, match=r"rows of earlier calls .* 4 rows: .* diverge at row 1"):
        model.partial_fit(rows[2:], y[2:])
    assert model.n_seen_ == 2
    # A row that sees another one, the first of this call and the third of the other.
    with pytest.raises(ValueError, match="diverge at row 0"):
        model.partial_fit(rows[[1, 2]], y[:2])
    with pytest.raises(ValueError, match="diverge at row 2"):
        clone(model).fit(rows[[0, 1, 1, 2]], y)


@pytest.mark.parametrize(
    ("model", "rows", "y", "complaint"),
    [
        (ks.KernelRegressor(), [[np.nan], [1.0]], [1.0, 2.0], "NaN"),
        (ks.KernelClassifier(), [[0.0], [1.0]], ["a", "b"], "classes="),
        (ks.KernelRegressor(n_warm_up=0), [[0.0], [1.0]], [1.0, 2.0], "n_warm_up"),
    ],
)
def test_a_bad_first_batch_fixes_no_scale(model, rows, y, complaint):
    with pytest.raises(ValueError, match=complaint):
        model.partial_fit_predict(rows, y)
    for call in (lambda: model.predict(rows), lambda: model.scales_, lambda: model.save("never")):
        with pytest.raises(NotFittedError):
            call()


def test_names_of_columns():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = ks.KernelRegressor().partial_fit(frame, pd.Series(Y))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])


def warming_up(path):
    ks.KernelRegressor().partial_fit(RAW[:50], Y[:50]).save(path)
    return unpack(path.read_bytes())


@pytest.mark.parametrize(
    "wrong", [{"estimator": "Popen"}, {"params": 7}, {"feature_names": 7}, {"feature_names": ["a"]}]
)
def test_damaged_files_are_refused(wrong, tmp_path):
    config, arrays = warming_up(tmp_path / "model")
    (tmp_path / "bad").write_bytes(pack(config | {"extra": config["extra"] | wrong}, arrays))
    with pytest.raises(ks.ModelFileError, match=r"KernelRegressor|Popen"):
        ks.load(tmp_path / "bad")


@pytest.mark.parametrize(
    "wrong",
    [
        {"columns.state": np.zeros((1, 12))},
        {"columns.state": np.ones((1, 11))},
        {"columns.lengths": np.array([4, 4], np.uint64)},
        {"columns.lengths": np.array([1 << 40, 4, 4], np.uint64)},
        {"warm_up.x": RAW[:49]},
        {"warm_up.x": np.full((50, 3), 1e60)},
        {"warm_up.y": Y[:49, None]},
        {"warm_up.weights": np.ones((1, 49))},
        {"warm_up.weights": -np.ones((1, 50))},
        {"warm_up.gaps": np.array([0], np.uint64)},
        {"warm_up.gaps": np.array([150], np.uint64)},
        *({name: None} for name in ("model", "warm_up.x", "warm_up.weights", "columns.state")),
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_damaged_columns_are_refused(wrong, tmp_path):
    config, arrays = warming_up(tmp_path / "model")
    arrays = {name: a for name, a in (arrays | wrong).items() if a is not None}
    (tmp_path / "bad").write_bytes(pack(config, arrays))
    with pytest.raises(ks.ModelFileError):
        ks.load(tmp_path / "bad")


def test_an_outlier_in_the_warm_up_is_named_and_changes_nothing():
    model = ks.KernelRegressor().partial_fit(X[:50], Y[:50])
    before = pickle.dumps(model)
    rows = X[:100].copy()
    rows[77, 1] = 1e300
    for learn in (model.partial_fit, clone(model).fit):
        with pytest.raises(ValueError, match=r"row 77, column 1 is too large \(1\.000e300\)"):
            learn(rows, Y[:100])
    with pytest.raises(ValueError, match="row 0, column 1 is too large"):
        model.learn_one(rows[77], 0.0)
    assert pickle.dumps(model) == before


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
def test_a_column_constant_in_the_warm_up_is_scaled_when_it_first_varies():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, size=(1500, 2))
    rows[:300, 1] = 0.3
    y = np.sin(3 * rows.sum(axis=1))
    rows[:, 1] *= 1e6
    model = ks.KernelRegressor(n_warm_up=200)
    # Until columns are compared with their scale, at twice the warm-up, by its first difference.
    first = clone(model).partial_fit(rows[:350], y[:350])
    assert first.scales_[1, 1] == abs(rows[300, 1] - 0.3e6)
    with pytest.warns(ks.exceptions.MovedColumnsWarning, match="column 1 has left"):
        said = model.partial_fit_predict(rows, y)
    assert np.sqrt(np.mean((said - y)[1000:] ** 2)) < 0.05
    # Row by row, and in parts that end there, it is the same model.
    for cuts in ([299, 300, 301, 1500], [150, 700, 1500]):
        parts = clone(model)
        for start, stop in itertools.pairwise([0, *cuts]):
            parts.partial_fit(rows[start:stop], y[start:stop])
        np.testing.assert_allclose(parts.predict(rows), model.predict(rows), atol=1e-8)


def test_an_error_leaves_a_constant_column_unscaled():
    rows, y = X[:300].copy(), Y[:300].copy()
    rows[:, 1] = 7.0
    model = ks.KernelRegressor(n_warm_up=100).partial_fit(rows, y)
    before = pickle.dumps(model)
    rows[5, 1], y[250] = 9.0, np.nan
    with pytest.raises(ValueError, match="y contains NaN at row 250"):
        model.partial_fit(rows, y)
    with pytest.raises(ValueError, match="NaN"):
        model.learn_one(rows[5], np.nan)
    assert pickle.dumps(model) == before


def test_spam_is_classified_by_logarithms():
    rows, y = table("spambase")["X"], table("spambase")["y"].ravel()
    order = np.random.default_rng(0).permutation(len(y))
    logarithms = {key: {"type": "number", "logarithm": True} for key in range(rows.shape[1])}
    model = ks.KernelClassifier(basis=ks.ALD(max_size=100), columns=logarithms)
    said = model.partial_fit_predict(rows[order], y[order], classes=[-1, 1])
    assert np.mean(said != y[order]) < 0.085


def test_transform_gives_coordinates_of_rows_on_their_scale():
    model = ks.KernelRegressor(basis=ks.ALD(max_size=20), n_warm_up=200).fit(RAW, Y)
    coordinates = model.transform(RAW)
    mean, deviation = model.scales_.T
    plain = clone(model).set_params(scale=False).fit((RAW - mean) / deviation, Y)
    np.testing.assert_allclose(coordinates, plain.transform((RAW - mean) / deviation), atol=1e-9)
    frame = model.set_output(transform="pandas").transform(RAW)
    assert list(frame.columns) == [f"kernelregressor{i}" for i in range(20)]


def test_one_outlier_in_the_warm_up_does_not_spoil_the_scale():
    for outlier in (1e7, 1e20):
        rows = RAW.copy()
        rows[5, 0] = outlier * RAW[:, 0].std()
        model = ks.KernelRegressor().fit(rows, Y)
        first = np.delete(RAW[:500, 0], 5)
        assert model.scales_[0, 0] == pytest.approx(first.mean())
        assert model.scales_[0, 1] == pytest.approx(first.std())


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("order", ["random", "rising"])
@pytest.mark.parametrize("value", [1e30, -1e30])
@pytest.mark.parametrize("missing", ["error", "fill"])
@pytest.mark.parametrize("model", [ks.KernelRegressor, ks.KernelClassifier])
def test_a_cell_that_is_too_large_is_named_with_its_column(model, missing, value, order):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    X = X[np.argsort(X[:, 0])] if order == "rising" else X
    y = X[:, 1] > 0
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    shop = pd.Series(["north", "south"] * 350)
    frame.insert(1, "shop", shop)
    learned = model(missing=missing).fit(frame, y)
    for row in (60, 650):
        bad = frame.copy()
        bad.loc[row, "b"] = value
        found = (
            rf'X at row {row}, column "b" is too large .{value / 1e30:.3f}e30, .e\d\d standard '
            "deviations from the mean of the rows before.: correct it, or leave the row out"
        )
        for call in (
            lambda bad=bad: model(missing=missing).fit(bad, y, shuffle=False),
            lambda bad=bad: learned.predict(bad),
        ):
            with pytest.raises(ks.exceptions.DataError, match=found) as caught:
                call()
            assert (caught.value.row, caught.value.column) == (row, "b")
        with pytest.raises(ks.exceptions.DataError, match='column "b" is too large'):
            learned.predict_one(dict(bad.loc[row]))
        array = np.where(np.arange(700)[:, None] == row, [0.0, value, 0.0], X)
        with pytest.raises(ks.exceptions.DataError, match=f"row {row}, column 1 is too large"):
            model(missing=missing).fit(array, y)
        with pytest.raises(ks.exceptions.DataError, match=rf"row {row} is too .* in column 1.: co"):
            model(scale=False).fit(array, y)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("missing", ["error", "fill"])
@pytest.mark.parametrize("model", [ks.KernelRegressor, ks.KernelExperts])
def test_infinity_is_no_gap(model, missing):
    X = np.random.default_rng(0).normal(size=(100, 2))
    y, bad = X[:, 0], X.copy()
    bad[40, 1] = np.inf
    named = pd.DataFrame(bad, columns=["a", "b"])
    filled = ", make it NaN to have it filled," if missing == "fill" else ","
    with pytest.raises(ValueError, match=f'"b" is inf: correct it{filled} or leave the row out'):
        model(missing=missing).fit(named, y)
    with pytest.raises(ValueError, match="inf at row 40, column 1: correct it, or leave the row"):
        model(missing=missing).fit(bad, y)
    bad[40, 1] = np.nan
    if missing == "error":
        with pytest.raises(ValueError, match="column 1: remove the row, or fill the gap"):
            model().fit(bad, y)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("kernel", [ks.Gaussian(), ks.Polynomial(3)])
def test_how_far_a_cell_is_does_not_depend_on_the_kernel(kernel):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(700, 3)), columns=["a", "b", "c"])
    model = ks.KernelRegressor(kernel).fit(frame, frame["a"])
    frame.loc[60, "b"] = 3e40
    with pytest.raises(ks.exceptions.DataError, match=r'"b" is too large .3.000e40, 3e40 standard'):
        model.predict(frame)
