"""Forecasts for which nothing is chosen: seasons, trends, walks, chunks, files and questions."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import kernelstream as ks
from kernelstream.forecasting import prequential_skill
from kernelstream.koopman import find_period


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def seasonal(n: int, period: int, seed: int = 0, trend: float = 0.02) -> np.ndarray:
    t = np.arange(n)
    wave = 5.0 * np.sin(2 * np.pi * t / period) + 2.0 * (t % period == period // 3)
    return (trend * t + wave + rng(seed).normal(size=n))[:, None]


def growing(n: int, period: int, seed: int = 0) -> np.ndarray:
    t = np.arange(n)
    season = 1.0 + 0.4 * np.sin(2 * np.pi * t / period)
    return (20.0 * np.exp(0.01 * t) * season * np.exp(0.03 * rng(seed).normal(size=n)))[:, None]


def walk(n: int, seed: int = 0) -> np.ndarray:
    return np.cumsum(rng(seed).normal(size=n))[:, None]


def rolling(T: np.ndarray, horizons: tuple[int, ...], first: int, every: int = 5):
    """Forecasts and truths from rolling origins: (origins, horizons, d) each."""
    model, known, made, truth = ks.Forecaster(horizons), 0, [], []
    for origin in range(first, len(T) - max(horizons) + 1, every):
        model.partial_fit(T[known:origin])
        known = origin
        made.append(model.forecast()[:, 0])
        truth.append(T[origin + np.array(horizons) - 1])
    return np.array(made), np.array(truth), model


def rms(errors: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(np.square(errors), axis=(0, 2)))


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("period", [7, 12, 24, 31])
def test_trend_and_season_are_forecast_to_their_noise(period: int) -> None:
    made, truth, model = rolling(seasonal(600, period), (1, 10, 60), 400)
    assert model.periods_ == [[period]]
    assert (rms(made - truth) < 1.25).all()


def waves(name: str, n: int = 600) -> np.ndarray:
    """A record without noise: a sum of waves, or one of two numbers of an oscillator."""
    t = np.arange(n)
    if name == "tones":
        return (np.sin(0.31 * t) + 0.5 * np.cos(1.07 * t) + 280.0)[:, None]
    fields = {
        "van der Pol": (lambda x, v: (v, (1 - x * x) * v - x), (2.0, 0.0), 0.1),
        "pendulum": (lambda x, v: (v, -np.sin(x)), (1.5, 0.0), 0.2),
        "predators": (lambda x, v: (x * (1 - v), v * (x - 1)), (0.4, 1.0), 0.1),
    }
    field, start, dt = fields[name]
    x, out = np.array(start), []
    for _ in range(n + 200):
        for _ in range(4):
            a = np.array(field(*x))
            b = np.array(field(*(x + dt / 8 * a)))
            c = np.array(field(*(x + dt / 8 * b)))
            x = x + dt / 24 * (a + 2 * b + 2 * c + np.array(field(*(x + dt / 4 * c))))
        out.append(x[0])
    return np.array(out)[200:, None]


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("name", ["tones", "van der Pol", "pendulum", "predators"])
def test_without_noise_forecasts_keep_their_digits(name: str) -> None:
    record = waves(name)
    made, truth, model = rolling(record, (1, 10, 60), 450, every=9)
    assert (rms(made - truth) < np.array([1e-5, 1e-4, 1e-2]) * record.std()).all()
    ends = model.forecast_interval(coverage=0.9)[:, 0, 0]
    assert np.isfinite(ends).all()
    assert (ends[:, 1] > ends[:, 0]).all()


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("period", [4, 12])
def test_a_season_that_grows_with_the_level_is_forecast_in_proportion(period: int) -> None:
    made, truth, _ = rolling(growing(220, period), (1, 6, 12), 120)
    assert np.sqrt(np.mean((made / truth - 1.0) ** 2, axis=(0, 2))).max() < 0.08


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("seed", range(3))
def test_a_walk_is_forecast_as_by_persistence(seed: int) -> None:
    T, horizons = walk(600, seed), (1, 10)
    made, truth, model = rolling(T, horizons, 330)
    stay = np.array([T[np.full(2, o - 1)] for o in range(330, 600 - 9, 5)])
    assert model.periods_ == [[]]
    assert (rms(made - truth) < 1.1 * rms(stay - truth)).all()


def test_components_have_seasons_of_their_own() -> None:
    T = np.column_stack([seasonal(500, 12)[:, 0], walk(500)[:, 0], seasonal(500, 7, 1, 0.0)[:, 0]])
    model = ks.Forecaster((1, 12)).fit(T)
    assert model.periods_ == [[12], [], [7]]
    weights = model.forecast_weights_
    np.testing.assert_allclose(sum(weights.values()), 1.0)
    assert set(weights) == {
        "persistence", "mean", "autoregression", "smoothing", "direct", "operator",
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("record", [seasonal(300, 12), growing(180, 4), walk(150)])
@pytest.mark.parametrize("size", [1, 7, 64])
def test_the_same_bits_in_any_chunks_and_through_files(record, size, tmp_path) -> None:
    whole = ks.Forecaster((1, 9)).partial_fit(record)
    pieces = ks.Forecaster((1, 9))
    for i, start in enumerate(range(0, len(record), size)):
        pieces.partial_fit(record[start : start + size])
        if i % 20 == 3:
            pieces.save(tmp_path / "model")
            pieces = pickle.loads(pickle.dumps(ks.load(tmp_path / "model")))
    assert pieces._core.to_bytes() == whole._core.to_bytes()
    np.testing.assert_array_equal(pieces.forecast_interval(), whole.forecast_interval())


def test_a_row_that_is_refused_changes_nothing() -> None:
    model = ks.Forecaster((1, 5)).partial_fit(seasonal(120, 12))
    before, bad = model._core.to_bytes(), seasonal(30, 12)
    bad[17] = np.nan
    with pytest.raises(ValueError, match="row 17"):
        model.partial_fit(bad)
    assert model._core.to_bytes() == before


def test_states_that_were_learned_stand_for_all_before_them() -> None:
    T = seasonal(420, 12)
    model = ks.Forecaster((1, 12)).fit(T[:400])
    now = model.forecast()[:, 0]
    for first in (*range(365, 400), 250, 0):
        np.testing.assert_array_equal(model.forecast(T[first:400])[:, -1], now)
    short = ks.Forecaster((1, 12)).fit(T[:15])
    for first in (0, 5, 12):
        np.testing.assert_array_equal(short.forecast(T[first:15])[:, -1:], short.forecast())
    ahead = model.forecast(T[399:408])
    assert ahead.shape == (2, 9, 1)
    assert np.sqrt(np.mean((ahead[1] - T[411:420]) ** 2)) < 2.0
    # Other states go by what they show themselves.
    other = model.forecast(100.0 + T[:60])
    assert np.isfinite(other).all()
    assert model.forecast_interval(100.0 + T[:60]).shape == (2, 60, 1, 2)


def test_frozen_it_follows_a_trend_out_of_the_range_it_learned() -> None:
    T = seasonal(1500, 24)
    model = ks.Forecaster((1, 10)).fit(T[:1000])
    asked = np.arange(999, 1400)
    made = model.forecast(T[asked])
    for k, h in enumerate((1, 10)):
        truth = T[asked + h]
        errors = [np.sqrt(np.mean((one - truth) ** 2)) for one in (made[k], T[asked])]
        assert errors[0] < 0.9 * errors[1]


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("learned", [100, 160])
def test_frozen_forecasts_are_bounded_by_the_initial_states(learned: int) -> None:
    t = np.arange(500)
    T = (0.3 * t + 4.0 * np.sin(2 * np.pi * t / 12))[:, None] + 0.1 * walk(500, 3)
    model = ks.Forecaster((1, 12)).fit(T[:learned])
    made = model.forecast(T[learned - 48 : 488])[:, 48:]
    for k, horizon in enumerate((1, 12)):
        truth = T[learned + horizon : learned + horizon + made.shape[1]]
        assert np.sqrt(np.mean((made[k, : len(truth)] - truth) ** 2)) < 1.5


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_trajectories_end_where_they_end() -> None:
    pieces = [seasonal(90, 12, seed) for seed in range(5)]
    model = ks.Forecaster((1, 40)).fit(pieces)
    assert np.isfinite(model.forecast_interval()).all()
    short = ks.Forecaster((1, 40)).fit([piece[:30] for piece in pieces])
    assert np.isfinite(short.forecast()).all()
    assert np.isinf(short.forecast_interval()[1]).all()
    assert np.isfinite(ks.Forecaster(3).fit(np.ones((4, 1))).forecast()).all()


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e12])
def test_units_do_not_matter(scale: float) -> None:
    T = seasonal(200, 12)
    plain, other = ks.Forecaster((1, 6)).fit(T), ks.Forecaster((1, 6)).fit(scale * T)
    np.testing.assert_allclose(other.forecast() / scale, plain.forecast(), atol=0.05)


def test_wide_states_are_forecast_together() -> None:
    T = rng().normal(size=(80, 70)).cumsum(axis=0)
    model = ks.Forecaster((1,)).fit(T)
    assert "modes" in model.forecast_weights_
    assert model.periods_ == []


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_intervals_hold_their_share(coverage: float) -> None:
    T, model, inside = seasonal(1200, 24), ks.Forecaster((1, 10)), []
    model.partial_fit(T[:500])
    for t in range(500, 1190):
        ends = model.forecast_interval(coverage=coverage)[:, 0, 0]
        truth = T[t + np.array([0, 9]), 0]
        inside.append((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
        model.partial_fit(T[t : t + 1])
    assert np.abs(np.mean(inside, axis=0) - coverage).max() < 0.06


@pytest.mark.parametrize("seed", range(4))
def test_no_period_is_found_in_a_series_without_one(seed: int) -> None:
    noise = rng(seed).normal(size=(2000, 1))
    red = np.zeros(2000)
    for t in range(1, 2000):
        red[t] = 0.97 * red[t - 1] + 0.24 * noise[t, 0]
    for record in (noise, noise[:300], np.cumsum(noise, axis=0), red[:, None]):
        assert find_period(record) is None
    day = 0.5 * np.sin(2 * np.pi * np.arange(2000) / 24)
    assert find_period((red + day)[:, None]) == 24


@pytest.mark.parametrize("period", [4, 9, 12, 24, 37, 100])
def test_periods_are_found_under_trends_and_noise(period: int) -> None:
    n = max(8 * period, 120)
    for record in (seasonal(n, period, period), 0.3 * walk(n) + seasonal(n, period, 1)):
        found = find_period(record)
        assert found is not None
        assert abs(found - period) <= period // 100


def of_weeks(n: int, seed: int) -> np.ndarray:
    """Days of weeks, with noise."""
    week = np.array([0.0, 5.0, 8.0, 10.0, 20.0, 40.0, -30.0])
    return (200.0 + week[np.arange(n) % 7] + rng(seed).normal(0, 5, n))[:, None]


def of_hours(n: int, seed: int) -> np.ndarray:
    """Hours of days, which are higher on five days of a week, with noise."""
    t = np.arange(n)
    weekday = (t // 24) % 7 < 5
    day = 20.0 * np.sin(2 * np.pi * t / 24) * np.where(weekday, 1.0, 0.4)
    return (100.0 + day + 10.0 * weekday + rng(seed).normal(0, 2, n))[:, None]


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize(
    ("record", "season", "rows"),
    [(of_weeks, 7, 14), (of_weeks, 7, 17), (of_weeks, 7, 20), (of_hours, 168, 336)],
)
def test_two_seasons_are_forecast_nearly_as_by_the_one_before(record, season, rows) -> None:
    horizons, errors, before, found = [1, 4, 7], [], [], 0
    for seed in range(8):
        T = record(rows + 7, seed)
        truth = T[rows - 1 + np.array(horizons)]
        model = ks.Forecaster(horizons).fit(T[:rows])
        errors.append(model.forecast()[:, 0] - truth)
        before.append(T[rows - 1 + np.array(horizons) - season] - truth)
        found += season in model.periods_[0]
    assert found >= 7
    assert np.abs(errors).mean() < 1.3 * np.abs(before).mean()


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("period", [None, 7])
def test_forecasts_made_again_with_a_season_are_the_same_through_files(period, tmp_path) -> None:
    T = np.hstack([of_weeks(30, 0), of_weeks(30, 1)[::-1]])
    models = [ks.Forecaster([1, 3], period=period) for _ in range(2)]
    for t in range(30):
        models = [model.partial_fit(T[t : t + 1]) for model in models]
        if t in (8, 12, 13, 22):
            models[1].save(tmp_path / "model")
            models[1] = ks.load(tmp_path / "model")
    one, other = models
    assert one.periods_ == other.periods_ == [[7], [7]]
    np.testing.assert_array_equal(one.forecast(), other.forecast())
    np.testing.assert_array_equal(one.forecast_interval(), other.forecast_interval())
    # In other chunks the operator begins with other rows.
    whole = ks.Forecaster([1, 3], period=period).fit(T)
    np.testing.assert_allclose(whole.forecast(), one.forecast(), atol=0.1)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("given", [None, 7])
def test_a_season_is_no_worse_given_than_found(given) -> None:
    errors = []
    for seed in range(8):
        T = of_weeks(31, seed)
        model = ks.Forecaster([1, 3], period=given).fit(T[:28])
        errors.append(model.forecast()[:, 0] - T[27 + np.array([1, 3])])
    assert np.abs(errors).mean() < 1.5 * 5.0


def oscillator(n: int, seed: int = 0) -> np.ndarray:
    """Van der Pol's oscillator with a little noise."""
    out, x, y = [], 1.0, 0.0
    for _ in range(n):
        for _ in range(10):
            x, y = x + 0.01 * y, y + 0.01 * (2 * (1 - x * x) * y - x)
        out.append((x, y))
    return np.array(out) + 0.02 * rng(seed).normal(size=(n, 2))


