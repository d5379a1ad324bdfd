"""Rows that are copies of earlier ones, and wide tables of few rows."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import kernelstream as ks
from kernelstream.estimators.repeated import keys_of
from kernelstream.exceptions import RepeatedRowsWarning

Rows = tuple[NDArray[np.float64], NDArray[np.float64]]


def drawn(n: int, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)


def copied(order: str) -> Rows:
    X, y = drawn(80)
    places = np.arange(80)
    if order == "neighbours":
        places = np.repeat(places, 3)
    elif order == "appended":
        places = np.tile(places, 2)
    else:
        places = np.random.default_rng(1).permutation(np.repeat(places, 3))
        if order == "sorted":
            places = places[np.argsort(y[places], kind="stable")]
    return X[places], y[places]


def learn(
    model: ks.KernelExperts, X: NDArray[np.float64], y: NDArray[np.float64], piece: int
) -> None:
    for start in range(0, len(y), piece):
        model.partial_fit(X[start : start + piece], y[start : start + piece])


@pytest.mark.parametrize("piece", [1000, 50])
@pytest.mark.parametrize("order", ["neighbours", "appended", "shuffled", "sorted"])
def test_copies_are_warned_of_once_in_any_order(order: str, piece: int) -> None:
    X, y = copied(order)
    model = ks.KernelExperts(size=20)
    with pytest.warns(RepeatedRowsWarning, match=r"equal an earlier row .*drop_duplicates"):
        learn(model, X, y, piece)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedRowsWarning)
        learn(model, X, y, piece)


def test_copies_of_labels_are_warned_of_too() -> None:
    X, y = copied("neighbours")
    with pytest.warns(RepeatedRowsWarning, match="67 % of 240 rows"):
        ks.KernelExpertsClassifier(size=20).fit(X, np.where(y > 0, "high", "low"))


def test_rows_of_few_values_and_fresh_targets_are_no_copies() -> None:
    rng = np.random.default_rng(0)
    X, y = drawn(400)
    counts = rng.integers(0, 3, size=(400, 3)).astype(float)
    # Rows measured again have the same columns and other targets.
    again = np.repeat(X[:100], 4, axis=0)
    gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    for rows, targets in ((X, y), (again, y), (counts, counts[:, 0]), (gaps, y)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RepeatedRowsWarning)
            ks.KernelExperts(size=20, missing="fill").fit(rows, targets)
    rows, targets = np.tile(gaps[:200], (2, 1)), np.tile(y[:200], 2)
    with pytest.warns(RepeatedRowsWarning, match="50 % of 400 rows"):
        ks.KernelExperts(size=20, missing="fill").fit(rows, targets)


@pytest.mark.parametrize("piece", [10, 30, 1000])
def test_counts_and_rows_without_weight_are_no_copies(piece: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, size=(1200, 2)).astype(float)
    X = np.column_stack([X, X.sum(axis=1)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatedRowsWarning)
        learn(ks.KernelExperts(size=20), X, X[:, 2], piece)
        rows, targets = drawn(120)
        model = ks.KernelExperts(size=20)
        model.partial_fit(rows, targets, sample_weight=np.repeat([0.0, 1.0], 60))
        model.partial_fit(rows[:60], targets[:60])


def test_keys_are_those_of_rows() -> None:
    X = np.array(
        [[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [np.nan, 1.0], [np.nan, 1.0], [1e300, 1e-300]]
    )
    y = np.zeros((6, 1))
    keys = keys_of(X, y)
    assert keys[0] == keys[1]
    assert keys[3] == keys[4]
    assert len(set(keys.tolist())) == 4
    grid = np.stack(np.meshgrid(np.arange(300.0), np.arange(300.0)), axis=-1).reshape(-1, 2)
    assert len(np.unique(keys_of(grid, grid[:, :1]))) == len(grid)
    assert len(np.unique(keys_of(grid[:300] * 0.0, np.arange(300.0)[:, None]))) == 300


@pytest.mark.parametrize("order", ["random", "sorted"])
@pytest.mark.parametrize("n", [296, 299, 300, 301, 304, 310])
def test_trees_of_a_wide_table_do_not_count_before_they_are_known(n: int, order: str) -> None:
    """They had all the weight for a dozen rows: errors .8, of ridge regression .36."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(600, 100))
    y = X @ rng.normal(size=100) / 10 + 0.3 * rng.normal(size=600)
    first = np.arange(n)
    if order == "sorted":
        first = np.argsort(X[:n, 0])
    model = ks.KernelExperts().fit(X[first], y[first])
    error = np.sqrt(np.mean((model.predict(X[400:]) - y[400:]) ** 2)) / y[400:].std()
    assert error < 0.45


def test_a_trial_of_trees_continues_from_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(420, 60))
    y = X @ rng.normal(size=60) / 8 + 0.3 * rng.normal(size=420)
    whole = ks.KernelExperts(size=40).partial_fit(X[:400], y[:400])
    for cut in (280, 295, 310, 330):
        first = ks.KernelExperts(size=40).partial_fit(X[:cut], y[:cut])
        first.save(tmp_path / "first")
        again = ks.KernelExperts.load(tmp_path / "first")
        for start in range(cut, 400, 5):
            more = slice(start, min(start + 5, 400))
            again.partial_fit(X[more], y[more])
            first.partial_fit(X[more], y[more])
            np.testing.assert_array_equal(again.predict(X[400:]), first.predict(X[400:]))
        np.testing.assert_allclose(again.predict(X[400:]), whole.predict(X[400:]), rtol=1e-9)
