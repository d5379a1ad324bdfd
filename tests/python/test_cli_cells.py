"""Cells as people leave them in tables: none changes what a column is without a word."""

from __future__ import annotations

import gzip
import json
import os
import re
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelstream as ks
from kernelstream.columns.cells import cell_of
from kernelstream.columns.texts import MISSING, Numerals, cast_texts, settle
from test_cli import run

N = 300
RNG = np.random.default_rng(4)
U, V = RNG.normal(50, 10, N).round(3), RNG.normal(size=N).round(4)
FLOW = (2 * np.sin(U / 10) + V).round(4)


def table(cells=(), n=N, order=None):
    """The rows of a CSV file of u, v and flow, with cells (row, column, text) put into it."""
    rows = [[f"{u}", f"{v}", f"{y}"] for u, v, y in zip(U, V, FLOW, strict=True)][:n]
    if order is not None:
        rows = [rows[i] for i in order]
    for row, column, text in cells:
        rows[row][column] = f'"{text}"' if "," in text else text
    return rows


def written(path, rows, header="u,v,flow"):
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")
    return path


def run_by(kind, path, *options):
    """Learn a file, or its text by a pipe."""
    if kind == "file":
        return run("learn", path, *options)
    pipe = path.with_suffix(".pipe")
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[path.read_bytes()])
    writer.start()
    result = run("learn", pipe, *options)
    writer.join()
    return result


def r2(result):
    return float(re.search(r"^flow .* (-?\d\.\d+)$", result.stdout, re.MULTILINE)[1])


ORDERS = {"shuffled": np.arange(N), "sorted": np.argsort(U), "by target": np.argsort(FLOW)}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("text", ["?", "-", "--", "None", ".", "n.d.", "n.a."])
def test_texts_that_stand_for_nothing_are_missing(text, column, order, tmp_path):
    path = written(tmp_path / "t.csv", table([(200, column, text)], order=ORDERS[order]))
    name = ["u", "v", "flow"][column]
    result = run("learn", path, "-t", "flow")
    assert result.exit_code == 1
    assert f"row 201, column {name!r} (line 202): the value is missing" in result.stderr
    result = run("learn", path, "-t", "flow", "--missing", "skip")
    assert result.exit_code == 0, result.output
    assert "299 (1 skipped)" in result.stdout
    assert "flow from: u, v\n" in result.stderr


@pytest.mark.parametrize("row", [0, 7, 200, N - 1])
@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("text", ["<0.01", "#DIV/0!", "ERR", "TRUE", "12 mm", "1.2.3"])
def test_other_texts_among_numbers_are_named_with_a_remedy(text, column, row, tmp_path):
    path, saved = written(tmp_path / "t.csv", table([(row, column, text)])), tmp_path / "model"
    name = ["u", "v", "flow"][column]
    result = run("learn", path, "-t", "flow", "--save", saved)
    assert result.exit_code == 1
    assert (
        f"row {row + 1}, column {name!r} (line {row + 2}): {text!r} is not a number"
        in result.stderr
    )
    assert "--bad-cells" in result.stderr
    assert saved.exists() == (row > 0)
    if row:
        assert ks.load(saved).n_seen_ == row
    for policy, rows in (("skip", f"{N - 1} (1 skipped)"), ("missing", f"{N - 1} (1 skipped)")):
        more = ["--missing", "skip"] if policy == "missing" else []
        result = run("learn", path, "-t", "flow", "--bad-cells", policy, *more)
        assert result.exit_code == 0, result.output
        assert rows in result.stdout
        assert re.search(
            rf"bad cells +1 .*row {row + 1}, column {name!r} .line {row + 2}.", result.stdout
        )


def test_a_bad_cell_far_into_a_file_is_one_of_many(tmp_path):
    rows = table() * 200
    rows[30_000] = ["1", "oops", "2"]
    path = written(tmp_path / "t.csv", rows)
    checkpoint = tmp_path / "checkpoint"
    result = run("learn", path, "-t", "flow", "--checkpoint", checkpoint)
    assert result.exit_code == 1
    assert "row 30001, column 'v' (line 30002): 'oops'" in result.stderr
    assert ks.load(checkpoint).n_seen_ == 30_000
    # The same command with a policy continues there.
    result = run("learn", path, "-t", "flow", "--checkpoint", checkpoint, "--bad-cells", "skip")
    assert result.exit_code == 0, result.output
    assert ks.load(checkpoint).n_seen_ == 59_999


@pytest.mark.parametrize(
    ("header", "cells", "note"),
    [
        ("n;v;y", ["1.879,22;0,243;3.756,52", "2.396,5;-1,03;12,5"], "thousands separated by '.'"),
        ("n,v,y", ['"1,879.22",0.243,"3,756.52"', '"2,396.50",-1.03,12.5'], "separated by ','"),
        ("n,v,y", ["1 879.22,0.243,3756.52", "2 396.50,-1.03,12.5"], "separated by ' '"),
        ("n,v,y", ["1'879.22,0.243,3756.52", "2'396.5,-1.03,12.5"], 'separated by "\'"'),
        ("n,v,y", ["$1879.22,0.243,3756.52", "$2396.5,-1.03,12.5"], "numbers with $"),
        ("n,v,y", ["1879.22 %,0.243,3756.52", "2396.5%,-1.03,12.5"], "numbers with %"),
        ("n,v,y", ['"1879,22",0.243,3756.52', '"2396,5",-1.03,12.5'], "decimal sign ','"),
        ("n,v,y", ["+1879.22,0.243,3756.52", "2396.5,\N{MINUS SIGN}1.03,12.5"], ""),
    ],
)
def test_numbers_of_one_column_are_read_as_they_are_written(header, cells, note, tmp_path):
    path, plain = tmp_path / "t.csv", tmp_path / "plain.csv"
    path.write_text("\n".join([header, *(cells * 30)]))
    plain.write_text("\n".join(["n,v,y", *(["1879.22,0.243,3756.52", "2396.5,-1.03,12.5"] * 30)]))
    models = []
    for file in (path, plain):
        result = run("learn", file, "-t", "y", "--save", tmp_path / "m")
        assert result.exit_code == 0, result.output
        assert note in result.stderr or file is plain
        models.append(ks.load(tmp_path / "m").predict_one({"n": 2000.0, "v": 0.5}))
    assert models[0] == models[1]


def test_repeated_headers_are_left_out_and_counted(tmp_path):
    rows = table()
    rows = [*rows[:100], ["u", "v", "flow"], *rows[100:200], ["u", "v", "flow"], *rows[200:]]
    result = run("learn", written(tmp_path / "t.csv", rows), "-t", "flow")
    clean = run("learn", written(tmp_path / "clean.csv", table()), "-t", "flow")
    assert result.exit_code == 0, result.output
    assert r2(result) == r2(clean)
    assert re.search(r"headers repeated +2 in .*t.csv, rows 101, 202", result.stdout)
    # Rows are counted with them: 101 of the file is the header.
    rows[150][1] = "oops"
    result = run("learn", written(tmp_path / "t.csv", rows), "-t", "flow")
    assert "row 151, column 'v' (line 152): 'oops'" in result.stderr


@pytest.mark.parametrize("again", ['"u","v","flow"', "U,V,Flow", " u, v, flow", 'u,"v",flow\r'])
@pytest.mark.parametrize("place", [0, 100, N])
def test_headers_that_other_programs_repeat_are_left_out(again, place, tmp_path):
    rows = table()
    result = run("learn", written(tmp_path / "t.csv", rows), "-t", "flow")
    path = written(tmp_path / "t.csv", [*rows[:place], [again], *rows[place:]])
    other = run("learn", path, "-t", "flow")
    assert r2(other) == r2(result)
    assert f"row {place + 1}, left out" in other.stdout


