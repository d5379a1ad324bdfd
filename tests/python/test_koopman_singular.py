"""Reduced rank, singular functions, weights of pairs, risk: against dense versions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import kernelstream as ks
from kernelstream import datasets
from kernelstream.koopman import ReducedRank, TotalLeastSquares

FloatArray = NDArray[np.float64]
ORDERS = ["as it comes", "sorted", "nearly duplicate"]


def pairs(order: str, n: int = 600, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Pairs of a noisy turn of the plane, in an order."""
    rng = np.random.default_rng(seed)
    turn = 0.9 * np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    T = np.ones((n + 1, 2))
    for t in range(n):
        T[t + 1] = turn @ T[t] + rng.normal(size=2) * [0.3, 0.1]
    X, X_next = T[:-1], T[1:]
    if order == "sorted":
        rows = np.argsort(X[:, 0])
        return X[rows], X_next[rows]
    if order == "nearly duplicate":
        X, X_next = np.repeat(X[::2], 2, axis=0), np.repeat(X_next[::2], 2, axis=0)
        return X + 1e-9 * rng.normal(size=X.shape), X_next
    return X, X_next


def linear(**parameters: object) -> ks.Koopman:
    return ks.Koopman(ks.Linear(), ks.ALD(1e-9), ks.Ridge(1e-10), **parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("cut", [1, 7, 600])
def test_weighted_pairs_are_weighted_least_squares(order: str, cut: int) -> None:
    X, X_next = pairs(order)
    weights = np.random.default_rng(1).uniform(0.0, 5.0, size=len(X))
    weights[5:9] = 0.0
    model = linear()
    for at in range(0, len(X), cut):
        part = slice(at, at + cut)
        model.partial_fit(X[part], X_next[part], sample_weight=weights[part])
    W = weights[:, None]
    K = np.linalg.solve(X.T @ (W * X), X.T @ (W * X_next))
    expected = np.linalg.eigvals(K)
    np.testing.assert_allclose(model.eigenvalues_, expected[np.argsort(-expected.imag)], rtol=1e-6)
    np.testing.assert_allclose(model.predict(X), X @ K, atol=1e-7)
    assert model.n_seen_ == np.count_nonzero(weights)


def test_weights_of_trajectories_belong_to_the_first_state_of_each_pair() -> None:
    T = datasets.ornstein_uhlenbeck(400, tau=0.5, random_state=0).trajectories[0]
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(T))
    for lag in (1, 3):
        model = ks.Koopman(ks.Gaussian(1.0), lag=lag)
        cut = [T[:100], T[100:]]
        model.fit(cut, sample_weight=[weights[:100], weights[100:]])
        same = ks.Koopman(ks.Gaussian(1.0), lag=1)
        X = np.concatenate([piece[:-lag] for piece in cut])
        X_next = np.concatenate([piece[lag:] for piece in cut])
        parts = [weights[:100][:-lag], weights[100:][:-lag]]
        same.fit(X, X_next, sample_weight=np.concatenate(parts))
        np.testing.assert_array_equal(model.eigenvalues_, same.eigenvalues_)
        flat = ks.Koopman(ks.Gaussian(1.0), lag=lag).fit(cut, sample_weight=weights)
        np.testing.assert_array_equal(model.eigenvalues_, flat.eigenvalues_)


def test_weights_are_used_in_the_warm_up() -> None:
    """A model that chooses its parameters relearns the first pairs, with their weights."""
    T = datasets.ornstein_uhlenbeck(300, tau=0.5, random_state=0).trajectories[0]
    weights = np.where(T[:, 0] > 0.0, 3.0, 0.5)
    plain, weighted = ks.Koopman().fit(T), ks.Koopman().fit(T, sample_weight=weights)
    ones = ks.Koopman().fit(T, sample_weight=np.ones(len(T)))
    np.testing.assert_allclose(ones.eigenvalues_, plain.eigenvalues_, atol=1e-9)
    assert abs(weighted.eigenvalues_[1] - plain.eigenvalues_[1]) > 1e-4


