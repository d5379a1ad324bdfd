"""FORKS and SkeGD against versions written out from their papers, and the basis they stand on."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import kernelstream as ks
import reference as ref
import reference_sketched as slow
from realdata import real_stream, table

SIZES = {"size": 24, "sketch_size": 16, "landmarks": 7, "rank": 6, "period": 50}


def labelled(name="elevators_raw", n_rows=600, seed=0):
    """Rows and labels of 1 and -1, some of them wrong."""
    X, y = real_stream(name, n_rows, seed)
    rng = np.random.default_rng(seed)
    flip = rng.random(n_rows) < 0.1
    return X + 1e-3 * rng.normal(size=X.shape), np.where((y > np.median(y)) ^ flip, 1.0, -1.0)


def said(model, X, y):
    """Forecasts before learning, through single rows."""
    out = np.zeros(len(y))
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        if t > 0:
            out[t] = model.decision_function(x[np.newaxis])[0]
        model.learn_one(x, label, classes=[-1.0, 1.0] if t == 0 else None)
    return out


@pytest.mark.parametrize("second_order", [True, False])
@pytest.mark.parametrize("blocks", [1, 4])
def test_forks_and_skegd_equal_their_published_algorithms(second_order, blocks):
    """With rank + 10 = 16 columns the truncated decomposition is the whole one, hence exact."""
    X, y = labelled()
    make = ks.presets.forks if second_order else ks.presets.skegd
    model = make(ks.Gaussian(1.0), blocks=blocks, random_state=5, **SIZES)
    expected, stored = slow.predictions(
        ref.gaussian(1.0),
        X,
        y,
        size=SIZES["size"],
        width=SIZES["sketch_size"],
        landmarks=SIZES["landmarks"],
        rank=SIZES["rank"],
        blocks=blocks,
        period=SIZES["period"],
        second_order=second_order,
        seed=5,
    )
    scale = np.abs(expected).max()
    np.testing.assert_allclose(said(model, X, y), expected, rtol=0, atol=1e-6 * max(scale, 1.0))
    np.testing.assert_array_equal(model.dictionary_, X[stored])
    assert len(stored) > SIZES["size"] + 5
    # The condition is that of the explicit matrix.
    points, first = X[stored], SIZES["size"]
    K = ref.gaussian(1.0)(points, points)
    S = slow.transform(len(stored), SIZES["sketch_size"], blocks, 5)
    chosen = slow.sample(first, SIZES["landmarks"], 5 ^ 0x6C616E646D61726B)
    np.testing.assert_allclose(model.condition_, np.linalg.cond(S.T @ K[:, chosen]), rtol=1e-6)


def test_constants_are_those_of_the_paper():
    forks, skegd = ks.presets.forks(), ks.presets.skegd()
    assert forks.basis == skegd.basis == ks.Sketched(100)
    assert forks.learner == ks.Staged()
    assert forks.learner.first == skegd.learner
    assert (forks.learner.first.step, forks.learner.first.regularization) == (0.2, 0.01)
    assert (forks.learner.then.regularization, forks.learner.then.curvature) == (0.01, 0.5)
    X, y = labelled(n_rows=400)
    model = forks.partial_fit(X, y, classes=[-1, 1])
    assert model.condition_ > 1.0
    # With stored points, a lower bound on that of their Gram matrix.
    stored = ks.KernelClassifier(ks.Gaussian(1.0), ks.ALD(1e-3), scale=False).fit(X, y)
    condition = np.linalg.cond(ref.gaussian(1.0)(stored.dictionary_, stored.dictionary_))
    assert 0.3 * condition < stored.condition_ < 1.01 * condition
    # Ten features of a hundred points.
    assert model.n_stored_ == 100
    assert model.transform(X).shape == (400, 10)


@pytest.mark.parametrize("make", [ks.presets.forks, ks.presets.skegd])
def test_any_chunks_copies_and_files_lead_to_the_same_place(make, tmp_path):
    X, y = labelled(n_rows=500)
    model = make(ks.Gaussian(1.0), **SIZES)
    whole = clone(model).partial_fit_predict(X, y, classes=[-1, 1])
    chunked = clone(model)
    parts = []
    for start in range(0, 500, 37):
        rows = slice(start, start + 37)
        parts.append(chunked.partial_fit_predict(X[rows], y[rows], classes=[-1, 1]))
        if start % 3 == 0:
            chunked = pickle.loads(pickle.dumps(chunked))
        else:
            chunked.save(tmp_path / "model")
            chunked = ks.load(tmp_path / "model")
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert isinstance(chunked.basis, ks.Sketched)
    assert chunked.learner == model.learner


def test_features_approximate_the_kernel_that_they_sketch():
    table("elevators_raw")  # its spectrum decays, which others need not
    X, y = labelled(n_rows=1500)
    basis = ks.Sketched(100, 100, 60, 40, period=None)
    model = ks.KernelClassifier(ks.Gaussian(2.0), basis, ks.Staged(), scale=False)
    model.partial_fit(X, y, classes=[-1, 1])
    phi = model.transform(X[-200:])
    K = ref.gaussian(2.0)(X[-200:], X[-200:])
    assert np.linalg.norm(phi @ phi.T - K) < 0.2 * np.linalg.norm(K)


@pytest.mark.parametrize("basis", [ks.Sketched(20, period=50), ks.Fourier(5), ks.ALD()])
def test_every_coordinate_has_a_name(basis):
    X, y = labelled(n_rows=200)
    model = ks.KernelClassifier(ks.Gaussian(1.0), basis, ks.Gradient("hinge"), scale=False).fit(
        X, y
    )
    assert len(model.get_feature_names_out()) == model.transform(X[:1]).shape[1]


def test_points_stop_at_the_given_size():
    X, y = labelled()
    stopped = ks.presets.forks(ks.Gaussian(1.0), **(SIZES | {"max_size": 26}))
    assert stopped.partial_fit(X, y, classes=[-1, 1]).n_stored_ == 26
    none = ks.presets.forks(ks.Gaussian(1.0), **(SIZES | {"period": None}))
    assert none.partial_fit(X, y, classes=[-1, 1]).n_stored_ == 24


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"size": 0}, "size must be at least 1"),
        ({"rank": 101}, "rank must be from 1 to sketch_size"),
        ({"landmarks": 0}, "landmarks must be from 1 to size"),
        ({"blocks": 3}, "blocks must be a divisor"),
        ({"period": 0}, "period must be at least 1"),
        ({"max_size": 50}, "max_size must be at least size"),
    ],
)
def test_bad_sizes_are_refused_at_once(parameters, words):
    with pytest.raises(ValueError, match=words):
        ks.Sketched(**parameters)


def test_bad_stages_are_refused_at_once():
    with pytest.raises(ValueError, match="a stage cannot consist of stages"):
        ks.Staged(ks.Staged())
    with pytest.raises(TypeError, match="then must be a learner"):
        ks.Staged(ks.Ridge(), 3)


def test_a_bad_row_in_any_stage_changes_nothing():
    X, y = labelled(n_rows=300)
    model = ks.presets.forks(ks.Gaussian(1.0), **SIZES)
    bad = X.copy()
    bad[290, 2] = np.nan
    for rows in (slice(0, 10), slice(10, 280)):
        model.partial_fit(X[rows], y[rows], classes=[-1, 1])
        before = model._core.to_bytes()
        with pytest.raises(ValueError, match="row 290, column 2"):
            model.partial_fit(bad, y)
        assert model._core.to_bytes() == before


def test_several_classes_share_the_features():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, size=(3000, 2))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.4, 0.4])
    model = ks.presets.forks(ks.Gaussian(1.0), 60, rank=20, landmarks=30, period=1000)
    wrong = model.partial_fit_predict(X, y, classes=[0, 1, 2]) != y
    assert wrong[2000:].mean() < 0.15
    assert model.decision_function(X[:5]).shape == (5, 3)
