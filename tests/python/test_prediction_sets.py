"""Sets of classes that hold the right one as often as asked."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import kernelstream as ks

COVERAGES = (0.8, 0.9, 0.95, 0.99)
MODELS = {
    "newton": ks.KernelClassifier(basis=ks.ALD(1e-2, max_size=40), scale=False),
    "logistic": ks.KernelClassifier(basis=ks.ALD(1e-2, max_size=40), loss="logistic", scale=False),
    "hinge": ks.KernelClassifier(
        basis=ks.ALD(1e-2, max_size=40), learner=ks.Gradient(), loss="hinge", scale=False
    ),
    "scaled": ks.KernelClassifier(basis=ks.ALD(1e-2, max_size=40)),
    "experts": ks.KernelExpertsClassifier(size=30),
}


def blobs(n, classes, drift=0, seed=0):
    """Rows around the corners of a polygon; until `drift` labels are those of the next one."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    angle = 2 * np.pi * y / classes
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.8 * rng.normal(size=(n, 2))
    return X, np.where(np.arange(n) < drift, (y + 1) % classes, y)


def sets(model, X, y, step=50):
    """The sets of rows at each coverage, given before these are learned."""
    found = {coverage: [] for coverage in COVERAGES}
    for rows in np.split(np.arange(len(y)), range(step, len(y), step)):
        for coverage in COVERAGES if rows[0] else ():
            found[coverage].append(model.predict_set(X[rows], coverage))
        model.partial_fit(X[rows], y[rows], classes=np.unique(y))
    return {coverage: np.concatenate(parts) for coverage, parts in found.items()}


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", MODELS)
def test_coverage_holds_also_where_the_stream_changes(name, classes):
    X, y = blobs(4000, classes, drift=2000)
    model = clone(MODELS[name])
    found = sets(model, X, y)
    right, sizes = y[50:], []
    for coverage, held in found.items():
        inside = held[np.arange(len(right)), right].mean()
        assert coverage - 0.02 < inside
        assert held.any(axis=1).all()
        sizes.append(held.sum(axis=1).mean())
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    # Those above 90 % are not empty in a crowd this mixed, and so hold no more than asked.
    assert found[0.95][np.arange(len(right)), right].mean() < 0.97
    held = model.predict_set(X[:50], 0.9)
    assert held.dtype == bool
    assert held.shape == (50, classes)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_set(X[:50]), held)


def test_sets_are_in_the_order_of_the_probabilities():
    X, y = blobs(1000, 4)
    model = clone(MODELS["logistic"]).fit(X, y)
    held, shares = model.predict_set(X, 0.95), model.predict_proba(X)
    sizes = held.sum(axis=1)
    assert len(set(sizes)) > 1
    best = np.argsort(np.argsort(-shares, axis=1), axis=1) < sizes[:, None]
    np.testing.assert_array_equal(held, best)


def test_one_class_and_bad_coverages():
    X, _ = blobs(50, 2)
    alone = ks.KernelClassifier(scale=False).fit(X, ["only"] * 50)
    assert alone.predict_set(X).all()
    with pytest.raises(ValueError, match="above 0 and below 1"):
        alone.predict_set(X, 1.0)
    assert not hasattr(ks.KernelRegressor(), "predict_set")
