"""The operator learners: against slow references, on systems with known answers, at the edges."""

from __future__ import annotations

import copy
import pickle
import time

import numpy as np
import pytest
from sklearn.base import clone

import kernelstream as ks
from kernelstream import datasets
from koopman_reference import (
    SparseGradient,
    all_points,
    batch_kernel_edmd,
    dense_least_squares,
    expectation,
    gaussian,
    spectrum,
)


def _pairs(count: int, seed: int, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, d))
    return x, 0.8 * x + 0.1 * rng.standard_normal((count, d))


def _ornstein_uhlenbeck(count: int, seed: int, theta: float = 0.5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    decay = np.exp(-theta)
    noise = np.sqrt(1 - decay**2) * rng.standard_normal(count)
    x = np.empty(count + 1)
    x[0] = rng.standard_normal()
    for t in range(count):
        x[t + 1] = decay * x[t] + noise[t]
    return x[:, None]


def _recursive(bandwidth: float, **changes: float) -> ks.Koopman:
    return ks.presets.recursive_koopman(ks.Gaussian(bandwidth), **changes)


MODELS = {
    "recursive": lambda: ks.presets.recursive_koopman(ks.Gaussian(0.6), 1e-2, 1e-2),
    "forgetting": lambda: ks.presets.recursive_koopman(
        ks.Gaussian(0.6), 1e-2, 1e-2, forgetting=0.99
    ),
    "sparse": lambda: ks.presets.sparse_koopman(ks.Gaussian(0.6), 0.3, 0.05),
    "paired": lambda: ks.presets.sparse_koopman(
        ks.Gaussian(0.6), 0.3, 0.05, paired=True, averaging=True, regularization=1e-3
    ),
    "shared_gradient": lambda: ks.Koopman(
        ks.Gaussian(0.6), ks.ALD(1e-2), ks.Gradient(step=0.2, schedule="inverse_sqrt")
    ),
    "replayed": lambda: ks.presets.sparse_koopman(
        ks.Gaussian(0.6), 0.3, 0.05, replay=16, passes=2, random_state=3
    ),
}
each_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())


def _bytes(model: ks.Koopman) -> bytes:
    return model._core.to_bytes()


# ---------------------------------------------------------------------- against the references


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("budget", [0.0, 0.03, 0.12])
def test_sparse_gradient_is_the_best_on_its_dictionary(
    paired: bool, budget: float, seed: int
) -> None:
    x, after = _pairs(18, seed)
    slow = SparseGradient(
        gaussian(0.6), step=0.4, tolerance=budget, shrink=0.05, paired=paired, floor=1e-6
    )
    learner = ks.Gradient("half_squared", step=0.4, regularization=0.05)
    rule = ks.HilbertSchmidt(budget, pivot_floor=1e-6)
    model = ks.Koopman(ks.Gaussian(0.6), rule.set_params(paired=paired), learner)
    for a, b in zip(x, after, strict=True):
        stored = slow.learn(a, b)
        before = (
            (model.n_stored_, len(model.dictionary_next_)) if hasattr(model, "_core") else (0, 0)
        )
        model.learn_one(a, b)
        assert (model.n_stored_ - before[0], len(model.dictionary_next_) - before[1]) == stored
    np.testing.assert_array_equal(model.dictionary_, np.array(slow.dictionary))
    np.testing.assert_array_equal(model.dictionary_next_, np.array(slow.dictionary_next))
    np.testing.assert_allclose(model.operator_, slow.in_coordinates(), atol=1e-10)

    expected, _ = spectrum(gaussian(0.6), slow.w, model.dictionary_, model.dictionary_next_)
    np.testing.assert_allclose(model.eigenvalues_[:3], expected[:3], atol=1e-9)
    values = np.cos(2 * model.dictionary_next_[:, 0])
    np.testing.assert_allclose(
        model.expectation(values, x),
        expectation(gaussian(0.6), slow.w, model.dictionary_, values, x),
        atol=1e-9,
    )


def test_the_steps_of_the_paper_and_of_the_gradient_learner() -> None:
    # squared loss has twice the slope of half the square
    x, after = _pairs(40, 4)
    rule = ks.HilbertSchmidt(0.05)
    halves = ks.Koopman(ks.Gaussian(0.5), rule, ks.Gradient("half_squared", 0.4)).fit(x, after)
    whole = ks.Koopman(ks.Gaussian(0.5), rule, ks.Gradient("squared", 0.2)).fit(x, after)
    assert halves.n_stored_ == whole.n_stored_ < 40
    np.testing.assert_allclose(halves.operator_, whole.operator_, atol=1e-13)


