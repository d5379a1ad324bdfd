"""Rows in batches: whatever carries them, the model is that of the rows in memory."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import kernelstream as ks
from realdata import random_stream

pa = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install kernelstream[cli]")
ds = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")

X, Y = random_stream(400, 3)
W = np.arange(400) % 3 + 0.5
FRAME = pd.DataFrame(X, columns=list("abc")).assign(y=Y, z=Y**2, w=W)
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)
MODEL = ks.KernelRegressor(basis=ks.ALD(1e-3), n_warm_up=60)
CUTS = range(0, 400, 90)
PAIRS = [(X[i : i + 90], Y[i : i + 90]) for i in CUTS]


class Loader:
    """A DataLoader as torch has it: lists of tensors, any number of times."""

    class Tensor:
        def __init__(self, values):
            self._values = values
            self.shape = values.shape

        def __len__(self):
            return len(self._values)

        def detach(self):
            return self

        cpu = detach

        def numpy(self):
            return self._values

    def __len__(self):
        return len(PAIRS)

    def __iter__(self):
        return ([self.Tensor(X), self.Tensor(y)] for X, y in PAIRS)


def frames():
    return (FRAME[["a", "b", "c", "y"]][i : i + 90] for i in CUTS)


@pytest.fixture
def parquet(tmp_path):
    """Files of several groups of rows each, in a folder."""
    folder = tmp_path / "rows"
    folder.mkdir()
    for number, start in enumerate(range(0, 400, 150)):
        part = TABLE.select(["a", "b", "c", "y"]).slice(start, 150)
        pq.write_table(part, folder / f"{number:03}.parquet", row_group_size=64)
    return folder


def _joined(path):
    pq.write_table(ds.dataset(path).to_table(), path.parent / "one.parquet", row_group_size=64)
    return path.parent / "one.parquet"


def _arrow(path):
    table = ds.dataset(path).to_table()
    with pa.ipc.new_file(path.parent / "one.arrow", table.schema) as file:
        file.write_table(table)
    return path.parent / "one.arrow"


def _csv(path):
    pd.read_parquet(path).to_csv(path.parent / "one.csv", index=False)
    return path.parent / "one.csv"


PAIRED = {
    "generator": lambda: (pair for pair in PAIRS),
    "function": lambda: lambda: iter(PAIRS),
    "list": lambda: list(PAIRS),
    "loader": Loader,
    "mappings": lambda: ({"X": X, "y": y} for X, y in PAIRS),
    "empty batches": lambda: iter([(X[:0], Y[:0]), *PAIRS, (X[:0], Y[:0])]),
}
NAMED = {
    "frames": lambda _: frames(),
    "list of frames": lambda _: list(frames()),
    "polars frames": lambda _: (pl.from_pandas(frame) for frame in frames()),
    "dicts of columns": lambda _: (dict(frame) for frame in frames()),
    "list of Arrow batches": lambda path: ds.dataset(path).to_table().to_batches(90),
    "dataset": ds.dataset,
    "scanner": lambda path: ds.dataset(path).scanner(batch_size=50),
    "reader": lambda path: ds.dataset(path).scanner().to_reader(),
    "table": lambda path: ds.dataset(path).to_table(),
    "Parquet file": lambda path: pq.ParquetFile(_joined(path)),
    "folder": lambda path: path,
    "text": str,
    "pattern": lambda path: f"{path}/*.parquet",
    "files": lambda path: sorted(path.iterdir()),
    "Arrow file": _arrow,
    "LazyFrame": lambda path: pl.scan_parquet(path / "*.parquet"),
    "polars": pl.read_parquet,
    "pandas": pd.read_parquet,
    "chunks of CSV": lambda path: pd.read_csv(_csv(path), chunksize=70),
}


def same(model, expected, rows):
    assert model.n_seen_ == expected.n_seen_
    np.testing.assert_allclose(model.predict(rows), expected.predict(rows), rtol=0, atol=1e-10)


@pytest.mark.parametrize("source", PAIRED.values(), ids=PAIRED)
def test_batches_of_pairs_are_the_rows_in_memory(source):
    expected = clone(MODEL).partial_fit(X, Y)
    same(clone(MODEL).fit(source()), expected, X)
    model = clone(MODEL)
    predictions = model.partial_fit_predict(source())
    same(model, expected, X)
    reference = clone(MODEL).partial_fit_predict(X, Y)
    np.testing.assert_allclose(predictions, reference, rtol=0, atol=1e-10)


@pytest.mark.parametrize("source", NAMED.values(), ids=NAMED)
def test_sources_of_frames_are_the_rows_in_memory(source, parquet):
    columns = FRAME[["a", "b", "c"]]
    expected = clone(MODEL).partial_fit(columns, Y)
    model = clone(MODEL).fit(source(parquet), "y", shuffle=False)
    same(model, expected, columns)
    same(clone(MODEL).partial_fit(source(parquet), "y"), expected, columns)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["frames", "table", "pandas", "LazyFrame"])
def test_weights_and_several_targets_are_columns_too(kind, tmp_path):
    pq.write_table(TABLE, tmp_path / "all.parquet")
    source = {
        "frames": lambda: (FRAME[i : i + 90] for i in CUTS),
        "table": lambda: TABLE,
        "pandas": lambda: FRAME,
        "LazyFrame": lambda: pl.scan_parquet(tmp_path / "all.parquet"),
    }[kind]
    rows = FRAME[["a", "b", "c"]]
    expected = clone(MODEL).partial_fit(rows, FRAME[["y", "z"]], W)
    same(clone(MODEL).partial_fit(source(), ["y", "z"], "w"), expected, rows)


def test_weights_beside_pairs():
    expected = clone(MODEL).partial_fit(X, Y, W)
    triples = ((X[i : i + 90], Y[i : i + 90], W[i : i + 90]) for i in CUTS)
    same(clone(MODEL).fit(triples), expected, X)


def test_labels_are_read_first_and_only_from_rereadable_sources(parquet):
    labels = np.where(np.arange(400) < 320, np.where(Y > 0, "high", "low"), "late")
    pairs = [(X[i : i + 90], labels[i : i + 90]) for i in CUTS]
    model = ks.KernelClassifier(n_warm_up=60)
    expected = clone(model).fit(X, labels, shuffle=False)
    read = clone(model).fit(pairs)
    assert read.classes_.tolist() == ["high", "late", "low"]
    np.testing.assert_allclose(read.predict_proba(X), expected.predict_proba(X), atol=1e-9)
    with pytest.raises(ValueError, match=r"KernelClassifier.fit reads the labels first.*generator"):
        clone(model).fit(pair for pair in pairs)
    streamed = clone(model)
    outcome = streamed.partial_fit_predict_proba(
        (p for p in pairs), classes=["high", "late", "low"]
    )
    assert outcome.shape == (400, 3)
    np.testing.assert_allclose(streamed.predict_proba(X), expected.predict_proba(X), atol=1e-9)
    names = FRAME[["a", "b", "c"]].assign(label=labels)
    same_labels = clone(model).fit([names[:200], names[200:]], "label")
    assert same_labels.score(names[["a", "b", "c"]], labels) == read.score(X, labels)
    # A list of labels as long as the frame is no list of names.
    short = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]})
    assert clone(model).fit(short, ["a", "b"]).classes_.tolist() == ["a", "b"]


def test_intervals_of_batches_are_those_of_rows():
    expected = clone(MODEL).partial_fit_predict_interval(X, Y, coverage=0.8)
    found = clone(MODEL).partial_fit_predict_interval(iter(PAIRS), coverage=0.8)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_bad_row_leaves_fit_as_it_was_and_partial_fit_after_the_batches_before():
    bad = X.copy()
    bad[250, 1] = np.nan
    batches = [(bad[i : i + 90], Y[i : i + 90]) for i in CUTS]
    model = clone(MODEL).fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match=r"batch 2, after 180 rows: .*NaN at row 70, column 1"):
        model.fit(iter(batches))
    np.testing.assert_array_equal(model.predict(X), before)
    model = clone(MODEL)
    with pytest.raises(ValueError, match=r"batch 2, after 180 rows"):
        model.partial_fit(iter(batches))
    same(model, clone(MODEL).partial_fit(X[:180], Y[:180]), X)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (lambda _: iter(PAIRS), "y", "a tuple has no columns with names"),
        (lambda _: frames(), None, "a frame comes with the name of its target as y"),
        (lambda _: frames(), "price", "no column 'price'; the columns are a, b, c, y"),
        (lambda path: path, None, "which of its columns is the target; the columns are a, b, c, y"),
        (lambda path: path, "price", "no column 'price'; the columns are a, b, c, y"),
        (lambda path: path, Y, "y must be the name of a column of it"),
        (lambda path: path, ["y", "y"], "'y' is named twice"),
        (lambda path: path / "none.parquet", "y", "there is no file"),
        (lambda path: f"{path}/*.arrow", "y", "no file matches"),
        (_csv, "y", "pass batches of it, such as pandas.read_csv"),
        (lambda _: iter([]), None, "there is no row in this list_iterator"),
        (lambda _: iter([(X[:0], Y[:0])]), None, "there is no row"),
        (lambda _: iter([3]), None, "batch 0: a batch is a pair"),
        (lambda _: FRAME, "price", "no column 'price'"),
    ],
)
def test_unreadable_sources_are_refused_by_name(source, target, message, parquet):
    with pytest.raises((ValueError, TypeError, OSError), match=message):
        clone(MODEL).fit(source(parquet), target)


def test_shuffling_needs_rows_in_memory():
    with pytest.raises(ValueError, match="shuffle=True needs all rows in memory"):
        clone(MODEL).fit(iter(PAIRS), shuffle=True)


def test_memory_is_that_of_a_batch():
    alive = 0

    class Counted(np.ndarray):
        def __del__(self):
            nonlocal alive
            alive -= 1

    def batches():
        nonlocal alive
        for X, y in PAIRS:
            assert alive <= 1
            alive += 1
            yield X.copy().view(Counted), y

    clone(MODEL).fit(batches())


def test_experts_read_batches():
    expected = ks.KernelExperts().partial_fit(X, Y)
    same(ks.KernelExperts().fit(iter(PAIRS)), expected, X)