@pytest.mark.parametrize("units", ["[m],[s],[l/s]", "(m),,(l/s)", "m,-,l", "degC,%,m3", ",s,l"])
def test_a_line_of_units_is_named(units, tmp_path):
    path = written(tmp_path / "t.csv", [units.split(","), *table()])
    result = run("learn", path, "-t", "flow")
    assert result.exit_code == 1
    assert "row 1, column" in result.stderr
    assert "units" in result.stderr
    result = run("learn", path, "-t", "flow", "--bad-cells", "skip", "--missing", "skip")
    assert result.exit_code == 0
    assert r2(result) > 0.9


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
def test_a_target_that_differs_in_each_row_is_no_label_unless_it_is_called_one(tmp_path):
    rows = [[*row[:2], f"sample {i}"] for i, row in enumerate(table(n=30))]
    path = written(tmp_path / "t.csv", rows)
    result = run("learn", path, "-t", "flow")
    assert result.exit_code == 1
    assert "'flow' is text with 30 different values" in result.stderr
    assert run("learn", path, "-t", "flow", "--classify").exit_code == 0


def test_columns_that_the_user_calls_numbers_are_numbers(tmp_path):
    cells = [(i, 1, "below") for i in range(200)]
    path = written(tmp_path / "t.csv", table(cells))
    result = run("learn", path, "-t", "flow")
    assert "v is taken for text: 200 of its first 300 values are not numbers" in result.stderr
    assert "such as 'below' in row 1; --number v" in result.stderr
    result = run("learn", path, "-t", "flow", "--number", "v", "--bad-cells", "skip")
    assert result.exit_code == 0, result.output
    assert "100 (200 skipped)" in result.stdout
    assert "and 197 more" in result.stdout


@pytest.mark.parametrize(
    ("options", "rows"),
    [([], 200), (["-c", "land"], 300), (["--missing-values", "gone"], 300)],
)
def test_the_text_na_can_be_a_value(options, rows, tmp_path):
    lands = np.array(["NA", "ZA", "BW"])[np.arange(N) % 3]
    rows_of_text = [f"{v},{land},{y}" for v, land, y in zip(V, lands, FLOW, strict=True)]
    path = tmp_path / "t.csv"
    path.write_text("v,land,flow\n" + "\n".join(rows_of_text))
    result = run("learn", path, "-t", "flow", "--missing", "skip", *options)
    assert result.exit_code == 0, result.output
    assert f"rows learned   {rows}" in result.stdout
    # In quotation marks it is one in any case.
    path.write_text(path.read_text().replace("NA", '"NA"'))
    result = run("learn", path, "-t", "flow", *options)
    assert f"rows learned   {N}" in result.stdout


def test_labels_that_look_missing_are_kept_by_the_model(tmp_path):
    path, saved = tmp_path / "t.csv", tmp_path / "m"
    path.write_text("x,land\n" + "".join(f"{x},{'NA' if x > 50 else 'ZA'}\n" for x in U))
    result = run("learn", path, "-t", "land", "--classes", "NA,ZA", "--save", saved)
    assert result.exit_code == 0, result.output
    assert f"rows learned   {N}" in result.stdout
    result = run("learn", path, "-t", "land", "--from", saved, "--again", "--save", saved)
    assert f"rows learned   {N}" in result.stdout
    result = run("predict", saved, path, "-o", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert set((tmp_path / "p.csv").read_text().replace('"', "").split()[1:]) == {"NA", "ZA"}


@pytest.mark.parametrize("text", ["-9999", "-9999.0"])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_numbers_can_stand_for_missing_values(ending, text, tmp_path):
    path = tmp_path / f"t.{ending}"
    frame = pd.DataFrame({"u": U, "v": V, "flow": FLOW})
    frame.loc[[3, 200], "v"] = float(text)
    if ending == "parquet":
        frame.to_parquet(path)
    elif ending == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    result = run("learn", path, "-t", "flow", "--missing-values", text, "--missing", "skip")
    assert result.exit_code == 0, result.output
    assert f"{N - 2} (2 skipped)" in result.stdout


def test_explain_shows_types_and_their_counts(tmp_path):
    path = written(tmp_path / "t.csv", table([(9, 0, "oops"), (12, 1, "?")]))
    result = run("learn", path, "-t", "flow", "--explain", "--bad-cells", "skip")
    assert re.search(r"column +taken for +why +odd cells", result.stderr)
    assert re.search(r"flow +target, number +numbers in the first 300 rows", result.stderr)
    assert re.search(r"v +number +299 of 299 are numbers", result.stderr)
    assert re.search(
        r"u +number +299 of 300 are numbers +1, such as 'oops' in row 10", result.stderr
    )


def test_columns_of_later_files_that_are_new_are_named(tmp_path):
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    written(first, table())
    written(second, [[*row, "7"] for row in table()], header="u,v,flow,extra")
    result = run("learn", first, second, "-t", "flow")
    assert "has columns that" in result.stderr
    assert "left out: extra" in result.stderr


def test_near_names_are_suggested(tmp_path):
    path = written(tmp_path / "t.csv", table())
    assert "did you mean 'flow'?" in run("learn", path, "-t", "Flwo").stderr
    assert "did you mean" not in run("learn", path, "-t", "weather").stderr


@pytest.mark.parametrize("pad", [1, 511, 1 << 21])
def test_gzip_may_be_padded_with_zeros(pad, tmp_path):
    text = written(tmp_path / "t.csv", table()).read_bytes()
    path = tmp_path / "t.csv.gz"
    parts = [gzip.compress(part, mtime=0) for part in (text[:1000], b"", text[1000:])]
    path.write_bytes(b"".join(parts) + bytes(pad))
    result = run("learn", path, "-t", "flow")
    assert result.exit_code == 0, result.output
    assert f"rows learned   {N}" in result.stdout
    path.write_bytes(b"".join(parts)[:-9])
    assert "is damaged: truncated" in run("learn", path, "-t", "flow").stderr


def test_identifiers_are_carried_along(tmp_path):
    rows = [[f"id {i}", *row] for i, row in enumerate(table())]
    path, saved = written(tmp_path / "t.csv", rows, header="name,u,v,flow"), tmp_path / "m"
    run("learn", path, "-t", "flow", "--save", saved)
    output = tmp_path / "p.csv"
    result = run("predict", saved, path, "-o", output, "--keep", "name", "-k", "u")
    assert result.exit_code == 0, result.output
    found = pd.read_csv(output)
    assert list(found) == ["name", "u", "flow_predicted"]
    assert found["name"].tolist() == [row[0] for row in rows]
    assert found["u"].to_numpy() == pytest.approx(U)
    result = run("predict", saved, path, "-k", "nam")
    assert "did you mean 'name'?" in result.stderr


def test_info_shows_what_a_model_holds(tmp_path):
    rows = [[*row, "red" if i % 2 else "blue"] for i, row in enumerate(table())]
    path = written(tmp_path / "t.csv", rows, header="u,v,flow,colour")
    saved = tmp_path / "m"
    run("learn", path, "-t", "flow", "--save", saved, "--learner", "ridge:1e-3")
    found = json.loads(run("info", saved, "--json").stdout)
    assert (found["model"], found["rows"], found["targets"]) == ("KernelRegressor", N, ["flow"])
    assert [column["type"] for column in found["columns"]] == ["number", "number", "category"]
    assert found["columns"][0]["mean"] == pytest.approx(ks.load(saved).scales_[0, 0])
    assert "Ridge" in found["settings"]["learner"]
    assert found["settings"]["basis"].startswith("ALD(")
    assert "default" in found["settings"]["basis"]
    assert found["diagnostics"]["coverage"] == ks.load(saved).diagnostics_.coverage
    assert found["options"]["learner"] == "ridge:1e-3"
    assert list(found["files"].values()) == [N]
    text = run("info", saved).stdout
    assert re.search(r"colour +category", text)
    assert re.search(r"name +type +mean +deviation", text)
    # Experts standardize by themselves, by means of their own.
    run("learn", path, "-t", "flow", "--save", tmp_path / "experts", "--experts")
    text = run("info", tmp_path / "experts").stdout
    assert re.search(r"u +number", text)
    assert "deviation" not in text
    result = run("info", path)
    assert result.exit_code == 1
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "names", [("no", "yes"), ("N", "Y"), ("f", "t"), ("NO", "YES"), ("0", "1"), ("false", "true")]
)
@pytest.mark.parametrize("order", ["mixed", "sorted"])
def test_labels_keep_the_names_that_the_file_gives_them(tmp_path, names, order):
    rows = [[u, v, names[float(u) > 0]] for u, v, _ in table()]
    rows = sorted(rows, key=lambda row: row[2]) if order == "sorted" else rows
    path, saved = written(tmp_path / "t.csv", rows, header="u,v,open"), tmp_path / "m"
    result = run("learn", path, "-t", "open", "--classify", "--save", saved)
    assert result.exit_code == 0, result.output
    classes = ks.load(saved).classes_.tolist()
    # As pandas reads them.
    assert classes == sorted(set(pd.read_csv(path)["open"].tolist()))
    output = tmp_path / "p.csv"
    result = run("predict", saved, path, "-o", output)
    assert result.exit_code == 0, result.output
    assert set(pd.read_csv(output)["open_predicted"]) == set(classes)