def test_a_budget_of_a_power_of_a_falling_step() -> None:
    x, after = _pairs(300, 5)
    schedule = {"power": {"half_life": 50.0, "exponent": 0.5}}
    falling = ks.presets.sparse_koopman(
        ks.Gaussian(0.5), 0.4, 2.0, power=3.0, schedule=schedule
    ).fit(x, after)
    constant = ks.presets.sparse_koopman(ks.Gaussian(0.5), 0.4, 2 * 0.4**3, schedule=schedule).fit(
        x, after
    )
    assert constant.n_stored_ < falling.n_stored_


@pytest.mark.parametrize("schedule", ["constant", "inverse_sqrt"])
def test_a_zero_budget_on_distinct_points_is_the_basic_recursion(schedule: str) -> None:
    x, after = _pairs(9, 7)
    steps = 0.4 / (np.sqrt(np.arange(9) + 1.0) if schedule == "inverse_sqrt" else np.ones(9))
    kernel, w = gaussian(0.3), all_points(gaussian(0.3), x, steps, 0.05)
    model = ks.presets.sparse_koopman(
        ks.Gaussian(0.3), 0.4, 0.0, regularization=0.05, schedule=schedule
    )
    model.partial_fit(x[:4], after[:4]).partial_fit(x[4:], after[4:])
    expected, _ = spectrum(kernel, w, x, after)
    np.testing.assert_allclose(model.eigenvalues_, expected, atol=1e-9)
    values = np.sin(after)
    np.testing.assert_allclose(
        model.expectation(values, x), expectation(kernel, w, x, values, x), atol=1e-9
    )
    functions = model.eigenfunctions(x, 3)
    ahead = expectation(kernel, w, x, model.eigenfunctions(after, 3), x)
    np.testing.assert_allclose(ahead, functions * model.eigenvalues_[:3], atol=1e-9)


@pytest.mark.parametrize("regularization", [1e-3, 1.0])
def test_recursive_least_squares_is_dense_least_squares(regularization: float) -> None:
    path = _ornstein_uhlenbeck(400, 8)
    x, after = path[:-1], path[1:]
    slow = dense_least_squares(
        gaussian(1.0), x, after, tolerance=1e-3, regularization=regularization
    )
    for model in (
        _recursive(1.0, regularization=regularization).fit(x, after),
        _recursive(1.0, regularization=regularization).fit_trajectory(path),
    ):
        np.testing.assert_array_equal(model.dictionary_, slow.dictionary)
        np.testing.assert_allclose(model.operator_.T, slow.operator, atol=1e-8)


@pytest.mark.parametrize("regularization", [1e-3, 1.0])
def test_recursive_least_squares_comes_near_batch_kernel_edmd(regularization: float) -> None:
    path = _ornstein_uhlenbeck(2000, 0)
    batch = batch_kernel_edmd(gaussian(1.0), path[:-1], path[1:], regularization)
    model = _recursive(1.0, tolerance=1e-3, regularization=regularization).fit_trajectory(path)
    assert model.n_stored_ <= 24
    np.testing.assert_allclose(model.eigenvalues_[:3], batch[:3], atol=2e-3)


# ---------------------------------------------------------------------------- known spectra


def test_ornstein_uhlenbeck_in_a_fraction_of_a_second() -> None:
    path = _ornstein_uhlenbeck(10_000, 3)
    model = _recursive(1.0, tolerance=1e-3, regularization=1.0)
    begun = time.process_time()
    model.fit_trajectory(path)
    values = model.eigenvalues_
    assert time.process_time() - begun < 0.2
    assert model.n_stored_ <= 40
    np.testing.assert_allclose(values[:5], np.exp(-0.5 * np.arange(5)), atol=0.05)
    np.testing.assert_allclose(model.timescales(3)[1:], [2.0, 1.0], rtol=0.1)
    np.testing.assert_allclose(model.rates(3)[1:], [-0.5, -1.0], rtol=0.1)


