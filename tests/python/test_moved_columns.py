"""Columns that leave the range of the warm-up: row numbers, times, sorted tables."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import kernelstream as ks
import modelbytes
from kernelstream.exceptions import MovedColumnsWarning

N = 3000


def smooth(seed=0, n=N):
    """A function of two columns, and rows of it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n)


RISING = {
    "row number": np.arange(N),
    "row number from a million": 1e6 + np.arange(N),
    "falling": -np.arange(N),
    "epoch seconds": 1.6e9 + 3600.0 * np.arange(N),
    "year": 1990 + np.arange(N) // 100,
    "random walk": np.cumsum(np.random.default_rng(1).normal(size=N)),
    "growing": np.random.default_rng(2).normal(size=N) * np.exp(np.arange(N) / 1000),
}


def relative(model, X, y):
    return np.mean((model.predict(X) - y) ** 2) / np.var(y)


@pytest.mark.parametrize("name", RISING)
def test_a_column_that_moves_does_not_ruin_a_plain_model(name):
    X, y = smooth()
    X = np.c_[X, RISING[name]]
    held_out = np.arange(N) % 5 == 0
    model = ks.KernelRegressor()
    with pytest.warns(MovedColumnsWarning, match=r"column 2 has left the range"):
        predicted = model.partial_fit_predict(X[~held_out], y[~held_out])
    without = ks.KernelRegressor().partial_fit_predict(X[~held_out, :2], y[~held_out])
    late = y[~held_out][-500:]
    scale = np.var(y)
    # An irrelevant column costs something at any scale.
    assert np.mean((predicted[-500:] - late) ** 2) < 0.25 * scale
    assert np.mean((without[-500:] - late) ** 2) < 0.05 * scale
    assert relative(model, X[held_out], y[held_out]) < 0.2
    assert model.diagnostics_.moved_columns == (2,)
    assert "moved columns" in repr(model.diagnostics_)
    assert model.n_seen_ == np.sum(~held_out)


@pytest.mark.parametrize("order", ["column 0", "column 1", "target", "blocks"])
def test_tables_in_an_order_are_as_good_as_shuffled(order):
    X, y = smooth()
    X = X * [1.0, 50.0] + [0.0, 7.0]
    y = y + X[:, 0]
    by = {"column 0": X[:, 0], "column 1": X[:, 1], "target": y}
    by["blocks"] = (
        np.digitize(X[:, 0], [-0.7, 0, 0.7]) + np.random.default_rng(0).integers(0, 2, N) / 2
    )
    Z, z = X[::5], y[::5]
    X, y, key = (np.delete(a, np.s_[::5], 0) for a in (X, y, by[order]))
    places = np.argsort(key, kind="stable")
    with warnings.catch_warnings(action="ignore"):
        model = ks.KernelRegressor().partial_fit(X[places], y[places])
        shuffled = ks.KernelRegressor().partial_fit(X, y)
    assert relative(model, Z, z) < 2 * relative(shuffled, Z, z) + 0.01


def test_rows_in_no_order_are_scaled_once():
    rng = np.random.default_rng(3)
    X = np.c_[
        rng.normal(size=N),
        rng.standard_t(2, size=N),
        np.exp(2 * rng.normal(size=N)),
        rng.random(N) < 0.004,
        rng.random(N) < 0.3,
        np.full(N, 5.0),
    ]
    y = X[:, 0] + 0.1 * rng.normal(size=N)
    with warnings.catch_warnings(action="error", category=MovedColumnsWarning):
        model = ks.KernelRegressor().partial_fit(X, y)
    assert model.diagnostics_.moved_columns == ()


