"""Standard streams that are closed or full: the model is saved, the error says what failed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import kernelstream as ks

pytestmark = pytest.mark.skipif(
    not Path("/dev/full").exists() or os.name != "posix", reason="needs /dev/full and a shell"
)

ROWS = "x,z,y\n" + "".join(f"{i},{i % 7},{i % 5}\n" for i in range(60))


@pytest.fixture
def run(tmp_path):
    """Give a function that runs a command with some redirections."""
    (tmp_path / "s.csv").write_text(ROWS)
    python = f"'{sys.executable}' -m kernelstream"

    def command(arguments, redirections):
        line = f"{python} {arguments} {redirections}"
        done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, check=False)
        assert b"Traceback" not in done.stderr
        assert b"ignored" not in done.stderr
        return done.returncode, done.stderr.decode()

    return command


@pytest.mark.parametrize("redirections", ["2>/dev/full", "2>&- <&-"])
def test_a_model_is_saved_where_messages_cannot_be_written(run, redirections, tmp_path):
    code, _ = run("learn s.csv -t y --save model", redirections)
    assert code == 0
    assert ks.load(tmp_path / "model").n_seen_ == 60


@pytest.mark.parametrize(
    ("redirections", "reason"),
    [(">/dev/full", "No space left on device"), (">&-", "it is closed")],
)
def test_a_model_is_saved_before_its_figures_cannot_be_written(run, redirections, reason, tmp_path):
    code, error = run("learn s.csv -t y --save model", redirections)
    assert code == 1
    assert f"error: the standard output cannot be written to: {reason}" in error
    assert ks.load(tmp_path / "model").n_seen_ == 60
    code, error = run("predict model s.csv", redirections)
    assert code == 1
    assert f"error: the standard output cannot be written to: {reason}" in error
