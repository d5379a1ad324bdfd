"""Controllers: against an explicit loop in numpy, on systems of known answers, at the edges."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone

import kernelstream as ks
from kernelstream.control import EmbeddingValueIteration, evaluate, train
from realdata import ROOT

ACTIONS = np.array([-0.1, 0.0, 0.1])


def _distance(X, U):
    return (X[:, 0] - 0.5) ** 2 + 0.01 * np.abs(U[:, 0])


def _walk(count=600, seed=0):
    """A point on the interval from -1 to 1 that is pushed about."""
    rng = np.random.default_rng(seed)
    x, u = rng.uniform(-1, 1, (count, 1)), rng.choice(ACTIONS, (count, 1))
    return x, u, np.clip(x + u, -1, 1)


def _controller(**changes):
    params = {"actions": ACTIONS, "cost": _distance, "action_scale": 0.1}
    return EmbeddingValueIteration(**(params | changes))


# ------------------------------------------------------------------------------ value iteration


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("d", [1, 3])
def test_value_iteration_equals_explicit_matrices(seed, d):
    """Every point stored, so that the embedding is kernel ridge regression on all transitions."""
    rng = np.random.default_rng(seed)
    n, sweeps, discount, ridge = 40, 30, 0.9, 0.1
    x, u, noise = rng.uniform(-2, 2, (n, d)), rng.uniform(-1, 1, (n, 2)), rng.normal(size=(n, d))
    x_next = 0.8 * x + 0.3 * u[:, :1] + 0.1 * noise
    ended = rng.random(n) < 0.2
    actions = np.array([[-1.0, -1.0], [0.0, 0.5], [1.0, 1.0], [-1.0, 1.0]])

    def cost(X, U):
        return np.abs(X).sum(axis=1) + U[:, 1] ** 2

    controller = EmbeddingValueIteration(
        ks.Koopman(
            ks.Laplacian(0.5),
            ks.AllPoints(),
            ks.Ridge(ridge),
            n_inputs=2,
            input_kernel=ks.Gaussian(0.8),
        ),
        actions,
        cost,
        discount,
        state_scale=np.full(d, 2.0),
        action_scale=0.5,
        sweeps=sweeps,
        tolerance=0.0,
    )
    controller.learn(x, u, x_next, ended).improve()
    assert (controller.n_stored_, controller.n_stored_next_) == (n, n)

    def similar(states, acting):
        distances = np.linalg.norm((states[:, None] - x[None]) / 2, axis=2)
        of_actions = ((acting[:, None] - u[None]) ** 2).sum(axis=2) / 0.5**2
        return np.exp(-distances / 0.5) * np.exp(-of_actions / (2 * 0.8**2))

    gram = similar(x, u) + ridge * np.eye(n)
    # weights[a, i, j]: of the j-th transition's end in the expectation from state i under action a
    weights = np.array(
        [np.linalg.solve(gram, similar(x_next, np.tile(a, (n, 1))).T).T for a in actions]
    )
    costs = np.array([cost(x_next, np.tile(a, (n, 1))) for a in actions])
    bound, values = costs.max() / (1 - discount), np.zeros(n)
    for _ in range(sweeps):
        values = np.clip((costs + discount * weights @ values).min(axis=0), 0.0, bound)
        values[ended] = 0.0
    assert (values > 0.0).sum() > 20
    np.testing.assert_allclose(controller.states_, x_next)
    np.testing.assert_allclose(controller.state_values_, values, atol=1e-7)

    anywhere = rng.uniform(-2, 2, (300, d))
    ahead = [
        cost(anywhere, np.tile(a, (300, 1)))
        + discount * np.linalg.solve(gram, similar(anywhere, np.tile(a, (300, 1))).T).T @ values
        for a in actions
    ]
    q = np.stack(ahead, axis=1)
    np.testing.assert_allclose(controller.action_values(anywhere), q, atol=1e-7)
    np.testing.assert_allclose(
        controller.value(anywhere), np.clip(q.min(axis=1), 0, bound), atol=1e-7
    )
    np.testing.assert_array_equal(controller.act(anywhere), actions[q.argmin(axis=1)])
    for i in range(5):
        np.testing.assert_array_equal(controller.act(anywhere[i]), actions[q[i].argmin()])
    # The same by costs that are given, with a cost of nothing in the way.
    given = clone(controller).set_params(cost=None).learn(x, u, x_next, ended).improve(costs.T)
    np.testing.assert_array_equal(given.state_values_, controller.state_values_)
    of_actions = np.array([cost(anywhere, np.tile(a, (300, 1))) for a in actions]).T
    np.testing.assert_array_equal(given.act(anywhere, costs=of_actions), controller.act(anywhere))


def test_the_walk_minimizes_its_cost():
    controller = _controller().fit(*_walk())
    x = np.array([[-0.9], [-0.2], [0.2], [0.8], [0.95]])
    np.testing.assert_array_equal(controller.act(x)[:, 0], [0.1, 0.1, 0.1, -0.1, -0.1])
    # The true value function on a fine grid of the same system.
    grid = np.linspace(-1, 1, 401)[:, None]
    values = np.zeros(401)
    ahead = [np.clip(grid[:, 0] + u, -1, 1) for u in ACTIONS]
    for _ in range(400):
        each = [
            _distance(grid, np.full((401, 1), u)) + 0.95 * np.interp(to, grid[:, 0], values)
            for u, to in zip(ACTIONS, ahead, strict=True)
        ]
        values = np.min(each, axis=0)
    assert np.abs(controller.value(grid) - values).max() < 0.1 * values.max()
    # A bound on sweeps is kept; a warm start continues.
    short = _controller(sweeps=3).fit(*_walk())
    assert (short.n_sweeps_, short.converged_) == (3, False)
    for _ in range(200):
        short.improve()
    np.testing.assert_allclose(short.value(grid), controller.value(grid), atol=0.02)
    assert controller.converged_


def test_an_episode_that_ends_costs_nothing_more():
    """Beyond 0.8 all is over: with a cost a step the best is to get there."""
    x, u, x_next = _walk(1500)
    before = x[:, 0] < 0.8
    x, u, x_next = x[before], u[before], x_next[before]
    over = x_next[:, 0] >= 0.8
    each_step = _controller(cost=lambda X, _: np.ones(len(X))).fit(x, u, x_next, over)
    at = np.array([[0.75], [0.55], [0.35], [0.05]])
    np.testing.assert_array_equal(each_step.act(at)[:, 0], [0.1] * 4)
    truth = (1 - 0.95 ** np.array([1, 3, 5, 8])) / 0.05
    np.testing.assert_allclose(each_step.value(at), truth, atol=0.6)
    with pytest.raises(ValueError, match=r"row .* is terminal: make the controller with episo"):
        _controller(episodic=False).fit(x, u, x_next, over)
    plain = _controller(episodic=False).fit(x, u, x_next)
    assert plain.model_.n_features_in_ == 1
    assert each_step.model_.n_features_in_ == 2


def test_learners_by_gradient_work_too():
    model = ks.Koopman(
        ks.Gaussian(0.3),
        ks.HilbertSchmidt(0.02, power=1),
        ks.Replay(ks.Gradient("half_squared", step=0.5), 200, passes=10, random_state=0),
        n_inputs=1,
        input_kernel=ks.Gaussian(1.0),
    )
    controller = _controller(model=model).learn(*_walk(700))
    assert controller.n_stored_ < 200
    assert controller.model_.n_pending_ == 100
    controller.flush().improve()
    assert controller.model_.n_pending_ == 0
    x = np.array([[-0.9], [-0.2], [0.2], [0.8], [0.95]])
    np.testing.assert_array_equal(controller.act(x)[:, 0], [0.1, 0.1, 0.1, -0.1, -0.1])


# ------------------------------------------------------------------------- policies, persistence


def test_chances_repeat_with_their_seed():
    controller = _controller().fit(*_walk())
    x = np.full((20_000, 1), -0.5)
    chosen = controller.act(x, 0.3, 7)
    np.testing.assert_array_equal(chosen, controller.act(x, 0.3, np.random.default_rng(7)))
    assert (chosen != controller.act(x, 0.3, 8)).any()
    shares = [(chosen[:, 0] == u).mean() for u in ACTIONS]
    np.testing.assert_allclose(shares, [0.1, 0.1, 0.8], atol=0.01)
    rng = np.random.default_rng(0)
    some = [controller.act([-0.5], 1.0, rng)[0] for _ in range(50)]
    assert set(some) == set(ACTIONS)
    with pytest.raises(ValueError, match="epsilon must be between 0 and 1"):
        controller.act([0.0], 1.5)


def test_chunks_change_nothing():
    x, u, x_next = _walk(500)
    whole, chunks = _controller().learn(x, u, x_next), _controller()
    for rows in np.array_split(np.arange(500), 13):
        chunks.partial_fit(x[rows], u[rows, 0], x_next[rows])
    np.testing.assert_array_equal(whole.states_, chunks.states_)
    grid = np.linspace(-1, 1, 50)[:, None]
    np.testing.assert_allclose(whole.improve().value(grid), chunks.improve().value(grid), atol=1e-9)


def test_the_best_policy_is_kept_and_used():
    controller = _controller().learn(*_walk(300)).improve()
    grid = np.linspace(-1, 1, 50)[:, None]
    first = controller.value(grid)
    assert controller.best_score_ == -np.inf
    assert controller.keep(1.0)
    controller.set_params(cost=lambda X, _: 1.0 + X[:, 0]).improve()
    assert not controller.keep(0.5)
    assert controller.best_score_ == 1.0
    controller.cost = _distance
    np.testing.assert_array_equal(controller.value(grid), first)
    np.testing.assert_array_equal(controller.value(grid, policy="kept"), first)
    assert np.abs(controller.value(grid, policy="latest") - first).max() > 1.0
    with pytest.raises(ValueError, match="score"):
        controller.keep(np.nan)
    with pytest.raises(ValueError, match="policy must be"):
        controller.act([0.0], policy="best")


def test_files_and_copies_hold_everything(tmp_path):
    controller = _controller().learn(*_walk(300)).improve()
    controller.keep(2.0)
    controller.learn(*_walk(200, seed=1)).improve()
    path = tmp_path / "controller.safetensors"
    controller.save(path)
    grid = np.linspace(-1, 1, 50)[:, None]
    loaded = [
        EmbeddingValueIteration.load(path, cost=_distance),
        pickle.loads(pickle.dumps(controller)),
        ks.load(path).set_params(cost=_distance),
    ]
    for again in loaded:
        assert again.best_score_ == 2.0
        for policy in ("kept", "latest"):
            np.testing.assert_array_equal(
                again.value(grid, policy=policy), controller.value(grid, policy=policy)
            )
    controller.learn(*_walk(200, seed=2)).improve()
    for again in loaded:
        again.learn(*_walk(200, seed=2)).improve()
        np.testing.assert_array_equal(
            again.value(grid, policy="latest"), controller.value(grid, policy="latest")
        )
    with pytest.raises(ks.ModelFileError, match="another kind"):
        ks.Koopman.load(path)
    with pytest.raises(ValueError, match="no cost"):
        EmbeddingValueIteration.load(path).act([0.0])
    fresh = clone(controller)
    assert not hasattr(fresh, "n_features_in_")


# ------------------------------------------------------------------------------------ bad input


def test_bad_transitions_are_named_and_change_nothing():
    x, u, x_next = _walk(100)
    controller = _controller().learn(x, u, x_next).improve()
    before = controller._core.to_bytes()
    holed = x.copy()
    holed[4] = np.nan
    far = u.copy()
    far[9] = 0.3
    for args, message in [
        ((holed, u, x_next), "X contains NaN at row 4, column 0"),
        ((x, u, holed), "X_next contains NaN at row 4, column 0"),
        ((x, np.where(far > 0.2, np.nan, far), x_next), "inputs contains NaN at row 9"),
        ((x, far, x_next), r"U at row 9 is \[0.3\], outside the grid of actions"),
        ((x[:, [0, 0]], u, x_next), "2 features"),
        ((x, u[:50], x_next), "100 rows but U have 50"),
        ((x, u[:, [0, 0]], x_next), r"must have shape \(\d+, 1\)"),
        ((x, u, x_next[:50]), r"X has shape \(100, 1\) but X_next \(50, 1\)"),
        ((x, u, x_next, np.zeros(3, bool)), "terminated must be 100 booleans"),
        ((x, u, x_next, np.zeros(100)), "terminated must be 100 booleans"),
    ]:
        with pytest.raises(ValueError, match=message):
            controller.learn(*args)
    assert controller._core.to_bytes() == before
    for states, message in [
        ([0.0, 0.0], "1 features"),
        ([np.nan], "X contains nan at row 0, column 0"),
        ([["a"]], "real numbers"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            controller.act(states)


def test_bad_costs_are_named_and_change_nothing():
    controller = _controller().learn(*_walk(100)).improve()
    before = controller._core.to_bytes()
    for cost, message in [
        (
            lambda X, _: np.where(X[:, 0] > 0.9, np.nan, 1.0),
            r"returned nan for the state \[0\.9.*action",
        ),
        (lambda X, _: np.ones((len(X), 1)), "returned an array of shape"),
        (lambda _, __: 1.0, "returned an array of shape"),
        (lambda X, _: np.full(len(X), "a"), "real numbers"),
        (None, "no cost"),
    ]:
        controller.cost = cost
        with pytest.raises((ValueError, TypeError), match=message):
            controller.improve()
        with pytest.raises((ValueError, TypeError), match=message):
            controller.act([0.95])
    for costs in (np.ones((3, 3)), np.ones(3), np.full((controller.n_stored_next_, 3), np.inf)):
        with pytest.raises(ValueError, match="cost"):
            controller.improve(costs)
    assert controller._core.to_bytes() == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actions": None}, "actions to choose from"),
        ({"actions": [[0.0], [np.nan]]}, "finite"),
        ({"actions": []}, "at least one"),
        ({"discount": 1.0}, "discount"),
        ({"sweeps": 0}, "sweeps"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"state_scale": 0.0}, "state_scale"),
        ({"action_scale": [1.0, 1.0]}, "action_scale"),
        ({"cost": 3.0}, "cost must be a function"),
        ({"model": ks.Koopman()}, "n_inputs of the model"),
        ({"model": ks.Koopman(n_inputs=2)}, "actions"),
        ({"model": ks.KernelRegressor(scale=False)}, "model must be a Koopman"),
    ],
)
def test_bad_parameters_are_named(changes, message):
    controller = _controller(**changes)
    with pytest.raises((ValueError, TypeError), match=message):
        controller.learn(*_walk(20))
    assert not hasattr(controller, "n_features_in_")


def test_early_queries_name_the_missing_call():
    controller = _controller()
    with pytest.raises(ValueError, match="not fitted"):
        controller.improve()
    with pytest.raises(ValueError, match="not fitted"):
        controller.act([0.0])
    controller.learn(*_walk(20))
    with pytest.raises(ValueError, match="call improve"):
        controller.act([0.0])
    with pytest.raises(ValueError, match="call improve"):
        controller.keep(1.0)
    with pytest.raises(ValueError, match="call keep"):
        controller.improve().act([0.0], policy="kept")


# --------------------------------------------------------------------------------- environments


def _pendulum_cost(X, U):
    angle = np.arctan2(X[:, 1], X[:, 0])
    return angle**2 + 0.1 * X[:, 2] ** 2 + 0.001 * U[:, 0] ** 2


@pytest.fixture
def gymnasium():
    return pytest.importorskip("gymnasium")


@pytest.fixture
def walk(gymnasium):
    """Give a function that makes the walk as an environment, with a fault of one's choice."""

    class Walk(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))
        action_space = gymnasium.spaces.Box(-0.1, 0.1, (1,), dtype=np.float64)

        def __init__(self, fault=None, at=30):
            self.fault, self.at, self.done, self.steps = fault, at, 0, 0

        def reset(self, *, seed=None, **_):
            super().reset(seed=seed)
            self.x, self.steps = self.np_random.uniform(-1, 1, 1), 0
            return self.x, {}

        def step(self, action):
            self.steps += 1
            self.done += 1
            self.x = np.clip(self.x + action, -1, 1)
            seen, reward = self.x, -float((self.x[0] - 0.5) ** 2)
            ended = self.fault == "ends early" and self.x[0] > 0.9
            if self.done == self.at:
                if self.fault == "raises":
                    raise RuntimeError("out of order")
                if self.fault == "interrupted":
                    raise KeyboardInterrupt
                seen = {"nan": seen * np.nan, "shape": np.zeros(2), "words": "x"}.get(
                    self.fault, seen
                )
            if self.fault == "bad reward":
                reward = np.nan
            return seen, reward, ended, self.steps == 20, {}

    return Walk


