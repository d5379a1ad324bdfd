"""Values of columns as data frames and rows carry them: one meaning, whatever carries them."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
import warnings
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

import kernelstream as ks
from kernelstream.columns.cells import cells_of, kind_of, zone_of
from kernelstream.estimators.sentinels import find_sentinel

N = 240
RNG = np.random.default_rng(3)
X = RNG.normal(size=N).round(2)
Y = np.sin(2 * X)
HOURS = pd.date_range("2026-03-20", periods=N, freq="h", tz="UTC")
DAY = np.sin(2 * np.pi * HOURS.tz_convert("Europe/Berlin").hour.to_numpy() / 24)
NUMBERS = [Decimal(str(x)) for x in X]


def table(**options):
    return ks.KernelRegressor(n_warm_up=50, **options)


FORMS = {
    "Decimal": NUMBERS,
    "Fraction": [Fraction(x) for x in NUMBERS],
    "decimal128": pd.Series(pd.array(NUMBERS, pd.ArrowDtype(pa.decimal128(12, 2)))),
    "Arrow": pa.chunked_array([pa.array(NUMBERS, pa.decimal128(12, 2))]),
    "float32": X.astype(np.float32),
    "numpy objects": np.array(list(X), dtype=object),
    "nullable": pd.Series(X).astype("Float64"),
}


@pytest.mark.parametrize("form", FORMS)
def test_numbers_of_every_type_are_numbers(form):
    expected = table().partial_fit({"x": X}, Y)
    model = table().partial_fit({"x": FORMS[form]}, Y)
    assert model.columns_ == {"x": "number"}
    tolerance = 1e-6 if form == "float32" else 1e-12
    found = model.predict({"x": FORMS[form]})
    np.testing.assert_allclose(found, expected.predict({"x": X}), atol=tolerance)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([Decimal("1.5"), None, Decimal("NaN")], "number"),
        ([dt.date(2024, 1, 1), None], "time"),
        ([pd.Timestamp("2024-01-01"), pd.NaT], "time"),
        ([Decimal("1.5"), "many"], "category"),
        ([True, None], "boolean"),
    ],
)
def test_kinds_follow_the_values(values, kind):
    assert kind_of(values) == kind
    assert np.isnan(cells_of(values, kind, "x")[1:]).all() or kind == "category"


def times():
    """One column of instants, as it comes from everywhere."""
    berlin = HOURS.tz_convert("Europe/Berlin")
    forms = {
        "pandas, Berlin": pd.Series(berlin),
        "pandas, UTC": pd.Series(HOURS),
        "pandas, New York": pd.Series(HOURS.tz_convert("America/New_York")),
        "ISO 8601 of UTC": [f"{when:%Y-%m-%dT%H:%M:%S}Z" for when in HOURS],
        "ISO 8601 with offsets": [when.isoformat() for when in berlin],
        "datetime": [when.to_pydatetime() for when in berlin],
        "datetime of UTC": [when.to_pydatetime() for when in HOURS],
        "Arrow, UTC": pa.chunked_array([pa.array(HOURS, pa.timestamp("us", "UTC"))]),
        "Arrow, Berlin": pa.chunked_array([pa.array(berlin, pa.timestamp("ms", "Europe/Berlin"))]),
    }
    polars = pytest.importorskip("polars")
    return forms | {"polars": polars.Series(berlin.to_pydatetime().tolist())}


FIRST = ["pandas, Berlin", "pandas, UTC", "datetime", "Arrow, Berlin", "ISO 8601 of UTC"]


@pytest.mark.parametrize("first", FIRST)
def test_one_instant_has_one_prediction(first, tmp_path):
    forms = times()
    model = table(columns={"when": "time"}).partial_fit({"when": forms[first]}, DAY)
    expected = model.predict({"when": forms[first]})
    model.save(tmp_path / "m")
    for again in (model, ks.load(tmp_path / "m")):
        for name, values in forms.items():
            found = again.predict({"when": values})
            np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=name)
        one = again.predict_one({"when": forms["datetime"][200]})
        assert one == pytest.approx(expected[200], abs=1e-12)


def test_the_zone_of_a_column_is_that_of_its_clocks():
    forms = times()
    berlin = forms["pandas, Berlin"]
    assert zone_of(berlin) == zone_of(forms["datetime"]) == "Europe/Berlin"
    assert zone_of(forms["pandas, UTC"]) == zone_of(X) == ""
    assert zone_of([dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5)))]) == ""
    # Across the change to summer time, its days are those of the wall clock.
    wall = berlin.dt.tz_localize(None).to_numpy().astype("datetime64[us]").astype(float) / 1e6
    np.testing.assert_allclose(cells_of(berlin, "time", "t", "Europe/Berlin"), wall)
    given = table(columns={"when": {"type": "time", "zone": "Asia/Tokyo"}})
    given.partial_fit({"when": forms["pandas, UTC"]}, DAY)
    noon = dt.datetime(2026, 3, 21, 12, tzinfo=ZoneInfo("Asia/Tokyo"))
    expected = given.predict_one({"when": "2026-03-21T12:00"})
    assert given.predict_one({"when": noon}) == pytest.approx(expected, abs=1e-12)


def test_names_are_compared_in_one_form_of_unicode():
    composed, decomposed = "gr\u00f6\u00dfe", "gro\u0308\u00dfe"
    model = table().partial_fit({composed: X}, Y)
    expected = model.predict({composed: X})
    np.testing.assert_array_equal(model.predict({decomposed: X}), expected)
    np.testing.assert_array_equal(model.predict([{decomposed: x} for x in X]), expected)


@pytest.mark.parametrize("names", [("NFC", "NFD"), ("NFD", "NFC")])
@pytest.mark.parametrize("carry", ["pandas", "pandas of Arrow", "polars", "Arrow"])
def test_frames_may_have_names_in_another_form_of_unicode(carry, names):
    def frame(form, **others):
        columns = {unicodedata.normalize(form, "größe"): X, "b": X**2} | others
        if carry == "polars":
            return pytest.importorskip("polars").DataFrame(columns)
        table_ = pa.table(columns)
        if carry == "pandas of Arrow":
            return table_.to_pandas(types_mapper=pd.ArrowDtype)
        return table_ if carry == "Arrow" else pd.DataFrame(columns)

    model = table().partial_fit(frame(names[0]), Y)
    expected = model.predict(frame(names[0]))
    np.testing.assert_array_equal(model.predict(frame(names[1])), expected)
    np.testing.assert_array_equal(model.predict(frame(names[1], sales=Y)), expected)
    model.partial_fit(frame(names[1]), Y)
    assert model.n_seen_ == 2 * len(X)


def test_names_may_be_numbers(tmp_path):
    frame = pd.DataFrame({0: X, 1: X**2})
    model = table().partial_fit(frame, Y)
    model.save(tmp_path / "m")
    again = ks.load(tmp_path / "m")
    np.testing.assert_allclose(again.predict(frame), model.predict(frame), atol=1e-12)
    assert model.predict_one({0: 0.5, 1: 0.25}) == again.predict_one({"0": 0.5, "1": 0.25})


@pytest.mark.parametrize("factor", [3.0, 10.0, 5000.0])
@pytest.mark.parametrize("where", ["first", "among", "last"])
@pytest.mark.parametrize("missing", ["error", "fill"])
def test_nothing_of_a_row_of_weight_0_is_used(missing, where, factor):
    rows = np.column_stack([X, RNG.normal(size=N)])
    weight = np.ones(N)
    weight[{"first": slice(60), "among": slice(None, None, 3), "last": slice(180, None)}[where]] = 0
    other = rows.copy()
    other[weight == 0] = factor * other[weight == 0] + 7.0
    models = [
        table(missing=missing).partial_fit(
            pd.DataFrame(given, columns=["a", "b"]), Y, sample_weight=weight
        )
        for given in (rows, other)
    ]
    found = [model.predict(pd.DataFrame(rows, columns=["a", "b"])) for model in models]
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(models[0].scales_, models[1].scales_)
    scaled = [
        ks.KernelRegressor().partial_fit(given, Y, sample_weight=weight).predict(rows)
        for given in (rows, other)
    ]
    np.testing.assert_array_equal(*scaled)


NAMED = pd.DataFrame({"größe": np.linspace(0, 9, 120), "w": np.cos(np.arange(120.0))})


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e60])
@pytest.mark.parametrize(
    "call",
    [
        lambda X: ks.KernelRegressor().fit(X, NAMED["w"]),
        lambda X: ks.KernelRegressor(scale=False).fit(X, NAMED["w"]),
        lambda X: ks.KernelExperts().fit(X, NAMED["w"]),
        lambda X: ks.KernelClassifier().fit(X, NAMED["w"] > 0),
        lambda X: ks.Koopman().fit(NAMED).predict(X),
        lambda X: ks.Koopman().partial_fit(X[:-1], X[1:]),
        lambda X: ks.KernelRegressor().fit(NAMED, X[["größe"]]),
        lambda X: ks.KernelRegressor().fit(NAMED, X["größe"]),
    ],
)
def test_numbers_that_are_not_finite_are_named_by_their_column(call, value):
    X = NAMED.copy()
    X.loc[70, "größe"] = value
    with pytest.raises(ValueError, match=r'row 70, column "größe" is (NaN|inf|too large)'):
        call(X)


@pytest.mark.parametrize("model", [ks.Koopman(), ks.Koopman(n_delays=2), ks.Forecaster((1,))])
def test_gaps_of_trajectories_are_named_by_their_column(model):
    T = NAMED.copy()
    T.loc[70, "w"] = np.nan
    with pytest.raises(ValueError, match='nan at row 70, column "w"'):
        model.fit(T)


@pytest.mark.parametrize("shape", [(50, 1), (50, 3), (2000, 2)])
@pytest.mark.parametrize("type_", [np.complex64, np.complex128])
def test_complex_numbers_are_refused_in_one_line_with_a_remedy(shape, type_):
    rng = np.random.default_rng(0)
    Z = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(type_)
    real = np.hstack([Z.real, Z.imag])
    for call in (
        lambda: ks.Koopman().fit(Z),
        lambda: ks.Koopman().fit([Z, Z]),
        lambda: ks.Koopman().partial_fit(Z[:-1], Z[1:]),
        lambda: ks.Forecaster((1,)).fit(Z),
        lambda: ks.KernelRegressor().fit(Z, Z.real[:, 0]),
        lambda: ks.KernelRegressor().fit(Z.real, Z),
        lambda: ks.Koopman().fit(real).predict(Z),
    ):
        with pytest.raises(ValueError, match="hstack") as error:
            call()
        assert len(str(error.value).splitlines()) == 1
        assert len(str(error.value)) < 200
    ks.Koopman().fit(real)


@pytest.mark.parametrize("rows", [[5], [0], [0, 1, 119], list(range(60))])
@pytest.mark.parametrize("model", [ks.KernelClassifier(), ks.KernelExpertsClassifier()])
def test_classes_are_those_of_rows_that_count(model, rows):
    labels = np.where(NAMED["w"] > 0, "up", "down").astype(object)
    weights = np.ones(120)
    labels[rows], weights[rows] = "never", 0.0
    fitted = clone(model).fit(NAMED, labels, weights, shuffle=False)
    assert fitted.classes_.tolist() == ["down", "up"]
    kept = np.setdiff1d(np.arange(120), rows)
    other = clone(model).fit(NAMED.iloc[kept], labels[kept], shuffle=False)
    np.testing.assert_array_equal(fitted.decision_function(NAMED), other.decision_function(NAMED))


@pytest.mark.parametrize("code", [-9999.0, 1e6, -32768.0, -9999999.0])
def test_codes_for_missing_targets_are_warned_of(code):
    y = np.sin(NAMED["größe"].to_numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ks.KernelRegressor().fit(NAMED, y)
    y[77] = code
    with pytest.warns(ks.exceptions.SentinelWarning, match=re.escape(f"{code:.12g} at row 77")):
        ks.KernelRegressor().fit(NAMED, y)


def wide(order, n=600):
    """Targets with a deviation of 2,000."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, 2))
    y = 2000.0 * x[:, 0] + 100.0 * rng.normal(size=n)
    places = {"random": np.arange(n), "rising": np.argsort(y), "by column": np.argsort(x[:, 1])}
    return x[places[order]], y[places[order]]


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.OutlierWarning")
@pytest.mark.parametrize("order", ["random", "rising", "by column"])
@pytest.mark.parametrize("code", [-9999.0, -99999.0, 99999.0, -32768.0])
@pytest.mark.parametrize("model", [ks.KernelRegressor, ks.KernelExperts])
def test_codes_outside_the_range_of_other_targets_are_warned_of(model, code, order):
    x, y = wide(order)
    y[[77, 90, 300]] = code
    found = f"y contains {code:.12g} at row 77, where all other values are from "
    with pytest.warns(ks.exceptions.SentinelWarning, match=re.escape(found)):
        model().partial_fit(x, y)


