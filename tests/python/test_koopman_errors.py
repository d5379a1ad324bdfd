"""What the pairs learned say of a spectrum: residuals, scores and standard errors."""

from __future__ import annotations

import warnings
from copy import deepcopy

import numpy as np
import pytest
from scipy.linalg import eig

import kernelstream as ks
from kernelstream import datasets

N_BLOCKS = 16


def _trajectory(seed: int, n: int = 2000) -> np.ndarray:
    return datasets.ornstein_uhlenbeck(n, tau=0.5, random_state=seed).trajectories[0]


def _operator(**parameters) -> ks.Koopman:
    parts = {"learner": ks.Ridge(1.0)} | parameters
    return ks.Koopman(ks.Gaussian(1.0), ks.ALD(1e-4), **parts)


def _frozen(n_blocks: int = N_BLOCKS, forgetting: float = 1.0) -> ks.Koopman:
    """An operator on a fixed dictionary, so that the coordinates of all pairs are known."""
    model = _operator(n_blocks=n_blocks).set_params(learner=ks.Ridge(1.0, forgetting=forgetting))
    return model.fit(_trajectory(9, 300)).freeze_dictionary()


def _rotation(n: int, seed: int) -> np.ndarray:
    """A noisy rotation, whose eigenvalues are complex."""
    rng = np.random.default_rng(seed)
    turn = 0.9 * np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    states = [rng.normal(size=2)]
    for noise in rng.normal(size=(n, 2)):
        states.append(turn @ states[-1] + 0.4 * noise)
    return np.array(states)