def test_training_beats_chance_and_repeats(gymnasium):
    def trained():
        controller = EmbeddingValueIteration.for_environment("Pendulum-v1", _pendulum_cost)
        return controller, train("Pendulum-v1", controller, stages=7, episodes=6, seed=3)

    controller, training = trained()
    assert training.n_seen == [400, 800, 1200, 1600, 2000, 2400, 2800]
    assert training.n_stored[-1] + training.n_stored_next[-1] <= 600
    assert len(training.returns) == 7
    assert len(training.returns[0]) == 6
    assert training.best[training.kept]
    np.testing.assert_array_equal(training.medians, [np.median(r) for r in training.returns])
    assert controller.best_score_ == max(r.mean() for r in training.returns)
    rng = np.random.default_rng(0)
    chance = evaluate("Pendulum-v1", lambda _: rng.uniform(-2, 2, 1), 20, seed=1)
    played = evaluate("Pendulum-v1", controller, 20, seed=1)
    assert -1400 < np.median(chance) < -900
    assert np.median(played) > -400
    np.testing.assert_array_equal(played, evaluate("Pendulum-v1", controller, 20, seed=1))
    again = trained()[1]
    np.testing.assert_array_equal(again.returns, training.returns)


def test_spaces_become_grids(gymnasium):
    controller = EmbeddingValueIteration.for_environment(
        "Pendulum-v1", _pendulum_cost, n_actions=5, discount=0.9
    )
    np.testing.assert_array_equal(controller.actions[:, 0], [-2, -1, 0, 1, 2])
    np.testing.assert_array_equal(controller.state_scale, [1, 1, 8])
    assert controller.discount == 0.9
    poles = EmbeddingValueIteration.for_environment("CartPole-v1", _pendulum_cost)
    np.testing.assert_array_equal(poles.actions, [[0.0], [1.0]])
    np.testing.assert_array_equal(np.asarray(poles.state_scale)[[1, 3]], [1.0, 1.0])

    class Two(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))
        action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,))

    assert EmbeddingValueIteration.for_environment(Two(), None, n_actions=3).actions.shape == (9, 2)
    for spaces, message in [
        ({"observation_space": gymnasium.spaces.Discrete(3)}, "observations must be vectors"),
        ({"action_space": gymnasium.spaces.MultiBinary(3)}, "actions must be vectors"),
        ({"action_space": gymnasium.spaces.Box(-np.inf, np.inf, (1,))}, "is unbounded"),
    ]:
        env = Two()
        vars(env).update(spaces)
        with pytest.raises(ValueError, match=message):
            EmbeddingValueIteration.for_environment(env, None)


