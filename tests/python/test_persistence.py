"""Model files, pickles and copies: the same model comes back, and nothing damaged gets in."""

from __future__ import annotations

import copy
import io
import json
import pickle
import struct
import zipfile

import numpy as np
import pandas as pd
import pytest

import kernelstream as ks
from modelbytes import pack, unpack

LEARNERS = [
    ks.Ridge(),
    ks.Ridge(0.0, 1.0, False, False),
    ks.Ridge(forgetting=0.999),
    ks.Ridge(prediction="awv"),
    ks.Gradient(),
    ks.Gradient({"huber": 0.5}, 0.1, "inverse_sqrt", 3.0, 1e-4, averaging=True),
    ks.Gradient(step=None, schedule="adaptive"),
    ks.OnlineNewton(),
    ks.OnlineNewton(growth="restart"),
    ks.OnlineNewton(growth="carry_unprojected", sketch=0.5, random_state=2),
    ks.Ridge(history="reservoir", reservoir=30, random_state=2),
    ks.Ridge(history="exact"),
    ks.GaussNewton(loss="half_squared"),
    ks.GaussNewton(0.1, "squared", 0.999, center=True),
]
BASES = [
    ks.ALD(1e-2),
    ks.ALD(1e-2, max_size=5),
    ks.AllPoints(),
    ks.NoisyPoints(0.2, max_size=150),
    ks.FirstPoints(20),
    ks.ALD(1e-2, loss_driven=True),
    ks.FirstPoints(120, rank=10),
    ks.FirstPoints(30, rank=10),
    ks.Sketched(30, period=25),
    ks.KORS(0.5, random_state=2),
    ks.Taylor(3),
    ks.Fourier(20, random_state=2),
]
WAYS = {
    "file": lambda model, path: (model.save(path), ks.KernelRegressor.load(path))[1],
    "any file": lambda model, path: (model.save(path), ks.load(str(path)))[1],
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "copy": lambda model, _: copy.copy(model),
    "deepcopy": lambda model, _: copy.deepcopy(model),
}


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_round_trip_gives_the_same_model_to_the_bit(way, learner, stream, tmp_path):
    X, y = stream
    model = ks.KernelRegressor(
        0.5 * ks.Gaussian(0.8) + ks.Matern32(), ks.ALD(1e-2), learner, scale=False
    )
    model.partial_fit(X[:200], y[:200])
    again = WAYS[way](model, tmp_path / "model")
    assert again._core.to_bytes() == model._core.to_bytes()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params(deep=False) == model.get_params(deep=False)
    # Learning on gives the same too, and each its own.
    for each in (model, again):
        each.partial_fit(X[200:], y[200:])
    assert again._core.to_bytes() == model._core.to_bytes()
    model.partial_fit(X, y)
    assert (again.n_seen_, model.n_seen_) == (400, 800)


@pytest.mark.parametrize("basis", BASES, ids=repr)
@pytest.mark.parametrize("n_targets", [1, 3])
def test_every_basis_and_number_of_targets_comes_back(basis, n_targets, stream, tmp_path):
    X, y = stream
    targets = np.outer(y, np.arange(1, n_targets + 1))
    model = ks.KernelRegressor(ks.Gaussian(0.8), basis, scale=False).partial_fit(
        X[:100], targets[:100]
    )
    model.save(tmp_path / "model")
    again = ks.load(tmp_path / "model")
    for each in (model, again):
        each.partial_fit(X[100:200], targets[100:200])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_names_and_shape_of_targets_come_back(stream, tmp_path):
    X, y = stream
    frame = pd.DataFrame(X, columns=["a", "ß", "c d"])
    for targets in (y, y[:, None]):
        model = ks.KernelRegressor(verbose=True, scale=False).fit(frame, targets)
        model.save(tmp_path / "model")
        again = ks.load(tmp_path / "model")
        assert list(again.feature_names_in_) == ["a", "ß", "c d"]
        assert again.n_features_in_ == 3
        assert again.verbose is True
        assert again.predict(frame).shape == targets.shape


def test_unfitted_estimators_can_be_pickled():
    model = pickle.loads(pickle.dumps(ks.KernelRegressor(ks.Gaussian(3.0), scale=False)))
    assert model.kernel == ks.Gaussian(3.0)
    assert not hasattr(model, "n_seen_")


def test_a_file_can_be_read_without_the_library(model, tmp_path):
    model.save(tmp_path / "model")
    config, arrays = unpack((tmp_path / "model").read_bytes())
    assert config["version"] == 1
    assert any(np.array_equal(array, model.dictionary_) for array in arrays.values())


