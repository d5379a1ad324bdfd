"""Forecasts of maps, whose next state depends on few earlier ones, with nothing chosen."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import kernelstream as ks

AHEAD = np.array([1, 3])


def iterated(name: str, n: int, seed: int = 1) -> np.ndarray:
    """States of a map: (n, d)."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0.2, 0.4, size=2)
    states = []
    for _ in range(n + 50):
        if name == "logistic":
            x = 3.9 * x * (1 - x)
        elif name == "tent":
            x = 1.9 * min(x, 1 - x)
        elif name == "ikeda":
            turn = 0.4 - 6 / (1 + x * x + y * y)
            cos, sin = np.cos(turn), np.sin(turn)
            x, y = 1 + 0.9 * (x * cos - y * sin), 0.9 * (x * sin + y * cos)
        else:
            x, y = 1 - 1.4 * x * x + y, 0.3 * x
        states.append((x, y))
    return np.array(states[50:])[:, : 2 if name in {"henon", "ikeda"} else 1]


def oscillator(n: int) -> np.ndarray:
    """One component of a van der Pol oscillator."""
    x, v, states = 0.6, 0.0, []
    for t in range(20 * n):
        v += 0.005 * (1.5 * (1 - x * x) * v - x)
        x += 0.005 * v
        if t % 20 == 0:
            states.append(x)
    return np.array(states)[:, None]


def errors(T: np.ndarray, n: int, operator: ks.Koopman | None = None) -> np.ndarray:
    """Root mean squared errors over each horizon in the rows after the first `n`."""
    model, found = ks.Forecaster(AHEAD, operator).fit(T[:n]), []
    for t in range(n, len(T) - AHEAD[-1] + 1):
        found.append(model.forecast()[:, 0] - T[t + AHEAD - 1])
        model.partial_fit(T[t : t + 1])
    return np.sqrt(np.mean(np.square(found), axis=(0, 2))) / T.std()


@pytest.mark.parametrize("n", [300, 1000])
@pytest.mark.parametrize(
    ("name", "n_delays", "most"),
    [
        ("logistic", 0, (1e-4, 3e-3)),
        ("tent", 0, (0.02, 0.15)),
        ("one of two of henon", 1, (2e-3, 0.05)),
    ],
)
def test_a_map_is_forecast_as_by_the_delays_that_it_needs(name, n_delays, most, n) -> None:
    T = iterated(name, n + 80)
    found, known = errors(T, n), errors(T, n, ks.Koopman(n_delays=n_delays))
    assert (found <= most).all()
    assert (found <= 20 * known).all()


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("name", ["henon", "ikeda"])
def test_a_map_of_two_components_too_in_any_order_of_these(name, order) -> None:
    T = iterated(name, 780)[:, ::order]
    found, known = errors(T, 700), errors(T, 700, ks.Koopman())
    assert (found <= 4 * known).all()


def test_a_map_seen_with_noise_is_forecast_by_few_delays() -> None:
    T = iterated("logistic", 480)
    T = T + 0.01 * T.std() * np.random.default_rng(2).normal(size=T.shape)
    found, known = errors(T, 400), errors(T, 400, ks.Koopman())
    assert (found <= 1.2 * known).all()


@pytest.mark.parametrize("n", [150, 300, 700])
def test_an_oscillator_keeps_all_delays(n: int) -> None:
    T = oscillator(n + 80)
    assert (errors(T, n) <= 1.5 * errors(T, n, ks.Koopman(n_delays=8))).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_chaotic_flow_that_is_sampled_finely_keeps_all_delays(seed: int) -> None:
    x, y, z = 1 + np.random.default_rng(seed).normal(size=3)
    states = []
    for t in range(50 * 750):
        u, v, w = 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z
        x, y, z = x + 0.001 * u, y + 0.001 * v, z + 0.001 * w
        if t % 50 == 0:
            states.append(x)
    model = ks.Forecaster(1).fit(np.array(states[50:])[:, None])
    assert model.operator_.chosen_["n_delays"] == 8


def test_a_series_with_few_values_keeps_a_scale() -> None:
    rng = np.random.default_rng(0)
    T = (rng.uniform(size=400) < 0.3).astype(float)[:, None]
    model = ks.Forecaster(1).fit(T)
    assert abs(model.forecast()[0, 0] - 0.3) < 0.3
    assert model.operator_.chosen_["n_delays"] == 8


def test_the_number_of_delays_is_selected_only_where_none_is_given() -> None:
    T = iterated("logistic", 300)
    given, found = (ks.Forecaster(1, one).fit(T) for one in (ks.Koopman(n_delays=8), None))
    assert [model.operator_.chosen_["n_delays"] for model in (given, found)] == [8, 0]
    deviations = [model._core.units[1] for model in (given, found)]
    assert np.ptp(deviations[0]) == 0
    assert deviations[1][1] > 1e9 * deviations[1][0]
    # Stored states are those given, with all their delays.
    stored = found.operator_.dictionary_
    rows = np.lib.stride_tricks.sliding_window_view(T[:, 0], 9)[:, ::-1]
    assert stored.shape[1] == 9
    assert np.abs(stored[:, None] - rows).max(axis=2).min(axis=1).max() < 1e-12


@pytest.mark.parametrize("size", [1, 50])
def test_the_same_bits_in_any_chunks_and_through_files_and_copies(size: int, tmp_path) -> None:
    T = iterated("logistic", 170)
    whole, pieces = ks.Forecaster(AHEAD).partial_fit(T), ks.Forecaster(AHEAD)
    for i, start in enumerate(range(0, len(T), size)):
        pieces.partial_fit(T[start : start + size])
        if i % 20 == 2:
            pieces.save(tmp_path / "model")
            pieces = pickle.loads(pickle.dumps(ks.load(tmp_path / "model")))
    assert pieces._core.to_bytes() == whole._core.to_bytes()
    np.testing.assert_array_equal(pieces.forecast_interval(), whole.forecast_interval())


def test_with_inputs_a_map_needs_no_delays_either() -> None:
    heat = np.random.default_rng(3).uniform(0.7, 1, size=480)
    T = np.full((480, 1), 0.4)
    for t in range(479):
        T[t + 1] = 3.9 * heat[t] * T[t] * (1 - T[t])
    spread = []
    for operator in (None, ks.Koopman(n_inputs=1)):
        model, found = ks.Forecaster(1, operator).fit(T[:400], inputs=heat[:400]), []
        for t in range(400, 470):
            found.append(model.forecast(inputs=heat[t - 1 : t])[0, 0] - T[t])
            model.partial_fit(T[t : t + 1], inputs=heat[t : t + 1])
        spread.append(np.sqrt(np.mean(np.square(found))))
    assert spread[0] <= min(20 * spread[1], 1e-3)
