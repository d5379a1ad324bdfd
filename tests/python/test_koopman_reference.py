"""The references agree with each other and with theory, so that they can judge the library."""

import numpy as np
import pytest

from koopman_reference import (
    SparseGradient,
    all_points,
    batch_kernel_edmd,
    dense_least_squares,
    expectation,
    gaussian,
    spectrum,
)


def _pairs(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, 2))
    return x, 0.8 * x + 0.1 * rng.standard_normal((count, 2))


def test_zero_tolerance_keeps_all_points_and_equals_the_basic_recursion() -> None:
    x, after = _pairs(7, 0)
    model = SparseGradient(gaussian(0.5), step=0.4, tolerance=0.0, shrink=0.05, paired=True)
    stored = [model.learn(a, b) for a, b in zip(x, after, strict=True)]
    assert stored == [(True, True)] * 7
    expected = all_points(gaussian(0.5), x, np.full(7, 0.4), 0.05)
    np.testing.assert_allclose(model.w, expected, atol=1e-9)


@pytest.mark.parametrize("paired", [True, False])
def test_brute_force_error_has_its_closed_form(paired: bool) -> None:
    # err^2 = step^2 (dx |q|^2 + dn (|z|^2 + dx)) in coordinates of the dictionaries
    kernel, step = gaussian(0.6), 0.4
    x, after = _pairs(14, 1)
    model = SparseGradient(kernel, step=step, tolerance=0.08, shrink=0.02, paired=paired)
    model.learn(x[0], after[0])
    for a, b in zip(x[1:], after[1:], strict=True):
        dictionary, dictionary_next = np.array(model.dictionary), np.array(model.dictionary_next)
        lower_in = np.linalg.cholesky(kernel(dictionary, dictionary))
        lower_out = np.linalg.cholesky(kernel(dictionary_next, dictionary_next))
        z = np.linalg.solve(lower_in, kernel(dictionary, a[None])[:, 0])
        s = np.linalg.solve(lower_out, kernel(dictionary_next, b[None])[:, 0])
        q = s - model.in_coordinates() @ z
        gap_in, gap_out = 1 - z @ z, 1 - s @ s
        closed = step * np.sqrt(gap_in * (q @ q) + gap_out * (z @ z + gap_in))
        model.learn(a, b)
        assert model.errors[-1] == pytest.approx(closed, abs=1e-10)
    assert 1 < len(model.dictionary) < 14


def test_a_repeated_pair_is_never_stored_twice() -> None:
    model = SparseGradient(gaussian(0.5), step=0.3, tolerance=0.0)
    point = np.array([0.2, 0.1])
    assert model.learn(point, point) == (True, True)
    assert model.learn(point, point) == (False, False)
    # one point, coordinates of length 1: C <- C + step (1 - C)
    assert model.in_coordinates()[0, 0] == pytest.approx(0.3 + 0.3 * 0.7)


def test_all_points_recursion_descends_the_squared_loss() -> None:
    kernel, x = gaussian(0.4), np.linspace(0, 1, 4)[:, None]
    visits = np.tile(x, (300, 1))
    w = all_points(kernel, visits, np.full(1200, 0.5))
    after = np.tile(1 - x, (300, 1))
    # deterministic map 1 - x on four points, seen 300 times: f(x+) is recovered there
    fitted = expectation(kernel, w, visits, np.sin(3 * after), x)
    np.testing.assert_allclose(fitted, np.sin(3 * (1 - x)), atol=1e-3)


def test_least_squares_on_every_point_is_batch_kernel_edmd() -> None:
    # A dictionary that spans everything, seen from the start, leaves nothing to zero-padding.
    kernel = gaussian(0.7)
    rng = np.random.default_rng(2)
    grid = np.linspace(-1, 1, 5)[:, None]
    x = np.concatenate([grid, grid[rng.integers(5, size=60)]])
    after = np.concatenate([grid, grid[rng.integers(5, size=60)]])
    warm = dense_least_squares(kernel, x, after, tolerance=1e-12, regularization=1e-3)
    assert len(warm.dictionary) == 5
    lower = np.linalg.cholesky(kernel(warm.dictionary, warm.dictionary))
    z = np.linalg.solve(lower, kernel(warm.dictionary, x)).T
    full = np.linalg.solve(z.T @ z + 1e-3 * np.eye(5), z.T @ z[:5][np.argmax(after == grid.T, 1)])
    values = np.linalg.eigvals(full)
    batch = batch_kernel_edmd(kernel, x, after, 1e-3)[:5]
    for value in values:
        assert np.abs(batch - value).min() < 1e-6


def test_forgetting_fades_old_rounds() -> None:
    kernel = gaussian(0.5)
    x = np.tile(np.array([[0.0], [1.0]]), (40, 1))
    after = np.concatenate([x[:40], x[40:][::-1]])
    old = dense_least_squares(kernel, x, after, tolerance=1e-6, regularization=1e-3)
    new = dense_least_squares(kernel, x, after, tolerance=1e-6, regularization=1e-3, forgetting=0.7)
    z = new.coordinates[-1]
    swapped = new.targets[-1]
    assert np.abs(new.operator.T @ z - swapped).max() < 1e-3
    assert np.abs(old.operator.T @ z - swapped).max() > 0.1


def test_spectrum_of_a_two_state_chain() -> None:
    # Far apart points are orthogonal: W is the transposed transition matrix, its spectrum known.
    kernel = gaussian(0.1)
    states = np.array([[0.0], [10.0]])
    transition = np.array([[0.9, 0.1], [0.3, 0.7]])
    values, vectors = spectrum(kernel, transition.T, states, states)
    np.testing.assert_allclose(values, [1.0, 0.6], atol=1e-12)
    functions = kernel(states, states) @ vectors
    np.testing.assert_allclose(transition @ functions, functions * values, atol=1e-12)
