"""Streams whose level wanders while the columns do not, and tables in an order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import kernelstream as ks


def wandering(seed: int, n: int, column: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    if column:
        X[:, 4] = 20.0 + np.cumsum(0.2 * rng.normal(size=n))
    level = np.cumsum(0.3 * rng.normal(size=n))
    return X, 2 * X[:, 0] + X[:, 1] + level + 0.2 * rng.normal(size=n)


@pytest.mark.parametrize("column", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_next_rows_are_predicted_at_the_latest_level(seed, column):
    X, y = wandering(seed, 1010, column)
    model = ks.KernelExperts().partial_fit(X[:1000], y[:1000])
    made = model.predict(X[1000:])
    each = np.array([model.predict_one(x) for x in X[1000:]])
    np.testing.assert_allclose(made, each)
    assert abs(made[0] - y[1000]) < 0.5 * np.std(y)
    assert np.sqrt(np.mean((made - y[1000:]) ** 2)) < 3.0


@pytest.mark.parametrize(
    "order", ["by a column", "by the target", "by a target of noise", "groups"]
)
def test_tables_in_an_order_are_predicted_for_any_row(order):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    y = 2 * X[:, 0] + X[:, 1] + 0.2 * rng.normal(size=2000)
    if order == "by a target of noise":
        y = rng.normal(size=2000)
    held, learned = np.arange(500), np.arange(500, 2000)
    key = X[:, 0] if order == "by a column" else y
    if order == "groups":
        key = np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8]))
    learned = learned[np.argsort(key[learned], kind="stable")]
    model = ks.KernelExperts().partial_fit(X[learned], y[learned])
    error = np.sqrt(np.mean((model.predict(X[held]) - y[held]) ** 2)) / y.std()
    assert error < (1.15 if order == "by a target of noise" else 0.35)


@pytest.mark.parametrize("order", ["random", "rising"])
@pytest.mark.parametrize("classify", [False, True])
@pytest.mark.parametrize("n", [200, 1000, 3000])
def test_a_column_of_times_without_effect_is_not_important(n, classify, order):
    rng = np.random.default_rng(n)
    times = pd.date_range("2024-01-01", periods=n, freq="h").to_series()
    times = times.sample(frac=1, random_state=0) if order == "random" else times
    frame = pd.DataFrame(
        {"when": times.to_numpy(), "a": rng.normal(size=n), "b": rng.normal(size=n)}
    )
    target = 3 * frame.a + np.sin(2 * frame.b) + 0.1 * rng.normal(size=n)
    model = ks.KernelExpertsClassifier() if classify else ks.KernelExperts()
    model.partial_fit(
        frame,
        target > 0 if classify else target,
        **({"classes": [False, True]} if classify else {}),
    )
    when, a, b = model.feature_importances_
    assert when < 0.1
    assert a > 0.7
    assert a > b > 0.0


def test_a_sine_of_whole_periods_is_as_important_as_of_one():
    rng = np.random.default_rng(0)
    hours, rest = np.arange(2000), rng.normal(size=(2000, 2))
    y = 3 * rest[:, 0] + np.sin(2 * rest[:, 1]) + 0.1 * rng.normal(size=2000)
    shares = []
    for hour in (hours, hours % 24):
        X = np.column_stack([np.sin(2 * np.pi * hour / 24), rest])
        model = ks.KernelExperts().partial_fit(X, y)
        assert np.abs(model.gradient(X)[:, 0]).max() < 100.0
        shares.append(model.feature_importances_)
    np.testing.assert_allclose(*shares, atol=0.02)