def moved(n=N):
    X, y = smooth(4, n)
    X = np.c_[X, np.arange(n)]
    return X, y


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_any_cut_of_the_stream_gives_the_same_model():
    X, y = moved(2100)
    weights = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0)
    models = []
    for cut in ([2100], [100] * 21, [999, 1, 1, 1099], [500, 500, 1000, 100]):
        model = ks.KernelRegressor()
        for rows in np.split(np.arange(2100), np.cumsum(cut)[:-1]):
            model.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
        models.append(model)
    ends = [model.predict(X[::9]) for model in models]
    for other in ends[1:]:
        np.testing.assert_allclose(other, ends[0], rtol=0, atol=1e-9)
    assert {model.n_seen_ for model in models} == {2100}


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_row_by_row_is_the_same():
    X, y = moved(2050)
    model = ks.KernelRegressor().partial_fit(X, y)
    live = ks.KernelRegressor().partial_fit(X[:990], y[:990])
    for x, target in zip(X[990:], y[990:], strict=True):
        live.learn_one(x, target)
    np.testing.assert_allclose(live.predict(X[::9]), model.predict(X[::9]), atol=1e-9)
    assert live.n_seen_ == model.n_seen_ == 2050


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("stop", [600, 999, 1000, 1001, 1500, 2000, 2040])
def test_a_saved_model_continues_to_the_same_bits(tmp_path, stop):
    X, y = moved(2100)
    frame = pd.DataFrame(X, columns=["a", "b", "row"])
    model = ks.KernelRegressor().partial_fit(frame[:stop], y[:stop])
    model.save(tmp_path / "m")
    copies = [ks.load(tmp_path / "m"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    model.partial_fit(frame[stop:], y[stop:])
    for other in copies:
        other.partial_fit(frame[stop:], y[stop:])
        np.testing.assert_array_equal(other.predict(frame), model.predict(frame))
        assert other.diagnostics_.moved_columns == ("row",)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("stop", [998, 999, 1000, 1400])
def test_a_refused_row_leaves_the_model_as_it_was(stop):
    X, y = moved(1500)
    model = ks.KernelRegressor().partial_fit(X[:stop], y[:stop])
    before = pickle.dumps(model)
    bad = X[stop:].copy()
    bad[-1, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        model.partial_fit(bad, y[stop:])
    assert pickle.dumps(model) == before


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_classes_keep_their_counts_and_record():
    X, y = moved()
    labels = np.where(y > 0, "up", "down")
    model = ks.KernelClassifier().partial_fit(X, labels, classes=["down", "up"])
    assert model.n_seen_ == N
    assert model.diagnostics_.rows == N - 1 or model.diagnostics_.rows == N
    assert model.diagnostics_.moved_columns == (2,)
    assert np.mean(model.predict(X[-600:]) == labels[-600:]) > 0.85


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_categories_that_come_later_are_distinguished():
    rng = np.random.default_rng(5)
    first, later = rng.choice(["a", "b"], 600), rng.choice(["a", "b", "c", "d", "e"], 1800)
    kind = np.concatenate([first, later])
    value = pd.Series(kind).map({"a": 0.0, "b": 1.0, "c": -4.0, "d": 4.0, "e": 9.0}).to_numpy()
    frame = pd.DataFrame({"kind": kind, "x": rng.normal(size=len(kind))})
    y = value + 0.1 * rng.normal(size=len(kind))
    model = ks.KernelRegressor().partial_fit(frame, y)
    assert relative(model, frame[-300:], y[-300:]) < 0.01
    assert model.diagnostics_.moved_columns == ("kind",)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_a_frozen_model_keeps_its_scale():
    X, y = moved()
    model = ks.KernelRegressor().partial_fit(X[:700], y[:700])
    model.freeze_dictionary()
    parts = [copy.deepcopy(model).partial_fit(X[k::2], y[k::2]) for k in range(2)]
    merged = parts[0].merge(parts[1])
    assert merged.diagnostics_.moved_columns == ()


def test_experts_follow_by_themselves():
    X, y = moved(1200)
    with warnings.catch_warnings(action="error", category=MovedColumnsWarning):
        model = ks.KernelExperts().partial_fit(X, y)
    assert model.diagnostics_.moved_columns == ()


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("count", [0, 7, 2**53 + 1, 2**63, 2**64 - 1])
def test_counts_of_rows_that_no_stream_has_are_refused(tmp_path, count):
    X, y = moved(1300)
    ks.KernelRegressor().partial_fit(X, y).save(tmp_path / "m")
    config, arrays = modelbytes.unpack((tmp_path / "m").read_bytes())
    for name in ("sample.counted", "sample.refitted"):
        changed = arrays | {name: np.full_like(arrays[name], count)}
        (tmp_path / "bad").write_bytes(modelbytes.pack(config, changed))
        if name == "sample.refitted" and count < 2**53:
            assert ks.load(tmp_path / "bad").n_seen_ <= 1300
            continue
        with pytest.raises(ks.ModelFileError, match="sample"):
            ks.load(tmp_path / "bad")


@pytest.mark.parametrize("rises", [False, True])
def test_the_warning_advises_what_fits_its_cause(rises):
    X, y = smooth()
    # Categories in no order, many of them for the first time after a short warm-up.
    level = np.random.default_rng(0).integers(60, size=N)
    rows = pd.DataFrame(X, columns=["a", "b"]).assign(shop=[f"k{k}" for k in level])
    if rises:
        rows["number"] = np.arange(N)
    model = ks.KernelRegressor(n_warm_up=20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.partial_fit(rows, y)
    found = [str(one.message) for one in caught if one.category is MovedColumnsWarning]
    assert len(found) == 1
    assert "column 'shop' has categories that the rows before had not" in found[0]
    assert ("column 'number' has left the range of the rows before" in found[0]) == rises
    assert ("a row number is best left out" in found[0]) == rises
    assert ("else nothing is to be done" in found[0]) != rises
