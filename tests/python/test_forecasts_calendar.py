"""Seasons that the calendar of an index of times tells, and times of which many are missing."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import kernelstream as ks
from kernelstream import _core
from kernelstream.koopman.calendars import periods_of_times
from kernelstream.koopman.filling import usual_step


def months(n, seed=0):
    noise = np.random.default_rng(seed).normal(size=n)
    phase = 2 * np.pi * np.arange(n) / 12
    states = 0.5 * np.arange(n) + 6 * np.sin(phase) + 8 * np.cos(2 * phase) + noise
    return pd.Series(states, pd.date_range("2015-01-01", periods=n, freq="MS"), name="a")


def days(share, seed, n=500):
    rng = np.random.default_rng(seed)
    states = 100 + 10 * np.sin(2 * np.pi * np.arange(n + 14) / 7) + rng.normal(size=n + 14)
    kept = rng.random(n) >= share
    kept[-1] = True
    index = pd.date_range("2024-01-01", periods=n, freq="D")
    return pd.Series(states[:n], index)[kept], states[n:]


def error(model, later):
    return float(np.sqrt(np.mean((model.forecast()[:, 0, 0] - later) ** 2)))


@pytest.mark.parametrize(
    ("freq", "periods"),
    [
        ("MS", (12,)),
        ("ME", (12,)),
        ("QS", (4,)),
        ("YS", ()),
        ("SMS", (24,)),
        ("W", (52,)),
        ("D", (7, 365)),
        ("B", (5, 261)),
        ("h", (24, 168)),
        ("6h", (4, 28)),
        ("15min", (96, 672)),
        ("7s", ()),
    ],
)
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_periods_are_those_of_the_calendar(freq, periods, zone):
    if zone and freq in {"7s", "6h"}:
        pytest.skip("hours of clocks and of instants differ")
    index = pd.date_range("2024-01-01", periods=40, freq=freq, tz=zone)
    clocks = index.tz_localize(None).to_numpy().astype("datetime64[us]")
    instants = (index.tz_convert(None) if zone else index).to_numpy().astype("datetime64[us]")
    assert periods_of_times(instants, clocks) == periods
    assert periods_of_times(instants[:3], clocks[:3]) is None


@pytest.mark.parametrize("n", [24, 36])
def test_a_year_is_found_in_few_months(n):
    found = []
    for seed in range(4):
        series = months(n + 12, seed)
        known = series.iloc[:n]
        model = ks.Forecaster(range(1, 13)).fit(known)
        found.append(model.periods_[0][:1])
        given = ks.Forecaster(range(1, 13), period=12).fit(known)
        later = series.iloc[n:].to_numpy()
        assert error(model, later) < 1.1 * error(given, later)
    assert found == [[12]] * 4
    periods = ks.Forecaster(range(1, 13)).fit(known.to_period("M")).periods_
    assert periods[0][0] == 12


@pytest.mark.parametrize(("freq", "periods"), [("D", [7, 365]), ("B", [5, 261])])
def test_a_year_of_days_is_found_beside_the_week(freq, periods):
    week, year = periods
    t = np.arange(3 * year + 60)
    clean = 2 * np.sin(2 * np.pi * t / week) + 8 * np.sin(2 * np.pi * t / year + 1)
    for seed in range(3):
        states = clean + 1.5 * np.random.default_rng(seed).normal(size=len(t))
        index = pd.date_range("2019-03-01", periods=3 * year, freq=freq)
        model = ks.Forecaster(range(1, 61)).fit(pd.Series(states[: 3 * year], index))
        assert model.periods_ == [periods]
        # The profile of three years is smoothed: without noise it would be level at 1.5.
        assert error(model, states[3 * year :]) < 1.9


def test_an_index_finds_hardly_more_in_noise():
    found, plain = [], []
    for seed in range(40):
        noise = np.random.default_rng(seed).normal(size=36)
        index = pd.date_range("2015-01-01", periods=36, freq="MS")
        found += ks.Forecaster(1).fit(pd.Series(noise, index)).periods_
        plain += ks.Forecaster(1).fit(noise[:, None]).periods_
    assert sum(one != other for one, other in zip(found, plain, strict=True)) <= 2


def test_walks_and_noise_of_days_have_no_year():
    index = pd.date_range("2019-03-01", periods=1000, freq="D")
    for seed in range(6):
        noise = np.random.default_rng(seed).normal(size=1000)
        for states in (noise, noise.cumsum()):
            periods = ks.Forecaster(1).fit(pd.Series(states, index)).periods_[0]
            assert 365 not in periods, seed


@pytest.mark.parametrize("size", [1, 5, 24])
def test_chunks_and_files_know_the_calendar(size, tmp_path):
    series = months(40)
    whole = ks.Forecaster([1, 12]).partial_fit(series)
    model = ks.Forecaster([1, 12])
    for start in range(0, 40, size):
        model.partial_fit(series.iloc[start : start + size])
        model.save(tmp_path / "model")
        model = ks.load(tmp_path / "model")
    assert model.periods_ == whole.periods_
    assert model.periods_[0][0] == 12
    np.testing.assert_allclose(model.forecast(), whole.forecast(), rtol=1e-6)
    # It is known to rows without times that follow a file.
    shorter = ks.Forecaster([1, 12]).partial_fit(series.iloc[:20])
    shorter.save(tmp_path / "model")
    rest = series.iloc[20:].to_numpy()[:, None]
    with pytest.warns(UserWarning, match="feature names"):
        later = ks.load(tmp_path / "model").partial_fit(rest)
    assert later.periods_ == whole.periods_


@pytest.mark.parametrize("share", [0.5, 0.6])
def test_times_of_which_most_are_missing(share):
    for seed in range(3):
        known, later = days(share, seed)
        model = ks.Forecaster(range(1, 15)).fit(known)
        assert model.periods_ == [[7]]
        assert error(model, later) < 2.5


def test_a_warning_tells_the_share_of_missing_times():
    with pytest.warns(UserWarning, match=r"of which (6|7)\d% are missing"):
        ks.Forecaster(range(1, 15), candidates=False).fit(days(0.7, 0)[0])


def test_chunks_of_few_times_equal_one_call():
    known, _ = days(0.55, 1)
    whole = ks.Forecaster([1, 7]).partial_fit(known)
    model = ks.Forecaster([1, 7])
    for start in range(0, len(known), 50):
        model.partial_fit(known.iloc[start : start + 50])
    assert model.n_states_ == whole.n_states_
    np.testing.assert_allclose(model.forecast(), whole.forecast(), rtol=1e-6)


def test_the_usual_step():
    rng = np.random.default_rng(0)
    for share in (0.1, 0.4, 0.6, 0.8):
        kept = np.flatnonzero(rng.random(400) >= share)
        late = kept + rng.uniform(-0.02, 0.02, size=len(kept))
        assert usual_step(np.diff(late)) == pytest.approx(1.0, abs=0.05)
    # Times at random have no step, and three a day follow a pattern.
    at_random = np.diff(np.sort(rng.uniform(0, 400, size=400)))
    assert usual_step(at_random) == np.median(at_random)
    assert usual_step(np.diff([24.0 * day + hour for day in range(9) for hour in (8, 12, 20)])) == 8
    assert usual_step(np.diff([0.0, 1.0, 3.0])) == 1.5


@pytest.mark.parametrize("calendar", [[1], [7, 3], [7, 7], [2, 3, 4, 5, 6], [100_001]])
def test_a_calendar_is_validated(calendar):
    spec = {"horizons": [1], "candidates": True, "period": None}
    with pytest.raises(ValueError, match="calendar"):
        _core.Koopman(json.dumps(spec | {"calendar": calendar}))
    core = _core.Koopman(json.dumps(spec))
    assert "calendar" not in json.loads(core.spec)
    with pytest.raises(ValueError, match="calendar"):
        core.follow([np.arange(5.0)[:, None]], 1, False, None, None, calendar)
    core.follow([np.arange(5.0)[:, None]], 1, False, None, None, [12])
    assert json.loads(core.spec)["calendar"] == [12]
