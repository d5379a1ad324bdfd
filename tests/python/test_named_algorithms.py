"""The presets of the regression literature against slow versions from their papers' definitions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

import kernelstream as ks
import reference as ref
import reference_regression as slow
from modelbytes import unpack
from realdata import random_stream, real_stream

ROWS = 1000


def uniform(seed, count):
    """The library's coin: output ``count + 1`` of SplitMix64 (Steele, Lea, Flood, 2014)."""
    mask = 2**64 - 1
    z = (seed + (count + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def coin(seed, count):
    return (uniform(seed, count) >> 11) * 2.0**-53


def normals(seed, n):
    """Standard normal numbers by Box and Muller."""
    radius = np.sqrt([-2.0 * np.log(1.0 - coin(seed, 2 * i)) for i in range(n)])
    return radius * np.cos([2.0 * np.pi * coin(seed, 2 * i + 1) for i in range(n)])


def stored_rows(model, X, y):
    """Which rows of X a model stored when it learned them, found by another like it."""
    other, sizes = clone(model), [0]
    for x, target in zip(X, y, strict=True):
        other.learn_one(x, target)
        sizes.append(other.n_stored_)
    stored = np.flatnonzero(np.diff(sizes)).tolist()
    np.testing.assert_array_equal(model.dictionary_, X[stored])
    return stored


def saved(model, name):
    return unpack(model._core.to_bytes())[1][name].ravel()


def assert_same(model, X, y, expected, tolerance=1e-7):
    np.testing.assert_allclose(model.partial_fit_predict(X, y), expected, rtol=0, atol=tolerance)


# ------------------------------------------------------------------------------------------- KORS


@pytest.mark.parametrize(
    ("name", "bandwidth", "settings"),
    [
        ("elevators_raw", 8.0, {"regularization": 1.0}),
        ("cpusmall", 4.0, {"regularization": 5.0, "accuracy": 0.3, "oversampling": 2.0}),
        ("diabetes", 2.0, {"regularization": 0.5, "random_state": 7}),
    ],
)
def test_kors_draws_with_the_paper_s_probabilities(name, bandwidth, settings):
    X, y = real_stream(name, ROWS)
    model = ks.KernelRegressor(
        ks.Gaussian(bandwidth), ks.KORS(**settings), scale=False
    ).partial_fit(X, y)
    stored = stored_rows(model, X, y)
    chances = slow.kors_probabilities(
        ref.gaussian(bandwidth),
        X,
        stored,
        mu=settings["regularization"],
        epsilon=settings.get("accuracy", 0.5),
        beta=settings.get("oversampling", 1.0),
    )
    np.testing.assert_allclose(saved(model, "basis.chances"), chances[stored], rtol=0, atol=1e-9)
    # Every row's coin falls as its chance says.
    coins = np.array([coin(settings.get("random_state", 0), t) for t in range(len(X))])
    assert np.flatnonzero(coins < chances).tolist() == stored
    assert 15 < len(stored) < 0.5 * len(X)


def test_kors_stores_with_its_probabilities():
    # Over 400 seeds: the first row's chance is known, the second's given the first was stored.
    X, y = random_stream(3, 2, seed=1)
    basis = [ks.KORS(2.0, random_state=seed) for seed in range(400)]
    models = [
        ks.KernelRegressor(ks.Gaussian(0.8), each, scale=False).partial_fit(X, y) for each in basis
    ]
    stored = [stored_rows(model, X, y) for model in models]
    first, second = (np.array([row in each for each in stored]) for row in (0, 1))
    chance = slow.kors_probabilities(ref.gaussian(0.8), X, [0], mu=2.0)
    for seen, expected in ((first, chance[0]), (second[first], chance[1])):
        spread = np.sqrt(expected * (1.0 - expected) / len(seen))
        assert abs(seen.mean() - expected) < 4.0 * spread


def test_kors_refuses_repeated_points_and_stops_at_its_size():
    X, y = random_stream(40, 2, seed=2)
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)
    model = ks.KernelRegressor(ks.Gaussian(0.5), ks.KORS(1e-3), scale=False).partial_fit(X, y)
    assert len(np.unique(model.dictionary_, axis=0)) == model.n_stored_ == 40
    small = ks.KernelRegressor(
        ks.Gaussian(0.5), ks.KORS(1e-3, max_size=7), scale=False
    ).partial_fit(X, y)
    assert small.n_stored_ == 7
    assert np.isfinite(small.predict(X)).all()


# -------------------------------------------------------------------------- online Newton with KORS


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize(
    ("name", "bandwidth", "gamma"), [("elevators_raw", 8.0, 1.0), ("cpusmall", 4.0, 5.0)]
)
@pytest.mark.parametrize(
    ("preset", "growth"),
    [(ks.presets.pros_n_kons, "restart"), (ks.presets.con_kons, "carry_unprojected")],
    ids=["pros_n_kons", "con_kons"],
)
def test_newton_steps_on_sampled_points(preset, growth, name, bandwidth, gamma):
    X, y = real_stream(name, ROWS)
    bound = {"bound": 0.4, "target_bound": 1.0}
    model = preset(ks.Gaussian(bandwidth), alpha=0.2, gamma=gamma, random_state=3, **bound)
    found = model.partial_fit_predict(X, y)
    kernel, stored = ref.gaussian(bandwidth), stored_rows(model, X, y)
    settings = {"mu": 0.2, **bound}
    learner = slow.NewtonOnPoints(kernel, X.shape[1], stored, growth=growth, **settings)
    np.testing.assert_allclose(found, ref.run(learner, X, y), rtol=0, atol=1e-7)
    assert np.isclose(np.abs(found), 0.4).sum() > 3
    if growth != "restart":
        other = slow.NewtonOnPoints(kernel, X.shape[1], stored, growth="carry", **settings)
        assert np.abs(found - ref.run(other, X, y)).max() > 1e-6


# ------------------------------------------------------------------------ KONS, Sketched-KONS


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize(
    ("name", "bandwidth", "share"), [("cal_housing", 6.0, None), ("cpusmall", 12.0, 0.25)]
)
def test_kons_in_the_space_of_all_points(name, bandwidth, share):
    X, y = real_stream(name, ROWS)
    settings = {"mu": 0.5, "bound": 0.6, "target_bound": 1.0}
    if share is None:
        model, kept = ks.presets.kons(ks.Gaussian(bandwidth), **settings), None
    else:
        model = ks.presets.sketched_kons(
            ks.Gaussian(bandwidth), share=share, random_state=5, **settings
        )
        kept = [(coin(5, t) < share) / share for t in range(ROWS)]
    expected = slow.kons_online(ref.gaussian(bandwidth), X, y, **settings, kept=kept)
    assert_same(model, X, y, expected)


# ---------------------------------------------------------------------------------- AWV and PKAWV


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.parametrize(("name", "bandwidth"), [("elevators_raw", 3.0), ("protein_raw", 1.0)])
def test_kernel_awv_on_real_rows(name, bandwidth):
    X, y = real_stream(name, ROWS)
    _, expected = ref.cholesky_oracle(ref.gaussian(bandwidth), X, y, 1.0)
    assert_same(ks.presets.kernel_awv(ks.Gaussian(bandwidth), 1.0), X, y, expected)


def test_kernel_ridge_ends_as_scikit_learn_s():
    X, y = real_stream("cpusmall", ROWS)
    batch = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5 / 2.0**2).fit(X, y)
    model = ks.presets.kernel_ridge(ks.Gaussian(2.0), 0.1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), batch.predict(X), rtol=0, atol=1e-7)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("degree", [0, 2, 3])