def test_an_environment_that_ends_early_is_learned_on(walk):
    controller = _controller()
    training = train(walk("ends early"), controller, stages=2, steps=300, episodes=3, seed=0)
    assert training.n_seen == [300, 600]
    ended = controller.model_.dictionary_next_[:, -1] > 2
    assert ended.any()
    assert (controller.states_[ended] > 0.9).all()
    with pytest.raises(ValueError, match="episodic=True") as caught:
        train(walk("ends early"), _controller(episodic=False), stages=2, steps=300, seed=0)
    assert "stage" in str(caught.value) or caught.value


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        ("raises", RuntimeError, "out of order"),
        ("interrupted", KeyboardInterrupt, None),
        ("nan", ValueError, "in stage 1, step 30, is"),
        ("shape", ValueError, r"in stage 1, step 30, has shape \(2,\), not 1 numbers"),
        ("words", ValueError, "in stage 1, step 30, is not a vector of numbers"),
    ],
)
def test_nothing_is_lost_when_an_environment_fails(walk, fault, error, message):
    controller = _controller()
    with pytest.raises(error, match=message) as caught:
        train(walk(fault), controller, stages=2, steps=100, episodes=2, seed=0)
    assert controller.n_seen_ == 29
    assert "the 29 transitions in stage 1 before this are learned" in caught.value.__notes__
    # and it continues from there
    train(walk(), controller, stages=1, steps=100, episodes=2, seed=1)
    assert controller.n_seen_ == 129
    kept = controller.best_score_
    with pytest.raises(error):
        train(walk(fault, at=250), controller, stages=5, steps=100, episodes=1, seed=2)
    assert controller.best_score_ >= kept
    controller.act([0.0])