def test_unknown_endings_are_refused(tmp_path):
    path, saved = written(tmp_path / "t.csv", table()), tmp_path / "m"
    result = run("learn", path, "-t", "flow", "--save", saved, "--predict-to", tmp_path / "p.xlsx")
    assert "not .xlsx" in result.stderr
    result = run("predict", saved, path, "-o", tmp_path / "p.xlsx")
    assert result.exit_code == 1
    assert not (tmp_path / "p.xlsx").exists()


def test_gaps_have_a_remedy_in_predict(tmp_path):
    path, saved = written(tmp_path / "t.csv", table()), tmp_path / "m"
    run("learn", path, "-t", "flow", "--save", saved)
    result = run("predict", saved, written(tmp_path / "gap.csv", table([(5, 0, "")])))
    assert "row 6, column 'u' (line 7): the value is missing" in result.stderr
    assert "--missing fill" in result.stderr


def test_text_columns_of_parquet_can_be_called_numbers(tmp_path):
    path = tmp_path / "t.parquet"
    pa_parquet.write_table(pa.table({"u": [f"{u}" for u in U], "flow": FLOW}), path)
    said = "u is text by its type and holds numbers, such as"
    assert said in run("learn", path, "-t", "flow").stderr
    assert said not in run("learn", path, "-t", "flow", "-c", "u").stderr
    result = run("learn", path, "-t", "flow", "--number", "u")
    assert result.exit_code == 0, result.output
    assert "flow from: u\n" in result.stderr


def test_types_are_settled_by_counts():
    odd = ["x"] * 10
    numbers = [f"{i}" for i in range(90)]
    assert settle(pa.array(numbers + odd)).type == pa.int64()
    assert settle(pa.array(numbers + odd)).odd == (90, "x")
    assert settle(pa.array([*numbers[:89], *odd, "x"])).type == pa.string()
    assert settle(pa.array(["a", "b", "a"])).type == pa.string()
    assert settle(pa.array([None, "", "NA"])).type == pa.string()
    times = ["2024-01-05", "2024-02-30", "2024-03-01", "2024-03-02"]
    settled = settle(pa.array(times))
    assert (settled.type, settled.odd) == (pa.timestamp("us"), (1, "2024-02-30"))
    assert settle(pa.array(["true", "False", "?", "TRUE"])).type == pa.bool_()
    for others in (["yes", "no", "?", "YES"], ["t", "f", "f"], ["true", "false", "yes", "no"]):
        assert settle(pa.array(others)).type == pa.string()


def _learned_times(texts, carrier, folder):
    """Give the model that learns a target from texts that are times."""
    target = np.sin(np.arange(len(texts)) / 30.0)
    frame = pd.DataFrame({"t": texts, "y": target})
    if carrier in {"pandas", "dict"}:
        columns = frame[["t"]] if carrier == "pandas" else {"t": texts}
        with pytest.warns(UserWarning, match="times in ISO 8601"):
            return ks.KernelRegressor().fit(columns, target)
    path = folder / f"t.{carrier}"
    if carrier == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    result = run("learn", path, "-t", "y", "--plain", "--save", folder / "model")
    assert result.exit_code == 0
    assert "t (time)" in result.stderr
    return ks.load(folder / "model")


@pytest.mark.parametrize("digits", [1, 7, 9])
@pytest.mark.parametrize("point", [".", ","])
@pytest.mark.parametrize("carrier", ["csv", "jsonl", "pandas", "dict"])
def test_times_of_any_precision_are_times_everywhere(tmp_path, digits, point, carrier):
    """Nanoseconds are more than a column of times holds; they are left out."""
    whole = [f"2024-01-01T{s // 60:02d}:{s % 60:02d}:07" for s in range(300)]
    fraction = "123456789"[:digits]
    fine = _learned_times([f"{text}{point}{fraction}" for text in whole], carrier, tmp_path)
    plain = _learned_times([f"{text}.{fraction[:6]}" for text in whole], carrier, tmp_path)
    asked = pd.DataFrame({"t": pd.date_range("2024-01-01", periods=200, freq="90s")})
    assert np.allclose(fine.predict(asked), plain.predict(asked), rtol=0, atol=1e-9)


@pytest.mark.parametrize("form", ["20240131", "now", "12", "2024W05"])
@pytest.mark.parametrize("carrier", ["csv", "jsonl", "pandas", "dict"])
def test_a_cell_that_is_no_time_as_the_others_is_named(tmp_path, form, carrier):
    texts = [f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}" for i in range(300)]
    texts[120] = form
    target = np.arange(300.0)
    if carrier == "csv":
        lines = [f"{t},{y}" for t, y in zip(texts, target, strict=True)]
        (tmp_path / "t.csv").write_text("t,y\n" + "\n".join(lines) + "\n")
    elif carrier == "jsonl":
        rows = [json.dumps({"t": t, "y": y}) for t, y in zip(texts, target, strict=True)]
        (tmp_path / "t.jsonl").write_text("\n".join(rows) + "\n")
    if carrier in {"csv", "jsonl"}:
        result = run("learn", tmp_path / f"t.{carrier}", "-t", "y")
        assert result.exit_code == 1
        assert "row 121, column 't'" in result.stderr
        assert repr(form) in result.stderr
        return
    columns = {"t": texts} if carrier == "dict" else pd.DataFrame({"t": texts})
    with pytest.warns(UserWarning, match="times in ISO 8601"):  # noqa: SIM117
        with pytest.raises(ValueError, match=f"row 120, column 't' is '{form}', which is no time"):
            ks.KernelRegressor().fit(columns, target)


@given(st.lists(st.floats(-1e9, 1e9, allow_nan=False).map(lambda x: round(x, 2)), min_size=1))
@settings(deadline=None)
def test_numbers_come_back_from_every_way_of_writing_them(numbers):
    ways = {
        Numerals(): lambda x: f"{x}",
        Numerals(thousands=","): lambda x: f"{x:,.2f}",
        Numerals(",", "."): lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,")),
        Numerals(thousands=" "): lambda x: f"{x:,.2f}".replace(",", "\N{NO-BREAK SPACE}"),
        Numerals(unit="%"): lambda x: f"{x:.2f} %",
        Numerals(thousands=",", unit="$"): lambda x: f"-${-x:,.2f}" if x < 0 else f"${x:,.2f}",
        Numerals(negative="()"): lambda x: f"({-x:.2f})" if x < 0 else f"{x:.2f}",
        Numerals(negative="5-"): lambda x: f"{-x:.2f}-" if x < 0 else f"{x:.2f}",
        Numerals(unit="%", negative="()"): lambda x: f"({-x:.2f}%)" if x < 0 else f"{x:.2f}%",
        Numerals(thousands="'"): lambda x: f"{x:,.2f}".replace(
            ",", "\N{RIGHT SINGLE QUOTATION MARK}"
        ),
        Numerals(",", " "): lambda x: f"{x:,.2f}".replace(",", "\N{THIN SPACE}").replace(".", ","),
    }
    for numerals, write in ways.items():
        values, bad = cast_texts(pa.array([write(x) for x in numbers]), "number", numerals)
        assert not bad.any()
        assert values.to_pylist() == numbers


CELLS = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters='",\n'), max_size=8
)


