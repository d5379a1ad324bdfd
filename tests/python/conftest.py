"""What the tests share: real data and a small model."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

import kernelstream as ks
from realdata import FOLDER, MISSING, random_stream, scaled, table

# Under nohup, or in the background of a script, Ctrl-C is ignored, also by the processes started.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Shared machines pause now and then, and a property is none the worse for it. In CI the examples
# are the same every time.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture
def load_scaled():
    """Give a function that reads a real table: features in [-1, 1], target in [0, 1], by name."""

    def load(name):
        data = table(name)
        return scaled(data["X"], data["y"].ravel())

    return load


@pytest.fixture
def stream():
    """400 rows of three features, and their targets."""
    return random_stream(400, 3)


@pytest.fixture
def model(stream):
    """A regressor that has learned half of `stream`."""
    X, y = stream
    learned = ks.KernelRegressor(ks.Gaussian(0.8), ks.ALD(1e-2), ks.Ridge(1e-2), scale=False)
    return learned.partial_fit(X[:200], y[:200])


def pytest_terminal_summary(terminalreporter):
    """Say in one line what was skipped for want of real data."""
    reasons = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", [])]
    files = [reason.split(MISSING)[1] for reason in reasons if MISSING in reason]
    if files:
        terminalreporter.write_line(
            f"{len(files)} tests of published figures were skipped for want of real data "
            f"({', '.join(sorted(set(files)))} in {FOLDER}), others ran on seeded rows in its "
            "place; docs/data.md says how to get it"
        )