def _blocks(n: int) -> list[slice]:
    """The blocks that are made of n pairs: neighbours are joined whenever there are too many."""
    length = 1
    while -(-n // length) > N_BLOCKS:
        length *= 2
    return [slice(start, min(start + length, n)) for start in range(0, n, length)]


def test_residuals_are_those_of_the_pairs_learned() -> None:
    T = _trajectory(0)
    model = _frozen().partial_fit(T[:-1], T[1:])
    raw = model.residuals(T[:-1], T[1:], 5, kind="raw")
    np.testing.assert_allclose(model.residuals(k=5), raw, rtol=1e-7)
    true = np.sqrt(1.0 - np.exp(-np.arange(1, 3)))
    np.testing.assert_allclose(model.residuals(k=3)[1:], true, rtol=0.1)


@pytest.mark.parametrize("method", ["VAMP1", "VAMP2", "VAMPE"])
@pytest.mark.parametrize("k", [1, 2, 4, 5])
def test_scores_are_those_of_the_pairs_learned(method, k) -> None:
    T = _rotation(2000, 0)
    model = ks.Koopman(ks.Gaussian(2.0), ks.ALD(1e-2), ks.Ridge(1.0), n_blocks=1)
    model.fit(_rotation(500, 1)).freeze_dictionary().partial_fit(T[:-1], T[1:])
    assert model.eigenvalues_[1].imag > 0.0  # k = 2 parts a conjugate pair
    held = model.vamp_score(T[:-1], T[1:], method, k)
    assert model.vamp_score(method=method, k=k) == pytest.approx(held, abs=1e-7)


def test_eigenvalue_errors_are_the_infinitesimal_jackknife_over_blocks() -> None:
    T = _rotation(1500, 0)
    model = ks.Koopman(ks.Gaussian(2.0), ks.ALD(1e-1), ks.Ridge(1.0), n_blocks=N_BLOCKS)
    model.fit(_rotation(500, 1)).freeze_dictionary().partial_fit_trajectory(T)
    z, s = model.transform(T[:-1]), model.transform(T[1:])
    inverse = np.linalg.inv(z.T @ z + np.eye(z.shape[1]))
    values, left, right = eig(inverse @ z.T @ s, left=True)
    moved, shares = [], []
    for rows in _blocks(len(z)):
        gap = z[rows].T @ (s[rows] @ right - z[rows] @ right * values)
        by_value = np.sum(left.conj() * (inverse @ gap), axis=0) / np.sum(
            left.conj() * right, axis=0
        )
        moved.append(by_value)
        shares.append(len(z[rows]) / len(z))
    moved, shares = np.array(moved), np.array(shares)
    moved -= shares[:, None] * moved.sum(axis=0)
    scales = np.sum(left.conj() * right, axis=0)
    bias = values * np.sum(left.conj() * (inverse @ right), axis=0) / scales
    left = len(z) - np.trace(inverse @ z.T @ z)
    errors = np.sum(np.abs(moved) ** 2, axis=0) / (1.0 - np.sum(shares**2))
    errors = np.sqrt((len(z) / left) ** 2 * errors + np.abs(bias) ** 2)
    found = [int(np.argmin(np.abs(values - mu))) for mu in model.eigenvalues_[:6]]
    np.testing.assert_allclose(model.eigenvalue_errors_[:6], errors[found], rtol=1e-6)


def test_errors_of_timescales_and_rates_follow_those_of_eigenvalues() -> None:
    model = _operator(n_blocks=N_BLOCKS, time_step=0.5).fit(_trajectory(0))
    scales, stds = model.timescales(3, return_std=True)
    _, of_rates = model.rates(3, return_std=True)
    np.testing.assert_array_equal(scales, model.timescales(3))
    mu, error = model.eigenvalues_[1:3].real, model.eigenvalue_errors_[1:3]
    np.testing.assert_allclose(of_rates[1:].real, error / mu / 0.5)
    np.testing.assert_allclose(stds[1:], scales[1:] ** 2 * error / mu / 0.5)
    assert not of_rates.imag.any()
    others, their_stds = model.timescales(2, constant=False, return_std=True)
    np.testing.assert_array_equal([others, their_stds], [scales[1:], stds[1:]])


def test_an_eigenvalue_of_zero_has_the_timescale_zero() -> None:
    x = np.repeat(np.linspace(-1, 1, 4)[:, None], 20, axis=0)
    # All states go to the origin, which has no coordinates under a linear kernel: the operator is
    # zero, exactly.
    model = _operator(n_blocks=N_BLOCKS).set_params(kernel=ks.Linear()).fit(x, np.zeros_like(x))
    gone = model.eigenvalues_ == 0.0
    assert gone.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scales, _ = model.timescales(return_std=True)
        rates, _ = model.rates(return_std=True)
    np.testing.assert_array_equal(scales[gone], 0.0)
    assert (rates.real[gone] == -np.inf).all()


def test_errors_cover_known_eigenvalues() -> None:
    known, covered = np.exp(-0.5 * np.arange(1, 3)), []
    for seed in range(40):
        model = _operator(n_blocks=32).fit(_trajectory(seed, 4000))
        errors = np.abs(model.eigenvalues_[1:3] - known)
        covered.append(errors < 2.0 * model.eigenvalue_errors_[1:3])
    # At 95 %, fewer than 34 of 40 are drawn 4 times in 1,000.
    assert (np.sum(covered, axis=0) >= 34).all()
    assert not np.all(covered)


@pytest.mark.parametrize("n", [8, 12, 40])
def test_errors_of_few_pairs_cover_known_eigenvalues(n) -> None:
    turn = 0.8 * np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    known, covered = 0.8 * np.exp(0.5j), []
    for seed in range(200):
        noise = np.random.default_rng(seed).normal(size=(n + 41, 2))
        states = [noise[0]]
        for one in noise[1:]:
            states.append(turn @ states[-1] + one)
        model = ks.Koopman(ks.Linear(), ks.ALD(1e-10), ks.Ridge(1e-8), n_blocks=N_BLOCKS)
        model.fit(np.array(states[-n - 1 :]))
        values = model.eigenvalues_
        nearest = int(np.argmin(np.abs(values - known)))
        covered.append(np.abs(values[nearest] - known) < 2.0 * model.eigenvalue_errors_[nearest])
    # At 93 %, fewer than 178 of 200 are drawn twice in 100.
    assert np.sum(covered) >= 178


def test_errors_are_infinite_where_the_pairs_are_fitted_exactly() -> None:
    states = np.random.default_rng(0).normal(size=(11, 2))
    model = ks.Koopman(ks.Gaussian(0.3), ks.ALD(1e-10), ks.Ridge(1e-8), n_blocks=N_BLOCKS)
    with pytest.warns(UserWarning, match="10 pairs and an operator with 10.0 degrees"):
        errors = model.fit(states).eigenvalue_errors_
    assert len(errors)
    assert np.isinf(errors).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rates = model.rates(2, return_std=True)[1]
        scales = model.timescales(2, return_std=True)[1]
    assert np.isinf([rates.real, rates.imag, scales]).all()
    # A stronger regularization leaves degrees of freedom.
    model.set_params(learner=ks.Ridge(1.0)).fit(states)
    assert np.isfinite(model.eigenvalue_errors_).all()


def test_forgotten_pairs_count_less() -> None:
    T, keep = _trajectory(0, 400), 0.99
    model = _frozen(1, keep).partial_fit(T[:-1], T[1:])
    ages = keep ** np.arange(len(T) - 2, -1, -1.0)
    now, later = model.eigenfunctions(T[:-1], 3), model.eigenfunctions(T[1:], 3)
    gap = np.abs(later - model.eigenvalues_[:3] * now) ** 2
    raw = np.sqrt(ages @ gap / (ages @ np.abs(now) ** 2))
    np.testing.assert_allclose(model.residuals(k=3), raw, rtol=1e-7)
    blocks = _frozen(N_BLOCKS, keep).partial_fit(T[:-1], T[1:])
    np.testing.assert_allclose(blocks.residuals(k=3), raw, rtol=1e-7)
    assert np.isfinite(blocks.eigenvalue_errors_[:3]).all()


def test_any_way_of_cutting_the_stream_gives_the_same() -> None:
    T = _trajectory(0, 700)
    whole, pieces = _operator(n_blocks=N_BLOCKS).fit(T), _operator(n_blocks=N_BLOCKS)
    for piece in np.array_split(T, 9):
        pieces.partial_fit_trajectory(piece, continued=True)
    np.testing.assert_allclose(
        pieces.eigenvalue_errors_[:4], whole.eigenvalue_errors_[:4], rtol=1e-6
    )
    np.testing.assert_allclose(pieces.residuals(k=4), whole.residuals(k=4), rtol=1e-8)


def test_merged_parts_have_the_sums_of_all() -> None:
    T, U = _trajectory(0), _trajectory(1)
    frozen = _frozen()
    parts = [deepcopy(frozen).partial_fit_trajectory(t) for t in (T, U)]
    merged = parts[0].merge(parts[1])
    before, after = np.concatenate([T[:-1], U[:-1]]), np.concatenate([T[1:], U[1:]])
    raw = merged.residuals(before, after, 4, kind="raw")
    np.testing.assert_allclose(merged.residuals(k=4), raw, rtol=1e-7)
    one = frozen.partial_fit_trajectory([T, U])
    ratio = merged.eigenvalue_errors_[1:4] / one.eigenvalue_errors_[1:4]
    np.testing.assert_allclose(ratio, 1.0, atol=0.3)


def test_eight_parts_merged_have_the_spectrum_of_one_stream_within_its_errors() -> None:
    T = _trajectory(0, 8000)
    one = _operator(n_blocks=32).fit(T)
    merged = _operator(n_blocks=32).merge(
        *(_operator(n_blocks=32).fit(part) for part in np.array_split(T, 8))
    )
    gap = np.abs(merged.eigenvalues_[:4] - one.eigenvalues_[:4])
    assert (gap[1:] < one.eigenvalue_errors_[1:4]).all()
    assert gap[0] < 1e-3
    assert gap[1:].all()
    ratio = merged.eigenvalue_errors_[1:4] / one.eigenvalue_errors_[1:4]
    np.testing.assert_allclose(ratio, 1.0, atol=0.4)


def test_a_saved_model_continues_with_its_sums(tmp_path) -> None:
    T = _trajectory(0, 600)
    model = _operator(n_blocks=N_BLOCKS).fit(T[:300])
    model.save(tmp_path / "model")
    again = ks.load(tmp_path / "model")
    for each in (model, again):
        each.partial_fit_trajectory(T[300:], continued=True)
    np.testing.assert_array_equal(again.eigenvalue_errors_, model.eigenvalue_errors_)
    np.testing.assert_array_equal(again.residuals(), model.residuals())


def test_operators_without_sums_raise_an_error() -> None:
    T = _trajectory(0, 200)
    model = _operator().fit(T)
    for ask in (model.residuals, model.vamp_score, lambda: model.eigenvalue_errors_):
        with pytest.raises(ValueError, match="n_blocks"):
            ask()
    with pytest.raises(ValueError, match="4 blocks of the stream or more, and there are 1"):
        _ = _operator(n_blocks=1).fit(T).eigenvalue_errors_
    with pytest.raises(ValueError, match="both X and X_next"):
        model.residuals(T)
    with pytest.raises(ValueError, match="needs held-out pairs"):
        model.residuals(kind="projected")
    for wrong in (
        {"n_blocks": 5},
        {"n_blocks": 32, "learner": ks.Replay(ks.Ridge(1.0), 10)},
        {"n_blocks": 32, "n_inputs": 1},
    ):
        with pytest.raises(ValueError, match="n_blocks"):
            _operator(**wrong).fit(T, inputs=T if "n_inputs" in wrong else None)
    with pytest.raises(ValueError, match="n_blocks"):
        _operator(n_blocks=32).set_params(learner=ks.Gradient(step=0.1)).fit(T)
