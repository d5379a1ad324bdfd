"""States with delays: one coordinate of a system, against Hankel matrices written out."""

from __future__ import annotations

import numpy as np
import pytest

import kernelstream as ks
from kernelstream import datasets

# Every point, and almost no regularization: least squares on the Hankel matrix.
EXACT = {
    "kernel": ks.Polynomial(1, offset=0.0),
    "basis": ks.ALD(1e-9, 50),
    "learner": ks.Ridge(1e-9),
}


def hankel(T: np.ndarray, count: int, step: int) -> np.ndarray:
    """Each state with those before it, the latest first."""
    span = count * step
    return np.array([np.concatenate(T[t - span : t + 1][::-step]) for t in range(span, len(T))])


def waves(count: int = 300, seed: int = 0) -> np.ndarray:
    """Two sums of three oscillations, with noise."""
    rng = np.random.default_rng(seed)
    parts = np.exp(1j * np.outer(np.arange(count), [0.2, 0.9, 1.7])) @ rng.normal(size=(3, 2))
    return parts.real + 0.01 * rng.standard_normal((count, 2))


@pytest.mark.parametrize(("count", "step", "lag"), [(2, 1, 1), (3, 2, 1), (2, 3, 2)])
def test_a_linear_kernel_is_hankel_dynamic_mode_decomposition(count, step, lag) -> None:
    T = waves()
    H = hankel(T, count, step)
    A = np.linalg.lstsq(H[:-lag], H[lag:], rcond=None)[0]
    model = ks.Koopman(**EXACT, n_delays=count, delay=step, lag=lag).fit(T)
    known = np.linalg.eigvals(A)
    for value in known[np.abs(known) > 0.1]:
        assert np.abs(model.eigenvalues_ - value).min() < 1e-6
    np.testing.assert_allclose(
        model.predict(T, 3), (H @ np.linalg.matrix_power(A, 3))[:, :2], atol=1e-6
    )
    window = T[40 : 41 + count * step]
    np.testing.assert_allclose(model.predict(window)[0], model.predict(T)[40], atol=1e-12)
    windows = np.stack([T[i : i + 1 + count * step] for i in (40, 90)])
    np.testing.assert_allclose(model.predict(windows), model.predict(T)[[40, 90]], atol=1e-12)
    parts = model.dynamical_modes(window)
    assert parts.shape == (1, len(model.eigenvalues_), 2)
    total = (model.eigenvalues_[:, None] * parts[0]).sum(axis=0)
    np.testing.assert_allclose(total, model.predict(window)[0], atol=1e-6)


def test_pieces_and_lists_are_the_whole(tmp_path) -> None:
    T = waves(400)
    parameters = {"n_delays": 4, "delay": 3, "lag": 2}
    whole = ks.Koopman(**parameters).partial_fit_trajectory(T)
    pieces = ks.Koopman(**parameters)
    for i, piece in enumerate(np.split(T, [3, 14, 15, 60, 200])):
        pieces.partial_fit_trajectory(piece, continued=True).save(tmp_path / "model")
        pieces = ks.load(tmp_path / "model")
        assert pieces.n_seen_ == max(sum([3, 11, 1, 45, 140, 200][: i + 1]) - 14, 0)
    np.testing.assert_allclose(pieces.operator_, whole.operator_, atol=1e-9)
    split = ks.Koopman(**parameters).fit([T[:200], T[200:]])
    assert split.n_seen_ == whole.n_seen_ - 14


def test_one_coordinate_of_lorenz_is_forecast_with_its_past_alone() -> None:
    x = datasets.lorenz(2600, random_state=1).trajectories[0, :, :1]
    seen, unseen = x[:2100], x[2100:]
    alone = ks.Koopman().fit(seen).score(unseen, n_steps=4)
    model = ks.Koopman(n_delays=4).fit(seen)
    assert alone < 0.8
    assert model.score(unseen, n_steps=4) > 0.97
    skill = model.skill(unseen, [1, 4])
    assert np.all(skill.over_persistence > 0.95)
    assert model.dictionary_.shape == (model.n_stored_, 5)
    assert model.dictionary_next_.shape[1] == model.n_features_in_ == 1
    ahead = model.expectation(lambda s: s[:, 0] ** 2, unseen[:50])
    np.testing.assert_allclose(ahead, unseen[5:51, 0] ** 2, atol=30.0)
    assert model.timescales(3).shape == (3,)


def test_inputs_act_on_states_with_delays() -> None:
    rng = np.random.default_rng(0)
    u, x = rng.uniform(-1, 1, (500, 1)), np.zeros((500, 1))
    for t in range(1, 499):
        x[t + 1] = 1.6 * x[t] - 0.9 * x[t - 1] + 0.3 * u[t]
    linear = {"input_kernel": ks.Polynomial(1, offset=1.0), "learner": ks.Ridge(1e-6)}
    kernel = ks.Polynomial(1, offset=1.0)
    model = ks.Koopman(kernel, ks.ALD(1e-9), n_inputs=1, n_delays=1, **linear)
    model.fit(x[:400], inputs=u[:400])
    np.testing.assert_allclose(model.predict(x[400:402], inputs=u[401:402])[0], x[402], atol=1e-3)
    ahead = model.predict(x[400:402], inputs=u[None, 401:404])
    np.testing.assert_allclose(ahead[0], x[404], atol=1e-2)
    assert model.score(x[400:], inputs=u[400:]) > 0.999


def test_pairs_and_too_few_states_are_refused_with_the_reason() -> None:
    T = waves(60)
    model = ks.Koopman(n_delays=3)
    with pytest.raises(ValueError, match="do not say what came before"):
        model.fit(T[:-1], T[1:])
    with pytest.raises(ValueError, match="delays over 3 steps needs at least 5"):
        model.fit(T[:4])
    model.fit(T)
    with pytest.raises(ValueError, match=r"2 consecutive states were given, .* 4 are needed"):
        model.predict(T[:2])
    with pytest.raises(ValueError, match="delay must be"):
        ks.Koopman(n_delays=3, delay=0).fit(T)


def test_scores_leave_out_short_trajectories_with_a_warning():
    x = ks.datasets.lorenz(600, random_state=0).trajectories[0, :, :1]
    model = ks.Koopman(n_delays=3).fit(x[:400])
    whole = model.score(x[400:], n_steps=2)
    with pytest.warns(
        UserWarning, match=r"takes 6 states: trajectories 0 \(5 states\), 2 \(1 stat"
    ):
        assert model.score([x[:5], x[400:], x[:1]], n_steps=2) == whole
    with pytest.raises(ValueError, match=r"longest of 2 trajectories has 5 states.* at least 6"):
        model.score([x[:5], x[:1]], n_steps=2)


@pytest.mark.parametrize("backwards", [False, True])
def test_the_recipe_for_hankel_matrices_finds_the_eigenvalues_of_a_signal(backwards) -> None:
    t = np.linspace(0, 4 * np.pi, 200)[:150]
    x = np.cos(3 * t) * np.exp(-0.02 * t) + 0.5 * np.sin(5 * t)
    rates = np.array([-0.02 + 3j, 5j])
    if backwards:
        x, rates = x[::-1], -rates
    recipe = ks.Koopman(ks.Linear(), ks.ALD(1e-12), ks.Ridge(1e-12), n_delays=3)
    values = recipe.fit(x[:, None]).eigenvalues_
    for value in np.exp(t[1] * rates):
        assert np.abs(values - value).min() < 1e-7