def test_shuffled_and_averaged_gradient_is_right_where_ordered_is_not() -> None:
    path = _ornstein_uhlenbeck(10_000, 1)
    settings = {"kernel": ks.Gaussian(1.0), "step": 0.3, "tolerance": 1.0, "power": 3.0}
    ordered = ks.presets.sparse_koopman(**settings, averaging=True).fit_trajectory(path)
    shuffled = ks.presets.sparse_koopman(
        **settings, averaging=True, replay=10_000, random_state=0
    ).fit_trajectory(path)
    assert abs(ordered.eigenvalues_[1]) < 0.5
    assert abs(shuffled.eigenvalues_[1] - np.exp(-0.5)) < 0.03
    assert shuffled.n_pending_ == 0


def test_two_far_apart_states_are_a_markov_chain() -> None:
    transition = np.array([[0.9, 0.1], [0.3, 0.7]])
    rng = np.random.default_rng(0)
    path = [0]
    for u in rng.uniform(size=20_000):
        path.append(int(u >= transition[path[-1], 0]))
    model = _recursive(0.1, regularization=1e-6).fit_trajectory(10.0 * np.array(path)[:, None])
    counts = np.zeros((2, 2))
    np.add.at(counts, (path[:-1], path[1:]), 1.0)
    estimate = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.eigenvalues_, [1.0, np.trace(estimate) - 1], atol=1e-7)
    np.testing.assert_array_equal(model.dictionary_, [[0.0], [10.0]])
    np.testing.assert_allclose(model.expectation(np.eye(2), model.dictionary_), estimate, atol=1e-7)
    np.testing.assert_allclose(model.weights([[10.0]])[0], estimate[1], atol=1e-7)


def test_a_rotation_has_its_roots_of_unity() -> None:
    angle = 2 * np.pi * np.arange(200)[:, None] / 8
    circle = np.hstack([np.cos(angle), np.sin(angle)])
    model = ks.Koopman(ks.Gaussian(0.5), ks.ALD(1e-6), ks.Ridge(1e-9), time_step=0.5)
    model.fit(circle)
    assert model.n_stored_ == 8
    roots = np.exp(2j * np.pi * np.arange(8) / 8)
    for root in roots:
        assert np.abs(model.eigenvalues_ - root).min() < 1e-6
    np.testing.assert_allclose(model.predict(circle[:3], 5), circle[5:8], atol=1e-6)
    np.testing.assert_allclose(model.predict(circle[:3], 800), circle[:3], atol=1e-4)
    speeds = np.sort(model.rates().imag)
    np.testing.assert_allclose(speeds[-2], 2 * np.pi * 3 / 8 / 0.5, rtol=1e-6)


# ---------------------------------------------------------------------------------- spectrum


def _spiral(make=None, n: int = 60) -> tuple[ks.Koopman, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (n * 10, 2))
    turn = 0.95 * np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
    after = x @ turn.T
    model = make() if make else _recursive(1.0, tolerance=1e-6, regularization=1e-8)
    return model.fit(x, after), x, after


@each_model
def test_spectrum_is_ordered_and_whole(make) -> None:
    model, x, _ = _spiral(make)
    values = model.eigenvalues_
    moduli = np.abs(values)
    assert np.all(np.diff(moduli) <= 1e-9 * moduli[0])
    j = 0
    while j < len(values):
        if values[j].imag != 0:
            assert values[j].imag > 0
            assert values[j + 1] == values[j].conj()
            functions = model.eigenfunctions(x[:5], j + 2)
            np.testing.assert_array_equal(functions[:, j + 1], functions[:, j].conj())
            j += 1
        j += 1
    assert np.any(values.imag > 0)
    again = make().fit(*_spiral(make)[1:])
    np.testing.assert_array_equal(again.eigenvalues_, values)


def test_eigenfunctions_are_normalised_and_keep_their_signs() -> None:
    path = _ornstein_uhlenbeck(4000, 9)
    model = _recursive(1.0, tolerance=1e-3, regularization=1.0)
    grid = np.linspace(-2, 2, 9)[:, None]
    earlier = None
    for piece in np.split(path[:4000], 8):
        model.partial_fit_trajectory(piece, continued=True)
        on_points = model.eigenfunctions(model.dictionary_, 3)
        np.testing.assert_allclose(np.mean(np.abs(on_points) ** 2, axis=0), 1.0, atol=1e-9)
        now = model.eigenfunctions(grid, 3).real
        if earlier is not None:
            assert np.all(np.sum(now * earlier, axis=0) > 0)
        earlier = now


