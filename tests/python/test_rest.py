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


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("width", [2, 6])
@pytest.mark.parametrize("n", [12, 20, 28])
def test_few_states_of_a_linear_system_are_forecast(width: int, n: int) -> None:
    rng = np.random.default_rng(width * n)
    turns = np.exp(1j * rng.uniform(0.3, 2.5, width // 2)) * 0.97
    z = np.cumprod(np.tile(turns, (n + 1, 1)), axis=0)
    T = np.c_[z.real, z.imag] + 1e-3 * rng.normal(size=(n + 1, width))
    model = ks.Koopman().fit(T[:n])
    error = np.linalg.norm(model.predict(T[n - 1 : n]) - T[n]) / np.linalg.norm(T[n])
    assert error < 0.1
    assert np.linalg.norm(model.predict(T[n - 1 : n], 50)) < 10.0


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_few_states_of_a_curved_map_keep_a_gaussian_kernel() -> None:
    x = [0.4]
    for _ in range(27):
        x.append(3.8 * x[-1] * (1.0 - x[-1]))
    assert isinstance(ks.Koopman().fit(np.array(x)[:, None]).chosen_["kernel"], ks.Gaussian)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("damping", [0.0, 0.02])
@pytest.mark.parametrize("tones", [(3.0, 5.0), (2.0, 4.5)])
def test_more_delays_than_needed_find_tones_to_many_digits(damping: float, tones) -> None:
    t = np.linspace(0, 4 * np.pi, 200)
    x = np.cos(tones[0] * t) * np.exp(-damping * t) + 0.5 * np.sin(tones[1] * t)
    true = np.exp((t[1] - t[0]) * np.array([-damping + 1j * tones[0], 1j * tones[1]]))
    model = ks.Koopman(ks.Linear(), ks.ALD(1e-6), ks.Ridge(1e-12), n_delays=19).fit(x[:150, None])
    assert max(np.abs(model.eigenvalues_ - mu).min() for mu in true) < 1e-10
