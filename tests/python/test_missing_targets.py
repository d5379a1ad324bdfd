"""Rows that lack some of several targets are learned with the others."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import kernelstream as ks

N, P = 400, 3
RNG = np.random.default_rng(8)
X = RNG.normal(size=(N, 2))
Y = np.c_[np.sin(X[:, 0]), X[:, 0] * X[:, 1], np.cos(X[:, 1])]
# Without noise, what kernel experts leave to trees is near rounding, which depends on the chunks.
Y += 0.01 * np.random.default_rng(9).normal(size=Y.shape)
ASKED = RNG.normal(size=(40, 2))
TRUTH = np.c_[np.sin(ASKED[:, 0]), ASKED[:, 0] * ASKED[:, 1], np.cos(ASKED[:, 1])]
ORDERS = {
    "as it comes": np.arange(N),
    "sorted": np.argsort(X[:, 0]),
    "by target": np.argsort(Y[:, 1]),
}
# Learners whose outputs do not depend on each other.
MODELS = {
    "ridge": ks.KernelRegressor,
    "unscaled": lambda: ks.KernelRegressor(scale=False),
    "forgetting": lambda: ks.KernelRegressor(learner=ks.Ridge(forgetting=0.99)),
    "newton": lambda: ks.KernelRegressor(learner=ks.GaussNewton(loss="squared")),
    "gradient": lambda: ks.KernelRegressor(learner=ks.Gradient()),
    "fourier": lambda: ks.KernelRegressor(basis=ks.Fourier(60)),
}
OTHERS = {
    "online newton": lambda: ks.KernelRegressor(learner=ks.OnlineNewton()),
    "budget": lambda: ks.KernelRegressor(learner=ks.BudgetedGradient(step=0.5)),
    "experts": ks.KernelExperts,
    "given experts": lambda: ks.KernelExperts(
        [ks.KernelRegressor(ks.Gaussian(width)) for width in (0.5, 2.0)]
    ),
}


def gappy(order="as it comes", first=0, share=0.3):
    """Rows in an order, of which those from the first on lack targets; each has one."""
    x, y = X[ORDERS[order]], Y[ORDERS[order]].copy()
    gone = np.random.default_rng(first).random(y.shape) < share
    gone[:first] = False
    gone[gone.all(axis=1), 1] = False
    y[gone] = np.nan
    return x, y


def alone(make, x, y):
    """Predictions of models of one target, each learned from the rows that have it."""
    known = ~np.isnan(y)
    models = [make().partial_fit(x[k], y[k, c]) for c, k in enumerate(known.T)]
    return np.column_stack([model.predict(ASKED) for model in models])


@pytest.mark.parametrize("first", [0, 5, 300])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", MODELS)
def test_each_target_is_learned_from_the_rows_that_have_it(name, order, first):
    x, y = gappy(order, first)
    model = MODELS[name]().partial_fit(x, y)
    np.testing.assert_allclose(
        model.predict(ASKED), alone(MODELS[name], x, y), rtol=1e-10, atol=1e-10
    )
    assert model.n_seen_ == N
    if name != "gradient":
        deviations = model.predict(ASKED, return_std=True)[1]
        assert (deviations > 0.0).all()
        ends = model.predict_interval(ASKED)
        assert ends.shape == (len(ASKED), P, 2)


@pytest.mark.parametrize("first", [0, 100])
@pytest.mark.parametrize("name", MODELS | OTHERS)
def test_any_chunking_gives_the_same_model(name, first, tmp_path):
    make = (MODELS | OTHERS)[name]
    x, y = gappy(first=first)
    whole = make()
    outcome = whole.partial_fit_predict(x, y)
    parts, made = make(), []
    for rows in np.array_split(np.arange(N), [1, 2, 90, 101, 102, 300]):
        if len(rows) == 1:
            made.append(
                parts.partial_fit_predict(x[rows], y[rows])
                if rows[0] < 2
                else [parts.predict_one(x[rows[0]])]
            )
            if rows[0] >= 2:
                parts.learn_one(x[rows[0]], y[rows[0]])
        else:
            made.append(parts.partial_fit_predict(x[rows], y[rows]))
        parts.save(tmp_path / "m")
        parts = pickle.loads(pickle.dumps(ks.load(tmp_path / "m")))
    np.testing.assert_allclose(np.concatenate(made), outcome, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(parts.predict(ASKED), whole.predict(ASKED), rtol=1e-8, atol=1e-8)
    errors = np.sqrt(np.mean(np.square(whole.predict(ASKED) - TRUTH), axis=0))
    complete = np.sqrt(np.mean(np.square(make().partial_fit(x, Y).predict(ASKED) - TRUTH), axis=0))
    assert (errors < 3.0 * complete + 0.02).all()


def test_a_target_that_comes_late_or_never():
    x, y = X, Y.copy()
    y[:, 2] = np.nan
    model = ks.KernelRegressor().partial_fit(x, y)
    made = model.predict(ASKED)
    assert (made[:, 2] == 0.0).all()
    np.testing.assert_allclose(made[:, :2], alone(ks.KernelRegressor, x, y[:, :2]), atol=1e-10)
    assert np.isinf(model.predict_interval(ASKED)[:, 2]).all()
    model.partial_fit(x, Y * [np.nan, np.nan, 1.0])
    late = ks.KernelRegressor().partial_fit(x, Y[:, 2]).predict(ASKED)
    np.testing.assert_allclose(model.predict(ASKED)[:, 2], late, atol=1e-10)


def test_rows_without_any_target_are_refused_by_name_and_those_of_weight_0_taken():
    _, y = gappy()
    y[77] = np.nan
    for targets in (y, pd.DataFrame(y)):
        with pytest.raises(ValueError, match="row 77"):
            ks.KernelRegressor().fit(X, targets)
    y[77], y[5, 1] = 1.0, np.inf
    with pytest.raises(ValueError, match="row 5"):
        ks.KernelRegressor().fit(X, y)
    y[77], y[5, 1] = np.nan, 1.0
    weights = np.ones(N)
    weights[77] = 0.0
    model = ks.KernelRegressor().partial_fit(X, y, sample_weight=weights)
    kept = weights > 0.0
    np.testing.assert_allclose(
        model.predict(ASKED), alone(ks.KernelRegressor, X[kept], y[kept]), atol=1e-10
    )
    before = model.predict(ASKED)
    with pytest.raises(ValueError, match="row 2"):
        model.partial_fit(X[:3], [[1.0, np.nan, 2.0], [np.nan, 1.0, 1.0], [np.nan] * 3])
    np.testing.assert_array_equal(model.predict(ASKED), before)


def test_the_queries_of_such_a_model():
    x, y = gappy()
    model = ks.KernelRegressor().fit(pd.DataFrame(x, columns=["a", "b"]), y)
    frame = pd.DataFrame(ASKED, columns=["a", "b"])
    single = [
        ks.KernelRegressor().fit(pd.DataFrame(x[k], columns=["a", "b"]), y[k, c], shuffle=False)
        for c, k in enumerate(~np.isnan(y).T)
    ]
    np.testing.assert_allclose(
        model.gradient(frame), np.stack([one.gradient(frame) for one in single], axis=1), atol=1e-9
    )
    np.testing.assert_allclose(
        model.feature_importances_,
        np.mean([one.feature_importances_ for one in single], axis=0),
        atol=1e-9,
    )
    assert model.n_stored_ == sum(one.n_stored_ for one in single)
    assert model.transform(frame).shape == (len(frame), model.n_stored_)
    assert model.diagnostics_.error == pytest.approx(
        [one.diagnostics_.error for one in single], rel=1e-9
    )
    assert (model.novelty(frame) <= 1.0).all()
    background = frame[:10]
    found = model.explain(frame[:4], background).values
    for c, one in enumerate(single):
        other = one.explain(frame[:4], background).values
        np.testing.assert_allclose(found[:, c] if found.shape[1] == P else found[..., c], other)
    assert model.scales_.shape == (2, 2)
    assert copy.deepcopy(model).predict_one({"a": 0.1, "b": 0.2}) == pytest.approx(
        [one.predict_one({"a": 0.1, "b": 0.2}) for one in single]
    )


def test_models_of_parts_are_merged():
    x, y = gappy(first=100)
    sample = ks.KernelRegressor(learner=ks.Ridge(center=False)).partial_fit(x[:100], y[:100])
    sample.freeze_dictionary()
    parts = [copy.deepcopy(sample).partial_fit(x[i::3], y[i::3]) for i in range(3)]
    # One has met complete rows only.
    parts.append(copy.deepcopy(sample).partial_fit(x[:50], y[:50]))
    merged = parts[0].merge(*parts[1:])
    whole = copy.deepcopy(sample)
    for i in range(3):
        whole.partial_fit(x[i::3], y[i::3])
    whole.partial_fit(x[:50], y[:50])
    assert merged.n_seen_ == whole.n_seen_ == N + 50
    np.testing.assert_allclose(merged.predict(ASKED), whole.predict(ASKED), atol=1e-8)


def test_single_rows_may_lack_targets():
    x, y = gappy(first=3)
    model = ks.KernelRegressor()
    for row, targets in zip(x, y, strict=True):
        model.learn_one(row, [None if np.isnan(t) else t for t in targets])
    np.testing.assert_allclose(model.predict(ASKED), alone(ks.KernelRegressor, x, y), atol=1e-10)
    river = pytest.importorskip("kernelstream.river", reason="river is not installed")
    model = river.KernelMultiTargetRegressor()
    names = list("pqr")
    for row, targets in zip(x, y, strict=True):
        known = {name: t for name, t in zip(names, targets, strict=True) if not np.isnan(t)}
        model.learn_one(dict(zip("ab", row, strict=True)), known)
    made = model.predict_one(dict(zip("ab", ASKED[0], strict=True)))
    expected = alone(
        lambda: ks.KernelRegressor(missing="fill", n_warm_up=500),
        x,
        y,
    )[0]
    assert list(made.values()) == pytest.approx(expected, abs=1e-3)
    with pytest.raises(ValueError, match="those of the first row"):
        model.learn_one({"a": 0.0, "b": 0.0}, {"z": 1.0})


def test_experts_of_single_targets_are_not_listed():
    x, y = gappy()
    model = ks.KernelExperts().partial_fit(x, y)
    for name in ("experts_", "weights_", "n_generations_"):
        with pytest.raises(AttributeError, match="each has experts of its own"):
            getattr(model, name)
