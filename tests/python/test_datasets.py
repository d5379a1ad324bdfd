"""The simulators: laws they must obey, and answers known without simulating."""

import numpy as np
import pytest

from kernelstream import datasets
from kernelstream.datasets import duffing_oscillator
from kernelstream.datasets.runge_kutta import runge_kutta


def test_pairs_never_cross_a_join() -> None:
    first = np.arange(5.0)[:, None]
    second = np.arange(10.0, 13.0)[:, None]
    x, after = datasets.pairs([first, second], lag=2)
    assert x.ravel().tolist() == [0.0, 1.0, 2.0, 10.0]
    assert after.ravel().tolist() == [2.0, 3.0, 4.0, 12.0]


def test_pairs_accept_one_trajectory_and_skip_short_ones() -> None:
    one = np.arange(8.0).reshape(4, 2)
    x, after = datasets.pairs(one)
    np.testing.assert_array_equal(x, one[:-1])
    np.testing.assert_array_equal(after, one[1:])
    x, _ = datasets.pairs([one, one[:2]], lag=3)
    assert x.shape == (1, 2)


@pytest.mark.parametrize(
    ("trajectories", "lag", "message"),
    [
        ([np.zeros((3, 1))], 0, "lag must be at least 1, got 0"),
        ([np.zeros((3, 1)), np.zeros((3, 2))], 1, "trajectory 1 has 2 features"),
        ([np.zeros((3, 1)), np.zeros(3)], 1, "trajectory 1 has 1 dimensions"),
        ([np.zeros((3, 1))], 3, "lag=3 needs at least 4"),
        ([], 1, "no pair"),
    ],
)
def test_pairs_refuse_data_without_pairs(
    trajectories: list[np.ndarray], lag: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        datasets.pairs(trajectories, lag=lag)


@pytest.mark.parametrize(
    "make",
    [
        datasets.ornstein_uhlenbeck,
        datasets.noisy_logistic_map,
        datasets.duffing,
        datasets.four_well_langevin,
    ],
)
def test_same_seed_same_numbers_and_shapes(make) -> None:  # type: ignore[no-untyped-def]
    first = make(4, n_trajectories=3, random_state=5)
    again = make(4, n_trajectories=3, random_state=5)
    other = make(4, n_trajectories=3, random_state=6)
    assert first.trajectories.shape[:2] == (3, 5)
    assert first.trajectories.flags.c_contiguous
    np.testing.assert_array_equal(first.trajectories, again.trajectories)
    assert not np.array_equal(first.trajectories, other.trajectories)
    x, after = first.pairs(lag=2)
    assert len(x) == len(after) == 9
    if first.eigenvalues is not None:
        assert first.eigenvalues[0] == pytest.approx(1.0, abs=1e-9)
        moduli = np.abs(first.eigenvalues)
        assert np.all(np.diff(moduli) <= 1e-9)
    with pytest.raises(ValueError, match="n_steps"):
        make(0)
    with pytest.raises(ValueError, match="n_trajectories"):
        make(4, n_trajectories=0)


def test_ornstein_uhlenbeck_has_its_moments() -> None:
    data = datasets.ornstein_uhlenbeck(400, theta=2.0, tau=0.25, n_trajectories=500, random_state=0)
    x, after = data.pairs()
    assert np.mean(x) == pytest.approx(0.0, abs=0.02)
    assert np.var(x) == pytest.approx(1.0, abs=0.02)
    assert np.mean(x * after) == pytest.approx(np.exp(-0.5), abs=0.02)
    # the second Hermite polynomial decays with the square
    assert np.mean((x**2 - 1) * (after**2 - 1)) / 2 == pytest.approx(np.exp(-1.0), abs=0.03)
    assert data.eigenvalues is not None
    np.testing.assert_allclose(data.eigenvalues[:3], np.exp([0.0, -0.5, -1.0]))


def test_logistic_noise_follows_its_density() -> None:
    data = datasets.noisy_logistic_map(200, noise_exponent=8, n_trajectories=500, random_state=1)
    x, after = data.pairs()
    noise = (after - 4 * x * (1 - x) + 0.5) % 1.0 - 0.5
    grid = np.linspace(-0.5, 0.5, 20001)
    density = np.cos(np.pi * grid) ** 8
    density /= density.sum()
    # the noise has a variance and, unlike a normal law, a known fourth moment
    for power in (2, 4):
        assert np.mean(noise**power) == pytest.approx(np.sum(density * grid**power), rel=0.02)


def test_logistic_eigenvalues_are_those_of_the_transition_kernel() -> None:
    # An independent way: the operator on a fine grid of the circle, by the midpoint rule.
    count = 600
    points = (np.arange(count) + 0.5) / count
    kernel = np.cos(np.pi * (points[None, :] - 4 * (points * (1 - points))[:, None])) ** 20
    kernel /= kernel.sum(axis=1, keepdims=True)
    on_grid = np.linalg.eigvals(kernel)
    on_grid = on_grid[np.argsort(-np.abs(on_grid))][:6]
    known = datasets.logistic_map_eigenvalues(20)
    assert known.shape == (21,)
    for value in on_grid:
        assert np.abs(known - value).min() < 1e-5
    assert known[1] == pytest.approx(np.conj(known[2]), abs=1e-12)
    assert known[1].imag > 0
    with pytest.raises(ValueError, match="even"):
        datasets.logistic_map_eigenvalues(7)


def test_duffing_steps_solve_the_equation() -> None:
    scipy_integrate = pytest.importorskip("scipy.integrate")
    data = datasets.duffing(3, n_trajectories=4, random_state=2)
    assert np.all(np.abs(data.trajectories[:, 0]) <= 2.0)
    for path in data.trajectories:
        solution = scipy_integrate.solve_ivp(
            lambda _, s: [s[1], -0.5 * s[1] + s[0] - s[0] ** 3],
            (0.0, 0.75),
            path[0],
            t_eval=[0.0, 0.25, 0.5, 0.75],
            rtol=1e-11,
            atol=1e-11,
        )
        np.testing.assert_allclose(path, solution.y.T, atol=1e-8)


def test_duffing_basin_is_where_long_trajectories_end() -> None:
    rng = np.random.default_rng(3)
    points = rng.uniform(-2, 2, size=(50, 2))
    ends = points
    for _ in range(4000):
        ends = runge_kutta(duffing_oscillator._duffing_field, ends, 0.02, 1)
    assert np.max(np.abs(np.abs(ends[:, 0]) - 1)) < 1e-3
    np.testing.assert_array_equal(datasets.duffing_basin(points), np.sign(ends[:, 0]))
    assert datasets.duffing_basin([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]).tolist() == [0, 1, -1]


def test_four_wells_have_the_known_spectrum() -> None:
    values = datasets.four_well_eigenvalues(6, tau=0.1, beta=4.0)
    np.testing.assert_allclose(values[:5], [1, 0.997, 0.997, 0.994, 0.718], atol=5e-4)
    # eigenvalues of a Markov semigroup: doubling the time squares them
    np.testing.assert_allclose(datasets.four_well_eigenvalues(6, tau=0.2), values**2, rtol=1e-12)


def test_four_well_density_is_normalised_and_drawn() -> None:
    edge = np.linspace(-3, 3, 301)
    grid = np.stack(np.meshgrid(edge, edge), axis=-1).reshape(-1, 2)
    density = datasets.four_well_density(grid, beta=4.0)
    assert density.sum() * (edge[1] - edge[0]) ** 2 == pytest.approx(1.0, abs=1e-6)
    expected = np.sum(density * grid[:, 0] ** 2) * (edge[1] - edge[0]) ** 2
    # stationary in, stationary out: started by the density, ten steps keep it
    data = datasets.four_well_langevin(
        10, n_trajectories=8000, start="stationary", substeps=50, random_state=0
    )
    for states in (data.trajectories[:, 0], data.trajectories[:, -1]):
        assert np.mean(states**2) == pytest.approx(expected, rel=0.01)


def test_langevin_refuses_steps_that_diverge() -> None:
    with pytest.raises(ValueError, match="substeps >= 50"):
        datasets.four_well_langevin(tau=1.0, substeps=10)
    with pytest.raises(ValueError, match="stationary"):
        datasets.four_well_langevin(start="middle")  # type: ignore[arg-type]