def test_a_failed_save_leaves_the_older_file(model, stream, tmp_path):
    path = tmp_path / "model"
    model.save(path)
    before = path.read_bytes()
    with pytest.raises(OSError, match="nowhere"):
        model.save(tmp_path / "nowhere" / "model")
    model.partial_fit(*stream)
    model.save(path)
    assert path.read_bytes() != before
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


# ---------------------------------------------------------------------------------- sizes of files


@pytest.fixture(scope="module")
def experts():
    """Experts with trees after 3,000 rows, of numbers and of labels, and rows that follow."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 8))
    y = 1e3 + np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=4000)
    models = {
        "numbers": ks.KernelExperts(size=20).fit(X[:3000], y[:3000]),
        "labels": ks.KernelExpertsClassifier(size=20).fit(X[:3000], y[:3000] > 1e3),
    }
    return models, X, {"numbers": y, "labels": y > 1e3}


def answers(model, X):
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)


@pytest.mark.parametrize(("kind", "most"), [("numbers", 2.7e6), ("labels", 2.2e6)])
def test_a_file_of_experts_is_small_and_exact(kind, most, experts, tmp_path):
    models, X, targets = experts
    model = copy.deepcopy(models[kind])
    model.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < most
    again = ks.load(tmp_path / "model")
    for rows in (slice(3000, 3250), slice(3250, 3500)):
        np.testing.assert_array_equal(answers(again, X), answers(model, X))
        for each in (model, again):
            each.partial_fit(X[rows], targets[kind][rows])
    assert again._core.to_bytes() == model._core.to_bytes()


@pytest.mark.parametrize(("kind", "share"), [("numbers", 0.75), ("labels", 0.7)])
def test_a_compact_file_predicts_alike_and_learns_on(kind, share, experts, tmp_path):
    models, X, targets = experts
    model = copy.deepcopy(models[kind])
    model.save(tmp_path / "whole")
    model.save(tmp_path / "small", compact=True, note={"kept": 1})
    sizes = [(tmp_path / name).stat().st_size for name in ("whole", "small")]
    assert sizes[1] < share * sizes[0]
    again = ks.load(tmp_path / "small")
    assert again.note_ == {"kept": 1}
    unit = np.std(targets[kind])
    assert np.max(np.abs(answers(again, X) - answers(model, X))) < 1e-6 * unit
    for each in (model, again):
        each.partial_fit(X[3000:3500], targets[kind][3000:3500])
    assert np.max(np.abs(answers(again, X) - answers(model, X))) < 1e-4 * unit


def test_a_failed_compact_save_leaves_the_older_file(model, tmp_path, monkeypatch):
    path = tmp_path / "model"
    model.save(path)
    before = path.read_bytes()
    with pytest.raises(OSError, match="nowhere"):
        model.save(tmp_path / "nowhere" / "model", compact=True)
    assert path.read_bytes() == before
    model.save(path, compact=True)
    assert len(path.read_bytes()) < len(before)
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_a_damaged_compact_file_is_refused(experts, tmp_path):
    path = tmp_path / "model"
    experts[0]["numbers"].save(path, compact=True)
    whole = path.read_bytes()
    for place in np.linspace(0, len(whole) - 1, 40).astype(int):
        path.write_bytes(whole[:place])
        with pytest.raises(ks.ModelFileError):
            ks.load(path)
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        with pytest.raises(ks.ModelFileError):
            ks.load(path)


@pytest.mark.parametrize(
    ("array", "change", "complaint"),
    [
        ("trees.forest.0.cuts", lambda cuts: cuts[:-1], "cuts are not those of a tree"),
        ("trees.forest.0.cuts", np.zeros_like, "cuts are not those of a tree"),
        ("trees.forest.0.columns", lambda columns: columns + 50, "no tree of these rows"),
        ("trees.forest.0.columns", lambda columns: columns[1:], "thresholds"),
        ("trees.forest.0.weights", np.negative, "no tree of these rows"),
        ("trees.forest.0.rounding.sums", lambda _: np.full(9, 255, np.uint8), "one a sum"),
        ("trees.rows.types", lambda types: types + 2, "rows.types"),
        ("trees.rows.types", lambda types: types[1:], "rows.types"),
        ("trees.rows.whole", lambda whole: whole[1:], "rows.whole"),
    ],
)
@pytest.mark.parametrize("compact", [False, True])
def test_altered_trees_and_rows_are_refused(array, change, complaint, compact, experts, tmp_path):
    path = tmp_path / "model"
    experts[0]["numbers"].save(path, compact=compact)
    config, arrays = unpack(path.read_bytes())
    arrays[array] = change(arrays[array])
    path.write_bytes(pack(config, arrays))
    with pytest.raises(ks.ModelFileError, match=complaint):
        ks.load(path)


# ------------------------------------------------------------------------------------ damaged files


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "model")
    return (tmp_path / "model").read_bytes()


@pytest.fixture
def refused(tmp_path):
    """Give a function that checks that bytes are refused in every way of reading them."""

    def check(data, complaint=None):
        path = tmp_path / "damaged"
        path.write_bytes(data)
        for read in (ks.load, ks.KernelRegressor.load):
            with pytest.raises(ks.ModelFileError, match=complaint):
                read(path)
        with pytest.raises(ks.ModelFileError):
            ks._core.Regressor.from_bytes(data)

    return check


def test_the_helper_builds_files_that_load(saved, tmp_path):
    original = ks.load(tmp_path / "model")
    (tmp_path / "model").write_bytes(pack(*unpack(saved)))
    assert ks.load(tmp_path / "model")._core.to_bytes() == original._core.to_bytes()


def test_empty_file(refused):
    refused(b"")


@pytest.mark.parametrize("kept", [1, 7, 8, 9, 100, 0.3, 0.5, 0.9, -1])
def test_truncated_file(kept, saved, refused):
    length = int(kept * len(saved)) if isinstance(kept, float) else kept
    refused(saved[:length])


def test_trailing_bytes(saved, refused):
    refused(saved + b"\0")


def test_flipped_bytes_anywhere(saved, refused):
    rng = np.random.default_rng(0)
    for place in [0, 7, 8, 9, len(saved) - 1, *rng.integers(0, len(saved), 200)]:
        damaged = bytearray(saved)
        damaged[place] ^= 1 << int(rng.integers(8))
        refused(bytes(damaged))


def test_not_a_model_text(refused):
    refused(b"x,y\n1,2\n" * 100)


def test_not_a_model_pickle_is_not_unpickled(refused):
    class Trap:
        def __reduce__(self):
            return exec, ("raise SystemExit('unpickled')",)

    refused(pickle.dumps(Trap()))


def test_not_a_model_zip(refused):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", "b")
    refused(buffer.getvalue())


def test_wrong_magic_another_safetensors_file(refused):
    header = json.dumps({"__metadata__": {"format": "pt"}}).encode()
    refused(struct.pack("<Q", len(header)) + header, "kernelstream")


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 2**40, 100_000_001])
def test_huge_header_length(length, saved, refused):
    refused(struct.pack("<Q", length) + saved[8:])


def test_header_length_past_the_end(saved, refused):
    refused(struct.pack("<Q", len(saved)) + saved[8:])


def test_deeply_nested_header(refused):
    header = b'{"__metadata__": {"kernelstream": ' + b"[" * 100_000 + b"}"
    refused(struct.pack("<Q", len(header)) + header)


def test_deeply_nested_configuration(saved, refused):
    _, arrays = unpack(saved)
    data = pack("MARK", arrays)
    nested = '{"version": 1, "kind": ' + "[" * 10_000 + "}"
    text = json.dumps(nested)[1:-1].encode()
    (length,) = struct.unpack("<Q", data[:8])
    header = data[8 : 8 + length].rstrip().replace(rb"\"MARK\"", text)
    refused(struct.pack("<Q", len(header)) + header + data[8 + length :])


@pytest.mark.parametrize("version", [0, 2, 1000, -1, "1", None])
def test_wrong_version(version, saved, refused):
    config, arrays = unpack(saved)
    refused(pack(config | {"version": version}, arrays), "version|configuration")


def test_the_error_for_a_newer_version_asks_for_an_upgrade(saved, refused):
    config, arrays = unpack(saved)
    refused(pack(config | {"version": 2}, arrays), "version 2.*upgrade")


def test_wrong_kind(saved, refused):
    config, arrays = unpack(saved)
    refused(pack(config | {"kind": "spreadsheet"}, arrays))


@pytest.mark.parametrize("key", ["version", "kind", "spec", "extra"])
def test_missing_configuration(key, saved, refused):
    config, arrays = unpack(saved)
    del config[key]
    refused(pack(config, arrays))


def test_missing_array(saved, refused):
    config, arrays = unpack(saved)
    # Files of earlier models have no sizes of errors by prediction, which then count as equal, and
    # no usual novelty, which then begins at 1 as in new models.
    for name in arrays.keys() - {"calibration.profile", "calibration.novelty"}:
        refused(pack(config, {n: a for n, a in arrays.items() if n != name}))


def test_arrays_of_another_shape(saved, refused):
    config, arrays = unpack(saved)
    for name, array in arrays.items():
        cut = array[:-1] if len(array) > 1 else array[..., :-1]
        if name in ("stream.counts", "noise.rows"):
            cut = array[:0]  # one is how earlier versions have it
        # The smaller array may be right and another then too large.
        refused(
            pack(config, arrays | {name: cut}),
            "basis|learner|stream|noise|calibration|evidence|record|errors",
        )


def test_arrays_of_another_type(saved, refused):
    config, arrays = unpack(saved)
    for name, array in arrays.items():
        other = np.uint64 if array.dtype.kind == "f" else np.float64
        refused(pack(config, arrays | {name: np.zeros(array.shape, other)}), name)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_arrays_with_values_that_are_not_finite(value, saved, refused):
    config, arrays = unpack(saved)
    for name, array in arrays.items():
        if array.dtype.kind == "f" and array.size:
            changed = array.copy()
            changed.flat[-1] = value
            refused(pack(config, arrays | {name: changed}), name)


def test_huge_counts(saved, refused):
    config, arrays = unpack(saved)
    for name, array in arrays.items():
        if array.dtype.kind == "u":
            refused(pack(config, arrays | {name: np.full_like(array, 2**64 - 1)}))


def test_overlapping_arrays(saved, refused):
    (length,) = struct.unpack("<Q", saved[:8])
    header = json.loads(saved[8 : 8 + length])
    for entry in header.values():
        if "data_offsets" in entry:
            size = entry["data_offsets"][1] - entry["data_offsets"][0]
            entry["data_offsets"] = [0, size]
    text = json.dumps(header).encode()
    refused(struct.pack("<Q", len(text)) + text + saved[8 + length :])


@pytest.mark.parametrize(
    "spec",
    [
        None,
        3,
        {"kernel": {"type": "gaussian", "bandwidth": -1.0}},
        {"kernel": {"type": "telepathy"}},
        {"basis": {"type": "ald", "tolerance": 7.0}},
        {"oracle": {"type": "delphi"}},
    ],
)
def test_impossible_configuration(spec, saved, refused):
    config, arrays = unpack(saved)
    changed = config["spec"] | spec if isinstance(spec, dict) else spec
    refused(pack(config | {"spec": changed}, arrays))


def rewritten(saved, **changes):
    config, arrays = unpack(saved)
    return pack(config | {"extra": config["extra"] | changes}, arrays)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"estimator": "Popen"}, "Popen"),
        ({"estimator": ["KernelRegressor"]}, "KernelRegressor"),
        ({"params": {"kernel": {"part": "kernel", "spec": {"type": "evil"}}}}, "evil"),
        ({"params": {"kernel": {"part": "shell", "spec": {}}}}, "shell"),
        ({"params": {"unheard": 1}}, "unheard"),
        ({"params": None}, "KernelRegressor"),
        ({"feature_names": 3}, "KernelRegressor"),
        ({"feature_names": ["a"]}, "3 features"),
    ],
)
def test_bad_description_of_the_estimator(changes, complaint, saved, tmp_path):
    (tmp_path / "bad").write_bytes(rewritten(saved, **changes))
    with pytest.raises(ks.ModelFileError, match=complaint):
        ks.load(tmp_path / "bad")


def test_a_file_written_without_the_package_is_described(model, tmp_path):
    model._core.save(str(tmp_path / "bare"))
    assert ks.load(tmp_path / "bare")._core.spec == model._core.spec
    operator = ks.Koopman().partial_fit(np.eye(3), np.eye(3))
    operator._core.save(str(tmp_path / "bare"))
    with pytest.raises(ks.ModelFileError, match="no estimator"):
        ks.load(tmp_path / "bare")


def test_another_estimators_file(model, tmp_path):
    model.save(tmp_path / "model")
    with pytest.raises(ks.ModelFileError, match="holds a KernelRegressor, not a KernelClassifier"):
        ks.KernelClassifier.load(tmp_path / "model")


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        ks.load(tmp_path / "missing")
    with pytest.raises(OSError, match="directory"):
        ks.load(tmp_path)