def histories(T: np.ndarray, rows: int, first: int, horizons: tuple[int, ...]):
    """Histories of this many rows, each a trajectory of its own, and what comes after them."""
    origins = np.arange(first + rows, len(T) - max(horizons), 7)
    X = np.stack([T[origin - rows : origin] for origin in origins])
    return X, np.stack([T[origins + h - 1] for h in horizons])


@pytest.mark.parametrize("rows", [30, 60, 100, 150])
@pytest.mark.parametrize("period", [7, 24])
def test_histories_of_their_own_have_the_season_at_their_phase(period: int, rows: int) -> None:
    T, horizons = seasonal(1200, period), (1, 10, 60)
    model = ks.Forecaster(horizons).fit(T[:900])
    X, truth = histories(T, rows, 905, horizons)
    assert (np.sqrt(np.mean((model.forecast(X) - truth) ** 2, axis=(1, 2))) < 1.5).all()


@pytest.mark.parametrize("rows", [3, 8, 20, 50, 100])
def test_more_history_is_no_worse(rows: int) -> None:
    # Lags that reach back beyond a history once had the values that were learned last.
    T, horizons = oscillator(1500), (1, 10, 50)
    model = ks.Forecaster(horizons).fit(T[:1000])
    X, truth = histories(T, rows, 1005, horizons)
    errors = np.sqrt(np.mean((model.forecast(X) - truth) ** 2, axis=(1, 2)))
    assert (errors < (0.04, 0.3, 0.3)).all()


