"""The library against slow versions that share nothing with it (`reference.py`)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelstream as ks
import reference as ref
from realdata import random_stream, real_stream

DIRECTIONS = np.array([[1.0, 0.3, 0.0], [-0.5, 2.0, 0.1]])
KERNELS = [
    pytest.param(ks.Gaussian(0.9), ref.gaussian(0.9), id="gaussian"),
    pytest.param(ks.Laplacian(1.5), ref.laplacian(1.5), id="laplacian"),
    pytest.param(ks.Matern32(1.2), ref.matern32(1.2), id="matern32"),
    pytest.param(ks.Matern52(1.2), ref.matern52(1.2), id="matern52"),
    pytest.param(ks.Polynomial(3, 0.5, 1.0), ref.polynomial(3, 0.5, 1.0), id="polynomial"),
    pytest.param(ks.Linear(), ref.polynomial(1, 1.0, 0.0), id="linear"),
    pytest.param(
        0.4 * ks.Gaussian(0.4) + 0.6 * ks.Laplacian(2.0),
        ref.weighted_sum([0.4, 0.6], [ref.gaussian(0.4), ref.laplacian(2.0)]),
        id="sum",
    ),
    pytest.param(
        ks.ManhattanLaplacian(1.5), ref.manhattan_laplacian(1.5), id="manhattan_laplacian"
    ),
    pytest.param(
        ks.ManhattanLaplacian(1.5, 0.75), ref.manhattan_laplacian(1.5, 0.75), id="rough manhattan"
    ),
    pytest.param(
        ks.Mapped(ks.Matern32(0.9), [1.0, 0.2, 3.0]),
        ref.mapped(ref.matern32(0.9), np.diag([1.0, 0.2, 3.0])),
        id="diagonal",
    ),
    pytest.param(
        ks.Mapped(ks.Gaussian(0.9), DIRECTIONS),
        ref.mapped(ref.gaussian(0.9), DIRECTIONS),
        id="full",
    ),
]


def regressor(learner, *, kernel=None, basis=None):
    return ks.KernelRegressor(
        kernel or ks.Gaussian(0.8), basis or ks.ALD(1e-2), learner, scale=False
    )


# ------------------------------------------------------------------------------------------ basis


@pytest.mark.parametrize(("kernel", "reference"), KERNELS)
def test_the_dictionary_and_coordinates_are_those_of_dense_algebra(kernel, reference):
    X, y = random_stream(300, 3)
    model = regressor(ks.Ridge(), kernel=kernel, basis=ks.ALD(0.05)).partial_fit(X, y)
    features, sizes = ref.nested_features(reference, X, 0.05)
    assert model.n_stored_ == sizes[-1]
    stored = np.flatnonzero(np.diff(sizes, prepend=0))
    np.testing.assert_array_equal(model.dictionary_, X[stored])
    coordinates = model.transform(X)
    # A row's coordinates of its own round are the first of those it has now.
    for t, m in enumerate(sizes):
        np.testing.assert_allclose(coordinates[t, :m], features[t, :m], atol=1e-9)


@pytest.mark.parametrize(("kernel", "reference"), KERNELS)
def test_ridge_on_every_kernel(kernel, reference):
    X, y = random_stream(300, 3)
    model = regressor(ks.Ridge(0.1), kernel=kernel, basis=ks.ALD(0.05))
    features, sizes = ref.nested_features(reference, X, 0.05)
    expected = ref.run_on_features(ref.DenseRidge(0.1), features, sizes, y)
    np.testing.assert_allclose(model.partial_fit_predict(X, y), expected, atol=1e-9)


# ----------------------------------------------------------------------------------- online Newton


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.parametrize(
    ("name", "bandwidth"), [("elevators_raw", 8.0), ("cpusmall", 4.0), ("diabetes", 4.0)]
)
def test_nons_ald_is_the_paper_s_construction_by_svd(name, bandwidth):
    X, y = real_stream(name, 2000)
    tolerance = 25.0 / len(y)
    model = ks.presets.nons_ald(
        kernel=ks.Gaussian(bandwidth), mu=1.0, tolerance=tolerance, bound=1.0, target_bound=1.0
    )
    slow = ref.NonsAldSvd(
        ref.gaussian(bandwidth), mu=1.0, tolerance=tolerance, bound=1.0, target_bound=1.0
    )
    expected = ref.run(slow, X, y)
    np.testing.assert_allclose(model.partial_fit_predict(X, y), expected, rtol=0, atol=1e-8)
    assert model.n_stored_ == len(slow.dictionary) > 5
    np.testing.assert_array_equal(model.dictionary_, slow.dictionary.points)
    later = [slow.predict(x) for x in X[:50]]
    np.testing.assert_allclose(model.predict(X[:50]), later, rtol=0, atol=1e-8)


@pytest.mark.parametrize("growth", ["carry", "restart"])
@pytest.mark.parametrize("bound", [0.3, 2.0])
def test_online_newton_where_the_bound_bites_and_after_a_restart(growth, bound):
    X, y = random_stream(400, 2, seed=3)
    learner = ks.OnlineNewton(0.2, bound=bound, target_bound=1.0, growth=growth)
    slow = ref.NonsAldSvd(
        ref.gaussian(0.8), mu=0.2, tolerance=1e-2, bound=bound, target_bound=1.0, growth=growth
    )
    expected = ref.run(slow, X, y)
    if bound < 1.0:
        assert np.isclose(np.abs(expected), bound).sum() > 20
    np.testing.assert_allclose(
        regressor(learner).partial_fit_predict(X, y), expected, rtol=0, atol=1e-8
    )


# ---------------------------------------------------------------------------------------- gradient


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.parametrize(("name", "bandwidth"), [("elevators_raw", 8.0), ("diabetes", 4.0)])
@pytest.mark.parametrize("radius", [0.4, 2.0])
def test_aogd_ald_is_its_kernel_expansion(name, bandwidth, radius):
    X, y = real_stream(name, 1000)
    model = ks.presets.aogd_ald(kernel=ks.Gaussian(bandwidth), tolerance=0.01, radius=radius)
    slow = ref.AogdAldDual(ref.gaussian(bandwidth), tolerance=0.01, radius=radius)
    expected = ref.run(slow, X, y)
    np.testing.assert_allclose(model.partial_fit_predict(X, y), expected, rtol=0, atol=1e-8)
    assert model.n_stored_ == len(slow.dictionary)
    np.testing.assert_allclose(
        model.predict(X[:50]), [slow.predict(x) for x in X[:50]], rtol=0, atol=1e-8
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"step": 0.3},
        {"step": 0.3, "loss": "absolute", "schedule": "inverse_sqrt"},
        {"step": 0.3, "loss": {"huber": 0.2}},
        {"step": 0.5, "schedule": {"power": {"half_life": 30.0, "exponent": 0.7}}},
        {"step": 0.3, "radius": 0.8},
        {"step": 0.3, "regularization": 0.05},
        {"step": 0.4, "averaging": True},
        {"step": None, "schedule": "adaptive", "radius": 2.0},
    ],
    ids=lambda settings: "-".join(str(k) for k in settings),
)
def test_gradient_descent_is_its_definition(settings):
    X, y = random_stream(400, 2, seed=4)
    features, sizes = ref.nested_features(ref.gaussian(0.8), X, 1e-2)
    expected = ref.run_on_features(ref.DenseGradient(**settings), features, sizes, y)
    found = regressor(ks.Gradient(**settings)).partial_fit_predict(X, y)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


# ---------------------------------------------------------------------- ridge and AWV, every point


@pytest.mark.parametrize("regularization", [1e-2, 1.0])
@pytest.mark.parametrize(
    ("name", "bandwidth"), [("random", 0.5), ("elevators_raw", 0.5), ("diabetes", 1.0)]
)
def test_full_basis_equals_the_cholesky_oracle(name, bandwidth, regularization):
    X, y = random_stream(500, 3, seed=5) if name == "random" else real_stream(name, 500)
    ridge, awv = ref.cholesky_oracle(ref.gaussian(bandwidth), X, y, regularization)
    for prediction, expected in (("ridge", ridge), ("awv", awv)):
        learner = ks.Ridge(regularization, center=False, clip=False, prediction=prediction)
        model = regressor(learner, kernel=ks.Gaussian(bandwidth), basis=ks.AllPoints())
        found = model.partial_fit_predict(X, y)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
        assert model.n_stored_ >= 0.9 * len(X)


@pytest.mark.parametrize(
    ("preset", "column"), [(ks.presets.kernel_ridge, 0), (ks.presets.kernel_awv, 1)]
)
def test_the_full_basis_presets_are_those_methods(preset, column):
    X, y = random_stream(200, 3, seed=6)
    model = preset(kernel=ks.Gaussian(0.5), regularization=0.3)
    expected = ref.cholesky_oracle(ref.gaussian(0.5), X, y, 0.3)[column]
    np.testing.assert_allclose(model.partial_fit_predict(X, y), expected, rtol=0, atol=1e-8)


# -------------------------------------------------------------------------------------------- KRLS


@pytest.mark.parametrize(
    ("name", "bandwidth"), [("random", 0.8), ("elevators_raw", 4.0), ("diabetes", 3.0)]
)
def test_krls_ald_is_engel_s_recursion(name, bandwidth):
    X, y = random_stream(600, 2, seed=7) if name == "random" else real_stream(name, 600)
    model = ks.presets.krls_ald(kernel=ks.Gaussian(bandwidth), tolerance=0.02)
    slow = ref.Krls(ref.gaussian(bandwidth), tolerance=0.02)
    expected = ref.run(slow, X, y)
    np.testing.assert_allclose(model.partial_fit_predict(X, y), expected, rtol=0, atol=1e-7)
    assert model.n_stored_ == len(slow.points)
    np.testing.assert_allclose(
        model.predict(X[:50]), [slow.predict(x) for x in X[:50]], rtol=0, atol=1e-7
    )


# ------------------------------------------------------------------ centring, clipping, forgetting


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.parametrize("prediction", ["ridge", "awv"])
@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("forgetting", [1.0, 0.98, 0.9])
def test_ridge_is_its_dense_definition(forgetting, center, clip, prediction):
    X, y = random_stream(600, 2, seed=8)
    settings = {"forgetting": forgetting, "center": center, "clip": clip, "prediction": prediction}
    features, sizes = ref.nested_features(ref.gaussian(0.8), X, 1e-2)
    slow = ref.DenseRidge(0.05, **settings)
    expected = ref.run_on_features(slow, features, sizes, y)
    model = regressor(ks.Ridge(0.05, **settings))
    np.testing.assert_allclose(model.partial_fit_predict(X, y), expected, rtol=0, atol=1e-8)
    later = [slow.predict(z) for z in model.transform(X[:50])]
    np.testing.assert_allclose(model.predict(X[:50]), later, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", ["elevators_raw", "diabetes"])
@pytest.mark.parametrize("forgetting", [1.0, 0.995])
def test_ridge_on_real_data(name, forgetting):
    X, y = real_stream(name, 1500)
    features, sizes = ref.nested_features(ref.gaussian(4.0), X, 1e-2)
    expected = ref.run_on_features(ref.DenseRidge(0.01, forgetting=forgetting), features, sizes, y)
    model = regressor(ks.Ridge(0.01, forgetting=forgetting), kernel=ks.Gaussian(4.0))
    np.testing.assert_allclose(model.partial_fit_predict(X, y), expected, rtol=0, atol=1e-8)


def test_forgetting_does_not_inflate_unvisited_directions():
    # After 200 rows the same point comes forever: what the others had excited only fades.
    X, y = random_stream(20_000, 2, seed=9)
    X[200:], y[200:] = X[0], y[0]
    model = regressor(ks.Ridge(0.05, forgetting=0.99)).partial_fit(X, y)
    features, sizes = ref.nested_features(ref.gaussian(0.8), X[:200], 1e-2)
    assert model.n_stored_ == sizes[-1]
    slow = ref.DenseRidge(0.05, forgetting=0.99)
    phi = np.vstack([features, np.repeat(model.transform(X[:1]), 19_800, axis=0)])
    sizes = np.append(sizes, np.full(19_800, sizes[-1]))
    ref.run_on_features(slow, phi, sizes, y)
    later = [slow.predict(z) for z in model.transform(X[:200])]
    np.testing.assert_allclose(model.predict(X[:200]), later, rtol=0, atol=1e-8)


@pytest.mark.parametrize("repeats", [1, 3, 10, 16])
@pytest.mark.parametrize("order", ["shuffled", "by_column", "by_target"])
def test_forgetting_restores_all_coordinates_while_rows_add_some_at_a_regular_rate(repeats, order):
    # Each row comes several times in turn: the dictionary grows at a regular rate.
    X, y = random_stream(150, 6, seed=4)
    first = {
        "shuffled": np.arange(150),
        "by_column": np.argsort(X[:, 0]),
        "by_target": np.argsort(y),
    }
    rows = np.repeat(first[order], repeats)
    model = regressor(ks.Ridge(0.01, forgetting=0.95), kernel=ks.Gaussian(2.0))
    made = model.partial_fit_predict(X[rows], y[rows])
    features, sizes = ref.nested_features(ref.gaussian(2.0), X[rows], 1e-2)
    slow = ref.DenseRidge(0.01, forgetting=0.95)
    expected = ref.run_on_features(slow, features, sizes, y[rows])
    np.testing.assert_allclose(made, expected, rtol=0, atol=1e-7)
    # None of the regularization is lost, which would make P explode.
    assert np.linalg.eigvalsh(slow.A)[0] > 0.01 * 0.95 ** (2 * len(slow.A))


# --------------------------------------------------------------------------------- several outputs


@pytest.mark.parametrize(
    "learner",
    [
        ks.Ridge(0.05),
        ks.Ridge(0.05, forgetting=0.98, prediction="awv"),
        ks.Ridge(0.0, center=False, clip=False),
        ks.Gradient(step=0.3),
        ks.Gradient(step=0.3, loss="absolute", averaging=True),
    ],
    ids=["ridge", "forgetting-awv", "krls", "gradient", "absolute"],
)
def test_several_outputs_are_as_many_single_ones(learner):
    X, y = random_stream(400, 2, seed=10)
    targets = np.column_stack([y, 3.0 - 2.0 * y**2, np.sin(4.0 * X[:, 0])])
    model = regressor(learner)
    together = model.partial_fit_predict(X, targets)
    for j in range(3):
        single = regressor(learner)
        alone = single.partial_fit_predict(X, targets[:, j])
        np.testing.assert_allclose(together[:, j], alone, rtol=0, atol=1e-10)
        np.testing.assert_allclose(model.predict(X)[:, j], single.predict(X), rtol=0, atol=1e-10)


# ------------------------------------------------------------------------------------ random cases

STREAMS = st.builds(
    random_stream,
    n_rows=st.integers(1, 120),
    n_features=st.integers(1, 6),
    seed=st.integers(0, 10_000),
)
TOLERANCES = st.floats(1e-3, 0.5)


@settings(deadline=None, max_examples=60)
@given(
    stream=STREAMS,
    tolerance=TOLERANCES,
    regularization=st.floats(1e-3, 10.0),
    # Not less: directions that no row excites wind up, and both versions lose digits there.
    forgetting=st.sampled_from([1.0, 0.999, 0.9]),
    center=st.booleans(),
    clip=st.booleans(),
    prediction=st.sampled_from(["ridge", "awv"]),
)
def test_ridge_with_any_parameters(stream, tolerance, regularization, **options):
    X, y = stream
    features, sizes = ref.nested_features(ref.gaussian(0.8), X, tolerance)
    slow = ref.DenseRidge(regularization, **options)
    expected = ref.run_on_features(slow, features, sizes, y)
    model = regressor(ks.Ridge(regularization, **options), basis=ks.ALD(tolerance))
    np.testing.assert_allclose(model.partial_fit_predict(X, y), expected, rtol=1e-8, atol=1e-8)


@settings(deadline=None, max_examples=60)
@given(
    stream=STREAMS,
    tolerance=TOLERANCES,
    mu=st.floats(0.01, 10.0),
    bound=st.floats(0.1, 3.0),
    target_bound=st.floats(0.1, 3.0),
)
def test_nons_ald_with_any_parameters(stream, tolerance, mu, bound, target_bound):
    X, y = stream
    parameters = {"mu": mu, "tolerance": tolerance, "bound": bound, "target_bound": target_bound}
    expected = ref.run(ref.NonsAldSvd(ref.gaussian(0.8), **parameters), X, y)
    model = ks.presets.nons_ald(kernel=ks.Gaussian(0.8), **parameters)
    np.testing.assert_allclose(model.partial_fit_predict(X, y), expected, rtol=0, atol=1e-8)


@settings(deadline=None, max_examples=60)
@given(stream=STREAMS, tolerance=TOLERANCES, radius=st.floats(0.1, 5.0))
def test_aogd_ald_with_any_parameters(stream, tolerance, radius):
    X, y = stream
    slow = ref.AogdAldDual(ref.gaussian(0.8), tolerance=tolerance, radius=radius)
    model = ks.presets.aogd_ald(kernel=ks.Gaussian(0.8), tolerance=tolerance, radius=radius)
    expected = ref.run(slow, X, y)
    np.testing.assert_allclose(model.partial_fit_predict(X, y), expected, rtol=0, atol=1e-8)
