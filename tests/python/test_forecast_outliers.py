"""Outliers among the states of a forecaster: they are replaced, and new levels are learned."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import kernelstream as ks
from kernelstream.exceptions import KernelstreamWarning, OutlierWarning, SentinelWarning

HORIZONS = (1, 6, 24)


def daily(n: int, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=n)
    return (50.0 + 8.0 * np.sin(2.0 * np.pi * np.arange(n) / 24.0) + noise)[:, None]


def learned(T: np.ndarray, inputs: np.ndarray | None = None) -> ks.Forecaster:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KernelstreamWarning)
        return ks.Forecaster(HORIZONS).partial_fit(T, inputs=inputs)


@pytest.mark.parametrize("run", [1, 2, 3])
@pytest.mark.parametrize("value", [-9999.0, 600.0])
def test_forecasts_after_outliers_are_those_after_the_value_before(run: int, value: float) -> None:
    T = daily(400)
    spoilt, clean = T.copy(), T.copy()
    spoilt[300 : 300 + run], clean[300 : 300 + run] = value, T[299]
    for after in (0, 10, 50):
        stop = 300 + run + after
        model, expected = learned(spoilt[:stop]), learned(clean[:stop])
        np.testing.assert_array_equal(model.forecast(), expected.forecast())
        np.testing.assert_array_equal(model.forecast_interval(), expected.forecast_interval())
        assert (model.n_left_out_, expected.n_left_out_) == (run, 0)
        assert model.n_seen_ == expected.n_seen_
        # Also along the same history, which was learned, and along another.
        for other in (expected, learned(T[:200])):
            np.testing.assert_array_equal(
                other.forecast(spoilt[:stop]), other.forecast(clean[:stop])
            )
    errors = np.abs(model.forecast()[:, 0, 0] - T[np.array(HORIZONS) + stop - 1, 0])
    assert errors.max() < 4.0


def test_rows_one_by_one_and_a_file_between_give_the_same_bits(tmp_path: Path) -> None:
    T = daily(200)
    T[150:152] = [[-9999.0], [1e6]]
    whole = learned(T)
    parts = learned(T[:100])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KernelstreamWarning)
        for i in range(100, 200):
            if i in {150, 151, 152}:
                parts.save(tmp_path / "model")
                parts = ks.load(tmp_path / "model")
            parts.partial_fit(T[i : i + 1])
            if i == 150:
                # The latest row, as it was passed, continues the same state.
                np.testing.assert_array_equal(parts.forecast(T[i : i + 1]), parts.forecast())
    np.testing.assert_array_equal(parts.forecast(), whole.forecast())
    assert parts.n_left_out_ == whole.n_left_out_ == 2


def test_the_first_outlier_is_warned_of_once() -> None:
    T = np.column_stack([daily(400), daily(400, seed=1)])
    T[[200, 300], 1] = -9999.0
    with pytest.warns(KernelstreamWarning) as caught:
        model = ks.Forecaster(HORIZONS).fit(T)
    (message,) = [str(each.message) for each in caught]
    assert caught[0].category is OutlierWarning
    assert "-9999 at row 200, column 1 is an outlier" in message
    assert model.n_left_out_ == 2
    T[399, 0] = 5000.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SentinelWarning)
        warnings.simplefilter("error", OutlierWarning)
        model.partial_fit(T)
    assert model.n_left_out_ == 2 + 3


def test_a_new_level_is_learned_without_a_warning() -> None:
    T = daily(600)
    T[400:] += 1e4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SentinelWarning)
        warnings.simplefilter("error", OutlierWarning)
        model = ks.Forecaster(HORIZONS).partial_fit(T[:403])
        assert model.n_left_out_ == 3
        assert np.abs(model.forecast() - 50.0).max() < 20.0
        model.partial_fit(T[403:404])
        assert model.n_left_out_ == 0
        whole = ks.Forecaster(HORIZONS).partial_fit(T[:404])
        np.testing.assert_array_equal(model.forecast(), whole.forecast())
        model.partial_fit(T[404:-24])
    assert model.n_left_out_ == 0
    assert np.abs(model.forecast()[:, 0, 0] - T[np.array(HORIZONS) - 25, 0]).max() < 100.0


def test_an_outlier_at_the_end_of_fit_is_warned_of() -> None:
    T = daily(300)
    T[-1] = -9999.0
    with pytest.warns(OutlierWarning, match="-9999 at row 299, column 0"):
        ks.Forecaster(HORIZONS).fit(T)
    T[-1] = -1e6
    model = learned(T)
    with pytest.warns(OutlierWarning, match="-1000000 at an earlier row"):
        model.partial_fit(daily(10))


def test_ordinary_records_have_no_outliers() -> None:
    rng = np.random.default_rng(0)
    n = 3000
    demand = np.where(rng.random(n) < 0.05, rng.geometric(0.1, n), 0)
    flags = np.zeros(n)
    flags[[700, 1500, 2900]] = 1.0
    bursts = rng.normal(size=n)
    bursts[1000:1100] *= 20.0
    constant = np.r_[np.full(1000, 3.0), 3.0 + np.cumsum(rng.normal(size=n - 1000))]
    records = [demand, flags, bursts, constant, rng.standard_t(3, n), np.cumsum(rng.normal(size=n))]
    T = np.column_stack([*records, 1.005 ** np.arange(n), rng.lognormal(0, 1, n)])
    assert learned(T).n_left_out_ == 0


def test_states_are_replaced_and_inputs_are_not() -> None:
    rng = np.random.default_rng(0)
    heat = rng.integers(0, 2, 400).astype(float)
    T = daily(400)
    T[1:, 0] += heat[:-1]
    spoilt, clean = T.copy(), T.copy()
    spoilt[300], clean[300] = -9999.0, T[299]
    model, expected = learned(spoilt, heat), learned(clean, heat)
    ahead = rng.integers(0, 2, (24, 1))
    np.testing.assert_array_equal(model.forecast(inputs=ahead), expected.forecast(inputs=ahead))
    assert (model.n_left_out_, expected.n_left_out_) == (1, 0)
