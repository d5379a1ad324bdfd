"""Trajectories with an index of times: short gaps are filled, and calls are continued in time."""

from __future__ import annotations

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import kernelstream as ks
from kernelstream.koopman.times import Reading, last_times

N = 240
HOURS = np.arange(N + 24)
STATES = 50 + 10 * np.sin(2 * np.pi * HOURS / 24) + np.random.default_rng(0).normal(size=N + 24)
WHOLE = pd.DataFrame({"a": STATES[:N]}, pd.date_range("2024-01-01", periods=N, freq="h"))


def without(*rows):
    return WHOLE.drop(WHOLE.index[list(rows)])


def linear(frame):
    return frame.asfreq("h").interpolate()


def count(model):
    """Count what was learned: states, or pairs of them."""
    return model.n_states_ if isinstance(model, ks.Forecaster) else model.n_seen_


def filled(frame):
    reading = Reading([frame])
    return [len(one) for one in reading.fill([one.rows.to_numpy() for one in reading.given])]


@pytest.mark.parametrize("rows", [[1], [1, 2], [120], [120, 121], [N - 8], [N - 3, N - 2], [3, 99]])
@pytest.mark.parametrize("model", [ks.Forecaster([1, 6]), ks.Koopman(ks.Gaussian(10.0))])
def test_short_gaps_are_filled_linearly(rows, model):
    gappy, known = (type(model)(**model.get_params(deep=False)) for _ in range(2))
    gappy.fit(without(*rows))
    known.fit(linear(without(*rows)))
    assert gappy.n_seen_ == known.n_seen_
    if isinstance(model, ks.Forecaster):
        np.testing.assert_allclose(gappy.forecast(), known.forecast(), rtol=1e-6)
    else:
        np.testing.assert_allclose(gappy.dictionary_, known.dictionary_, rtol=1e-9)


def test_a_hole_near_the_end_keeps_the_season():
    model = ks.Forecaster([6]).fit(without(N - 8))
    assert abs(model.forecast()[0, 0, 0] - STATES[N + 5]) < 4


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_longer_gaps_split(zone):
    frame = without(100, 101, 102, 150).tz_localize(zone)
    assert filled(frame) == [100, 137]
    months = pd.DataFrame({"a": range(60)}, pd.date_range("2010-01-01", periods=60, freq="MS"))
    assert filled(months.drop(months.index[[20, 40, 41, 42]])) == [40, 17]


def weekly(n, seed):
    """Give hourly values that are lower at night and at weekends."""
    hours = np.arange(n)
    weekend = hours // 24 % 7 >= 5
    day = np.sin(2 * np.pi * hours / 24) * np.where(weekend, 8.0, 20.0)
    return 100.0 + day - 25.0 * weekend + np.random.default_rng(seed).normal(size=n)


@pytest.mark.parametrize("missing", [3, 24, 100])
@pytest.mark.parametrize("ago", [1, 12, 100])
def test_seasons_continue_after_longer_gaps(missing, ago):
    values = weekly(168 * 6 + 24, missing + ago)
    whole = pd.DataFrame({"a": values[:-24]}, WHOLE.index[0] + pd.to_timedelta(range(168 * 6), "h"))
    whole["b"] = np.random.default_rng(0).normal(size=len(whole)).cumsum()
    frame = whole.drop(whole.index[len(whole) - ago - missing : len(whole) - ago])
    model = ks.Forecaster([1, 6, 24]).fit(frame)
    errors = model.forecast()[:, 0, 0] - values[-24:][[0, 5, 23]]
    assert np.abs(errors).max() < 5.0  # where the season is lost, 15 to 40
    # The gap may be between two calls, and the later rows may come singly.
    parts = ks.Forecaster([1, 6, 24]).partial_fit(frame[:-ago])
    for row in range(ago):
        parts.partial_fit(frame[len(frame) - ago + row :][:1])
    one = ks.Forecaster([1, 6, 24]).partial_fit(frame)
    np.testing.assert_array_equal(parts.forecast(), one.forecast())