def test_unsuitable_environments_are_refused(walk):
    controller = _controller(actions=[-0.2, 0.0, 0.2])
    with pytest.raises(ValueError, match=r"the action \[-0.2\] is not in the environment's"):
        train(walk(), controller)
    assert not hasattr(controller, "n_features_in_")
    holed = _controller(cost=lambda X, _: np.full(len(X), np.nan))
    with pytest.raises(ValueError, match="returned nan for the state"):
        train(walk(), holed, stages=2, steps=50)
    assert holed.n_seen_ == 50
    for changes in ({"stages": 0}, {"steps": 0}, {"episodes": 0}, {"epsilon": 2.0}):
        with pytest.raises(ValueError, match=next(iter(changes))):
            train(walk(), _controller(), **changes)
    with pytest.raises(ValueError, match="reward at step 0"):
        evaluate(walk("bad reward"), _controller().fit(*_walk()), 1, seed=0)


def test_evaluation_and_stages_can_be_the_callers(walk):
    seen = []
    scores = iter([[1.0, 3.0], [5.0, 5.0], [0.0, 1.0]])
    controller = _controller()
    training = train(
        walk(),
        controller,
        stages=3,
        steps=60,
        seed=0,
        evaluation=lambda controller: next(scores) if controller.act([0.0]).size else [],
        on_stage=lambda training: seen.append(len(training.returns)),
        progress=True,
    )
    assert (seen, training.best, training.kept) == ([1, 2, 3], [True, True, False], 1)
    assert controller.best_score_ == 5.0


