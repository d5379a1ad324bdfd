"""The same rows give the same model to the bit, whoever asks it meanwhile, wherever calls pause."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import kernelstream as ks
from kernelstream import _core
from realdata import random_stream

X, Y = random_stream(2500, 3)
GAPS = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
STORED = {"kernel": ks.Gaussian(0.5), "basis": ks.ALD(1e-3, max_size=60)}


# Defaults on short streams, some of which predict no better than the mean.
pytestmark = pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")


def rows(model, X=X):
    return model.partial_fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:])


def table(model):
    return model.partial_fit(GAPS[:30], Y[:30, None]).partial_fit(GAPS[30:], Y[30:, None])


def pairs(model):
    return model.partial_fit(X[:30], X[1:31]).partial_fit(X[30:-1], X[31:])


CASES = {
    "stored points": (ks.KernelRegressor(**STORED, scale=False), rows),
    "points to the end": (ks.KernelRegressor(ks.Gaussian(0.1), ks.ALD(0.3), scale=False), rows),
    "rows remembered": (
        ks.KernelRegressor(**STORED, learner=ks.Ridge(history="reservoir"), scale=False),
        rows,
    ),
    "gradients": (ks.KernelRegressor(**STORED, learner=ks.Gradient(step=0.1), scale=False), rows),
    "a sketch": (
        ks.KernelRegressor(ks.Gaussian(0.5), ks.Sketched(15, landmarks=8, rank=4), scale=False),
        rows,
    ),
    "a budget": (
        ks.KernelRegressor(ks.Gaussian(0.5), learner=ks.BudgetedGradient(), scale=False),
        rows,
    ),
    "experts": (
        ks.KernelExperts(
            [ks.KernelRegressor(ks.Gaussian(w), scale=False) for w in (0.3, 1.0)], scale=False
        ),
        rows,
    ),
    "a warm-up": (ks.KernelRegressor(**STORED, n_warm_up=600), rows),
    "sparse rows": (
        ks.KernelRegressor(**STORED, scale=False),
        lambda model: rows(model, csr_array(X)),
    ),
    "gaps": (ks.KernelRegressor(missing="fill"), table),
    "pairs": (ks.Koopman(**STORED), pairs),
    "trajectories": (ks.Koopman(**STORED, lag=3), lambda model: model.partial_fit_trajectory(X)),
    "a replay buffer": (
        ks.Koopman(**STORED, learner=ks.Replay(ks.Gradient(), 100, random_state=0)),
        pairs,
    ),
}


@pytest.fixture
def pausing():
    """Calls pause as often as they can, as before a Ctrl-C that never comes."""
    yield lambda: _core.interrupt_after(2**32 - 1)
    _core.interrupt_after(None)


@pytest.mark.parametrize("case", CASES)
def test_where_a_call_pauses_changes_no_bit(case, pausing):
    model, learn = CASES[case]
    whole = learn(clone(model))
    pausing()
    assert learn(clone(model))._core.to_bytes() == whole._core.to_bytes()


def test_concurrent_queries_change_no_bit():
    X, y = random_stream(20_000, 5)
    models = [
        ks.KernelRegressor(ks.Gaussian(0.5), ks.ALD(1e-6, max_size=300), scale=False)
        for _ in range(2)
    ]
    models[0].partial_fit(X[:9], y[:9]).partial_fit(X[9:], y[9:])
    learner = threading.Thread(
        target=models[1].partial_fit(X[:9], y[:9]).partial_fit, args=(X[9:], y[9:])
    )
    learner.start()
    asked = 0
    while learner.is_alive():
        asked += bool(np.isfinite(models[1].predict_one(X[0])))
    assert asked > 1
    assert models[0]._core.to_bytes() == models[1]._core.to_bytes()
