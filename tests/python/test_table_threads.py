"""Threads that learn columns and labels at once lose no row, and what is saved can be loaded."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import kernelstream as ks
from realdata import random_stream

X, Y = random_stream(600, 3)
LABELS = np.array(["low", "high"])[(Y > 0.7).astype(int)]
N_THREADS, CALLS = 4, 12


@pytest.fixture(autouse=True)
def _often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize(
    "model",
    [
        ks.KernelClassifier(basis=ks.ALD(max_size=20), class_weight="balanced"),
        ks.KernelClassifier(basis=ks.ALD(max_size=20), n_warm_up=300),
        ks.KernelClassifier(basis=ks.ALD(max_size=20), missing="fill"),
    ],
    ids=["labels", "scaled", "gaps"],
)
def test_no_row_is_lost_and_every_file_is_whole(model, tmp_path):
    model.partial_fit(X[:2], LABELS[:2], classes=["high", "low"])
    errors = []

    def learn(start):
        try:
            for i in range(CALLS):
                rows = slice(start + 10 * i, start + 10 * i + 9)
                model.partial_fit(X[rows], LABELS[rows])
                model.learn_one(X[start], LABELS[start])
        except Exception as error:  # noqa: BLE001  (raised below)
            errors.append(error)

    threads = [threading.Thread(target=learn, args=(120 * t,)) for t in range(N_THREADS)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        model.save(tmp_path / "model")
        saved = ks.load(tmp_path / "model")
        assert saved.class_count_.sum() == saved.n_seen_
    for thread in threads:
        thread.join()
    assert not errors
    assert model.n_seen_ == model.class_count_.sum() == 2 + N_THREADS * CALLS * 10