def test_many_histories_are_as_one_after_another() -> None:
    T = oscillator(700)
    model = ks.Forecaster((1, 5)).fit(T[:500])
    X = np.stack([T[505:565], T[600:660], T[480:540]])
    one_by_one = np.concatenate([model.forecast(x)[:, -1:] for x in X], axis=1)
    np.testing.assert_array_equal(model.forecast(X), one_by_one)
    ends = np.concatenate([model.forecast_interval(x)[:, -1:] for x in X], axis=1)
    np.testing.assert_array_equal(model.forecast_interval(X), ends)


@pytest.mark.parametrize("phase", [0, 5, 13])
def test_a_gap_costs_one_season(phase: int, tmp_path) -> None:
    T, more = seasonal(1100, 24), seasonal(1500, 24, seed=1)[1100 + phase :]
    model = ks.Forecaster((1, 10)).fit(T)
    model.partial_fit(more[:10], continued=False)
    model.save(tmp_path / "model")
    again = ks.Forecaster.load(tmp_path / "model")
    made = []
    for one in (model, again):
        one.partial_fit(more[10:30])
        assert one.periods_ == [[24]]
        here = []
        for row in range(30, 200):
            here.append(one.forecast()[:, 0, 0] - more[[row, row + 9], 0])
            one.partial_fit(more[row : row + 1])
        made.append(here)
    np.testing.assert_array_equal(*made)
    assert (np.sqrt(np.mean(np.square(made[0]), axis=0)) < 1.35).all()


