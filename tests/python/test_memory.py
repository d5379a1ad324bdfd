"""Arrays are read where they lie: no copy of float64 input, in any memory order."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import kernelstream as ks

LAYOUTS = {
    "C order": "X",
    "Fortran order": "np.asfortranarray(X)",
    "negative strides": "X[::-1, ::-1]",
    "every other column": "np.repeat(X, 2, axis=1)[:, ::2]",
    "read-only": "np.frombuffer(X.tobytes()).reshape(X.shape)",
}

# The peak of the whole process during the call, so that copies by the extension count too. Linux
# forgets the peak so far when asked to.
SCRIPT = """
import re
from pathlib import Path
import numpy as np
import kernelstream as ks

model = ks.KernelRegressor(basis=ks.FirstPoints(3))
X = np.random.default_rng(0).uniform(size=(1_000_000, 8))  # 64 MB
X = {layout}
y = X[:, 0]
model.partial_fit(X[:1000], y[:1000])

def peak():
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status)[1])

Path("/proc/self/clear_refs").write_text("5")
before = peak()
model.partial_fit(X, y)
print(peak() - before)
"""


def growth(layout):
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("needs Linux to measure the peak of one call")
    script = SCRIPT.format(layout=layout)
    return int(subprocess.check_output([sys.executable, "-c", script], text=True))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_learning_makes_no_copy_of_the_rows(layout):
    assert growth(LAYOUTS[layout]) < 20e6


def test_the_measure_sees_a_copy():
    assert growth("X.astype(np.float32)") > 60e6


def test_numpy_makes_no_copy_on_the_way_in():
    X = np.asfortranarray(np.random.default_rng(0).uniform(size=(400_000, 5)))
    y = X[::-1, 0]
    model = ks.KernelRegressor(basis=ks.FirstPoints(2)).partial_fit(X[:10], y[:10])
    tracemalloc.start()
    model.partial_fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes / 20