@pytest.mark.parametrize("order", ["random", "rising", "by column"])
def test_numbers_that_only_look_like_codes_are_not_warned_of(order):
    for seed in range(20):
        y = np.random.default_rng(seed).normal(size=600) * 3000.0
        # Inside the range, next to others, other numbers, and prices.
        for some in ([-999.0], [999.0, -9998.0], [-12000.0]):
            y[7 : 7 + len(some)] = some
            values = np.sort(y) if order == "rising" else y
            assert find_sentinel(values[:, None]) is None
        prices = np.random.default_rng(seed).uniform(50, 8000, 600).round()
        prices[5] = 9999.0
        assert find_sentinel((np.sort(prices) if order == "rising" else prices)[:, None]) is None


def test_a_code_is_compared_with_the_targets_of_the_whole_call():
    y = np.random.default_rng(0).normal(size=(20000, 1)) * 100.0
    y[60] = -9999.0
    assert find_sentinel(y, "known").others == (np.delete(y, 60).min(), y.max())
    y[15000:, 0] -= 12000.0
    assert find_sentinel(y, "known") is None


@pytest.mark.parametrize("code", [-9999.0, -99999.0])
def test_codes_and_far_values_do_not_hide_each_other(code):
    y = np.random.default_rng(0).normal(size=(600, 1)) * 1000.0
    y[7], y[90], y[400] = 1e8, code, 1e9
    assert find_sentinel(y)[:3] == (7, 0, 1e8)
    assert find_sentinel(y, "known") is None  # 1e8 and 1e9 are others
    y[[7, 400]] = 0.0
    assert find_sentinel(y, "known")[:3] == (90, 0, code)
    assert find_sentinel(y, "far") is None
    y[400] = 1e9
    assert find_sentinel(y, "far")[:3] == (400, 0, 1e9)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.OutlierWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
