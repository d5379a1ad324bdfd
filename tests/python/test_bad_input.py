"""Input that is bad, or merely odd: a clear error and an unchanged model, or the right answer."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

import kernelstream as ks
from kernelstream.estimators.validation import located_error
from kernelstream.exceptions import DataError
from kernelstream.supervised.learning import _naming_the_filling_of_gaps


class Polars:
    """A data frame as polars has them, whose dates numpy takes for numbers."""

    def __init__(self, array, dtypes):
        self.array, self.dtypes, self.columns = array, dtypes, list("abc")
        self.shape = array.shape

    def __array__(self, dtype=None, copy=None):
        return self.array

    def __getitem__(self, name):
        return self.array[:, self.columns.index(name)]


X, Y = np.random.default_rng(0).uniform(-1, 1, (20, 3)), np.linspace(0, 1, 20)


def with_value(array, place, value):
    changed = array.copy()
    changed[place] = value
    return changed


BAD_ROWS = {
    "nan": (with_value(X, (3, 1), np.nan), r"NaN at row 3, column 1"),
    "infinity": (with_value(X, (19, 2), np.inf), r"inf at row 19, column 2"),
    "minus infinity": (with_value(X, (0, 0), -np.inf), r"-inf at row 0, column 0"),
    "too wide": (np.ones((20, 4)), "4 features"),
    "too narrow": (np.ones((20, 2)), "2 features"),
    "no columns": (np.ones((20, 0)), "0 feature"),
    "no rows": (np.ones((0, 3)), "0 sample"),
    "empty list": ([], "array|sample"),
    "one row flat": (np.ones(3), "2D array"),
    "scalar": (1.0, "scalar|2D"),
    "three-dimensional": (np.ones((20, 3, 2)), "dim 3"),
    "strings": (np.full((20, 3), "word"), "row 0, column 0 is 'word', which is no number"),
    "string list": ([["a", "b", "c"]] * 20, "row 0, column 0 is 'a', which is no number"),
    "complex": (X + 1j, "[Cc]omplex"),
    "objects": (np.full((20, 3), object()), "float|number"),
    "object words": (with_value(X.astype(object), (2, 2), "word"), "word"),
    "None": (None, "array|None"),
    "dates": (np.full((20, 3), np.datetime64("2020-01-01")), "datetime64|DType|dtype"),
    "ragged": ([[1.0, 2.0, 3.0]] * 19 + [[1.0]], "shape|sequence"),
    "huge": (with_value(X, (5, 0), 1e200), "row 5"),
}
NAMED = pd.DataFrame(X, columns=list("abc"))
# Bad for a model whose first rows were an array of numbers, and right as first rows.
FRAMES = {
    "dates beside numbers",
    "dates of polars",
    "dates of Arrow",
    "objects of dates",
    "text beside numbers",
}
BAD_ROWS |= {
    "masked": (np.ma.array(X, mask=X[4, 1] < X), r"X is masked at row \d+, column \d"),
    "dates beside numbers": (NAMED.assign(t=pd.Timestamp(0)), "column 't' .* dates"),
    "dates of polars": (
        Polars(X, ["Float64", "Date", "Float64"]),
        r"column 'b' .*dates.* \(Date\)",
    ),
    "dates of Arrow": (pa.table({"t": [date(2020, 1, 1)] * 20, "n": Y}), "column 't' .* dates"),
    "objects of dates": (NAMED.assign(t=date(2020, 1, 1)), r"column 't' .*date\(2020"),
    "lazy frame": (type("Lazy", (), {"collect": None})(), "Lazy, which is not computed yet"),
    "text beside numbers": (NAMED.assign(t="word"), "column 't' .*'word' at row 0"),
}
BAD_TARGETS = {
    "nan": (with_value(Y, 7, np.nan), r"y contains NaN at row 7"),
    "infinity": (with_value(Y, 7, np.inf), r"y contains inf at row 7"),
    "too short": (Y[:19], "inconsistent|rows"),
    "too long": (np.ones(21), "inconsistent|rows"),
    "two targets": (np.ones((20, 2)), "2 columns|outputs|targets"),
    "no targets": (np.ones((20, 0)), "0 feature|columns"),
    "strings": (np.full(20, "word"), "'word' at row 0.*KernelClassifier"),
    "some strings": (pd.Series([*Y[:19], "word"]), "'word' at row 19.*KernelClassifier"),
    "categories": (pd.Series(["word"] * 20, dtype="category"), "KernelClassifier"),
    "masked": (np.ma.array(Y, mask=Y > 0.5), "y is masked at row 10: "),
    "dates": (pd.Series(pd.Timestamp(0), range(20)), "datetime64"),
    "complex": (Y + 1j, "[Cc]omplex"),
    "None": (None, "requires y"),
    "objects": (np.full(20, object()), "float|number"),
    "scalar": (1.0, "0|scalar|dim"),
    "sparse": (sparse.csr_matrix(Y[:, None]), "[Ss]parse"),
    "three-dimensional": (np.ones((20, 1, 1)), "dim 3"),
}


@pytest.fixture
def learned():
    return ks.KernelRegressor(ks.Gaussian(0.8), scale=False).fit(X[::-1], Y)


def state(model):
    attributes = {name: value for name, value in vars(model).items() if name != "_core"}
    return repr(attributes), model._core.to_bytes()


@pytest.mark.filterwarnings("ignore:X (has|does not have).*feature names")
@pytest.mark.parametrize("name", BAD_ROWS)
@pytest.mark.parametrize(
    "method", ["fit", "partial_fit", "partial_fit_predict", "predict", "transform"]
)
def test_bad_rows(name, method, learned):
    rows, complaint = BAD_ROWS[name]
    if method == "fit" and name in {"too wide", "too narrow"} | FRAMES:
        pytest.skip("fit starts again, with any columns")
    before = state(learned)
    with pytest.raises((ValueError, TypeError), match=complaint):
        getattr(learned, method)(rows, *([] if method in {"predict", "transform"} else [Y]))
    assert state(learned) == before


@pytest.mark.parametrize("name", BAD_TARGETS)
@pytest.mark.parametrize("method", ["fit", "partial_fit", "partial_fit_predict"])
def test_bad_targets(name, method, learned):
    targets, complaint = BAD_TARGETS[name]
    if method == "fit" and name == "two targets":
        pytest.skip("fit starts again, with any number of targets")
    before = state(learned)
    with pytest.raises((ValueError, TypeError), match=complaint):
        getattr(learned, method)(X, targets)
    assert state(learned) == before


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_first_rows_leave_the_model_new(name):
    rows, complaint = BAD_ROWS[name]
    if name in {"too wide", "too narrow"} | FRAMES:
        pytest.skip("the first rows may have any columns")
    model = ks.KernelRegressor(scale=False)
    with pytest.raises((ValueError, TypeError), match=complaint):
        model.partial_fit(rows, Y)
    assert not hasattr(model, "n_features_in_")
    assert not hasattr(model, "n_seen_")


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([0.0, np.nan, 0.0], 1.0),
        ([0.0, 0.0, np.inf], 1.0),
        ([0.0, 0.0], 1.0),
        ([0.0] * 4, 1.0),
        ([], 1.0),
        (np.zeros((1, 3)), 1.0),
        (np.float64(1.0), 1.0),
        (np.zeros(3, complex), 1.0),
        (["a", "b", "c"], 1.0),
        ("abc", 1.0),
        (None, 1.0),
        (np.zeros(3), np.nan),
        (np.zeros(3), -np.inf),
        (np.zeros(3), "one"),
        (np.zeros(3), None),
        (np.zeros(3), 1j),
        (np.zeros(3), [1.0, 2.0]),
        (np.zeros(3), []),
        (np.ma.array([0.0, 1.0, 2.0], mask=[0, 1, 0]), 1.0),
    ],
)
def test_bad_single_rows(x, y, learned):
    before = state(learned)
    with pytest.raises((ValueError, TypeError)):
        learned.learn_one(x, y)
    assert state(learned) == before
    new = ks.KernelRegressor(scale=False)
    try:
        new.learn_one(x, y)
    except (ValueError, TypeError):
        assert not hasattr(new, "n_seen_")


@pytest.mark.parametrize("method", ["predict_one", "learn_one"])
def test_errors_of_single_rows_name_the_cause(method, learned):
    rest = [0.0] if method == "learn_one" else []
    with pytest.raises(ValueError, match="NaN"):
        getattr(learned, method)(np.array([0.0, np.nan, 0.0]), *rest)
    with pytest.raises(ValueError, match="2"):
        getattr(learned, method)(np.zeros(2), *rest)


@pytest.mark.parametrize("model", [ks.KernelRegressor(), ks.KernelClassifier(scale=False)])
def test_a_masked_value_is_refused_everywhere(model):
    masked = np.ma.array(X[0], mask=[False, True, False])
    table = ks.KernelRegressor()
    model.fit(X, np.arange(20) % 2)
    for call in (
        lambda: model.predict_one(masked),
        lambda: model.learn_one(masked, 1),
        lambda: model.partial_fit(X, np.ma.array(np.arange(20) % 2, mask=Y > 0.9)),
        lambda: model.partial_fit(X, np.arange(20) % 2, sample_weight=np.ma.array(Y, mask=Y > 0.9)),
        lambda: ks.Koopman().fit(X, np.ma.array(X, mask=X > 0)),
        lambda: table.partial_fit(np.ma.array(X, mask=X > 0), Y),
        lambda: table.partial_fit({"a": np.ma.array(Y, mask=Y > 0), "b": Y, "c": Y}, Y),
        lambda: ks.Koopman(n_inputs=1).fit(X, X, inputs=np.ma.array(Y, mask=Y > 0.9)),
    ):
        with pytest.raises(ValueError, match="is masked at row"):
            call()
    assert model.n_seen_ == 20


def test_checks_ignore_names_of_columns():
    frame = pd.DataFrame(X, columns=["collect", "column_names", "schema"])
    assert ks.KernelRegressor(scale=False).fit(frame, Y).n_seen_ == 20


def unaligned(array):
    raw = np.zeros(array.nbytes + 1, np.uint8)
    view = np.ndarray(array.shape, array.dtype, raw.data, offset=1)
    view[...] = array
    return view


ODD_FORMS = {
    "lists": lambda a: a.tolist(),
    "tuples": lambda a: tuple(map(tuple, a)) if a.ndim == 2 else tuple(a),
    "fortran order": np.asfortranarray,
    "negative strides": lambda a: a[::-1].copy()[::-1],
    "negative strides both ways": lambda a: np.flip(np.flip(a).copy()),
    "every other element": lambda a: np.repeat(a, 2, axis=0)[::2],
    "strided columns": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "read-only": lambda a: np.frombuffer(a.tobytes()).reshape(a.shape),
    "big endian": lambda a: a.astype(">f8"),
    "unaligned": unaligned,
    "objects": lambda a: a.astype(object),
    "extended precision": lambda a: a.astype(np.longdouble),
    "memoryview": memoryview,
    "masked array without a mask": np.ma.asarray,
    "data frame": lambda a: pd.DataFrame(a) if a.ndim == 2 else pd.Series(a),
    "matrix subclass": lambda a: a.view(type("Special", (np.ndarray,), {})),
}


@pytest.mark.parametrize("form", ODD_FORMS)
def test_unusual_valid_input_is_learned_correctly(form):
    change = ODD_FORMS[form]
    model = ks.KernelRegressor(ks.Gaussian(0.8), scale=False).fit(change(X), change(Y))
    expected = ks.KernelRegressor(ks.Gaussian(0.8), scale=False).fit(X, Y)
    np.testing.assert_array_equal(model.predict(change(X)), expected.predict(X))
    np.testing.assert_array_equal(model.dictionary_, expected.dictionary_)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint16, bool])
def test_other_number_types_are_taken_at_their_value(dtype):
    rows = (np.abs(X) * 3).astype(dtype)
    targets = (Y * 9).astype(dtype)
    model = ks.KernelRegressor(scale=False).fit(rows, targets)
    expected = ks.KernelRegressor(scale=False).fit(rows.astype(float), targets.astype(float))
    np.testing.assert_array_equal(model.predict(rows), expected.predict(rows.astype(float)))


def test_broadcast_rows_are_read_right():
    rows = np.broadcast_to(np.array([[0.1, 0.2, 0.3]]), (5, 3))
    model = ks.KernelRegressor(learner=ks.Ridge(1e-8), scale=False).fit(rows, np.full(5, 2.0))
    assert model.n_stored_ == 1
    assert model.predict([[0.1, 0.2, 0.3]])[0] == pytest.approx(2.0)


def test_the_callers_arrays_are_neither_kept_nor_changed():
    rows, targets = X.copy(), Y.copy()
    model = ks.KernelRegressor(ks.Gaussian(0.8), scale=False).fit(rows, targets)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(targets, Y)
    before = model.predict(X)
    rows[:] = 7.0
    targets[:] = 7.0
    np.testing.assert_array_equal(model.predict(X), before)


def test_repeated_and_constant_rows_are_normal_input():
    rows = np.zeros((50, 2))
    model = ks.KernelRegressor(scale=False).fit(rows, np.arange(50.0))
    assert model.n_stored_ == 1
    assert np.isfinite(model.predict(rows)).all()


@pytest.mark.parametrize("form", ["objects", "list", "texts"])
@pytest.mark.parametrize(
    "model", [ks.KernelRegressor(), ks.KernelExperts(effort="low"), ks.Koopman()], ids=repr
)
def test_texts_in_arrays_are_named_with_a_remedy(model, form):
    frame = pd.DataFrame(X).assign(flag=np.array(["1", "yes", "no", "yes"])[np.arange(20) % 4])
    rows = frame.to_numpy()
    rows = {"objects": rows, "list": rows.tolist(), "texts": rows.astype(str)}[form]
    remedy = "leave it out" if isinstance(model, ks.Koopman) else r"columns=\{3: 'category'\}"
    what = "row 1, column 3 is 'yes', which is no number"
    with pytest.raises(ValueError, match=f"{what}: .*{remedy}"):
        model.fit(rows, None if isinstance(model, ks.Koopman) else Y)


@pytest.mark.parametrize("form", ["objects", "list"])
def test_numbers_in_arrays_are_not_looked_at_one_by_one(form, monkeypatch):
    rows = X.astype(object) if form == "objects" else X.tolist()
    model = ks.KernelRegressor().fit(X, Y)
    monkeypatch.setattr(np, "ndindex", lambda *_: pytest.fail("every entry is looked at"))
    with pytest.raises(ValueError, match="features"):
        model.predict([row[:2] for row in rows])


def test_the_remedy_for_texts_in_arrays_works():
    rows = pd.DataFrame(X).assign(flag=["yes", "no"] * 10).to_numpy()
    model = ks.KernelRegressor(columns={3: "category"}).fit(rows, Y)
    assert model.columns_["3"] == "category"


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("model", [ks.KernelRegressor, ks.KernelExperts])
def test_gaps_in_arrays_have_the_remedy_of_those_in_frames(model, shuffle):
    X = np.random.default_rng(0).normal(size=(100, 2))
    y, X[7, 1] = X[:, 0].copy(), np.nan
    message = 'X contains NaN at row 7, column 1: .* before learning, as missing="fill" does$'
    with pytest.raises(DataError, match=message) as caught:
        model().fit(X, y, shuffle=shuffle)
    assert (caught.value.row, caught.value.column) == (7, 1)
    model(missing="fill").fit(X, y, shuffle=shuffle)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_errors_about_gaps_alone_name_what_fills_them(form, shuffle):
    for value, fills in ((np.nan, True), (np.inf, False), (1e200, False)):
        rows = X.copy()
        rows[7, 1] = value
        with pytest.raises(DataError, match="row 7") as caught:
            ks.KernelRegressor(scale=False).fit(form(rows), Y, shuffle=shuffle)
        assert (caught.value.array, caught.value.row, caught.value.column) == ("X", 7, 1)
        assert str(caught.value).endswith(', as missing="fill" does') == fills
    targets = Y.copy()
    targets[7] = np.nan
    with pytest.raises(DataError) as caught:
        ks.KernelRegressor().fit(X, targets)
    assert "missing" not in str(caught.value)


def test_gaps_are_recognized_by_their_cell_whatever_the_core_says():
    rows = np.array([[0.0, np.nan]])
    for column, fills in ((1, True), (0, False)):
        with pytest.raises(DataError) as caught, _naming_the_filling_of_gaps(rows):
            raise located_error("X: other words", "X", 0, column)
        assert str(caught.value) == "X: other words" + ', as missing="fill" does' * fills


@pytest.mark.parametrize(
    ("model", "classifier"),
    [(ks.KernelRegressor(), "KernelClassifier"), (ks.KernelExperts(), "KernelExpertsClassifier")],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_labels_as_numbers_name_the_classifier_of_the_same_kind(model, classifier, method):
    X = np.linspace(-1, 1, 40)[:, None]
    with pytest.raises(ValueError, match=rf"strings.*for labels use {classifier}$"):
        getattr(model, method)(X, np.where(X[:, 0] > 0, "a", "b"))
