"""The command `dynamics`: trajectories in files, an operator and forecasts out."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import kernelstream as ks
from kernelstream import datasets
from kernelstream.cli import app
from kernelstream.cli.running.trajectories import Cutter

PARTS = ("--kernel", "gaussian:2", "--learner", "ridge:1", "--basis", "ald:1e-2")


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args], env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def frame():
    """A daily cycle and a slow process, hourly."""
    rng, n = np.random.default_rng(0), 1200
    angle = 2 * np.pi * np.arange(n) / 24
    slow = np.zeros(n)
    for i in range(1, n):
        slow[i] = 0.9 * slow[i - 1] + 0.4 * rng.normal()
    return pd.DataFrame(
        {
            "when": pd.date_range("2024-01-01", periods=n, freq="h"),
            "name": "word",
            "a": np.sin(angle) + 0.05 * rng.normal(size=n),
            "b": np.cos(angle) + 0.05 * rng.normal(size=n),
            "slow": slow,
        }
    )


def cells(text):
    return [line.split("  ") for line in text.splitlines()]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_spectrum_forecasts_model_and_picture_of_one_pass(name, frame, tmp_path):
    pytest.importorskip("matplotlib")
    path, output, saved, page = (tmp_path / n for n in (name, "out.csv", "model", "page.png"))
    frame.to_csv(path, index=False) if name.endswith("csv") else frame.to_parquet(path)
    result = run("dynamics", path, "--time", "when", "--forecast", 24, *PARTS,
                 "--save", saved, "--output", output, "--plot", page)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "the state is a, b, slow; times from when" in result.stderr
    assert "left out: name (text)" in result.stderr
    daily = next(line.split() for line in result.stdout.splitlines()[1:] if "i" in line)
    assert float(daily[-2]) == pytest.approx(24, abs=0.5)  # hours
    assert "trajectories   1" in result.stdout
    written = pd.read_csv(output, parse_dates=["when"])
    assert written["step"].tolist() == list(range(1, 25))
    assert written["when"][0] - frame["when"].iloc[-1] == pd.Timedelta("1h")
    model = ks.load(saved)
    assert model.feature_names_in_.tolist() == ["a", "b", "slow"]
    assert (model.operator.time_step, model.n_seen_) == (1.0, len(frame) - 1)
    assert (model.horizons, model.period) == (list(range(1, 25)), None)
    assert [periods[:1] for periods in model.periods_] == [[24], [24], []]
    assert "season: 24 rows (2 of 3 columns)" in result.stderr
    expected = model.forecast(frame[["a", "b", "slow"]].iloc[-24:])[-1, -1]
    np.testing.assert_allclose(written[["a", "b", "slow"]].iloc[-1], expected, rtol=1e-9)
    ends = written[["slow_lower", "slow_upper"]].iloc[-1]
    np.testing.assert_allclose(ends, model.forecast_interval()[-1, 0, 2], rtol=1e-9)
    judged = result.stdout.split("inside 0.9 intervals")[1].splitlines()[1:3]
    for line in judged:
        steps, saved, over_mean, inside = (float(cell.rstrip("%")) for cell in line.split())
        assert steps in {1, 24}
        assert min(saved, over_mean) > -2.0
        assert 80.0 < inside < 97.0
    assert page.read_bytes().startswith(b"\x89PNG")


def test_files_gaps_and_missing_values_end_trajectories(frame, tmp_path):
    rows = frame.drop(columns="name").drop(index=range(300, 310))
    rows.loc[700:702, "slow"] = np.nan
    rows.loc[800, "slow"] = np.nan
    rows[:600].to_csv(tmp_path / "day1.csv", index=False)
    rows[600:].to_csv(tmp_path / "day2.csv", index=False)
    result = run("dynamics", tmp_path / "day*.csv", "--time", "when", "--forecast", 2, *PARTS)
    assert result.exit_code == 0, result.output
    assert "trajectories     4 (1 ended at a gap in time)" in result.stderr
    assert "rows filled in   1 on lines between their neighbours" in result.stderr
    assert "incomplete rows  4 with missing values" in result.stderr
    pairs = len(rows) - 3 - 4
    assert f"pairs learned    {pairs:,}" in result.stderr
    lines = result.stdout.splitlines()
    ends = (f"{name},{name}_lower,{name}_upper" for name in ("a", "b", "slow"))
    assert lines[0] == "file,step,when," + ",".join(ends)
    assert [line.split(",")[0].strip('"')[-8:] for line in lines[1:]] == 2 * ["day1.csv"] + 2 * [
        "day2.csv"
    ]


def test_lag_and_columns_without_times(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    saved = tmp_path / "model"
    result = run("dynamics", tmp_path / "t.csv", "--columns", "b,a", "--lag", 3, "--save", saved)
    assert result.exit_code == 0, result.output
    model = ks.load(saved)
    assert (model.lag, model.n_seen_) == (3, len(frame) - 3)
    expected = ks.Koopman(lag=3).fit(frame[["b", "a"]])
    np.testing.assert_allclose(model.eigenvalues_[:3], expected.eigenvalues_[:3], atol=1e-9)


def test_delays_forecast_one_sensor_from_its_last_rows(tmp_path):
    pytest.importorskip("matplotlib")
    x = datasets.lorenz(1500, random_state=0).trajectories[0, :, 0]
    pd.DataFrame({"x": x}).to_csv(tmp_path / "t.csv", index=False)
    saved, output = tmp_path / "model", tmp_path / "out.parquet"
    result = run("dynamics", tmp_path / "t.csv", "--delays", 4, "--forecast", 3, "--save", saved,
                 "--output", output, "--plot", tmp_path / "page.svg")  # fmt: skip
    assert result.exit_code == 0, result.output
    model = ks.load(saved)
    assert (model.operator.n_delays, model.n_seen_) == (4, len(x) - 5)
    steps = result.stdout.split("inside 0.9 intervals")[1].splitlines()[1].split()
    assert steps[0] == "1"
    assert float(steps[1].rstrip("%")) > 90.0  # over persistence
    expected = model.forecast()
    np.testing.assert_allclose(pd.read_parquet(output)["x"], expected.ravel(), rtol=1e-9)


@pytest.mark.parametrize("part", [(), ("--kernel", "gaussian:3"), ("--basis", "ald:1e-2")])
@pytest.mark.parametrize(("columns", "delays"), [(1, 8), (3, 2)])
def test_forecasts_have_delays_unless_the_operator_is_given(part, columns, delays, tmp_path):
    waves = np.sin(0.3 * np.arange(400)[:, None] + np.arange(columns))
    pd.DataFrame(waves, columns=[*"abc"][:columns]).to_csv(tmp_path / "t.csv", index=False)
    for given, expected in [
        ((), 0 if part else delays),
        (("--delays", 0), 0),
        (("--delays", 3), 3),
    ]:
        saved = tmp_path / "model"
        result = run(
            "dynamics", tmp_path / "t.csv", "--forecast", 2, "--save", saved, *part, *given
        )
        assert result.exit_code == 0, result.output
        assert ks.load(saved).operator.n_delays == expected


def test_after_a_gap_pictures_show_what_was_before_and_the_operator_alone_is_no_forecast(tmp_path):
    pytest.importorskip("matplotlib")
    walk = np.random.default_rng(0).normal(size=(700, 2)).cumsum(axis=0)
    walk[-7:-4] = np.nan
    pd.DataFrame(walk, columns=["a", "b"]).to_csv(tmp_path / "t.csv", index=False)
    page, advice = tmp_path / "page.svg", "--forecast N mixes it with simpler forecasts"
    result = run("dynamics", tmp_path / "t.csv", "--plot", page)
    assert advice in result.stdout
    assert page.read_text().count("standardized, gaps left out") == 1
    result = run("dynamics", tmp_path / "t.csv", "--forecast", 3, "--output", tmp_path / "o.csv")
    assert result.exit_code == 0, result.output
    assert advice not in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--columns", "a,z"], "has no column 'z'"),
        (["--columns", "a,name"], "column 'name' contains text, not numbers"),
        (["--time", "name"], "neither numbers nor times"),
        (["--time", "slow"], "column 'slow': the times are not evenly spaced"),
        (["--output", "o.csv"], "say how many, such as --forecast 24"),
        (["--lag", "5000"], "no two rows are 5000 rows apart"),
        (["--plot", "page.xyz"], "the picture can be png"),
        (["--forecast", "3", "--coverage", "90"], "--coverage must be above 0 and below 1"),
        (["--forecast", "3", "--lag", "4"], "less than one step of --lag 4 rows"),
    ],
)
def test_impossible_requests_are_refused_in_one_line(
    options, message, frame, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    frame.to_csv("t.csv", index=False)
    result = run("dynamics", "t.csv", *options)
    assert result.exit_code == 1
    assert message in result.stderr.replace("\n", " ")
    assert len(result.stderr.split("error:")) == 2


def test_two_years_of_weeks_are_forecast_row_by_row(tmp_path):
    pd.DataFrame({"x": np.sin(np.arange(200) / 8)}).to_csv(tmp_path / "t.csv", index=False)
    result = run("dynamics", tmp_path / "t.csv", "--forecast", 104, *PARTS)
    assert result.exit_code == 0, result.output
    steps = [int(line.split(",")[0]) for line in result.stdout.splitlines()[1:]]
    assert steps == list(range(1, 105))


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("delays", [20, 60])
def test_weak_tones_are_listed_before_products_of_strong_ones(delays, tmp_path):
    t = np.arange(1200)
    strong, weak = np.sin(2 * np.pi * t / 13.3), 0.3 * np.sin(2 * np.pi * t / 57.0)
    noise = 0.05 * np.random.default_rng(0).normal(size=len(t))
    pd.DataFrame({"y": strong + weak + noise}).to_csv(tmp_path / "t.csv", index=False)
    result = run("dynamics", tmp_path / "t.csv", "--delays", delays)
    assert result.exit_code == 0, result.output
    table = [line.split()[-2:] for line in result.output.splitlines() if line.endswith("%")]
    assert [float(period) for period, _ in table[:2]] == pytest.approx([13.3, 57.0], rel=0.05)


def test_many_steps_are_dense_at_first_and_narrow_terminals_have_narrow_tables(tmp_path):
    rng = np.random.default_rng(0)
    pd.DataFrame({"x": rng.normal(size=800)}).to_csv(tmp_path / "t.csv", index=False)
    arguments = ["dynamics", str(tmp_path / "t.csv"), "--forecast", "200", *PARTS]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "50"})
    assert result.exit_code == 0, result.output
    steps = [int(line.split(",")[0]) for line in result.stdout.splitlines()[1:]]
    gap = next(i for i in range(len(steps)) if steps[i] > i + 1)
    line = f"{len(steps)} of 200 steps are forecast: all up to {gap}, then {steps[gap]}, "
    line += f"{steps[gap + 1]} and so on, further and further apart, to 200 (see the column step)"
    assert line in " ".join(result.stderr.split())
    assert steps[:3] + steps[-1:] == [1, 2, 3, 200]
    lines = [line for line in result.stderr.splitlines()[2:] if not line.startswith("learning")]
    assert max(map(len, lines)) <= 50
    assert "forecast, rows ahead 200\n  saved over persistence " in result.stderr


@pytest.mark.parametrize("place", [3, 300, 1100])
@pytest.mark.parametrize("cell", ["ERR", "<0.01", "n/d", "12 mm", "#REF!"])
def test_odd_cells_are_refused_or_filled_in(cell, place, frame, tmp_path):
    texts = frame.astype(str)
    name = texts.columns[-1]
    texts.loc[place, name] = cell
    path, saved = tmp_path / "t.csv", tmp_path / "m"
    texts.to_csv(path, index=False)
    result = run("dynamics", path, "--columns", name, "--save", saved)
    assert result.exit_code == 1
    assert f"row {place + 1}, column {name!r} (line {place + 2}): {cell!r}" in result.stderr
    assert ks.load(saved).n_seen_ == place - 1
    assert "the rows before the error are learned" in result.stderr
    for policy in ("skip", "missing"):
        result = run("dynamics", path, "--columns", name, "--bad-cells", policy)
        assert result.exit_code == 0, result.output
        assert f"row {place + 1}, column {name!r} (line {place + 2})" in result.stderr
        assert "trajectories     1\nrows filled in   1 on" in result.stdout


def test_codes_for_missing_values_are_named_with_their_row(frame, tmp_path):
    frame = frame.copy()
    name = frame.columns[-1]
    frame.loc[1000, name] = -9999.0
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = run("dynamics", tmp_path / "t.csv", "--columns", name)
    assert f"row 1001, column {name!r} (line 1002): -9999" in result.stderr
    assert "--missing-values=-9999" in result.stderr
    assert "left out if it is far from the states" in result.stderr
    assert "at row" not in result.stderr
    assert "pairs left out  2, with an outlying state" in result.stdout
    result = run("dynamics", tmp_path / "t.csv", "--columns", name, "--missing-values=-9999")
    assert "rows filled in   1 on" in result.stdout
    result = run("dynamics", tmp_path / "t.csv", "--columns", name.upper() + "_")
    assert "did you mean" in result.stderr


@pytest.mark.parametrize("end", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("freq", "form", "shown"),
    [
        ("D", "%Y%m%d", "%Y-%m-%d"),
        ("D", "%Y%m%d%H%M%S", "%Y-%m-%d"),
        ("SMS", "%Y-%m-%d", "%Y-%m-%d"),
        ("SME", "%Y-%m-%d", "%Y-%m-%d"),
        ("WOM-3WED", "%d.%m.%Y", "%Y-%m-%d"),
        ("2h", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S"),
        ("2h", "%Y%m%d%H%M", "%Y-%m-%d %H:%M:%S"),
    ],
)
def test_forecasts_continue_the_times_of_a_file(freq, form, shown, end, tmp_path):
    """Whole numbers such as 20240131 are dates where they are the times."""
    n = 300
    times = pd.date_range("2010-01-01", periods=n + 2, freq=freq)
    value = np.sin(np.arange(n) * 2 * np.pi / 24) + 0.05 * np.random.default_rng(0).normal(size=n)
    path, output = tmp_path / "t.csv", tmp_path / f"out.{end}"
    pd.DataFrame({"t": times[:n].strftime(form), "v": value}).to_csv(path, index=False)
    result = run("dynamics", path, "--time", "t", "--forecast", 2, "--output", output)
    assert result.exit_code == 0, result.output
    assert "gap" not in result.output
    read = pd.read_csv(output) if end == "csv" else pd.read_json(output, lines=True, dtype=False)
    assert read["t"].astype(str).tolist() == times[n:].strftime(shown).tolist()


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        (["1,2"] * 20, [], "no process beside the constant function"),
        (["1,2"] * 20, ["--forecast", 3], "no process beside the constant function"),
        ([f"{k * 7 % 5}" for k in range(9)], ["--forecast", 2], "too short for a pair"),
        (["1,2", "3,1"], ["--forecast", 2], "too short for a pair"),
        ([f"{k * 7 % 5}" for k in range(30)], ["--forecast", 1, "--delays", 60], "too short"),
    ],
)
def test_constant_and_short_records_have_forecasts_without_a_spectrum(
    rows, options, words, tmp_path
):
    pytest.importorskip("matplotlib")
    header = "x,y" if "," in rows[0] else "x"
    (tmp_path / "t.csv").write_text("\n".join([header, *rows, ""]))
    output, page, saved = tmp_path / "o.csv", tmp_path / "p.png", tmp_path / "m"
    outputs = ["--output", output] if options else []
    outputs += ["--plot", page, "--save", saved]
    result = run("dynamics", tmp_path / "t.csv", *options, *outputs)
    assert result.exit_code == 0, result.output
    assert "no spectrum" in result.stdout
    assert words in result.stdout
    assert page.exists()
    assert saved.exists()
    if options:
        made = pd.read_csv(output)
        assert np.isfinite(made["x"]).all()
        if rows == ["1,2"] * 20:
            np.testing.assert_allclose(made["x"], 1.0)


@pytest.mark.parametrize("rows", [2, 3, 5, 9])
def test_forecasts_of_short_records_are_described_in_plain_words(rows, tmp_path):
    (tmp_path / "t.csv").write_text("\n".join(["x", *(f"{k * 7 % 5}" for k in range(rows)), ""]))
    result = run("dynamics", tmp_path / "t.csv", "--forecast", 12)
    assert result.exit_code == 0, result.output
    lines = " ".join(result.stderr.split())
    assert f"season: none found in {rows} rows" in lines
    assert "operator: none, since the record is too short for a pair of states with their" in lines
    assert "None" not in lines
    without = [line.split(",")[0] for line in result.stdout.splitlines() if line.endswith(",,")]
    assert f"steps {without[0]} to 12 have no intervals: the record is too short to judge" in lines


@pytest.mark.parametrize("options", [[], ["--forecast", 3]])
def test_a_single_row_is_refused_in_plain_words(options, tmp_path):
    (tmp_path / "t.csv").write_text("x\n1\n")
    result = run("dynamics", tmp_path / "t.csv", *options)
    assert result.exit_code == 1
    message = "error: no two rows are 1 row apart: 1 trajectory has too few rows"
    assert message in " ".join(result.stderr.split())


def test_a_short_record_of_two_columns_has_a_spectrum_and_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [f"{k * 7 % 5},{k}" for k in range(9)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *rows, ""]))
    result = run("dynamics", tmp_path / "t.csv", "--forecast", 2, "--plot", tmp_path / "p.png")
    assert result.exit_code == 0, result.output
    assert "share of variance" in result.output


@pytest.mark.parametrize(
    ("written", "following"),
    [("{0}-{1:02}", "2008-05-01"), ("{2}-Q{3}", "1985-01-01"), ("{2}Q{3}", "1985-01-01")],
)
def test_months_and_quarters_are_times(written, following, tmp_path):
    places = [(2000 + i // 12, i % 12 + 1, 1960 + i // 4, i % 4 + 1) for i in range(100)]
    rows = [f"{written.format(*one)},{np.sin(i):.4f}" for i, one in enumerate(places)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["period,v", *rows]) + "\n")
    found = CliRunner().invoke(app, ["dynamics", str(path), "--time", "period", "--forecast", "2"])
    assert found.exit_code == 0, found.output
    assert "times from period" in found.output
    assert "trajectories   1" in found.output
    assert f"1,{following}," in found.stdout


def shops(n=120):
    rng, day = np.random.default_rng(0), np.arange(n)
    parts = [
        pd.DataFrame(
            {
                "date": pd.date_range("2023-01-01", periods=n).strftime("%Y-%m-%d"),
                "shop": shop,
                "sales": level + 20 * np.sin(2 * np.pi * day / 7) + rng.normal(size=n),
            }
        )
        for shop, level in (("north", 100), ("south", 300))
    ]
    return pd.concat(parts, ignore_index=True)


def test_times_that_begin_again_are_no_gap(tmp_path):
    rows = shops()
    rows.to_csv(tmp_path / "t.csv", index=False)
    result = run("dynamics", tmp_path / "t.csv", "--time", "date", "--forecast", 3, *PARTS)
    assert result.exit_code == 0, result.output
    assert "note: times begin again 1 time: the rows seem to be series" in result.stderr
    assert "and only the last one is forecast" in result.stderr
    assert "if shop names series, write a file for each" in result.stderr
    assert "trajectories   2 (1 ended where times begin again)" in result.stderr
    # The remedy: a forecast of each.
    for shop, part in rows.groupby("shop"):
        part.to_csv(tmp_path / f"{shop}.csv", index=False)
    files = [tmp_path / "north.csv", tmp_path / "south.csv"]
    result = run("dynamics", *files, "--time", "date", "--forecast", 3, *PARTS)
    assert "begin again" not in result.stderr
    assert result.stdout.count("north.csv") == result.stdout.count("south.csv") == 3


@pytest.mark.parametrize("fault", ["clock", "row"])
def test_times_that_go_back_a_little_do_not_begin_again(fault, tmp_path):
    rows = shops().query("shop == 'north'").drop(columns="shop")
    rows["date"] = pd.date_range("2023-10-27", periods=len(rows), freq="h")
    if fault == "clock":
        rows.loc[60:, "date"] -= pd.Timedelta(hours=1)
    else:
        order = np.arange(len(rows))
        order[[60, 61]] = 61, 60
        rows = rows.iloc[order]
    rows.to_csv(tmp_path / "t.csv", index=False)
    result = run("dynamics", tmp_path / "t.csv", "--time", "date", *PARTS)
    assert result.exit_code == 0, result.output
    assert "begin again" not in result.output
    if fault == "clock":
        # Its time stands still.
        assert "(1 ended at a gap in time)" in result.output
    else:
        assert "note: times go back 1 time, and a trajectory ends there: sort" in result.output
        assert "1 ended where times go back" in result.output


def test_series_whose_rows_alternate_are_named(tmp_path):
    rows = shops().sort_values(["date", "shop"])
    rows.to_csv(tmp_path / "t.csv", index=False)
    result = run("dynamics", tmp_path / "t.csv", "--time", "date", *PARTS)
    assert result.exit_code == 1
    assert "not evenly spaced" in result.stderr
    assert "if shop names series, write a file for each" in result.stderr


def test_a_function_on_one_state_alone_has_no_warning(tmp_path):
    month = np.arange(60)
    sales = 100 + month + 20 * np.sin(month * np.pi / 6)
    sales += np.random.default_rng(0).normal(size=60) * 3
    when = pd.date_range("2019-01-01", periods=60, freq="MS").strftime("%Y-%m")
    pd.DataFrame({"month": when, "sales": sales}).to_csv(tmp_path / "t.csv", index=False)
    result = run("dynamics", tmp_path / "t.csv", "--time", "month", "--forecast", 12)
    assert result.exit_code == 0, result.output
    assert "invalid value" not in result.stderr


HOURS = pd.date_range("2024-03-20", periods=400, freq="h", tz="Europe/Berlin")
INDIA = HOURS.tz_convert("Asia/Kolkata")
DAYS = pd.date_range("2024-01-01", periods=89, freq="D", tz="Europe/Berlin")
WEEKS = pd.bdate_range("2024-01-01", periods=150, tz="Europe/Berlin")
MONTHS = pd.date_range("2004-01-01", periods=150, freq="MS", tz="America/New_York")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("times", "first", "second"),
    [
        (HOURS, "2024-04-05 17:00:00+02:00", "2024-04-05 18:00:00+02:00"),
        (HOURS.tz_convert("UTC"), "2024-04-05 15:00:00+00:00", "2024-04-05 16:00:00+00:00"),
        (HOURS.tz_localize(None), "2024-04-05 17:00:00", "2024-04-05 18:00:00"),
        # Clocks are changed on the second day of the forecast; text has the latest offset alone.
        (DAYS, "2024-03-30 00:00:00+01:00", "2024-03-31 00:00:00+01:00"),
        (WEEKS, "2024-07-29 00:00:00+02:00", "2024-07-30 00:00:00+02:00"),
        (MONTHS, "2016-07-01 00:00:00-04:00", "2016-08-01 00:00:00-04:00"),
        (INDIA, "2024-04-05 20:30:00+05:30", "2024-04-05 21:30:00+05:30"),
    ],
    ids=["berlin", "utc", "none", "days", "business days", "months", "kolkata"],
)
def test_times_of_forecasts_have_the_zone_or_the_latest_offset(
    times, first, second, form, tmp_path
):
    path, output = tmp_path / f"t.{form}", tmp_path / "f.csv"
    x = np.sin(np.arange(len(times)) / 4) + 0.1 * np.random.default_rng(0).normal(size=len(times))
    table = pd.DataFrame({"when": times, "x": x})
    if form == "parquet":
        table.to_parquet(path)
    else:
        table["when"] = table["when"].astype(str)
        table.to_csv(path, index=False)
        if form == "jsonl":
            table.to_json(path, orient="records", lines=True)
    result = run("dynamics", path, "--time", "when", "--forecast", 3, "-o", output)
    assert result.exit_code == 0, result.output
    assert [line.split(",")[1] for line in output.read_text().splitlines()[1:3]] == [first, second]
    assert re.search(r"trajectories +1\n", result.output)


def test_forecasts_in_parquet_keep_the_zone(tmp_path):
    x = np.sin(np.arange(len(DAYS)) / 4)
    pd.DataFrame({"when": DAYS, "x": x}).to_parquet(tmp_path / "t.parquet")
    output = tmp_path / "f.parquet"
    run("dynamics", tmp_path / "t.parquet", "--time", "when", "--forecast", 5, "-o", output)
    times = pd.read_parquet(output)["when"]
    # 31 March has 23 hours.
    expected = pd.date_range("2024-03-30", periods=5, freq="D", tz="Europe/Berlin")
    assert str(times.dt.tz) == "Europe/Berlin"
    assert times.tolist() == expected.tolist()


@pytest.mark.parametrize("zone", ["Z", "+00", "-0330", "+05:30"])
def test_offsets_are_read_in_each_form(zone, tmp_path):
    path, output = tmp_path / "t.csv", tmp_path / "f.csv"
    lines = [f"2024-05-{1 + i // 24:02}T{i % 24:02}:00:00{zone},{np.sin(i / 4)}" for i in range(99)]
    path.write_text("\n".join(["when,x", *lines]) + "\n")
    run("dynamics", path, "--time", "when", "--forecast", 1, "-o", output)
    written = output.read_text().splitlines()[1].split(",")[1]
    offset = {"Z": "+00:00", "+00": "+00:00", "-0330": "-03:30"}.get(zone, zone)
    assert written == f"2024-05-05 03:00:00{offset}"


@pytest.mark.parametrize(
    ("freq", "n", "zone", "periods"),
    [
        ("MS", 30, None, [12]),
        ("ME", 40, "Europe/Berlin", [12]),
        ("B", 60, None, [5]),
        ("12h", 100, None, [14]),
    ],
)
def test_seasons_of_the_calendar_are_those_of_an_index_of_times(freq, n, zone, periods, tmp_path):
    rng, season = np.random.default_rng(0), periods[-1]
    pattern = 6 * rng.normal(size=season)
    states = pattern[np.arange(n) % season] + 0.05 * np.arange(n) + rng.normal(size=n)
    index = pd.date_range("2015-01-01", periods=n, freq=freq, tz=zone, name="when")
    series = pd.Series(states, index, name="a")
    series.to_csv(tmp_path / "t.csv")
    saved, output = tmp_path / "model", tmp_path / "out.csv"
    result = run("dynamics", tmp_path / "t.csv", "--time", "when", "--forecast", 6,
                 "--save", saved, "--output", output)  # fmt: skip
    assert result.exit_code == 0, result.output
    expected = ks.Forecaster(range(1, 7)).fit(series)
    assert expected.periods_[0][:1] == periods
    assert ks.load(saved).periods_ == expected.periods_
    made = pd.read_csv(output)["a"].to_numpy()
    np.testing.assert_allclose(made, expected.forecast()[:, 0, 0], rtol=1e-9)


def test_a_calendar_is_that_of_each_file_and_piece(tmp_path):
    cutter, index = Cutter("time"), pd.date_range("2024-01-01", periods=40, freq="B")
    times = index.to_numpy()
    found = [
        piece.periods
        for first in range(0, 40, 3)
        for piece in cutter.cut(np.zeros((3, 1))[: 40 - first], times[first : first + 3])
    ]
    # The first weekend is between the fifth and the sixth.
    assert found[0] is None
    assert set(found[1:]) == {(5, 261)}
    cutter.end()
    (piece,) = cutter.cut(np.zeros((3, 1)), times[:3])
    assert piece.periods is None
