"""Parameters and data at the ends of their ranges: numbers or a clear error, never a silent NaN."""

import itertools
import pickle

import numpy as np
import pytest

import kernelstream as ks

KERNELS = [
    ks.Gaussian(1e-50),
    ks.Gaussian(1e50),
    ks.Gaussian(1.0),
    ks.Laplacian(1e-3),
    ks.Matern52(2.0),
    ks.Polynomial(20, 1.0, 1.0),
    ks.Polynomial(2),
    ks.Linear(),
    1e50 * ks.Gaussian(1.0),
    1e-50 * ks.Gaussian(1.0),
    1e-50 * ks.Linear(),
]
LEARNERS = [
    ks.Ridge(1e-50),
    ks.Ridge(1e50),
    ks.Ridge(0.0),
    ks.Ridge(1e-2, forgetting=0.01),
    ks.Ridge(1e-12, forgetting=0.5),
    ks.Ridge(1e-50, prediction="awv"),
    ks.OnlineNewton(1e-50),
    ks.OnlineNewton(1e50),
    ks.OnlineNewton(1.0, growth="restart"),
    ks.OnlineNewton(1.0, bound=1e-50),
    ks.OnlineNewton(1.0, curvature=1e50),
    ks.OnlineNewton(1.0, bound=1e50, target_bound=1e50),
    ks.OnlineNewton(1.0, sketch=1e-3),
    ks.Ridge(1e-50, history="exact"),
    ks.Ridge(1e50, history="reservoir", reservoir=5),
    ks.Gradient(),
    ks.Gradient(step=1e50, schedule="constant"),
    ks.Gradient(step=1e-50, schedule="constant"),
    ks.Gradient(radius=1e-50),
    ks.Gradient(radius=1e50),
]
BASES = [
    ks.ALD(1e-3),
    ks.ALD(0.0, pivot_floor=1e-14),
    ks.FirstPoints(5),
    ks.FirstPoints(5, rank=2),
    ks.Sketched(5, period=3),
    ks.KORS(1e-50),
    ks.KORS(1.0, oversampling=1e50),
]


def rows(kind):
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(60, 3))
    return {
        "plain": plain,
        "huge": 1e20 * plain,
        "tiny": 1e-200 * plain,
        "zero": np.zeros((60, 3)),
        "repeated": np.repeat(plain[:4], 15, axis=0),
        "far from the origin": 1e6 + plain,
    }[kind]


KINDS = ["plain", "huge", "tiny", "zero", "repeated", "far from the origin"]
SCALES = [1.0, 1e49, 1e-50, 0.0]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_regressor_gives_numbers_or_an_error_that_changes_nothing(learner):
    for kernel, basis, kind, scale in itertools.product(KERNELS, BASES, KINDS, SCALES):
        X = rows(kind)
        y = scale * np.random.default_rng(1).normal(size=len(X))
        model = ks.KernelRegressor(kernel, basis, learner)
        try:
            model.partial_fit(X[:30], y[:30])
        except ValueError as error:
            assert "row" in str(error)
            assert not hasattr(model, "n_features_in_")
            continue
        before = model._core.to_bytes()
        try:
            forecasts = model.partial_fit_predict(X[30:], y[30:])
        except ValueError as error:
            assert "row" in str(error)
            assert model._core.to_bytes() == before
        else:
            assert np.isfinite(forecasts).all()
        assert np.isfinite(model.predict(X)).all()
        assert np.isfinite(model.predict_one(X[0]))
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("forgetting", [1.0, 0.5, 0.01])
@pytest.mark.parametrize("regularization", [1e-50, 1e-12, 1e50])
def test_an_operator_gives_numbers_or_an_error(regularization, forgetting):
    for kernel, kind in itertools.product(KERNELS, KINDS):
        X = rows(kind)
        model = ks.Koopman(kernel, ks.ALD(1e-3), ks.Ridge(regularization, forgetting=forgetting))
        try:
            model.partial_fit(X[:-1], X[1:])
        except ValueError as error:
            assert "row" in str(error)
            continue
        pickle.loads(pickle.dumps(model))
        for ask in (
            lambda model=model: model.eigenvalues_,
            lambda model=model, X=X: model.predict(X[:3], n_steps=2),
            lambda model=model, X=X: model.eigenfunctions(X[:3], 1),
        ):
            try:
                answer = ask()
            except (ValueError, FloatingPointError) as error:
                assert str(error)
            else:
                assert np.isfinite(answer).all()


def test_a_small_regularization_costs_no_digits():
    """The limit is approached to rounding, not until the prior cancels all digits."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1]

    def forecasts(regularization):
        learner = ks.Ridge(regularization, center=False, clip=False)
        model = ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-2), learner)
        return model.partial_fit_predict(X, y)

    limit = forecasts(0.0)
    for regularization in (1e-14, 1e-20, 1e-50):
        np.testing.assert_allclose(forecasts(regularization), limit, atol=1e-8)
