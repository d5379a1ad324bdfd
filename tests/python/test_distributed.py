"""Two rounds: over threads, and over Dask where it is installed."""

import importlib.util

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sps
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import kernelstream as ks
from kernelstream import distributed
from realdata import random_stream

# Engines warn of what is deprecated in each other. Warnings of kernelstream and of arithmetic are
# errors.
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("error::RuntimeWarning"),
    pytest.mark.filterwarnings("error::kernelstream.exceptions.KernelstreamWarning"),
]

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
    with pytest.raises(ValueError, match=r"part 3: .* row 3, column 1") as caught:
        distributed.fit(model, [(bad[i : i + 100], Y[i : i + 100]) for i in range(0, 500, 100)])
    assert caught.value.__cause__ is None  # engines follow causes
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


def test_how_rows_are_divided_and_ordered_does_not_matter_from_the_sample_on():
    expected = distributed.fit(clone(MODEL), X, Y, n_jobs=1, sample_size=100)
    orders = {
        "sorted": np.argsort(X[:, 0]),
        "falling": np.argsort(-Y),
        "shuffled": np.random.default_rng(1).permutation(500),
    }
    for order in orders.values():
        for n_parts in (1, 3, 20):
            parts = [(X[rows], Y[rows]) for rows in np.array_split(order, n_parts)]
            model = distributed.fit(clone(MODEL), parts, sample_size=100, n_jobs=2)
            np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("n_parts", [1, 4, 25])
def test_the_sample_is_of_one_size_in_all(n_parts):
    model = ks.KernelRegressor(basis=ks.AllPoints(), scale=False)
    parts = [(X[i::n_parts], Y[i::n_parts]) for i in range(n_parts)]
    assert distributed.fit(clone(model), parts, sample_size=40).n_stored_ == 40
    drawn = [distributed.sample(model, part, 40) for part in parts]
    assert distributed.begin(model, drawn, 40).n_stored_ == 40


def test_each_row_is_as_likely_as_any_other_and_equal_rows_too():
    one_in_ten = np.repeat([[0.0, 0.0], [1.0, 2.0]], [9000, 1000], axis=0)
    (drawn,) = distributed.sample(MODEL, (one_in_ten, np.zeros(10_000)), 1000)
    assert 60 < drawn["X"][:, 0].sum() < 140
    rows = np.arange(20_000.0)
    (drawn,) = distributed.sample(MODEL, (rows[:, None], rows), 4000)
    counts = np.histogram(drawn["y"], bins=8, range=(0, 20_000))[0]
    assert np.abs(counts - 500).max() < 90
    assert len(np.unique(drawn["y"])) == 4000


def test_the_sampled_rows_do_not_depend_on_the_container():
    frame = pd.DataFrame(X, columns=list("abc")).assign(
        place=np.where(X[:, 0] > 0, "north", None), count=np.arange(500), y=Y
    )
    mine = ks.KernelRegressor(missing="fill")
    polars = pl.from_pandas(frame)
    carried = [frame, polars, dict(frame), frame.assign(count=frame["count"].astype("int32"))]
    if importlib.util.find_spec("pyarrow"):
        carried.append(polars.to_arrow())
    for rows in carried:
        for part in (rows, (given for given in [rows])):
            (drawn,) = distributed.sample(mine, part, 50, target="y")
            assert sorted(np.asarray(drawn["y"]).tolist()) == sorted(
                np.asarray(distributed.sample(mine, frame, 50, target="y")[0]["y"]).tolist()
            )
    sparse = sps.csr_matrix(np.where(X > 0.5, X, 0.0))
    (drawn,) = distributed.sample(mine, (sparse, Y), 50)
    assert drawn["X"].shape == (50, 3)


def test_rows_are_never_counted_twice():
    begun = distributed.begin(MODEL, [distributed.sample(MODEL, (X, Y), 60)])
    half = distributed.learn(begun, (X[:250], Y[:250]))
    with pytest.raises(ValueError, match="has learned 250 rows, which would count once in every"):
        distributed.learn(half, (X[250:], Y[250:]))
    whole = distributed.learn(begun, (X, Y))
    distributed.partial_fit(half, [(X[250:300], Y[250:300]), (X[300:], Y[300:])])
    assert half.n_seen_ == 500
    np.testing.assert_allclose(half.predict(X), whole.predict(X), rtol=0, atol=1e-9)


def test_partial_fit_continues_with_a_model_that_may_store_points():
    live = clone(MODEL).fit(X[:200], Y[:200])
    stored = live.n_stored_
    for start in (200, 350):
        distributed.partial_fit(live, X[start : start + 150], Y[start : start + 150], n_jobs=2)
    assert (live.n_seen_, live.n_stored_) == (500, stored)
    one = clone(MODEL).fit(X[:200], Y[:200])
    distributed.partial_fit(one, ((X[i : i + 50], Y[i : i + 50]) for i in range(200, 500, 50)))
    np.testing.assert_allclose(live.predict(X), one.predict(X), rtol=0, atol=1e-9)
    assert live.partial_fit(X + 50.0, Y).n_stored_ > stored
    with pytest.raises(NotFittedError):
        distributed.partial_fit(clone(MODEL), X, Y)
    before = live.predict(X)
    with pytest.raises(ValueError, match=r"part 1: .*row 3"):
        distributed.partial_fit(live, [(X, Y), (np.where(X[3] == X, np.nan, X), Y)])
    np.testing.assert_array_equal(live.predict(X), before)


