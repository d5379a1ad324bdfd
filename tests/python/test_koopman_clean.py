"""Clean trajectories with nothing chosen: the operator learns, and its frequencies are right."""

from __future__ import annotations

import numpy as np
import pytest

import kernelstream as ks


def runge_kutta(field, state, dt, n):
    states = [np.asarray(state, dtype=float)]
    steps = max(1, round(dt / 2e-3))
    h = dt / steps
    for _ in range(n - 1):
        x = states[-1]
        for _ in range(steps):
            a = field(x)
            b = field(x + 0.5 * h * a)
            c = field(x + 0.5 * h * b)
            x = x + h * (a + 2.0 * b + 2.0 * c + field(x + h * c)) / 6.0
        states.append(x)
    return np.array(states)


def lorenz(x):
    return np.array(
        [10.0 * (x[1] - x[0]), x[0] * (28.0 - x[2]) - x[1], x[0] * x[1] - 8.0 / 3.0 * x[2]]
    )


def pendulum(x):
    return np.array([x[1], -np.sin(x[0])])


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize(
    ("field", "start", "dt", "worst"),
    [
        (lorenz, [-8.0, 8.0, 27.0], 0.01, 1e-2),
        (lorenz, [-8.0, 8.0, 27.0], 0.005, 1e-2),
        (lorenz, [-8.0, 8.0, 27.0], 0.002, 1e-2),
        (pendulum, [1.0, 0.0], 0.1, 1e-4),
    ],
)
def test_trajectories_are_learned_with_nothing_chosen(field, start, dt, worst):
    T = runge_kutta(field, start, dt, 500)
    model = ks.Koopman().fit(T)
    error = np.sqrt(np.mean((model.predict(T[:-1]) - T[1:]) ** 2))
    assert error <= worst * T.std()
    # Sums with an affine kernel are not bounded.
    if isinstance(model.chosen_["kernel"], ks.Gaussian):
        assert (np.abs(model.transform(T)) ** 2).sum(axis=1).max() <= 1.0 + 1e-9


def test_a_circle_has_multiples_of_its_frequency_and_no_decay():
    t = 0.1 * np.arange(1000)
    model = ks.Koopman().fit(np.c_[np.cos(t), np.sin(t)])
    values = model.eigenvalues_[:5]
    np.testing.assert_allclose(np.abs(values), 1.0, atol=1e-4)
    turns = np.sort(np.abs(np.angle(values))) / 0.1
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-3)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
@pytest.mark.parametrize(
    ("tolerance", "history", "scale"),
    [(1e-6, "none", True), (1e-12, "none", False), (1e-12, "none", True), (1e-6, "exact", True)],
)
def test_the_field_of_the_lorenz_system_is_learned_in_order(tolerance, history, scale):
    T = runge_kutta(lorenz, [-8.0, 8.0, 27.0], 1e-3, 10_000)
    if history == "exact":
        T = T[::10]
    slopes = np.array([lorenz(x) for x in T])
    learner = ks.Ridge(1e-8, clip=False, history=history)
    kernel = ks.Polynomial(2, scale=1.0, offset=1.0)
    model = ks.KernelRegressor(kernel, ks.ALD(tolerance), learner, scale=scale)
    made = model.partial_fit(T, slopes).predict(T)
    assert np.linalg.norm(made - slopes) <= 4e-6 * np.linalg.norm(slopes)


def damped_oscillator(x):
    return np.array([x[1], -4.0 * x[0] - 0.2 * x[1]])


def trajectories(field, dt, n, k, seed=0):
    starts = np.random.default_rng(seed).uniform(-1.0, 1.0, (k, 2))
    return [runge_kutta(field, start, dt, n) for start in starts]


def share_of_persistence(model, field, dt):
    """Error one step ahead from other states, as a share of that of persistence."""
    pairs = np.array(trajectories(field, dt, 2, 20, seed=1))
    gap = model.predict(pairs[:, 0]) - pairs[:, 1]
    return np.sqrt((gap**2).mean() / ((pairs[:, 1] - pairs[:, 0]) ** 2).mean())


@pytest.mark.parametrize(("dt", "n", "k"), [(0.001, 100, 30), (0.01, 100, 30), (0.01, 3000, 1)])
@pytest.mark.parametrize("order", ["as made", "reversed", "sorted"])
def test_rates_of_a_finely_sampled_linear_system_are_exact(dt, n, k, order):
    T = trajectories(damped_oscillator, dt, n, k)
    if order == "reversed":
        T = T[::-1]
    elif order == "sorted":
        T = sorted(T, key=lambda states: states[0, 0])
    model = ks.Koopman(time_step=dt).fit(T)
    true = -0.1 + 1j * np.sqrt(4.0 - 0.01)
    rates = np.sort_complex(np.asarray(model.rates()[:3], dtype=complex))
    np.testing.assert_allclose(rates, [true.conjugate(), true, 0.0], atol=1e-6)
    assert share_of_persistence(model, damped_oscillator, dt) < 1e-4


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("dt", [0.001, 0.01])
def test_forecasts_of_a_finely_sampled_pendulum_are_better_than_persistence(dt):
    T = trajectories(pendulum, dt, 100, 30)
    model = ks.Koopman(time_step=dt).fit(T)
    assert share_of_persistence(model, pendulum, dt) < 0.01
    # Any split into calls.
    parts = ks.Koopman(time_step=dt)
    for states in T:
        for piece, continued in [(states[:37], False), (states[37:], True)]:
            parts.partial_fit_trajectory(piece, continued=continued)
    np.testing.assert_allclose(parts.predict(T[0]), model.predict(T[0]), atol=1e-9)
