"""Model files with a right checksum whose description of the estimator is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import kernelstream as ks
from kernelstream.cli.running.progress import Progress
from modelbytes import pack, unpack
from realdata import random_stream


@pytest.fixture
def altered(tmp_path):
    """Give a function that writes a file of a classifier with a changed configuration."""
    X, y = random_stream(50, 3)
    labels = np.array(["salé", "sour", "sweet"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    ks.KernelClassifier(ks.Gaussian(0.8), ks.ALD(1e-1, 20)).fit(X, labels).save(tmp_path / "model")

    def write(part, change):
        config, arrays = unpack((tmp_path / "model").read_bytes())
        config[part] |= change
        (tmp_path / "altered").write_bytes(pack(config, arrays))
        return tmp_path / "altered"

    return write


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("spec", {"labels": {"classes": [["salé"], "sour"], "link": None, "weights": "equal"}}),
        ("spec", {"labels": {"classes": ["sour"], "link": None, "weights": "equal"}}),
        ("extra", {"params": None}),
        ("extra", {"classes": None}),
        ("extra", {"classes": {"dtype": "<V3"}}),
    ],
)
def test_a_wrong_description_is_refused(part, change, altered):
    with pytest.raises(ks.ModelFileError):
        ks.load(altered(part, change))


def test_labels_take_the_memory_of_their_letters(altered):
    classes = {"dtype": "<U400000000"}
    assert ks.load(altered("extra", {"classes": classes})).classes_.nbytes == 3 * 4 * 5


@pytest.mark.parametrize(
    "mark",
    [
        {"head": 2**40},
        {"head": -1},
        {"head": 1.5},
        {"head": None},
        {"rows": "many"},
        {"size": "large"},
        {"digest": 7},
        {"other": 1},
    ],
)
def test_a_note_of_the_command_line_that_it_did_not_write_is_refused(mark, tmp_path):
    sound = {"rows": 3, "head": 100, "digest": "abc", "size": 100}
    note = {"files": {"table.csv": sound}, "options": {}, "rows": 3}
    assert Progress.from_note(note, tmp_path / "model").rows == 3
    note["files"] = {"table.csv": sound | mark}
    with pytest.raises(ValueError, match="damaged"):
        Progress.from_note(note, tmp_path / "model")


@pytest.mark.parametrize("part", [{"rows": -1}, {"skipped": None}, {"options": 3}, {"error": "x"}])
def test_a_damaged_note_is_refused(part, tmp_path):
    note = {"files": {}, "options": {}, "rows": 3} | part
    with pytest.raises(ValueError, match="damaged"):
        Progress.from_note(note, tmp_path / "model")


def test_a_file_with_very_many_horizons_is_refused_before_they_are_made(tmp_path):
    path = tmp_path / "model"
    ks.Forecaster([1]).fit(np.random.default_rng(0).normal(size=(30, 1))).save(path)
    config, arrays = unpack(path.read_bytes())
    config["spec"]["horizons"] = list(range(1, 100_001))
    path.write_bytes(pack(config, arrays))
    with pytest.raises(ks.ModelFileError, match="at most 1,000"):
        ks.load(path)
    with pytest.raises(ValueError, match="at most 1,000"):
        ks.Forecaster(range(1, 1002)).fit(np.zeros((5, 1)))


def objects(n):
    """Give small objects, each of which takes far more memory than text."""
    return [{"a": 1}] * n


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are read from /proc")
@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("spec", {"model": {"experts": [{}] * 100_000}}),
        ("spec", {"model": {"experts": [{"experts": [{}] * 300}] * 300}}),
        ("spec", {"columns": {"named": [{"name": str(i)} for i in range(100_000)]}}),
        ("spec", {"labels": {"classes": [str(i) for i in range(100_000)]}}),
        ("extra", {"note": {"files": objects(500_000)}}),
        ("extra", {"progress": {"files": objects(500_000)}}),
        ("extra", {"params": {"kernel": [[]] * 500_000}}),
    ],
)
def test_a_file_takes_memory_in_proportion_to_its_length(part, change, altered):
    path = altered(part, change)
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    try:
        ks.load(path)
    except ks.ModelFileError as error:
        assert str(error)
    assert memory("VmHWM") - before <= 10 * path.stat().st_size + 100_000_000


def memory(name):
    """Give a figure of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


WRONG = [None, True, -1, 0, 2**40, 1e300, "", "x" * 50, [], {}, [1, 2], {"a": 1}, "KernelRegressor"]


def alter(value, rng):
    """Change one thing anywhere in JSON."""
    if rng.random() < 0.3 or not isinstance(value, dict | list) or not value:
        return WRONG[rng.integers(len(WRONG))]
    if isinstance(value, list):
        place = int(rng.integers(len(value)))
        return [*value[:place], alter(value[place], rng), *value[place + 1 :]]
    names = list(value)
    name = names[rng.integers(len(names))]
    if rng.random() < 0.1:
        return {other: part for other, part in value.items() if other != name}
    return value | {name: alter(value[name], rng)}


@pytest.fixture(scope="module")
def sound_files(tmp_path_factory):
    """Give what files of several estimators hold."""
    path = tmp_path_factory.mktemp("sound") / "model"
    X, y = random_stream(40, 2)
    models = [
        ks.KernelRegressor(),
        ks.KernelExperts([ks.KernelRegressor(), ks.KernelRegressor()]),
        ks.KernelExperts(size=10),
        ks.KernelClassifier(),
        ks.Koopman(),
        ks.Forecaster([1, 3], period=4),
    ]
    found = []
    for model in models:
        if isinstance(model, ks.Forecaster):
            model.fit(X)
        elif isinstance(model, ks.Koopman):
            model.fit(X[:-1], X[1:])
        else:
            model.fit(X, np.where(y > 0, "a", "b") if hasattr(model, "predict_proba") else y)
        model.save(path)
        found.append(unpack(path.read_bytes()))
    return found


@pytest.mark.filterwarnings("ignore")
def test_altered_descriptions_load_into_estimators_that_work_or_are_refused(sound_files, tmp_path):
    count = int(os.environ.get("KERNELSTREAM_ALTERED", "600"))
    rng, path, loaded = np.random.default_rng(count), tmp_path / "model", 0
    for _ in range(count):
        config, arrays = sound_files[rng.integers(len(sound_files))]
        part = ["extra", "extra", "spec"][rng.integers(3)]
        path.write_bytes(pack(config | {part: alter(config[part], rng)}, arrays))
        try:
            model = ks.load(path)
        except ks.ModelFileError:
            continue
        loaded += 1
        rows = np.zeros((2, getattr(model, "n_features_in_", 2)))
        ask = model.forecast if isinstance(model, ks.Forecaster) else model.predict
        try:
            answer = np.asarray(ask(rows))
        except (TypeError, ValueError):
            # As after `set_params` with such a parameter on a fitted model.
            continue
        assert answer.dtype.kind != "f" or np.isfinite(answer).all()
    assert 0 < loaded < count
