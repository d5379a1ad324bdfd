"""Experts choose what is safe on clean rows in order; a file in mid-stream continues to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import kernelstream as ks


def clean(kind: str, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    t = np.linspace(0.0, 1.0, n)
    match kind:
        case "line":
            X = (6.0 * t - 3.0)[:, None]
        case "clock":
            X = np.arange(n, dtype=float)[:, None]
        case "circle":
            X = np.c_[np.cos(12.0 * t), np.sin(12.0 * t)]
        case "trajectory":
            X = np.c_[np.sin(12 * t), np.cos(15.6 * t), np.sin(8.4 * t)]
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, np.sin(2.0 * scaled[:, 0]) + 0.5 * scaled[:, -1] ** 2


@pytest.mark.parametrize("kind", ["line", "clock", "circle", "trajectory"])
def test_experts_on_clean_rows_in_order_are_no_worse_than_ridge(kind):
    X, y = clean(kind)
    plain = ks.KernelRegressor().partial_fit(X, y)
    experts = ks.KernelExperts().partial_fit(X, y)
    errors = [np.sqrt(np.mean((m.predict(X) - y) ** 2)) for m in (experts, plain)]
    assert np.abs(experts.predict(X)).max() <= 1.5 * np.abs(y).max()
    assert errors[0] <= max(2.0 * errors[1], 0.05 * y.std())


@pytest.mark.parametrize("tolerance", [1e-6, 1e-10, 0.0])
@pytest.mark.parametrize("kind", ["line", "circle", "trajectory"])
def test_a_file_saved_in_mid_stream_continues_to_the_same_bits(kind, tolerance, tmp_path):
    X, y = clean(kind)
    for learner in (ks.Ridge(1e-6), ks.Ridge(1e-6, history="exact"), ks.OnlineNewton()):
        model = ks.KernelRegressor(
            ks.Gaussian(1.0), ks.ALD(tolerance, max_size=None), learner, scale=False
        ).partial_fit(X[:200], y[:200])
        model.save(tmp_path / "half")
        again = ks.load(tmp_path / "half")
        for one in (model, again):
            one.partial_fit(X[200:], y[200:])
        np.testing.assert_array_equal(again.dictionary_, model.dictionary_)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert (again.transform(X) ** 2).sum(axis=1).max() <= 1.0 + 1e-9


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
@pytest.mark.parametrize("degree", [3, 5, 9])
def test_huge_polynomials_work_or_are_refused_with_a_reason(degree, offset):
    X, _ = clean("trajectory")
    y = np.sin(2.0 * X[:, 0])
    for scale in (True, False):
        learner = ks.Ridge(1e-2, clip=False)
        model = ks.KernelRegressor(ks.Polynomial(degree), ks.ALD(1e-6), learner, scale=scale)
        try:
            model.partial_fit(X + offset, y)
        except ValueError as error:
            assert "row" in str(error)
            continue
        Z = model.transform(X + offset)
        inside = X + offset
        if scale:
            assert np.all(np.isfinite(model.predict(inside)))
            assert np.sqrt(np.mean((model.predict(inside) - y) ** 2)) < 0.5
            continue
        own = ((inside**2).sum(axis=1) / X.shape[1] + 1.0) ** degree
        assert np.all((Z**2).sum(axis=1) <= own * (1.0 + 1e-9))
        assert np.all(np.isfinite(model.predict(inside)))