def test_held_actions_count_once(walk):
    env, controller = walk(), _controller()
    training = train(env, controller, stages=1, steps=50, hold=3, episodes=2, seed=0)
    assert training.n_seen == [50]
    # Seven decisions an episode of 20 steps, the last one of two steps.
    assert env.done == 7 * 20 + (50 - 7 * 7) * 3 + 2 * 20
    model = controller.model_
    moved = controller.states_.ravel()
    assert model.n_seen_ == 50
    assert np.abs(moved).max() <= 1.0
    plain, held = walk(), walk()
    controller.fit(*_walk())
    assert evaluate(plain, lambda _: np.zeros(1), 3, seed=0) == pytest.approx(
        evaluate(held, lambda _: np.zeros(1), 3, hold=4, seed=0)
    )
    with pytest.raises(ValueError, match="hold must be at least 1"):
        train(walk(), controller, hold=0)


def test_the_car_reaches_its_flag(gymnasium):
    name = "MountainCarContinuous-v0"
    controller = EmbeddingValueIteration.for_environment(
        name, lambda _, U: 1.0 + 0.1 * U[:, 0] ** 2, n_actions=5
    )
    training = train(name, controller, stages=4, steps=400, hold=8, episodes=5, seed=0)
    assert training.returns[training.kept].min() > 80
    # Left to itself it reaches nothing.
    assert np.median(evaluate(name, lambda _: np.zeros(1), 2, hold=8, seed=0)) == 0.0


