"""Refused rows leave no trace, and every state that learns from accepted rows can be read back."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kernelstream as ks

pytestmark = pytest.mark.filterwarnings("ignore")

LEVEL = 300.0


def saved(model, path):
    model.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("how", ["x", "next", "one", "trajectory"])
def test_a_refused_row_leaves_an_operator_of_constant_states_as_it_was(how, bad, tmp_path):
    states = np.full((30, 1), LEVEL)
    model = ks.Koopman().fit(states, states)
    before = saved(model, tmp_path / "model")
    calls = {
        "x": lambda: model.partial_fit([[bad]], [[1.0]]),
        "next": lambda: model.partial_fit([[1.0]], [[bad]]),
        "one": lambda: model.learn_one([bad], [1.0]),
        "trajectory": lambda: model.partial_fit_trajectory([[LEVEL], [bad]]),
    }
    with pytest.raises(ValueError, match=r"contains -?(nan|NaN|inf) at row \d"):
        calls[how]()
    assert saved(model, tmp_path / "model") == before
    assert np.isfinite(model.predict(states[:2])).all()


def test_operators_of_constant_states_learn_what_varies_later(tmp_path):
    states = np.full((30, 1), LEVEL)
    later = LEVEL + np.random.default_rng(0).normal(size=(60, 1))
    one, other = ks.Koopman().fit(states, states), ks.Koopman().fit(states, states)
    with pytest.raises(ValueError, match=r"contains inf at row 0"):
        other.partial_fit([[np.inf]], [[1.0]])
    for model in (one, other):
        model.partial_fit(later[:-1], later[1:])
    assert saved(one, tmp_path / "one") == saved(other, tmp_path / "other")


def targets(kind, n):
    rng = np.random.default_rng(1)
    return {
        "rare ones": (rng.random(n) < 0.003) * 1.0,
        "stuck sensor": np.r_[rng.normal(size=n // 3), np.zeros(n - n // 3)],
        "nearly stuck": np.r_[rng.normal(size=n // 3), 1e-30 * rng.normal(size=n - n // 3)],
        "many scales": np.resize([0.0, 1e-160, 1.0], n),
        "falling": 10.0 ** -np.linspace(0.0, 150.0, n),
        "periodic": np.sin(2.0 * np.pi * np.arange(n) / 24.0),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    ["rare ones", "stuck sensor", "nearly stuck", "many scales", "falling", "periodic"],
)
@pytest.mark.parametrize("order", ["as it comes", "sorted", "shuffled"])
@pytest.mark.parametrize(
    "estimator",
    [ks.KernelRegressor(), ks.KernelExperts([ks.KernelRegressor(), ks.KernelRegressor()])],
    ids=["plain", "experts"],
)
def test_the_state_after_accepted_rows_can_be_read_back_after_every_call(estimator, kind, order):
    n = 600
    y = targets(kind, n)
    y = {"sorted": np.sort(y), "shuffled": np.random.default_rng(2).permutation(y)}.get(order, y)
    X = np.random.default_rng(0).normal(size=(n, 3))
    model = pickle.loads(pickle.dumps(estimator))
    for begin in range(0, n, 50):
        model.partial_fit(X[begin : begin + 50], y[begin : begin + 50])
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X[:5]), model.predict(X[:5]))
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("n", [100, 250, 500])
@pytest.mark.parametrize("kind", ["ramp", "sine", "constant"])
@pytest.mark.parametrize("period", [24, None])
def test_forecasters_of_exactly_periodic_records_can_be_read_back(n, kind, period):
    steps = np.arange(n)
    record = {
        "ramp": steps % 24.0,
        "sine": np.sin(2.0 * np.pi * steps / 24.0),
        "constant": np.full(n, 7.0),
    }[kind]
    model = ks.Forecaster(horizons=[1, 12], period=period).fit(record[:, None])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.forecast(), model.forecast())
