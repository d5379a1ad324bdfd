"""Systems under noise: a linear one has an affine kernel, a nonlinear one keeps the Gaussian."""

from __future__ import annotations

import numpy as np
import pytest

import kernelstream as ks

# A wide Gaussian kernel stores nearly every state.
pytestmark = pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
NOISE = 0.1


def linear_system(d, rng):
    A = rng.normal(size=(d, d))
    return A * (0.98 / np.abs(np.linalg.eigvals(A)).max())


def simulated(field, start, n, rng):
    """States (n, d) of a map under process noise."""
    states = np.zeros((n, len(start)))
    states[0] = start
    for t in range(1, n):
        states[t] = field(states[t - 1]) + NOISE * rng.normal(size=len(start))
    return states


def least_squares(trajectories):
    """Coefficients (1 + d, d) of the constant and the states."""
    before = np.concatenate([T[:-1] for T in trajectories])
    after = np.concatenate([T[1:] for T in trajectories])
    return np.linalg.lstsq(np.c_[np.ones(len(before)), before], after, rcond=None)[0]


def one_step(made, T):
    return np.sqrt(np.mean((made - T[1:]) ** 2))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("d", "n", "n_trajectories"), [(10, 300, 1), (10, 120, 6), (20, 400, 1), (20, 150, 5)]
)
def test_a_linear_system_is_forecast_as_well_as_by_least_squares(d, n, n_trajectories, seed):
    rng = np.random.default_rng(seed)
    A = linear_system(d, rng)
    runs = [
        1e3 + 50.0 * simulated(lambda x: A @ x, np.zeros(d), n, rng)
        for _ in range(n_trajectories + 1)
    ]
    *seen, unseen = runs
    model = ks.Koopman().fit(seen)
    W = least_squares(seen)
    linear = one_step(np.c_[np.ones(n - 1), unseen[:-1]] @ W, unseen)
    assert one_step(model.predict(unseen[:-1]), unseen) <= 1.1 * linear
    # The spectrum is that of the matrix, and the constant.
    known = np.sort_complex(np.append(np.linalg.eigvals(W[1:].T), 1.0))
    np.testing.assert_allclose(np.sort_complex(model.eigenvalues_[: d + 1]), known, atol=1e-2)
    # In any units.
    units = 10.0 ** rng.uniform(-4, 4, size=d)
    other = ks.Koopman().fit([units * T - 7.0 for T in seen])
    assert other.chosen_["kernel"] == model.chosen_["kernel"]


def van_der_pol(s):
    for _ in range(10):
        s = s + 0.02 * np.array([s[1], (1 - s[0] ** 2) * s[1] - s[0]])
    return s


def logistic(s):
    """A logistic map, on a circle so that noise does not leave it."""
    return 3.8 * (s % 1.0) * (1.0 - s % 1.0)


def network(s):
    """Units that saturate and are coupled to their neighbours."""
    return np.sin(2.0 * (0.8 * s + 0.5 * (np.roll(s, 1) - np.roll(s, -1))))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("n", [100, 300, 1000])
@pytest.mark.parametrize(
    ("field", "start"), [(van_der_pol, [1.0, 0.0]), (logistic, [0.3]), (network, np.zeros(6))]
)
def test_a_nonlinear_system_under_noise_keeps_the_gaussian_kernel(field, start, n, seed):
    rng = np.random.default_rng(seed)
    T = simulated(field, np.asarray(start), n + 1000, rng)
    seen, unseen = T[:n], T[n:]
    model = ks.Koopman().fit(seen)
    assert isinstance(model.chosen_["kernel"], ks.Gaussian)
    if n > 100:
        made = np.c_[np.ones(len(unseen) - 1), unseen[:-1]] @ least_squares([seen])
        assert one_step(model.predict(unseen[:-1]), unseen) < one_step(made, unseen)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_spectrum_of_one_process_still_has_its_powers(seed):
    rng = np.random.default_rng(seed)
    x = simulated(lambda x: 0.6 * x, np.zeros(1), 10_000, rng)
    model = ks.Koopman().fit(x)
    assert isinstance(model.chosen_["kernel"], ks.Gaussian)
    np.testing.assert_allclose(model.eigenvalues_[:3].real, [1.0, 0.6, 0.36], atol=0.05)