@pytest.mark.parametrize(
    "model",
    [
        ks.KernelExperts(),
        ks.KernelRegressor(learner=ks.OnlineNewton()),
        ks.KernelRegressor(ks.Gaussian(1.0), ks.KORS()),
        ks.KernelRegressor(learner=ks.Ridge(forgetting=0.99)),
        ks.KernelClassifier(),
        ks.Koopman(learner=ks.Gradient()),
    ],
    ids=str,
)
def test_models_that_cannot_be_merged_are_refused_before_rows_are_read(model):
    def rows():
        raise AssertionError

    with pytest.raises(ValueError, match="cannot be added up"):
        distributed.fit(model, rows)


def test_parts_that_follow_one_another_are_forgotten_in_their_order():
    # The recursion forgets the regularization too: `merge` is exact but for that.
    learner = ks.Ridge(1e-6, forgetting=0.999)
    model = ks.KernelRegressor(ks.Gaussian(1.0), learner=learner, scale=False)
    parts = [(X[i : i + 60], Y[i : i + 60]) for i in range(0, 500, 60)]
    found = distributed.fit(clone(model), parts, successive=True, n_jobs=2)
    begun = distributed.begin(model, [distributed.sample(model, (X, Y))])
    expected = distributed.learn(begun, (X, Y))
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=0, atol=1e-9)
    pieces = [distributed.learn(begun, part) for part in parts]
    joined = distributed.merged(pieces, successive=True)
    np.testing.assert_allclose(joined.predict(X), expected.predict(X), rtol=0, atol=1e-3)


def test_sources_are_read_twice_and_only_if_they_can_be(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=Y, w=np.arange(500) % 3)
    expected = distributed.fit(clone(MODEL), frame[list("abc")], frame["y"], weight=frame["w"])
    sources = [lambda: (frame[i : i + 70] for i in range(0, 500, 70)), frame, pl.from_pandas(frame)]
    sources.append([frame[:200], frame[200:]])
    if importlib.util.find_spec("pyarrow"):
        frame.to_parquet(tmp_path / "rows.parquet", index=False)
        sources += [tmp_path / "rows.parquet", pl.scan_parquet(tmp_path / "rows.parquet")]
    for source in sources:
        model = distributed.fit(clone(MODEL), source, "y", weight="w", n_jobs=2)
        found = model.predict(frame[list("abc")])
        np.testing.assert_allclose(found, expected.predict(frame[list("abc")]), atol=1e-9)
    batches = [(X[i : i + 70], Y[i : i + 70]) for i in range(0, 500, 70)]
    with pytest.raises(ValueError, match=r"distributed.fit reads rows twice.*a generator can be"):
        distributed.fit(clone(MODEL), (batch for batch in batches))
    again = distributed.fit(clone(MODEL).fit(X, Y), (b for b in batches), sample_size=None)
    assert again.n_seen_ == 500
    bad = [*batches[:2], (np.where(X[5] == X, np.nan, X), Y)]
    with pytest.raises(ValueError, match=r"batch 2: .*row 5"):
        distributed.fit(clone(MODEL), lambda: iter(bad))


def test_weights_have_two_names_and_are_never_left_out():
    weight = 0.5 + np.arange(500) % 3
    expected = distributed.fit(clone(MODEL), X, Y, weight=weight).predict(X)
    parts = [(X[i : i + 90], Y[i : i + 90], weight[i : i + 90]) for i in range(0, 500, 90)]
    named = [dict(zip(("X", "y", "sample_weight"), part, strict=True)) for part in parts]
    for model in (
        distributed.fit(clone(MODEL), X, Y, sample_weight=weight),
        distributed.fit(clone(MODEL), parts),
        distributed.fit(clone(MODEL), named),
    ):
        np.testing.assert_allclose(model.predict(X), expected, rtol=0, atol=1e-9)
    with pytest.raises(TypeError, match="two names of one thing"):
        distributed.fit(clone(MODEL), X, Y, weight=weight, sample_weight=weight)
    with pytest.raises(TypeError, match="leave weight out"):
        distributed.fit(clone(MODEL), parts, weight=weight)