@pytest.mark.parametrize("rows", [1, 6, 12, 30, 100])
def test_intervals_are_wider_where_a_history_is_short(rows: int) -> None:
    T = seasonal(1200, 24)
    model = ks.Forecaster((1,)).fit(T[:900])
    X, truth = histories(T, rows, 905, (1,))
    low, high = np.moveaxis(model.forecast_interval(X), -1, 0)
    assert np.mean((low <= truth) & (truth <= high)) > 0.75


@pytest.mark.parametrize("cut", range(5))
def test_intervals_hold_at_every_phase_of_a_season_of_any_shape(cut: int) -> None:
    # The noise is the same at 10 and at 80: no interval in proportion to the forecast holds.
    n = np.arange(300 + cut)
    season = np.array([10.0, 50.0, 20.0, 80.0, 30.0])[n % 5]
    inside, widths = [], []
    for seed in range(12):
        y = season + rng(seed).normal(size=len(n))
        low, high = ks.Forecaster((1,)).fit(y[:-1, None]).forecast_interval()[0, 0, 0]
        inside.append(low <= y[-1] <= high)
        widths.append(high - low)
    assert np.mean(inside) >= 0.75
    assert 2.0 < np.median(widths) < 6.0


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("spike", [1e3, 1e4, 1e5])
def test_one_value_far_off_hides_no_season(spike: float) -> None:
    T = seasonal(700, 7)
    T[200] = spike
    model = ks.Forecaster((1, 7)).fit(T[:690])
    assert model.periods_ == [[7]]
    assert (np.abs(model.forecast()[:, 0] - T[[690, 696]]) < 3.0).all()
    ends = model.forecast_interval()[:, 0, 0]
    assert (ends[:, 1] - ends[:, 0] < 8.0).all()


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("learned", [310, 540, 709, 928])
def test_a_gap_before_a_search_for_periods_costs_one_season_too(learned: int) -> None:
    # Periods are looked for on the very row that ends the first season after the gap.
    T, more = seasonal(learned, 24), seasonal(1300, 24, seed=1)[1000 + 7 :]
    model = ks.Forecaster((1, 10)).fit(T)
    model.partial_fit(more[:30], continued=False)
    made = []
    for row in range(30, 90):
        made.append(model.forecast()[:, 0, 0] - more[[row, row + 9], 0])
        model.partial_fit(more[row : row + 1])
    assert (np.sqrt(np.mean(np.square(made), axis=0)) < (1.5, 1.6)).all()


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_a_history_of_whole_numbers_is_not_taken_for_what_was_learned() -> None:
    counts = np.tile([5.0, 7.0, 9.0, 12.0, 9.0, 7.0], 60) + rng(1).integers(0, 3, 360)
    model = ks.Forecaster((1, 3)).fit(counts[:, None])
    window = counts[100:130, None]
    window[0] = counts[-1]
    made = model.forecast(window)[:, -1, 0]
    np.testing.assert_allclose(made, [counts[130], counts[132]], atol=3.0)
    # The last state alone, and states of which all were learned, continue.
    np.testing.assert_array_equal(model.forecast(counts[-1:, None]), model.forecast())
    np.testing.assert_allclose(model.forecast(counts[-9:, None])[:, -1:], model.forecast())


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_a_trajectory_after_a_gap_may_begin_with_one_state() -> None:
    T = seasonal(300, 12)
    one, other = (ks.Forecaster((1, 3)).partial_fit(T[:200]) for _ in range(2))
    one.partial_fit(T[250:280], continued=False)
    other.partial_fit(T[250:251], continued=False).partial_fit(T[251:280])
    assert one._core.to_bytes() == other._core.to_bytes()


