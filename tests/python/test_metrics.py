"""The running error equals what numpy says of the whole."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelstream._metrics import RunningError


@given(
    n_rows=st.integers(2, 60),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    offset=st.sampled_from([0.0, 1e6]),
    seed=st.integers(0, 1000),
)
def test_any_chunking_gives_the_error_of_the_whole(n_rows, cuts, offset, seed):
    rng = np.random.default_rng(seed)
    targets = offset + rng.normal(size=(n_rows, 2))
    forecasts = targets + rng.normal(size=(n_rows, 2))
    error = RunningError(2)
    edges = sorted({0, n_rows, *(min(cut, n_rows) for cut in cuts)})
    for start, stop in itertools.pairwise(edges):
        error.update(targets[start:stop], forecasts[start:stop])
    residual = ((targets - forecasts)[1:] ** 2).mean(axis=0)
    means = np.array([targets[:t].mean(axis=0) for t in range(1, n_rows)])
    spread = ((targets - targets.mean(axis=0)) ** 2).sum(axis=0)
    assert error.n_rows == n_rows - 1
    np.testing.assert_allclose(error.rmse, np.sqrt(residual), rtol=1e-6)
    np.testing.assert_allclose(
        error.baseline_rmse, np.sqrt(((targets[1:] - means) ** 2).mean(axis=0)), rtol=1e-6
    )
    np.testing.assert_allclose(error.r2, 1 - residual * (n_rows - 1) / spread, rtol=1e-5, atol=1e-6)


def test_nothing_and_constant_targets():
    error = RunningError(1)
    error.update(np.empty((0, 1)), np.empty((0, 1)))
    assert error.n_rows == 0
    error.update(np.full((5, 1), 3.0), np.full((5, 1), 3.0))
    assert error.rmse[0] == 0.0
    assert error.baseline_rmse[0] == pytest.approx(0.0)
    assert np.isnan(error.r2[0])
