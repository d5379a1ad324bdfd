"""Columns of text hold what files of text would: numbers and times, however they are written."""

from __future__ import annotations

import datetime as dt
import json
import re
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import kernelstream as ks
from kernelstream.columns.texts import clock_form
from test_cli import run

N = 120
RNG = np.random.default_rng(7)
A = (1000 * RNG.normal(size=N)).round(2)
B = RNG.normal(size=N).round(3)
Y = (np.sin(A / 700) + 0.1 * B).round(4)
DAYS = [
    dt.datetime(2024, 1, 13) + dt.timedelta(days=int(i) % 9 + 31 * (int(i) % 5)) for i in range(N)
]
CLOCKS = [
    dt.time(int(h), int(m))
    for h, m in zip(RNG.integers(0, 24, N), RNG.integers(0, 60, N), strict=True)
]
SECONDS = [3600.0 * time.hour + 60.0 * time.minute for time in CLOCKS]
RACES = RNG.integers(60, 7200, N).astype(float).tolist()
ORDERS = {"shuffled": np.arange(N), "sorted": np.argsort(A), "rising clock": np.argsort(SECONDS)}


def _indian(value):
    whole, digits = f"{abs(value):.2f}".split(".")
    head, tail = whole[:-3], whole[-3:]
    pairs = [head[max(0, end - 2) : end] for end in range(len(head), 0, -2)][::-1]
    return "-" * int(value < 0) + ",".join([*pairs, tail]) + "." + digits


