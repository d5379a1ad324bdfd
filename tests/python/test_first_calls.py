"""While a stream begins, other threads meet the estimator as it was before, and lose no row."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import kernelstream as ks
from realdata import random_stream

X, Y = random_stream(60, 2)


class Halting(ks.KernelRegressor):
    """One whose calls of many rows, when these are learned, wait until they may end."""

    def halt(self, error=None):
        self.learned, self.release, self.error = threading.Event(), threading.Event(), error
        return self

    def _learn_rows(self, rows, *args, **options):
        said = super()._learn_rows(rows, *args, **options)
        if len(rows) == len(X):
            self.learned.set()
            self.release.wait()
            if self.error:
                raise self.error
        return said


def begun(model, call):
    """A thread that is in the middle of a call."""
    thread = threading.Thread(target=call)
    thread.start()
    model.learned.wait()
    return thread


def test_a_row_that_comes_during_a_failing_first_call_is_learned():
    model = Halting().halt(ValueError("not today"))

    def fail():
        with pytest.raises(ValueError, match="not today"):
            model.partial_fit(X, Y)

    first = begun(model, fail)
    other = threading.Thread(target=model.learn_one, args=(X[0], 1.0))
    other.start()
    other.join(0.05)
    model.release.set()
    first.join()
    other.join()
    assert model.n_seen_ == 1


def test_predictions_during_a_fit_are_those_of_the_former_model():
    model = Halting().partial_fit(X[:9], Y[:9])
    before = model.predict(X)
    fit = begun(model.halt(), lambda: model.fit(X[:, :1], Y))
    np.testing.assert_array_equal(model.predict(X), before)
    assert (model.n_seen_, model.n_features_in_) == (9, 2)
    model.release.set()
    fit.join()
    assert (model.n_seen_, model.n_features_in_) == (60, 1)


def test_before_the_first_call_is_done_nothing_is_fitted():
    model = Halting().halt()
    fit = begun(model, lambda: model.fit(X, Y))
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.release.set()
    fit.join()
    assert model.predict(X).shape == (60,)