@given(
    st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, 2), CELLS), min_size=1, max_size=25)
)
@settings(max_examples=25, deadline=None)
def test_odd_cells_anywhere_change_nothing_without_being_named(tmp_path_factory, cells):
    """A good file with odd cells: same columns of numbers, or an error or note that names one."""
    folder = tmp_path_factory.mktemp("fuzz")
    path = written(folder / "t.csv", table(cells))
    result = run("learn", path, "-t", "flow", "--missing", "skip")
    texts = {text.strip() for text in {cell[:2]: cell[2] for cell in cells}.values()}
    if result.exit_code:
        assert re.search(r"row \d+, column '(u|v|flow)' .line \d+.", result.stderr), result.stderr
    else:
        assert "learning flow from: u, v\n" in result.stderr
        known = pa.array(sorted(texts), pa.string())
        bad = cast_texts(known, "number", Numerals(), MISSING)[1]
        assert not bad.any() or "numbers with" in result.stderr


@pytest.mark.parametrize("row", [1, 69, 256, N - 1])
@pytest.mark.parametrize(
    ("column", "text", "said"),
    [
        (0, "", "the value is missing"),
        (2, "NA", "the value is missing"),
        (1, "inf", "the value is infinite"),
        (2, "-1e400", "the value is infinite"),
        (0, "1e60", "is too large"),
        (1, "oops", "is not a number"),
    ],
)
@pytest.mark.parametrize("order", ORDERS)
def test_rows_before_one_that_is_refused_are_learned_and_saved(
    row, column, text, said, order, tmp_path
):
    rows = table([(row, column, text)], order=ORDERS[order])
    path, saved = written(tmp_path / "t.csv", rows), tmp_path / "m"
    result = run("learn", path, "-t", "flow", "--save", saved)
    assert result.exit_code == 1
    assert f"row {row + 1}, column" in result.stderr
    assert f"(line {row + 2})" in result.stderr
    assert said in result.stderr
    learned = "row before the error is" if row == 1 else f"{row:,} rows before the error are"
    assert f"the {learned} learned and saved" in result.stderr
    head = written(tmp_path / "head.csv", rows[:row])
    run("learn", head, "-t", "flow", "--save", tmp_path / "other")
    x = {"u": 51.0, "v": 0.2}
    assert ks.load(saved).predict_one(x) == ks.load(tmp_path / "other").predict_one(x)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_rows_and_lines_are_both_named(end, tmp_path):
    lines = ["a,note,y", "", '1,"two', 'lines, ""quoted""",2', "2,x,3", "", '3,"a', "b", 'c",4']
    path = tmp_path / "t.csv"
    path.write_bytes(end.join([*lines, "oops,x,5", "4,x,5", *["5,x,6"] * 20]).encode())
    result = run("learn", path, "-t", "y", "-x", "note")
    assert "row 4, column 'a' (line 10): 'oops'" in result.stderr
    path.write_bytes(end.join([*lines, ",x,5", *["5,x,6"] * 20]).encode())
    assert "row 4, column 'a' (line 10)" in run("learn", path, "-t", "y", "-x", "note").stderr
    path.write_bytes(end.join([*lines, "6,x,5,4", *["5,x,6"] * 20]).encode())
    assert "row 4 (line 10): it has 4 fields" in run("learn", path, "-t", "y").stderr
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "y": 2}\n\n{"a": 2, "y": 3}\n{"a": null, "y": 3}\n')
    assert "row 3, column 'a' (line 4)" in run("learn", path, "-t", "y").stderr


def test_model_files_hold_no_absolute_paths_and_may_move_with_their_tables(tmp_path, monkeypatch):
    (tmp_path / "one" / "data").mkdir(parents=True)
    (tmp_path / "one" / "models").mkdir()
    path = written(tmp_path / "one" / "data" / "t.csv", table())
    saved = tmp_path / "one" / "models" / "m"
    run("learn", path, "-t", "flow", "--save", saved, "--checkpoint", tmp_path / "one" / "c")
    for file in (saved, tmp_path / "one" / "c"):
        assert str(tmp_path).encode() not in file.read_bytes()
    assert list(json.loads(run("info", saved, "--json").stdout)["files"]) == ["../data/t.csv"]
    (tmp_path / "one").rename(tmp_path / "two")
    monkeypatch.chdir(tmp_path / "two" / "data")
    result = run("learn", "t.csv", "--from", "../models/m", "--save", "../again")
    assert "every row was learned before" in result.stderr
    result = run("learn", "t.csv", "--from", "../again")
    assert "every row was learned before" in result.stderr


@pytest.mark.parametrize(
    ("write", "note"),
    [
        (lambda u: f"{u} kg", "with kg"),
        (lambda u: f"{u}km/h", "with km/h"),
        (lambda u: f"{u} °C", "with °C"),
        (lambda u: f"EUR {u}", "with EUR"),
        (lambda u: f"{u} USD", "with USD"),
        (lambda u: f'"${u:,}"', "with $"),
        (lambda u: f"({-u})" if u < 0 else f"{u}", "negative ones as (5)"),
        (lambda u: f"{-u}-" if u < 0 else f"{u}", "negative ones as 5-"),
        (lambda u: f"({-u}%)" if u < 0 else f"{u} %", "with %, with negative ones as (5)"),
    ],
)
@pytest.mark.parametrize("place", [0, 2])
def test_units_of_a_whole_column_are_read_and_said(write, note, place, tmp_path):
    rows, shift = table(), -1e3 if "negative" in note else 1e3
    for row in rows:
        row[place] = write(float(row[place]) + shift)
    plain = [[*row] for row in table()]
    for row in plain:
        row[place] = str(float(row[place]) + shift)
    path, other = written(tmp_path / "t.csv", rows), written(tmp_path / "plain.csv", plain)
    result = run("learn", path, "-t", "flow")
    assert result.exit_code == 0, result.output
    assert note in result.stderr
    assert f"such as {rows[0][place].strip(chr(34))!r} in row 1" in result.stderr
    assert r2(result) == r2(run("learn", other, "-t", "flow"))
    # One that has another unit, or none, is named.
    rows[200][place] = "5 lb"
    result = run("learn", written(path, rows), "-t", "flow")
    assert re.search(r"row 201, column .* .line 202.: ", result.stderr)
    assert "'5 lb' is not a number" in result.stderr


@pytest.mark.parametrize("names", ["item {}", "A{}", "{}:70", "{}/2024", "{} {}", "no {}"])
def test_texts_with_numbers_in_them_are_not_taken_for_measures(names, tmp_path):
    rows = [[names.format(i % 9, i % 7), *row[1:]] for i, row in enumerate(table())]
    result = run("learn", written(tmp_path / "t.csv", rows), "-t", "flow")
    assert "u (category)" in result.stderr


DAYS = pd.date_range("2023-11-03T08:30", periods=N, freq="31h")


