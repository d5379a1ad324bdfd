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


def answers(text, *options):
    """The predictions of a live filter, without the header, and its messages."""
    command = [sys.executable, "-m", "kernelstream", "learn", "-", "-t", "y", "--predict-to", "-"]
    done = subprocess.run(
        [*command, *options], input=text, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.splitlines()[1:], done.stderr


@pytest.mark.parametrize(
    ("labels", "n_first", "options"),
    [
        (("yes", "no"), 1, ()),
        (("yes", "no"), 300, ("--missing", "skip")),
        (("yes", "no"), 3, ("--experts",)),
        (("1", "0"), 3, ("--classify", "--missing", "fill")),
        (("1.5", "2.5"), 3, ("--missing", "skip")),
        (("1.5", "2.5"), 3, ("--experts",)),
    ],
)
def test_rows_before_the_first_target_of_a_pipe_are_predicted_alone(labels, n_first, options):
    rows = n_first * "1,2,\n" + "".join(f"{i},{i % 3},{labels[i % 2]}\n" for i in range(30))
    status, said, messages = answers("a,b,y\n" + rows, *options)
    assert status == 0, messages
    assert len(said) == n_first + 30
    assert set(said[:n_first]) == ({"0"} if "." in labels[0] else {""})
    assert f"rows learned   30 ({n_first} " in messages


def test_rows_without_labels_have_empty_predictions_before_the_first_one_is_learned():
    text = "a,b,y\n" + 60_000 * "12345,67890,\n" + "1,2,yes\n3,1,no\n1,2,\n"
    status, said, messages = answers(text, "--classify")
    assert status == 0, messages
    assert said[:60_000] == 60_000 * [""]
    assert all(label in {'"yes"', '"no"'} for label in said[60_000:])
    status, said, messages = answers(text)
    assert "y has no value in the first rows, and is learned as a number; --classify" in messages


def test_a_pipe_without_any_label_is_answered_by_empty_predictions():
    status, said, messages = answers("a,b,y\n1,2,\n3,1,\n", "--classify")
    assert (status, said) == (1, ["", ""])
    assert "error: standard input has no complete row (2 skipped)" in messages
