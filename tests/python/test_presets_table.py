"""Presets of Python are those of Rust: both are compared with tests/presets.json.

`tests/rust/presets.rs` reads the same file. An entry has the arguments of a preset (its kernel is
``Gaussian(1.0)``) and the specification of the model that the core is to understand.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import kernelstream as ks
from kernelstream import _core
from modelbytes import unpack
from realdata import ROOT

TABLE = json.loads((ROOT / "tests" / "presets.json").read_text())
# Operators, and lists of regressors, are made by Python alone.
PYTHON_ONLY = {"bandwidth_grid", "recursive_koopman", "sparse_koopman"}
X, LABELS = np.array([[0.0], [1.0]]), np.array([-1.0, 1.0])


def specification(data):
    """What a model file says the model is made of, defaults filled in."""
    spec = unpack(data)[0]["spec"]
    # A classifier's core has the labels around it.
    return spec.get("model", spec)


def test_every_preset_is_in_the_table():
    assert TABLE.keys() == set(ks.presets.__all__) - PYTHON_ONLY


@pytest.mark.parametrize("name", TABLE)
def test_preset_is_that_of_the_table(name, tmp_path):
    entry = TABLE[name]
    model = getattr(ks.presets, name)(ks.Gaussian(1.0), **entry["arguments"]).fit(X, LABELS)
    model.save(tmp_path / "preset")
    core = _core.Regressor(json.dumps(entry["spec"]))
    core.learn(X, LABELS[:, None])
    assert specification((tmp_path / "preset").read_bytes()) == specification(core.to_bytes())
