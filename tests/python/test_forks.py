"""Processes that are forked off while other threads use a model.

A model that is in use for longer than a fork waits: see `src/lock/tests.rs`.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

if not hasattr(os, "fork"):
    pytest.skip("there are no forks here", allow_module_level=True)

# A process of its own, whose threads are known; a child that hangs is found by the time it takes.
SETTING = """
import multiprocessing, os, signal, threading, time, warnings
import numpy as np
import kernelstream as ks
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (100_000, 8))
Y = np.sin(X.sum(axis=1))

def beside(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    time.sleep(0.2)

def again_and_again(predict):
    while True:
        predict(X[:1000])

def in_child(work):
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that hangs is killed
        try:
            work()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def check(model):
    assert np.isfinite(model.predict(X[:3])).all()
    assert np.isfinite(model.predict_one(X[0]))
    seen = model.n_seen_
    model.learn_one(X[0], Y[0])
    model.partial_fit(X[:50], Y[:50])
    assert model.n_seen_ == seen + 51
"""


# What is printed is a name and how the child ended; one that raises ends with 1 and says so.
PROGRAM = """
learner = ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-4, max_size=300)).partial_fit(X[:9], Y[:9])
beside(lambda: learner.partial_fit(X, Y))
print("learns", [in_child(lambda: check(learner)) for _ in range(3)])

asked = ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-4, max_size=300)).fit(X[:500], Y[:500])
beside(lambda: again_and_again(asked.predict))
print("predicts", in_child(lambda: check(asked)))

begun, labels = ks.KernelClassifier(ks.Gaussian(1.0), ks.ALD(1e-4, max_size=300)), Y > 0
beside(lambda: begun.partial_fit(X, labels, classes=[False, True]))
print("begins", in_child(lambda: begun.fit(X[:9], labels[:9])))

grid = [ks.KernelRegressor(ks.Gaussian(width)) for width in (0.5, 1.0)]
experts = ks.KernelExperts(grid).partial_fit(X[:500], Y[:500])
beside(lambda: again_and_again(experts.predict))

def several():
    assert len(experts.predict(X[:5000])) == 5000
    experts.partial_fit(X[:500], Y[:500])

print("several", in_child(several))

# The child continues while the parent's other thread prepares a refit, which it does not have.
chosen = ks.KernelExperts(size=40).fit(X[:812], Y[:812])

def continued(model):
    return model.partial_fit(X[812:1200], Y[812:1200]).predict(X[:50])

def prepares():
    child = continued(chosen)
    assert (child == continued(ks.KernelExperts(size=40).fit(X[:812], Y[:812]))).all()

print("prepares", in_child(prepares))
with multiprocessing.get_context("fork").Pool(2) as pool:
    print("pool", len(pool.map_async(experts.predict, [X[:500]] * 4).get(30)))
os._exit(0)
"""


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What the program prints, by the first words."""
    run = subprocess.run(  # noqa: PLW1510  (below)
        [sys.executable, "-c", SETTING + PROGRAM],
        env=os.environ | {"KERNELSTREAM_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert run.returncode == 0, run.stderr
    return dict(line.split(maxsplit=1) for line in run.stdout.splitlines())


def test_the_child_of_a_process_that_learns_has_a_whole_model(said):
    assert said["learns"] == "[0, 0, 0]"


def test_the_child_of_a_process_that_predicts_may_learn(said):
    assert said["predicts"] == "0"


def test_a_first_call_that_the_fork_left_behind_can_be_repeated(said):
    assert said["begins"] == "0"


def test_the_child_of_a_process_that_prepares_a_refit_has_the_same_refit(said):
    assert said["prepares"] == "0"


def test_children_use_several_threads_of_their_own(said):
    assert said["several"] == "0"
    assert said["pool"] == "4"
