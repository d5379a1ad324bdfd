"""The tables that the command line reads, and what it says of those that it cannot."""

from __future__ import annotations

import datetime as dt
import gzip
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from kernelstream.cli.reading.batches import batches_of
from kernelstream.cli.reading.columns import Columns
from kernelstream.cli.reading.formats import open_table
from kernelstream.cli.reading.lines import Lines
from kernelstream.cli.reading.raw import Bytes
from kernelstream.cli.reading.sources import Source, find_sources
from test_cli import run

ROWS = {"a": [1.5, 2.5], "b": [3.0, 4.0]}
RANDOM = np.random.default_rng(0).bytes(9000).hex().encode()
CSV = b"a,b\n1.5,3\n2.5,4\n"


def str_or_bytes(value):
    """What a test is called by."""
    return value if isinstance(value, str) else "text"


def rows_of(path, **options):
    """All rows of a table, and what is said about its format."""
    with open_table(Source(path), **options) as table:
        columns = Columns(dict.fromkeys(table.schema.names, "number"), [])
        rows = [
            dict(zip(table.schema.names, map(float, row), strict=True))
            for batch in batches_of(Source(path), table, columns, 0, lambda: 10_000)
            for row in zip(*batch.features.values(), strict=True)
        ]
        return rows, ", ".join(table.notes)


@pytest.mark.parametrize(
    ("name", "content", "note"),
    [
        ("t.csv", CSV, ""),
        ("end.csv", CSV.rstrip(), ""),
        ("windows.csv", CSV.replace(b"\n", b"\r\n"), ""),
        ("macintosh.csv", CSV.replace(b"\n", b"\r"), ""),
        ("mark.csv", b"\xef\xbb\xbf" + CSV, ""),
        ("wide.csv", CSV.decode().encode("utf-16"), ""),
        ("empty_lines.csv", b"\n\n" + CSV.replace(b"\n", b"\n\n"), ""),
        ("semicolon.csv", CSV.replace(b",", b";"), "separated by semicolons"),
        ("comma.csv", b"a;b\n1,5;3\n2,5;4\n", "separated by semicolons with decimal commas"),
        ("tab.txt", CSV.replace(b",", b"\t"), "separated by tabs"),
        ("spaces.csv", CSV.replace(b",", b" "), "separated by spaces"),
        *(
            (f"spaced_{name}.csv", CSV.replace(b",", mark), note and f"separated by {note}")
            for name, mark, note in (
                ("comma", b" , ", ""),
                ("semicolon", b" ; ", "semicolons"),
                ("bar", b" | ", "vertical bars"),
            )
        ),
        ("bar.foo", CSV.replace(b",", b"|"), "going by its content, separated by vertical bars"),
        ("packed", gzip.compress(CSV, mtime=0), ""),
        ("t.jsonl", b'{"a": 1.5, "b": 3}\n{"b": 4, "a": 2.5, "c": "more"}', ""),
    ],
    ids=str_or_bytes,
)
def test_text_tables_are_read(name, content, note, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    rows, notes = rows_of(path)
    assert rows == pd.DataFrame(ROWS).to_dict("records")
    assert note in notes
    assert bool(note) == bool(notes)


@pytest.mark.parametrize("name", ["t.feather", "t.parquet", "t.arrows"])
def test_arrow_tables_are_read(name, tmp_path):
    path, table = tmp_path / name, pa.table(ROWS)
    if name == "t.feather":
        pd.DataFrame(ROWS).to_feather(path)
    elif name == "t.parquet":
        pa_parquet.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
    assert rows_of(path)[0] == table.to_pylist()


def test_fields_in_quotes_may_hold_line_ends_wherever_blocks_end(tmp_path):
    words = ['"one\nline"', '"a ""word"", and\n\nmore"', '5" pipe', "plain"]
    path = tmp_path / "t.csv"
    path.write_text("a,word\n" + "".join(f"{i},{words[i % 4]}\n" for i in range(100_000)))
    with open_table(Source(path)) as table:
        kinds = {"a": pa.float64(), "word": pa.string()}
        rows = [row for record, *_ in table.records(kinds) for row in record.to_pylist()]
    assert [row["a"] for row in rows] == list(range(100_000))
    assert [row["word"] for row in rows[-4:]] == [
        "one\nline",
        'a "word", and\n\nmore',
        '5" pipe',
        "plain",
    ]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("empty.csv", b"", "is empty"),
        ("lines.csv", b"\n \n", "is empty"),
        (
            "long.csv",
            b"a,y\n" + 200_000 * b"x",
            "row 1 .line 2.: it has 1 field, but the header has 2",
        ),
        ("t.bin", b"a,\x00\x01b", "is a binary file"),
        ("t.xlsx", b"PK\x03\x04...........", "is a zip archive or a spreadsheet"),
        ("t.json", b'[{"a": 1}]', "is a JSON array: write one object a line"),
        (
            "nameless.csv",
            b"1.5,2\n3,4\n",
            "begins with numbers.*first line with the columns' names",
        ),
        *(
            ("nameless.csv", first + b",1.5\n" + first + b",2\n", "begins with a date and numbers")
            for first in (
                *(b"2020-01-31", b"2020/01/31", b"31.01.2020", b"1/31/2020", b"2020-01"),
                *(b"2020-01-31T10:00:00Z", b"31.01.2020 10:00", b"10:15:30"),
            )
        ),
        ("nameless.csv", b"NA,1.5\n3,4\n", "begins with numbers"),
        ("wide.csv", b"a,b\n1,2\n1,2,3\n", "row 2 .line 3.: it has 3 fields, but the header has 2"),
        ("cut.gz", gzip.compress(RANDOM, mtime=0)[:5000], "is damaged: truncated"),
        ("t.parquet", b"PAR1 but not really", "is damaged"),
        ("t.feather", b"ARROW1 but not really", "is damaged"),
        ("word.jsonl", b'{"a": 1}\n{"a": "x"}\n', "row 2, column 'a': 'x' is not a number"),
        ("cut.jsonl", b'{"a": 1}\n{"a": \n', "row 2: the line is not JSON"),
    ],
    ids=str_or_bytes,
)
def test_what_is_no_table_is_said_in_a_line(name, content, complaint, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError) as error:
        rows_of(path)
    assert re.search(complaint, str(error.value)), error.value
    assert str(error.value).startswith(("the header of ", str(path)))
    result = run("learn", path, "-t", "y")
    assert result.exit_code == 1
    assert [line[:7] for line in result.stderr.splitlines()] == ["error: "]


