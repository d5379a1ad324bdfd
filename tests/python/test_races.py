"""Threads that race on one estimator, the interpreter switching between them as often as it can.

``KERNELSTREAM_RACES=1000 pytest tests/python/test_races.py`` is the long form.
"""

from __future__ import annotations

import os
import sys
import threading

import numpy as np
import pytest
from sklearn.base import clone

import kernelstream as ks
from realdata import random_stream

RUNS = int(os.environ.get("KERNELSTREAM_RACES", "8"))
# Every call learns these, so that the stream is the same whoever is first.
X, Y = random_stream(40, 2)
LABELS = np.where(Y > 0, "up", "down")
SMALL = {"kernel": ks.Gaussian(0.5), "basis": ks.ALD(1e-2, max_size=12)}

KINDS = {
    "regressor": (ks.KernelRegressor(**SMALL, scale=False), lambda model: model.partial_fit(X, Y)),
    "classifier": (
        ks.KernelClassifier(**SMALL, scale=False),
        lambda model: model.partial_fit(X, LABELS, classes=["down", "up"]),
    ),
    "experts": (
        ks.KernelExperts(
            [
                ks.KernelRegressor(**SMALL, scale=False),
                ks.KernelRegressor(ks.Gaussian(2.0), scale=False),
            ],
            scale=False,
        ),
        lambda model: model.partial_fit(X, Y),
    ),
    "koopman": (ks.Koopman(**SMALL), lambda model: model.partial_fit(X[:-1], X[1:])),
}


@pytest.fixture(autouse=True)
def switching():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(*tasks):
    """Run functions in threads that begin together; give what they raised."""
    barrier, raised = threading.Barrier(len(tasks)), []

    def run(task):
        barrier.wait()
        try:
            task()
        except BaseException as error:  # noqa: BLE001  (given to the main thread)
            raised.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


@pytest.mark.parametrize("kind", KINDS)
def test_four_threads_that_begin_a_model_lose_no_row(kind):
    template, learn = KINDS[kind]
    rows = len(X) - (kind == "koopman")
    for _ in range(RUNS):
        model = clone(template)
        assert not at_once(*[lambda model=model: [learn(model) for _ in range(3)]] * 4)
        assert model.n_seen_ == 12 * rows
        if kind == "classifier":
            np.testing.assert_array_equal(
                model.class_count_, 12 * np.unique(LABELS, return_counts=True)[1]
            )


@pytest.mark.parametrize("kind", ["regressor", "experts", "koopman"])
def test_a_file_saved_during_learning_is_the_model_at_some_row(kind, tmp_path):
    template, learn = KINDS[kind]
    for _ in range(max(RUNS // 4, 1)):
        model = clone(template)
        learn(model)
        saved = []

        def save():
            for i in range(8):
                model.save(tmp_path / f"{i}.ks")  # noqa: B023
                saved.append(ks.load(tmp_path / f"{i}.ks"))  # noqa: B023

        assert not at_once(*[lambda: [learn(model) for _ in range(5)]] * 2, save)  # noqa: B023
        for other in saved:
            again = clone(template)
            learned = other.n_seen_
            rows = np.arange(learned) % (len(X) - (kind == "koopman"))
            if kind == "koopman":
                again.partial_fit(X[rows], X[rows + 1])
            else:
                again.partial_fit(X[rows], Y[rows])
            assert again.n_seen_ == learned
            np.testing.assert_array_equal(again.dictionary_, other.dictionary_)
            np.testing.assert_allclose(again.predict(X), other.predict(X), atol=1e-8)


def test_fit_and_partial_fit_in_two_threads_are_serialized():
    for _ in range(RUNS):
        model = ks.KernelRegressor(**SMALL, scale=False).partial_fit(X, Y)
        assert not at_once(lambda: model.fit(X[:7], Y[:7]), lambda: model.partial_fit(X, Y))  # noqa: B023
        assert model.n_seen_ in {7, 47}


def test_an_error_takes_back_no_row_of_another_thread():
    same, ones = np.repeat(X[:1], 30_000, axis=0), np.ones(30_000)
    for _ in range(RUNS):
        # Such steps double the error of a point that comes again and again, so that it overflows.
        model = ks.KernelRegressor(learner=ks.Gradient(step=1.5, loss="squared"), scale=False)
        model.partial_fit(same[:1], [0.0])
        raised = at_once(
            lambda: model.partial_fit(same, ones),  # noqa: B023
            *[lambda: [model.learn_one(X[0], 0.0) for _ in range(9)]] * 3,  # noqa: B023
        )
        assert len(raised) == 1
        assert "diverge" in str(raised[0])
        assert model.n_seen_ == 28
        assert model.predict_one(X[0]) == 0.0


def test_a_call_waits_for_the_whole_of_another_one():
    many_x, many_y = random_stream(60_000, 8)
    model = ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-4, max_size=300), scale=False)
    core = model.partial_fit(many_x[:1], many_y[:1])._core
    begun, between = threading.Event(), []

    def report(done):
        between.append(done)
        begun.set()

    learner = threading.Thread(target=core.learn, args=(many_x, many_y[:, None], None, report))
    learner.start()
    begun.wait()
    model.learn_one(many_x[0], 0.0)
    # The one row came after all of the others.
    assert between[-1] == 60_000
    learner.join()
    assert model.n_seen_ == 60_002


def test_training_a_model_within_its_own_learning_call_is_an_error():
    model = ks.KernelRegressor(scale=False).partial_fit(X[:1], Y[:1])

    def report(done):
        model.learn_one(X[0], Y[0])

    with pytest.raises(RuntimeError, match="in the middle of a call"):
        model._core.learn(X, Y[:, None], None, report)
    assert model.n_seen_ == 41