def test_what_is_learned_of_a_code_is_that_of_the_model():
    x, y = wide("random")
    y[77] = -99999.0

    def message(model, y):
        with pytest.warns(ks.exceptions.SentinelWarning) as caught:
            model.partial_fit(x, y)
        found = [str(one.message) for one in caught]
        return next(one for one in found if "may stand" in one or "stands for" in one)

    given = ks.KernelExperts([ks.KernelRegressor(), ks.KernelRegressor(ks.Laplacian())])
    for model in (ks.KernelExperts(), ks.KernelRegressor(), given):
        nearest = "is learned as the nearest ordinary value (n_limited_ counts these): "
        assert nearest in message(model, y)
        assert model.n_limited_ == 1
    unscaled = ks.KernelRegressor(scale=False)
    assert "and is learned as it is: " in message(unscaled, y)
    y[[79, 81]] = -99999.0
    assert "and is learned as it is: " in message(ks.KernelRegressor(), y)
    y[[77, 79, 81]] = 1e9, 0.0, 0.0
    assert message(ks.KernelRegressor(scale=False), y).endswith("; scale=True winsorizes outliers")
    assert message(ks.KernelRegressor(), y).endswith("leave the row out")


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.SentinelWarning")
@pytest.mark.parametrize("shuffle", [False, True])
def test_an_outlier_long_before_is_not_named_as_the_reason(shuffle):
    x, y = wide("random", 12000)
    y /= 2000.0
    row = int(np.random.default_rng(0).permutation(12000)[60]) if shuffle else 60
    y[row] = -9999.0
    model = ks.KernelRegressor(scale=False).fit(x, y, shuffle=shuffle)
    assert model._outlier_at == 60
    assert ks.KernelRegressor().fit(x, y, shuffle=shuffle)._outlier_at is None
    model = ks.KernelRegressor(scale=False).partial_fit(x[:100], y[:100])
    y[60] = 0.0
    y[7000:] *= -30.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ks.exceptions.DriftWarning)
        model.partial_fit(x[100:], y[100:])
    assert all("outlying target" not in str(one.message) for one in caught)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.SentinelWarning")