def test_predictions_of_rows_in_memory_of_sources_and_from_a_file(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc"))
    model = clone(MODEL).fit(frame, Y)
    model.save(tmp_path / "m")
    expected = model.predict(frame)
    more = frame.assign(id=np.arange(500))[["id", "c", "b", "a"]]
    for rows in (frame, more, pl.from_pandas(more)):
        np.testing.assert_array_equal(distributed.predict(model, rows, n_jobs=3), expected)
        np.testing.assert_array_equal(distributed.predict(tmp_path / "m", rows), expected)
    lazily = distributed.predict(tmp_path / "m", (more[i : i + 90] for i in range(0, 500, 90)))
    assert next(lazily).tolist() == expected[:90].tolist()
    assert sum(map(len, lazily)) == 410
    clone(MODEL).fit(frame, -Y).save(tmp_path / "m")
    np.testing.assert_allclose(distributed.predict(tmp_path / "m", frame), -expected, atol=1e-9)
    nothing = distributed.predict(model, frame[:0])
    assert nothing.shape == (0,)


@pytest.fixture
def rows(dask, tmp_path):
    """A Dask frame of Parquet files, whose partitions are fused by what is selected."""
    dataframe = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=list("abc")).assign(
        y=Y, z=Y**2, w=0.5 + np.arange(500) % 3, unused="x" * 40
    )
    for i in range(10):
        part = frame[i * 50 : i * 50 + 50]
        part.to_parquet(tmp_path / f"{i}.parquet", index=False)
    return frame, dataframe.read_parquet(tmp_path)


def test_dask_frames_of_parquet_are_divided_once(rows):
    frame, lazy = rows
    columns = list("abc")
    expected = distributed.fit(clone(MODEL), frame[columns], Y).predict(frame[columns])
    for given in (
        (lazy[columns], lazy["y"]),
        (lazy[[*columns, "y"]], "y"),
        (lazy[columns].values, lazy["y"].values),
        (lazy[columns].values, lazy["y"]),
    ):
        model = distributed.fit(clone(MODEL), *given)
        found = model.predict(X if hasattr(given[0], "rechunk") else frame[columns])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_dask_takes_two_targets_and_weights(rows):
    frame, lazy = rows
    columns = list("abc")
    two = frame[["y", "z"]]
    weighted = distributed.fit(clone(MODEL), frame[columns], two, weight=frame["w"])
    for target, weight in (
        (["y", "z"], "w"),
        (lazy[["y", "z"]], lazy["w"]),
        (["y", "z"], lazy["w"]),
        (lazy[["y", "z"]], "w"),
    ):
        mine = lazy[[*columns, "y", "z", "w"]]
        mine = mine.drop(columns=[] if isinstance(target, list) else ["y", "z"])
        mine = mine.drop(columns=[] if isinstance(weight, str) else ["w"])
        model = distributed.fit(clone(MODEL), mine, target, sample_weight=weight)
        assert model.feature_names_in_.tolist() == columns
        np.testing.assert_allclose(
            model.predict(frame[columns]), weighted.predict(frame[columns]), rtol=0, atol=1e-9
        )
    with pytest.raises(TypeError, match="sample_weight beside a Dask data frame is a name or"):
        distributed.fit(clone(MODEL), lazy[columns], lazy["y"], sample_weight=frame["w"])
    with pytest.raises(ValueError, match="no column 'price'"):
        distributed.fit(clone(MODEL), lazy, "price")
    with pytest.raises(ValueError, match="the columns are a, b, c, y"):
        distributed.fit(clone(MODEL), lazy)


def test_dask_predicts_lazily(rows, tmp_path):
    frame, lazy = rows
    columns = list("abc")
    one = clone(MODEL).fit(frame[columns], Y)
    one.save(tmp_path / "m")
    two = clone(MODEL).fit(frame[columns], frame[["y", "z"]])
    for model in (one, tmp_path / "m"):
        series = distributed.predict(model, lazy)
        assert hasattr(series, "__dask_graph__")
        np.testing.assert_array_equal(series.compute(), one.predict(frame[columns]))
    table = distributed.predict(two, lazy)
    np.testing.assert_array_equal(table.compute(), two.predict(frame[columns]))
    bare = clone(MODEL).fit(X, Y)
    array = distributed.predict(bare, lazy[columns].values)
    np.testing.assert_array_equal(array.compute(), bare.predict(X))


def test_a_dask_array_is_one_trajectory(dask):
    array = pytest.importorskip("dask.array")
    path = np.cumsum(np.random.default_rng(0).normal(size=(300, 2)), axis=0) / 10
    expected = distributed.fit(ks.Koopman(lag=2), path)
    found = distributed.fit(ks.Koopman(lag=2), array.from_array(path, (70, 1)))
    assert found.n_seen_ == expected.n_seen_ == 298
    np.testing.assert_allclose(found.predict(path[:9]), expected.predict(path[:9]), atol=1e-9)


def test_estimators_read_dask_collections_too(rows):
    frame, lazy = rows
    columns = frame[list("abc")]
    expected = clone(MODEL).partial_fit(columns, Y).predict(columns)
    for given in ((lazy[[*"abc", "y"]], "y"), (lazy[list("abc")], lazy["y"])):
        found = clone(MODEL).fit(*given).predict(columns)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
