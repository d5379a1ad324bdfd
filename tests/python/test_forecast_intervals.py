"""Intervals of forecasts: what they hold, in whose units, and where they are known."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import kernelstream as ks
from kernelstream import datasets
from kernelstream.forecasting import prequential_skill
from kernelstream.koopman import find_period

HORIZONS = [1, 5, 20]


def oscillator(count: int, seed: int = 0, scale: float = 1.0, origin: float = 0.0) -> np.ndarray:
    """A noisy rotation that decays; deviations of what comes are known."""
    rng = np.random.default_rng(seed)
    x, turn = rng.standard_normal((count, 2)), np.array([[0.93, 0.25], [-0.25, 0.93]])
    for t in range(1, count):
        x[t] = x[t - 1] @ turn + 0.2 * x[t]
    return origin + scale * x


def learn_and_ask(model, pieces, coverage, block=20, after=300):
    """Learn block by block; whether what came was inside: a list of (n, d) for each horizon."""
    inside = [[] for _ in model.horizons]
    # The last state learned stands for all before it.
    span = 1 if model.candidates else model.operator.n_delays * model.operator.delay
    for T in pieces:
        for start in range(0, len(T), block):
            states = T[max(start - span, 0) : start + block]
            if model.__sklearn_is_fitted__() and model.n_seen_ > after and len(states) > span:
                ends = model.forecast_interval(states, coverage)
                for k, h in enumerate(model.horizons):
                    own = ends[k, int(model.candidates and start > 0) :]
                    truth = T[(start if model.candidates else max(start, span)) + h :][: len(own)]
                    low, high = np.moveaxis(own[: len(truth)], -1, 0)
                    inside[k].append((low <= truth) & (truth <= high))
            model.partial_fit(T[start : start + block], continued=start > 0)
    return [np.concatenate(parts) for parts in inside]


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("candidates", [True, False])
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_coverage_holds_at_each_horizon_in_pieces_of_several_trajectories(coverage, candidates):
    pieces = [oscillator(1200, seed, 3.0, 280.0) for seed in (0, 1)]
    model = ks.Forecaster(HORIZONS, ks.Koopman(n_delays=1), candidates=candidates)
    for inside in learn_and_ask(model, pieces, coverage):
        assert np.abs(inside.mean(axis=0) - coverage).max() < 0.05


@pytest.mark.parametrize("candidates", [True, False])
def test_deviations_are_those_of_the_noise(candidates):
    model = ks.Forecaster(HORIZONS, candidates=candidates).fit(oscillator(3000))
    forecasts, deviations = model.forecast(return_std=True)
    assert forecasts.shape == (3, 1, 2)
    shrinks = 0.93**2 + 0.25**2
    known = [0.2 * np.sqrt(sum(shrinks**i for i in range(h))) for h in HORIZONS]
    np.testing.assert_allclose(
        deviations, np.column_stack([known, known]), rtol=0.25 if candidates else 0.15
    )
    ends = model.forecast_interval(coverage=0.9)
    assert ends.shape == (3, 1, 2, 2)
    np.testing.assert_allclose(ends.mean(axis=-1), forecasts, atol=1e-9)
    assert (np.diff(ends[:, 0], axis=-1)[..., 0] > deviations).all()


def test_units_pieces_and_files_do_not_matter(tmp_path):
    T = oscillator(400)
    model = ks.Forecaster([1, 8], period=25).partial_fit(T)
    ends = model.forecast_interval(T[-30:], 0.8)
    kelvin = ks.Forecaster([1, 8], period=25).partial_fit(280.0 + 5.0 * T)
    np.testing.assert_allclose(
        kelvin.forecast_interval(280.0 + 5.0 * T[-30:], 0.8), 280.0 + 5.0 * ends, rtol=1e-6
    )
    pieces = ks.Forecaster([1, 8], period=25)
    for start in range(0, 400, 130):
        pieces.partial_fit(T[start : start + 130], continued=start > 0)
        pieces.save(tmp_path / "model")
        pieces = pickle.loads(pickle.dumps(ks.load(tmp_path / "model")))
    np.testing.assert_array_equal(pieces.forecast_interval(T[-30:], 0.8), ends)
    np.testing.assert_array_equal(pieces.forecast_interval(coverage=0.8)[:, -1], ends[:, -1])


def test_intervals_are_narrow_where_the_kinds_of_forecasts_agree():
    T = datasets.lorenz(4000, random_state=0).trajectories[0]
    model = ks.Forecaster([1], candidates=False).fit(T[:3000])
    ends = model.forecast_interval(T[2999:-1])[0]
    errors = np.abs(ends.mean(axis=-1) - T[3000:])
    widths = np.diff(ends, axis=-1)[..., 0]
    wide = widths > np.median(widths, axis=0)
    # How much is of each number to learn: nearly nothing where the errors of the one kind that its
    # blend trusts have not gone as its distance to the others lately.
    assert np.ptp(np.log(widths), axis=0).max() > 1.0
    for error, where in zip(errors.T, wide.T, strict=True):
        assert np.median(error[where]) > 1.3 * np.median(error[~where])


def test_an_error_that_falls_is_followed():
    rng = np.random.default_rng(0)
    noise = np.where(np.arange(3000) < 1500, 1.0, 0.01)
    model = ks.Forecaster([1, 8], ks.Koopman(ks.Gaussian(2.0)))
    model.fit((noise * rng.normal(size=3000))[:, None])
    assert np.ptp(model.forecast_interval([[0.0]]), axis=-1).max() < 0.08


def test_horizons_that_no_trajectory_reaches_have_no_interval():
    model = ks.Forecaster([1, 50]).fit([oscillator(40, seed) for seed in range(5)])
    ends = model.forecast_interval()
    assert np.isfinite(model.forecast()).all()
    assert np.isfinite(ends[0]).all()
    assert np.isinf(ends[1]).all()
    assert np.isinf(model.forecast(return_std=True)[1][1]).all()


def test_invalid_values_are_refused_with_the_valid_ones():
    T = oscillator(60)
    with pytest.raises(ValueError, match=r"horizons must be the steps ahead .* \[1, 6, 24\]"):
        ks.Forecaster(()).fit(T)
    with pytest.raises(NotFittedError):
        ks.Forecaster().forecast_interval(T)
    model = ks.Forecaster([1]).fit(T)
    for coverage in (0.0, 1.0, 90):
        with pytest.raises(ValueError, match="coverage must be above 0 and below 1"):
            model.forecast_interval(T, coverage)
    with pytest.raises(ValueError, match="period"):
        ks.Forecaster(period=1).fit(T)


def daily(count: int = 1500) -> np.ndarray:
    """A sawtooth every day, which a state alone does not show, and a drift."""
    rng, t = np.random.default_rng(0), np.arange(count)
    spikes = 10.0 * (t % 24 == 7) + 6.0 * (t % 24 == 15)
    return (280 + spikes + np.cumsum(rng.normal(0, 0.05, count)) + rng.normal(0, 0.3, count))[
        :, None
    ]


def test_the_last_period_is_one_more_forecast():
    T = daily()
    assert find_period(T) == 24
    model = ks.Forecaster([1, 20, 30], period=24, candidates=False).fit(T[:1400])
    assert model.forecast_weights_["period"].min() > 0.5
    ahead = model.forecast(T[1300:1400])
    assert ahead.shape == (3, 100, 1)
    np.testing.assert_array_equal(ahead[:, -1:], model.forecast())
    errors = [ahead[k, :70] - T[1300 + h :][:70] for k, h in enumerate(model.horizons)]
    assert max(np.sqrt(np.mean(np.square(error[24:]))) for error in errors) < 1.0
    # The period is unknown during the first 23 rows.
    assert np.abs(errors[1][:20]).max() > 2.0 > np.abs(errors[1][24:]).max()


def test_no_period_is_reported_for_a_series_without_one():
    rng = np.random.default_rng(0)
    for T in (rng.normal(size=(300, 2)), np.cumsum(rng.normal(size=(300, 1)), 0), np.ones((50, 1))):
        assert find_period(T) is None
    waves = np.sin(2 * np.pi * np.arange(400) / 17)[:, None]
    assert find_period([waves[:200], waves[200:]]) == 17
    with pytest.raises(ValueError, match="longest"):
        find_period(waves, longest=1)


def test_skill_scores_the_mixture_over_the_horizons():
    T = oscillator(800)
    model = ks.Forecaster([5, 1], period=24)
    skill = prequential_skill(model, T)
    assert skill.n_steps.tolist() == [5, 1]
    assert (skill.over_persistence > 0.1).all()
    assert (skill.over_climatology > 0.1).all()
    held_out = oscillator(400, seed=1)
    errors = model.forecast(held_out)[1, :-1] - held_out[1:]
    np.testing.assert_allclose(model.skill(held_out).error[1], np.sqrt(np.mean(errors**2, axis=0)))


@pytest.mark.parametrize("n", range(2, 10))
def test_intervals_of_any_coverage_exist_from_the_first_errors_on(n):
    model = ks.Forecaster([1, 2])
    model.fit(np.random.default_rng(0).normal(size=(n, 1)))
    for coverage in (0.01, 0.1, 0.5, 0.999):
        try:
            low, high = np.moveaxis(np.asarray(model.forecast_interval(coverage=coverage)), -1, 0)
        except (NotFittedError, ValueError):
            continue
        assert (low <= high).all()


@pytest.mark.parametrize(("at", "height"), [(590, 1.0), (300, 100.0), (500, 10.0), (300, -1e6)])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_intervals_after_a_change_of_level_are_no_wider_than_the_errors(at, height, noise):
    level = np.where(np.arange(600) < at, 0.0, height)
    record = level + noise * np.random.default_rng(at).normal(size=600)
    model = ks.Forecaster([1, 10, 100]).fit(record[:, None])
    widths = np.ptp(model.forecast_interval(), axis=-1).ravel()
    assert (widths < 8.0 * (abs(height) + 4.0 * noise)).all(), widths


def test_a_coverage_in_the_place_of_states_is_asked_for_by_name():
    model = ks.Forecaster([1]).fit(np.arange(30.0)[:, None])
    with pytest.raises(ValueError, match=r"coverage is given by its name, coverage=0\.9"):
        model.forecast_interval(0.9)
    with pytest.raises(ValueError, match=r"Forecaster\(horizons=24\)"):
        model.forecast(24)