@pytest.mark.parametrize(
    ("form", "whole_days"),
    [
        ("%d/%m/%Y", True),
        ("%m/%d/%Y", True),
        ("%d.%m.%Y %H:%M", False),
        ("%d-%b-%Y", True),
        ("%b %d %Y", True),
        ("%B %d, %Y", True),
        ("%Y/%m/%d %H:%M:%S", False),
        ("%d.%m.%y", True),
        ("%m/%d/%Y %I:%M %p", False),
        ("%d. %B %Y", True),
    ],
)
def test_times_in_other_forms_are_read_as_the_same_times_in_iso_8601(form, whole_days, tmp_path):
    days = DAYS.normalize() if whole_days else DAYS
    answers = []
    for number, written_as in enumerate([form, "%Y-%m-%dT%H:%M:%S"]):
        rows = [[f'"{day:{written_as}}"', *row[1:]] for day, row in zip(days, table(), strict=True)]
        path, saved = written(tmp_path / f"{number}.csv", rows), tmp_path / f"m{number}"
        result = run("learn", path, "-t", "flow", "--save", saved)
        assert "flow from: u (time), v\n" in result.stderr, result.output
        if not number:
            assert f"such as '{days[0]:{form}}' in row 1" in result.stderr
            rows[200][0] = "soon"
            again = run("learn", written(tmp_path / "odd.csv", rows), "-t", "flow")
            assert "row 201, column 'u' (line 202): 'soon' is not a time" in again.stderr
        # A later file whose days and months cannot be distinguished is read as the first.
        few = [[f'"{day:{written_as}}"', "1", "2"] for day in days[60:64]]
        run("predict", saved, written(tmp_path / f"few{number}.csv", few), "-o", tmp_path / "p.csv")
        answers.append((tmp_path / "p.csv").read_text())
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("write", "form", "said"),
    [
        (lambda day: f"{day:%d/%m/%Y}", "%d/%m/%Y", "cannot be distinguished"),
        (lambda day: f"{day:%m-%d-%Y}", "%m-%d-%Y", "cannot be distinguished"),
        (lambda day: f"{day:%m/%d/%y}", "%m/%d/%y", "cannot be distinguished"),
        (lambda day: f"{day:%Y%m%d}", "%Y%m%d", "which may be dates"),
        (lambda day: f"{day.timestamp():.0f}", "s", "seconds since 1970"),
        (lambda day: f"{1e3 * day.timestamp():.0f}", "ms", "milliseconds since 1970"),
    ],
)
def test_times_that_may_be_several_are_said_with_a_remedy(write, form, said, tmp_path):
    days = [day.normalize().replace(day=day.day % 12 + 1) for day in DAYS]
    rows = [[write(day), *row[1:]] for day, row in zip(days, table(), strict=True)]
    result = run("learn", path := written(tmp_path / "t.csv", rows), "-t", "flow")
    assert said in result.stderr
    assert f"--dates 'u={form}'" in result.stderr
    saved, other = tmp_path / "m", tmp_path / "other"
    result = run("learn", path, "-t", "flow", "--dates", f"u={form}", "--save", saved)
    assert "flow from: u (time), v\n" in result.stderr, result.output
    iso = [[f"{day:%Y-%m-%d}", *row[1:]] for day, row in zip(days, table(), strict=True)]
    run("learn", written(tmp_path / "iso.csv", iso), "-t", "flow", "--save", other)
    asked = {"u": days[:5], "v": [0.0] * 5}
    np.testing.assert_array_equal(ks.load(saved).predict(asked), ks.load(other).predict(asked))
    assert "--dates" in run("learn", path, "-t", "flow", "--dates", "u").stderr
    assert "has no column 'w'" in run("learn", path, "-t", "flow", "--dates", "w=%d").stderr


def test_times_with_zones_in_some_cells_are_said_with_a_remedy(tmp_path):
    rows = [[f"{day:%Y-%m-%dT%H:%M:%S}", *row[1:]] for day, row in zip(DAYS, table(), strict=True)]
    for row in rows[::2]:
        row[0] += "Z"
    result = run("learn", written(tmp_path / "t.csv", rows), "-t", "flow")
    assert "u is taken for text: times are read as ISO 8601" in result.stderr
    assert repr(rows[0][0]) in result.stderr


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_times_of_states_may_be_in_other_forms(tmp_path):
    tables = []
    for form in ("%d/%m/%Y", "%Y-%m-%d"):
        path = tmp_path / "t.csv"
        days = pd.date_range("2023-11-03", periods=N)
        rows = [[f"{day:{form}}", f"{y}"] for day, y in zip(days, FLOW, strict=True)]
        result = run("dynamics", written(path, rows, "day,flow"), "--time", "day", "--forecast", 2)
        assert result.exit_code == 0, result.output
        tables.append(result.stdout[result.stdout.index("step,") :])
    assert "2024-08-29" in tables[0]
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    ("form", "freq", "remedy"),
    [
        ("%d/%m/%Y", "MS", "--dates 'day=%d/%m/%Y' or --dates 'day=%m/%d/%Y'"),
        ("%d/%m/%y", "MS", "--dates 'day=%d/%m/%y' or --dates 'day=%m/%d/%y'"),
        ("%Y-%m-%d %H h", "h", "--dates 'day=FORMAT'"),
        ("%Y_%m_%d", "D", "neither numbers nor times"),
        ("%d-%m-%Y", "MS", "--dates 'day=%d-%m-%Y' or --dates 'day=%m-%d-%Y'"),
    ],
)
def test_times_of_states_that_may_be_several_are_refused_with_a_remedy(
    form, freq, remedy, tmp_path
):
    days = pd.date_range("1990-01-01", periods=N, freq=freq)
    rows = [[f"{day:{form}}", f"{y}"] for day, y in zip(days, FLOW, strict=True)]
    path = written(tmp_path / "t.csv", rows, "day,flow")
    result = run("dynamics", path, "--time", "day", "--forecast", 2)
    assert result.exit_code == 1
    assert remedy in result.stderr
    assert "column 'day' contains text" in result.stderr


@pytest.mark.parametrize("names", ["1.{}.{}", "{}-{}", "10.0.{}.{}", "{}/{}", "A{}-{}-01"])
def test_texts_like_dates_are_not_taken_for_them(names, tmp_path):
    rows = [[names.format(i % 9, i % 7), *row[1:]] for i, row in enumerate(table())]
    result = run("learn", written(tmp_path / "t.csv", rows), "-t", "flow")
    assert "u (category)" in result.stderr


GERMAN = [[f"{1e3 * u:,.1f}".translate(str.maketrans(",.", ".,")), v, y] for u, v, y in
          zip(U, V, FLOW, strict=True)]  # fmt: skip


def test_how_numbers_are_written_is_stored_and_obeyed(tmp_path):
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    saved, whole = tmp_path / "m", tmp_path / "whole"
    lines = [f"{u};{str(v).replace('.', ',')};{str(y).replace('.', ',')}" for u, v, y in GERMAN]
    first.write_text("u;v;flow\n" + "\n".join(lines))
    # All of these are numbers to the letter: 1.234 for 1234.
    few = [("51.234", 1), ("48.500", 0), ("62.125", 2)]
    second.write_text("u;v;flow\n" + "\n".join(f"{u};{v};{v}" for u, v in few))
    run("learn", first, "-t", "flow", "--save", saved)
    result = run("predict", saved, second, "--keep", "u")
    numbers = [float(u.replace(".", "")) for u, _ in few]
    expected = ks.load(saved).predict({"u": numbers, "v": [v for _, v in few]})
    found = [float(line.split(",")[1]) for line in result.stdout.splitlines()[1:4]]
    assert found == pytest.approx(expected.ravel())
    run("learn", second, "-t", "flow", "--from", saved, "--save", saved)
    run("learn", first, second, "-t", "flow", "--save", whole)
    x = {"u": 5e4, "v": 1.0}
    assert ks.load(saved).predict_one(x) == ks.load(whole).predict_one(x)
    # A table that can only be read in another way is, and that is said.
    second.write_text("u,v,flow\n" + "\n".join(f"{1e3 * u:.1f},{v},{y}" for u, v, y in
                                                zip(U, V, FLOW, strict=True)))  # fmt: skip
    result = run("predict", saved, second)
    assert "with a decimal point alone, where those before" in result.stderr


@pytest.mark.parametrize(
    ("first", "zone"),
    [
        ("2024-06-01T00:00:00+02:00", ""),
        ("2024-05-31T22:00:00Z", ""),
        ("2024-05-31 18:00:00-0400", ""),
        ("Europe/Berlin", "Europe/Berlin"),
        ("Asia/Kolkata", "Asia/Kolkata"),
    ],
)
def test_times_with_zones_are_instants(first, zone, tmp_path):
    instants = pd.date_range("2024-05-31T22:00:00Z", periods=N, freq="37min")
    frame = pd.DataFrame({"t": instants, "v": V, "flow": FLOW})
    saved, path = tmp_path / "m", tmp_path / ("t.parquet" if zone else "t.csv")
    if zone:
        frame["t"] = frame["t"].dt.tz_convert(zone)
        frame.to_parquet(path)
    else:
        offset = pd.Timestamp(first).tz
        frame["t"] = [time.tz_convert(offset).isoformat() for time in instants]
        frame.to_csv(path, index=False)
    result = run("learn", path, "-t", "flow", "--save", saved)
    assert "flow from: t (time), v" in result.stderr
    columns = json.loads(run("info", saved, "--json").stdout)["columns"]
    assert columns[0].get("zone", "") == zone
    answers = []
    for form, written_as in (("csv", "UTC"), ("csv", "America/New_York"), ("parquet", "UTC"),
                             ("parquet", "Europe/Berlin")):  # fmt: skip
        times = instants.tz_convert(written_as)
        other = tmp_path / f"other.{form}"
        if form == "csv":
            pd.DataFrame({"t": [time.isoformat() for time in times], "v": V}).to_csv(other)
        else:
            pd.DataFrame({"t": times, "v": V}).to_parquet(other)
        result = run("predict", saved, other, "-o", tmp_path / "p.csv")
        assert result.exit_code == 0, result.output
        answers.append(pd.read_csv(tmp_path / "p.csv").to_numpy())
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer, answers[0])


