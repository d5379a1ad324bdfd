"""Rows become trajectories: cut at gaps in time and at missing values."""

from __future__ import annotations

import numpy as np
import pytest

from kernelstream.cli.running.forecasts import Judge
from kernelstream.cli.running.trajectories import Cutter, Piece, Tail


def cut(cutter: Cutter, states: list[float], times: list[float] | None = None) -> list:
    found = cutter.cut(np.array(states)[:, None], None if times is None else np.array(times))
    return [(piece.states[:, 0].tolist(), piece.continued) for piece in found]


def test_without_times_only_missing_values_cut():
    cutter = Cutter(None)
    assert cut(cutter, [1, 2, np.nan, 3]) == [([1, 2], False), ([3], False)]
    assert cut(cutter, [4, np.nan]) == [([4], True)]
    assert cut(cutter, [5]) == [([5], False)]
    cutter.end()
    assert cut(cutter, [6]) == [([6], False)]
    assert (cutter.n_trajectories, cutter.n_incomplete, cutter.n_gaps) == (4, 2, 0)


def test_gaps_in_time_cut_also_between_batches():
    cutter = Cutter("number")
    assert cut(cutter, [1, 2, 3, 4], [0, 2, 4, 10]) == [([1, 2, 3], False), ([4], False)]
    assert cut(cutter, [5], [12]) == [([5], True)]
    assert cut(cutter, [6, 7], [20, 22]) == [([6, 7], False)]
    assert cut(cutter, [8], [22]) == [([8], False)]  # time stands still
    assert (cutter.step, cutter.n_trajectories, cutter.n_gaps) == (2.0, 4, 3)
    np.testing.assert_allclose(cutter.after(2), [24, 26])


@pytest.mark.parametrize("size", [1, 3, 40])
def test_times_begin_again_where_they_return_over_half_of_their_range(size):
    cutter = Cutter("number")
    times = np.concatenate([np.arange(20), np.arange(17, 25), np.arange(12, 20), [8, 9, -3, -2]])
    for part in np.split(times, range(size, len(times), size)):
        cut(cutter, part.tolist(), part.tolist())
    assert (cutter.n_gaps, cutter.n_returns, cutter.n_setbacks) == (4, 2, 2)
    cutter.end()
    # Another file has a range of its own.
    cut(cutter, [0] * 4, [50, 51, 52, 50])
    assert (cutter.n_returns, cutter.n_setbacks) == (3, 2)


def test_a_missing_value_leaves_no_pair_over_the_gap_that_it_makes():
    cutter = Cutter("number")
    assert cut(cutter, [1, 2, np.nan, 3, 4], [0, 1, 2, 3, 4]) == [([1, 2], False), ([3, 4], False)]
    assert cut(cutter, [5, 6], [5, np.nan]) == [([5], True)]


def test_a_step_that_comes_late_and_rows_one_by_one():
    cutter = Cutter("number")
    assert cut(cutter, [1], [0]) == [([1], False)]
    assert cutter.step is None
    assert cut(cutter, [2], [3]) == [([2], True)]
    assert cutter.step == 3.0


def test_clock_times_have_the_unit_of_their_step():
    times = np.datetime64("2024-01-01T00:00", "us") + np.arange(4) * np.timedelta64(3, "h")
    cutter = Cutter("time")
    list(cutter.cut(np.zeros((4, 1)), times))
    assert (cutter.step, cutter.unit) == (3.0, "h")
    assert cutter.after(1)[0] == np.datetime64("2024-01-01T12:00")


def test_times_without_a_step_are_refused():
    with pytest.raises(ValueError, match="do not increase"):
        cut(Cutter("number"), [1, 2, 3], [3, 2, 1])
    with pytest.raises(ValueError, match="not evenly spaced"):
        cut(Cutter("number"), [1, 2, 3, 4, 5, 6], [0, 1, 10, 1000, 1e5, 1e8])


def test_the_tail_keeps_the_last_states_as_trajectories():
    tail = Tail(5)
    for i, continued in enumerate([False, True, False, True]):
        tail.add(Piece(np.full((2, 1), float(i)), continued))
    assert [part[:, 0].tolist() for part in tail.trajectories] == [[1, 1], [2, 2, 3, 3]]


def test_short_gaps_are_filled_on_lines_also_between_batches():
    cutter = Cutter("number", fill=2)
    assert cut(cutter, [1, 2, 3, 4, 6, 7, 10], [0, 1, 2, 3, 5, 6, 9]) == [([*range(1, 11)], False)]
    assert cut(cutter, [12, np.nan], [11, 12]) == [([11, 12], True)]
    assert cut(cutter, [np.nan, 15, 1], [13, 14, 20]) == [([13, 14, 15], True), ([1], False)]
    # Not at the beginning, nor where time is not a whole number of steps.
    assert cut(cutter, [np.nan, 3], [30, 31]) == [([3], False)]
    assert cut(cutter, [4], [33.5]) == [([4], False)]
    assert (cutter.n_filled, cutter.n_gaps, cutter.n_trajectories) == (6, 2, 4)
    assert cutter.n_incomplete == 3
    cutter.end()
    assert cut(cutter, [5], [36]) == [([5], False)]


def test_without_times_incomplete_rows_are_filled():
    cutter = Cutter(None, fill=2)
    assert cut(cutter, [1, np.nan, 3]) == [([1, 2, 3], False)]
    assert cut(cutter, [np.nan]) == []
    assert cut(cutter, [np.nan, 6]) == [([4, 5, 6], True)]
    assert cut(cutter, [np.nan] * 3 + [7]) == [([7], False)]
    assert (cutter.n_filled, cutter.n_incomplete, cutter.n_trajectories) == (3, 6, 2)


def test_rows_that_were_filled_in_are_marked():
    found = list(Cutter(None, fill=2).cut(np.array([[1.0], [np.nan], [np.nan], [4.0]]), None))
    assert [piece.observed.tolist() for piece in found] == [[True, False, False, True]]
    parts = list(found[0].split(3))
    assert [part.continued for part in parts] == [False, True]
    assert [part.observed.tolist() for part in parts] == [[True, False, False], [True]]


def test_forecasts_are_judged_from_and_of_observed_rows_only():
    class Next:
        """A model that knows that each row is one more."""

        lag, n_delays, delay = 1, 0, 1

        def predict(self, X, n_steps):
            return np.stack([X + n for n in n_steps])

    judge, model = Judge([1, 2], 1, None), Next()
    piece = Piece(
        np.arange(6.0)[:, None], False, np.array([False, True, False, False, False, True])
    )
    judge.take(model, [np.zeros((1, 1))], piece)
    # One step: from 2 and 3; two: from 0 and 2.
    np.testing.assert_array_equal(judge._sums.counts, [2, 2])
    assert (judge._sums._sums[0] == 0.0).all()


@pytest.mark.parametrize("sizes", [[400], [1] * 400, [7, 100, 3, 290]])
def test_where_most_rows_would_be_made_up_they_are_not_filled(sizes: list[int]) -> None:
    states = np.random.default_rng(0).normal(size=(400, 1))
    states[1::2] = np.nan  # every second value
    cutter, first, pieces = Cutter(None, fill=2), 0, []
    for size in sizes:
        pieces += list(cutter.cut(states[first : first + size], None))
        first += size
    rows = np.concatenate([piece.states for piece in pieces])
    filled = np.concatenate([~piece.observed for piece in pieces])
    assert len(rows) == 200 + cutter.n_filled
    assert filled.sum() == cutter.n_filled <= 10 + 0.25 * 200
    assert cutter.n_trajectories == 200 - cutter.n_filled