def test_pkawv_taylor_is_awv_on_the_printed_functions(degree):
    X, y = real_stream("cal_housing", ROWS)
    features = slow.taylor_features(X, degree, 1.2)
    learner = ref.DenseRidge(0.7, center=False, clip=False, prediction="awv")
    model = ks.presets.pkawv_taylor(ks.Gaussian(1.2), 0.7, degree)
    sizes = np.full(ROWS, features.shape[1])
    expected = ref.run_on_features(learner, features, sizes, y)
    assert_same(model, X, y, expected)
    np.testing.assert_allclose(model.transform(X[:20]), features[:20], rtol=0, atol=1e-14)
    assert model.n_stored_ == 0


@pytest.mark.parametrize("name", ["elevators_raw", "protein_raw"])
def test_pkawv_nystroem_with_each_history(name):
    X, y = real_stream(name, ROWS)
    kernel, settings = ref.gaussian(2.0), {"regularization": 0.5}
    errors = {}
    for history in ("exact", "none", "reservoir"):
        model = ks.presets.pkawv_nystroem(
            ks.Gaussian(2.0), 0.5, 2.0, history=history, reservoir=60, random_state=4
        )
        found = model.partial_fit_predict(X, y)
        stored = stored_rows(model, X, y)
        if history == "exact":
            expected = slow.pkawv_nystrom_exact(kernel, X, y, stored, **settings)
            exact = found
        elif history == "none":
            expected = slow.pkawv_nystrom_forgetful(kernel, X, y, stored, **settings)
        else:
            slots = [t if t < 60 else (uniform(4, t) * (t + 1)) >> 64 for t in range(ROWS)]
            slots = [slot if slot < 60 else -1 for slot in slots]
            expected = slow.pkawv_nystrom_reservoir(
                kernel, X, y, stored, slots, size=60, **settings
            )
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
        errors[history] = np.abs(found - exact).mean()
    assert 0.0 < errors["reservoir"] < errors["none"]


