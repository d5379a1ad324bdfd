"""What the command line writes, where, and what a person sees meanwhile."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from kernelstream.cli import app
from kernelstream.cli.running.windows import Drift, Window
from kernelstream.cli.writing.picture import History
from kernelstream.estimators import progress
from test_cli import run


@pytest.fixture
def table(tmp_path):
    """A file of 3,000 rows whose relation turns round after 2,000."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, 3000)
    y = np.where(np.arange(3000) < 2000, x, -x) + 0.05 * rng.normal(size=3000)
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": x, "y": y, "up": y > 0}).to_csv(path, index=False)
    return path


@pytest.fixture
def model(table, tmp_path):
    assert run("learn", table, "-t", "y", "-x", "up", "-s", tmp_path / "model").exit_code == 0
    return tmp_path / "model"


def test_warnings_are_in_terms_of_options(table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run("learn", table, "-t", "y", "-x", "up")
    assert result.exit_code == 0
    assert "Ridge(" not in result.output


def test_only_regular_files_are_replaced_by_predictions(table, model, tmp_path):
    (tmp_path / "p.csv.part").write_text("mine")
    real, link, pipe = tmp_path / "real.csv", tmp_path / "link.csv", tmp_path / "pipe"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    for output in (tmp_path / "p.csv", link, pipe, "/dev/null"):
        result = run("predict", model, table, "-o", output)
        assert result.exit_code == 0, result.output
    reader.join()
    assert (tmp_path / "p.csv.part").read_text() == "mine"
    assert link.is_symlink()
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert real.read_text() == (tmp_path / "p.csv").read_text() == read[0]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "p.csv").stat().st_mode) == 0o666 & ~umask
    assert not list(tmp_path.glob(".kernelstream-*"))


def test_leftovers_of_killed_processes_are_removed(table, model, tmp_path):
    leftover, other = tmp_path / ".kernelstream-abc123.tmp", tmp_path / ".kernelstream-notes"
    leftover.touch()
    other.touch()
    assert run("predict", model, table, "-o", tmp_path / "p.csv").exit_code == 0
    assert not leftover.exists()
    assert other.exists()


