"""A save that is killed, or finds the disk full, leaves the old file or the new one, whole."""

from __future__ import annotations

import itertools
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import kernelstream as ks
from kernelstream import _core

resource = pytest.importorskip("resource")

# The core alone: a process of its own for each case starts in no time.
CORE = f"""
import importlib.util, sys
found = importlib.util.spec_from_file_location("kernelstream._core", {_core.__file__!r})
core = importlib.util.module_from_spec(found)
found.loader.exec_module(core)
model, extra = core.Regressor.load(sys.argv[1])
"""

SAVES_FOR_EVER = f"""{CORE}
while True:
    model.learn_one([0.1, 0.2], [0.3])
    model.save(sys.argv[1], extra)
    print("saved", flush=True)
"""

FULL_DISK = f"""{CORE}
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    model.save(sys.argv[1], extra)
except OSError as error:
    print(error.errno, error.filename)
"""


@pytest.fixture
def path(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    ks.KernelRegressor(scale=False).fit(X, X[:, 0]).save(tmp_path / "model")
    return tmp_path / "model"


def leftovers(path):
    return [other.name for other in path.parent.iterdir() if other != path]


def test_a_save_killed_at_any_moment_leaves_a_whole_file(path):
    moments = random.Random(0)
    seen = [ks.load(path).n_seen_]
    for _ in range(16):
        command = [sys.executable, "-c", SAVES_FOR_EVER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            for _ in range(moments.randrange(1, 4)):
                assert process.stdout.readline() == b"saved\n"
                assert ks.load(path).n_seen_ > seen[-1]
            # The next save is at any of its stages.
            time.sleep(moments.uniform(0, 0.005))
            process.send_signal(signal.SIGKILL)
        seen.append(ks.load(path).n_seen_)
    assert all(before < after for before, after in itertools.pairwise(seen))
    # What the killed processes left goes with the next save of another process.
    again = f"{CORE}model.save(sys.argv[1], extra)"
    subprocess.run([sys.executable, "-c", again, str(path)], check=True)
    assert leftovers(path) == []


def test_a_full_disk_leaves_the_old_file_and_raises_an_error(path):
    before = path.read_bytes()
    assert len(before) > 5000
    command = [sys.executable, "-c", FULL_DISK, str(path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.split() == ["27", str(path)]
    assert path.read_bytes() == before
    assert leftovers(path) == []
