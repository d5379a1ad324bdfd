"""Types of errors and warnings."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import kernelstream as ks
from kernelstream.exceptions import (
    DataError,
    DriftWarning,
    KernelstreamWarning,
    OutlierWarning,
    UselessPredictionsWarning,
)

X = np.random.default_rng(0).normal(size=(4000, 2))
Y = np.sin(X[:, 0])
NOISY = Y + 0.1 * X[::-1, 1]


@pytest.fixture
def core():
    return ks.KernelRegressor().fit(X[:5], Y[:5])._core


def test_an_error_has_the_place_in_the_data(core):
    bad = X[:5].copy()
    bad[3, 1] = np.nan
    with pytest.raises(DataError, match="row 3, column 1") as caught:
        core.learn(bad, Y[:5, None])
    assert (caught.value.array, caught.value.row, caught.value.column) == ("X", 3, 1)
    assert isinstance(caught.value, ValueError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.row) == (str(caught.value), 3)


def test_an_error_of_the_checks_in_python_has_the_place_too():
    weights = np.ones(5)
    weights[4] = -1.0
    with pytest.raises(DataError) as caught:
        ks.KernelRegressor().fit(X[:5], Y[:5], sample_weight=weights)
    assert (caught.value.array, caught.value.row) == ("sample_weight", 4)
    bad = X[:5].copy()
    bad[1, 1] = np.inf
    with pytest.raises(DataError) as caught:
        ks.KernelRegressor().fit(bad, Y[:5])
    assert (caught.value.array, caught.value.row, caught.value.column) == ("X", 1, 1)


def test_an_error_has_the_reason_without_the_place(core):
    bad = X[:5].copy()
    bad[2, 0] = 1e200
    with pytest.raises(DataError) as caught:
        core.learn(bad, Y[:5, None])
    error = caught.value
    assert (error.array, error.row, error.column) == ("X", 2, 0)
    assert error.reason.startswith("is too large")


def test_an_error_about_a_whole_array_has_no_row(core):
    with pytest.raises(DataError, match="columns") as caught:
        core.learn(X[:5, :1], Y[:5, None])
    assert (caught.value.array, caught.value.row, caught.value.reason) == ("X", None, None)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
def test_an_error_of_a_table_names_the_column():
    model = ks.KernelRegressor(n_warm_up=5)
    model.partial_fit({"a": X[:50, 0], "b": X[:50, 1]}, Y[:50, None])
    with pytest.raises(DataError) as caught:
        model.partial_fit({"a": [0.0, np.nan], "b": [0.0, 1.0]}, Y[:2, None])
    assert (caught.value.row, caught.value.column) == (1, "a")
    assert model.n_seen_ == 50


@pytest.mark.parametrize(
    ("category", "model", "y"),
    [
        (
            UselessPredictionsWarning,
            ks.KernelRegressor(ks.Gaussian(1e-3)),
            np.random.default_rng(1).normal(size=4000),
        ),
        (DriftWarning, ks.KernelRegressor(), np.where(np.arange(4000) < 3000, NOISY, 3 - 3 * Y)),
        (OutlierWarning, ks.KernelExperts(), np.where(np.arange(4000) == 1500, 1e6, Y)),
    ],
)
def test_a_warning_has_a_type_and_comes_once_per_model(category, model, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for start in range(0, 4000, 100):
            model.partial_fit(X[start : start + 100], y[start : start + 100])
    assert [each.category for each in caught].count(category) == 1
    assert issubclass(category, KernelstreamWarning)


def test_modules_of_the_package_are_found_when_first_asked_for():
    code = (
        "import kernelstream as ks; assert ks.exceptions and ks.datasets; "
        "assert not hasattr(ks, 'nothing')"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