@pytest.mark.parametrize(
    "options", [[], ["--experts"], ["--missing", "skip"], ["--coverage", ".9"]]
)
@pytest.mark.parametrize("text", ["", "NA", "?"])
@pytest.mark.parametrize("order", ORDERS)
def test_rows_with_one_of_several_targets_are_learned_with_it_and_counted(
    order, text, options, tmp_path
):
    cells = [(place, 2, text) for place in range(3, N, 7)]
    path, saved = tmp_path / "t.csv", tmp_path / "m"
    rows = [[*row, str(2 * float(row[1]))] for row in table(cells, order=ORDERS[order])]
    written(path, rows, header="u,v,flow,twice")
    result = run("learn", path, "-t", "flow", "-t", "twice", "--save", saved, *options)
    assert result.exit_code == 0, result.output
    assert f"rows learned     {N}\n" in result.stdout
    assert f"targets missing  flow in {len(cells)} rows\n" in result.stdout
    model = ks.load(saved)
    assert model.n_seen_ == N
    if not options:
        known = [row for row in rows if row[2] != text]
        frame = pd.DataFrame(known, columns=["u", "v", "flow", "twice"]).astype(float)
        alone = ks.KernelRegressor().partial_fit(frame[["u", "v"]], frame["flow"])
        asked = {"u": U[:9], "v": V[:9]}
        np.testing.assert_allclose(
            model.predict(asked)[:, 0], alone.predict(asked), rtol=1e-10, atol=1e-10
        )
    # Predictions are made of it, and their errors counted by the targets that are known.
    result = run("predict", saved, path, "-o", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert len(pd.read_csv(tmp_path / "p.csv").dropna()) == N
    rows[30][2] = rows[30][3] = ""
    result = run("learn", written(path, rows, header="u,v,flow,twice"), "-t", "flow", "-t", "twice")
    assert "row 31, column 'flow' (line 32): the value is missing" in result.stderr


@pytest.mark.parametrize("value", ["-9999", "32767", "-999999.0", "-9999999"])
def test_codes_for_missing_targets_are_named(value, tmp_path):
    path = written(tmp_path / "t.csv", table([(123, 2, value)]))
    result = run("learn", path, "-t", "flow")
    assert "row 124, column 'flow' (line 125): " in result.stderr
    assert f"--missing-values={float(value):.12g}" in result.stderr
    result = run("learn", path, "-t", "flow", f"--missing-values={value}", "--missing", "skip")
    assert "299 (1 skipped)" in result.stdout
    assert "further" not in result.stderr
    assert "further" not in run("learn", written(path, table()), "-t", "flow").stderr


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.OutlierWarning")
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["--plain", "--experts"])
@pytest.mark.parametrize("spread", [1.0, 1000.0])
def test_codes_for_missing_targets_are_named_also_by_experts(spread, kind, order, tmp_path):
    rows = table(order=ORDERS[order])
    for row in rows:
        row[2] = f"{spread * float(row[2]):.3f}"
    rows[123][2] = "-9999"
    result = run("learn", written(tmp_path / "t.csv", rows), "-t", "flow", kind)
    assert "row 124, column 'flow' (line 125): -9999, " in result.stderr
    assert ("where all other values are from " in result.stderr) == (spread > 1.0)
    learned = "it is, or winsorized" if kind == "--experts" else "it is"
    # Far beyond the other targets, it is found before it is learned.
    if spread == 1.0 or (kind, order) == ("--experts", "by target"):
        learned = "the nearest ordinary value"
    assert f", is learned as {learned}; if it stands for a missing value: " in result.stderr
    assert "--missing-values=-9999" in result.stderr


@pytest.mark.parametrize(
    ("head", "delimiter"), [("sep=;\n", ";"), ('"sep=;"\r\n', ";"), ("SEP=|\n", "|"), ("", " ")]
)
def test_delimiters_of_spreadsheets_and_instruments_are_read(head, delimiter, tmp_path):
    path = tmp_path / "t.csv"
    lines = [delimiter.join(row) for row in [["u", "v", "flow"], *table()]]
    path.write_bytes((head + "\n".join(lines)).encode())
    result = run("learn", path, "-t", "flow")
    assert result.exit_code == 0, result.output
    assert r2(result) == r2(run("learn", written(tmp_path / "o.csv", table()), "-t", "flow"))


@pytest.mark.parametrize("above", ["# made by hand", "A report", "// 2024", "% u v flow"])
def test_lines_above_the_names_of_columns_are_refused_with_a_remedy(above, tmp_path):
    path = written(tmp_path / "t.csv", table(), header=f"{above}\nu,v,flow")
    result = run("learn", path, "-t", "flow")
    assert result.exit_code == 1
    assert "row 1 (line 2): it has 3 fields" in result.stderr
    assert "delete the lines above" in result.stderr


def test_labels_are_named_so_that_a_stray_one_is_seen(tmp_path):
    rows = [[*row[:2], "high" if i % 3 else "low"] for i, row in enumerate(table())]
    rows[7][2] = "hihg"
    result = run("learn", written(tmp_path / "t.csv", rows), "-t", "flow")
    assert "flow is a label, one of 3: 'high', 'hihg', 'low'" in result.stderr


def test_new_columns_are_mentioned_once(tmp_path):
    paths = [tmp_path / f"{i}.csv" for i in range(4)]
    written(paths[0], table())
    for path in paths[1:]:
        written(path, [[*row, "7"] for row in table()], header="u,v,flow,extra")
    saved = tmp_path / "m"
    result = run("learn", *paths, "-t", "flow", "--save", saved)
    assert result.stderr.count("extra") == 1
    result = run("predict", saved, *paths[1:], "-o", tmp_path / "p.csv")
    assert "not used: extra" in result.stderr
    result = run("predict", saved, paths[1], "-o", tmp_path / "p.csv", "--keep", "extra")
    assert "not used" not in result.stderr


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([f"{u}" for u in U], "and holds numbers, such as"),
        ([f"{u} kg" for u in U], "and holds numbers with kg, such as"),
        ([f"2024-01-{i % 28 + 1:02d}" for i in range(N)], "and holds times in ISO 8601"),
        ([f"{i}" for i in range(N)], "though it holds numbers; --number u"),
    ],
)
def test_text_of_parquet_that_is_something_else_is_said(texts, said, tmp_path):
    path = tmp_path / "t.parquet"
    pa_parquet.write_table(pa.table({"u": texts, "v": V, "flow": FLOW}), path)
    outcome = run("learn", path, "-t", "flow").stderr
    assert f"u is text by its type {said}" in outcome.replace("type, though", "type though")


WORDS = np.array(["red", "blue", "green"])[np.arange(N) % 3]
WHEN = [f"2024-01-{i % 28 + 1:02d}T0{i % 10}:30:00" for i in range(N)]


