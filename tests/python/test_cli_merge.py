"""``freeze`` and ``merge`` on the command line."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import kernelstream as ks
from kernelstream.cli import app
from realdata import random_stream


def run(*args):
    if args[0] == "learn":
        args = (*args, "--plain")
    return CliRunner().invoke(app, [str(arg) for arg in args], env={"COLUMNS": "200"})


@pytest.fixture
def tables(tmp_path):
    """A table in two files, and a model of some of its rows whose dictionary is frozen."""
    X, y = random_stream(400, 3)
    frame = pd.DataFrame(50 * X, columns=list("abc")).assign(y=y)
    paths = [tmp_path / f"{name}.csv" for name in ("north", "south")]
    for path, rows in zip(paths, [frame[:150], frame[150:]], strict=True):
        rows.to_csv(path, index=False)
    begun, frozen = tmp_path / "begun.model", tmp_path / "frozen.model"
    for command in (
        ["learn", paths[0], "-t", "y", "--save", begun],
        ["freeze", begun, "-o", frozen],
    ):
        assert run(*command).exit_code == 0
    return frame, paths, frozen


def test_parts_of_a_frozen_model_are_one_model(tables, tmp_path):
    frame, paths, frozen = tables
    parts, merged = [tmp_path / f"{i}.model" for i in range(2)], tmp_path / "merged.model"
    for path, part in zip(paths, parts, strict=True):
        assert run("learn", path, "--from", frozen, "--save", part).exit_code == 0
    result = run("merge", *parts, "-o", merged)
    assert result.exit_code == 0, result.output
    assert "2 models of 400 rows" in result.stderr
    one = ks.load(frozen).partial_fit(frame, frame["y"])
    np.testing.assert_allclose(ks.load(merged).predict(frame), one.predict(frame), atol=1e-9)
    # It can be continued, and records which files it has learned.
    again = run("learn", paths[1], "--from", merged, "--save", merged)
    assert again.exit_code == 0, again.output
    assert ks.load(merged).n_seen_ == 400


def test_a_file_counts_once(tables, tmp_path):
    _, paths, frozen = tables
    part = tmp_path / "part.model"
    assert run("learn", paths[0], "--from", frozen, "--save", part).exit_code == 0
    result = run("merge", part, part, "-o", tmp_path / "merged.model")
    assert result.exit_code == 1
    assert "count twice" in result.stderr
    assert not (tmp_path / "merged.model").exists()


def test_models_that_are_no_sums_are_refused(tables, tmp_path):
    _, paths, frozen = tables
    gradient = tmp_path / "gradient.model"
    assert run("learn", paths[0], "-t", "y", "--learner", "gradient", "-s", gradient).exit_code == 0
    for command in (["freeze", gradient], ["merge", frozen, gradient]):
        result = run(*command, "-o", tmp_path / "out.model")
        assert result.exit_code == 1
        assert result.stderr.startswith("error: ")


def test_workers_learn_the_same_model(tables, tmp_path):
    frame, paths, frozen = tables
    given = tmp_path / "given.model"
    result = run("learn", *paths, "--workers", 2, "--from", frozen, "--save", given)
    assert result.exit_code == 0, result.output
    one = ks.load(frozen).partial_fit(frame, frame["y"])
    np.testing.assert_allclose(ks.load(given).predict(frame), one.predict(frame), atol=1e-9)
    # By themselves they agree on a dictionary first, and know what they have learned.
    found = tmp_path / "found.model"
    result = run("learn", *paths, "-t", "y", "--workers", 2, "--save", found)
    assert result.exit_code == 0, result.output
    model = ks.load(found)
    assert model.n_seen_ == len(frame)
    assert model.score(frame, frame["y"]) > one.score(frame, frame["y"]) - 0.02
    result = run("learn", *paths, "--from", found, "--save", found)
    assert "nothing new" in result.stderr


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ([], "--save"),
        (["--save", "m", "--plot", "p.png"], "--plot"),
        (["--save", "m", "bad.csv"], "bad.csv, row 3"),
    ],
)
def test_workers_refuse_unsupported_options(tables, options, named, tmp_path, monkeypatch):
    _, paths, _ = tables
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.csv").write_text("a,b,c,y\n1,2,3,4\n1,2,3,4\n1,,3,4\n")
    result = run("learn", *paths, "-t", "y", "--workers", 2, *options)
    assert result.exit_code == 1
    assert named in result.stderr
    assert not (tmp_path / "m").exists()
