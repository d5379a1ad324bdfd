"""Trajectories as people have them: frames with times, signals, masks, codes for missing values."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import kernelstream as ks
from kernelstream.cli.running.trajectories import Cutter
from kernelstream.koopman import find_period
from kernelstream.koopman.calendars import find_calendar
from kernelstream.koopman.trajectories import as_trajectories

RNG = np.random.default_rng(2)
STATES = RNG.normal(size=(240, 2))


def frame(**dates):
    return pd.DataFrame(STATES, columns=["x", "y"], index=pd.date_range("2024-01-01", **dates))


def lengths(T):
    return [len(piece) for piece in as_trajectories(T)]


@pytest.mark.parametrize("freq", ["h", "D", "B", "MS", "ME", "QS", "YS", "7D"])
def test_an_even_index_of_times_is_one_trajectory(freq):
    assert lengths(frame(periods=240, freq=freq)) == [240]


@pytest.mark.parametrize("freq", ["h", "D", "B", "MS", "ME", "QS", "BME", "SMS", "SME", "7D"])
def test_gaps_in_an_index_of_calendar_steps_end_a_trajectory_and_weekends_do_not(freq):
    whole = frame(periods=240, freq=freq)
    parts = pd.concat([whole[:100], whole[130:170], whole[171:]])
    assert lengths(parts) == [100, 40, 69]
    for zone in ("UTC", "Europe/Berlin"):
        zoned = parts.index.tz_localize(zone, ambiguous="NaT", nonexistent="shift_forward")
        zoned_parts = pd.DataFrame(parts.to_numpy(), zoned)[~zoned.isna()]
        assert len(lengths(zoned_parts)) == 3


def test_gaps_in_an_index_of_times_end_a_trajectory():
    hours = frame(periods=240, freq="h")
    day = hours[(hours.index.hour >= 8) & (hours.index.hour < 18)]
    assert lengths(day) == [10] * 10
    assert lengths([day, day[:20]]) == [10] * 12
    assert lengths(day.reset_index(drop=True)) == [100]
    with pytest.raises(ValueError, match=r"decreases at row 1, 2024-01-10 22.*sort the rows"):
        lengths(hours[::-1])


@pytest.mark.parametrize(
    ("signals", "expected"),
    [
        ([np.zeros(80)] * 3, [80, 80, 80]),
        ([np.zeros(80), np.zeros(133)], [80, 133]),
        ((np.zeros(80), np.zeros(133)), [80, 133]),
        ([np.zeros(2)] * 50, [50]),
        ([[0.0, 1.0]] * 50, [50]),
        ([[0.0] * 80, [1.0] * 133], [80, 133]),
        ([[0] * 4, [1] * 9, (2,) * 5], [4, 9, 5]),
        ([np.zeros((5, 2)), np.zeros((5, 2))], [5, 5]),
    ],
)
def test_signals_are_trajectories_of_one_number(signals, expected):
    assert lengths(signals) == expected


def test_a_tuple_of_pairs_names_the_call_for_them():
    with pytest.raises(ValueError, match=r"partial_fit\(X, X_next\)"):
        ks.Koopman().fit((STATES[:-1], STATES[1:]))


@pytest.mark.parametrize("fill", [-9999.0, 1e20, 9.96921e36])
def test_masked_values_are_not_read(fill):
    fields = RNG.normal(size=(60, 4, 5))
    masked = np.ma.array(fields, mask=RNG.random(fields.shape) < 0.01)
    masked.data[masked.mask] = fill
    with pytest.raises(ValueError, match=r"snapshot \d+ contains nan at"):
        ks.POD(2).fit(masked)
    pod = ks.POD(2).fit(np.ma.array(fields))
    with pytest.raises(ValueError, match="contains nan"):
        pod.transform(masked)
    with pytest.raises(ValueError, match="masked at row"):
        find_period(masked.reshape(60, -1))


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("code", [-9999.0, -999999.0, 32767.0])
@pytest.mark.parametrize("order", ["as it comes", "sorted"])
def test_codes_for_missing_values_are_warned_of(code, order):
    states = np.sort(STATES, axis=0) if order == "sorted" else STATES.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ks.Koopman(ks.Gaussian(1.0)).fit_trajectory(STATES)
    states[123, 1] = code
    with pytest.warns(UserWarning, match=rf"contains {code:.6g} at row 123, column 1"):
        ks.Koopman(ks.Gaussian(1.0)).fit_trajectory(states)


@pytest.mark.parametrize(
    ("freq", "unit", "step"),
    [
        ("MS", "months", 1),
        ("ME", "months", 1),
        ("2MS", "months", 2),
        ("QS", "months", 3),
        ("QE", "months", 3),
        ("YS", "years", 1),
        ("YE", "years", 1),
        ("B", "business days", 1),
        ("BME", "months", 1),
        ("BMS", "months", 1),
        ("BQE", "months", 3),
        ("BYS", "years", 1),
        ("SMS", "half months", 1),
        ("SME", "half months", 1),
        ("SMS-16", "half months", 1),
        ("WOM-1MON", "months", 1),
        ("WOM-3WED", "months", 1),
        ("LWOM-FRI", "months", 1),
    ],
)
def test_steps_of_a_calendar_are_found_and_continued(freq, unit, step):
    times = pd.date_range("2019-01-01", periods=100, freq=freq).to_numpy().astype("datetime64[us]")
    cutter = Cutter("time")
    pieces = [
        piece
        for part in (slice(0, 40), slice(40, 41), slice(41, 80))
        for piece in cutter.cut(np.zeros((len(times[part]), 1)), times[part])
    ]
    assert (cutter.unit, cutter.n_trajectories, cutter.n_gaps) == (unit, 1, 0)
    assert cutter.step == pytest.approx(step)
    assert sum(len(piece.states) for piece in pieces) == 80
    np.testing.assert_array_equal(cutter.after(20), times[80:])
    # A step that is left out is a gap.
    cutter = Cutter("time")
    list(cutter.cut(np.zeros((79, 1)), np.delete(times[:80], 50)))
    assert (cutter.n_trajectories, cutter.n_gaps) == (2, 1)


@pytest.mark.parametrize("freq", ["D", "h", "7D", "30D", "17min"])
def test_even_times_are_no_calendar(freq):
    times = pd.date_range("2019-01-01", periods=100, freq=freq).to_numpy().astype("datetime64[us]")
    assert find_calendar(times) is None


@pytest.mark.parametrize("row", [0, 1, 123, 598, 599])
@pytest.mark.parametrize(
    "model",
    [
        ks.Koopman(),
        ks.Koopman(n_delays=3),
        ks.Koopman(lag=4),
        ks.Koopman(ks.Gaussian(1.0)),
        ks.Forecaster((1, 5)),
    ],
)
def test_a_state_that_is_too_large_is_named_by_its_own_row(model, row):
    rng = np.random.default_rng(0)
    states = np.cumsum(rng.normal(size=(600, 1)), axis=0)
    states[row] = 1e30
    with pytest.raises(ValueError, match=f"too large at row {row}, column 0"):
        model.fit(states)
    with pytest.raises(ValueError, match=f'too large at row {row}, column "p"'):
        model.fit(pd.DataFrame({"p": states[:, 0]}))