@given(st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, 4), CELLS), max_size=12))
@settings(max_examples=25, deadline=None)
def test_odd_cells_leave_each_type_as_it_is_or_are_named(tmp_path_factory, cells):
    """Columns of numbers, truth values, times and words, and a label."""
    folder = tmp_path_factory.mktemp("fuzz")
    whole = [list(row) for row in zip(
        map(str, U), np.where(V > 0, "true", "false"), WHEN, WORDS,
        np.where(FLOW > 0, "up", "down"), strict=True,
    )]  # fmt: skip
    for row, column, text in cells:
        whole[row][column] = text
    path = written(folder / "t.csv", whole, header="u,b,when,word,y")
    result = run("learn", path, "-t", "y", "--missing", "skip")
    if result.exit_code:
        assert re.search(r"row \d+, column '(u|b|when|word|y)' .line \d+.", result.stderr)
        return
    used = "learning y from: u, b (boolean), when (time), word (category)\n"
    assert used in result.stderr
    missing = {"", *MISSING}
    last = {cell[:2]: cell[2] for cell in cells}
    # Spaces belong to a label, but not to a cell that is missing.
    known = missing | {"up", "down"}
    texts = {text for (_, column), text in last.items() if column == 4}
    stray = {text for text in texts if text.strip() not in known}
    for text in stray:
        assert repr(text) in result.stderr, text


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.parametrize("order", ["shuffled", "sorted"])
@pytest.mark.parametrize("form", ["{:05d}", "0{}0", "00{}7", "{:03d}", "0{}00"])
def test_codes_with_leading_zeros_are_categories_in_files_and_frames(form, order, tmp_path):
    codes = np.array([form.format(i * i % 9 + (form == "{:05d}") * 1060) for i in range(N)])
    places = np.arange(N) if order == "shuffled" else np.argsort(codes, kind="stable")
    target = (FLOW + 3.0 * (codes == codes[1])).round(4)[places]
    table_ = {"code": codes[places].tolist(), "v": V[places].tolist(), "flow": target.tolist()}
    expected = ks.KernelRegressor().partial_fit(pd.DataFrame(table_).drop(columns="flow"), target)
    pd.DataFrame(table_).to_csv(tmp_path / "t.csv", index=False)
    pa_parquet.write_table(pa.table(table_), tmp_path / "t.parquet")
    rows = [dict(zip(table_, row, strict=True)) for row in zip(*table_.values(), strict=True)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for end in ("csv", "parquet", "jsonl"):
        path, saved = tmp_path / f"t.{end}", tmp_path / "m"
        result = run("learn", path, "-t", "flow", "--save", saved)
        assert "flow from: code (category), v\n" in result.stderr, result.output
        assert ("--number code takes it" in result.stderr) == (end == "csv")
        few = {name: table_[name][:9] for name in ("code", "v")}
        np.testing.assert_allclose(ks.load(saved).predict(few), expected.predict(few), rtol=1e-12)
        result = run("predict", saved, path, "-o", tmp_path / "p.csv")
        predicted = pd.read_csv(tmp_path / "p.csv")["flow_predicted"][:9]
        np.testing.assert_allclose(predicted, expected.predict(few), rtol=1e-9)
    # An odd cell is a category of its own, as in a frame.
    for cell in ("none yet", "1e5", "+5", "1D3", "TRUE", "12", "12.5", "2024-01-01"):
        odd = table_ | {"code": [cell, *table_["code"][1:]]}
        pd.DataFrame(odd).to_csv(tmp_path / "odd.csv", index=False)
        pa_parquet.write_table(pa.table(odd), tmp_path / "odd.parquet")
        model = ks.KernelRegressor().partial_fit(pd.DataFrame(odd).drop(columns="flow"), target)
        assert model.columns_["code"] == "category", cell
        for end in ("csv", "parquet"):
            result = run("learn", tmp_path / f"odd.{end}", "-t", "flow")
            assert "flow from: code (category), v\n" in result.stderr, (cell, result.output)
    result = run("learn", tmp_path / "t.csv", "-t", "flow", "--number", "code")
    assert "flow from: code, v\n" in result.stderr
    assert "takes it" not in result.stderr


@pytest.mark.parametrize(
    "write",
    [lambda i: f"{i % 24:02d}", lambda i: f"{i:05d}", lambda i: f"{i % 40:03d}.5",
     lambda i: f"{i % 12}", lambda i: "0" if i % 3 else f"{i % 7 + 100}"],
)  # fmt: skip
def test_hours_counts_and_numbers_in_columns_of_one_width_are_numbers(write, tmp_path):
    rows = [[write(i), *row[1:]] for i, row in enumerate(table())]
    result = run("learn", written(tmp_path / "t.csv", rows), "-t", "flow")
    assert "flow from: u, v\n" in result.stderr


def test_targets_with_leading_zeros_are_numbers_unless_they_are_called_labels(tmp_path):
    rows = [[*row[:2], f"{i % 3:03d}"] for i, row in enumerate(table())]
    path = written(tmp_path / "t.csv", rows)
    result = run("learn", path, "-t", "flow")
    assert "such as 000, and is taken for numbers; --classify" in result.stderr
    assert "R²" in result.stdout
    assert "zeros" not in run("learn", path, "-t", "flow", "--classify").stderr


@pytest.mark.parametrize("first", ["clocks", "durations"])
def test_a_file_in_the_other_form_of_times_is_read_as_the_model_does(first, tmp_path):
    clocks, spans = ([f"{k % hours}:{k % 60:02d}" for k in range(N)] for hours in (24, 59))
    (before, after) = (clocks, spans) if first == "clocks" else (spans, clocks)
    for name, cells in (("a", before), ("b", after)):
        rows = table([(i, 0, cell) for i, cell in enumerate(cells)])
        written(tmp_path / f"{name}.csv", rows)
    saved = tmp_path / "m"
    assert run("learn", tmp_path / "a.csv", "-t", "flow", "--save", saved).exit_code == 0
    result = run("learn", tmp_path / "b.csv", "-t", "flow", "--from", saved, "--save", saved)
    assert "where those before were written" not in result.stderr
    # Minutes and seconds from 0:00 to 58:59 hold all clock times, of which 24:00 is none.
    assert result.exit_code == (1 if first == "clocks" else 0), result.output
    assert ("row 25, column 'u'" in result.stderr) == (first == "clocks")


def test_months_are_times_only_if_all_cells_are():
    months = [f"{2018 + i // 12}-{i % 12 + 1:02}" for i in range(36)]
    settled = settle(pa.array([*months, None, "NA"]))
    assert (settled.kind, settled.n_fitting) == ("time", 36)
    read, odd = cast_texts(pa.array(["2018-02", "2018-Q2", "2018Q4"]), "time", Numerals())
    assert not odd.any()
    assert [f"{one:%Y-%m-%d}" for one in read.to_pylist()] == [
        "2018-02-01",
        "2018-04-01",
        "2018-10-01",
    ]
    for other in ("2018-13", "5512-01", "spare", "2018-00"):
        assert settle(pa.array([*months, other])).kind == "category"
    assert settle(pa.array(["2018", "2019"])).kind == "number"


@pytest.mark.parametrize("text", ["2018-02", "2018-Q2", "2018Q2"])
def test_declared_times_may_be_months_and_quarters(text):
    month = 2 if "Q" not in text else 4
    assert cell_of(text, "time") == cell_of(f"2018-{month:02}-01", "time")


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%a %d/%m/%Y", "%H:%M %d.%m.%y"])
def test_dates_that_are_left_out_name_the_option(form, tmp_path):
    days = [f"{pd.Timestamp(2021, 1 + i % 12, 1 + i // 12, i % 24):{form}}" for i in range(60)]
    path = written(tmp_path / "t.csv", [[day, "1"] for day in days], "day,flow")
    result = run("learn", path, "-t", "flow")
    assert result.exit_code == 1
    assert "left out: day (text, another in nearly every row; if these are dates" in result.stderr
    assert "--dates 'day=" in result.stderr
    path = written(tmp_path / "u.csv", [[f"u{i}", "1"] for i in range(60)], "day,flow")
    assert "--dates" not in run("learn", path, "-t", "flow").stderr


def test_probabilities_of_truth_values_are_named_as_these_are_predicted(tmp_path):
    rows = [[f"{v}", str(v > 0).upper()] for v in V]
    path, saved = written(tmp_path / "t.csv", rows, "v,on"), tmp_path / "m.ks"
    assert run("learn", path, "-t", "on", "--save", saved).exit_code == 0
    said = run("predict", saved, path, "--probabilities").stdout.splitlines()
    assert said[0] == "on_predicted,on_is_false,on_is_true"
    assert {line.split(",")[0] for line in said[1:]} == {"false", "true"}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_whole_numbers_written_as_floats_are_labels(ending, kind, tmp_path):
    labels = np.where(np.arange(N) == 5, np.nan, np.round(U > 50).astype(float))
    frame = pd.DataFrame({"u": U, "v": V, "kind": labels})
    path, saved, output = tmp_path / f"t.{ending}", tmp_path / "m", tmp_path / "p.csv"
    if ending == "parquet":
        pa_parquet.write_table(pa.Table.from_pandas(frame), path)
        kind = "file"
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False)
    options = ["-t", "kind", "--classify", "--missing", "skip", "--save", saved]
    result = run_by(kind, path, *options)
    assert result.exit_code == 0, result.output
    named = "one of 2: 0, 1" if kind == "file" else "learned as it comes"
    assert f"kind is a label, {named}" in result.stderr
    assert f"{N - 1} (1 skipped)" in result.stdout
    assert ks.load(saved).classes_.tolist() == [0, 1]
    result = run("predict", saved, path, "-o", output, "--probabilities")
    assert result.exit_code == 0, result.output
    table = pd.read_csv(output, dtype=str)
    assert list(table.columns) == ["kind_predicted", "kind_is_0", "kind_is_1"]
    assert set(table["kind_predicted"]) == {"0", "1"}
    assert re.search(r"^kind +\d+\.\d\d% ", result.stderr, re.MULTILINE)


