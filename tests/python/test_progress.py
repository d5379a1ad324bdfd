"""The progress bar of ``verbose=True``."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import kernelstream as ks
from kernelstream.estimators import progress
from realdata import random_stream


def test_a_bar_is_shown_on_long_work(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    X, y = random_stream(500, 2)
    quiet = ks.KernelRegressor(scale=False).fit(X, y)
    assert capsys.readouterr().out == ""
    loud = ks.KernelRegressor(verbose=True, scale=False).fit(X, y)
    shown = capsys.readouterr().out
    assert "500/500" in shown
    assert "RMSE" in shown
    assert "stored" in shown
    np.testing.assert_array_equal(loud.predict(X), quiet.predict(X))


def test_none_is_shown_on_short_work(capsys):
    X, y = random_stream(50, 2)
    ks.KernelRegressor(verbose=True, scale=False).fit(X, y)
    assert capsys.readouterr().out == ""


def test_without_rich_it_learns_all_the_same(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.live", None)
    X, y = random_stream(50, 2)
    with pytest.warns(UserWarning, match="pip install rich"):
        model = ks.KernelRegressor(verbose=True, scale=False).fit(X, y)
    assert model.n_seen_ == 50