@pytest.mark.parametrize(
    ("option", "place", "complaint"),
    [
        ("--save", "t.csv", "that file is read"),
        ("--metrics", "t.csv", "that file is read"),
        ("--save", ".", "is a folder"),
        ("--plot", "no/where.png", "is not a folder"),
        ("--checkpoint", "/dev/null", "not a regular file"),
        ("--save", "loop", "is a loop of symbolic links"),
        ("--metrics", "loop", "is a loop of symbolic links"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_learning(
    option, place, complaint, table, tmp_path
):
    (tmp_path / "loop").symlink_to("loop")
    before = table.read_bytes()
    result = run("learn", table, "-t", "y", option, tmp_path / place)
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert table.read_bytes() == before


@pytest.mark.parametrize("name", ["model", "link.png", "hard.png"])
@pytest.mark.parametrize(
    "command",
    [
        "predict {model} {table} --output {out}",
        "learn {table} --from {model} --again --predict-to {out}",
        "learn {table} --from {model} --again --metrics {out}",
        "learn {table} --from {model} --again --plot {out}",
        "learn {table} -t y -x up --checkpoint {model} --again --metrics {out}",
        "learn {table} -t y -x up --save {model} --predict-to {out}",
        "dynamics {table} --save {model} --plot {out}",
        "dynamics {table} --save {model} --forecast 3 --output {out}",
        "merge {model} {model} -o {out}",
        "freeze {model} -o {out}",
    ],
)
def test_no_output_is_another_file_of_the_command(command, name, table, model, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "link.png").symlink_to(model)
    (tmp_path / "hard.png").hardlink_to(model)
    before = model.read_bytes()
    if "--plot" in command and name == "model":
        pytest.skip("a picture has an extension of its own")
    places = {"model": model, "table": table, "out": tmp_path / name}
    result = run(*(part.format(**places) for part in command.split()))
    assert result.exit_code == 1, result.output
    assert "that file is" in result.stderr
    assert model.read_bytes() == before


def test_links_to_a_file_that_does_not_exist_yet_are_that_file(table, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "new")
    result = run(
        "learn", table, "-t", "y", "--metrics", tmp_path / "link", "--predict-to", tmp_path / "new"
    )
    assert result.exit_code == 1
    assert "that file is also --" in result.stderr
    assert not (tmp_path / "new").exists()


def test_a_model_is_resumed_in_place(table, model):
    result = run("learn", table, "--from", model, "--again", "--save", model)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("evil", ["x\x1b]0;title\x07", "x\x9b31m", "x\nerror: y", "x\x7f\r"])
def test_control_characters_reach_no_terminal(evil, tmp_path):
    table, model = tmp_path / "t.csv", tmp_path / "model"
    x = np.linspace(0.0, 1.0, 300)
    pd.DataFrame({evil: x, "y": x * x, "label": np.where(x > 0.5, evil, "b")}).to_csv(
        table, index=False
    )
    outputs = [
        run("learn", table, "-t", "y", "--save", model).output,
        run("learn", table, "-t", evil, "-x", "label").output,
        run("learn", table, "-t", "label").output,
        run("learn", table, "-t", "none").output,
        run("dynamics", table).output,
        run("learn", tmp_path / evil, "-t", "y").output,
        run("predict", tmp_path / evil, table).output,
    ]
    for output in outputs:
        assert output
        assert not set(output) & {*map(chr, range(32)), *map(chr, range(127, 160))} - {"\n"}
        assert "\nerror: y" not in output


def test_the_model_is_saved_though_figures_cannot_be_written(table, tmp_path):
    result = run("learn", table, "-t", "y", "--metrics", "/dev/full", "--save", tmp_path / "model")
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert (tmp_path / "model").exists()


def test_figures_are_lines_of_json_and_a_picture(table, tmp_path):
    pytest.importorskip("matplotlib")
    figures, picture = tmp_path / "m.jsonl", tmp_path / "curve.png"
    options = ["-x", "up", "--metrics", figures, "--plot", picture, "--window", "500"]
    result = run("learn", table, "-t", "y", *options)
    assert result.exit_code == 0, result.output
    last = [json.loads(line) for line in figures.read_text().splitlines()][-1]
    assert {"time", "rows", "skipped", "seen", "stored", "rows_per_second"} < last.keys()
    assert last["rows"] == 3000
    assert last["error"] < last["mean_error"]
    assert last["window_error"] > 0
    assert "in the last 500" in result.stdout
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert f"picture written  {picture}" in result.stdout
    assert f"metrics written  {figures}" in result.stdout
    run("learn", table, "-t", "up", "-x", "y", "--metrics", figures)
    last = [json.loads(line) for line in figures.read_text().splitlines()][-1]
    assert last["error"] < last["majority_error"]


def test_every_file_that_is_written_has_a_line(table, tmp_path):
    pytest.importorskip("matplotlib")
    paths = {what: tmp_path / what for what in ("plot", "save", "output", "predict-to.csv", "c")}
    options = ["--predict-to", paths["predict-to.csv"], "-s", paths["save"]]
    result = run("learn", table, "-t", "y", *options, "--checkpoint", paths["c"])
    for path in (paths["predict-to.csv"], paths["save"], paths["c"]):
        assert result.stdout.count(f" {path}") == 1
    result = run("learn", table, "-t", "y", "--predict-to", "-")
    assert "written" not in result.stdout + result.stderr
    pd.DataFrame({"x": np.sin(np.arange(400) / 9.0)}).to_csv(table, index=False)
    options = ["--columns", "x", "--forecast", "3", "--plot", paths["plot"]]
    result = run("dynamics", table, *options, "--output", paths["output"].with_suffix(".csv"))
    assert f"picture written to {paths['plot']}" in result.stderr
    assert paths["plot"].exists()


@pytest.mark.parametrize(
    ("target", "option"), [("y", []), ("y", ["--coverage", "0.9"]), ("up", [])]
)
def test_errors_of_rows_that_were_learned_have_a_remark(table, tmp_path, target, option):
    model, new = tmp_path / "model", tmp_path / "new.csv"
    options = ["-x", "up" if target == "y" else "y", "-s", model]
    learned = run("learn", table, "-t", target, *options).stdout
    said = run("predict", model, table, *option, "--output", tmp_path / "out.csv").stderr
    remark = f"note: the model has learned {table}: errors of new rows are larger"
    assert said.count(remark) == 1
    assert ("inside their intervals" in said) == bool(option)
    error = learned.splitlines()[1].split()[1]
    name = "RMSE" if target == "y" else "mistakes"
    before = re.search(rf"; learn printed {name} (\S+)", said)[1]
    assert float(before.rstrip("%")) == pytest.approx(float(error.rstrip("%")), rel=1e-3)
    half = table.read_text().splitlines(keepends=True)
    new.write_text("".join([half[0], *half[1500:]]))
    for other in (["predict", model, new], ["explain", model, table]):
        said = run(*other, "--output", tmp_path / "out.csv").stderr
        assert "has learned" not in said
    # Files without targets have no errors.
    pd.read_csv(table).drop(columns=target).to_csv(table, index=False)
    assert (
        "has learned" not in run("predict", model, table, "--output", tmp_path / "out.csv").stderr
    )


@pytest.mark.parametrize("rows", [1, 40, 256, 400, 2000])
@pytest.mark.parametrize("options", [["--plain"], ["--experts"]])
def test_the_picture_of_few_rows_has_a_curve(table, tmp_path, monkeypatch, rows, options):
    pytest.importorskip("matplotlib")
    curves = []
    draw = History.draw

    def keep(history):
        curves.append(history.points)
        draw(history)

    monkeypatch.setattr(History, "draw", keep)
    first = tmp_path / "first.csv"
    first.write_text("".join(table.read_text().splitlines(keepends=True)[: rows + 1]))
    options = ["-x", "up", *options, "--predict-to", tmp_path / "p.csv"]
    result = run("learn", first, "-t", "y", *options, "--plot", tmp_path / "curve.png")
    assert result.exit_code == 0, result.output
    (points,) = curves
    assert len(points) >= min(rows, 20)
    assert points[-1][0] == rows
    written = pd.read_csv(tmp_path / "p.csv")
    run("learn", first, "-t", "y", *options)
    # Sums over batches of other sizes are rounded differently.
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "p.csv"), written, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.DriftWarning")
@pytest.mark.parametrize("target", ["y", "label"])
@pytest.mark.parametrize("experts", [False, True])
def test_rows_in_an_order_of_the_target_are_reported(tmp_path, target, experts):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1500, 2))
    y = np.sin(x[:, 0]) + x[:, 1]
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y})
    if target == "label":
        frame["label"] = np.where(y > 0, "high", "low")
        del frame["y"]
    for order, is_sorted in (("sorted", True), ("random", False)):
        rows = frame.sort_values(target, kind="stable") if is_sorted else frame
        rows.to_csv(tmp_path / f"{order}.csv", index=False)
        options = ["--experts"] if experts else ["--learner", "ridge:1e-2"]
        result = run("learn", tmp_path / f"{order}.csv", "-t", target, *options)
        assert result.exit_code == 0, result.output
        assert f"last {'label' if target == 'label' else 'target'}'s" in result.stdout
        assert ("these errors say little of other rows" in result.stderr) == is_sorted