def test_the_row_at_fault_is_named_far_into_a_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 300_000 + "1,word\n")
    with pytest.raises(
        ValueError, match=r"row 300001, column 'b' .line 300002.: 'word' is not a number"
    ):
        rows_of(path)


def test_other_encodings_are_read_when_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe,b\n1,2\n".encode("latin-1"))
    assert rows_of(path, encoding="latin-1")[0] == [{"größe": 1.0, "b": 2.0}]
    with pytest.raises(ValueError, match="no encoding 'latin-17'"):
        rows_of(path, encoding="latin-17")


AS_CP1252 = "text that is not UTF-8 is read as cp1252; --encoding names another encoding"


def euros(encoding, mark=" €", n_plain=0):
    """A table as German spreadsheets export it, which begins with rows of ASCII alone."""
    cities = ["Bonn", *(["Bonn"] * n_plain), *["Köln", "München", "Bonn"] * 20]
    rows = [f"{city};{i % 50 + 1}.234,{i % 90 + 10}{mark};{i % 7}" for i, city in enumerate(cities)]
    return ("\n".join(["city;price;y" if n_plain else "city;price;größe", *rows]) + "\n").encode(
        encoding
    )


@pytest.mark.parametrize("mark", [" €", ""], ids=["with €", "without"])
@pytest.mark.parametrize("target", ["price", "größe", "city"])
def test_text_that_is_not_utf8_is_read_as_cp1252(target, mark, tmp_path):
    outputs = []
    for encoding in ("utf-8", "cp1252"):
        path, model = tmp_path / f"{encoding}.csv", tmp_path / f"{encoding}.ks"
        path.write_bytes(euros(encoding, mark))
        result = run("learn", path, "-t", target, "--save", model)
        assert result.exit_code == 0, result.stderr
        assert "left out" not in result.stderr
        assert result.stderr.count(AS_CP1252) == (encoding == "cp1252")
        result = run("predict", model, path, "--output", path.with_suffix(".out.csv"))
        assert result.stderr.count(AS_CP1252) == (encoding == "cp1252")
        outputs.append(path.with_suffix(".out.csv").read_bytes())
    assert outputs[0] == outputs[1]


