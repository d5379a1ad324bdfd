"""Arrays are read where they lie: no copy of float64 input, in any memory order."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import kernelstream as ks

# What the model is given, and whether that is a copy of the rows in another type.
LAYOUTS = {
    "C order": "X",
    "Fortran order": "np.asfortranarray(X)",
    "negative strides": "X[::-1, ::-1]",
    "every other column": "np.repeat(X, 2, axis=1)[:, ::2]",
    "read-only": "np.frombuffer(X.tobytes()).reshape(X.shape)",
    "float32": "X.astype(np.float32)",
}

# The peak of the whole process during a call, so that copies by the extension count too. Linux
# forgets the peak so far when asked to.
SCRIPT = """
import json
import re
import sys
from pathlib import Path
import numpy as np
import kernelstream as ks

def peak():
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status)[1])

grown = {}
for name, layout in json.loads(sys.argv[1]).items():
    model = ks.KernelRegressor(basis=ks.FirstPoints(3))
    X = np.random.default_rng(0).uniform(size=(1_000_000, 8))  # 64 MB
    X = eval(layout)
    y = X[:, 0].astype(np.float64)
    model.partial_fit(X[:1000], y[:1000])
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    model.partial_fit(X, y)
    grown[name] = peak() - before
print(json.dumps(grown))
"""


def test_learning_makes_no_copy_of_the_rows():
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("needs Linux to measure the peak of one call")
    command = [sys.executable, "-c", SCRIPT, json.dumps(LAYOUTS)]
    grown = json.loads(subprocess.check_output(command, text=True))
    assert grown.keys() == LAYOUTS.keys()
    # The measure sees a copy.
    assert grown.pop("float32") > 60e6
    assert all(size < 20e6 for size in grown.values()), grown


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
def test_numpy_makes_no_copy_on_the_way_in():
    X = np.asfortranarray(np.random.default_rng(0).uniform(size=(400_000, 5)))
    y = X[::-1, 0]
    model = ks.KernelRegressor(basis=ks.FirstPoints(2), scale=False).partial_fit(X[:10], y[:10])
    tracemalloc.start()
    model.partial_fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes / 20