@pytest.mark.parametrize("shift", [0.0, 5.0, 100.0, -1000.0])
def test_histories_at_another_level_are_forecast_without_bias(shift: float) -> None:
    # Forecasts were pulled towards the level that was learned, with narrow intervals.
    rng = np.random.default_rng(0)

    def cycle(rows: int, phase: int) -> np.ndarray:
        t = np.arange(rows) + phase
        return (50.0 + 8.0 * np.sin(2 * np.pi * t / 24) + rng.normal(0, 0.5, rows))[:, None]

    horizons = (1, 6, 12)
    model = ks.Forecaster(horizons).fit(cycle(600, 0))
    whole = np.stack([shift + cycle(200, phase) for phase in range(24)])
    truth = np.stack([whole[:, 150 - 1 + h] for h in horizons])
    errors = model.forecast(whole[:, :150]) - truth
    assert (
        np.sqrt(np.mean(errors**2, axis=(1, 2)))
        < (0.7 if abs(shift) < 50 else 1.0 if abs(shift) < 500 else 4.0)
    ).all()
    assert (np.abs(errors.mean(axis=(1, 2))) < 0.5).all()
    ends = model.forecast_interval(whole[:, :150])
    inside = (ends[..., 0] <= truth) & (truth <= ends[..., 1])
    assert (inside.mean(axis=(1, 2)) >= 0.75).all()