@pytest.mark.parametrize("order", ["random", "by column"])
@pytest.mark.parametrize("row", [50, 300, 550])
def test_an_outlier_is_named_as_the_reason_of_useless_predictions(row, order):
    x, y = wide(order)
    y /= 2000.0
    y[row] = -9999.0
    reason = "the outlying target that was warned of is the likely reason; "
    with pytest.warns(ks.exceptions.UselessPredictionsWarning, match=reason):
        ks.KernelRegressor(scale=False).partial_fit(x, y)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.SentinelWarning")
@pytest.mark.parametrize("order", ["random", "by column"])
@pytest.mark.parametrize("size", [500, 5000])
def test_an_outlier_is_named_as_the_reason_of_errors_that_rise(size, order):
    x, y = wide(order, 5000)
    y /= 2000.0
    y[3000] = -9999.0
    model, reason = (
        ks.KernelRegressor(scale=False),
        "the outlying target that was warned of is the l",
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ks.exceptions.DriftWarning)
        for start in range(0, 5000, size):
            model.partial_fit(x[start : start + size], y[start : start + size])
    (message,) = (str(one.message) for one in caught)
    assert (
        f"risen well above what they were, and stayed there (see diagnostics_): {reason}" in message
    )


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
def test_a_stream_is_warned_of_codes_for_missing_values_once():
    x, y = np.arange(2000.0)[:, None], np.sin(np.arange(2000.0))
    y[[77, 1077]] = -9999.0
    model = ks.KernelRegressor()
    with pytest.warns(ks.exceptions.SentinelWarning):
        model.partial_fit(x[:1000], y[:1000])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ks.exceptions.SentinelWarning)
        model.partial_fit(x[1000:], y[1000:])
    with pytest.warns(ks.exceptions.SentinelWarning):
        model.fit(x, y)