def test_without_gymnasium_an_error_says_how_to_get_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ModuleNotFoundError, match=r"kernelstream\[control\]"):
        train("Pendulum-v1", _controller())
    with pytest.raises(ModuleNotFoundError, match=r"kernelstream\[control\]"):
        EmbeddingValueIteration.for_environment("Pendulum-v1", _pendulum_cost)


# ----------------------------------------------------------------------------------------- demo


def test_the_demo_draws(gymnasium, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    console = pytest.importorskip("rich.console").Console(quiet=True)
    from kernelstream.demos import pendulum

    monkeypatch.setattr(pendulum, "_HELD_OUT", 3)
    picture, last = pendulum.run(tmp_path, console, seed=1, stages=1)
    assert picture == tmp_path / "pendulum.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "median return of the kept policy over 3 held-out episodes" in last
    with pytest.raises(ValueError, match=r"an animation must be \.gif"):
        pendulum.run(tmp_path, console, animation=tmp_path / "film.avi")


def test_the_demo_takes_a_seed_and_files_and_others_do_not(monkeypatch, tmp_path):
    testing = pytest.importorskip("typer.testing")
    from kernelstream.cli import app
    from kernelstream.demos import pendulum

    outcome = {}

    def run(output, console, **options):
        outcome.update(options)
        return output / "a.png", "the last word"

    monkeypatch.setattr(pendulum, "run", run)
    command = ["demo", "pendulum", "-o", str(tmp_path), "--seed", "3"]
    files = ["--out", str(tmp_path / "b.png"), "--animation", str(tmp_path / "c.gif")]
    result = testing.CliRunner().invoke(app, command + files)
    assert result.output.splitlines()[-1] == "the last word"
    assert outcome == {"seed": 3, "out": tmp_path / "b.png", "animation": tmp_path / "c.gif"}
    result = testing.CliRunner().invoke(app, ["demo", "terrain", "--seed", "3"])
    assert result.exit_code == 1
    assert "the demo terrain does not have the option seed" in result.output


def test_the_guide_to_environments_runs(gymnasium):
    """What test_documents leaves out, as it needs gymnasium; with fewer stages and episodes."""
    text = (ROOT / "docs" / "control.md").read_text()
    (block,) = re.findall(r"^```py\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for many, few in (("stages=20", "stages=2"), ("controller, 200,", "controller, 2,")):
        assert many in block
        block = block.replace(many, few)
    exec(block, {"np": np})
