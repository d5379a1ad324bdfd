"""Running errors equal what numpy says of the whole."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelstream.estimators.metrics import RunningError, RunningMistakes


@given(
    n_rows=st.integers(2, 60),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    offset=st.sampled_from([0.0, 1e6]),
    seed=st.integers(0, 1000),
)
def test_any_chunking_gives_the_error_of_the_whole(n_rows, cuts, offset, seed):
    rng = np.random.default_rng(seed)
    targets = offset + rng.normal(size=(n_rows, 2))
    predictions = targets + rng.normal(size=(n_rows, 2))
    error = RunningError(2)
    edges = sorted({0, n_rows, *(min(cut, n_rows) for cut in cuts)})
    for start, stop in itertools.pairwise(edges):
        error.update(targets[start:stop], predictions[start:stop])
    residual = ((targets - predictions)[1:] ** 2).mean(axis=0)
    means = np.array([targets[:t].mean(axis=0) for t in range(1, n_rows)])
    spread = ((targets - targets.mean(axis=0)) ** 2).sum(axis=0)
    assert error.n_rows == n_rows - 1
    np.testing.assert_allclose(error.rmse, np.sqrt(residual), rtol=1e-6)
    np.testing.assert_allclose(
        error.baseline_rmse, np.sqrt(((targets[1:] - means) ** 2).mean(axis=0)), rtol=1e-6
    )
    repeated = np.sqrt((np.diff(targets, axis=0) ** 2).mean(axis=0))
    np.testing.assert_allclose(error.last_rmse, repeated, rtol=1e-6)
    np.testing.assert_allclose(error.r2, 1 - residual * (n_rows - 1) / spread, rtol=1e-5, atol=1e-6)


def test_nothing_and_constant_targets():
    error = RunningError(1)
    error.update(np.empty((0, 1)), np.empty((0, 1)))
    assert error.n_rows == 0
    error.update(np.full((5, 1), 3.0), np.full((5, 1), 3.0))
    assert error.rmse[0] == 0.0
    assert error.baseline_rmse[0] == pytest.approx(0.0)
    assert np.isnan(error.r2[0])


@given(
    codes=st.lists(st.integers(0, 2), max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=5),
    seed=st.integers(0, 1000),
)
def test_any_chunking_gives_the_mistakes_of_the_whole(codes, cuts, seed):
    said = np.random.default_rng(seed).integers(0, 3, len(codes))
    truth = np.array(codes, dtype=int)
    mistakes = RunningMistakes(3)
    edges = sorted({0, len(codes), *(min(cut, len(codes)) for cut in cuts)})
    for start, stop in itertools.pairwise(edges):
        mistakes.update(truth[start:stop], said[start:stop])
    majority = [np.bincount(truth[:t], minlength=3).argmax() for t in range(len(codes))]
    assert mistakes.n_rows == len(codes)
    assert mistakes.mistakes == np.sum(said != truth)
    assert mistakes.majority_mistakes == sum(a != b for a, b in zip(majority, codes, strict=True))
    assert mistakes.last_mistakes == sum(a != b for a, b in itertools.pairwise([0, *codes]))
    if codes:
        assert mistakes.rate == pytest.approx(np.mean(said != truth))
        assert mistakes.last_rate == mistakes.last_mistakes / len(codes)
        assert mistakes.majority_rate == mistakes.majority_mistakes / len(codes)
        assert f"{mistakes}" == f"mistakes {mistakes.rate:.2%}"
    else:
        assert np.isnan(mistakes.rate)