@each_model
def test_right_and_left_eigenfunctions(make) -> None:
    model, x, _ = _spiral(make)
    k = 5 if model.eigenvalues_[4].imag <= 0 else 6
    values, left, right = model.eig(eval_left_on=model.dictionary_next_, eval_right_on=x)
    np.testing.assert_array_equal(values, model.eigenvalues_)
    right, values = right[:, :k], values[:k]
    # The operator takes phi to mu phi: its expectation by the embedding, from values at the next
    # states.
    on_next = model.eigenfunctions(model.dictionary_next_, k)
    real, imaginary = (model.expectation(part, x) for part in (on_next.real, on_next.imag))
    np.testing.assert_allclose(real + 1j * imaginary, right * values, atol=1e-6)
    assert left.shape == (len(model.dictionary_next_), len(model.eigenvalues_))
    # Dual: <left_i, right_j> = delta_ij; left is sum_a c_a k(e_a, .)
    kernel = gaussian(0.6 if make is not None else 1.0)
    left = model.eigenfunctions(model.dictionary_next_, k, left=True)
    gram = kernel(model.dictionary_next_, model.dictionary_next_)
    coefficients = np.linalg.lstsq(gram, left, rcond=1e-14)[0]
    np.testing.assert_allclose(coefficients.conj().T @ on_next, np.eye(k), atol=1e-4)


def test_residuals_tell_true_pairs_from_spurious_ones() -> None:
    model, _, _ = _spiral()
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (2000, 2))
    turn = 0.95 * np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
    raw = model.residuals(x, x @ turn.T, 10, kind="raw")
    projected = model.residuals(x, x @ turn.T, 10)
    assert np.all(raw[:3] < 1e-2)
    np.testing.assert_allclose(projected, raw, rtol=0.1, atol=1e-3)

    path = _ornstein_uhlenbeck(10_000, 3)
    noisy = _recursive(1.0, regularization=1.0).fit_trajectory(path)
    held = _ornstein_uhlenbeck(20_000, 30)
    raw = noisy.residuals(held[:-1], held[1:], 4, kind="raw")
    truth = np.exp(-0.5 * np.arange(4))
    np.testing.assert_allclose(raw, np.sqrt(1 - truth**2), atol=0.03)
    assert np.all(noisy.residuals(held[:-1], held[1:], 4) < 0.1)


# --------------------------------------------------------------------------------- forecasts


@each_model
def test_forecasts_agree_with_each_other(make) -> None:
    model, x, _ = _spiral(make)
    starts = x[:4]
    path = model.predict(starts, [3, 1, 2])
    assert path.shape == (3, 4, 2)
    np.testing.assert_allclose(path[0], model.predict(starts, 3), atol=1e-12)
    # one more step of a function is one step of its expectation
    f = np.cos(model.dictionary_next_)
    once = model.expectation(f, model.dictionary_next_)
    np.testing.assert_allclose(
        model.expectation(f, starts, 2), model.expectation(once, starts), atol=1e-7
    )
    for n in (1, 2, 5):
        np.testing.assert_allclose(
            model.weights(starts, n) @ f, model.expectation(f, starts, n), atol=1e-8
        )
    by_function = model.predict(starts, 2, np.cos)
    np.testing.assert_array_equal(by_function, model.expectation(f, starts, 2))
    assert model.predict(starts, 2, lambda s: s[:, 0]).shape == (4,)


def test_modes_add_up_to_the_forecast() -> None:
    model, x, after = _spiral()
    for observable in (None, lambda s: s[:, 0] * s[:, 1]):
        for k, close in ((12, 0.02), (None, 1e-9)):
            parts = model.dynamical_modes(x[:6], observable, k)
            values = model.eigenvalues_[: parts.shape[1]]
            for n in (1, 4):
                powers = values**n if parts.ndim == 2 else (values**n)[:, None]
                total = (parts * powers).sum(axis=1)
                assert np.abs(total.imag).max() < 1e-9
                forecast = model.predict(x[:6], n, observable)
                np.testing.assert_allclose(total.real, forecast, atol=close)
    np.testing.assert_allclose(model.predict(x, 1), after, atol=1e-3)


def test_rank_keeps_the_leading_part() -> None:
    model, x, _ = _spiral()
    full = model.predict(x[:5], 3)
    model.set_params(rank=12)
    assert len(model.eigenvalues_) in {12, 13}
    assert model.eigenvalues_[-1].imag <= 0
    np.testing.assert_allclose(model.predict(x[:5], 3), full, atol=0.01)
    model.set_params(rank=1)
    assert np.abs(model.predict(x[:5], 3) - full).max() > 0.1
    by_hand = model.dynamical_modes(x[:5]) * model.eigenvalues_[:, None] ** 3
    np.testing.assert_allclose(model.predict(x[:5], 3), by_hand.sum(axis=1).real, atol=1e-9)