@pytest.mark.parametrize("kind", ["stable", "wandering", "gusty"])
def test_intervals_of_states_that_follow_cover_them_without_learning(kind: str) -> None:
    # They once kept the width of the end of what was learned: .75 to .84 of the targets inside.
    covered = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        noise = rng.normal(size=1200)
        if kind == "gusty":
            logarithms = np.zeros(1200)
            for i in range(1, 1200):
                logarithms[i] = 0.97 * logarithms[i - 1] + 0.2 * rng.normal()
            values = np.exp(logarithms) * noise
        else:
            share = 0.8 if kind == "stable" else 1.0
            values = np.zeros(1200)
            for i in range(1, 1200):
                values[i] = share * values[i - 1] + noise[i]
        model = ks.Forecaster((1, 6)).fit(values[:600, None])
        ends = model.forecast_interval(values[599:1100, None])[..., 0, :]
        for k, h in enumerate((1, 6)):
            truth = values[599 + h : 1100 + h]
            covered.append(np.mean((ends[k, :, 0] <= truth) & (truth <= ends[k, :, 1])))
    assert 0.86 <= np.mean(covered) <= 0.95, covered


def test_forecasts_along_a_history_do_not_depend_on_its_later_states() -> None:
    T = oscillator(1100)
    model = ks.Forecaster((1, 5)).fit(T[:500])
    for X in (T[505:1100], 30.0 + T[505:1100], T[450:1045]):
        whole = model.forecast(X)
        for rows in (1, 40, 500):
            np.testing.assert_array_equal(model.forecast(X[:rows]), whole[:, :rows])


def test_exponential_growth_goes_beyond_the_range_that_was_seen() -> None:
    # Forecasts were bounded by the range of the values: 2,300 too low, as bad as persistence.
    for seed in range(3):
        noise = np.random.default_rng(seed).normal(size=300)
        values = 10.0 * np.exp(0.02 * np.arange(300) + 0.03 * noise)
        for horizons in ((60,), (12, 60)):
            made = ks.Forecaster(horizons).fit(values[:240, None]).forecast()[-1, 0, 0]
            assert 0.5 < made / values[299] < 1.5, (seed, horizons, made, values[299])


def test_a_trend_is_followed_over_a_long_horizon_beside_shorter_ones() -> None:
    # Losses at the shorter horizon, where a trend matters little, once held kinds without one.
    errors = []
    for seed in range(4):
        rng, t = np.random.default_rng(seed), np.arange(300)
        values = 50.0 + 0.3 * t + 8.0 * np.sin(2 * np.pi * t / 12) + rng.normal(size=300)
        for horizons in ((60,), (12, 60), (24, 60)):
            made = ks.Forecaster(horizons).fit(values[:240, None]).forecast()[-1, 0, 0]
            errors.append(abs(made - values[299]))
    assert np.mean(errors) < 2.0, errors  # persistence: 19


def test_the_first_change_after_constant_values_has_intervals_of_its_size() -> None:
    model = ks.Forecaster((1, 6)).fit(np.r_[np.ones(50), 1.5][:, None])
    ends = model.forecast_interval()[:, 0, 0]
    assert (ends[:, 1] - ends[:, 0] > 0.2).all()
    assert (ends[:, 1] - ends[:, 0] < 3.0).all()