TEXTS = {
    "numbers": ([f"{x}" for x in X], "holds numbers"),
    "with a unit": ([f"{x} kg" for x in X], "holds numbers with kg"),
    "dates": ([f"2024-01-{i % 28 + 1:02d}" for i in range(N)], "holds times"),
    "instants": ([f"2024-01-{i % 28 + 1:02d}T03:00:00Z" for i in range(N)], "holds times"),
    "digits": ([f"{i}" for i in range(N)], "are numbers, and is learned as a category"),
    "words": ([f"word {i}" for i in range(N)], "names rows"),
    "codes": ([f"0{i % 90:04d}" for i in range(N)], None),
    "few": ([f"{i % 5}" for i in range(N)], None),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("carrier", ["pandas", "rows", "dict", "Arrow", "river"])
def test_text_that_is_not_plain_categories_is_warned_of(name, carrier):
    values, said = TEXTS[name]
    frame = {"a": values, "b": list(X)}
    rows = [dict(zip("ab", row, strict=True)) for row in zip(*frame.values(), strict=True)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ks.exceptions.KernelstreamWarning)
        if carrier == "river":
            river = pytest.importorskip("kernelstream.river")
            model = river.KernelRegressor()
            for x, y in zip(rows, Y, strict=True):
                model.learn_one(x, y)
        else:
            forms = {"pandas": pd.DataFrame, "Arrow": pa.table, "dict": dict}
            given = rows if carrier == "rows" else forms[carrier](frame)
            ks.KernelRegressor().fit(given, Y)
            ks.KernelRegressor(columns={"a": "category"}).fit(given, Y)
    outcome = [str(one.message) for one in caught if "is text" in str(one.message)]
    assert len(outcome) == (said is not None)
    assert said is None or said in outcome[0]


SPANS = [dt.timedelta(seconds=int(s), microseconds=7) for s in np.arange(60) ** 2]


@pytest.mark.parametrize(
    "carry",
    [
        pd.Series,
        lambda spans: pd.Series(spans).astype("timedelta64[us]"),
        lambda spans: np.array(spans, object),
        lambda spans: np.array(spans, "timedelta64[us]"),
        lambda spans: pa.array(spans, pa.duration("us")),
        lambda spans: pd.Series(pa.array(spans, pa.duration("ns")).to_pandas()),
    ],
)
def test_spans_of_time_are_numbers_of_seconds(carry):
    seconds = [span.total_seconds() for span in SPANS]
    values = carry(SPANS)
    frame = pa.table({"b": values}) if isinstance(values, pa.Array) else {"b": values}
    y = np.sin(np.arange(60.0))
    model = ks.KernelRegressor().partial_fit(frame, y)
    assert model.columns_ == {"b": "number"}
    other = ks.KernelRegressor().partial_fit({"b": seconds}, y)
    np.testing.assert_array_equal(model.predict(frame), other.predict({"b": seconds}))


def test_periods_are_times_and_times_of_the_day_seconds():
    months = pd.period_range("2020-01", periods=60, freq="M")
    y = np.sin(np.arange(60.0))
    model = ks.KernelRegressor().partial_fit(pd.DataFrame({"m": months}), y)
    assert model.columns_ == {"m": "time"}
    same = model.predict({"m": months.to_timestamp()})
    np.testing.assert_array_equal(model.predict(pd.DataFrame({"m": months})), same)
    day = [dt.time(i % 24, i % 60) for i in range(60)]
    model = ks.KernelRegressor().partial_fit({"t": np.array(day, object)}, y)
    assert model.columns_ == {"t": "number"}
    assert model.predict_one({"t": 3600.0}) == model.predict_one({"t": dt.time(1, 0)})


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([[1.0, 2.0]] * 60, "values of type list"),
        ([{"x": 1}] * 60, "values of type dict"),
        ([None, *[(1, 2)] * 59], "values of type tuple"),
        ([b"ab"] * 60, "bytes: decode"),
        (np.ones(60) + 1j, "real and imaginary parts"),
    ],
)
def test_columns_of_what_is_no_cell_are_refused_by_name(values, said):
    objects = np.empty(60, object)
    objects[:] = values
    column = values if isinstance(values, np.ndarray) else objects
    with pytest.raises(TypeError, match=f"column 'b' holds {said}|column 'b' .*{said}"):
        ks.KernelRegressor().partial_fit({"a": np.arange(60.0), "b": column}, np.arange(60.0))
    nested = pa.table({"b": pa.array([[1.0]] * 60)})
    with pytest.raises(TypeError, match="column 'b'"):
        ks.KernelRegressor().partial_fit(nested, np.arange(60.0))