def test_a_growing_forecast_is_bounded_on_request() -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (300, 1))
    model = ks.Koopman(ks.Linear(), learner=ks.Ridge(1e-9)).fit(x, 1.1 * x)
    np.testing.assert_allclose(model.eigenvalues_, [1.1], atol=1e-8)
    assert model.predict([[1.0]], 10)[0, 0] == pytest.approx(1.1**10, rel=1e-6)
    assert model.predict([[1.0]], 100_000, clip_spectrum=True)[0, 0] == pytest.approx(1.1, rel=1e-6)
    with pytest.raises(ValueError, match="overflows"):
        model.predict([[1.0]], 100_000)
    assert model.timescales()[0] == np.inf


# ---------------------------------------------------------------------------------- data in


@each_model
def test_any_chunking_gives_the_same_model(make) -> None:
    path = np.vstack([_spiral()[1][:120]])
    x, after = path[:-1], np.tanh(path[1:])
    whole = make().partial_fit(x, after)
    pieces = make()
    for part in np.array_split(np.arange(len(x)), [1, 2, 17, 60, 61]):
        pieces.partial_fit(x[part], after[part])
    single = make()
    for a, b in zip(x, after, strict=True):
        single.learn_one(a, b)
    np.testing.assert_allclose(pieces.operator_, whole.operator_, atol=1e-12)
    np.testing.assert_allclose(single.operator_, whole.operator_, atol=1e-12)
    np.testing.assert_array_equal(single.dictionary_, whole.dictionary_)
    assert single.n_pending_ == whole.n_pending_ == pieces.n_pending_


@each_model
@pytest.mark.parametrize("lag", [1, 3])
def test_trajectories_in_pieces(make, lag: int) -> None:
    path = _ornstein_uhlenbeck(90, 11)
    whole = make().set_params(lag=lag).partial_fit_trajectory(path)
    pieces = make().set_params(lag=lag)
    for part in np.split(path, [2, 3, 40, 41]):
        pieces.partial_fit_trajectory(part, continued=True)
    pairs = make().partial_fit(path[:-lag], path[lag:])
    assert whole.n_seen_ == pieces.n_seen_ == pairs.n_seen_ == len(path) - lag
    np.testing.assert_allclose(pieces.operator_, whole.operator_, atol=1e-12)
    np.testing.assert_allclose(pairs.operator_, whole.operator_, atol=1e-12)


def test_pieces_of_a_trajectory_lose_pairs_unless_continued() -> None:
    T = np.random.default_rng(0).normal(size=(100, 2))
    whole, model, apart = ks.Koopman(), ks.Koopman(), ks.Koopman()
    whole.partial_fit(T)
    for piece in np.split(T, 4):
        model.partial_fit(piece, continued=True)
        apart.partial_fit(piece)
    assert (whole.n_seen_, model.n_seen_, apart.n_seen_) == (99, 99, 96)
    np.testing.assert_allclose(model.predict(T), whole.predict(T), atol=1e-10)
    with pytest.raises(ValueError, match="pass X alone, or leave continued out"):
        model.partial_fit(T[:-1], T[1:], continued=True)
    with pytest.raises(ValueError, match="continued=True takes no sample_weight"):
        model.partial_fit(T, sample_weight=np.ones(100), continued=True)
    assert model.n_seen_ == 99


def test_no_pair_across_a_join() -> None:
    a, b = _ornstein_uhlenbeck(40, 1), _ornstein_uhlenbeck(25, 2)
    together = _recursive(1.0).fit_trajectory([a, b])
    apart = _recursive(1.0).partial_fit_trajectory(a).partial_fit_trajectory(b)
    x, after = datasets.pairs([a, b])
    by_pairs = _recursive(1.0).fit(x, after)
    assert together.n_seen_ == apart.n_seen_ == by_pairs.n_seen_ == 65
    np.testing.assert_allclose(together.operator_, by_pairs.operator_, atol=1e-12)
    np.testing.assert_allclose(apart.operator_, by_pairs.operator_, atol=1e-12)
    block = np.stack([a[:20], b[:20]])
    assert _recursive(1.0).fit(block).n_seen_ == 38