def test_drift_is_hinted_at_once(table):
    result = run("learn", table, "-t", "y", "-x", "up", "--window", "300")
    assert result.stderr.count("the relation seems to drift") == 1
    assert "--experts, or a learner that forgets" in result.stderr
    pd.read_csv(table).head(2000).to_csv(table, index=False)
    steady = run("learn", table, "-t", "y", "-x", "up", "--window", "300")
    assert "seems to drift" not in steady.stderr


def test_a_window_holds_the_last_rows_for_any_batches():
    losses = np.random.default_rng(0).exponential(size=(500, 2))
    window = Window(70, 2)
    assert np.isnan(window.mean).all()
    for first, last in ((0, 3), (3, 60), (60, 90), (90, 400), (400, 500)):
        window.add(losses[first:last])
        np.testing.assert_allclose(window.mean, losses[max(last - 70, 0) : last].mean(axis=0))


def test_chance_is_no_drift():
    rng = np.random.default_rng(0)
    window, drift = Window(1000, 1), Drift(1.5)
    for _ in range(300):
        window.add(rng.standard_t(4, size=(100, 1)) ** 2)
        assert not drift.rises(window, np.zeros(1))


@pytest.mark.parametrize("width", [12, 30, 60, 200])
def test_the_bar_keeps_to_one_line(width):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=width, _environ={})
    bar = progress.ProgressBar(1000, console=console)
    bar.update(500, 123_456, "RMSE 0.1234", 77, "last 10,000: 0.1")
    line = bar.line(width)
    assert len(line) <= width or line == "123,456 rows"
    assert "123,456 rows" in line
    assert ("77 stored" in line) == (width == 200)