def test_labels_with_fractions_are_not_judged(tmp_path):
    rows = [[f"{v}", f"{v > 0:.1f}"] for v in V]
    path, saved = written(tmp_path / "t.csv", rows, "v,on"), tmp_path / "m"
    assert run("learn", path, "-t", "on", "--classify", "--save", saved).exit_code == 0
    other = written(tmp_path / "u.csv", [[v, "0.5"] for v, _ in rows], "v,on")
    result = run("predict", saved, other, "-o", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert "mistakes" not in result.stderr


def test_labels_in_a_stream_of_floats_are_refused_at_once(tmp_path):
    path, saved = tmp_path / "t.arrows", tmp_path / "m"
    rows = pa.table({"v": V, "on": np.full(N, 0.25)})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, rows.schema) as stream:
        stream.write_table(rows)
    for policy in ("error", "skip"):
        options = ["-t", "on", "--classify", "--bad-cells", policy, "--save", saved]
        result = run("learn", path, *options)
        assert result.exit_code == 1
        assert "column 'on' contains numbers with fractions, not labels" in result.stderr


def test_a_fraction_before_all_labels_is_no_whole_number(tmp_path):
    rows = [[f"{v}", f"{v > 0:.1f}"] for v in V]
    first = written(tmp_path / "1.csv", rows, "v,on")
    second = written(tmp_path / "2.csv", [["0.1", "0.5"], *rows], "v,on")
    options = ["-t", "on", "--classify", "--save", tmp_path / "m"]
    result = run("learn", first, second, *options)
    assert result.exit_code == 1
    assert "row 1, column 'on' (line 2): '0.5' is not a whole number; correct it" in result.stderr


@pytest.mark.parametrize("named", ["0.0,1.0", "0,1", "1,0.0", "0.5,1", "no,yes", "nan,1", "inf,1"])
def test_classes_of_whole_numbers_may_be_named_as_floats(named, tmp_path):
    path, saved = tmp_path / "t.parquet", tmp_path / "m"
    pa_parquet.write_table(pa.table({"v": V, "on": (V > 0).astype(float)}), path)
    result = run("learn", path, "-t", "on", "--classes", named, "--save", saved)
    if named in {"0.0,1.0", "0,1", "1,0.0"}:
        assert result.exit_code == 0, result.output
        assert ks.load(saved).classes_.tolist() == [0, 1]
    else:
        assert result.exit_code == 1
        assert f"--classes {named}: the labels of 'on' are whole numbers" in result.stderr
        assert "name them as whole numbers: 0,1" in result.stderr


@pytest.mark.parametrize("kind", ["file", "pipe"])
@pytest.mark.parametrize("form", ["{:.1f}", "{:.0f}"])
def test_a_fraction_among_whole_labels_is_named(kind, form, tmp_path):
    labels = [form.format(i % 2) for i in range(6000)]
    labels[5000] = "0.5"
    path, saved = tmp_path / "t.csv", tmp_path / "m"
    # Longer than what is read to find the types of columns.
    rows = (f"{i % 7}.{'0' * 60},{label}\n" for i, label in enumerate(labels))
    path.write_text("x,kind\n" + "".join(rows))
    options = ["-t", "kind", "--classify", "--basis", "first_points:3", "--save", saved]
    result = run_by(kind, path, *options)
    assert result.exit_code == 1
    message = "row 5001, column 'kind' (line 5002): '0.5' is not a whole number, as the labels"
    assert message in result.stderr
    assert ks.load(saved).n_seen_ == 5000
    result = run("learn", path, *options, "--bad-cells", "skip")
    assert "5,999 (1 skipped)" in result.stdout


@pytest.mark.parametrize("first", [0, 1, N])
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_whole_numbers_as_floats_of_a_stream_are_labels(kind, first, tmp_path):
    labels = [None if i % 50 == 3 else int(v > 0) for i, v in enumerate(V)]
    found = {}
    for name, own in {"whole": pa.int64(), "float": kind}.items():
        path, saved = tmp_path / f"{name}.arrows", tmp_path / name
        rows = pa.table({"v": V, "on": pa.array(labels, own)})
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, rows.schema) as stream:
            for part in (rows[:first], rows[first:]):
                stream.write_table(part)
        options = ["-t", "on", "--classify", "--missing", "skip", "--plain", "--save", saved]
        assert run("learn", path, *options).exit_code == 0
        found[name] = ks.KernelClassifier.load(saved)
    assert found["float"].classes_.tolist() == found["whole"].classes_.tolist() == [0, 1]
    assert found["float"].n_seen_ == found["whole"].n_seen_ == N - labels.count(None)
    rows = pd.DataFrame({"v": V})
    np.testing.assert_array_equal(*(model.decision_function(rows) for model in found.values()))


def test_times_in_nanoseconds_are_not_noted_as_identifiers(tmp_path):
    path = tmp_path / "t.csv"
    times = 17 * 10**17 + 3600 * 10**9 * np.arange(N) + 1
    pd.DataFrame({"u": times, "v": np.arange(N), "flow": FLOW}).to_csv(path, index=False)
    result = run("learn", path, "-t", "flow", "--plain", "--dates", "u=ns")
    assert "flow from: u (time), v\n" in result.stderr, result.output
    assert "2**53" not in result.stderr


@pytest.mark.parametrize("form", ["csv", "parquet", "arrows"])
def test_whole_numbers_that_are_rounded_are_noted(form, tmp_path):
    path = tmp_path / f"t.{form}"
    frame = pd.DataFrame({"u": 10**17 + np.arange(N), "v": np.arange(N), "flow": FLOW})
    if form == "csv":
        frame.to_csv(path, index=False)
    elif form == "parquet":
        frame.to_parquet(path)
    else:
        rows = pa.Table.from_pandas(frame)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, rows.schema) as stream:
            stream.write_table(rows)
    result = run("learn", path, "-t", "flow", "--plain")
    assert result.stderr.count("holds whole numbers beyond 2**53") == 1
    assert "u holds whole numbers beyond 2**53, which are rounded; identifiers" in result.stderr
    for option in ("--exclude", "--category"):
        assert "2**53" not in run("learn", path, "-t", "flow", "--plain", option, "u").stderr


def test_a_constant_target_is_noted(tmp_path):
    path = written(tmp_path / "t.csv", [[f"{v}", "5"] for v in V], "v,flow")
    result = run("learn", path, "-t", "flow", "--plain")
    assert "note: every row has the value 5 of flow, so that there is nothing to" in result.stderr
    path = written(tmp_path / "u.csv", [[f"{v}", f"{5 + (v > 0)}"] for v in V], "v,flow")
    assert "every row" not in run("learn", path, "-t", "flow", "--plain").stderr
