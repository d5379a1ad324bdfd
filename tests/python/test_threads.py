"""One model in several threads, and the interpreter's lock released while it works."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

import kernelstream as ks
from realdata import random_stream


def test_threads_predict_while_one_learns():
    X, y = random_stream(6000, 3)
    model = ks.KernelRegressor(ks.Gaussian(0.5), ks.ALD(1e-3), scale=False).partial_fit(
        X[:100], y[:100]
    )
    done = threading.Event()
    failures = []
    answers = [0]

    def ask():
        while not done.is_set():
            try:
                predictions = model.predict(X[:7])
                assert predictions.shape == (7,)
                assert np.isfinite(predictions).all()
                assert np.isfinite(model.predict_one(X[0]))
                assert model.transform(X[:2]).shape[0] == 2
                assert len(model.dictionary_) <= model.n_stored_
                answers[0] += 1
            except BaseException as failure:  # noqa: BLE001  (reported below, in the main thread)
                failures.append(failure)
                return

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for start in range(100, 6000, 500):
        model.partial_fit(X[start : start + 500], y[start : start + 500])
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert answers[0] > 0
    alone = ks.KernelRegressor(ks.Gaussian(0.5), ks.ALD(1e-3), scale=False).partial_fit(
        X[:100], y[:100]
    )
    for start in range(100, 6000, 500):
        alone.partial_fit(X[start : start + 500], y[start : start + 500])
    # Calls are cut where somebody waits, which changes rounding.
    np.testing.assert_array_equal(model.dictionary_, alone.dictionary_)
    np.testing.assert_allclose(model.predict(X), alone.predict(X), atol=1e-9)


def test_threads_that_learn_lose_no_row():
    X, y = random_stream(2000, 2)
    model = ks.KernelRegressor(scale=False).partial_fit(X[:1], y[:1])

    def learn(part):
        for x, target in zip(X[part::4], y[part::4], strict=True):
            model.learn_one(x, target)

    threads = [threading.Thread(target=learn, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.n_seen_ == 2001


def test_other_threads_run_while_one_learns():
    X, y = random_stream(4000, 8)
    model = ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-4, max_size=400), scale=False)
    worker = threading.Thread(target=model.partial_fit, args=(X, y))
    ticks = 0
    begun = time.perf_counter()
    worker.start()
    while worker.is_alive():
        time.sleep(0.001)
        ticks += 1
    seconds = time.perf_counter() - begun
    # Held, the lock would let this loop turn once or twice.
    assert ticks > 50 * seconds


def test_readers_are_answered_while_a_long_call_learns():
    X, y = random_stream(150_000, 8)
    model = ks.KernelRegressor(
        ks.Gaussian(1.0), ks.ALD(1e-4, max_size=300), scale=False
    ).partial_fit(X[:9], y[:9])
    worker = threading.Thread(target=model.partial_fit, args=(X, y))
    worker.start()
    counts = []
    while worker.is_alive():
        assert np.isfinite(model.predict(X[:3])).all()
        counts.append(model.n_seen_)
        time.sleep(0.001)
    assert model.n_seen_ == 150_009
    between = {count for count in counts if 9 < count < 150_009}
    # A reader that waited for the whole call would see none of these.
    assert len(between) >= 2


def test_progress_may_query_the_model_that_is_learning():
    X, y = random_stream(3000, 8)
    core = ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-4, max_size=300), scale=False)._new_core()
    reports = []
    core.learn(X, y[:, None], None, lambda done: reports.append((done, core.n_stored, core.n_seen)))
    assert reports[-1] == (3000, core.n_stored, 3000)
    assert [done for done, _, _ in reports] == sorted(done for done, _, _ in reports)


def test_an_exception_in_progress_stops_and_keeps_the_rows_done():
    X, y = random_stream(20_000, 8)
    model = ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-4, max_size=300), scale=False)
    core = model._new_core()

    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        core.learn(X, y[:, None], None, stop)
    assert 0 < core.n_seen <= 20_000
    again = model._new_core()
    again.learn(X[: core.n_seen], y[: core.n_seen, None])
    assert again.n_stored == core.n_stored
    np.testing.assert_allclose(again.predict(X[:9]), core.predict(X[:9]), atol=1e-9)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_ctrl_c_stops_within_a_second_and_keeps_the_rows_done():
    X, y = random_stream(200_000, 8)
    model = ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-4, max_size=400), scale=False)
    sent = []
    # A process begun in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def press():
        sent.append((time.process_time(), time.perf_counter()))
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X, y)
    finally:
        signal.signal(signal.SIGINT, before)
    processor, clock = sent[0]
    # Processor time, since concurrent tests share the processors.
    assert time.process_time() - processor < 1.0
    assert time.perf_counter() - clock < 5.0
    assert 0 < model.n_seen_ < 200_000
    assert np.isfinite(model.predict(X[:3])).all()