@pytest.mark.parametrize(
    ("model", "weight", "message"),
    [
        (ks.Koopman(), -1.0, "row 3"),
        (ks.Koopman(), np.nan, "row 3 is nan"),
        (ks.Koopman(), 1e3, "row 3 is 1000"),
        (ks.Koopman(learner=ks.Gradient(loss="squared")), 1.0, "take ridge"),
        (ks.Koopman(learner=ks.Replay(ks.Ridge())), 1.0, "replay"),
        (ks.Koopman(n_delays=2), 1.0, "n_delays=0"),
    ],
)
def test_refused_weights_name_the_row_or_the_remedy(
    model: ks.Koopman, weight: float, message: str
) -> None:
    T = pairs("as it comes", 50)[0]
    weights = np.ones(len(T))
    weights[:2], weights[3] = 0.0, weight
    with pytest.raises(ValueError, match=message):
        model.fit(T, sample_weight=weights)
    with pytest.raises(ValueError, match="one is needed for each state"):
        ks.Koopman().fit(T, sample_weight=weights[:7])


@pytest.mark.parametrize("order", ORDERS)
def test_singular_functions_are_canonical_variates(order: str) -> None:
    X, X_next = pairs(order)
    model = linear(n_blocks=1).fit(X, X_next)
    now, later = X - X.mean(axis=0), X_next - X_next.mean(axis=0)
    roots = [np.linalg.cholesky(np.linalg.inv(one.T @ one)) for one in (now, later)]
    left, values, right = np.linalg.svd(roots[0].T @ (now.T @ later) @ roots[1])
    np.testing.assert_allclose(model.singular_values_, [1.0, *values], rtol=1e-6)
    found = model.singular_functions(X)
    functions = np.sqrt(len(X)) * now @ roots[0] @ left
    np.testing.assert_allclose(np.abs(found[:, 1:]), np.abs(functions), atol=1e-4)
    found_next = model.singular_functions(X_next, right=True)
    functions_next = np.sqrt(len(X)) * later @ roots[1] @ right.T
    np.testing.assert_allclose(np.abs(found_next[:, 1:]), np.abs(functions_next), atol=1e-4)
    across = found.T @ found_next / len(X)
    np.testing.assert_allclose(across, np.diag(model.singular_values_), atol=1e-6)
    np.testing.assert_array_equal(found[:, 0], 1.0)


def test_kinetic_distances_are_those_of_what_follows() -> None:
    """On three states that a chain moves between, the distance is that of its rows."""
    rng = np.random.default_rng(0)
    P = np.array([[0.9, 0.1, 0.0], [0.05, 0.9, 0.05], [0.0, 0.2, 0.8]])
    states = [0]
    for _ in range(20_000):
        states.append(int(rng.choice(3, p=P[states[-1]])))
    X = np.eye(3)[states]
    model = linear(n_blocks=1).fit(X)
    places = model.kinetic_map(np.eye(3), 2)
    now, later = np.array(states[:-1]), np.array(states[1:])
    counts = np.zeros((3, 3))
    np.add.at(counts, (now, later), 1.0)
    rows, share = counts / counts.sum(axis=1, keepdims=True), counts.sum(axis=0) / counts.sum()
    for i in range(3):
        for j in range(3):
            distance = np.sum((rows[i] - rows[j]) ** 2 / share)
            assert np.sum((places[i] - places[j]) ** 2) == pytest.approx(
                distance, rel=1e-3, abs=1e-9
            )
    with pytest.raises(ValueError, match="store more states"):
        model.kinetic_map(np.eye(3), 7)


