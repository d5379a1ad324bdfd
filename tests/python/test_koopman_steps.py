"""Forecasts of several steps: by powers of the operator, or again from the state forecast."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kernelstream as ks

# Deterministic operators of short records have eigenvalues beyond the unit circle.
pytestmark = pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")


def runge_kutta(field, states, dt, n):
    h = dt / 10
    out = [states]
    for _ in range(n - 1):
        x = out[-1]
        for _ in range(10):
            a = field(x)
            b = field(x + 0.5 * h * a)
            c = field(x + 0.5 * h * b)
            x = x + h * (a + 2.0 * b + 2.0 * c + field(x + h * c)) / 6.0
        out.append(x)
    return np.array(out).transpose(1, 0, 2)


def van_der_pol(x):
    return np.stack([x[:, 1], (1.0 - x[:, 0] ** 2) * x[:, 1] - x[:, 0]], axis=1)


def lorenz(x):
    a, b, c = x.T
    return np.stack([10.0 * (b - a), a * (28.0 - c) - b, a * b - 8.0 / 3.0 * c], axis=1)


def oscillators(count, n, seed):
    starts = np.random.default_rng(seed).uniform(-1.5, 1.5, size=(count, 2))
    return runge_kutta(van_der_pol, starts, 0.25, n)


def share(model, T, n, **how):
    made = model.predict(T[:, 0], n, **how)
    return np.linalg.norm(made - T[:, n]) / np.linalg.norm(T[:, 0] - T[:, n])


@pytest.fixture(scope="module")
def learned():
    return ks.Koopman().fit(list(oscillators(20, 80, 0)))


def test_systems_without_noise_are_forecast_from_the_states_forecast(learned):
    held_out = oscillators(20, 60, 1)
    assert learned.chosen_["by"] != "powers"
    for n in (10, 20, 50):
        assert share(learned, held_out, n) < 0.01
        assert share(learned, held_out, n) < 0.05 * share(learned, held_out, n, by="powers")
    starts = np.random.default_rng(0).normal(loc=[0.0, 0.0, 25.0], size=(15, 3))
    storm = runge_kutta(lorenz, starts, 0.02, 250)
    storm = storm[:, 100:]
    model = ks.Koopman().fit(list(storm[:13]))
    starts = storm[13:]
    assert share(model, starts, 40) < 0.1 * share(model, starts, 40, by="powers")


def test_systems_with_noise_keep_powers():
    rng = np.random.default_rng(0)
    x, states = np.zeros((20, 1)), []
    for noise in rng.normal(size=(100, 20, 1)):
        x = x + 0.1 * (x - x**3) + 0.2 * noise
        states.append(x)
    model = ks.Koopman().fit(list(np.transpose(states, (1, 0, 2))))
    assert model.chosen_["by"] == "powers"
    starts = [[-1.0], [0.3], [1.0]]
    np.testing.assert_array_equal(model.predict(starts, 30), model.predict(starts, 30, by="powers"))


@pytest.mark.parametrize("every", [1, 2, 5])
def test_forecasts_are_those_of_a_loop(learned, every):
    states = oscillators(5, 2, 2)[:, 0]
    slow, now = [], states
    while len(slow) < 12:
        ahead = learned.predict(now, list(range(1, every + 1)), by="powers")
        slow += list(ahead)
        now = ahead[-1]
    steps = [12, 1, 7, 2]
    made = learned.predict(states, steps, by=every)
    np.testing.assert_allclose(made, [slow[n - 1] for n in steps], atol=1e-8)
    if every == 1:
        np.testing.assert_array_equal(learned.predict(states, steps, by="iteration"), made)
    np.testing.assert_allclose(learned.predict(states, 7, by=every), made[2], atol=1e-10)
    np.testing.assert_allclose(learned.predict(states[3:4], 7, by=every), made[2, 3:4], atol=1e-8)


@pytest.mark.parametrize(("lag", "delay"), [(1, 1), (2, 2), (1, 2)])
def test_delays_of_forecasts_are_earlier_states_and_forecasts(lag, delay):
    T = oscillators(10, 80, 0)[:, :, :1]
    model = ks.Koopman(n_delays=3, lag=lag, delay=delay).fit(list(T))
    window = T[0, : 3 * delay + 1]
    path = model.predict(window, list(range(1, 9)), by="iteration")[:, 0]
    if lag == delay:
        known = list(window)
        for n in range(8):
            # Earlier states are between the steps.
            spaced = np.repeat(np.array(known[::-lag][: 3 + 1])[::-1], lag, axis=0)[lag - 1 :]
            one = model.predict(spaced, by="powers")
            np.testing.assert_allclose(path[n], one[-1], atol=1e-7)
            known += [one[-1]] * lag
    assert np.abs(path[:, 0] - T[0, 3 * delay + lag :: lag][:8, 0]).max() < 0.1


def test_any_split_and_a_file_give_the_same(learned, tmp_path):
    T = oscillators(20, 80, 0)
    pieces = ks.Koopman()
    for states in T:
        pieces.partial_fit_trajectory(states[:33])
        pieces.partial_fit_trajectory(states[33:], continued=True)
    learned.save(tmp_path / "model")
    again = ks.load(tmp_path / "model")
    pieces.flush()
    assert pieces.chosen_["by"] == again.chosen_["by"] == learned.chosen_["by"]
    np.testing.assert_array_equal(again.predict(T[0], 40), learned.predict(T[0], 40))
    np.testing.assert_allclose(pieces.predict(T[0], 40), learned.predict(T[0], 40), atol=1e-8)


def test_spectra_and_truncated_forecasts_are_powers(learned):
    x = oscillators(3, 2, 3)[:, 0]
    powers = learned.predict(x, 3, by="powers")
    parts = learned.eigenvalues_**3 * learned.eigenfunctions(x)
    np.testing.assert_allclose((parts @ learned.modes()).real + learned.center_, powers, atol=1e-4)
    assert not np.allclose(learned.predict(x, 3, by=2), powers, rtol=0, atol=1e-8)
    clipped = learned.predict(x, 3, clip_spectrum=True)
    by_powers = learned.predict(x, 3, by="powers", clip_spectrum=True)
    np.testing.assert_array_equal(clipped, by_powers)
    # A way that is given is kept: two steps, and a third from the state forecast.
    again = learned.predict(x, 3, by=2, clip_spectrum=True)
    assert not np.allclose(again, by_powers, rtol=0, atol=1e-4)
    two = learned.predict(x, 2, by="powers", clip_spectrum=True)
    np.testing.assert_allclose(again, learned.predict(two, 1, clip_spectrum=True), atol=1e-8)


def test_forecasts_that_leave_the_data_are_bounded_and_warned_of(learned):
    far = np.array([[30.0, -40.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isfinite(learned.predict(far, [2, 60])).all()
        assert np.isfinite(learned.predict(far, [2, 60], by="iteration")).all()
        x = np.linspace(0.5, 1.5, 40)[:, None]
        square = ks.Koopman(ks.Polynomial(2, offset=1.0), ks.ALD(1e-10), ks.Ridge(1e-10))
        square.fit(x, x**2)
    assert square.predict([[1.1]], 4, by="iteration")[0, 0] == pytest.approx(1.1**16, rel=1e-4)
    with pytest.raises(ValueError, match="overflow"):
        square.predict([[3.0]], 40, by="iteration")


def test_wrong_ways_are_refused(learned):
    x = np.zeros((1, 2))
    for by in ("iterate", 0, -1, 1.5):
        with pytest.raises((ValueError, TypeError), match="by"):
            learned.predict(x, 2, by=by)
    with pytest.raises(ValueError, match="by powers"):
        learned.predict(x, 2, np.cos, by="iteration")
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=(50, 1)), rng.normal(size=(50, 1))
    pushed = ks.Koopman(n_inputs=1).fit(x, 0.5 * x + u, inputs=u)
    with pytest.raises(ValueError, match="single ones"):
        pushed.predict(x, 2, inputs=u, by="powers")
    np.testing.assert_array_equal(
        pushed.predict(x, 2, inputs=u, by="iteration"), pushed.predict(x, 2, inputs=u)
    )
