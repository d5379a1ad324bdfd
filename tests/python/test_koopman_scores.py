"""Scores of operators: against dense versions, and as scikit-learn's searches use them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

import kernelstream as ks
from kernelstream import datasets
from kernelstream.koopman import chapman_kolmogorov, prequential_skill, vamp_score
from kernelstream.koopman.chapman import _regression


def _trajectory(seed: int, n: int = 1500) -> np.ndarray:
    return datasets.ornstein_uhlenbeck(n, tau=0.5, random_state=seed).trajectories[0]


def _rotation(n: int, seed: int) -> np.ndarray:
    """A noisy rotation, whose eigenvalues are complex."""
    rng = np.random.default_rng(seed)
    turn = 0.9 * np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    states = [rng.normal(size=2)]
    for noise in rng.normal(size=(n, 2)):
        states.append(turn @ states[-1] + 0.4 * noise)
    return np.array(states)


@pytest.fixture(scope="module")
def model() -> ks.Koopman:
    return ks.presets.recursive_koopman(ks.Gaussian(1.0), 1e-3, 3.0).fit(_trajectory(0))


# ------------------------------------------------------------------------------------- R squared


def test_score_of_a_trajectory_is_that_of_its_pairs(model) -> None:
    T = _trajectory(1)
    expected = r2_score(T[1:], model.predict(T[:-1]))
    assert model.score(T) == pytest.approx(expected)
    assert model.score(T[:-1], T[1:]) == pytest.approx(expected)
    halves = model.score([T[:700], T[700:]])  # without the pair across the cut
    kept = np.delete(np.arange(len(T) - 1), 699)
    assert halves == pytest.approx(r2_score(T[1:][kept], model.predict(T[:-1][kept])))
    assert model.score(T, n_steps=2) == pytest.approx(r2_score(T[2:], model.predict(T[:-2], 2)))


def test_lag_is_that_of_the_trajectory_and_warned_of_with_successive_pairs() -> None:
    T, held_out = _trajectory(0), _trajectory(1)
    two = ks.Koopman(ks.Gaussian(1.0), lag=2).fit(T)
    assert two.score(held_out) == pytest.approx(two.score(held_out[:-2], held_out[2:]))
    with pytest.warns(UserWarning, match="one step apart, but lag=2"):
        two.score(held_out[:-1], held_out[1:])
    with pytest.warns(UserWarning, match="one step apart, but lag=2"):
        ks.Koopman(ks.Gaussian(1.0), lag=2).fit(T[:-1], T[1:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        two.fit(T[:-2], T[2:])  # pairs that are two steps apart, as lag says
    with pytest.raises(ValueError, match="forecasts 2 states ahead need at least 3"):
        two.score(T[:2])
    with pytest.raises(ValueError, match="n_steps=3 needs trajectories"):
        two.score(T[:-2], T[2:], n_steps=3)


def test_score_with_inputs_follows_each_step() -> None:
    rng = np.random.default_rng(0)
    u, x = rng.uniform(-1, 1, (400, 1)), np.zeros((400, 1))
    for t in range(399):
        x[t + 1] = 0.7 * x[t] + 0.5 * u[t]
    driven = ks.Koopman(
        ks.Gaussian(2.0), ks.ALD(1e-5), ks.Ridge(1e-5), n_inputs=1, input_kernel=ks.Linear()
    )
    driven.set_params(input_kernel=ks.Polynomial(1, offset=1.0)).fit(x, inputs=u)
    assert driven.score(x, inputs=u, n_steps=3) > 0.99
    assert driven.score(x, inputs=u[::-1], n_steps=3) < 0.5
    assert driven.score(x[:-1], x[1:], inputs=u[:-1]) > 0.99
    with pytest.raises(ValueError, match="pass the control inputs"):
        driven.score(x)


def test_a_search_over_time_series_finds_the_bandwidth_that_is_not_first() -> None:
    T = _trajectory(2)
    grid = {"kernel": [ks.Gaussian(0.02), ks.Gaussian(1.0)]}
    for scoring in (None, lambda model, T, _=None: model.vamp_score(T, k=3)):
        search = GridSearchCV(ks.Koopman(), grid, cv=TimeSeriesSplit(3), scoring=scoring).fit(T)
        assert search.best_params_["kernel"].bandwidth == 1.0
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


# ------------------------------------------------------------------------------------------ VAMP


def _dense(x: np.ndarray, y: np.ndarray, r: int, k: int) -> float:
    """Equation (33) of Wu and Noe with U = V = 1, from covariances and their inverse roots."""
    x, y = x - x.mean(0), y - y.mean(0)

    def root(c: np.ndarray) -> np.ndarray:
        values, vectors = np.linalg.eigh(c)
        return vectors / np.sqrt(values) @ vectors.T

    singular = np.linalg.svd(root(x.T @ x) @ (x.T @ y) @ root(y.T @ y), compute_uv=False)
    return 1.0 + np.sum(singular[: k - 1] ** r)


@pytest.mark.parametrize(("method", "r"), [("VAMP1", 1), ("VAMP2", 2)])
def test_vamp_is_that_of_dense_covariances(model, method, r) -> None:
    T = _rotation(2000, 0)
    features = np.column_stack([T, T**2, T[:, :1] * T[:, 1:]])
    for k in (2, 4, 6):
        got = vamp_score(features[:-1], features[1:], method, k)
        assert got == pytest.approx(_dense(features[:-1], features[1:], r, k), abs=1e-8)
    H = _trajectory(1)
    functions = model.eigenfunctions(H, 4).real
    expected = _dense(functions[:-1], functions[1:], r, 4)
    assert model.vamp_score(H, method=method, k=4) == pytest.approx(expected, abs=1e-6)


def test_vamp_of_complex_pairs_and_of_the_operator() -> None:
    turning = ks.presets.recursive_koopman(ks.Gaussian(2.0), 1e-3, 1.0).fit(_rotation(3000, 0))
    H = _rotation(3000, 1)
    assert turning.eigenvalues_[1].imag > 0
    whole, said = turning.vamp_score(H, k=3), turning.vamp_score(H, method="VAMPE", k=3)
    assert said <= whole
    assert said == pytest.approx(1 + 2 * 0.9**2, abs=0.1)
    # an operator with wrong eigenvalues spans the same functions but predicts worse
    slow = ks.presets.recursive_koopman(ks.Gaussian(2.0), 1e-3, 1000.0).fit(_rotation(3000, 0))
    assert slow.vamp_score(H, k=3) == pytest.approx(whole, abs=0.1)
    assert slow.vamp_score(H, method="VAMPE", k=3) < said - 0.1
    with pytest.raises(ValueError, match="VAMP3"):
        turning.vamp_score(H, method="VAMP3")


# ----------------------------------------------------------------------------------------- skill


def test_skill_compares_errors_with_persistence_and_the_mean(model) -> None:
    T = _trajectory(1)
    skill = model.skill([T, T[:3]], [1, 6])
    assert skill.n_forecasts.tolist() == [len(T) - 1 + 2, len(T) - 6]
    error = np.sqrt(np.mean((model.predict(T[:-6], 6) - T[6:]) ** 2))
    assert skill.error[1, 0] == pytest.approx(error)
    assert skill.persistence[1, 0] == pytest.approx(np.sqrt(np.mean((T[6:] - T[:-6]) ** 2)))
    # the conditional mean saves exp(-2 * 0.5) of the variance one step ahead
    assert skill.over_climatology[0] == pytest.approx(np.exp(-1.0), abs=0.06)
    assert "6" in str(skill).splitlines()[2]
    with pytest.raises(ValueError, match=r"no forecast \[3\] steps ahead"):
        model.skill(T[:3], [1, 3])


def test_prequential_skill_forecasts_each_block_before_it_is_learned() -> None:
    T = _trajectory(3, 400)
    fresh = ks.presets.recursive_koopman(ks.Gaussian(1.0), 1e-2)
    skill = prequential_skill(fresh, [T, T], [1, 2], block=100)
    again, sums = ks.presets.recursive_koopman(ks.Gaussian(1.0), 1e-2), []
    for piece in (T, T):
        for start in range(0, len(T), 100):
            if again.__sklearn_is_fitted__():
                truth = piece[start + 2 : start + 102]
                sums.append(
                    (again.predict(piece[start : start + 100], 2)[: len(truth)] - truth) ** 2
                )
            again.partial_fit_trajectory(piece[start : start + 100], continued=start > 0)
    assert skill.error[1, 0] == pytest.approx(np.sqrt(np.mean(np.concatenate(sums))))
    np.testing.assert_array_equal(fresh.operator_, again.operator_)


def test_explained_variance_belongs_to_the_functions_that_carry_the_state(model) -> None:
    shares = model.explained_variance(_trajectory(1), 4)
    assert shares[0] == 0.0  # the constant
    assert shares[1] > 0.95
    assert 0.0 <= shares.sum() <= 1.0 + 1e-12
    turning = ks.presets.recursive_koopman(ks.Gaussian(2.0), 1e-3, 1.0).fit(_rotation(2000, 0))
    pair = turning.explained_variance(_rotation(500, 1), 2)
    assert len(pair) == 2
    assert pair[1] == turning.explained_variance(_rotation(500, 1), 3)[2] > 0.45
    T = np.column_stack([_trajectory(0), 0.1 * np.random.default_rng(0).normal(size=1501)])
    noisy = ks.presets.recursive_koopman(ks.Gaussian(1.0), 1e-2, 1.0).fit(T)
    equal = noisy.explained_variance(T, 2)
    weighted = noisy.explained_variance(T, 2, multioutput="variance_weighted")
    assert equal.sum() < 0.9
    assert weighted.sum() > 0.95


# ---------------------------------------------------------------------------- Chapman-Kolmogorov


def test_chapman_kolmogorov_holds_for_a_markov_process_and_not_for_a_hidden_one(model) -> None:
    good = chapman_kolmogorov(model, [_trajectory(1), _trajectory(4)], 4, k=1)
    np.testing.assert_allclose(good.times, [1, 2, 3, 4])
    np.testing.assert_allclose(good.predicted[:, 0].real, np.exp(-0.5 * good.times), atol=0.05)
    assert (good.deviations < 3).all()
    # one coordinate of a rotation is not a state
    x = _rotation(3000, 0)[:, :1]
    partly = ks.presets.recursive_koopman(ks.Gaussian(2.0), 1e-3, 1.0).fit(x)
    bad = chapman_kolmogorov(partly, _rotation(3000, 1)[:, :1], 4, k=1)
    assert bad.deviations.max() > 5
    with pytest.raises(ValueError, match="lower n_steps"):
        chapman_kolmogorov(model, x[:5], 5)


def test_scored_states_with_delays_have_their_past() -> None:
    x = _rotation(1500, 0)[:, :1]
    seen, unseen = x[:1000], [x[1000:1003], x[1003:]]  # the first is shorter than the delays
    parts = {"kernel": ks.Gaussian(4.0), "learner": ks.Ridge(1.0), "basis": ks.ALD(1e-3)}
    model = ks.Koopman(**parts, n_delays=3).fit(seen)
    alone = ks.Koopman(**parts).fit(seen)
    test = [chapman_kolmogorov(m, x, 4, k=1).deviations.max() for m in (alone, model)]
    assert test[1] < 0.5 * test[0]
    assert model.explained_variance(unseen, 3).sum() > 0.5
    fresh = ks.Koopman(**parts, n_delays=3)
    skill = prequential_skill(fresh, seen, [1, 2], block=50)
    assert skill.n_forecasts.tolist() == [949, 948]
    np.testing.assert_allclose(fresh.operator_, model.operator_, atol=1e-9)


# ----------------------------------------------------------------------------------- conventions


def test_rates_frequencies_decays_and_amplitudes_are_one_spectrum() -> None:
    turning = ks.presets.recursive_koopman(ks.Gaussian(2.0), 1e-3, 1.0)
    turning.set_params(time_step=0.25).fit(_rotation(3000, 0))
    values = turning.eigenvalues_[:3]
    np.testing.assert_allclose(
        np.exp((-turning.decay_rates(3) + 2j * np.pi * turning.frequencies(3)) * 0.25), values
    )
    assert turning.frequencies(3)[1] == pytest.approx(0.5 / (2 * np.pi) / 0.25, rel=0.05)
    X = _rotation(20, 2)
    modes, amplitudes = turning.modes(k=3), turning.amplitudes(X, k=3)
    unit = modes / np.linalg.norm(modes, axis=1, keepdims=True)
    np.testing.assert_allclose(
        amplitudes[:, :, None] * unit, turning.dynamical_modes(X, k=3), atol=1e-10
    )


def test_the_timescale_of_the_constant_can_be_left_out(model) -> None:
    with_it, without = model.timescales(3), model.timescales(2, constant=False)
    np.testing.assert_array_equal(with_it[1:], without)
    assert without[0] == pytest.approx(2.0, rel=0.1)
    linear = ks.Koopman(ks.Linear(), learner=ks.Ridge(1e-3)).fit(_trajectory(0))
    np.testing.assert_array_equal(linear.timescales(), linear.timescales(constant=False))


@pytest.mark.parametrize("order", ["as they came", "sorted"])
def test_the_constant_counts_once_in_variational_scores(order) -> None:
    rng = np.random.default_rng(0)
    transitions = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    states = [0]
    for _ in range(5_000):
        states.append(int(rng.choice(3, p=transitions[states[-1]])))
    pairs = np.array([states[:-1], states[1:]])
    if order == "sorted":
        pairs = pairs[:, np.lexsort(pairs)]
    X, X_next = np.eye(3)[pairs]
    joint = X.T @ X_next / len(X)
    scaled = joint / np.sqrt(np.outer(X.mean(axis=0), X_next.mean(axis=0)))
    correlations = np.linalg.svd(scaled, compute_uv=False)
    model = ks.Koopman(ks.Linear(), ks.ALD(1e-10), ks.Ridge(1e-9), n_blocks=1).fit(X, X_next)
    for method, power in (("VAMP1", 1), ("VAMP2", 2)):
        expected = np.sum(correlations**power)
        assert model.vamp_score(X, X_next, method, k=3) == pytest.approx(expected, abs=1e-6)
        assert model.vamp_score(method=method, k=3) == pytest.approx(expected, abs=1e-6)
        assert vamp_score(X, X_next, method) == pytest.approx(expected, abs=1e-6)
    constant = np.full((50, 1), 0.1)
    assert vamp_score(constant, constant) == 1.0


@pytest.mark.parametrize("taus", [(20.0,), (50.0, 3.3)])
def test_a_slow_linear_process_is_not_the_constant(taus) -> None:
    rng = np.random.default_rng(1)
    factors = np.exp(-1.0 / np.array(taus))
    x = np.zeros((20_000, len(taus)))
    for t in range(1, len(x)):
        x[t] = factors * x[t - 1] + np.sqrt(1.0 - factors**2) * rng.normal(size=len(taus))
    for T in (x, x[::-1]):  # the process is reversible
        model = ks.Koopman(ks.Linear(), learner=ks.Ridge(1e-3)).fit(T)
        found = model.timescales(constant=False)
        np.testing.assert_allclose(found, taus, rtol=0.15)
        assert model.explained_variance(T).sum() > 0.9
    affine = ks.Koopman(ks.Polynomial(1, offset=1.0), learner=ks.Ridge(1e-3)).fit(x)
    np.testing.assert_allclose(affine.timescales(constant=False), taus, rtol=0.15)
    assert len(affine.timescales()) == len(taus) + 1


def test_results_for_k_eigenpairs_have_the_same_length() -> None:
    T = _rotation(800, 0)
    model = ks.presets.recursive_koopman(ks.Gaussian(2.0), 1e-3, 1.0).fit(T)
    for k in range(1, 7):
        lengths = {
            len(model.frequencies(k)),
            len(model.timescales(k)),
            len(model.modes(k=k)),
            len(model.explained_variance(T, k)),
            model.amplitudes(T[:2], k=k).shape[1],
            model.eigenfunctions(T[:2], k).shape[1],
        }
        assert lengths == {k}


def test_the_error_of_a_function_on_one_state_alone_is_not_known() -> None:
    spike = np.zeros((60, 3), dtype=np.complex128)
    spike[30, 0] = 2.0
    spike[:, 1] = np.arange(60)
    with np.errstate(all="raise"):
        estimated, error = _regression(spike[:-1], spike[1:])
    assert estimated[0] == 0.0
    np.testing.assert_array_equal(np.isnan(error), [True, False, True])
    assert np.isnan(estimated[2])


@pytest.mark.parametrize("n_delays", [0, 2])
def test_questions_about_frames_do_not_lose_their_names(n_delays):
    t = np.arange(300) / 9
    noise = 0.05 * np.random.default_rng(0).normal(size=(300, 2))
    frame = pd.DataFrame(np.column_stack([np.sin(t), np.cos(t)]) + noise, columns=["u", "v"])
    frames = [frame[:200], frame[200:]]
    named = ks.Koopman(n_delays=n_delays).fit(frames)
    plain = ks.Koopman(n_delays=n_delays).fit([one.to_numpy() for one in frames])
    arrays = [one.to_numpy() for one in frames]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = named.skill(frames, [1, 3])
        score, whole = named.score(frames), named.reconstruct(frames[1])
        prequential_skill(named, frames, [1, 3])
    assert str(found) == str(plain.skill(arrays, [1, 3]))
    assert score == plain.score(arrays)
    np.testing.assert_array_equal(whole, plain.reconstruct(arrays[1]))
