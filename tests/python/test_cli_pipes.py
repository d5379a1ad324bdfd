"""A pipe that is read again after a stop: rows that are learned are passed over."""

import subprocess
import sys

import numpy as np
import pytest

import kernelstream as ks

pytest.importorskip("typer", reason="needs the command line: pip install kernelstream[cli]")
ROWS = [f"{x},{x * x}" for x in np.random.default_rng(0).uniform(-1, 1, 900).round(6).tolist()]


def learn(rows, path, *options):
    text = "\n".join(["x,y", *rows]) + "\n"
    command = [sys.executable, "-m", "kernelstream", "learn", "-", "--target", "y"]
    command += ["--checkpoint", str(path), "--every", "100rows", *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("bad", [False, True], ids=["ended", "stopped by a bad row"])
def test_a_pipe_that_begins_again_is_learned_once(bad, tmp_path):
    path, whole = tmp_path / "m", tmp_path / "whole"
    first = learn([*ROWS[:500], *(["word,1"] if bad else [])], path)
    assert (first.returncode != 0) == bad
    seen = ks.load(path).n_seen_
    assert seen == 500
    again = learn(ROWS, path, "--skip-seen")
    assert again.returncode == 0, again.stderr
    assert "from row 501 on" in again.stderr
    assert learn(ROWS, whole).returncode == 0
    model, expected = ks.load(path), ks.load(whole)
    assert model.n_seen_ == expected.n_seen_ == 900
    rows = {"x": np.linspace(-1, 1, 50)}
    np.testing.assert_allclose(model.predict(rows), expected.predict(rows), rtol=0, atol=1e-9)
    # Once more there is nothing new in it.
    learn(ROWS, path, "--skip-seen")
    assert ks.load(path).n_seen_ == 900


def test_without_the_option_all_rows_are_learned_and_it_is_named(tmp_path):
    learn(ROWS[:300], tmp_path / "m")
    again = learn(ROWS[300:400], tmp_path / "m")
    assert "300 rows of an earlier pipe are learned; if standard input begins" in again.stderr
    assert ks.load(tmp_path / "m").n_seen_ == 400