def test_histories_may_have_different_lengths_and_wrong_ones_have_clear_errors() -> None:
    T = oscillator(700)
    model = ks.Forecaster((1, 5)).fit(T[:500])
    X = [T[505:565], T[600:612]]
    one_by_one = np.concatenate([model.forecast(x)[:, -1:] for x in X], axis=1)
    np.testing.assert_array_equal(model.forecast(X), one_by_one)
    with pytest.raises(ValueError, match=r"Forecaster\(horizons=24\)"):
        model.forecast(24)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"got 24: .*range\(1, 25\)\), and forecast\(\) without X"):
        model.forecast(24)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"Forecaster\(horizons=\[1, 6, 24\]\)"):
        model.forecast_interval("next")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"got 3: .* predict\(X, n_steps=3\)"):
        ks.Koopman().fit(T).predict(3)
    with pytest.raises(ValueError, match="no histories"):
        model.forecast(np.zeros((0, 5, 1)))
    with pytest.raises(ValueError, match="all different, got 5 twice"):
        ks.Forecaster((1, 5, 5)).fit(T)


def test_gaps_between_the_times_of_a_history_are_those_of_learning() -> None:
    pd = pytest.importorskip("pandas")
    T = seasonal(460, 24)
    index = pd.date_range("2020", periods=460, freq="h")
    frame = pd.DataFrame(T, index=index, columns=["load"])
    model = ks.Forecaster((1, 6)).fit(frame[:400])
    rows = frame[400:460]
    # One row is missing: it is filled in, and has no forecast.
    filled = rows.copy()
    filled.iloc[30] = (filled.iloc[29] + filled.iloc[31]) / 2
    made, ends = (
        model.forecast(rows.drop(index[430])),
        model.forecast_interval(rows.drop(index[430])),
    )
    assert made.shape == (2, 59, 1)
    assert ends.shape == (2, 59, 1, 2)
    np.testing.assert_array_equal(made, np.delete(model.forecast(filled), 30, axis=1))
    # After a longer gap another history begins.
    apart = model.forecast(rows.drop(index[430:440]))
    both = [model.forecast(rows[:30]), model.forecast(rows[40:])]
    np.testing.assert_array_equal(apart, np.concatenate(both, axis=1))
    with pytest.raises(ValueError, match="twice"):
        model.forecast(rows.iloc[[0, 1, 1, 2]])


def test_periods_are_times() -> None:
    pd = pytest.importorskip("pandas")
    T = seasonal(200, 12)
    months = pd.period_range("2001-01", periods=200, freq="M")
    frame = pd.DataFrame(T, index=months, columns=["sales"])
    model = ks.Forecaster((1, 6)).fit(frame)
    np.testing.assert_array_equal(model.forecast(), ks.Forecaster((1, 6)).fit(T).forecast())
    with pytest.raises(ValueError, match="not after the last one learned"):
        model.partial_fit(frame[-3:])


def test_a_history_with_a_gap_in_its_numbers_is_refused_by_its_row() -> None:
    T = oscillator(700)
    model = ks.Forecaster((1, 5)).fit(T[:500])
    X = T[510:600].copy()
    X[33, 0] = np.nan
    for ask in (model.forecast, model.forecast_interval):
        for history in (X, X[None]):
            with pytest.raises(ValueError, match="row 33"):
                ask(history)


def test_widths_follow_noise_that_rises_late_in_a_long_history() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=6000)
    noise[3000:] *= 5.0
    model = ks.Forecaster((1,)).fit(noise[:500, None])
    ends = model.forecast_interval(noise[500:-1, None])[0, :, 0]
    inside = (ends[:, 0] <= noise[501:]) & (noise[501:] <= ends[:, 1])
    assert inside[:2400].mean() > 0.85
    assert inside[2700:].mean() > 0.85


@pytest.mark.parametrize("candidates", [True, False])
def test_skill_and_its_prequential_form_take_frames(candidates):
    frame = pd.DataFrame({"load": seasonal(400, 24)[:, 0], "heat": seasonal(400, 24, 1)[:, 0]})
    model = ks.Forecaster([1, 6], candidates=candidates).fit(frame[:300])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = model.skill(frame[300:])
        several = model.skill([frame[300:350], frame[350:]])
        prequential_skill(model, frame[300:], block=30)
    plain = ks.Forecaster([1, 6], candidates=candidates).fit(frame[:300].to_numpy())
    assert str(named) == str(plain.skill(frame[300:].to_numpy()))
    assert several.n_forecasts.tolist() == [98, 88]