@pytest.mark.parametrize("place", [0, 3, 59])
@pytest.mark.parametrize("text", ["?", "-", "n.d.", "None", "--"])
def test_texts_that_stand_for_nothing_among_objects_are_missing(text, place):
    rng = np.random.default_rng(2)
    values = rng.normal(size=60).tolist()
    whole = {"b": np.array(values, object)}
    gap, odd = {"b": whole["b"].copy()}, {"b": whole["b"].copy()}
    gap["b"][place], odd["b"][place] = None, text
    y = np.sin(values)
    models = [ks.KernelRegressor(missing="fill").fit(frame, y) for frame in (gap, odd)]
    assert models[1].columns_ == {"b": "number"}
    np.testing.assert_array_equal(models[0].predict(whole), models[1].predict(whole))
    with pytest.raises(ValueError, match=f"row {place}, column"):
        ks.KernelRegressor().fit(odd, y)
    odd["b"][place] = "<0.01"
    with pytest.raises(ValueError, match=f"row {place}, column 'b' is '<0.01'"):
        ks.KernelRegressor(missing="fill").fit(odd, y)


def test_labels_in_lists_are_not_made_texts():
    X = np.arange(60.0)[:, None]
    labels = ["up", "down"] * 30
    with pytest.raises(ValueError, match="row 7"):
        ks.KernelClassifier().fit(X, [*labels[:7], np.nan, *labels[8:]])
    with pytest.raises(ValueError, match="one kind"):
        ks.KernelClassifier().fit(X, [1, *labels[1:]])
    with pytest.raises(ValueError, match="two columns are named 'a'"):
        ks.KernelRegressor().fit(pd.DataFrame(np.c_[X, X], columns=["a", "a"]), X[:, 0])


