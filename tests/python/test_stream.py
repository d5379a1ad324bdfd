"""A stream is a stream, however it is cut; and the same stream gives the same model."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelstream as ks
from modelbytes import unpack
from realdata import random_stream, real_stream

LEARNERS = [
    ks.Ridge(),
    ks.Ridge(forgetting=0.99, prediction="awv"),
    ks.Gradient(step=None, schedule="adaptive"),
    ks.Gradient("absolute", 0.1, "inverse_sqrt", averaging=True),
    ks.OnlineNewton(),
    ks.OnlineNewton(growth="restart"),
    ks.GaussNewton(loss="squared", center=True),
    ks.GaussNewton(loss={"huber": 0.3}),
]
BASES = [
    ks.ALD(1e-2),
    ks.ALD(1e-3, max_size=12),
    # Below this floor coordinates are too near rounding to compare to ten digits; of KORS, too.
    ks.ALD(1e-5, max_size=None),
    ks.NoisyPoints(0.1, max_size=100),
    ks.NoisyPoints(0.1, loss_driven=True),
    ks.FirstPoints(15),
    ks.FirstPoints(15, rank=4),
    ks.KORS(0.5, random_state=3),
    ks.Taylor(3),
    ks.Fourier(7),
    ks.Sketched(15, landmarks=8, rank=4, period=40),
]


def assert_same_state(model, other, tolerance=1e-10):
    (config, arrays), (_, others) = unpack(model._core.to_bytes()), unpack(other._core.to_bytes())
    assert model._core.spec == other._core.spec, config
    for name, array in arrays.items():
        if array.dtype.kind == "u":
            np.testing.assert_array_equal(array, others[name], err_msg=name)
        else:
            scale = max(1.0, np.abs(array).max(initial=0.0))
            np.testing.assert_allclose(
                array, others[name], rtol=0, atol=tolerance * scale, err_msg=name
            )


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@given(
    basis=st.sampled_from(BASES),
    n_rows=st.integers(1, 300),
    cuts=st.lists(st.integers(0, 300), max_size=8),
    n_targets=st.integers(1, 3),
    repeats=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=40)
def test_any_chunking_gives_the_same_state(learner, basis, n_rows, cuts, n_targets, repeats, seed):
    X, y = random_stream(n_rows, 2, seed)
    if repeats:
        X = np.round(X, 1)
    targets = np.column_stack([y, *(X[:, :1] * k for k in range(1, n_targets))])
    whole = ks.KernelRegressor(ks.Gaussian(0.7), basis, learner, scale=False)
    predictions = whole.partial_fit_predict(X, targets)
    parts = ks.KernelRegressor(ks.Gaussian(0.7), basis, learner, scale=False)
    edges = sorted({0, n_rows, *(min(cut, n_rows) for cut in cuts)})
    pieces = [
        parts.partial_fit_predict(X[start:stop], targets[start:stop])
        for start, stop in itertools.pairwise(edges)
    ]
    assert_same_state(whole, parts)
    np.testing.assert_array_equal(whole.dictionary_, parts.dictionary_)
    np.testing.assert_allclose(np.vstack(pieces), predictions, rtol=0, atol=1e-9)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_points_near_rounding_are_the_same_in_any_chunking(learner):
    X, y = random_stream(250, 2, 5)
    whole = ks.KernelRegressor(ks.Gaussian(0.7), ks.AllPoints(), learner, scale=False)
    parts = ks.KernelRegressor(ks.Gaussian(0.7), ks.AllPoints(), learner, scale=False)
    predictions = whole.partial_fit_predict(X, y)
    singly = [parts.partial_fit_predict(X[i : i + 1], y[i : i + 1]) for i in range(len(X))]
    np.testing.assert_array_equal(whole.dictionary_, parts.dictionary_)
    np.testing.assert_allclose(np.concatenate(singly), predictions, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_row_by_row_is_the_same_as_all_at_once(learner):
    X, y = real_stream("cpusmall", 1000)
    whole = ks.KernelRegressor(ks.Gaussian(4.0), ks.ALD(1e-3), learner, scale=False).partial_fit(
        X, y
    )
    blocks = ks.KernelRegressor(ks.Gaussian(4.0), ks.ALD(1e-3), learner, scale=False)
    for start in range(0, 1000, 100):
        blocks.partial_fit(X[start : start + 100], y[start : start + 100])
    rows = ks.KernelRegressor(ks.Gaussian(4.0), ks.ALD(1e-3), learner, scale=False)
    for x, target in zip(X, y, strict=True):
        rows.learn_one(x, target)
    assert_same_state(whole, blocks)
    assert_same_state(whole, rows)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_the_same_stream_gives_the_same_bytes(learner):
    X, y = random_stream(500, 4)
    models = [ks.KernelRegressor(learner=learner, scale=False).partial_fit(X, y) for _ in range(2)]
    assert models[0]._core.to_bytes() == models[1]._core.to_bytes()


def test_cost_and_memory_do_not_grow_with_the_rows_seen():
    model = ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-2), scale=False)
    X, y = random_stream(20_000, 2)
    model.partial_fit(X[:10_000], y[:10_000])
    stored, size = model.n_stored_, len(model._core.to_bytes())
    model.partial_fit(X[10_000:], y[10_000:])
    assert model.n_stored_ == stored
    assert abs(len(model._core.to_bytes()) - size) < 64


def test_max_size_holds_and_learning_continues():
    X, y = random_stream(2000, 3)
    model = ks.KernelRegressor(ks.Gaussian(0.5), ks.ALD(1e-3, max_size=30), scale=False)
    model.partial_fit(X[:500], y[:500])
    assert model.n_stored_ == 30
    early = np.mean((model.predict(X) - y) ** 2)
    model.partial_fit(X[500:], y[500:])
    assert model.n_stored_ == 30
    assert np.mean((model.predict(X) - y) ** 2) < early


def test_one_row_predictions_are_those_of_many(model, stream):
    X, _ = stream
    many = model.predict(X[:50])
    one = [model.predict_one(x) for x in X[:50]]
    np.testing.assert_allclose(one, many, rtol=0, atol=1e-12)
    assert isinstance(one[0], float)
    assert model.predict_one(list(X[0])) == one[0]
    assert model.predict_one(X[0, ::-1][::-1]) == one[0]


def test_one_row_of_several_targets(stream):
    X, y = stream
    model = ks.KernelRegressor(scale=False)
    for x, target in zip(X[:50], y[:50], strict=True):
        model.learn_one(x, [target, -target])
    assert model.n_outputs_ == 2
    assert model.predict_one(X[0]).shape == (2,)
    assert model.predict(X[:3]).shape == (3, 2)


def test_a_model_begun_with_one_row_continues_with_many(stream):
    X, y = stream
    model = ks.KernelRegressor(scale=False)
    model.learn_one(X[0], y[0])
    model.partial_fit(X[1:], y[1:])
    assert model.n_features_in_ == 3
    assert_same_state(model, ks.KernelRegressor(scale=False).fit(X, y))
    assert model.predict(X[:3]).shape == (3,)