def test_text_that_is_not_utf8_is_forecast_and_comes_by_pipes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(euros("cp1252"))
    result = run("dynamics", path, "--columns", "größe", "--forecast", "3")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count(AS_CP1252) == 1
    piped = subprocess.run(
        [sys.executable, "-m", "kernelstream", "learn", "-", "-t", "price"],
        input=euros("cp1252"),
        capture_output=True,
        check=False,
    )
    assert piped.returncode == 0, piped.stderr
    assert piped.stderr.decode().count(AS_CP1252) == 1


def test_text_that_is_not_utf8_far_into_a_file_is_read_and_reported(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(euros("cp1252", "", n_plain=150_000))
    with open_table(Source(path)) as table:
        assert AS_CP1252 not in table.notes
        kinds = {"city": pa.string(), "y": pa.float64()}
        cities = [row["city"] for rows in table.records(kinds) for row in rows.record.to_pylist()]
        assert table.notes.count(AS_CP1252) == 1
    assert cities[-3:] == ["Köln", "München", "Bonn"]
    result = run("learn", path, "-t", "y", "--exclude", "price", "--basis", "fourier:10")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count(AS_CP1252) == 1


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Zürich".encode(), "Zürich"),
        ("Zürich €".encode("cp1252"), "Zürich €"),
        (b"TH\xc9\xa0\xbb \xe0 \xe9", "THÉ\xa0» à é"),
        ("Zürich, Köln ".encode() + b"\xe9", "Zürich, Köln é"),
        ("Köln".encode("utf-8-sig") + b" \xe9", "Köln é"),
        (b"a\xe9b \n" + "été\r".encode() + b"\xe9t\xe9", "aéb \nété\rété"),
        (b"\x81\xe9", "\x81é"),
        (b"\xc3", "Ã"),
        (b"", ""),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 1000])
def test_bytes_are_decoded_alike_in_blocks_of_any_size(text, read, size, tmp_path):
    (tmp_path / "t").write_bytes(b"a\n" + text)
    with (tmp_path / "t").open("rb", buffering=0) as file:
        lines = Lines(Bytes(file), "t")
        decoder = type(lines._guessing)()
    parts = [text[i : i + size] for i in range(0, len(text), size)]
    decoded = b"".join([*map(decoder.decode, parts), decoder.decode(b"", final=True)]).decode()
    assert decoded.removeprefix("\ufeff") == read
    assert decoder.found == (not _is_utf8(text))