def test_a_history_serves_centring_several_targets_and_weights():
    X, y = random_stream(400, 2, seed=3)
    Y = np.column_stack([y, 2.0 - y**2])
    learner = ks.Ridge(0.1, center=True, clip=True, history="exact")
    basis = ks.KORS(1.0, random_state=2)
    model = ks.KernelRegressor(ks.Gaussian(0.7), basis, learner, scale=False)
    found = model.partial_fit_predict(X, Y)
    # In the end, least squares on the stored points with all rows at their true values.
    points, kernel = model.dictionary_, ref.gaussian(0.7)
    rows, gram = kernel(X, points), kernel(points, points)
    # The intercept has no penalty.
    ones = np.column_stack([np.ones(len(X)), rows])
    penalty = 0.1 * np.pad(gram, ((1, 0), (1, 0)))
    beta = np.linalg.solve(ones.T @ ones + penalty, ones.T @ Y)
    later = np.clip(ones @ beta, Y.min(axis=0), Y.max(axis=0))
    np.testing.assert_allclose(model.predict(X), later, rtol=0, atol=1e-7)
    for j in range(2):
        alone = ks.KernelRegressor(ks.Gaussian(0.7), basis, learner, scale=False)
        np.testing.assert_allclose(alone.partial_fit_predict(X, Y[:, j]), found[:, j], atol=1e-9)


def test_a_reservoir_has_constant_memory_and_exact_does_not():
    X, y = random_stream(6000, 2, seed=5)
    sizes = {}
    for history in ("exact", "reservoir"):
        model = ks.presets.pkawv_nystroem(
            ks.Gaussian(1.5), history=history, reservoir=100, max_size=20
        )
        model.partial_fit(X[:3000], y[:3000])
        before = len(model._core.to_bytes())
        model.partial_fit(X[3000:], y[3000:])
        sizes[history] = len(model._core.to_bytes()) / before
    assert sizes["reservoir"] < 1.01
    assert sizes["exact"] > 1.8


# -------------------------------------------------------------------------------- gradient descent


@pytest.mark.parametrize("normalized", [True, False])
def test_fogd_on_its_frequencies(normalized):
    X, y = real_stream("elevators_raw", ROWS)
    d = X.shape[1]
    omegas = normals(9, 50 * d).reshape(50, d) / 3.0
    step = 0.3 if normalized else 0.006
    model = ks.presets.fogd(ks.Gaussian(3.0), step, 50, normalized=normalized, random_state=9)
    learner = slow.Fogd(omegas, step=step, normalized=normalized)
    assert_same(model, X, y, ref.run(learner, X, y), 1e-9)


@pytest.mark.parametrize(("name", "bandwidth"), [("elevators_raw", 3.0), ("protein_raw", 1.0)])
def test_nogd_through_its_change_of_stage(name, bandwidth):
    X, y = real_stream(name, ROWS)
    model = ks.presets.nogd(ks.Gaussian(bandwidth), 0.2, 80, 15)
    learner = slow.Nogd(ref.gaussian(bandwidth), X.shape[1], size=80, rank=15, step=0.2)
    expected = ref.run(learner, X, y)
    assert_same(model, X, y, expected)
    assert model.n_stored_ == 80
    later = [learner.predict(x) for x in X[:50]]
    np.testing.assert_allclose(model.predict(X[:50]), later, rtol=0, atol=1e-7)
    # Before the change too.
    early = ks.presets.nogd(ks.Gaussian(bandwidth), 0.2, 80, 15)
    np.testing.assert_allclose(early.partial_fit_predict(X[:40], y[:40]), expected[:40], atol=1e-9)


# -------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ks.KORS(0.0), "regularization"),
        (lambda: ks.KORS(oversampling=-1.0), "oversampling"),
        (lambda: ks.KORS(max_size=0), "max_size"),
        (lambda: ks.KORS(random_state=-1), "random_state|u64"),
        (lambda: ks.Taylor(21), "degree"),
        (lambda: ks.Fourier(0), "size"),
        (lambda: ks.FirstPoints(10, rank=11), "rank"),
        (lambda: ks.FirstPoints(10, rank=0), "rank"),
        (lambda: ks.OnlineNewton(sketch=0.0), "sketch"),
        (lambda: ks.OnlineNewton(growth="sideways"), "growth|variant"),
        (lambda: ks.Ridge(reservoir=0), "reservoir"),
        (lambda: ks.Ridge(0.0, center=False, history="exact"), "history"),
        (lambda: ks.Ridge(forgetting=0.9, history="reservoir"), "history"),
    ],
)
def test_parameters_that_make_no_sense(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bases_refuse_kernels_they_are_not_made_for():
    X, y = random_stream(20, 2)
    for basis, kernel in (
        (ks.Taylor(), ks.Laplacian(1.0)),
        (ks.Fourier(), ks.Linear()),
        (ks.Fourier(), 0.5 * ks.Gaussian(1.0) + ks.Gaussian(2.0)),
    ):
        with pytest.raises(ValueError, match=r"basis specification.*kernel"):
            ks.KernelRegressor(kernel, basis, scale=False).partial_fit(X, y)


def test_too_many_functions_are_refused_and_nothing_is_learned():
    X, y = random_stream(20, 60)
    model = ks.KernelRegressor(ks.Gaussian(1.0), ks.Taylor(4), scale=False)
    with pytest.raises(ValueError, match="20000 functions of 60 features"):
        model.partial_fit(X, y)
    model.partial_fit(X[:, :5], y)
    assert model.n_features_in_ == 5
