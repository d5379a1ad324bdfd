"""Streams on the command line: continuing a model, checkpoints, live answers, interruptions."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import kernelstream as ks
from kernelstream.cli.running import learning, session
from kernelstream.cli.running.checkpoints import Every
from kernelstream.cli.running.late_labels import RowsSoFar
from kernelstream.cli.writing.locks import alone
from test_cli import run

DAYS, ROWS = 7, 1200
DAY = np.timedelta64(24 * 60 * 60, "s")
QUICK = ("--basis", "ald:1e-2,max_size=60")


def day(number):
    """One day of a stream that drifts, with times, categories and some gaps."""
    rng = np.random.default_rng(number)
    when = np.datetime64("2026-03-02") + np.timedelta64(number, "D") + DAY * np.arange(ROWS) // ROWS
    x = rng.uniform(-2.0, 2.0, (ROWS, 2))
    shop = rng.choice(["north", "south", "online, abroad"], ROWS)
    y = np.sin(x[:, 0] + number / 7) + 0.1 * x[:, 1] + (shop == "north")
    y += np.sin(np.arange(ROWS) * 2.0 * np.pi / ROWS) + 0.01 * rng.normal(size=ROWS)
    frame = pd.DataFrame({"when": when, "a": 100.0 * x[:, 0], "b": x[:, 1], "shop": shop, "y": y})
    frame.loc[rng.integers(0, ROWS, 5), "b"] = np.nan
    frame.loc[rng.integers(0, ROWS, 5), "shop"] = None
    return frame


def clean(number):
    """The rows of a day without gaps."""
    return day(number).dropna()


@pytest.fixture(scope="module")
def week(tmp_path_factory):
    folder = tmp_path_factory.mktemp("week")
    for number in range(DAYS):
        day(number).to_csv(folder / f"day{number + 4}.csv", index=False)
    return folder


def status(*args):
    result = run(*args)
    assert result.exit_code == 0, result.output
    return result


def killed(args, after):
    """Start the command, and kill it while it writes its checkpoints, the given one written."""
    program = f"""
import os, signal, sys
from kernelstream.cli import app
from kernelstream.cli.running import session
save, count = session.Session.save, 0
def save_and_die(self, path):
    global count
    count += 1
    if count > {after}:
        os.kill(os.getpid(), signal.SIGKILL)
    save(self, path)
