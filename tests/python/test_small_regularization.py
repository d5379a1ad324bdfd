"""Learners with next to no regularization, or heavy rows, are bounded and no worse."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import kernelstream as ks

N = 240
REGULARIZATIONS = [1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 0.0]


def rows(kind):
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 1.0, N)
    match kind:
        case "line":
            return (6.0 * t - 3.0)[:, None]
        case "circle":
            return np.c_[np.cos(7.0 * t), np.sin(7.0 * t)]
        case "trajectory":
            return np.c_[np.sin(12 * t), np.cos(15.6 * t), np.sin(8.4 * t)]
        case "sorted table":
            X = rng.normal(size=(N, 3))
            return X[np.argsort(X[:, 0])]
        case "near-duplicates":
            X = np.repeat(rng.normal(size=(N // 4, 2)), 4, axis=0)
            return X + 1e-9 * rng.normal(size=X.shape)
    return rng.normal(size=(N, 2))


KINDS = ["line", "circle", "trajectory", "sorted table", "near-duplicates", "random"]


def as_learned(model, X):
    """Coordinates of rows when they were learned: along later points, zero."""
    Z = model.transform(X)
    for j, point in enumerate(model.dictionary_):
        Z[: np.flatnonzero((point == X).all(axis=1))[0], j] = 0.0
    return Z


@pytest.mark.parametrize("tolerance", [1e-3, 1e-8, 0.0])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", [ks.Gaussian(0.7), ks.Gaussian(5.0), ks.Polynomial(3)])
def test_ridge_is_at_the_minimum_of_its_loss_and_less_regularization_fits_no_worse(
    kernel, kind, tolerance
):
    X = rows(kind)
    noise = 0.1 * np.random.default_rng(1).normal(size=N)
    y = np.sin(2.0 * X[:, 0]) + X.sum(axis=1) ** 2 / (1.0 + np.abs(X).max() ** 2) + noise
    misfits = []
    for regularization in REGULARIZATIONS:
        learner = ks.Ridge(regularization, center=False, clip=False)
        model = ks.KernelRegressor(kernel, ks.ALD(tolerance), learner, scale=False)
        model.partial_fit(X, y)
        Z = as_learned(model, X)
        # The weights, from predictions at the stored points.
        points = model.dictionary_
        w = np.linalg.solve(model.transform(points), model.predict(points))
        stacked = np.vstack([Z, np.sqrt(regularization) * np.eye(len(w))])
        targets = np.r_[y, np.zeros(len(w))]
        exact = np.linalg.lstsq(stacked, targets, rcond=None)[0]
        loss, least = (np.sum((stacked @ v - targets) ** 2) for v in (w, exact))
        # Without a prior digits are lost where points are distinguished by rounding only.
        if regularization >= 1e-8 or tolerance > 0.0:
            assert loss <= (1.0 + 1e-3) * least + 1e-9 * np.sum(y**2)
        misfits.append(np.sqrt(np.mean((Z @ w - y) ** 2)))
        assert np.abs(model.predict(X)).max() <= 3.0 * np.abs(y).max()
    assert all(b <= 1.02 * a + 1e-6 for a, b in pairwise(misfits))


@pytest.mark.parametrize("kind", ["line", "circle", "trajectory", "random"])
def test_krls_is_least_squares_on_its_dictionary(kind):
    X = rows(kind)
    y = np.sin(2.0 * X[:, 0])
    for tolerance in (1e-2, 1e-4, 1e-6, 1e-9):
        model = ks.presets.krls_ald(kernel=ks.Gaussian(1.0), tolerance=tolerance)
        model.set_params(scale=False)
        made = model.partial_fit_predict(X, y)
        Z = as_learned(model, X)
        w = np.linalg.lstsq(Z, y, rcond=None)[0]
        assert np.abs(model.predict(X) - model.transform(X) @ w).max() <= 1e-5
        assert np.abs(made).max() < 30.0


@pytest.mark.parametrize("kind", ["line", "circle", "trajectory"])
def test_operators_with_less_regularization_predict_no_worse(kind):
    T = rows(kind)
    for tolerance in (1e-3, 1e-6, 1e-10):
        errors = []
        for regularization in REGULARIZATIONS[:-1]:
            model = ks.Koopman(ks.Gaussian(1.0), ks.ALD(tolerance), ks.Ridge(regularization))
            model.fit(T[:-1], T[1:])
            errors.append(np.sqrt(np.mean((model.predict(T[:-1]) - T[1:]) ** 2)))
            assert np.abs(model.eigenvalues_).max() < 1.1
            Z = model.transform(T)
            assert (np.abs(Z) ** 2).sum(axis=1).max() <= 1.0 + 1e-9
        assert all(b <= 1.05 * a + 1e-6 for a, b in pairwise(errors))


LABEL_LEARNERS = {
    "Gauss-Newton, logistic": lambda mu: ks.GaussNewton(mu, "logistic"),
    "Gauss-Newton, squared hinge": lambda mu: ks.GaussNewton(mu, "squared_hinge"),
    "online Newton, logistic": lambda mu: ks.OnlineNewton(mu, loss="logistic", clip=False),
    "online Newton, squared hinge": lambda mu: ks.OnlineNewton(
        mu, loss="squared_hinge", clip=False
    ),
}


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("learner", LABEL_LEARNERS)
@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.WeightsWarning")
def test_noisy_labels_with_next_to_no_regularization_or_heavy_weights(learner, ordered):
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(800, 2)), rng.normal(size=(2000, 2))

    def label(x):
        return np.sin(2.0 * x[:, 0]) + x[:, 1] > 0.0

    if ordered:
        X = X[np.argsort(X[:, 0])]
    y = label(X) ^ (rng.random(800) < 0.1)
    for mu in (1e-2, 1e-4, 1e-7, 1e-10):
        for weight in (1.0, 100.0):
            model = ks.KernelClassifier(
                ks.Gaussian(1.0), ks.ALD(1e-3), LABEL_LEARNERS[learner](mu), scale=False
            )
            weights = np.full(800, weight)
            model.partial_fit(X, y, classes=[False, True], sample_weight=weights)
            decision = model.decision_function(T)
            # Online Newton steps on the squared hinge are bounded, but follow noise.
            if learner != "online Newton, squared hinge":
                assert np.mean((decision > 0.0) != label(T)) <= 0.2
            assert np.abs(decision).max() < 1e3
