"""Ctrl-C at every stage of every long call: what is left is a model like any other."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import kernelstream as ks
from kernelstream import _core
from kernelstream.control import EmbeddingValueIteration
from realdata import random_stream

X, Y = random_stream(400, 2)
PATH = np.cumsum(random_stream(300, 2)[0], axis=0) / 10


@pytest.fixture(autouse=True)
def no_more_interrupts():
    yield
    _core.interrupt_after(None)


def interrupted(call, looks):
    """Whether the call was interrupted at this look at Ctrl-C, rather than done before it."""
    _core.interrupt_after(looks)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        _core.interrupt_after(None)
    return False


def stages(seed, most):
    """A few of the first looks at Ctrl-C, and some of the others."""
    return [0, 1, 2, *np.random.default_rng(seed).integers(3, most, 4)]


def same(model, other, tmp_path):
    """Whether two estimators, and what is saved of the first one, hold the same."""
    model.save(tmp_path / "model.ks")
    for one in (model, ks.load(tmp_path / "model.ks")):
        assert one.n_seen_ == other.n_seen_
        np.testing.assert_array_equal(one.dictionary_, other.dictionary_)
        np.testing.assert_allclose(one.predict(X[:9]), other.predict(X[:9]), atol=1e-8)


@pytest.mark.parametrize("first", [0, 20])
@pytest.mark.parametrize(
    "make",
    [
        lambda: ks.KernelRegressor(ks.Gaussian(0.3), ks.ALD(1e-2), scale=False),
        lambda: ks.KernelRegressor(ks.Gaussian(0.3), ks.KORS(), ks.Ridge(clip=True), scale=False),
        lambda: ks.KernelExperts(
            [ks.KernelRegressor(ks.Gaussian(w), scale=False) for w in (0.3, 1.0)], scale=False
        ),
    ],
)
def test_rows_done_stay_and_the_others_can_follow(make, first, tmp_path):
    whole = make().partial_fit(X, Y)
    for looks in stages(1, 20):
        model = make()
        if first:
            model.partial_fit(X[:first], Y[:first])
        if interrupted(lambda: model.partial_fit(X[first:], Y[first:]), looks):  # noqa: B023
            done = model.n_seen_
            assert first < done
            same(model, make().partial_fit(X[:done], Y[:done]), tmp_path)
            if done < len(X):
                model.partial_fit(X[done:], Y[done:])
        same(model, whole, tmp_path)


def test_learning_a_warm_up_again_can_be_broken_off(tmp_path):
    make = lambda: ks.KernelRegressor(ks.Gaussian(0.3), n_warm_up=300)  # noqa: E731
    whole = make().partial_fit(X, Y)
    broken = 0
    for looks in stages(4, 600):
        model = make().partial_fit(X[:100], Y[:100])
        if interrupted(lambda: model.partial_fit(X[100:], Y[100:]), looks):  # noqa: B023
            broken += model.n_seen_ in {127, 255, 299}  # right before a turn
            model.partial_fit(X[model.n_seen_ :], Y[model.n_seen_ :])
        model.save(tmp_path / "model.ks")
        for one in (model, ks.load(tmp_path / "model.ks")):
            assert one.n_seen_ == len(X)
            np.testing.assert_allclose(one.predict(X), whole.predict(X), atol=1e-8)
    assert broken


@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize("first", [0, 50])
def test_a_trajectory_continues_where_it_was_broken_off(first, lag, tmp_path):
    make = lambda: ks.Koopman(ks.Gaussian(1.0), ks.ALD(1e-2), lag=lag)  # noqa: E731
    other = PATH[:40] + 1.0
    for looks in stages(2, 15):
        model = make()
        if first:
            model.partial_fit_trajectory(other)
        before = 0 if not first else model.n_seen_
        if interrupted(lambda: model.partial_fit_trajectory(PATH), looks):  # noqa: B023
            taken_in = model.n_seen_ - before + lag
            assert taken_in > lag
            model.save(tmp_path / "model.ks")
            for one in (model, ks.load(tmp_path / "model.ks")):
                if taken_in < len(PATH):
                    one.partial_fit_trajectory(PATH[taken_in:], continued=True)
        whole = make()
        if first:
            whole.partial_fit_trajectory(other)
        same(model, whole.partial_fit_trajectory(PATH), tmp_path)
        np.testing.assert_allclose(model.eigenvalues_[:3], whole.eigenvalues_[:3], atol=1e-6)


def test_a_replay_buffer_continues_where_it_was_broken_off(tmp_path):
    make = lambda: ks.Koopman(  # noqa: E731
        ks.Gaussian(1.0), ks.ALD(1e-2), ks.Replay(ks.Gradient(step=0.2), 100, 3, random_state=0)
    )
    whole = make().partial_fit(PATH[:-1], PATH[1:]).flush()
    for looks in stages(3, 60):
        model = make()
        if interrupted(lambda: model.partial_fit(PATH[:-1], PATH[1:]), looks):  # noqa: B023
            model.save(tmp_path / "model.ks")
            model = ks.load(tmp_path / "model.ks")
            done = model.n_seen_
            if done < len(PATH) - 1:
                model.partial_fit(PATH[done:-1], PATH[done + 1 :])
        interrupted(model.flush, looks)
        model.flush()
        assert model.n_pending_ == 0
        same(model, whole, tmp_path)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.eigenvalues_,
        lambda model: model.eigenfunctions(PATH, left=True),
        lambda model: model.predict(PATH, n_steps=[1, 5, 900]),
        lambda model: model.residuals(PATH[:-1], PATH[1:]),
        lambda model: model.transform(np.repeat(PATH, 9, axis=0)),
    ],
)
def test_interrupted_queries_can_be_repeated(ask):
    def make():
        model = ks.Koopman(ks.Gaussian(1.0), ks.ALD(1e-3)).fit_trajectory(PATH)
        # The warning of growth has found the spectrum; after one more pair it is not known.
        model.learn_one(PATH[0], PATH[1])
        return model

    answer = ask(make())
    model = make()
    stopped = sum(interrupted(lambda: ask(model), looks) for looks in (0, 1, 2))
    assert stopped
    np.testing.assert_array_equal(ask(model), answer)


def test_an_interrupted_improvement_changes_nothing():
    u = np.resize([-1.0, 0.0, 1.0], len(PATH) - 1)[:, None]
    cost = lambda x, _: (x**2).sum(axis=1)  # noqa: E731
    controller = EmbeddingValueIteration(actions=[-1.0, 0.0, 1.0], cost=cost)
    controller.learn(PATH[:-1], u, PATH[1:]).improve()
    before = controller.state_values_
    for looks in (0, 1):
        assert interrupted(controller.improve, looks)
        np.testing.assert_array_equal(controller.state_values_, before)


def test_a_call_that_waits_can_be_interrupted():
    model = ks.KernelRegressor(scale=False).partial_fit(X, Y)
    turn = model._in_turn()
    held, done = threading.Event(), threading.Event()

    def hold():
        with turn:
            held.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    assert interrupted(lambda: model.partial_fit(X, Y), 0)
    done.set()
    holder.join()
    assert model.n_seen_ == 400
    model.partial_fit(X, Y)


@pytest.mark.parametrize("looks", [3, 20, 60])
def test_an_interrupted_refit_is_repeated_before_the_next_row(looks, tmp_path):
    # The 36th row begins a refit, which is most of what the call does.
    first, later = slice(0, 30), slice(30, 60)
    model, other = (ks.KernelExperts(size=10).partial_fit(X[first], Y[first]) for _ in range(2))
    other.partial_fit(X[later], Y[later])
    interrupted(lambda: model.partial_fit(X[later], Y[later]), looks)
    done = model.n_seen_
    model.save(tmp_path / "model.ks")
    again = ks.load(tmp_path / "model.ks")
    assert np.isfinite(model.predict(X[:5])).all()
    for one in (model, again):
        one.partial_fit(X[done:60], Y[done:60])
        assert one.n_seen_ == 60
        if done == 60:
            one.partial_fit(X[60:61], Y[60:61])
    if done == 60:
        other.partial_fit(X[60:61], Y[60:61])
    for one in (model, again):
        np.testing.assert_allclose(one.predict(X[:9]), other.predict(X[:9]), atol=1e-8)


def test_rows_of_thousands_of_columns_are_learned():
    rows = np.random.default_rng(0).normal(size=(20, 3000))
    model = ks.KernelExperts(size=10)
    assert interrupted(lambda: model.partial_fit(rows, rows[:, 0]), 12)
    done = model.n_seen_
    model.partial_fit(rows[done:], rows[done:, 0])
    assert np.isfinite(model.predict(rows)).all()
