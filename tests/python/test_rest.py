"""Records that come to rest: their linear map is found, and their spectrum always returns."""

from __future__ import annotations

import numpy as np
import pytest

import kernelstream as ks


def spiral(mu: complex, n: int, noise: float = 0.0) -> np.ndarray:
    z = mu ** np.arange(n)
    return np.c_[z.real, z.imag] + noise * np.random.default_rng(0).normal(size=(n, 2))


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.SentinelWarning")
@pytest.mark.parametrize("mu", [0.95 * np.exp(0.3j), 0.9 * np.exp(1.1j), 0.97 * np.exp(0.05j)])
@pytest.mark.parametrize("n", [200, 400, 1000])
def test_a_damped_spiral_is_found(mu: complex, n: int) -> None:
    values = ks.Koopman().fit(spiral(mu, n)).eigenvalues_
    assert np.abs(values - mu).min() < 1e-4
    noisy = ks.Koopman().fit(spiral(mu, n, 1e-3)).eigenvalues_
    assert np.abs(noisy - mu).min() < 1e-3


@pytest.mark.parametrize("a", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [500, 1000])
def test_a_decay_is_forecast_from_where_it_was(a: float, n: int, tmp_path) -> None:
    model = ks.Koopman().fit((a ** np.arange(n))[:, None])
    asked = np.array([[0.9], [0.6], [0.31], [0.12]])
    np.testing.assert_allclose(model.predict(asked), a * asked, rtol=1e-3)
    assert np.abs(model.eigenvalues_ - a).min() < 1e-3
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(ks.load(tmp_path / "model").predict(asked), model.predict(asked))


def test_a_continued_model_keeps_its_kernel() -> None:
    t = np.arange(600)
    for record in (np.sin(0.2 * t), np.random.default_rng(0).normal(size=600), np.sin(t**1.1)):
        assert isinstance(ks.Koopman().fit(record[:, None]).chosen_["kernel"], ks.Gaussian)
