"""What estimators say of themselves, and of what they warn."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import kernelstream as ks
from realdata import random_stream

CAPPED = ks.ALD(1e-2, max_size=30)
MODELS = {
    "ridge": ks.KernelRegressor(basis=CAPPED, scale=False),
    "forgetting": ks.KernelRegressor(
        basis=CAPPED, learner=ks.Ridge(0.1, forgetting=0.99), scale=False
    ),
    "budget": ks.presets.kogd(budget=30),
    "experts": ks.KernelExperts(
        [ks.KernelRegressor(ks.Gaussian(b), scale=False) for b in (1.0, 3.0)], scale=False
    ),
    "adaptive": ks.KernelExperts(size=30),
    "scaled": ks.KernelRegressor(basis=CAPPED, n_warm_up=100),
    "labels": ks.KernelClassifier(basis=CAPPED, scale=False),
    "labels, experts": ks.KernelExpertsClassifier(size=30),
}


def stream(name, n=700):
    X, y = random_stream(n, 3, seed=3)
    return X, np.where(y > np.median(y), "up", "down") if "labels" in name else y


def learned(model, X, y, edges=()):
    model = clone(model)
    classes = {"classes": ["down", "up"]} if y.dtype.kind == "U" else {}
    for rows in np.split(np.arange(len(y)), edges):
        model.partial_fit(X[rows], y[rows], **classes)
    return model


def same(left, right, tolerance=0.0):
    for name, value in vars(left).items():
        other = getattr(right, name)
        assert (value is None) == (other is None), name
        if value is not None:
            np.testing.assert_allclose(value, other, rtol=tolerance, atol=0, err_msg=name)


@pytest.mark.filterwarnings("ignore:.*(no better|worse) than")
@pytest.mark.parametrize("name", MODELS)
def test_chunks_and_pickling_change_nothing(name):
    X, y = stream(name)
    whole = learned(MODELS[name], X, y).diagnostics_
    half = learned(MODELS[name], X[:401], y[:401], edges=[1, 2, 77])
    half = pickle.loads(pickle.dumps(half)).partial_fit(X[401:], y[401:])
    same(whole, half.diagnostics_, 1e-6)
    again = pickle.loads(pickle.dumps(half))
    same(half.diagnostics_, again.diagnostics_)
    assert repr(whole).startswith(f"{whole.rows:,} rows, {whole.n_stored:,} points stored\n  error")


def test_errors_are_those_of_the_predictions():
    X, y = stream("ridge", 3000)
    model = clone(MODELS["ridge"])
    made = model.partial_fit_predict(X, y)
    low, high = clone(model).partial_fit_predict_interval(X, y, coverage=0.9).T
    found = model.diagnostics_
    weights = 0.999 ** np.arange(len(y))[::-1]
    squares, inside = (made - y)[1:] ** 2, ((low <= y) & (y <= high))[2:]
    assert found.rows == len(y)
    assert found.n_stored == model.n_stored_
    assert found.error == pytest.approx(np.sqrt(squares.mean()), rel=1e-9)
    late = np.average(squares, weights=weights[1:])
    assert found.late_error == pytest.approx(np.sqrt(late), rel=1e-9)
    # The first 30 rows have Student's widths, and are counted by the tracked ones.
    assert found.coverage == pytest.approx(inside.mean(), abs=30 / len(y))
    before = np.cumsum(y)[:-1] / np.arange(1, len(y))
    assert found.baseline_error == pytest.approx(np.sqrt(np.mean((y[1:] - before) ** 2)), rel=1e-9)
    assert found.effective_rows == len(y) - 1
    # From below, by a few steps of power iteration.
    condition = np.linalg.cond(np.exp(-gaps(model.dictionary_) / 6))
    assert 0.3 * condition < found.condition < 1.01 * condition
    forgetful = learned(MODELS["forgetting"], X, y).diagnostics_
    assert forgetful.effective_rows == pytest.approx(100, rel=1e-6)


def gaps(points):
    return np.square(points[:, None] - points).sum(axis=2)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_mistakes_are_those_of_the_labels():
    X, y = stream("labels", 1500)
    y[: len(y) // 3] = "down"
    model = clone(MODELS["labels"])
    wrong = model.partial_fit_predict(X, y, classes=["down", "up"]) != y
    found = model.diagnostics_
    assert found.error == pytest.approx(wrong.mean())
    assert found.baseline_error == pytest.approx(np.mean(y == "up"))
    assert found.late_error == pytest.approx(
        np.average(wrong, weights=0.999 ** np.arange(1500)[::-1])
    )


@pytest.mark.filterwarnings("ignore:the errors")
def test_novel_rows_are_counted():
    X, y = random_stream(1000, 1, seed=4)
    far = 100.0 + 10.0 * np.arange(1000)[:, None]
    model = ks.KernelRegressor(ks.Gaussian(0.5), CAPPED, scale=False).partial_fit(X, y)
    assert model.diagnostics_.novel < 0.02
    model.partial_fit(far, y)
    assert model.diagnostics_.novel == pytest.approx(0.5, abs=0.02)
    assert model.diagnostics_.late_novel > 0.6


@pytest.mark.filterwarnings("ignore:.*(no better|worse) than")
@pytest.mark.parametrize("name", ["ridge", "experts", "scaled", "labels"])
def test_a_rise_of_errors_is_warned_of_once(name):
    X, y = stream(name, 4000)
    turned = np.where(y == "up", "down", "up") if "labels" in name else 3.0 - 3.0 * y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = learned(MODELS[name], X[:3000], y[:3000], edges=[500, 1000])
    with pytest.warns(UserWarning, match="have risen .* forgetting") as found:
        model.partial_fit(X[3000:3400], turned[3000:3400])
    assert found[0].filename == __file__
    assert model.diagnostics_.error_rose
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "the errors")
        warnings.filterwarnings("ignore", ".*(no better|worse) than")
        pickle.loads(pickle.dumps(model)).partial_fit(X[3400:], turned[3400:])


def test_warns_when_no_better_than_the_commonest_class():
    X, _ = random_stream(2000, 4, seed=5)
    labels = np.random.default_rng(0).random(2000) < 0.3
    narrow = (ks.Gaussian(0.02), ks.ALD(max_size=300))
    model = ks.KernelClassifier(*narrow, loss="squared_hinge", scale=False)
    with pytest.warns(UserWarning, match="commonest class"):
        model.partial_fit(X, labels, classes=[False, True])
    # Calibrated log-odds decide for the commonest class by themselves: there is nothing to warn of.
    model = ks.KernelClassifier(*narrow, scale=False).partial_fit(X, labels, classes=[False, True])
    found = model.diagnostics_
    assert found.late_error < found.late_baseline_error + 0.03