# How cells are written, and what they are.
FORMS = {
    "accounting": ([f"({-a:,.2f})" if a < 0 else f"{a:,.2f}" for a in A], A),
    "accounting with currency": ([f"(${-a:,.2f})" if a < 0 else f"${a:,.2f}" for a in A], A),
    "minus behind": ([f"{-a:.2f}-" if a < 0 else f"{a:.2f}" for a in A], A),
    "Swiss": ([f"{a:,.2f}".replace(",", "'") for a in A], A),
    "percent": ([f"{a:.2f}%" for a in A], A),
    "dollars": ([f"${abs(a):.2f}" for a in A], abs(A)),
    "kilometres": ([f"{a:.2f} km" for a in A], A),
    "decimal commas": ([f"{a:.2f}".replace(".", ",") for a in A], A),
    "three decimals, comma": ([f"{a / 1e4:.3f}".replace(".", ",") for a in A],
                              (A / 1e4).round(3)),
    "Indian": ([_indian(1e4 * a) for a in A], (1e4 * A).round(2)),
    "German": ([f"{a:,.2f}".translate(str.maketrans(",.", ".,")) for a in A], A),
    "French": ([f"{a:,.2f}".replace(",", "\u202f").replace(".", ",") for a in A], A),
    "no-break spaces": ([f"{a:,.2f}".replace(",", "\u00a0") for a in A], A),
    "minus sign": ([f"{a:.2f}".replace("-", "\N{MINUS SIGN}") for a in A], A),
    "Fortran": ([f"{a:.5E}".replace("E", "D") for a in A], A),
    "Fortran, small letters": ([f"{a:.5e}".replace("e", "d") for a in A], A),
    "Fortran beside others": ([f"{a:.5E}".replace("E", "DE"[i % 2]) for i, a in enumerate(A)], A),
    "clocks": ([f"{time:%H:%M}" for time in CLOCKS], SECONDS),
    "clocks with seconds": ([f"{time:%H:%M:%S}" for time in CLOCKS], SECONDS),
    "clocks with fractions": ([f"{time:%H:%M:%S}.250" for time in CLOCKS],
                              [s + 0.25 for s in SECONDS]),
    "clocks without zeros": ([f"{time.hour}:{time:%M}" for time in CLOCKS], SECONDS),
    "minutes and seconds": ([f"{int(s) // 1200}:{int(s) // 20 % 60:02d}" for s in SECONDS],
                            [float(int(s) // 20) for s in SECONDS]),
    "hours of long runs": ([f"{int(s) // 900}:{int(s) // 15 % 60:02d}:{i % 60:02d}.5"
                            for i, s in enumerate(SECONDS)],
                           [60.0 * (int(s) // 15) + i % 60 + 0.5 for i, s in enumerate(SECONDS)]),
    "either": ([f"{'-' * (i % 2)}{int(s) // 60}:{int(s) % 60:02d}" if s < 3600 else
                f"{int(s) // 3600}:{int(s) // 60 % 60:02d}:{int(s) % 60:02d}"
                for i, s in enumerate(RACES)],
               [-s if s < 3600 and i % 2 else s for i, s in enumerate(RACES)]),
    "British days": ([f"{day:%d/%m/%Y}" for day in DAYS], DAYS),
    "American days": ([f"{day:%m/%d/%Y}" for day in DAYS], DAYS),
    "German days": ([f"{day:%d.%m.%Y}" for day in DAYS], DAYS),
    "names of months": ([f"{day:%d-%b-%Y}" for day in DAYS], DAYS),
    "days and clocks": ([f"{day:%d/%m/%Y %H:%M}" for day in DAYS], DAYS),
    "ISO days": ([f"{day:%Y-%m-%d}" for day in DAYS], DAYS),
}  # fmt: skip


def frames(columns):
    polars = pytest.importorskip("polars")
    return {
        "pandas": pd.DataFrame(columns),
        "pandas of Arrow": pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
        "polars": polars.DataFrame(columns),
        "Arrow": pa.table(columns),
        "dict": columns,
        "rows": [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ],
    }


def quietly(call):
    """Call something whose decisions about text are known."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is text")
        return call()


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", FORMS)
def test_texts_are_read_alike_in_frames_and_files(name, order, tmp_path):
    places = ORDERS[order]
    texts, values = ([cells[i] for i in places] for cells in FORMS[name])
    b, y = B[places].tolist(), Y[places].tolist()
    asked = {"a": values[:9], "b": b[:9]}
    expected = ks.KernelRegressor().partial_fit({"a": values, "b": b}, y).predict(asked)
    for carrier, frame in frames({"a": texts, "b": b}).items():
        with pytest.warns(
            ks.exceptions.KernelstreamWarning, match="'a' is text that holds .* is r"
        ):
            model = ks.KernelRegressor().partial_fit(frame, y)
        np.testing.assert_allclose(model.predict(asked), expected, rtol=1e-12, err_msg=carrier)
        # Rows to predict are written so, too, one by one and in a file of the model.
        few = {"a": texts[:9], "b": b[:9]}
        model.save(tmp_path / "m")
        for known in (model, ks.load(tmp_path / "m")):
            np.testing.assert_allclose(known.predict(few), expected, rtol=1e-12, err_msg=carrier)
            one = known.predict_one({"a": texts[0], "b": b[0]})
            assert one == pytest.approx(expected[0], rel=1e-12)
    table = {"a": texts, "b": b, "y": y}
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pa_parquet.write_table(pa.table(table), tmp_path / "t.parquet")
    for end in ("csv", "jsonl", "parquet"):
        result = run("learn", tmp_path / f"t.{end}", "-t", "y", "--save", tmp_path / "m")
        assert result.exit_code == 0, result.output
        known = ks.load(tmp_path / "m")
        np.testing.assert_allclose(known.predict(asked), expected, rtol=1e-12, err_msg=end)
        # Frames in Python and a later file obey.
        few = {"a": texts[:9], "b": b[:9]}
        np.testing.assert_allclose(known.predict(few), expected, rtol=1e-12, err_msg=end)
        assert known.predict_one({"a": texts[0], "b": b[0]}) == pytest.approx(expected[0])
        known.partial_fit(frames(few)["polars"], y[:9])
        assert known.n_seen_ == N + 9
        result = run("predict", tmp_path / "m", tmp_path / f"t.{end}", "-o", tmp_path / "p.csv")
        assert result.exit_code == 0, (end, result.output)
        predicted = pd.read_csv(tmp_path / "p.csv")["y_predicted"][:9]
        np.testing.assert_allclose(predicted, expected, rtol=1e-9, err_msg=end)


# A column whose first rows are also times of the day is one of these in river.
@pytest.mark.parametrize("name", [name for name in FORMS if name != "either"])
def test_rows_of_river_are_read_as_frames(name):
    river = pytest.importorskip("kernelstream.river")
    texts, values = FORMS[name]
    model, other = river.KernelRegressor(), river.KernelRegressor()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is text")
        for text, value, b, y in zip(texts, values, B, Y, strict=True):
            model.learn_one({"a": text, "b": b}, y)
            other.learn_one({"a": value, "b": b}, y)
    for text, value, b in zip(texts[:9], values[:9], B, strict=False):
        expected = other.predict_one({"a": value, "b": b})
        assert model.predict_one({"a": text, "b": b}) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("odd", ["now", "today", "Monday", "soon", "12", "5", "99999"])
def test_words_in_columns_of_times_are_refused(odd):
    model = ks.KernelRegressor().partial_fit({"a": DAYS, "b": B}, Y)
    with pytest.raises(ValueError, match=f"row 1, column 'a' is '{odd}', which is no time"):
        model.predict({"a": ["2024-01-01", odd], "b": B[:2]})
    with pytest.raises(ValueError, match=f"column 'a' of x is '{odd}', which is no time"):
        model.predict_one({"a": odd, "b": 0.0})


def test_texts_in_columns_of_numbers_are_numbers_or_refused():
    model = ks.KernelRegressor().partial_fit({"a": A, "b": B}, Y)
    expected = model.predict({"a": A[:9], "b": B[:9]})
    for form in ("{:.2f}", "{:+.2f}", "{:.8e}", "{: .2f}"):
        texts = [form.format(a).replace("-", "\N{MINUS SIGN}", 1) for a in A[:9]]
        np.testing.assert_allclose(model.predict({"a": texts, "b": B[:9]}), expected, rtol=1e-6)
    for odd in ("1_000", "1,000", "12:30", "5 kg", "0x1F"):
        with pytest.raises(ValueError, match=f"row 1, column 'a' is '{odd}', which is no number"):
            model.predict({"a": ["5", odd], "b": B[:2]})


@pytest.mark.filterwarnings("ignore:.*is text that holds")
@pytest.mark.parametrize("odd", ["soon", "12:77", "31/02/2024", "<0.01", "1.2.3"])
@pytest.mark.parametrize("name", ["percent", "clocks", "British days", "accounting", "Fortran"])
def test_texts_that_are_written_otherwise_are_refused_by_row(name, odd):
    texts, _ = FORMS[name]
    model = ks.KernelRegressor().partial_fit({"a": texts, "b": B}, Y)
    before = model.n_seen_
    with pytest.raises(ValueError, match=f"X at row 3, column 'a' is '{odd}', which is no"):
        model.partial_fit({"a": [*texts[:3], odd], "b": B[:4]}, Y[:4])
    with pytest.raises(ValueError, match="column 'a' of x is"):
        model.learn_one({"a": odd, "b": 0.0}, 0.0)
    assert model.n_seen_ == before
    gaps = ks.KernelRegressor(missing="fill").partial_fit({"a": texts, "b": B}, Y)
    gaps.partial_fit({"a": ["-", None, "n.a.", ""], "b": B[:4]}, Y[:4])
    assert gaps.n_seen_ == N + 4


@pytest.mark.parametrize(
    "texts",
    [
        [f"{i % 7}" for i in range(N)],
        [f"0{i % 40:04d}" for i in range(N)],
        ["yes" if i % 2 else "no" for i in range(N)],
        [f"A{i % 9}" for i in range(N)],
        [f"{i % 5}:{i % 3}" for i in range(N)],
        [f"1.{i % 5}.{i % 3}" for i in range(N)],
    ],
)
def test_texts_that_name_things_are_categories_without_a_warning(texts):
    for frame in frames({"a": texts, "b": B.tolist()}).values():
        assert ks.KernelRegressor().partial_fit(frame, Y).columns_["a"] == "category"


@pytest.mark.parametrize("odd", ["007", "00", "0123", "01.5", "000"])
def test_one_number_with_leading_zeros_among_others_is_a_number(odd):
    for frame in frames({"a": [odd, *map(str, A[1:])], "b": B.tolist()}).values():
        with pytest.warns(
            ks.exceptions.KernelstreamWarning, match="'a' is text that holds numbers"
        ):
            assert ks.KernelRegressor().partial_fit(frame, Y).columns_["a"] == "number"


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.parametrize(
    ("write", "form"),
    [
        (lambda day: f"{day:%d/%m/%Y}", "%d/%m/%Y"),
        (lambda day: f"{day:%m/%d/%Y}", "%m/%d/%Y"),
        (lambda day: f"{day:%d.%m.%y}", "%d.%m.%y"),
        (lambda day: f"{day:%Y%m%d}", "%Y%m%d"),
        (lambda day: int(f"{day:%Y%m%d}"), "%Y%m%d"),
        (lambda day: int(f"{day:%Y%m%d%H%M%S}"), "%Y%m%d%H%M%S"),
        (lambda day: int(1e3 * day.replace(tzinfo=dt.UTC).timestamp()), "ms"),
        (lambda day: f"{day:%Y, day %j}", "%Y, day %j"),
    ],
)
@pytest.mark.parametrize("kind", [{}, {"type": "time"}])
def test_the_format_of_times_is_declared(write, form, kind, tmp_path):
    days = [dt.datetime(2024, i % 12 + 1, i % 11 + 1) for i in range(N)]
    cells = [write(day) for day in days]
    expected = ks.KernelRegressor().partial_fit({"a": days, "b": B}, Y)
    for frame in frames({"a": cells, "b": B.tolist()}).values():
        model = ks.KernelRegressor(columns={"a": kind | {"format": form}}).partial_fit(frame, Y)
        assert model.columns_["a"] == "time"
        np.testing.assert_allclose(model.predict(frame), expected.predict({"a": days, "b": B}))
        model.save(tmp_path / "m")
        np.testing.assert_array_equal(ks.load(tmp_path / "m").predict(frame), model.predict(frame))
        one = model.predict_one({"a": cells[0], "b": B[0]})
        assert one == pytest.approx(expected.predict_one({"a": days[0], "b": B[0]}))


def test_what_is_no_format_of_times_is_refused():
    for kind in ({"type": "number", "format": "%d"}, {"format": 3}):
        with pytest.raises(ValueError, match="gives 'a' a format, which is for times"):
            ks.KernelRegressor(columns={"a": kind}).partial_fit({"a": ["1"] * N, "b": B}, Y)
    texts = [f"{i % 9 + 1:02d}/{i % 11 + 1:02d}/2024" for i in range(N)]
    remedy = "cannot be distinguished: .*'format': '%d/%m/%Y'.* or .*'%m/%d/%Y'"
    with pytest.raises(ValueError, match=remedy):
        ks.KernelRegressor(columns={"a": "time"}).partial_fit({"a": texts, "b": B}, Y)
    with pytest.warns(ks.exceptions.KernelstreamWarning, match=remedy):
        ks.KernelRegressor().partial_fit({"a": texts, "b": B}, Y)


@pytest.mark.parametrize("form", ["%Y%m%d", "%Y%m%d%H%M%S", "%Y%m%d%H%M"])
def test_digits_that_may_be_dates_are_named_in_every_carrier(form, tmp_path):
    days = [dt.datetime(2024, 1, 1, 5, 30) + dt.timedelta(days=i) for i in range(N)]
    whole = [int(f"{day:{form}}") for day in days]
    for cells in (whole, list(map(str, whole))):
        for frame in frames({"a": cells, "b": B.tolist()}).values():
            with pytest.warns(ks.exceptions.KernelstreamWarning, match=f"'format': '{form}'"):
                ks.KernelRegressor().partial_fit(frame, Y)
    path = tmp_path / "t.csv"
    pd.DataFrame({"a": whole, "y": Y}).to_csv(path, index=False)
    result = run("learn", path, "-t", "y")
    assert f"--dates 'a={form}'" in result.stderr
    result = run("learn", path, "-t", "y", "--dates", f"a={form}")
    assert "learning y from: a (time)" in result.stderr


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
@pytest.mark.parametrize("order", ["shuffled", "sorted"])
def test_columns_without_a_value_at_first_are_numbers(order, tmp_path):
    n, first = 3000, 1500
    rng = np.random.default_rng(1)
    a = rng.normal(size=n)
    a = np.sort(a) if order == "sorted" else a
    y = np.sin(2 * a) + 0.05 * rng.normal(size=n)
    none: list[float | None] = [None] * first
    whole = {"a": [*none, *a[first:].tolist()], "b": rng.normal(size=n).tolist()}
    parts = [{name: values[rows] for name, values in whole.items()}
             for rows in (slice(None, first), slice(first, None))]  # fmt: skip
    scores = {}
    for carrier in ("pandas", "polars", "Arrow", "dict", "rows"):
        model = ks.KernelRegressor(missing="fill")
        for part, own in zip(parts, (y[:first], y[first:]), strict=True):
            model.partial_fit(frames(part)[carrier], own)
        assert model.columns_["a"] == "number", carrier
        scores[carrier] = model.score(frames(parts[1])[carrier], y[first:])
    for end in ("csv", "jsonl"):
        path, saved = tmp_path / f"t.{end}", tmp_path / "m"
        frame = pd.DataFrame(whole | {"y": y})
        if end == "csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_json(path, orient="records", lines=True, double_precision=15)
        result = run("learn", path, "-t", "y", "--missing", "fill", "--save", saved)
        assert result.exit_code == 0, result.output
        scores[end] = ks.load(saved).score(parts[1], y[first:])
    assert min(scores.values()) > 0.9, scores


@pytest.mark.parametrize("later", ["red", "2024-01-01", "12:30", "1,5"])
@pytest.mark.parametrize("carrier", ["pandas", "polars", "Arrow", "dict", "rows"])
def test_texts_in_columns_without_a_value_at_first_are_refused_by_name(carrier, later):
    model = ks.KernelRegressor(missing="fill")
    model.partial_fit(frames({"a": [None] * N, "b": B.tolist()})[carrier], Y)
    with pytest.raises(ValueError, match=f"row 0, column 'a' is '{later}', which is no number"):
        model.partial_fit(frames({"a": [later] * N, "b": B.tolist()})[carrier], Y)


def test_columns_without_a_value_in_all_of_a_file_are_left_out_or_nothing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "".join(f",{b},{y}\n" for b, y in zip(B, Y, strict=True)))
    assert "left out: a (empty)" in run("learn", path, "-t", "y").stderr
    result = run("learn", path, "-t", "y", "--missing", "fill")
    assert result.exit_code == 0, result.output


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.parametrize("values", [[1, 2, 3], [1.0, 2.0, 3.0], ["1", "2", "3"], [True, False]])
@pytest.mark.parametrize("gaps", [False, True])
def test_what_is_categories_by_its_type_is_categories_whatever_its_values(values, gaps, tmp_path):
    cells = [values[i % len(values)] for i in range(N)]
    if gaps:
        cells[5] = cells[50] = None
    expected = ks.KernelRegressor(missing="fill", columns={"a": "category"})
    expected.partial_fit({"a": np.array(cells, object), "b": B}, Y)
    table = pa.table({"a": pa.array(cells).dictionary_encode(), "b": B, "y": Y})
    carriers = {
        "pandas": pd.DataFrame({"a": pd.Categorical(cells), "b": B}),
        "Arrow": table.select(["a", "b"]),
        "pandas of Arrow": table.select(["a", "b"]).to_pandas(types_mapper=pd.ArrowDtype),
    }
    asked = {"a": [*cells[:3], 77], "b": [0.1, 0.2, 0.3, 0.4]}
    for name, frame in carriers.items():
        model = ks.KernelRegressor(missing="fill").partial_fit(frame, Y)
        assert model.columns_["a"] == "category", name
        np.testing.assert_allclose(model.predict(asked), expected.predict(asked), err_msg=name)
    pa_parquet.write_table(table, tmp_path / "t.parquet")
    result = run(
        "learn", tmp_path / "t.parquet", "-t", "y", "--missing", "fill", "--save", tmp_path / "m"
    )
    assert "from: a (category), b" in result.stderr
    np.testing.assert_allclose(ks.load(tmp_path / "m").predict(asked), expected.predict(asked))


@pytest.mark.parametrize(
    "text",
    ["id {}", "{:06d}", "{}-aa", "user{}@example.org", "line {} of a report", "10.0.{}.x", "№ {}"],
)
def test_texts_that_name_rows_are_named_with_a_remedy(text):
    texts = [text.format(i) for i in range(N)]
    for frame in frames({"a": texts, "b": B.tolist()}).values():
        with pytest.warns(
            ks.exceptions.KernelstreamWarning, match="'a' is text with 120 diff.*leave"
        ):
            ks.KernelRegressor().partial_fit(frame, Y)
        ks.KernelRegressor(columns={"a": "category"}).partial_fit(frame, Y)


def refusal_of(frame):
    """The error of learning a frame; empty if it is learned."""
    try:
        ks.KernelRegressor(missing="fill").partial_fit(frame, Y)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("N/A", "is text that holds numbers but for 'N/A' in row 17, which counts as missing, and"),
        ("?", "is text that holds numbers but for '?' in row 17, which counts as missing, and is"),
        (" - ", "is text that holds numbers but for '-' in row 17, which counts as missing, and"),
        ("abc", "is text that holds numbers but for 'abc' in row 17, and is read so"),
        ("True", "is text that holds numbers but for 'True' in row 17, and is read so"),
    ],
)
def test_the_value_because_of_which_numbers_are_text_is_named(cell, expected, order):
    texts = [f"{A[place]}" for place in ORDERS[order]]
    texts[17] = cell
    for frame in (pd.DataFrame({"a": texts, "b": B}), {"a": texts, "b": B}):
        with pytest.warns(ks.exceptions.KernelstreamWarning, match=re.escape(expected)):
            refused = refusal_of(frame)
        named = f"row 17, column 'a' is {cell!r}"
        assert named in refused if cell in {"abc", "True"} else refused == ""


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("value", [True, False, np.True_])
def test_truth_values_among_numbers_are_named(value, order):
    cells = np.array(A[ORDERS[order]].tolist(), object)
    cells[[31, 40]] = value
    found = f"column 'a' holds numbers and, in row 31, {bool(value)} and 1 more, which counts as "
    with pytest.warns(ks.exceptions.KernelstreamWarning, match=found + str(int(value))):
        ks.KernelRegressor().partial_fit(pd.DataFrame({"a": cells, "b": B}), Y)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.parametrize(
    ("cell", "expected"), [("abc", "'abc' in row 17 and 2 more, and"), ("N/A", "17 and 2 more, wh")]
)
def test_odd_cells_are_counted(cell, expected):
    texts = [f"{a}" for a in A]
    texts[17] = texts[20] = texts[30] = cell
    with pytest.warns(ks.exceptions.KernelstreamWarning, match=re.escape(expected)):
        refusal_of(pd.DataFrame({"a": texts, "b": B}))


@pytest.mark.parametrize(
    ("odd", "form"),
    [
        (["26:09"] * 5, "%H:%M:%S"),
        (["24:00"] * 30, "%H:%M:%S"),
        (["26:09"] * 30, "duration"),
        (["24:00"] * 20 + ["26:09"], "duration"),
    ],
)
def test_clock_times_with_odd_cells_are_no_durations(odd, form):
    texts = [f"{time:%H:%M}" for time in CLOCKS]
    texts[: len(odd)] = odd
    assert clock_form(pa.array(texts)) == form
