"""Adversarial and ordered streams: what they promise, and that they do hurt whom they should."""

from __future__ import annotations

import numpy as np
import pytest

import kernelstream as ks
import reference as ref
from kernelstream.datasets import adversarial
from realdata import random_stream


def test_sorted_streams_are_the_same_rows_in_order():
    X, y = random_stream(200, 3)
    rows, targets = adversarial.sorted_stream(X, y)
    assert (np.diff(targets) >= 0).all()
    order = np.argsort(y)
    np.testing.assert_array_equal(rows, X[order])
    rows, targets = adversarial.sorted_stream(X, y, by=-1)
    assert (np.diff(rows[:, 2]) >= 0).all()
    np.testing.assert_array_equal(targets, y[np.argsort(X[:, 2])])
    rows, _ = adversarial.sorted_stream(X, y, by=np.zeros(200))
    np.testing.assert_array_equal(rows, X)


def test_flipped_blocks_repeat_a_row_of_the_table():
    X, y = random_stream(50, 2)
    for center in (0.0, 0.5):
        rows, targets = adversarial.block_flips(X, y, 8, 3, center=center, random_state=1)
        assert rows.shape == (24, 2)
        for block in range(8):
            own = rows[3 * block : 3 * block + 3]
            assert (own == own[0]).all()
            (i,) = np.flatnonzero((own[0] == X).all(axis=1))
            expected = y[i] if block % 2 == 0 else 2.0 * center - y[i]
            assert (targets[3 * block : 3 * block + 3] == expected).all()
    assert not np.shares_memory(rows, X)


def test_a_drift_is_found_for_the_true_angle():
    for n_features in (1, 2, 4):
        X, y = adversarial.drifting(400, n_features, period=100.0, noise=0.0, random_state=0)
        assert X.shape == (400, n_features)
        quarter = X[25::100], y[25::100]
        expected = (
            np.cos(np.pi * quarter[0][:, 0])
            if n_features == 1
            else np.sin(np.pi * quarter[0][:, 1])
        )
        np.testing.assert_allclose(quarter[1], expected, atol=1e-12)
    _, noisy = adversarial.drifting(4000, noise=0.3, random_state=0)
    _, clean = adversarial.drifting(4000, noise=0.0, random_state=0)
    assert abs((noisy - clean).std() - 0.3) < 0.02


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
def test_forgetting_pays_on_a_drift():
    X, y = adversarial.drifting(4000, period=1000.0, random_state=3)
    errors = {}
    for forgetting in (1.0, 0.98):
        model = ks.KernelRegressor(
            ks.Gaussian(0.7), ks.ALD(1e-3), ks.Ridge(1e-2, forgetting), scale=False
        )
        errors[forgetting] = np.mean((model.partial_fit_predict(X, y)[1000:] - y[1000:]) ** 2)
    assert errors[0.98] < 0.5 * errors[1.0]


def play(model, n_rounds, seed, **options):
    return adversarial.greedy_adversary(
        model.predict,
        model.learn_one,
        ref.gaussian(1.0),
        n_rounds,
        3,
        random_state=seed,
        **options,
    )


def test_the_regret_is_that_of_the_best_function_in_hindsight():
    game = play(ks.presets.kernel_awv(ks.Gaussian(1.0), 0.5), 25, 0, regularization=0.5)
    assert (np.abs(game.X) <= 1.0).all()
    assert (np.abs(game.y) == 1.0).all()
    again = ks.presets.kernel_awv(ks.Gaussian(1.0), 0.5).partial_fit_predict(game.X, game.y)
    np.testing.assert_allclose(again, game.predictions, atol=1e-9)
    for n in (1, 7, 25):
        X, y = game.X[:n], game.y[:n]
        K = ref.gaussian(1.0)(X, X)
        least = 0.5 * y @ np.linalg.solve(K + 0.5 * np.eye(n), y)
        regret = np.sum((y - game.predictions[:n]) ** 2) - least
        np.testing.assert_allclose(game.regret[n - 1], regret, rtol=1e-9)


def test_the_adversary_finds_worse_rows_than_chance():
    game = play(ks.presets.kernel_awv(ks.Gaussian(1.0), 1.0), 30, 0)
    rng = np.random.default_rng(1)
    X, y = rng.uniform(-1, 1, (30, 3)), rng.choice([-1.0, 1.0], 30)
    predictions = ks.presets.kernel_awv(ks.Gaussian(1.0), 1.0).partial_fit_predict(X, y)
    K = ref.gaussian(1.0)(X, X)
    by_chance = np.sum((y - predictions) ** 2) - y @ np.linalg.solve(K + np.eye(30), y)
    assert game.regret[-1] > 1.2 * by_chance
    assert (np.diff(game.regret) > 0).all()


X, Y = random_stream(10, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: adversarial.block_flips(*random_stream(50, 2), n_blocks=20, random_state=seed),
        lambda seed: adversarial.drifting(20, random_state=seed),
        lambda seed: (play(ks.KernelRegressor(scale=False), 4, seed).X, Y),
    ],
    ids=["block_flips", "drifting", "greedy_adversary"],
)
def test_the_same_seed_gives_the_same_stream(make):
    (rows, y), (again, targets), (other, _) = make(3), make(3), make(4)
    np.testing.assert_array_equal(rows, again)
    np.testing.assert_array_equal(y, targets)
    assert not np.array_equal(rows, other)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: adversarial.sorted_stream(X, Y[:9]), r"\(10,\)"),
        (lambda: adversarial.sorted_stream(X[:, 0], Y), "n_features"),
        (lambda: adversarial.sorted_stream(X, Y, by=2), "got 2"),
        (lambda: adversarial.sorted_stream(X, Y, by=[1.0]), "by has shape"),
        (lambda: adversarial.block_flips(X, Y, 0), "n_blocks must be at least 1, got 0"),
        (lambda: adversarial.block_flips(X, Y, 1, 0), "n_repeats must be at least 1, got 0"),
        (lambda: adversarial.block_flips(X[:0], Y[:0]), "not empty"),
        (lambda: adversarial.drifting(0), "n_rows must be at least 1, got 0"),
        (lambda: adversarial.drifting(5, 0), "n_features must be at least 1, got 0"),
        (lambda: adversarial.drifting(5, period=0.0), "period"),
        (lambda: adversarial.drifting(5, noise=np.nan), "noise"),
        (lambda: play(ks.KernelRegressor(scale=False), 0, 0), "n_rounds must be at least 1, got 0"),
        (
            lambda: play(ks.KernelRegressor(scale=False), 1, 0, n_candidates=0),
            "n_candidates must be at least 1, got 0",
        ),
        (lambda: play(ks.KernelRegressor(scale=False), 1, 0, regularization=0.0), "regularization"),
    ],
)
def test_invalid_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
