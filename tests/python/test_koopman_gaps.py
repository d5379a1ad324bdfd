"""Rates from pairs whose gaps in time differ."""

from __future__ import annotations

import numpy as np
import pytest

import kernelstream as ks
from kernelstream.koopman.gaps import rates_of_gaps


def _sampled(gaps: np.ndarray, decay: float, turn: float, seed: int) -> np.ndarray:
    """A rotation that decays, kept going by noise, at irregular times."""
    noise = np.random.default_rng(seed).normal(size=len(gaps) + 1) + 0j
    noise += 1j * np.random.default_rng(seed + 1).normal(size=len(gaps) + 1)
    states = [noise[0]]
    for gap, added in zip(gaps, noise[1:], strict=True):
        kept = np.exp((-decay + 1j * turn) * gap)
        states.append(kept * states[-1] + np.sqrt(1.0 - abs(kept) ** 2) * added)
    return np.column_stack([np.real(states), np.imag(states)])


def _draws(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {"poisson": rng.exponential(0.5, n), "lognormal": np.exp(rng.normal(-1.0, 1.0, n))}


@pytest.mark.parametrize("kind", ["poisson", "lognormal"])
def test_rates_of_irregular_samples(kind) -> None:
    gaps = _draws(20_000)[kind]
    T = _sampled(gaps, 1.0, 0.0, 0)[:, :1]
    model = ks.Koopman(ks.Gaussian(1.0), ks.ALD(1e-3), ks.Ridge(0.1), n_blocks=32).fit(
        T[:-1], T[1:]
    )
    scales, errors = model.timescales(2, constant=False, return_std=True, gaps=gaps)
    assert (np.abs(scales - [1.0, 0.5]) < 3.0 * errors).all()
    assert (errors < 0.1).all()
    # As if all gaps were their mean, the decay seems slower.
    model.set_params(time_step=float(gaps.mean()))
    assert (model.timescales(2, constant=False) > [1.15, 0.58]).all()
    np.testing.assert_allclose(model.decay_rates(3, gaps=gaps)[1:] * scales, 1.0)


def test_frequencies_beyond_those_of_the_mean_gap() -> None:
    gaps = _draws(20_000)["poisson"]
    T = _sampled(gaps, 0.3, 4.0, 0)
    model = ks.Koopman(ks.Gaussian(2.0), ks.ALD(1e-2), ks.Ridge(0.1)).fit(T[:-1], T[1:])
    rates = model.rates(6, gaps=gaps)
    turning = rates[np.argmax(model.eigenvalues_[:6].imag)]
    assert turning.real == pytest.approx(-0.3, abs=0.06)
    assert model.frequencies(6, gaps=gaps).max() * 2 * np.pi == pytest.approx(4.0, rel=0.03)


def test_rates_of_known_transforms() -> None:
    rates = np.array([-1.0, -0.3 + 2.0j, -0.3 - 2.0j, 0.0])
    gaps = np.random.default_rng(0).exponential(0.5, 1500)
    values = np.exp(np.multiply.outer(rates, gaps)).mean(axis=1)
    found, slopes = rates_of_gaps(values, gaps)
    np.testing.assert_allclose(found, rates, atol=1e-9)
    moved, _ = rates_of_gaps(values + 1e-6, gaps)
    np.testing.assert_allclose((moved - found) * slopes, 1e-6, rtol=1e-3)
    regular, _ = rates_of_gaps(np.array([0.5 + 0.1j]), np.full(10, 0.2))
    np.testing.assert_allclose(regular, np.log(0.5 + 0.1j) / 0.2)


def test_eigenvalues_without_a_rate_and_wrong_gaps() -> None:
    rates, _ = rates_of_gaps(np.array([-0.2 + 0j]), np.array([0.1, 0.2, 0.4]))
    assert np.isnan(rates).all() or rates.imag.all()
    for wrong in ([], [0.0, 1.0], [1.0, np.inf], [1.0, np.nan]):
        with pytest.raises(ValueError, match="gaps must be positive"):
            rates_of_gaps(np.array([0.5 + 0j]), wrong)