@pytest.mark.parametrize("record", [False, True])
def test_structured_arrays_are_tables(record):
    rows = np.zeros(N, dtype=[("x", float), ("n", np.int32), ("word", "U3")])
    rows["x"], rows["n"], rows["word"] = X, np.arange(N) % 7, np.where(X > 0, "yes", "no")
    rows = rows.view(np.recarray) if record else rows
    plain = {name: rows[name] for name in rows.dtype.names}
    for order in (np.arange(N), np.argsort(X)):
        expected = table().fit({name: values[order] for name, values in plain.items()}, Y[order])
        model = table().fit(rows[order], Y[order])
        assert model.columns_ == expected.columns_
        np.testing.assert_array_equal(model.predict(rows), expected.predict(plain))


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
def test_whole_numbers_that_are_rounded_are_warned_of():
    large = 2**60 + np.arange(N)
    remedy = r"beyond 2\*\*53, which are rounded: as identifiers leave them out"
    for rows in ({"x": X, "id": large}, pd.DataFrame({"x": X, "id": large}), large[:, None]):
        with pytest.warns(ks.exceptions.KernelstreamWarning, match=remedy):
            table().fit(rows, Y)
    with pytest.warns(ks.exceptions.KernelstreamWarning, match="y holds .* subtract"):
        table().fit(X[:, None], large)
    # Labels are exact, and so are categories and numbers that floats hold.
    labels = 2**60 + (X > 0)
    model = ks.KernelClassifier().fit(X[:, None], labels)
    assert set(model.predict(X[:, None])) == set(labels)
    table(columns={"id": "category"}).fit({"x": X, "id": 2**60 + np.arange(N) % 3}, Y)
    table().fit({"x": X, "id": 2**53 - np.arange(N) % 3}, Y)


TOWNS = np.array(["hall", "attic", "cellar"])[np.arange(N) % 3]
HEIGHTS = X + 3.0 * (TOWNS == "attic")
LEARNERS = {
    "regressor": (ks.KernelRegressor, HEIGHTS),
    "classifier": (ks.KernelClassifier, HEIGHTS > 1.0),
    "experts": (ks.KernelExperts, HEIGHTS),
    "classifier of experts": (ks.KernelExpertsClassifier, HEIGHTS > 1.0),
}
ORDERED = {"shuffled": np.arange(N), "by category": np.argsort(TOWNS), "sorted": np.argsort(X)}


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.DriftWarning")
@pytest.mark.parametrize("order", ORDERED)
@pytest.mark.parametrize("name", LEARNERS)
def test_categories_none_of_which_was_learned_are_named_once(name, order, tmp_path):
    make, y = LEARNERS[name]
    places = ORDERED[order]
    model = make(missing="fill")
    model.fit(pd.DataFrame({"x": X, "town": TOWNS}).iloc[places], y[places])
    others = pd.DataFrame({"x": X[:3], "town": ["Hall", None, "Attic"]})
    # One that is known, a single row, gaps, and rows to be learned are ordinary.
    model.predict(pd.DataFrame({"x": X[:3], "town": ["Hall", "Attic", "attic"]}))
    model.predict(others[:1])
    model.save(tmp_path / "m")
    for known in (model, ks.load(tmp_path / "m")):
        for carrier in (others, pa.Table.from_pandas(others), others.to_dict("records")):
            known._warned_of_unknown = False
            with pytest.warns(
                ks.exceptions.UnknownCategoriesWarning, match="'town' was learned, such as 'Hall'"
            ):
                known.predict(carrier)
            known.predict(carrier)


@pytest.mark.parametrize("name", LEARNERS)
def test_white_space_around_categories_does_not_count(name):
    make, y = LEARNERS[name]
    model = make().fit({"x": X, "town": TOWNS}, y)
    padded = np.array([f" {town}\t" if i % 2 else town for i, town in enumerate(TOWNS)])
    other = make().fit({"x": X, "town": padded}, y)
    np.testing.assert_array_equal(
        model.predict({"x": X, "town": padded}), other.predict({"x": X, "town": TOWNS})
    )
    assert np.isnan(cells_of(np.array(["  "], object), "category", "town")).all()


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_whole_numbers_that_are_no_seconds_are_refused_as_times(unit):
    frame = pd.DataFrame({"when": HOURS.tz_localize(None), "x": X})
    model = ks.KernelRegressor().fit(frame, Y)
    seconds = frame.assign(when=frame["when"].astype("datetime64[s]").astype("int64"))
    np.testing.assert_allclose(model.predict(seconds), model.predict(frame))
    others = frame.assign(when=frame["when"].astype(f"datetime64[{unit}]").astype("int64"))
    with pytest.raises(ValueError, match=r"at row 0, column 'when' is .* unit='ms'"):
        model.predict(others)
    with pytest.raises(ValueError, match="column 'when' of x is"):
        model.predict_one(others.iloc[0].to_dict())


