"""Sparse matrices are the rows that they stand for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import kernelstream as ks

RNG = np.random.default_rng(0)
# More rows than are made dense at once.
N, WIDTH = 2500, 40
X = np.where(RNG.random((N, WIDTH)) < 0.1, RNG.normal(size=(N, WIDTH)), 0.0)
Y = np.sin(X[:, :5].sum(axis=1))
LABELS = np.where(Y > 0, "up", "down")
SMALL = {"kernel": ks.Gaussian(2.0), "basis": ks.ALD(max_size=30)}

MODELS = {
    "regressor": (ks.KernelRegressor(**SMALL, scale=False), Y),
    "several targets": (ks.KernelRegressor(**SMALL, scale=False), np.column_stack([Y, X[:, 0]])),
    "classifier": (ks.KernelClassifier(class_weight="balanced", **SMALL, scale=False), LABELS),
    "experts": (ks.KernelExperts([ks.KernelRegressor(**SMALL, scale=False)] * 2, scale=False), Y),
    "scaled": (ks.KernelRegressor(**SMALL), Y),
    "typed": (
        ks.KernelClassifier(**SMALL, columns={3: {"type": "number", "scale": False}}),
        LABELS,
    ),
}


def same(outcome, expected):
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(outcome, expected, atol=1e-9)
    else:
        np.testing.assert_array_equal(outcome, expected)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.coo_array])
def test_a_sparse_matrix_is_learned_as_a_dense_one(name, form):
    template, y = MODELS[name]
    model = clone(template)
    classes = {} if y.dtype.kind == "f" else {"classes": np.unique(y)}
    rows = form(X)
    said = model.partial_fit_predict(rows, y, **classes)
    asked = [getattr(model, ask)(rows) for ask in ("predict", "transform") if hasattr(model, ask)]
    score = model.score(rows, y)
    dense = clone(model)
    same(said, dense.partial_fit_predict(X, y, **classes))
    for outcome, ask in zip(asked, ("predict", "transform"), strict=False):
        same(outcome, getattr(dense, ask)(X))
    assert score == pytest.approx(dense.score(X, y), abs=1e-9)


def test_categories_may_be_encoded_by_scikit_learn():
    frame = pd.DataFrame({"room": RNG.choice(list("abc"), 600), "x": RNG.normal(size=600)})
    y = (frame["room"] == "b") + 0.1 * np.sin(frame["x"])
    encode = make_column_transformer(
        (OneHotEncoder(), ["room"]), remainder="passthrough", sparse_threshold=1.0
    )
    assert sparse.issparse(encode.fit_transform(frame))
    model = make_pipeline(encode, ks.KernelRegressor(scale=False)).fit(frame[:500], y[:500])
    assert model.score(frame[500:], y[500:]) > 0.99
    only = make_pipeline(OneHotEncoder(), ks.KernelClassifier(scale=False))
    only.fit(frame[["room"]], frame["room"] == "b")
    assert only.score(frame[["room"]], frame["room"] == "b") == 1.0


@pytest.mark.parametrize("row", [0, 1023, 2400])
def test_a_bad_number_is_named_and_changes_nothing(row):
    model = ks.KernelRegressor(**SMALL, scale=False).partial_fit(X[:20], Y[:20])
    before = model._core.to_bytes()
    bad = sparse.lil_array(X)
    bad[row, 7] = np.nan
    with pytest.raises(ValueError, match=f"NaN at row {row}, column 7"):
        model.partial_fit(bad, Y)
    with pytest.raises(ValueError, match=f"row {row}, column 7"):
        model.predict(bad)
    with pytest.raises(ValueError, match="40 features"):
        model.predict(sparse.csr_array(X[:, :3]))
    assert model._core.to_bytes() == before


def test_a_late_refusal_takes_back_the_blocks_before_it():
    same = sparse.csr_array(np.ones((3000, 2)))
    model = ks.KernelRegressor(learner=ks.Gradient(step=1.5, loss="squared"), scale=False)
    model.partial_fit(same[:1], [0.0])
    with pytest.raises(ValueError, match="diverge"):
        model.partial_fit(same, np.ones(3000))
    assert model.n_seen_ == 1


def test_a_matrix_that_is_broken_is_refused():
    model = ks.KernelRegressor(**SMALL, scale=False).partial_fit(X[:20], Y[:20])
    for part, wrong in (("indices", 40), ("indices", -1), ("indptr", 10**9), ("indptr", -5)):
        broken = sparse.csr_matrix(X[:9])
        getattr(broken, part)[3] = wrong
        with pytest.raises(ValueError, match="sound"):
            model._core.predict(broken)


def test_a_sparse_matrix_holds_numbers_only():
    table = ks.KernelRegressor(columns={0: "category"})
    with pytest.raises(ValueError, match="'0' is a category"):
        table.fit(sparse.csr_array([[1.0], [2.0]]), [1.0, 2.0])