def test_replay_is_repeatable_and_learns_every_pair() -> None:
    x, after = _pairs(50, 3)
    make = lambda seed, passes=1: ks.presets.sparse_koopman(  # noqa: E731
        ks.Gaussian(0.5), 0.3, 0.0, replay=20, passes=passes, random_state=seed
    )
    model = make(1).partial_fit(x, after)
    assert (model.n_seen_, model.n_pending_) == (50, 10)
    assert sorted(map(tuple, model.dictionary_)) == sorted(map(tuple, x[:40]))
    assert not np.array_equal(model.dictionary_, x[:40])
    model.flush()
    assert model.n_pending_ == 0
    assert len(model.dictionary_) == 50
    np.testing.assert_array_equal(model.operator_, make(1).fit(x, after).operator_)
    assert not np.array_equal(model.operator_, make(2).fit(x, after).operator_)
    assert np.linalg.norm(make(1, 5).fit(x, after).operator_) > np.linalg.norm(model.operator_)


@each_model
def test_copies_files_and_pickles_continue_to_the_same_bits(make, tmp_path) -> None:
    path = _ornstein_uhlenbeck(60, 12)
    model = make().set_params(lag=2).partial_fit_trajectory(path[:40])
    model.save(tmp_path / "model.ks")
    others = [
        ks.load(tmp_path / "model.ks"),
        ks.Koopman.load(tmp_path / "model.ks"),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ]
    model.partial_fit_trajectory(path[40:], continued=True)
    for other in others:
        other.partial_fit_trajectory(path[40:], continued=True)
        assert type(other) is ks.Koopman
        assert _bytes(other) == _bytes(model)
        assert other.get_params()["basis"] == model.basis
        np.testing.assert_array_equal(other.eigenvalues_, model.eigenvalues_)


