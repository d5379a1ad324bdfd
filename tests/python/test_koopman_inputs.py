"""Operators of systems with inputs: against kernel matrices, on known systems, at the edges."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import kernelstream as ks
from kernelstream.exceptions import KernelstreamWarning

LAMBDA = 1e-2


def _push(x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """A turn of the plane that the input pushes, the more the nearer to the origin."""
    turned = x @ np.array([[0.8, 0.4], [-0.4, 0.8]])
    turned[:, 1] += 0.5 * u[:, 0] * np.exp(-np.sum(x**2, axis=1)) + 0.2 * u[:, 1]
    return turned


def _transitions(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, u = rng.uniform(-1, 1, (count, 2)), rng.uniform(-1, 1, (count, 2))
    return x, u, _push(x, u) + 0.02 * rng.standard_normal((count, 2))


def _squares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return ((a[:, None] - b[None]) ** 2).sum(-1)


# Each kernel with its textbook formula.
STATES = [
    (ks.Gaussian(0.7), lambda a, b: np.exp(-_squares(a, b) / (2 * 0.7**2))),
    (
        0.5 * ks.Laplacian(1.3) + 0.5 * ks.Gaussian(0.4),
        lambda a, b: (
            0.5 * np.exp(-np.sqrt(_squares(a, b)) / 1.3)
            + 0.5 * np.exp(-_squares(a, b) / (2 * 0.4**2))
        ),
    ),
]
INPUTS = [
    (ks.Gaussian(1.1), lambda a, b: np.exp(-_squares(a, b) / (2 * 1.1**2))),
    (ks.Polynomial(1, scale=1.0, offset=1.0), lambda a, b: a @ b.T + 1.0),
]


class _Reference:
    """Least squares on growing dictionaries, written in kernel matrices and dense solves.

    A pair counts by the projection on what was stored when it came: coefficients on the stored
    points, zeros for those that came later.
    """

    def __init__(self, states, inputs, tolerance):
        self.states, self.inputs, self.tolerance = states, inputs, tolerance

    def joint(self, a, b):
        return self.states(a[:, :2], b[:, :2]) * self.inputs(a[:, 2:], b[:, 2:])

    def _take(self, kernel, stored, point):
        point = point[None]
        if len(stored):
            k = kernel(stored, point)
            coefficients = np.linalg.solve(kernel(stored, stored), k)[:, 0]
            own = kernel(point, point)[0, 0]
            if own - k[:, 0] @ coefficients <= self.tolerance * own:
                return stored, coefficients
        return np.vstack([stored, point]), np.eye(len(stored) + 1)[-1]

    def learn(self, x, u, x_next):
        joint = np.hstack([x, u])
        self.d, self.e = np.zeros((0, 4)), np.zeros((0, 2))
        before, after = [], []
        for row, following in zip(joint, x_next, strict=True):
            self.d, a = self._take(self.joint, self.d, row)
            self.e, b = self._take(self.states, self.e, following)
            before.append(a)
            after.append(b)
        a = np.array([np.pad(v, (0, len(self.d) - len(v))) for v in before]).T
        b = np.array([np.pad(v, (0, len(self.e) - len(v))) for v in after]).T
        normal = self.joint(self.d, self.d) @ a @ a.T + LAMBDA * np.eye(len(self.d))
        self.w = np.linalg.solve(normal.T, a @ b.T).T

    def weights(self, x, u):
        """Weights of the stored next states, for each row: (rows, next states)."""
        return (self.w @ self.joint(self.d, np.hstack([x, u]))).T

    def ahead(self, x, sequence):
        """The same after a sequence of inputs (rows, steps, 2), through the stored next states."""
        weights = self.weights(x, sequence[:, 0])
        for step in range(1, sequence.shape[1]):
            weights = np.array(
                [
                    w @ self.weights(self.e, np.tile(u, (len(self.e), 1)))
                    for w, u in zip(weights, sequence[:, step], strict=True)
                ]
            )
        return weights


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("states", range(2))
@pytest.mark.parametrize("inputs", range(2))
@pytest.mark.parametrize("seed", range(3))
def test_least_squares_equal_the_reference(states, inputs, seed):
    (kernel, formula), (input_kernel, input_formula) = STATES[states], INPUTS[inputs]
    x, u, x_next = _transitions(200, seed)
    model = ks.Koopman(
        kernel, ks.ALD(0.05), ks.Ridge(LAMBDA), n_inputs=2, input_kernel=input_kernel
    )
    model.fit(x, x_next, inputs=u)
    reference = _Reference(formula, input_formula, 0.05)
    reference.learn(x, u, x_next)
    np.testing.assert_array_equal(model.dictionary_, reference.d[:, :2])
    np.testing.assert_array_equal(model.dictionary_inputs_, reference.d[:, 2:])
    np.testing.assert_array_equal(model.dictionary_next_, reference.e)
    assert 10 < model.n_stored_ < 195

    x0, u0, _ = _transitions(20, 100 + seed)
    found = model.weights(x0, inputs=u0)
    np.testing.assert_allclose(found, reference.weights(x0, u0), atol=1e-7)
    sequence = np.random.default_rng(seed).uniform(-1, 1, (20, 4, 2))
    found = model.weights(x0, [1, 4, 2], inputs=sequence)
    for n, weights in zip([1, 4, 2], found, strict=True):
        np.testing.assert_allclose(weights, reference.ahead(x0, sequence[:, :n]), atol=1e-6)
    # An expectation is the weighted sum of values.
    values = np.sin(model.dictionary_next_)
    np.testing.assert_allclose(
        model.expectation(np.sin, x0, inputs=sequence), found[1] @ values, atol=1e-8
    )


def test_forecasts_follow_the_system():
    x, u, x_next = _transitions(4000, 0)
    model = ks.Koopman(
        ks.Gaussian(1.0),
        ks.ALD(1e-3, max_size=300),
        ks.Ridge(1e-2),
        n_inputs=2,
        input_kernel=ks.Polynomial(1, offset=1.0),
    ).fit(x, x_next, inputs=u)
    x0, u0, x1 = _transitions(300, 1)
    assert model.score(x0, x1, inputs=u0) > 0.98
    assert np.sqrt(np.mean((model.predict(x0, inputs=u0) - _push(x0, u0)) ** 2)) < 0.02
    sequence = np.random.default_rng(2).uniform(-0.5, 0.5, (300, 5, 2))
    truth, states = 0.5 * x0, []
    for step in range(5):
        truth = _push(truth, sequence[:, step])
        states.append(truth)
    found = model.predict(0.5 * x0, [1, 2, 3, 4, 5], inputs=sequence)
    assert np.sqrt(np.mean((found - np.array(states)) ** 2, axis=(1, 2))).max() < 0.05
    # The length of the sequence is the default; one sequence may serve all; one input may be held.
    np.testing.assert_array_equal(model.predict(0.5 * x0, inputs=sequence), found[-1])
    np.testing.assert_allclose(
        model.predict(x0, inputs=sequence[:1]),
        model.predict(x0, inputs=np.repeat(sequence[:1], 300, axis=0)),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        model.predict(x0, 3, inputs=u0),
        model.predict(x0, inputs=np.repeat(u0[:, None], 3, axis=1)),
        atol=1e-12,
    )
    np.testing.assert_array_equal(
        model.predict(x0, observable=lambda s: s[:, 0], inputs=u0),
        model.expectation(lambda s: s[:, 0], x0, inputs=u0),
    )


MODELS = {
    "least squares": lambda: ks.Koopman(ks.Gaussian(0.7), ks.ALD(1e-2), n_inputs=2),
    "gradient": lambda: ks.Koopman(
        ks.Gaussian(0.7),
        ks.ALD(1e-2),
        ks.Gradient("half_squared", step=0.3),
        n_inputs=2,
        input_kernel=ks.Gaussian(2.0),
    ),
    "sparse gradient": lambda: ks.Koopman(
        ks.Gaussian(0.7),
        ks.HilbertSchmidt(0.02),
        ks.Replay(ks.Gradient("half_squared", step=0.3, averaging=True), 64, 2, random_state=1),
        n_inputs=2,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_chunks_files_and_copies_change_nothing(name, tmp_path):
    x, u, x_next = _transitions(600, 3)
    whole = MODELS[name]().partial_fit(x, x_next, inputs=u)
    chunks = MODELS[name]()
    for rows in np.array_split(np.arange(600), 17):
        chunks.partial_fit(x[rows], x_next[rows], inputs=u[rows])
    single = MODELS[name]()
    for row in zip(x, x_next, u, strict=True):
        single.learn_one(*row)
    assert whole.n_stored_ > 30
    for other in (chunks, single):
        np.testing.assert_array_equal(whole.dictionary_, other.dictionary_)
        np.testing.assert_allclose(whole.operator_, other.operator_, atol=1e-9)

    path = tmp_path / "model.safetensors"
    whole.save(path)
    again = [ks.load(path), ks.Koopman.load(path), pickle.loads(pickle.dumps(whole))]
    for model in [whole, *again]:
        model.partial_fit(x[:50], x_next[:50], inputs=u[:50])
    for model in again:
        np.testing.assert_array_equal(model.operator_, whole.operator_)
        np.testing.assert_array_equal(
            model.predict(x[:5], inputs=u[:5]), whole.predict(x[:5], inputs=u[:5])
        )
    assert clone(whole).get_params()["n_inputs"] == 2


def test_trajectories_take_their_inputs_along():
    rng = np.random.default_rng(4)
    u = rng.uniform(-1, 1, (3, 40, 2))
    states = np.zeros((3, 40, 2))
    for t in range(39):
        states[:, t + 1] = _push(states[:, t], u[:, t])
    before, acting = states[:, :-1].reshape(-1, 2), u[:, :-1].reshape(-1, 2)
    pairs = MODELS["least squares"]().fit(before, states[:, 1:].reshape(-1, 2), inputs=acting)
    for trajectories in (
        MODELS["least squares"]().fit(states, inputs=u),
        MODELS["least squares"]().fit_trajectory(list(states), inputs=list(u)),
    ):
        np.testing.assert_allclose(trajectories.operator_, pairs.operator_, atol=1e-10)
    pieces = MODELS["least squares"]()
    pieces.partial_fit_trajectory(states[0, :15], inputs=u[0, :15])
    pieces.partial_fit_trajectory(states[0, 15:], continued=True, inputs=u[0, 15:])
    whole = MODELS["least squares"]().partial_fit_trajectory(states[0], inputs=u[0])
    np.testing.assert_allclose(pieces.operator_, whole.operator_, atol=1e-10)
    with pytest.raises(ValueError, match="3 trajectories, but inputs for 2"):
        pieces.partial_fit_trajectory(states, inputs=u[:2])
    with pytest.raises(ValueError, match="lag must be 1"):
        pieces.set_params(lag=2).partial_fit_trajectory(states, inputs=u)


@pytest.mark.parametrize("name", MODELS)
def test_bad_inputs_are_named_and_change_nothing(name):
    x, u, x_next = _transitions(80, 5)
    model = MODELS[name]()
    with pytest.raises(ValueError, match="n_inputs=2: pass the control inputs"):
        model.fit(x, x_next)
    assert not hasattr(model, "n_features_in_")
    model.fit(x, x_next, inputs=u)
    before = pickle.dumps(model._core.to_bytes())
    holed = u.copy()
    holed[7, 1] = np.nan
    for given, message in [
        (holed, "inputs contains NaN at row 7, column 1"),
        (u[:, :1], r"must have shape \(\d+, 2\)"),
        (u[:70], "80 rows but inputs have 70"),
        (u.astype(str), "real numbers"),
        (None, "pass the control inputs"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            model.partial_fit(x, x_next, inputs=given)
        with pytest.raises((ValueError, TypeError), match=message):
            model.predict(x, inputs=given)
    bad = x.copy()
    bad[3, 0] = np.inf
    with pytest.raises(ValueError, match="X contains inf at row 3, column 0"):
        model.partial_fit(bad, x_next, inputs=u)
    with pytest.raises(ValueError, match="inputs end after 2 steps"):
        model.predict(x, 3, inputs=np.zeros((1, 2, 2)))
    with pytest.raises(ValueError, match=r"inputs have shape \(3, 2, 2\)"):
        model.predict(x, inputs=np.zeros((3, 2, 2)))
    with pytest.raises(ValueError, match="n_inputs=0"):
        ks.Koopman().fit(x, x_next, inputs=u)
    with pytest.raises(ValueError, match="n_inputs must be at least 0"):
        ks.Koopman(n_inputs=-1).fit(x, x_next)
    assert pickle.dumps(model._core.to_bytes()) == before


def test_there_is_no_spectrum():
    x, u, x_next = _transitions(80, 6)
    model = MODELS["least squares"]().fit(x, x_next, inputs=u)
    for question in (
        lambda: model.eigenvalues_,
        model.eig,
        model.timescales,
        model.modes,
        lambda: model.eigenfunctions(x),
        lambda: model.residuals(x, x_next),
    ):
        with pytest.raises(ValueError, match="an operator with inputs has no spectrum"):
            question()
    with pytest.raises(ValueError, match="need a spectrum"):
        model.predict(x, inputs=u, clip_spectrum=True)


@pytest.mark.parametrize("order", ["as they came", "sorted"])
def test_forecasts_under_a_sequence_of_inputs_are_those_of_single_steps(order) -> None:
    rng = np.random.default_rng(0)

    def step(x, u, h=0.1):
        return x + h * np.column_stack([x[:, 1], (1 - x[:, 0] ** 2) * x[:, 1] - x[:, 0] + u[:, 0]])

    x, u = rng.uniform(-2.5, 2.5, (800, 2)), rng.uniform(-1, 1, (800, 1))
    if order == "sorted":
        x = x[np.argsort(x[:, 0])]
    model = ks.Koopman(
        ks.Gaussian(2.0), ks.ALD(1e-5), ks.Ridge(1e-5), n_inputs=1, input_kernel=ks.Gaussian(2.0)
    )
    model.fit(x, step(x, u), inputs=u)
    start, acting = rng.uniform(-1, 1, (10, 2)), rng.uniform(-1, 1, (10, 40, 1))
    truth = single = start
    for t in range(40):
        truth, single = step(truth, acting[:, t]), model.predict(single, inputs=acting[:, t])
    ahead = model.predict(start, [1, 40], inputs=acting)
    np.testing.assert_allclose(ahead[1], single, rtol=1e-9)
    np.testing.assert_allclose(ahead[1], truth, atol=0.1)


# By the input, the first pairs cover little of its range: nearly every state is stored.
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("order", ["as it comes", "by the input", "input constant at first"])
def test_units_of_inputs_do_not_matter_without_a_kernel(order):
    rng = np.random.default_rng(5)
    X, U = rng.normal(size=(400, 2)), rng.uniform(-1.0, 1.0, size=(400, 2))
    if order == "by the input":
        U = U[np.argsort(U[:, 0])]
    if order == "input constant at first":
        U[:20, 0] = 0.0
    X_next = 0.8 * X + U @ [[0.5, 0.0], [0.2, 0.6]] + 0.01 * rng.normal(size=X.shape)
    units = np.array([1e4, 1e-3])
    plain, scaled = ks.Koopman(n_inputs=2), ks.Koopman(n_inputs=2)
    plain.fit(X[:300], X_next[:300], inputs=U[:300])
    scaled.fit(X[:300], X_next[:300], inputs=units * U[:300])
    known = plain.predict(X, inputs=U)
    np.testing.assert_allclose(scaled.predict(X, inputs=units * U), known, atol=1e-6)
    if order != "by the input":
        assert np.abs(known - X_next).max() < 0.3 * np.abs(X_next).max()


def test_columns_of_inputs_that_are_no_numbers_are_named() -> None:
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(60, 1))
    frame = pd.DataFrame({"heat": X[:, 0], "day": ["Monday"] * 60})
    for model, refused in [
        (ks.Koopman(n_inputs=2), lambda model: model.fit(X[:-1], X[1:], inputs=frame[:-1])),
        (ks.Forecaster([1]), lambda model: model.fit(X, inputs=frame)),
    ]:
        with pytest.raises(ValueError, match=r"column 'day' of inputs holds 'Monday' at row 0"):
            refused(model)
    frame["day"] = pd.date_range("2020", periods=60)
    with pytest.raises(TypeError, match="column 'day' of inputs holds dates or times"):
        ks.Forecaster([1]).fit(X, inputs=frame)


def lorenz(rows: int, push: np.ndarray) -> np.ndarray:
    """States of the Lorenz system every .02 under a force on its second component."""

    def slope(x: np.ndarray, u: float) -> np.ndarray:
        a, b, c = x
        return np.array([10 * (b - a), a * (28 - c) - b + 30 * u, a * b - 8 / 3 * c])

    states, h = [np.array([1.0, 2.0, 20.0])], 0.005
    for u in push[: rows - 1]:
        x = states[-1]
        for _ in range(4):
            k1 = slope(x, u)
            k2 = slope(x + h / 2 * k1, u)
            k3 = slope(x + h / 2 * k2, u)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(x + h * k3, u))
        states.append(x)
    return np.array(states)


@pytest.mark.parametrize("order", ["as they come", "sorted by the last", "nearly duplicate"])
@pytest.mark.parametrize("forced", [False, True])
def test_inputs_without_effect_do_no_harm(forced: bool, order: str) -> None:
    # With one bandwidth for all inputs errors were .03 and .06 deviations.
    rng = np.random.default_rng(3)
    n = 1500
    push = rng.normal(size=n + 200) * forced
    states = lorenz(n + 200, push)
    others = rng.normal(size=(n + 200, 2))
    if order == "sorted by the last":
        others[:n, -1] = np.sort(others[:n, -1])
    elif order == "nearly duplicate":
        others[1:n:2] = others[: n - 1 : 2] + 1e-9
    inputs = np.column_stack([push, others])[:, 0 if forced else 1 :]
    model = ks.Koopman(n_inputs=inputs.shape[1]).fit(states[:n], inputs=inputs[:n])
    made = model.predict(states[n:-1], inputs=inputs[n:-1])
    errors = (made - states[n + 1 :]) / states[:n].std(axis=0)
    assert np.sqrt(np.mean(errors**2)) < (0.006 if forced else 0.001)


def test_effects_of_inputs_that_are_affine_are_learned_from_few_rows() -> None:
    # A van der Pol oscillator under an input that is held for five steps, far from 0.
    rng = np.random.default_rng(0)
    push = np.repeat(rng.uniform(-3, 3, 400), 5)

    def slope(x: np.ndarray, u: float) -> np.ndarray:
        return np.array([x[1], (1 - x[0] ** 2) * x[1] - x[0] + u])

    states = [np.array([1.0, 0.0])]
    for u in push[:-1]:
        x = states[-1]
        for _ in range(10):
            x = x + 0.01 * slope(x + 0.005 * slope(x, u), u)
        states.append(x)
    T, U = np.array(states), push[:, None] + 290.0
    model = ks.Koopman(n_inputs=1).fit(T[:1500], inputs=U[:1500])
    made = model.predict(T[1500:-1], inputs=U[1500:-1])
    errors = (made - T[1501:]) / T[:1500].std(axis=0)
    # With a bandwidth of one deviation .0014.
    assert np.sqrt(np.mean(errors**2)) < 2e-4


@pytest.mark.parametrize("seed", [0, 1])
def test_a_small_effect_that_is_not_linear_is_learned_once_there_are_rows(seed: int) -> None:
    # A long bandwidth has its least error with few rows, and had been kept for good: .02.
    rng = np.random.default_rng(seed)
    n = 2500
    push = rng.normal(size=(n + 300, 1))
    T = np.zeros((n + 300, 2))
    for i in range(n + 299):
        effect = 0.02 * np.cos(3 * push[i, 0])
        T[i + 1] = 1 - 1.2 * T[i, 0] ** 2 + T[i, 1] + effect, 0.3 * T[i, 0]
    model = ks.Koopman(n_inputs=1).fit(T[:n], inputs=push[:n])
    errors = model.predict(T[n:-1], inputs=push[n:-1]) - T[n + 1 :]
    assert np.sqrt(np.mean(errors**2)) < 1e-3 * T.std()


@pytest.mark.parametrize("constant", [0.0, 5.0, 1e6])
@pytest.mark.parametrize("rows", [40, 300])
def test_an_input_that_was_constant_has_no_effect_and_is_warned_of(rows, constant) -> None:
    x = np.random.default_rng(0).normal(size=(rows, 1))
    model = ks.Koopman(n_inputs=1).fit(x, 0.8 * x + 20.0, inputs=np.full((rows, 1), constant))
    known = model.predict(x[:3], 2, inputs=np.full((3, 1), constant))
    with pytest.warns(KernelstreamWarning, match="input 0 is .* nothing is known of its effect"):
        changed = model.predict(x[:3], 2, inputs=np.full((3, 1), constant + 3.0))
    np.testing.assert_array_equal(changed, known)
    # One row in which it varies suffices.
    model.partial_fit(x[:1], x[:1], inputs=[[constant + 3.0]])
    assert (model.predict(x[:3], 2, inputs=np.full((3, 1), constant + 3.0)) != known).any()
