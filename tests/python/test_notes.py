"""Notes in model files: what comes back, what is refused, and when a note goes."""

import copy
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import kernelstream as ks
from kernelstream import _core
from realdata import random_stream

X, Y = random_stream(80, 2)
NOTE = {"topic": "sales", "offsets": {"0": 2**53 + 1, "1": 0}, "share": 0.1 + 0.2, "none": None}


def regressor():
    return ks.KernelRegressor().fit(X, Y)


@pytest.mark.parametrize(
    "model",
    [
        regressor(),
        ks.KernelClassifier().fit(X, Y > 0),
        ks.KernelExperts().fit(X, Y),
        ks.Koopman().fit(X[:-1], X[1:]),
        ks.Forecaster(horizons=[1]).fit(X),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_note_comes_back_with_every_kind_of_model(model, tmp_path):
    assert model.note_ is None
    model.save(tmp_path / "m", note=NOTE)
    again = ks.load(tmp_path / "m")
    assert again.note_ == NOTE == model.note_
    assert type(model).load(tmp_path / "m").note_ == NOTE
    assert pickle.loads(pickle.dumps(again)).note_ == copy.deepcopy(again).note_ == NOTE
    again.save(tmp_path / "m")
    assert ks.load(tmp_path / "m").note_ == NOTE
    again.save(tmp_path / "m", note={})
    assert ks.load(tmp_path / "m").note_ is None


@pytest.mark.parametrize(
    ("note", "message"),
    [
        ({"offsets": {0: 5}}, r"note\['offsets'\] has the key 0.*use '0'"),
        ({"a": [1.0, np.nan]}, r"note\['a'\]\[1\] is nan"),
        ({"a": 2**64}, r"note\['a'\] is 18446744073709551616"),
        ({"a": {1, 2}}, r"note\['a'\] is a set"),
        ({"a": b"x"}, r"note\['a'\] is a bytes"),
        ({"a": "\ud800"}, r"note\['a'\] is no valid Unicode"),
        ({"a": "x" * (1 << 20)}, "1,048,585 bytes of JSON"),
        ("offset 5", "note must be a dict"),
        ([], "note must be a dict"),
    ],
)
def test_a_note_that_json_cannot_carry_is_refused_by_name(note, message, tmp_path):
    model = regressor()
    model.save(tmp_path / "m", note={"offset": 1})
    with pytest.raises((ValueError, TypeError), match=message):
        model.save(tmp_path / "m", note=note)
    assert ks.load(tmp_path / "m").note_ == {"offset": 1} == model.note_


def test_a_nested_note_is_bounded(tmp_path):
    note = {}
    for _ in range(40):
        note = {"a": note}
    with pytest.raises(ValueError, match="nested deeper than 32"):
        regressor().save(tmp_path / "m", note=note)


def test_numbers_of_numpy_and_tuples_are_plain_again(tmp_path):
    regressor().save(tmp_path / "m", note={"n": np.int64(5), "x": np.float64(0.1), "t": (1, True)})
    assert ks.load(tmp_path / "m").note_ == {"n": 5, "x": 0.1, "t": [1, True]}


def test_a_note_goes_with_the_rows_it_is_about(tmp_path):
    model = regressor()
    model.save(tmp_path / "m", note=NOTE)
    assert model.partial_fit(X, Y).note_ == NOTE
    assert model.fit(X, Y).note_ is None
    ridge = ks.KernelRegressor(learner=ks.Ridge()).fit(X, Y)
    ridge.save(tmp_path / "m", note=NOTE)
    with pytest.raises(ValueError, match="NaN"):
        ridge.fit(np.full_like(X, np.nan), Y)
    assert ridge.note_ == NOTE
    assert ks.KernelRegressor(learner=ks.Ridge()).merge(ridge).note_ is None
    assert ridge.freeze_dictionary().note_ is None


def test_a_note_is_under_the_checksum(tmp_path):
    regressor().save(tmp_path / "m", note={"offset": "alpha"})
    content = (tmp_path / "m").read_bytes()
    (tmp_path / "m").write_bytes(content.replace(b"alpha", b"omega"))
    with pytest.raises(ks.ModelFileError, match=r"damaged|checksum"):
        ks.load(tmp_path / "m")


def test_a_file_written_from_rust_has_a_note(tmp_path):
    path = str(tmp_path / "m")
    regressor()._core.save(path, json.dumps({"note": NOTE}))
    assert ks.load(path).note_ == NOTE
    core, extra = _core.Regressor.load(path)
    assert json.loads(extra)["note"] == NOTE
    core.save(path, json.dumps({"note": "text"}))
    with pytest.raises(ks.ModelFileError, match="note"):
        ks.load(path)


def test_the_command_line_shows_the_note(tmp_path):
    regressor().save(tmp_path / "m", note=NOTE)

    def info(*options):
        command = [sys.executable, "-m", "kernelstream", "info", str(tmp_path / "m"), *options]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert json.loads(info("--json"))["note"] == NOTE
    assert '"offsets": {"0": 9007199254740993, "1": 0}' in info()
