"""Two rounds: over threads, and over Dask where it is installed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import kernelstream as ks
from kernelstream import distributed
from realdata import random_stream

X, Y = random_stream(500, 3)
MODEL = ks.KernelRegressor(basis=ks.ALD(1e-3), scale=False)


def test_threads_are_one_model():
    model = distributed.fit(clone(MODEL), X, Y, n_jobs=3, sample_size=100)
    one = distributed.fit(clone(MODEL), X, Y, n_jobs=1, sample_size=100)
    assert model.n_seen_ == len(X)
    again = distributed.fit(clone(one).merge(one), [(X, Y)], sample_size=None)
    np.testing.assert_allclose(again.predict(X), one.predict(X), atol=1e-9)
    assert model.score(X, Y) > 0.9 * one.score(X, Y)


@pytest.mark.parametrize("cuts", [[], [250], [0, 1, 1, 400], range(500)])
def test_how_rows_are_spread_does_not_matter(cuts):
    begun = distributed.begin(MODEL, [distributed.sample(MODEL, (X, Y), 60)])
    parts = list(zip(np.split(X, cuts), np.split(Y, cuts), strict=True))
    expected = distributed.learn(begun, (X, Y)).predict(X)
    model = distributed.fit(begun, parts, sample_size=None, n_jobs=2)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-9)


def test_labels_weights_tables_and_operators():
    labels = np.where(np.median(Y) < Y, "high", "low")
    classifier = ks.KernelClassifier(learner=ks.Ridge(), scale=False)
    distributed.fit(classifier, X, labels, sample_weight=np.ones(len(X)), n_jobs=2)
    assert classifier.score(X, labels) > 0.8
    frame = pd.DataFrame(X * 50, columns=list("abc"))
    table = ks.KernelRegressor()
    assert distributed.fit(table, frame, Y, n_jobs=2).n_seen_ == len(X)
    path = 0.9 ** np.arange(60)[:, None] * [1.0, -0.5]
    operator = distributed.fit(ks.Koopman(lag=2), [path, path[:1], 2 * path], n_jobs=2)
    assert operator.n_seen_ == 2 * 58
    assert distributed.fit(ks.Koopman(lag=2), path, n_jobs=2).n_seen_ == 58
    pairs = distributed.fit(ks.Koopman(), path[:-1], path[1:], n_jobs=2)
    assert np.abs(pairs.predict(path[:1]) - path[1:2]).max() < 0.05


def test_an_error_names_part_and_row():
    bad = X.copy()
    bad[303, 1] = np.nan
    model = clone(MODEL).fit(X, Y)
    with pytest.raises(ValueError, match=r"part 3: .* row 3, column 1"):
        distributed.fit(model, [(bad[i : i + 100], Y[i : i + 100]) for i in range(0, 500, 100)])
    assert model.n_seen_ == len(X)
    with pytest.raises(ValueError, match="no row"):
        distributed.fit(model, [(X[:0], Y[:0])])
    with pytest.raises(ValueError, match="no row"):
        distributed.fit(model, [])


@pytest.fixture
def dask():
    module = pytest.importorskip("dask", reason="needs Dask: pip install kernelstream[distributed]")
    with module.config.set(scheduler="threads"):
        yield module


def test_dask_collections_are_lists_of_parts(dask):
    array = pytest.importorskip("dask.array")
    parts = [(X[i : i + 90], Y[i : i + 90]) for i in range(0, 500, 90)]
    expected = distributed.fit(clone(MODEL), parts, sample_size=100).predict(X)
    lazy = [dask.delayed(part) for part in parts]
    given = [(lazy,), (array.from_array(X, (90, 2)), array.from_array(Y, 90))]
    dataframe = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=Y)
    pieces = [dataframe.from_pandas(frame[i : i + 90], 1) for i in range(0, 500, 90)]
    table = dataframe.concat(pieces)
    given += [(table, "y"), (table[list("abc")], table["y"])]
    for arguments in given:
        model = distributed.fit(clone(MODEL), *arguments, sample_size=100)
        rows = X if len(arguments) == 1 or hasattr(arguments[0], "rechunk") else frame[list("abc")]
        np.testing.assert_allclose(model.predict(rows), expected, atol=1e-9)


def test_an_error_on_dask_names_part_and_row(dask):
    poisoned = (np.where(np.arange(500)[:, None] == 17, np.nan, X), Y)
    with pytest.raises(ValueError, match=r"part 1: .* row 17"):
        distributed.fit(clone(MODEL), [dask.delayed((X, Y)), dask.delayed(poisoned)])
