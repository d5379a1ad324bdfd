"""Experts that are given: the mixture is what its formulas say, and it behaves as others do."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelstream as ks
import reference_experts
from kernelstream.datasets import adversarial
from modelbytes import pack, unpack
from realdata import random_stream, real_stream, table
from scikit_checks import IN_THEIR_ORDER

MIXTURES = {
    "polynomial": reference_experts.polynomial,
    "fixed_share": reference_experts.fixed_share,
}
MEMBERS = [
    ks.KernelRegressor(ks.Gaussian(0.3), ks.ALD(1e-3, max_size=40), scale=False),
    ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-3, max_size=40), ks.Ridge(1.0), scale=False),
    ks.KernelRegressor(ks.Matern32(1.0), ks.ALD(1e-2), ks.OnlineNewton(), scale=False),
    ks.KernelRegressor(ks.Gaussian(1.0), learner=ks.BudgetedGradient(50), scale=False),
    ks.KernelRegressor(
        ks.Gaussian(3.0), ks.Fourier(10, random_state=1), ks.Gradient(), scale=False
    ),
]


@parametrize_with_checks(
    [
        ks.KernelExperts(size=20),
        ks.KernelExperts(
            [
                ks.KernelRegressor(scale=False),
                ks.KernelRegressor(learner=ks.OnlineNewton(), scale=False),
            ],
            "fixed_share",
            scale=False,
        ),
    ],
    expected_failed_checks=lambda _: IN_THEIR_ORDER,
)
def test_estimator_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["diabetes", "cpusmall", "drift"])
def test_the_mixture_is_that_of_the_formulas(mixture, weighted, name):
    if name == "drift":
        X, y = random_stream(1000, 2, 3)
        y[500:] = -y[500:]
    else:
        X, y = real_stream(name, 1500)
    y = np.column_stack([y, 1e3 * y**2 - 5e4])
    weights = np.random.default_rng(0).integers(0, 4, len(y)) / 2 if weighted else None
    counts = np.ones(len(y)) if weights is None else weights
    model = ks.KernelExperts(MEMBERS, mixture, scale=False)
    found = model.partial_fit_predict(X, y, weights)
    made = [clone(member).partial_fit_predict(X, y, weights) for member in MEMBERS]
    for c in range(2):
        predictions, shares = MIXTURES[mixture](
            np.column_stack([m[:, c] for m in made]), y[:, c], counts
        )
        scale = np.abs(y[:, c]).max()
        np.testing.assert_allclose(found[:, c], predictions, rtol=0, atol=1e-10 * scale)
        np.testing.assert_allclose(model.weights_[c], shares, rtol=0, atol=1e-10)
    later = np.stack([clone(m).partial_fit(X, y, weights).predict(X[:50]) for m in MEMBERS])
    expected = np.einsum("ce,enc->nc", model.weights_, later)
    np.testing.assert_allclose(model.predict(X[:50]), expected, rtol=1e-10, atol=1e-8)
    np.testing.assert_allclose(
        model.transform(X[:50]), np.hstack(list(later)), rtol=1e-10, atol=1e-8
    )


@pytest.mark.parametrize("mixture", MIXTURES)
def test_any_chunking_gives_the_same_model(mixture):
    X, y = real_stream("cpusmall", 1500)
    grid = ks.presets.bandwidth_grid(X.shape[1])
    whole, parts, rows = (ks.KernelExperts(grid, mixture, scale=False) for _ in range(3))
    predictions = whole.partial_fit_predict(X, y)
    edges = [0, 1, 2, 77, 333, 900, 1500]
    pieces = [parts.partial_fit_predict(X[a:b], y[a:b]) for a, b in itertools.pairwise(edges)]
    np.testing.assert_allclose(np.concatenate(pieces), predictions, rtol=0, atol=1e-9)
    np.testing.assert_allclose(parts.weights_, whole.weights_, rtol=0, atol=1e-9)
    for x, target in zip(X[:300], y[:300], strict=True):
        rows.learn_one(x, target)
    some = ks.KernelExperts(grid, mixture, scale=False).fit(X[:300], y[:300])
    np.testing.assert_allclose(rows.weights_, some.weights_, rtol=0, atol=1e-9)
    one = [rows.predict_one(x) for x in X[300:350]]
    np.testing.assert_allclose(one, some.predict(X[300:350]), rtol=0, atol=1e-9)


def test_any_number_of_threads_gives_the_same_bits(stream):
    X, y = stream
    found = []
    try:
        for threads in (1, 2, 5):
            ks.set_num_threads(threads)
            found.append(
                ks.KernelExperts(MEMBERS, scale=False).fit(X, np.c_[y, -y])._core.to_bytes()
            )
    finally:
        ks.set_num_threads(None)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("mixture", MIXTURES)
def test_targets_in_other_units_give_predictions_in_these_units(mixture):
    X, y = real_stream("diabetes", 442)
    grid = ks.presets.bandwidth_grid(X.shape[1])
    plain, large, shifted = (ks.KernelExperts(grid, mixture, scale=False) for _ in range(3))
    predictions = plain.partial_fit_predict(X, y)
    np.testing.assert_allclose(
        large.partial_fit_predict(X, 1000 * y), 1000 * predictions, rtol=1e-9
    )
    np.testing.assert_allclose(large.weights_, plain.weights_, rtol=0, atol=1e-9)
    moved = shifted.partial_fit_predict(X, y + 100)[1:]  # the first is 0
    np.testing.assert_allclose(moved, predictions[1:] + 100, rtol=0, atol=1e-8)


def test_a_grid_is_about_as_good_as_the_best_in_it():
    table("cpusmall")  # which bandwidths are far from the best is known of it alone
    X, y = real_stream("cpusmall", 6000)
    grid = ks.presets.bandwidth_grid(X.shape[1])
    error = np.mean((ks.KernelExperts(grid, scale=False).partial_fit_predict(X, y) - y) ** 2)
    single = ks.KernelRegressor(ks.Gaussian(4.0), scale=False).partial_fit_predict(X, y)
    assert error < 0.7 * np.mean((single - y) ** 2)
    # One at a time, for whoever knows the answer beforehand.
    errors = [np.mean((alone.partial_fit_predict(X, y) - y) ** 2) for alone in grid]
    assert error < 1.02 * min(errors)
    assert max(errors) > 3.0 * error


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.DriftWarning")
@pytest.mark.parametrize("mixture", MIXTURES)
def test_it_recovers_when_the_best_expert_changes(mixture):
    X, _ = random_stream(6000, 2, 4)
    rough, smooth = np.sin(12.0 * X[:, 0]) * np.cos(9.0 * X[:, 1]), X[:, 0] + X[:, 1]
    noise = 0.2 * np.random.default_rng(4).standard_normal(6000)
    y = np.where(np.arange(6000) < 3000, smooth, rough) + noise
    experts = [
        ks.KernelRegressor(
            ks.Gaussian(b), ks.ALD(1e-3, max_size=300), ks.Ridge(forgetting=0.998), scale=False
        )
        for b in (0.2, 3.0)
    ]
    model = ks.KernelExperts(experts, mixture, scale=False)
    found = []
    for half in (slice(0, 3000), slice(3000, 6000)):
        found.append((model.partial_fit_predict(X[half], y[half]) - y[half]) ** 2)
        assert np.argmax(model.weights_) == (1 if half.start == 0 else 0)
    alone = [(clone(e).partial_fit_predict(X, y) - y) ** 2 for e in experts]
    for half, best, worst in ((0, alone[1], alone[0]), (1, alone[0], alone[1])):
        late = slice(3000 * half + 1000, 3000 * half + 3000)
        assert found[half][1000:].mean() < 1.05 * best[late].mean()
        assert worst[late].mean() > 1.12 * best[late].mean()


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.UselessPredictionsWarning")
def test_regret_is_bounded_on_streams_made_to_hurt():
    X, y = random_stream(2000, 2, 5)
    streams = [
        adversarial.block_flips(X, y, 200, 10, random_state=1),
        (X, np.where(np.arange(2000) % 2, 1.0, -1.0)),
    ]
    for rows, targets in streams:
        grid = ks.presets.bandwidth_grid(2)
        mixed = ks.KernelExperts(grid, scale=False).partial_fit_predict(rows, targets)
        for expert in grid:
            made = expert.partial_fit_predict(rows, targets)
            steps = ((mixed - targets) * (mixed - made)) ** 2
            scale = np.sqrt(steps.sum() + steps.max())
            bound = 2 * (1 + np.sqrt(2 * 20 * np.log1p(2000))) * scale
            regret = np.sum((mixed - targets) ** 2) - np.sum((made - targets) ** 2)
            assert regret <= bound


@pytest.mark.filterwarnings("ignore:5:kernelstream.exceptions.RepeatedRowsWarning")
@pytest.mark.parametrize("members", [None, MEMBERS])
def test_a_bad_row_is_named_and_changes_nothing(members, stream):
    X, y = stream
    model = ks.KernelExperts(members, size=30, scale=False)
    for _ in range(2):
        before = model._core.to_bytes() if "_core" in vars(model) else None
        broken = X.copy()
        broken[317, 1] = np.nan
        with pytest.raises(ValueError, match="row 317, column 1"):
            model.partial_fit(broken, y)
        with pytest.raises(ValueError, match="row 3"):
            model.partial_fit(X[:9], np.where(np.arange(9) == 3, np.inf, y[:9]))
        assert before == (model._core.to_bytes() if "_core" in vars(model) else None)
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])
    with pytest.raises((ValueError, TypeError)):
        model.learn_one([1.0, 2.0], 3.0)


def test_weights_too_large_for_one_expert_change_none(stream):
    X, y = stream
    model = ks.KernelExperts(ks.presets.bandwidth_grid(3), scale=False).fit(X, y)
    before = model._core.to_bytes()
    weights = np.where(np.arange(len(y)) % 3, 0.0, 1e50)
    with pytest.raises(ValueError, match="double precision"):
        model.partial_fit(X, y, weights)
    assert model._core.to_bytes() == before
    for row, weight in enumerate(weights):
        before = model._core.to_bytes()
        try:
            model.partial_fit(X[row : row + 1], y[row : row + 1], [weight])
        except ValueError:
            assert model._core.to_bytes() == before
            break
    else:
        pytest.fail("a row by itself is refused, too")


def test_parameters_that_make_no_sense_are_refused(stream):
    X, y = stream
    for wrong in ([], [ks.Gaussian()], [ks.KernelClassifier(scale=False)], [ks.KernelExperts()]):
        with pytest.raises((ValueError, TypeError), match="experts"):
            ks.KernelExperts(wrong, scale=False).fit(X, y)
    with pytest.raises(ValueError, match=r"mixture must be .* got 'best'"):
        ks.KernelExperts(mixture="best").fit(X, y)
    for size in (9, 4001, 30.5, "many"):
        with pytest.raises((ValueError, TypeError), match="size"):
            ks.KernelExperts(size=size).fit(X, y)


WAYS = {
    "file": lambda model, path: (model.save(path), ks.KernelExperts.load(path))[1],
    "any file": lambda model, path: (model.save(path), ks.load(path))[1],
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "copy": lambda model, _: copy.copy(model),
    "deepcopy": lambda model, _: copy.deepcopy(model),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("members", [None, MEMBERS])
@pytest.mark.parametrize("mixture", MIXTURES)
def test_a_round_trip_gives_the_same_model_to_the_bit(way, members, mixture, stream, tmp_path):
    X, y = stream
    model = ks.KernelExperts(members, mixture, size=20, scale=False).partial_fit(
        X[:200], np.c_[y, -y][:200]
    )
    again = WAYS[way](model, tmp_path / "model")
    assert repr(again) == repr(model)
    assert repr(again.experts_) == repr(model.experts_)
    # Row by row: where a long call lets others have the model, the clock says.
    for x, targets in zip(X[200:], np.c_[y, -y][200:], strict=True):
        for each in (model, again):
            each.learn_one(x, targets)
    assert again._core.to_bytes() == model._core.to_bytes()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("mixture", MIXTURES)
def test_damaged_files_are_refused(mixture, stream, tmp_path):
    X, y = stream
    model = ks.KernelExperts(MEMBERS[:2], mixture, scale=False).fit(X, y)
    model.save(tmp_path / "model")
    config, arrays = unpack((tmp_path / "model").read_bytes())
    assert set(arrays) >= {"expert.0", "expert.1", "mixture.0.weights"}
    other = np.frombuffer(ks.KernelRegressor(scale=False).fit(X, y)._core.to_bytes(), np.uint8)
    fewer = clone(MEMBERS[0]).fit(X[:9], y[:9])._core.to_bytes()
    damages = [
        {"expert.1": None},
        {"expert.1": arrays["expert.1"][:-9]},
        {"expert.1": arrays["expert.0"]},
        {"expert.0": other},
        {"expert.0": np.frombuffer(fewer, np.uint8)},
        {"expert.0": np.arange(5.0)[None]},
    ]
    for name, values in arrays.items():
        if name.startswith("mixture"):
            damages += [{name: None}, {name: values[:, 1:]}, {name: -values - 1.0}]
            damages += [{name: np.full_like(values, np.nan)}]
    for damage in damages:
        changed = {k: v for k, v in (arrays | damage).items() if v is not None}
        (tmp_path / "bad").write_bytes(pack(config, changed))
        with pytest.raises(ks.ModelFileError):
            ks.load(tmp_path / "bad")
    (tmp_path / "good").write_bytes(pack(config, arrays))
    np.testing.assert_array_equal(ks.load(tmp_path / "good").predict(X), model.predict(X))


@pytest.mark.filterwarnings("ignore:X (has|does not have).*feature names")
def test_it_works_where_regressors_do(stream, tmp_path):
    X, y = stream
    experts = ks.KernelExperts(size=30)
    pipeline = make_pipeline(StandardScaler(), clone(experts)).fit(X, y)
    assert pipeline.score(X, y) > 0.9
    for model in (experts, ks.KernelExperts(MEMBERS)):
        model.fit(dict(zip("abc", 1e3 * X.T, strict=True)), y[:, None])
        model.save(tmp_path / "model")
        again = ks.load(tmp_path / "model")
        assert isinstance(again, ks.KernelExperts)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_the_differences_of_experts_can_be_read(stream):
    X, y = stream
    model = ks.KernelExperts(ks.presets.bandwidth_grid(3), scale=False).fit(X, y)
    assert model.weights_.shape == (20,)
    assert np.isclose(model.weights_.sum(), 1.0)
    assert len(model.experts_) == 20
    assert {tuple(each) for each in model.experts_} == {
        ("kernel__bandwidth", "learner__regularization")
    }
    model = ks.KernelExperts(MEMBERS, scale=False).fit(X, np.c_[y, y])
    assert model.weights_.shape == (2, 5)
    assert [each["kernel"] for each in model.experts_][2] == "matern32"
    assert model.n_stored_ == len(model.dictionary_)
    assert model.condition_ is None
    assert MEMBERS[0].__sklearn_is_fitted__() is False