def in_an_order(order: str, X: FloatArray, X_next: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pairs shuffled, sorted by the first component, or with nearly the same pairs at first."""
    if order == "sorted":
        places = np.argsort(X[:, 0], kind="stable")
    elif order == "nearly the same first":
        places = np.argsort(np.linalg.norm(X - X[0], axis=1), kind="stable")
    else:
        places = np.random.default_rng(1).permutation(len(X))
    return X[places], X_next[places]


KINDS_OF_ORDER = ["shuffled", "sorted", "nearly the same first"]


@pytest.mark.parametrize("order", KINDS_OF_ORDER)
@pytest.mark.parametrize("rank", [4, 9])
def test_what_does_not_vary_has_no_singular_function(rank: int, order: str) -> None:
    """Neither where the constant is a function of the kernel, nor where states fill a subspace."""
    rng = np.random.default_rng(rank)
    walk = np.cumsum(rng.normal(size=(1500, rank)), axis=0)
    T = walk @ rng.normal(size=(rank, 12)) + rng.normal(size=12)
    X, X_next = in_an_order(order, T[:-1], T[1:])
    model = linear(n_blocks=1).fit(X, X_next)
    assert len(model.singular_values_) == rank + 1
    found = model.singular_functions(X)
    np.testing.assert_allclose(found.T @ found / len(X), np.eye(rank + 1), atol=1e-4)

    states = np.eye(rank)[rng.integers(0, rank, 2000)]
    X, X_next = in_an_order(order, states[:-1], states[1:])
    model = linear(n_blocks=1).fit(X, X_next)
    assert len(model.singular_values_) == rank
    assert model.singular_values_[1:].max() < 0.2


@pytest.mark.parametrize("order", KINDS_OF_ORDER)
@pytest.mark.parametrize("regularization", [1e-12, 1e-10])
def test_more_stored_states_than_functions_leave_the_spectrum(
    regularization: float, order: str
) -> None:
    """A polynomial of degree 4 in two numbers has 15 functions, however many states are stored."""
    step = np.array([[0.9, -0.1], [0.0, 0.8]])
    X = np.random.default_rng(42).normal(size=(500, 2))
    X, X_next = in_an_order(order, X, X @ step.T)
    kernel = ks.Polynomial(4, scale=1.0, offset=1.0)
    model = ks.Koopman(kernel, ks.AllPoints(max_size=500), ks.Ridge(regularization))
    model.fit(X, X_next)
    powers = [0.9**i * 0.8**j for i in range(5) for j in range(5 - i)]
    assert model.n_stored_ >= 15
    np.testing.assert_allclose(model.eigenvalues_, sorted(powers, reverse=True), atol=1e-9)


def test_singular_functions_need_sums_over_the_pairs() -> None:
    X, X_next = pairs("as it comes", 60)
    with pytest.raises(AttributeError, match="n_blocks"):
        _ = ks.Koopman(ks.Gaussian(1.0)).fit(X, X_next).singular_values_


@pytest.mark.parametrize("order", ORDERS)
def test_reduced_rank_is_reduced_rank_regression(order: str) -> None:
    """With linear features: the leading part of the whitened weights (Izenman, 1975)."""
    X, X_next = pairs(order)
    X = np.column_stack([X, np.random.default_rng(2).normal(size=(len(X), 2))])
    X_next = np.column_stack([X_next, np.random.default_rng(3).normal(size=(len(X), 2))])
    regularization = 5.0
    model = ks.Koopman(ks.Linear(), ks.ALD(1e-12), ks.Ridge(regularization), rank=ReducedRank(2))
    model.fit(X, X_next)
    curvature = X.T @ X + regularization * np.eye(4)
    values, vectors = np.linalg.eigh(curvature)
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    left, sizes, right = np.linalg.svd(root @ X.T @ X_next)
    K = root @ (left[:, :2] * sizes[:2]) @ right[:2]
    np.testing.assert_allclose(model.predict(X), X @ K, atol=1e-6)
    assert len(model.eigenvalues_) == 2
    ahead = model.predict(X[:3], n_steps=4)
    np.testing.assert_allclose(ahead, X[:3] @ np.linalg.matrix_power(K, 4), atol=1e-6)
    errors = X_next - X @ K
    np.testing.assert_allclose(model.risk(X, X_next), np.mean(np.sum(errors**2, axis=1)), rtol=1e-6)


def test_a_fitted_operator_keeps_its_rank() -> None:
    X, X_next = pairs("as it comes")
    model = ks.Koopman(ks.Gaussian(0.7), rank=ReducedRank(4)).fit(X, X_next)
    values = model.eigenvalues_
    model.set_params(rank__rank=2)
    np.testing.assert_array_equal(model.eigenvalues_, values)
    assert np.count_nonzero(np.abs(model.fit(X, X_next).eigenvalues_) > 1e-9) <= 2


def test_reduced_rank_survives_files_and_needs_a_rank(tmp_path: object) -> None:
    X, X_next = pairs("as it comes")
    model = ks.Koopman(ks.Gaussian(0.7), rank=ReducedRank(3)).fit(X, X_next)
    path = f"{tmp_path}/model.ks"
    model.save(path)
    again = ks.load(path)
    assert again.rank == ReducedRank(3)
    np.testing.assert_array_equal(again.eigenvalues_, model.eigenvalues_)
    with pytest.raises(ValueError, match="from 1"):
        ReducedRank(0)
    learner = ks.Gradient(loss="squared")
    with pytest.raises(ValueError, match="take ridge"):
        ks.Koopman(learner=learner, rank=ReducedRank(2)).fit(X, X_next)


@pytest.mark.parametrize("inputs", [False, True])
def test_risk_is_the_error_of_the_features(inputs: bool) -> None:
    """By the kernel alone: `k(y, y) - 2 sum w k(y, d) + w' k(d, d) w`, with the weights w."""
    X, X_next = pairs("as it comes", 300)
    U = np.random.default_rng(5).normal(size=(300, 1)) if inputs else None
    parameters = {"n_inputs": 1} if inputs else {}
    kernel = ks.Gaussian(0.7)
    model = ks.Koopman(kernel, ks.ALD(1e-2), ks.Ridge(0.1), **parameters)  # type: ignore[arg-type]
    model.fit(X, X_next, inputs=U)
    D = model.dictionary_next_
    weights = model.weights(X, inputs=U)

    def similarity(A: FloatArray, B: FloatArray) -> FloatArray:
        squares: FloatArray = np.sum((A[:, None] - B[None]) ** 2, axis=2)
        return np.exp(-squares / (2 * 0.7**2))

    errors = 1.0 - 2.0 * np.sum(weights * similarity(X_next, D), axis=1)
    errors += np.einsum("ni,ij,nj->n", weights, similarity(D, D), weights)
    assert model.risk(X, X_next, inputs=U) == pytest.approx(errors.mean(), rel=1e-6)


def test_risk_of_delays_is_that_of_the_embedded_states() -> None:
    t = 0.1 * np.arange(200)
    T = np.sin(t)[:, None]
    model = ks.Koopman(ks.Gaussian(1.0), ks.ALD(1e-9), ks.Ridge(1e-8), n_delays=2).fit(T)
    embedded = np.column_stack([T[2:], T[1:-1], T[:-2]])
    same = ks.Koopman(ks.Gaussian(1.0), ks.ALD(1e-9), ks.Ridge(1e-8)).fit(embedded)
    assert model.risk(T) == pytest.approx(same.risk(embedded), rel=1e-6)


@pytest.mark.parametrize(("lag", "n_delays", "delay"), [(1, 0, 1), (3, 0, 1), (2, 2, 3)])
def test_a_reconstruction_forecasts_from_the_first_states(
    lag: int, n_delays: int, delay: int
) -> None:
    t = 0.1 * np.arange(120)
    T = np.column_stack([np.exp(-0.05 * t) * np.sin(t), np.exp(-0.05 * t) * np.cos(t)])
    model = linear(lag=lag, n_delays=n_delays, delay=delay).fit(T)
    found = model.reconstruct(T)
    np.testing.assert_allclose(found, T, atol=1e-8)
    used = lag + n_delays * delay
    spoiled = T.copy()
    spoiled[used:] = 0.0
    np.testing.assert_allclose(model.reconstruct(spoiled), T, atol=1e-8)
    np.testing.assert_array_equal(model.reconstruct(T[:used]), T[:used])


def test_exactly_k_eigenvalues_on_request() -> None:
    X, X_next = pairs("as it comes")
    model = linear(rank=1).fit(X, X_next)
    assert len(model.eigenvalues_) == 2  # a conjugate pair
    values, left, right = model.eig(X, X_next, k=1)
    assert values.shape == (1,)
    assert left.shape == right.shape == (len(X), 1)


def oscillations(noise: float, seed: int, n: int = 400) -> FloatArray:
    """Two oscillations, seen by ten sensors with noise."""
    t = 0.1 * np.arange(n)
    clean = np.column_stack([np.sin(t), np.cos(t), np.sin(2.3 * t), np.cos(2.3 * t)])
    sensors = np.linalg.qr(np.random.default_rng(9).normal(size=(10, 10)))[0][:4]
    return clean @ sensors + noise * np.random.default_rng(seed).normal(size=(n, 10))


TRUE = np.exp(0.1j * np.array([1.0, -1.0, 2.3, -2.3]))


def worst(values: NDArray[np.complex128]) -> float:
    return max(float(np.abs(values - z).min()) for z in TRUE)


@pytest.mark.parametrize("order", ["as it comes", "sorted"])
def test_total_least_squares_is_the_leading_part_of_the_joint_states(order: str) -> None:
    T = oscillations(0.2, 0)
    X, X_next = T[:-1], T[1:]
    if order == "sorted":
        rows = np.argsort(X[:, 0])
        X, X_next = X[rows], X_next[rows]
    model = ks.Koopman(ks.Linear(), ks.ALD(1e-9), rank=TotalLeastSquares(4)).fit(X, X_next)
    joint = np.hstack([X, X_next])
    leading = np.linalg.svd(joint, full_matrices=False)[2][:4]
    K = np.linalg.pinv(leading[:, :10]) @ leading[:, 10:]
    np.testing.assert_allclose(model.predict(X), X @ K, atol=1e-6)
    expected = np.linalg.eigvals(K)
    expected = expected[np.argsort(-np.abs(expected))][:4]
    assert worst(model.eigenvalues_) == pytest.approx(worst(expected), rel=1e-6)
    ahead = model.predict(X[:5], n_steps=3)
    np.testing.assert_allclose(ahead, X[:5] @ np.linalg.matrix_power(K, 3), atol=1e-6)


def test_total_least_squares_removes_the_bias_of_noise() -> None:
    biased, unbiased = [], []
    for seed in range(5):
        T = oscillations(0.2, seed)
        biased.append(worst(ks.Koopman(ks.Linear(), ks.ALD(1e-9), rank=4).fit(T).eigenvalues_))
        fitted = ks.Koopman(ks.Linear(), ks.ALD(1e-9), rank=TotalLeastSquares(4)).fit(T)
        unbiased.append(worst(fitted.eigenvalues_))
    assert np.mean(unbiased) < np.mean(biased) / 10  # .0035 and .077


def test_total_least_squares_of_one_noisy_sensor_with_delays() -> None:
    signal = oscillations(0.0, 0)[:, :1]
    x = signal + 0.1 * signal.std() * np.random.default_rng(3).normal(size=signal.shape)
    model = ks.Koopman(ks.Linear(), ks.ALD(1e-9), n_delays=40, rank=TotalLeastSquares(4)).fit(x)
    assert worst(model.eigenvalues_) < 0.01
    plain = ks.Koopman(ks.Linear(), ks.ALD(1e-9), n_delays=40, rank=4).fit(x)
    assert worst(model.eigenvalues_) < worst(plain.eigenvalues_)


def test_total_least_squares_names_what_it_needs(tmp_path: object) -> None:
    T = oscillations(0.2, 0)
    with pytest.raises(ValueError, match="from 1"):
        TotalLeastSquares(0)
    with pytest.raises(ValueError, match="control inputs or a replay buffer"):
        ks.Koopman(learner=ks.Replay(ks.Ridge()), rank=TotalLeastSquares(2)).fit(T)
    rng = np.random.default_rng(0)
    line, plane = np.outer(rng.normal(size=40), [1.0, 0.0]), rng.normal(size=(40, 2))
    model = ks.Koopman(ks.Linear(), ks.ALD(1e-9), rank=TotalLeastSquares(2)).fit(line, plane)
    with pytest.raises(AttributeError, match="fewer directions"):
        _ = model.eigenvalues_
    model = ks.Koopman(ks.Linear(), rank=TotalLeastSquares(4)).fit(T)
    model.save(f"{tmp_path}/model.ks")
    again = ks.load(f"{tmp_path}/model.ks")
    assert again.rank == TotalLeastSquares(4)
    np.testing.assert_array_equal(again.eigenvalues_, model.eigenvalues_)


def test_complex_snapshots_are_two_real_ones() -> None:
    """As the error of complex states says: real and imaginary parts side by side."""
    values = np.array([0.99 * np.exp(0.2j), 0.97 * np.exp(-0.5j)])
    mix = np.random.default_rng(0).normal(size=(2, 3)) + 1j
    Z = (values[None] ** np.arange(60)[:, None]) @ mix
    with pytest.raises(ValueError, match="real"):
        ks.Koopman().fit(Z)
    T = np.hstack([Z.real, Z.imag])
    model = ks.Koopman(ks.Linear(), ks.ALD(1e-9), ks.Ridge(1e-12)).fit(T)
    modes = model.modes()[:, :3] + 1j * model.modes()[:, 3:]
    there = np.linalg.norm(modes, axis=1) > 1e-6  # the conjugates have no mode
    found = model.eigenvalues_[there]
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(values), atol=1e-8)


@pytest.mark.parametrize("order", ["in_time", "sorted"])
def test_weights_that_sum_to_one_are_warned_of_once(order):
    T = np.random.default_rng(0).normal(size=(201, 1)).cumsum(axis=0)
    before, after = T[:-1], T[1:]
    rows = np.argsort(after[:, 0]) if order == "sorted" else np.arange(200)
    weights = np.full(200, 1 / 200)
    model = ks.Koopman(ks.Gaussian(5.0))
    with pytest.warns(ks.exceptions.WeightsWarning, match="0.005 on average"):
        model.fit(before[rows], after[rows], sample_weight=weights)
    model.partial_fit(before[rows], after[rows], sample_weight=weights)
    ks.Koopman(ks.Gaussian(5.0)).fit(before[rows], after[rows], sample_weight=200 * weights)