def test_gaps_of_a_map_are_not_learned():
    values = [0.3]
    for _ in range(612):
        values.append(3.9 * values[-1] * (1.0 - values[-1]))
    whole = pd.DataFrame({"a": values[:600]}, WHOLE.index[0] + pd.to_timedelta(range(600), "h"))
    gaps = [first + k for first in range(50, 550, 70) for k in range(6)]
    model = ks.Forecaster([1, 3]).fit(whole.drop(whole.index[gaps]))
    # With values on a line in these gaps the errors are about .01 and .3.
    assert abs(model.forecast()[0, 0, 0] - values[600]) < 1e-3
    assert abs(model.forecast()[1, 0, 0] - values[602]) < 0.03


def test_inputs_and_weights_are_filled_beside_the_states():
    heat = np.arange(N)[:, None] * 1.0
    left_out = np.delete(heat, 120, axis=0)
    for inputs in (left_out, pd.DataFrame(left_out, without(120).index)):
        model = ks.Forecaster([1]).fit(without(120), inputs=inputs)
        known = ks.Forecaster([1]).fit(linear(without(120)), inputs=heat)
        np.testing.assert_allclose(model.forecast(inputs=[5.0]), known.forecast(inputs=[5.0]))
    weighted = ks.Koopman(ks.Gaussian(10.0)).fit(without(120), sample_weight=np.ones(N - 1))
    assert weighted.n_seen_ == N - 1


@pytest.mark.parametrize("sizes", [[80] * 3, [1] * 30, [118, 1, 1, 119]])
@pytest.mark.parametrize("missing", [[], [119], [120], [119, 120], [5]])
def test_chunks_equal_one_call(sizes, missing):
    frame = without(*missing)
    one, chunks = ks.Forecaster([1, 6]).partial_fit(frame), ks.Forecaster([1, 6])
    first = 0
    for size in [*sizes, N]:
        if first < len(frame):
            chunks.partial_fit(frame[first : first + size])
        first += size
    assert one.n_states_ == chunks.n_states_ == N
    np.testing.assert_allclose(chunks.forecast(), one.forecast(), rtol=1e-6)


@pytest.mark.parametrize("carry", ["as it is", "pickle", "file"])
@pytest.mark.parametrize(
    "model", [ks.Forecaster([1]), ks.Forecaster([1], candidates=False), ks.Koopman()]
)
def test_times_are_continued_across_calls(carry, model, tmp_path):
    model = type(model)(**model.get_params(deep=False)).fit(WHOLE[:100])
    if carry == "pickle":
        model = pickle.loads(pickle.dumps(model))
    if carry == "file":
        model.save(tmp_path / "m")
        model = ks.load(tmp_path / "m")
    learn = model.partial_fit if isinstance(model, ks.Forecaster) else model.partial_fit_trajectory
    before = count(model)
    with pytest.raises(ValueError, match=r"2024-01-05 01:00:00 to 2024-01-05 03.*T\[3:\]"):
        learn(WHOLE[97:120], continued=True)
    assert count(model) == before
    learn(WHOLE[102:110], continued=True)  # two rows are filled
    assert count(model) == before + 10
    # Another trajectory, which gives one pair less than states.
    less = not isinstance(model, ks.Forecaster)
    learn(WHOLE[120:121], continued=True)
    assert count(model) == before + 11 - less
    learn(WHOLE[121:123], continued=True)
    assert count(model) == before + 13 - less
    learn(WHOLE[:10], continued=False)
    assert count(model) == before + 23 - 2 * less


def test_states_without_times_end_what_is_known_of_times():
    model = ks.Forecaster([1]).fit(WHOLE[:100])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names
        model.partial_fit(WHOLE[100:102].to_numpy())
    model.partial_fit(WHOLE[50:60])
    assert model.n_states_ == 112


def test_times_that_occur_twice_are_refused():
    double = pd.concat([WHOLE, WHOLE]).sort_index()
    for model in (ks.Forecaster([1]), ks.Koopman()):
        with pytest.raises(ValueError, match=r"2024-01-01 00:00:00 twice.*groupby\(level=0\)"):
            model.fit(double)