def test_files_of_other_models_are_distinguished(tmp_path) -> None:
    x, after = _pairs(20, 0)
    ks.KernelRegressor(scale=False).fit(x, after).save(tmp_path / "r.ks")
    _recursive(1.0).fit(x, after).save(tmp_path / "k.ks")
    assert type(ks.load(tmp_path / "r.ks")) is ks.KernelRegressor
    with pytest.raises(ks.ModelFileError, match="another kind"):
        ks.Koopman.load(tmp_path / "r.ks")
    with pytest.raises(ks.ModelFileError, match="another kind"):
        ks.KernelRegressor.load(tmp_path / "k.ks")
    data = (tmp_path / "k.ks").read_bytes()
    for cut in (0, 10, len(data) // 2, len(data) - 1):
        (tmp_path / "cut.ks").write_bytes(data[:cut])
        with pytest.raises(ks.ModelFileError):
            ks.load(tmp_path / "cut.ks")


def test_parameters_and_clone() -> None:
    model = MODELS["replayed"]()
    copied = clone(model)
    assert copied.get_params()["learner__learner__step"] == 0.3
    assert copied.basis == model.basis
    copied.set_params(basis__budget=0.5, kernel__bandwidth=2.0)
    assert model.basis.budget == 0.05
    assert "size=16" in repr(model)


# ---------------------------------------------------------------------------------- the edges


@each_model
def test_bad_rows_change_nothing(make) -> None:
    x, after = _pairs(40, 13)
    model = make().partial_fit(x[:20], after[:20])
    before = _bytes(model)
    bad = x[20:].copy()
    bad[7, 1] = np.nan
    huge = x[20:].copy()
    huge[3, 0] = 1e200
    for left, right, message in [
        (bad, after[20:], r"X contains NaN at row 7, column 1"),
        (x[20:], bad, r"X_next contains NaN at row 7, column 1"),
        (huge, after[20:], r"X at row 3 is too large"),
        (x[20:], after[21:], "20 rows"),
        (x[20:, :1], after[20:, :1], "features"),
        (x[20:], after[20:, :1], "X_next has 1 columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(left, right)
        assert _bytes(model) == before
    with pytest.raises(ValueError, match="NaN"):
        model.learn_one(bad[7], x[0])
    with pytest.raises(ValueError, match="Complex data"):
        model.partial_fit(x[20:] + 0j, after[20:])
    with pytest.raises(ValueError, match="NaN"):
        make().fit(bad, after[20:])
    assert _bytes(model) == before
    broken = np.vstack([x[:5], [[np.nan, 0.0]], x[5:]])
    with pytest.raises(ValueError, match="trajectory 1 contains nan at row 5, column 0"):
        model.partial_fit_trajectory([x, broken])
    assert _bytes(model) == before
    again, whole = model.partial_fit(x[20:], after[20:]), make().partial_fit(x, after)
    np.testing.assert_allclose(again.operator_, whole.operator_, rtol=0.0, atol=1e-10)


def _one_by_one(model: ks.Koopman, x: np.ndarray, after: np.ndarray) -> None:
    for a, b in zip(x, after, strict=True):
        model.learn_one(a, b)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_divergence_is_refused_and_undone() -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (4000, 2))
    learner = ks.Gradient("half_squared", step=50.0)
    for basis in (ks.ALD(1e-2), ks.HilbertSchmidt(0.01)):
        model = ks.Koopman(ks.Gaussian(0.5), basis, learner).partial_fit(x[:5], x[:5])
        before = _bytes(model)
        with pytest.raises(ValueError, match="diverge at row"):
            model.partial_fit(x, x[::-1])
        assert _bytes(model) == before
        with pytest.raises(ValueError, match="diverge"):
            _one_by_one(model, x, x[::-1])
        assert np.isfinite(model.operator_).all()
        fresh = ks.Koopman(ks.Gaussian(0.5), basis, learner)
        with pytest.raises(ValueError, match="diverge"):
            fresh.fit(x, x[::-1])
        assert not hasattr(fresh, "_core")


@each_model
def test_repeated_points_fixed_points_and_a_constant_trajectory(make) -> None:
    fixed = np.zeros((200, 2))
    model = make().fit(fixed)
    assert model.n_stored_ == 1
    assert model.eigenvalues_[0] == pytest.approx(1.0, abs=0.02)
    np.testing.assert_allclose(model.predict([[0.0, 0.0]], 7), [[0.0, 0.0]], atol=1e-12)

    rng = np.random.default_rng(1)
    x = np.repeat(rng.uniform(-1, 1, (4, 2)), 100, axis=0)
    x = x[rng.permutation(len(x))]
    model = make().fit(x, x)  # every state stays where it is
    assert model.n_stored_ == 4
    assert np.isfinite(model.eigenvalues_).all()
    assert np.all(np.abs(model.eigenvalues_) > 0.8)
    np.testing.assert_allclose(model.predict(x[:5], 3), x[:5], atol=0.1)

    noisy = make().fit(np.zeros((300, 1)), rng.normal(size=(300, 1)))  # one x, random x+
    assert np.isfinite(noisy.eigenvalues_).all()
    assert np.isfinite(noisy.predict([[0.0]], 5)).all()


@each_model
def test_one_pair(make) -> None:
    model = make().fit([[0.3, 0.1]], [[0.2, 0.2]])
    assert model.n_seen_ == 1
    assert np.isfinite(model.eigenvalues_).all()
    assert np.isfinite(model.predict([[0.3, 0.1]], [1, 9])).all()
    assert model.weights([[0.3, 0.1]]).shape == (1, len(model.dictionary_next_))


def test_too_short_a_trajectory() -> None:
    model = _recursive(1.0).set_params(lag=5)
    with pytest.raises(ValueError, match="lag=5 needs at least 6"):
        model.fit_trajectory(np.zeros((5, 1)))
    assert not hasattr(model, "_core")
    model.partial_fit_trajectory([np.zeros((5, 1)), np.zeros((8, 1))])
    assert model.n_seen_ == 3
    with pytest.raises(ValueError, match="no trajectory"):
        _recursive(1.0).partial_fit([[1.0]], [[1.0]]).partial_fit_trajectory(
            [[1.0], [2.0]], continued=True
        )
    model.learn_one([1.0], [2.0])
    with pytest.raises(ValueError, match="no trajectory"):
        model.partial_fit_trajectory([[1.0], [2.0]], continued=True)
    with pytest.raises(ValueError, match="empty"):
        model.partial_fit_trajectory([])


def test_wrong_settings_are_refused_in_words() -> None:
    x, after = _pairs(5, 0)
    for model, error, message in [
        (ks.Koopman(learner=ks.OnlineNewton()), ValueError, "ridge or gradient"),
        (ks.Koopman(learner=ks.Ridge(0.0)), ValueError, "regularization"),
        (ks.Koopman(learner=ks.Gradient("absolute")), ValueError, "half_squared"),
        (ks.Koopman(basis=ks.ALD(loss_driven=True)), ValueError, "loss_driven"),
        (ks.Koopman(learner=ks.Gradient(schedule="adaptive")), ValueError, "schedule"),
        (ks.Koopman(learner=ks.Gradient(radius=2.0)), ValueError, "radius"),
        (ks.Koopman(basis=ks.HilbertSchmidt()), TypeError, "Gradient"),
        (ks.Koopman(basis=ks.Gaussian()), TypeError, "basis"),
    ]:
        with pytest.raises(error, match=message):
            model.fit(x, after)
    with pytest.raises(ValueError, match="budget"):
        ks.HilbertSchmidt(-1.0)
    with pytest.raises(TypeError, match="paired"):
        ks.HilbertSchmidt(paired=1)
    for wrong in ({"size": 0}, {"passes": 0}, {"random_state": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ks.Replay(ks.Gradient(), **wrong)
    with pytest.raises(TypeError, match="learner"):
        ks.Replay(100)
    model = _recursive(1.0).fit(x, after)
    with pytest.raises(ValueError, match="n_steps"):
        model.predict(x, 0)
    with pytest.raises(TypeError, match="n_steps"):
        model.predict(x, 1.5)
    with pytest.raises(ValueError, match="shape"):
        model.expectation([1.0], x)
    with pytest.raises(ValueError, match="kind"):
        model.residuals(x, after, kind="other")
    with pytest.raises(ValueError, match="time_step"):
        model.set_params(time_step=0.0).timescales()


def test_a_progress_callable_may_query_and_stop() -> None:
    x, after = _pairs(40_000, 14)
    model = MODELS["sparse"]().partial_fit(x[:5], after[:5])
    seen = []
    model._core.learn(x, after, lambda done: seen.append((done, model.n_stored_)))
    assert seen[-1] == (40_000, model.n_stored_)
    other = MODELS["sparse"]().partial_fit(x[:5], after[:5])

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        other._core.learn(x, after, stop)
    assert 5 < other.n_seen_ <= 40_005
    same = MODELS["sparse"]().partial_fit(x[:5], after[:5])
    same.partial_fit(x[: other.n_seen_ - 5], after[: other.n_seen_ - 5])
    np.testing.assert_allclose(other.operator_, same.operator_, atol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
def test_grid_search_over_pairs() -> None:
    from sklearn.model_selection import GridSearchCV

    x, after = _pairs(200, 15)
    search = GridSearchCV(
        _recursive(1.0), {"kernel__bandwidth": [0.01, 1.0], "learner__regularization": [0.1]}
    ).fit(x, after)
    assert search.best_params_["kernel__bandwidth"] == 1.0
    assert search.best_score_ > 0.9


def test_data_frames_and_other_types() -> None:
    pandas = pytest.importorskip("pandas")
    x, after = _pairs(30, 16)
    plain = _recursive(1.0).fit(x, after)
    frame = pandas.DataFrame(x, columns=["a", "b"])
    framed = _recursive(1.0).fit(frame, pandas.DataFrame(after))
    assert list(framed.feature_names_in_) == ["a", "b"]
    np.testing.assert_array_equal(framed.operator_, plain.operator_)
    again = pickle.loads(pickle.dumps(framed))
    assert list(again.feature_names_in_) == ["a", "b"]
    np.testing.assert_array_equal(
        _recursive(1.0).fit(np.asfortranarray(x), after.tolist()).operator_, plain.operator_
    )
    single = _recursive(1.0).fit(x.astype(np.float32), after.astype(np.float32))
    np.testing.assert_allclose(single.eigenvalues_[:2], plain.eigenvalues_[:2], atol=1e-3)
    _recursive(1.0).fit(frame)  # one trajectory


def test_queries_before_learning() -> None:
    from sklearn.exceptions import NotFittedError

    model = ks.Koopman()
    for ask in (
        lambda: model.eigenvalues_,
        lambda: model.predict([[1.0]]),
        lambda: model.weights([[1.0]]),
        model.flush,
        lambda: model.dictionary_,
    ):
        with pytest.raises(NotFittedError):
            ask()


# --------------------------------------------------------------------------- metastable sets


def test_two_wells() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (3000, 1))
    after = x + 0.2 * (x - x**3)
    model = _recursive(0.3, regularization=0.1).fit(x, after)
    labels = ks.metastable_sets(model, x, 2, random_state=0)
    agreement = np.mean(labels == (x[:, 0] > 0))
    assert max(agreement, 1 - agreement) > 0.98
    places = ks.slow_coordinates(model, x, 2)
    np.testing.assert_allclose(np.linalg.norm(places, axis=1), 1.0)
    with pytest.raises(ValueError, match="eigenfunctions"):
        ks.slow_coordinates(model, x, 1000)
