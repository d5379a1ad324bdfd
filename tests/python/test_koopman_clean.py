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
