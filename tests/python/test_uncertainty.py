"""Standard deviations and intervals, against the formulas written out here."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

import kernelstream as ks
from kernelstream.datasets import adversarial
from realdata import random_stream, real_stream

LAMBDA = 0.3
COVERAGES = (0.5, 0.8, 0.9, 0.95, 0.99)
MODELS = {
    "ridge": ks.KernelRegressor(basis=ks.ALD(1e-2, max_size=40), scale=False),
    "forgetting": ks.KernelRegressor(
        basis=ks.ALD(1e-2, max_size=40), learner=ks.Ridge(0.1, 0.99), scale=False
    ),
    "newton": ks.KernelRegressor(
        basis=ks.ALD(1e-1, max_size=40), learner=ks.OnlineNewton(), scale=False
    ),
    "budget": ks.presets.kogd(budget=40),
    "reservoir": ks.KernelRegressor(
        basis=ks.ALD(1e-2), learner=ks.Ridge(history="reservoir"), scale=False
    ),
    "experts": ks.KernelExperts(
        [ks.KernelRegressor(ks.Gaussian(b), scale=False) for b in (1.0, 3.0)], scale=False
    ),
    "adaptive": ks.KernelExperts(size=30),
}


def dense(Z, residual, y, noise):
    """Deviations of Bayesian linear regression at the last row of coordinates, from the others.

    The prior of the weights has the variance of the noise over lambda, that of the intercept none.
    """
    Z = np.column_stack([Z, np.ones(len(Z))])
    prior = LAMBDA * np.append(np.ones(Z.shape[1] - 1), 0.0)
    P = np.linalg.inv(Z[:-1].T @ Z[:-1] + np.diag(prior))
    return noise * np.sqrt(1 + Z[-1] @ P @ Z[-1] + residual / LAMBDA)


@pytest.mark.parametrize(
    ("kernel", "theirs"),
    [(ks.Gaussian(0.5), RBF(0.5)), (ks.Matern32(1.0), Matern(1.0, nu=1.5))],
    ids=["gaussian", "matern"],
)
def test_with_all_points_it_is_a_gaussian_process(kernel, theirs):
    X, y = random_stream(200, 4, seed=1)
    learner = ks.Ridge(LAMBDA, center=False, clip=False)
    model = ks.KernelRegressor(kernel, ks.AllPoints(), learner, scale=False).fit(X, y)
    variance = model.noise_**2
    prior = ConstantKernel(variance / LAMBDA) * theirs + WhiteKernel(variance)
    process = GaussianProcessRegressor(prior, alpha=0.0, optimizer=None).fit(X, y)
    where = np.random.default_rng(0).uniform(-2, 2, size=(500, 4))
    for ours, other in zip(
        model.predict(where, return_std=True), process.predict(where, return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, other, rtol=0, atol=1e-8)
    # The noise is what makes the rows after the first most likely, at this ratio to the prior.
    factor = np.linalg.cholesky(theirs(X) + LAMBDA * np.eye(len(X)))
    innovations = np.linalg.solve(factor, y)[1:]
    assert model.noise_ == pytest.approx(np.sqrt(LAMBDA * np.mean(innovations**2)), rel=1e-10)


@pytest.mark.parametrize("forgetting", [1.0, 0.9])
def test_deviations_are_those_of_the_formula(forgetting):
    X, y = random_stream(80, 3, seed=2)
    Y = np.column_stack([y, 10 * np.cos(y)])
    learner = ks.Ridge(LAMBDA, forgetting)
    model = ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-2, max_size=20), learner, scale=False)
    model.fit(X[:30], Y[:30])
    assert model.n_stored_ == 20
    squares, count = model.noise_**2, sum(forgetting**age for age in range(29))
    for row in range(30, 80):
        x, target = X[row : row + 1], Y[row]
        made, deviation = model.predict(x, return_std=True)
        alone = model.predict_one(X[row], return_std=True)
        np.testing.assert_allclose(alone, [made[0], deviation[0]], rtol=1e-12)
        np.testing.assert_allclose(model.noise_, np.sqrt(squares), rtol=1e-9)
        if forgetting == 1.0:
            Z = model.transform(X[: row + 1])
            # Coordinates that were not there yet were 0.
            admitted = [np.flatnonzero((point == X).all(axis=1))[0] for point in model.dictionary_]
            Z[np.arange(row + 1)[:, None] < np.array(admitted)] = 0.0
            expected = dense(Z, 1 - Z[-1] @ Z[-1], y, model.noise_)
            np.testing.assert_allclose(deviation[0], expected, rtol=1e-8)
        ratio = (deviation[0] / model.noise_) ** 2
        count = forgetting * count + 1
        squares += ((target - made[0]) ** 2 / ratio - squares) / count
        model.partial_fit(x, Y[row : row + 1])


def test_gauss_newton_on_squares_is_ridge():
    X, y = random_stream(150, 2, seed=3)
    ridge = ks.KernelRegressor(learner=ks.Ridge(0.1, center=False, clip=False), scale=False).fit(
        X, y
    )
    newton = ks.KernelRegressor(
        learner=ks.GaussNewton(loss="squared", regularization=0.2), scale=False
    ).fit(X, y)
    for ours, other in zip(
        newton.predict(X, return_std=True), ridge.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, other, rtol=1e-8)


@pytest.mark.parametrize("name", ["newton", "budget"])
def test_learners_without_deviations_name_those_with_them(name):
    X, y = random_stream(100, 2, seed=4)
    model = clone(MODELS[name]).fit(X, y)
    assert model.noise_ is None
    for ask in (model.predict, lambda rows, **wish: model.predict_one(rows[0], **wish)):
        with pytest.raises(ValueError, match="ridge learner does"):
            ask(X, return_std=True)
    # Intervals are as wide as the errors near a prediction were, wherever the row is.
    order = np.argsort(model.predict(X))
    widths = np.ptp(model.predict_interval(X), axis=1)[order]
    bends = np.abs(np.diff(np.sign(np.diff(widths)))) > 0
    assert np.sum(bends) < 10


def test_experts_are_as_sure_as_the_mixture_of_their_distributions():
    X, y = random_stream(400, 2, seed=5)
    members = [ks.KernelRegressor(ks.Gaussian(b), scale=False) for b in (0.3, 1.0, 3.0)]
    model = ks.KernelExperts(members, scale=False).fit(X, y)
    made, within = zip(*(m.fit(X, y).predict(X, return_std=True) for m in members), strict=True)
    mean = model.weights_ @ np.array(made)
    spread = model.weights_ @ (np.array(within) ** 2 + (np.array(made) - mean) ** 2)
    predictions, deviations = model.predict(X, return_std=True)
    np.testing.assert_allclose(predictions, mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(deviations, np.sqrt(spread), rtol=1e-8)
    assert model.noise_ is None


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("name", MODELS)
def test_coverage_holds_on_real_rows(name):
    X, y = real_stream("cal_housing", 4000, seed=1)
    for coverage in COVERAGES if name == "ridge" else (0.8,):
        low, high = clone(MODELS[name]).partial_fit_predict_interval(X, y, coverage=coverage).T
        inside = ((low <= y) & (y <= high)).reshape(-1, 1000).mean(axis=1)
        assert abs(inside.mean() - coverage) < 0.01
        assert np.abs(inside - coverage).max() < 0.05


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_coverage_holds_where_the_stream_changes():
    X, y = real_stream("cal_housing", 6000)
    flipped = np.where(np.arange(6000) // 700 % 2, 1 - y, y)
    streams = [
        adversarial.sorted_stream(X, y),
        (X, flipped),
        adversarial.drifting(6000),
    ]
    for rows, targets in streams:
        for coverage in (0.5, 0.9):
            model = clone(MODELS["ridge"])
            low, high = model.partial_fit_predict_interval(rows, targets, coverage=coverage).T
            inside = ((low <= targets) & (targets <= high)).reshape(-1, 1000).mean(axis=1)
            assert abs(inside.mean() - coverage) < 0.01
            assert np.abs(inside - coverage).max() < 0.05


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("model", [ks.KernelRegressor(scale=False), ks.KernelExperts()], ids=repr)
def test_coverage_holds_when_a_stuck_sensor_comes_back(model):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1.0, 1.0, size=(2500, 2))
    targets = np.sin(3.0 * rows[:, 0]) + 0.1 * rng.normal(size=2500)
    targets[:1500] = 0.3
    for coverage in (0.5, 0.9):
        fresh = clone(model)
        low, high = fresh.partial_fit_predict_interval(rows, targets, coverage=coverage).T
        inside = (low <= targets) & (targets <= high)
        assert inside[1:1500].all()
        assert abs(inside[1500:].mean() - coverage) < 0.05


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("limit", [3.0, 1e9])
def test_coverage_holds_against_targets_just_outside_what_was_issued(coverage, limit):
    n, rng = 6000, np.random.default_rng(1)
    X, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    model = ks.KernelRegressor(basis=ks.ALD(1e-2, max_size=5), scale=False).fit(X[:30], y[:30])
    within = []
    for i in range(30, n):
        low, high = model.predict_interval(X[i : i + 1], coverage)[0]
        outside = high + 1e-3 * (high - low)
        target = outside if abs(outside) <= limit else y[i]
        within.append(low <= target <= high)
        model.learn_one(X[i], target)
    assert np.mean(within) == pytest.approx(coverage, abs=0.02)
    if coverage == 0.9:
        assert model.diagnostics_.coverage == pytest.approx(np.mean(within), abs=0.002)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("name", MODELS)
def test_intervals_are_those_before_each_row_however_the_stream_is_cut(name):
    X, y = real_stream("cal_housing", 700)
    model, parts = clone(MODELS[name]), clone(MODELS[name])
    whole = model.partial_fit_predict_interval(X, y, coverage=0.8)
    assert np.isinf(whole[0]).all()
    cut = [parts.partial_fit_predict_interval(X[:200], y[:200], coverage=0.8)]
    rest = [(X[i : i + 1], y[i : i + 1]) for i in range(200, 300)] + [(X[300:], y[300:])]
    for x, target in rest:
        before = parts.predict_interval(x[:1], coverage=0.8)
        cut.append(parts.partial_fit_predict_interval(x, target, coverage=0.8))
        if name != "reservoir":  # its prediction has heard the rows that it remembers
            np.testing.assert_allclose(before, cut[-1][:1], rtol=1e-7)
    np.testing.assert_allclose(np.concatenate(cut), whole, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_model_file_brings_all_of_it_back(name, tmp_path):
    X, y = real_stream("cal_housing", 900)
    model = clone(MODELS[name]).partial_fit(X[:500], y[:500])
    model.save(tmp_path / "model.ks")
    back = ks.load(tmp_path / "model.ks")
    for coverage in (0.5, 0.97):
        ends = [m.predict_interval(X, coverage) for m in (model, back)]
        np.testing.assert_array_equal(*ends)
    ends = [m.partial_fit_predict_interval(X[500:], y[500:]) for m in (model, back)]
    np.testing.assert_array_equal(*ends)
    assert model._core.to_bytes() == back._core.to_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_a_bad_row_changes_nothing(name):
    X, y = real_stream("cal_housing", 400)
    model = clone(MODELS[name]).partial_fit(X[:300], y[:300])
    before, bad = model._core.to_bytes(), y[300:].copy()
    bad[60] = np.nan
    with pytest.raises(ValueError, match="row 60"):
        model.partial_fit_predict_interval(X[300:], bad)
    for coverage in (0, 1.0, np.nan):
        with pytest.raises(ValueError, match="coverage must be above 0 and below 1"):
            model.partial_fit_predict_interval(X[300:], y[300:], coverage=coverage)
        with pytest.raises(ValueError, match="coverage must be above 0 and below 1"):
            model.predict_interval(X, coverage)
    with pytest.raises(TypeError, match="coverage must be a number"):
        model.predict_interval(X, "0.9")
    assert model._core.to_bytes() == before


LEARNERS = {
    "ridge": {},
    "newton": {"learner": ks.GaussNewton(loss="squared", regularization=0.2)},
    "gradient": {"learner": ks.Gradient()},
}


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("order", ["random", "blocks", "merged"])
def test_intervals_follow_noise_that_grows_with_the_target(learner, order):
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(8000, 2))
    y = np.exp(3.0 * X[:, 0] + 0.3 * np.sin(6.0 * X[:, 1]) + 0.25 * rng.normal(size=8000))
    X, Z, y, z = X[:6000], X[6000:], y[:6000], y[6000:]
    if order == "blocks":
        places = np.lexsort((y, np.arange(6000) // 200))
        X, y = X[places], y[places]
    kernel = ks.Gaussian(0.5)
    model = ks.KernelRegressor(kernel, basis=ks.ALD(1e-3), scale=False, **LEARNERS[learner])
    if (order, learner) == ("blocks", "gradient"):
        pytest.skip(
            "its predictions follow the latest rows, which intervals after the stream cannot mend"
        )
    if order == "merged":
        if learner != "ridge":
            pytest.skip("other learners cannot be merged")
        first = clone(model).fit(X[:200], y[:200])
        first.freeze_dictionary()
        model.merge(*(deepcopy(first).partial_fit(X[k::2], y[k::2]) for k in (0, 1)))
    else:
        model.partial_fit(X, y)
    low, high = model.predict_interval(Z).T
    by_size = np.argsort(model.predict(Z))
    inside = ((low <= z) & (z <= high))[by_size]
    assert all(0.84 < part.mean() < 0.998 for part in np.array_split(inside, 5))


def test_merged_models_estimate_the_noise_of_all_rows():
    X, y = random_stream(3000, 2, seed=6)
    model = ks.KernelRegressor(basis=ks.ALD(1e-2), scale=False).fit(X[:200], y[:200])
    model.freeze_dictionary()
    parts = [deepcopy(model).partial_fit(X[i::3], y[i::3]) for i in range(3)]
    merged = deepcopy(parts[0]).merge(*parts[1:])
    assert merged.noise_**2 == pytest.approx(np.mean([part.noise_**2 for part in parts]))
    widths = [np.ptp(m.predict_interval(X), axis=1).mean() for m in (merged, *parts)]
    assert min(widths[1:]) * 0.9 < widths[0] < max(widths[1:]) * 1.05


def test_models_of_raw_columns_have_novelty_too():
    X, y = random_stream(1500, 2, seed=7)
    rows = X * [1e4, 1e-4]
    for model in (ks.KernelRegressor(), ks.KernelRegressor(missing="fill")):
        low, high = model.partial_fit_predict_interval(rows, y).T
        assert abs(((low <= y) & (y <= high)).mean() - 0.9) < 0.02
        made, deviation = model.predict(rows, return_std=True)
        low, high = model.predict_interval(rows).T
        assert ((low < made) & (made < high)).all()
        one = model.predict_one(rows[3], return_std=True)
        np.testing.assert_allclose(one, (made[3], deviation[3]), rtol=1e-10)
    labels = ks.KernelClassifier().fit(rows, y > 0.5)
    assert not hasattr(labels, "predict_interval")


@pytest.mark.parametrize("ordered", [False, True])
def test_intervals_of_experts_follow_noise_that_depends_on_a_column(ordered):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 3))
    if ordered:
        X = X[np.lexsort((X[:, 2], np.arange(3000) // 300))]
    y = np.sin(3.0 * X[:, 0]) + (0.05 + X[:, 2]) * rng.normal(size=3000)
    model = ks.KernelExperts(size=30)
    low, high = model.partial_fit_predict_interval(X, y, coverage=0.9).T
    fifth = np.minimum(5.0 * X[:, 2], 4.0).astype(int)
    inside, late = (low <= y) & (y <= high), np.arange(3000) >= 1000
    shares = [inside[late & (fifth == k)].mean() for k in range(5)]
    assert min(shares) > 0.8
    widths = [(high - low)[late & (fifth == k)].mean() for k in (0, 4)]
    assert widths[1] > 2.5 * widths[0]
    # Queries have them too, and a file keeps them.
    ends = model.predict_interval(np.array([[0.5, 0.5, 0.05], [0.5, 0.5, 0.95]]))
    assert np.ptp(ends[1]) > 2.0 * np.ptp(ends[0])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_interval(X[:50]), model.predict_interval(X[:50]))


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.MovedColumnsWarning")
@pytest.mark.parametrize("order", ["shuffled", "sorted by the target"])
@pytest.mark.parametrize("kind", [ks.KernelRegressor, ks.KernelExperts])
def test_bounds_are_the_range_of_possible_targets(kind, order):
    """Counts are never negative, and neither are the ends; no target is lost by that."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1200, 2))
    y = np.c_[rng.poisson(np.exp(2 * X[:, 0])), rng.poisson(np.exp(X[:, 1]))].astype(float)
    if order != "shuffled":
        places = np.argsort(y[:, 0], kind="stable")
        X, y = X[places], y[places]
    free, bounded = kind(), kind()
    ends = free.partial_fit_predict_interval(X, y, coverage=0.8)
    limited = bounded.partial_fit_predict_interval(X, y, coverage=0.8, bounds=(0, None))
    assert ends.min() < 0.0
    assert np.array_equal(limited, np.maximum(ends, 0.0))
    inside = [(e[..., 0] <= y) & (y <= e[..., 1]) for e in (ends, limited)]
    assert np.array_equal(*inside)
    now = bounded.predict_interval(X, 0.8, bounds=(0.5, 3.0))
    assert np.array_equal(now, free.predict_interval(X, 0.8).clip(0.5, 3.0))
    assert now.min() == 0.5
    assert now.max() == 3.0


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        (0.0, "a lower and an upper end"),
        ((0, 1, 2), "a lower and an upper end"),
        (("0", None), "must be a number or None, got '0'"),
        ((True, 2.0), "must be a number or None, got True"),
        ((1.0, 1.0), "must be below"),
        ((np.nan, 1.0), "must be below"),
    ],
)
def test_bounds_that_are_no_range_are_refused_before_anything_is_learned(bounds, said):
    model = ks.KernelRegressor().fit(np.arange(20.0)[:, None], np.arange(20.0))
    before = model.n_seen_
    with pytest.raises((TypeError, ValueError), match=said):
        model.partial_fit_predict_interval([[1.0]], [1.0], bounds=bounds)
    with pytest.raises((TypeError, ValueError), match=said):
        model.predict_interval([[1.0]], bounds=bounds)
    assert model.n_seen_ == before


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("order", ["shuffled", "sorted", "by_column", "rising"])
@pytest.mark.parametrize("name", ["default", "ridge", "gradient", "experts", "fixed", "table"])
def test_intervals_of_rows_far_from_all_that_were_learned_are_as_wide_as_targets(name, order):
    models = {
        "default": ks.KernelRegressor(),
        "ridge": ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-2), ks.Ridge(0.1), scale=False),
        "gradient": ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-2), ks.Gradient(), scale=False),
        "experts": ks.KernelExperts(size=40),
        "fixed": ks.KernelExperts([ks.KernelRegressor(ks.Gaussian(b)) for b in (1.0, 3.0)]),
        "table": ks.KernelRegressor(missing="fill"),
    }
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=3000)
    keys = {"sorted": y, "by_column": X[:, 1], "rising": X[:, 0] + 0.1 * rng.normal(size=3000)}
    rows = np.argsort(keys.get(order, np.arange(3000)))
    model = models[name].partial_fit(X[rows], y[rows])
    deviation = y.std()
    far = np.array([[40.0, 0.0], [-40.0, 40.0], [0.0, -60.0]])
    assert (model.novelty(far) > 0.9).all()
    half = np.ptp(model.predict_interval(far, coverage=0.9), axis=1) / 2
    assert (half > deviation).all(), half
    # Those of rows like the learned ones are as wide as the models' errors, which a gradient step
    # leaves large in an order.
    near = np.ptp(model.predict_interval(X, coverage=0.9), axis=1) / 2
    assert np.median(near) < (0.7 if name == "gradient" else 0.3) * half.min(), np.median(near)
    again = pickle.loads(pickle.dumps(model))
    asked = model.predict_interval(far)
    np.testing.assert_array_equal(again.predict_interval(far), asked)
    if order == "shuffled":
        # The interval issued is that of the query, though of experts with other rows' shares.
        issued = again.partial_fit_predict_interval(far[:1], [0.0])[0]
        np.testing.assert_allclose(issued, asked[0], rtol=1e-9)


def test_novel_rows_widen_no_interval_of_other_rows():
    X, y = random_stream(4000, 2, seed=8)
    model = ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-2), scale=False).fit(X[:3000], y[:3000])
    asked = np.concatenate([X[3000:], X[3000:] + 100.0])
    together = model.predict_interval(asked)[:1000]
    np.testing.assert_allclose(together, model.predict_interval(X[3000:]), rtol=1e-12)
    novelty = model.novelty(X[3000:])
    usual = novelty <= np.quantile(novelty, 0.9)
    spread = np.ptp(together, axis=1)[usual]
    assert spread.max() < 3 * np.median(spread)