def test_many_gaps_are_warned_of_once():
    kept = WHOLE.index.hour < 18
    with pytest.warns(
        ks.exceptions.KernelstreamWarning, match=r"9 gaps.*asfreq\(\.\.\.\)"
    ) as all_of:
        ks.Koopman(ks.Gaussian(10.0)).fit(WHOLE[kept])
    assert sum("gaps" in str(one.message) for one in all_of) == 1
    starts = (31, 150, 294, 400, 555, 698, 820, 957)
    long = pd.DataFrame({"a": np.arange(1200.0)}, pd.date_range("2024", periods=1200, freq="h"))
    gaps = [start + k for start in starts for k in range(13)]
    with pytest.warns(ks.exceptions.KernelstreamWarning, match=r"\d gaps.*asfreq\(\.\.\.\)"):
        ks.Forecaster([1]).fit(long.drop(long.index[gaps]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A forecaster estimates these, and finds the season.
        assert ks.Forecaster([1]).fit(WHOLE[kept]).periods_ == [[24]]
        ks.Forecaster([1]).fit(without(*range(20, 60)))
        ks.Forecaster([1]).fit(without(20, 60, 61))


@pytest.mark.parametrize("model", [ks.Forecaster([1]), ks.Koopman()])
def test_messages_of_states_name_the_remedy(model):
    if isinstance(model, ks.Koopman):
        for flat in (STATES, WHOLE["a"], pl.Series("a", STATES)):
            with pytest.raises(
                ValueError, match=r"got \(\d+,\)\. Reshape your data.* X\[:, None\]"
            ):
                model.fit(flat)
        with pytest.raises(ValueError, match=r"pass one column as np\.array\(X\)\[:, None\]"):
            model.fit(STATES.tolist())
    broken = WHOLE.copy()
    broken.iloc[7] = np.nan
    with pytest.raises(ValueError, match=r"nan at row 7.*\[T\[:7\], T\[8:\]\]"):
        model.fit(broken)


@pytest.mark.parametrize("form", [np.asarray, list, tuple, np.ndarray.tolist, np.float32])
@pytest.mark.parametrize("whole", [True, False])
def test_a_sequence_of_numbers_is_a_series(form, whole):
    states = WHOLE["a"].to_numpy().astype(np.float32).astype(np.float64)
    expected, model = ks.Forecaster([1, 3]), ks.Forecaster([1, 3])
    if whole:
        expected.fit(states[:, None])
        model.fit(form(states))
    for part in np.split(states, [60, 61, 120]):
        expected.partial_fit(part[:, None])
        model.partial_fit(form(part))
    for asked in ("forecast", "forecast_interval"):
        np.testing.assert_array_equal(getattr(model, asked)(), getattr(expected, asked)())
        history = states[-40:]
        made = getattr(model, asked)(form(history))
        np.testing.assert_array_equal(made, getattr(expected, asked)(history[:, None]))
    assert repr(model.skill(form(states))) == repr(expected.skill(states[:, None]))


def test_a_sequence_of_numbers_may_be_a_state_of_several_components():
    model = ks.Forecaster([1]).fit(np.column_stack([STATES, STATES]))
    for given in ([1.0, 2.0], np.array([1.0, 2.0])):
        for call in (model.partial_fit, model.forecast):
            with pytest.raises(ValueError, match=r"Reshape.*single state as .*X\)?\[None\]"):
                call(given)
    with pytest.raises(ValueError, match="list of trajectories is empty"):
        ks.Forecaster([1]).fit([])


def test_a_series_is_a_frame_of_one_column():
    frame = WHOLE[["a"]]
    expected = ks.Forecaster([1, 3]).fit(frame)
    for given in (WHOLE["a"], pl.Series("a", WHOLE["a"].to_numpy())):
        model = ks.Forecaster([1, 3]).fit(given)
        assert model.feature_names_in_.tolist() == ["a"]
        np.testing.assert_array_equal(model.forecast(), expected.forecast())
        np.testing.assert_array_equal(model.forecast(given), expected.forecast(frame))
        intervals = expected.forecast_interval(frame)
        np.testing.assert_array_equal(model.forecast_interval(given), intervals)
        assert ks.Forecaster([1, 3]).fit([given, given]).forecast([given, given]).shape == (2, 2, 1)
    gapped = without(20, 60, 61)["a"]
    model = ks.Forecaster([1, 3]).fit(gapped)
    assert model.n_states_ == len(WHOLE)
    first, then = ks.Forecaster([1]).partial_fit(gapped[:50]), gapped[50:]
    assert first.partial_fit(then).n_states_ == len(WHOLE)
    assert not hasattr(ks.Forecaster([1]).fit(pd.Series(STATES)), "feature_names_in_")


@pytest.mark.parametrize("model", [ks.Forecaster([1]), ks.Koopman()])
def test_gaps_in_states_name_parts_that_have_states(model):
    broken = WHOLE.copy()
    broken.iloc[7] = np.nan
    with pytest.raises(ValueError, match=r"row 7, .*remove such rows, T\.dropna\(\) \(gaps of one"):
        model.fit(broken)
    model.fit(broken.dropna())
    with pytest.raises(ValueError, match=r"row 7, .*\[T\[:7\], T\[8:\]\]") as caught:
        model.fit(broken.to_numpy())
    assert "dropna" not in str(caught.value)
    for rows, remedy in (([-1], f"T[:{len(WHOLE) - 1}]"), ([0, 1], "T[2:]")):
        broken = WHOLE.to_numpy().copy()
        broken[rows] = np.nan
        with pytest.raises(ValueError, match="contains nan at row") as caught:
            model.fit(broken)
        assert str(caught.value).endswith(remedy)


DATED = pd.DataFrame({"date": pd.date_range("2024-01-01", periods=90), "x": STATES[:90]})
ARROW = pa.Table.from_pandas(DATED, preserve_index=False)


@pytest.mark.parametrize("estimator", [ks.Forecaster([1]), ks.Koopman()])
@pytest.mark.parametrize(
    ("frame", "remedy"),
    [
        (DATED, ".set_index('date')"),
        (DATED.assign(date=DATED["date"].dt.tz_localize("Europe/Berlin")), ".set_index('date')"),
        (DATED.assign(date=DATED["date"].dt.to_period("D")), ".set_index('date')"),
        (DATED.astype({"date": str}), ".astype({'date': \"datetime64[us]\"}).set_index('date')"),
        (DATED.assign(date=DATED["date"].dt.date.astype(object)), ".astype({'date': \""),
        (DATED.astype({"date": "date32[day][pyarrow]"}), ".astype({'date': \"datetime64[us]\"})"),
        (pl.from_pandas(DATED), ".to_pandas().set_index('date')"),
        (pl.from_pandas(DATED).with_columns(pl.col("date").cast(pl.Date)), ".to_pandas()"),
        (ARROW, ".to_pandas(date_as_object=False).set_index('date')"),
        (
            ARROW.set_column(0, "date", ARROW["date"].cast(pa.date32())),
            ".to_pandas(date_as_object=False).set_index('date')",
        ),
    ],
)
def test_a_column_of_dates_is_to_be_the_index(estimator, frame, remedy):
    with pytest.raises((TypeError, ValueError)) as raised:
        clone(estimator).fit(frame)
    assert remedy in str(raised.value)
    (code,) = re.findall(r"make it the index, (frame.*?), or leave it out", str(raised.value))
    indexed = eval(code, {"frame": frame})
    model = clone(estimator).fit(indexed)
    assert model.feature_names_in_.tolist() == ["x"]
    # The index is read: it has a gap.
    kept = [*range(40), *range(60, 90)]
    assert last_times(clone(estimator).fit(indexed.iloc[kept])) is not None


@pytest.mark.parametrize("zone", ["", ", tz=Europe/Berlin"])
def test_an_index_of_arrow_is_read(zone):
    own = DATED.set_index("date")
    own.index = own.index.tz_localize(zone[5:] or None)
    arrow = own.set_axis(own.index.astype(f"timestamp[us{zone}][pyarrow]"))
    kept = [*range(40), *range(60, 90)]
    models = [ks.Forecaster([1]).fit(frame.iloc[kept]) for frame in (own, arrow)]
    assert models[0].n_seen_ == models[1].n_seen_ < len(kept) - 1