session.Session.save = save_and_die
app(sys.argv[1:])
"""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, args)], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize("missing", ["skip", "fill"])
def test_a_week_day_by_day_with_kills_is_one_run_over_all(missing, week, tmp_path):
    whole, daily, figures = tmp_path / "whole", tmp_path / "daily", tmp_path / "figures.jsonl"
    options = ["-t", "y", "--missing", missing, *QUICK]
    said = status("learn", week / "*.csv", *options, "--save", whole).stderr
    assert "learning y from: when (time), a, b, shop (category)" in said
    for number in range(DAYS):
        args = ["learn", week / f"day{number + 4}.csv", *options, "--checkpoint", daily]
        args += ["--every", "200rows", "--metrics", figures]
        if number == 1:
            killed(args, after=2)
            assert ROWS < ks.load(daily).n_seen_ < 2 * ROWS
        result = status(*args)
        assert re.search(r"^rows learned +1,(19\d|200)", result.stdout, re.MULTILINE)
    one, other = ks.load(whole), ks.load(daily)
    seen = [json.loads(line)["seen"] for line in figures.read_text().splitlines()]
    assert seen == sorted(seen)
    assert len(seen) >= DAYS
    assert seen[-1] == other.n_seen_
    n_rows = sum(len(clean(n)) for n in range(DAYS)) if missing == "skip" else DAYS * ROWS
    assert one.n_seen_ == other.n_seen_ == n_rows
    new = clean(99) if missing == "skip" else day(99)
    np.testing.assert_allclose(other.predict(new), one.predict(new), rtol=1e-9)


def test_a_resumed_run_has_the_errors_of_one_that_was_not_killed(week, tmp_path):
    args = ["learn", week / "day[45].csv", "-t", "y", "--skip-missing", *QUICK]
    args += ["--every", "100rows"]
    killed([*args, "--checkpoint", tmp_path / "model"], after=3)
    resumed = status(*args, "--checkpoint", tmp_path / "model")
    whole = status(*args)
    assert "from row" in resumed.stderr
    assert resumed.stdout.splitlines()[:3] == whole.stdout.splitlines()[:3]


def test_a_checkpoint_is_one_run_s_at_a_time(week, tmp_path):
    model, mark = tmp_path / "model", tmp_path / ".kernelstream-model.lock"
    args = ["learn", week / "day4.csv", "-t", "y", "--skip-missing", "--checkpoint", model]
    with alone(model):
        second = run(*args)
        assert second.exit_code == 1
        assert second.stderr.splitlines() == [
            f"error: {model} is in use: another run of 'learn' is using it"
        ]
        assert mark.exists()
    # What a killed run leaves is no lock.
    mark.touch()
    status(*args)
    assert not mark.exists()


@pytest.mark.parametrize("name", ["model.lock", ".kernelstream-model.lock"])
def test_a_lock_removes_no_file_of_the_user(name, week, tmp_path):
    precious = tmp_path / name
    precious.write_text("precious\n")
    args = ["learn", week / "day4.csv", "-t", "y", "--skip-missing", "--checkpoint"]
    status(*args, tmp_path / "model")
    assert precious.read_text() == "precious\n"


def test_a_table_named_like_a_lock_is_kept(week, tmp_path):
    table = tmp_path / "y.lock"
    table.write_bytes((week / "day4.csv").read_bytes())
    status("learn", table, "-t", "y", "--skip-missing", "--checkpoint", tmp_path / "y")
    assert table.read_bytes() == (week / "day4.csv").read_bytes()


@pytest.mark.parametrize("place", [3, 700])
def test_rows_that_a_model_refuses_are_those_of_the_file(place, tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "model"
    table = pd.DataFrame({"a": np.linspace(0.0, 1.0, 900), "y": 1.0})
    table.to_csv(path, index=False)
    status("learn", path, "-t", "y", "--save", model)
    for column, said in (("a", ", column 'a'"), ("y", ", column 'y'")):
        bad = table.copy()
        bad.loc[place, column] = 1e99
        bad.loc[0, "a"] = np.nan  # left out before the model counts
        bad.to_csv(path, index=False)
        message = run("learn", path, "-t", "y", "--skip-missing").stderr.splitlines()[-1]
        where = rf"row {place + 1}{said} .line {place + 2}.: the value is too large"
        assert re.match(rf"error: .*t\.csv, {where}", message)
        if column == "y":
            # That one of several targets is named, whichever are missing.
            bad.assign(z=np.where(np.arange(900) == place, np.nan, 1.0)).to_csv(path, index=False)
            args = ["learn", path, "-t", "z", "-t", "y", "--skip-missing"]
            assert re.match(rf"error: .*t\.csv, {where}", run(*args).stderr.splitlines()[-1])
        if column == "a":
            result = run("predict", model, path, "--skip-missing")
            assert f"row {place + 1}, column 'a' (line {place + 2})" in result.stderr


def test_rows_are_learned_once_unless_requested_again(week, tmp_path):
    path, model = tmp_path / "day.csv", tmp_path / "model"
    clean(0).head(500).to_csv(path, index=False)
    status("learn", path, "-t", "y", "--save", model)
    args = ["learn", path, "--from", model, "--save", model]
    assert "nothing new" in status(*args).stderr
    assert ks.load(model).n_seen_ == 500
    clean(0).head(700).to_csv(path, index=False)
    assert "from row 501 on" in status(*args).stderr
    assert ks.load(model).n_seen_ == 700
    status(*args, "--again")
    assert ks.load(model).n_seen_ == 1400
    # Another file under the same name.
    clean(1).head(300).to_csv(path, index=False)
    status(*args)
    assert ks.load(model).n_seen_ == 1700


def test_a_model_continues_as_it_was_begun(week, tmp_path):
    model = tmp_path / "model"
    begun = ["learn", week / "day4.csv", "-t", "y", "--skip-missing", "--kernel", "gaussian:2"]
    status(*begun, "--save", model)
    resumed = ["learn", week / "day5.csv", "--from", model, "--skip-missing"]
    status(*resumed, "-t", "y", "--kernel", "gaussian:2")
    for option in (["-t", "a"], ["--kernel", "gaussian:1"], ["--experts"], ["-x", "a"]):
        result = run(*resumed, *option)
        assert result.exit_code == 1
        assert "continues as it was begun" in result.stderr
    ks.KernelRegressor().fit(np.eye(2), [1.0, 2.0]).save(tmp_path / "bare")
    result = run("learn", week / "day5.csv", "--from", tmp_path / "bare")
    assert "contains a KernelRegressor without column names" in result.stderr


@pytest.mark.parametrize("text", ["60", "0s", "soon", "-1m"])
def test_times_between_checkpoints_need_a_unit(text):
    with pytest.raises(ValueError, match="such as 60s"):
        Every(text)


def test_checkpoints_are_due_after_a_time_or_some_rows():
    now = [0.0]
    every = Every("2m", clock=lambda: now[0])
    assert not every.is_due(10)
    now[0] = 121.0
    assert every.is_due(10)
    assert not every.is_due(10)
    every = Every("100rows")
    assert [every.is_due(rows) for rows in (99, 100, 150, 250)] == [False, True, False, True]


def test_the_rows_reported_after_ctrl_c_are_those_that_the_model_holds(week, tmp_path, monkeypatch):
    learn, model = learning.Learning._advance, tmp_path / "model"

    def interrupt(self, *args):
        learn(self, *args)
        if self._session.progress.rows > 2000 and not self._stop.wanted:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(learning.Learning, "_advance", interrupt)
    args = ["learn", week / "*.csv", "-t", "y", "--skip-missing", "--save", model, *QUICK]
    result = run(*args)
    assert result.exit_code == 130
    (stopped,) = re.findall(r"stopped after ([\d,]+) rows", result.stderr)
    assert int(stopped.replace(",", "")) == ks.load(model).n_seen_ < ROWS * DAYS
    monkeypatch.undo()
    status("learn", week / "*.csv", "--from", model, "--save", model, "--skip-missing")
    assert ks.load(model).n_seen_ == sum(len(clean(n)) for n in range(DAYS))


def test_more_ctrl_c_do_not_keep_the_model_from_being_saved(week, tmp_path, monkeypatch):
    learn, save = learning.Learning._advance, session.Session.save

    def interrupt(self, *args):
        learn(self, *args)
        if not self._stop.wanted:
            os.kill(os.getpid(), signal.SIGINT)

    def interrupt_and_save(self, path):
        os.kill(os.getpid(), signal.SIGINT)
        save(self, path)

    monkeypatch.setattr(learning.Learning, "_advance", interrupt)
    monkeypatch.setattr(session.Session, "save", interrupt_and_save)
    model = tmp_path / "model"
    result = run("learn", week / "day4.csv", "-t", "y", "--skip-missing", "--save", model)
    assert result.exit_code == 130
    assert "model saved" in result.stdout
    assert 0 < ks.load(model).n_seen_ < ROWS


def test_ctrl_c_at_the_start_leaves_no_traceback(tmp_path):
    (tmp_path / "sklearn.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "kernelstream", "learn", "x.csv", "-t", "y"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGINT
    assert done.stderr == b""


def test_few_complete_rows_at_the_beginning_do_not_set_the_scale_alone(tmp_path):
    frame = clean(0)
    frame.loc[frame.index[1:900], "a"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    status("learn", tmp_path / "t.csv", "-t", "y", "--skip-missing", "-s", tmp_path / "m")
    expected = frame.dropna()[["a", "b"]].std()
    np.testing.assert_allclose(ks.load(tmp_path / "m").scales_[1:3, 1], expected, rtol=0.2)


def test_a_live_filter_answers_each_line_on_arrival():
    process = subprocess.Popen(
        [sys.executable, "-m", "kernelstream", "learn", "-", "-t", "y", "--predict-to", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    process.stdin.write("a,y\n")
    answers = []
    for row in [*(f"{1000 * (i % 5)},{i % 5}" for i in range(100)), "3000,"]:
        process.stdin.write(row + "\n")
        if not answers:
            assert process.stdout.readline() == "y_predicted\n"
        answers.append(float(process.stdout.readline()))
    said, outcome = process.communicate()
    assert process.returncode == 0
    assert said == ""
    assert re.search(r"rows learned +100 \(1 skipped\)", outcome)
    assert answers[-1] == pytest.approx(3.0, abs=0.2)


def test_a_live_filter_predicts_before_learning(week, tmp_path):
    frame = clean(0)
    pipe, said = tmp_path / "pipe", tmp_path / "said.jsonl"
    os.mkfifo(pipe)
    lines = frame.to_json(orient="records", lines=True, date_format="iso", double_precision=15)
    writer = threading.Thread(target=pipe.write_text, args=[lines])
    writer.start()
    status(
        "learn",
        pipe,
        "-t",
        "y",
        "--no-scale",
        "-x",
        "when",
        "-x",
        "shop",
        "--predict-to",
        said,
        *QUICK,
    )
    writer.join()
    model = ks.KernelRegressor(basis=ks.ALD(1e-2, max_size=60), scale=False)
    expected = model.partial_fit_predict(frame[["a", "b"]].to_numpy(), frame["y"])
    answers = [json.loads(line)["y_predicted"] for line in said.read_text().splitlines()]
    np.testing.assert_allclose(answers, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", ["mixed", "late", "one after another"])
@pytest.mark.parametrize("options", [[], ["--plain"]])
def test_labels_are_learned_as_they_come_by_a_pipe(tmp_path, order, options):
    random = np.random.default_rng(0)
    X = random.normal(size=(900, 2))
    kind = np.where(X[:, 0] > 0, "low", "high").astype(object)
    rare = X[:, 1] > 0.8
    kind[rare & (np.arange(900) > 300 if order == "late" else True)] = "other"
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(kind=kind)
    if order == "one after another":
        frame = frame.sort_values("kind", kind="stable")
    text, saved = frame.to_csv(index=False), tmp_path / "model"
    result = _by_pipe(tmp_path, text, "-t", "kind", "--save", saved, *options)
    assert result.exit_code == 0, result.stderr
    assert ks.load(saved).classes_.tolist() == ["high", "low", "other"]
    outcome = r"row ([\d,]+) .*: the labels? (.*) (?:is|are) new, .*the ([\d,]+) rows"
    for found in re.finditer(outcome, result.stderr):
        first, so_far = (int(found[k].replace(",", "")) for k in (1, 3))
        before = frame.kind.iloc[: first - 1].tolist()
        assert so_far == first - 1
        assert frame.kind.iloc[first - 1] in found[2]
        assert frame.kind.iloc[first - 1] not in before
    assert ("begins again" in result.stderr) == (order != "mixed")
    # As of a file, whose labels are known beforehand.
    (tmp_path / "rows.csv").write_text(text)
    same = run("learn", tmp_path / "rows.csv", "-t", "kind", "--save", tmp_path / "same", *options)
    assert same.exit_code == 0
    expected = ks.load(tmp_path / "same").predict_proba(frame[["a", "b"]])
    probabilities = ks.load(saved).predict_proba(frame[["a", "b"]])
    np.testing.assert_allclose(probabilities, expected, rtol=1e-12)


def test_a_label_that_is_new_to_a_model_that_resumes_is_refused(tmp_path):
    saved = tmp_path / "model"
    text = "x,kind\n" + "".join(f"{i % 4},{'low' if i % 4 < 2 else 'high'}\n" for i in range(90))
    assert _by_pipe(tmp_path, text, "-t", "kind", "--save", saved).exit_code == 0
    result = _by_pipe(tmp_path, text + "3,new\n", "--from", saved)
    assert result.exit_code == 1
    new = "row 91, column 'kind' (line 92): the label 'new' is new: the model was begun with"
    assert new in result.stderr


@pytest.mark.parametrize("named", ["yes,No", "yes", "yes,no,maybe"])
@pytest.mark.parametrize("kind", ["file", "pipe", "workers"])
def test_a_label_that_classes_does_not_name_is_refused(tmp_path, named, kind):
    rows = [f"{i % 4},{'yes' if i % 4 < 2 else 'no'}" for i in range(90)]
    text, saved = "x,kind\n" + "\n".join(rows) + "\n", tmp_path / "model"
    options = ["-t", "kind", "--plain", "--classes", named, "--save", saved]
    if kind == "pipe":
        result = _by_pipe(tmp_path, text, *options)
    else:
        (tmp_path / "rows.csv").write_text(text)
        options += ["--workers", "2", "--learner", "ridge:1e-2"] if kind == "workers" else []
        result = run("learn", tmp_path / "rows.csv", *options)
    if "no" in named.split(","):
        assert result.exit_code == 0
        assert ks.load(saved).classes_.tolist() == ["maybe", "no", "yes"]
        return
    assert result.exit_code == 1
    message = "row 3, column 'kind' (line 4): the label 'no' is "
    assert message in result.stderr
    if kind == "workers":
        assert not saved.exists()
        return
    names = ",".join(sorted(named.split(",")))
    assert f"{message}not among --classes {names}: correct it, or name it" in result.stderr
    assert ks.load(saved).n_seen_ == 2


def test_workers_refuse_classes_that_no_row_has(tmp_path):
    for name, n in (("a", 40), ("b", 50)):
        rows = [f"{i % 4},{'yes' if i % 4 < 2 else 'no'}" for i in range(n)]
        (tmp_path / f"{name}.csv").write_text("x,kind\n" + "\n".join(rows) + "\n")
    options = ["-t", "kind", "--plain", "--classes", "ja,nein", "--workers", "2"]
    options += ["--learner", "ridge:1e-2", "--save", tmp_path / "m"]
    result = run("learn", tmp_path / "a.csv", tmp_path / "b.csv", *options)
    assert result.exit_code == 1
    what = "column 'kind': none of 90 rows sampled has one of --classes ja,nein, but labels such as"
    assert what in result.stderr
    assert re.search(r"--classes ja,nein,(yes|no)$", result.stderr, re.MULTILINE)
    assert " row " not in result.stderr


def test_a_model_that_begins_again_learns_a_uniform_sample_whatever_the_batches():
    labels = np.arange(5000) % 2
    found = []
    for cuts in ([100, 101, 4000], [2500]):
        rows = RowsSoFar(most=400)
        for part in np.split(np.arange(5000), cuts):
            rows.add({"x": part.astype(float)}, labels[part])
        assert (rows.n_rows, rows.n_kept) == (5000, 400)
        model = rows.begin_again(ks.KernelClassifier(), np.array([0, 1, 2]))
        assert model.n_seen_ == 400
        found.append(model.predict_proba(pd.DataFrame({"x": np.arange(0, 5000.0, 50)})))
    np.testing.assert_array_equal(*found)


def _by_pipe(folder, text, *options):
    pipe = folder / "pipe"
    if not pipe.exists():
        os.mkfifo(pipe)
    writer = threading.Thread(target=_write_quietly, args=[pipe, text])
    writer.start()
    result = run("learn", pipe, *options)
    writer.join()
    return result


def _write_quietly(path, text):
    with suppress(BrokenPipeError):
        path.write_text(text)