def _is_utf8(text):
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_an_encoding_that_is_named_is_kept_to(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a,where,y\n1,Zürich,2\n".encode("latin-1"))
    with pytest.raises(
        ValueError, match=r"is not utf-8 text: byte 0xfc in line 2; without --encoding"
    ):
        rows_of(path, encoding="utf8")


def test_a_pipe_is_read_as_its_lines_come(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    answered = threading.Semaphore(0)

    def write():
        with pipe.open("wb", buffering=0) as file:
            for line in (b"a,b\n", b"1,2\n3", b",4\n", b"5,6"):
                file.write(line)
                if line.endswith(b"4\n"):
                    assert answered.acquire(timeout=10)

    writer = threading.Thread(target=write)
    writer.start()
    with open_table(Source(pipe), live=True) as table:
        rows = []
        for record, *_ in table.records({"a": pa.float64(), "b": pa.float64()}):
            rows += record.to_pylist()
            if {"a": 3.0, "b": 4.0} in rows:
                answered.release()
    writer.join()
    assert rows == [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}, {"a": 5.0, "b": 6.0}]


def test_files_are_found_and_sorted_by_the_numbers_in_their_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for day in (1, 2, 10):
        (tmp_path / f"day{day}.csv").write_bytes(CSV)
    days = ["day1.csv", "day2.csv", "day10.csv"]
    assert [source.name for source in find_sources(["day*.csv"])] == days
    assert [source.name for source in find_sources(sorted(days))] == days
    assert [source.name for source in find_sources(["day2.csv", "day1.csv", "day2.csv"])] == [
        "day2.csv",
        "day1.csv",
    ]
    for argument, complaint in (
        ("week*.csv", "no file matches 'week"),
        (".", "is a folder: name its files"),
        ("day3.csv", "No such file"),
    ):
        with pytest.raises((ValueError, OSError), match=complaint):
            find_sources([argument])


def test_a_file_with_other_columns_is_named_before_anything_is_learned(tmp_path):
    (tmp_path / "1.csv").write_bytes(CSV)
    (tmp_path / "2.csv").write_text("b,a,new\n1,2,3\n")
    result = run("learn", tmp_path / "*.csv", "-t", "b")
    assert re.search(r"^rows learned +3$", result.stdout, re.MULTILINE)
    (tmp_path / "3.csv").write_text("a,c\n1,2\n")
    result = run("learn", tmp_path / "*.csv", "-t", "b", "--save", tmp_path / "model")
    assert (
        f"{tmp_path / '3.csv'} has no column 'b', which {tmp_path / '1.csv'} has" in result.stderr
    )
    assert not (tmp_path / "model").exists()


def test_used_and_left_out_columns_are_shown_with_the_reason(tmp_path):
    frame = pd.DataFrame(
        {
            "x": [1.0, 2.0],
            "": [0, 1],
            "word": ["a", "b"],
            "time": [dt.time(1), dt.time(2)],
            "day": pd.to_datetime(["2024-01-01", "2024-01-02"]),
            "nothing": [None, None],
            "id": [7, 8],
            "y": [1, 2],
        },
        index=pd.Index([5, 6]),
    )
    frame.to_parquet(tmp_path / "t.parquet", index=True)
    result = run("learn", tmp_path / "t.parquet", "-t", "y", "-x", "id")
    assert "learning y from: x, word (category), time, day (time)\n" in result.stderr
    for name, reason in {
        "''": "no name",
        "nothing": "empty",
        "id": "excluded",
        "__index_level_0__": "index of a data frame",
    }.items():
        assert f"{name} ({reason})" in result.stderr


def test_a_boolean_target_and_views_of_strings_are_labels(tmp_path):
    x = np.linspace(-1.0, 1.0, 400)
    truth = pa.table({"x": x, "y": x > 0})
    views = pa.table({"x": x, "y": pa.array(["no", "yes"] * 200, pa.string_view())})
    for name, table in {"truth": truth, "views": views}.items():
        with pa.ipc.new_file(str(tmp_path / name), table.schema) as arrow:
            arrow.write_table(table)
        assert "mistakes" in run("learn", tmp_path / name, "-t", "y").stdout


def test_text_that_names_rows_is_no_category_unless_asked_for(tmp_path):
    rows = [f"u{i},{i % 7},{'ab'[i % 2]},{i % 2}" for i in range(200)]
    (tmp_path / "t.csv").write_text("user,shop,group,y\n" + "\n".join(rows))
    said = run("learn", tmp_path / "t.csv", "-t", "y").stderr
    assert "learning y from: shop, group (category)\n" in said
    assert "left out: user (text, another in nearly every row)" in said
    said = run("learn", tmp_path / "t.csv", "-t", "y", "-c", "user", "-c", "shop").stderr
    assert "learning y from: user (category), shop (category), group (category)\n" in said


def test_later_files_are_read_as_the_first_one(tmp_path):
    (tmp_path / "1.csv").write_text("code,when,y\nA1,2026-03-02,1.5\nB2,2026-03-03,2.5\n")
    (tmp_path / "2.csv").write_text("code,when,y\n7,2026-03-04T10:00:00Z,1\n8,,2\n")
    result = run("learn", tmp_path / "*.csv", "-t", "y", "--missing", "fill")
    assert result.exit_code == 0, result.stderr
    assert re.search(r"^rows learned +4$", result.stdout, re.MULTILINE)
    (tmp_path / "3.csv").write_text("code,when,y\nA1,some day,1.5\n")
    result = run("learn", tmp_path / "*.csv", "-t", "y", "--missing", "fill")
    assert f"{tmp_path / '3.csv'}: column 'when' contains text, not times" in result.stderr


def test_bytes_of_a_parquet_file_are_named_as_such(tmp_path):
    path = tmp_path / "t.parquet"
    pa_parquet.write_table(pa.table({"a": [1.0, 2.0], "b": [b"x", b"\xe9"], "y": [1.0, 2.0]}), path)
    assert "left out: b (bytes)" in run("learn", path, "-t", "y").stderr
    assert "column 'b' contains bytes, not numbers" in run("learn", path, "-t", "b").stderr