def dated(n, order):
    """Rows whose target rises with a date that is no clock of the stream, but in order."""
    rng = np.random.default_rng(5)
    days = rng.integers(0, 3650, n)
    if order == "in time":
        days = np.sort(days)
    when = pd.Timestamp("2014-01-01") + pd.to_timedelta(days, unit="D")
    return pd.DataFrame({"when": when, "x": rng.normal(size=n)}), days / 365.0


@pytest.mark.parametrize("order", ["as drawn", "in time"])
@pytest.mark.parametrize("name", ["regressor", "experts"])
def test_dates_that_are_not_in_order_have_a_trend(name, order):
    frame, years = dated(1500, order)
    model = LEARNERS[name][0]().partial_fit(frame[:1200], (years + frame["x"])[:1200])
    width = model._core.features(model._rows(frame[:1], reset=False)).shape[1]
    assert width == 7 + (order == "as drawn")
    assert order == "in time" or model.score(frame[1200:], (years + frame["x"])[1200:]) > 0.95
    # Rows of a file are in no order of time if their targets follow one another, and are shuffled.
    fitted = clone(model).fit(frame[:1200], (years + frame["x"])[:1200])
    assert fitted.score(frame[1200:], (years + frame["x"])[1200:]) > 0.9 or order == "in time"


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
@pytest.mark.parametrize("start", [400, 700, 1300])
@pytest.mark.parametrize("name", ["regressor", "experts"])
def test_gaps_that_begin_late_are_told_apart(name, start):
    rng = np.random.default_rng(1)
    value, gap = rng.uniform(0, 100, 5000), np.zeros(5000, bool)
    gap[start::5] = True
    y = np.where(gap, 0.0, value) + rng.normal(size=5000)
    frame = pd.DataFrame({"a": np.where(gap, np.nan, value), "b": rng.normal(size=5000)})
    left = LEARNERS[name][0](missing="fill").partial_fit_predict(frame, y) - y
    assert np.sqrt(np.mean(left[3000:][gap[3000:]] ** 2)) < 1.5
    assert np.sqrt(np.mean(left[3000:] ** 2)) < 2.5


@pytest.mark.parametrize("n_new", [1, 2, 5])
@pytest.mark.parametrize("name", ["regressor", "experts"])
def test_later_categories_are_told_apart(name, n_new):
    rng = np.random.default_rng(2)
    effects = 10.0 * rng.normal(size=5 + n_new)
    shop = np.where(np.arange(4000) < 1000, rng.integers(0, 5, 4000), 0)
    shop[1000:] = rng.integers(0, 5 + n_new, 3000)
    noise = rng.normal(size=4000)
    frame = pd.DataFrame({"shop": [f"s{i}" for i in shop], "b": noise})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ks.exceptions.MovedColumnsWarning)
        model = LEARNERS[name][0]().fit(frame, effects[shop] + noise)
    asked = pd.DataFrame({"shop": [f"s{i}" for i in range(5 + n_new)], "b": 0.0})
    np.testing.assert_allclose(model.predict(asked), effects, atol=0.5)


def test_experts_learn_a_line_from_a_few_rows():
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(60, 3)) * [1e3, 1e-3, 1.0], rng.normal(size=60)
    y = 5.0 + X[:, 0] / 500 - 1e3 * X[:, 1] + 0.01 * noise
    model = ks.KernelExperts()
    ahead = model.partial_fit_predict(X[:10], y[:10])
    assert np.abs(ahead - y[:10])[7:].max() < 0.5
    single = ks.KernelExperts()
    for i, (row, target, made) in enumerate(zip(X[:10], y[:10], ahead, strict=True)):
        if i > 0:
            assert single.predict_one(row) == pytest.approx(made)
        single.learn_one(row, target)
    assert model.score(X[10:], y[10:]) > 0.95
    np.testing.assert_allclose(model.gradient(X[:1])[0], [1 / 500, -1e3, 0.0], rtol=0.2, atol=0.1)