def test_names_in_summaries_are_no_markup(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,[/y]\n1,2\n2,3\n")
    assert "[/y]" in run("learn", path, "-t", "[/y]").stdout


def test_summaries_of_narrow_terminals_break_no_words(table):
    result = CliRunner().invoke(app, ["learn", str(table), "-t", "y"], env={"COLUMNS": "30"})
    assert "  running mean's " in result.stdout
    assert "rows learned " in result.stdout


@pytest.mark.parametrize("model", ["--plain", "--experts"])
@pytest.mark.parametrize(
    ("values", "options", "note"),
    [
        ([0, 1], [], "y has two values, 0 and 1, and is learned as a number; --classify"),
        ([-1.0, 1.0], [], "y has two values, -1 and 1, and"),
        ([0.25, 1], [], None),
        ([0, 1, 2], [], None),
        ([0, 1], ["--classify"], None),
        (["yes"], [], "every row has the label 'yes' of y, so that no mistake is possible"),
        ([" No", "No", "no", "yes"], [], "' No' and 'No' and 'no'; each is a label of its own"),
        (["no", "yes"], [], None),
    ],
)
def test_targets_of_few_values_have_one_note(values, options, note, model, tmp_path):
    path = tmp_path / "t.csv"
    rows = "".join(f"{i % 7},{values[i % len(values)]}\n" for i in range(60))
    path.write_text("x,y\n" + rows)
    result = run("learn", path, "-t", "y", model, *options)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("note: ") == (note is not None)
    assert note is None or note in result.stderr


def test_a_target_of_two_values_at_first_has_no_note(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(3000)) + "1,5\n")
    assert "note: " not in run("learn", path, "-t", "y").stderr


@pytest.mark.filterwarnings("default::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("model", ["--plain", "--experts"])
def test_notes_advise_what_options_can_do(model, tmp_path):
    rng = np.random.default_rng(0)
    level = rng.integers(150, size=1500)
    y = np.where(np.arange(1500) == 1200, 1e5, level + rng.normal(size=1500))
    rows = {"a": rng.normal(size=1500), "prod": [f"k{k}" for k in level], "y": y}
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    result = run("learn", tmp_path / "t.csv", "-t", "y", model)
    assert "column 'prod' has 1" in result.stderr
    assert "leave the column out by --exclude prod, combine rare categories" in result.stderr
    # To a single model, the outlier may stand for a missing value.
    remedy = "--plain --no-scale" if model == "--experts" else "--missing-values=100000"
    assert remedy in result.stderr
    assert "columns=" not in result.stderr
    assert "scale=" not in result.stderr
