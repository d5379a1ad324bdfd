"""Kernels, bases and learners as values."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import kernelstream as ks
from kernelstream.components.learners import Learner
from realdata import real_stream

EVERY_PART = [
    ks.Gaussian(2.0),
    ks.Gaussian(),
    ks.Laplacian(2.0),
    ks.ManhattanLaplacian(2.0),
    ks.Mapped(ks.Gaussian(), [1.0, 0.0]),
    ks.Mapped(ks.ManhattanLaplacian() + ks.Linear(), [[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]]),
    ks.Matern32(2.0),
    ks.Matern52(2.0),
    ks.Polynomial(2, 0.5, 0.0),
    ks.Linear(),
    0.4 * ks.Gaussian(0.4) + 0.6 * ks.Linear(),
    ks.ALD(1e-2, 50),
    ks.AllPoints(),
    ks.NoisyPoints(0.2, loss_driven=True),
    ks.FirstPoints(7),
    ks.FirstPoints(7, rank=3),
    ks.KORS(0.5, 0.3, 2.0, 50, 7),
    ks.Taylor(3),
    ks.Fourier(20, False, 7),
    ks.Sketched(50, 40, 9, 5, 2, None, 60, 7),
    ks.Staged(),
    ks.Staged(ks.Ridge(0.1), ks.OnlineNewton()),
    ks.Ridge(0.1, 0.99, False, False, "awv"),
    ks.Gradient("absolute", 0.1, "inverse_sqrt"),
    ks.Gradient(
        {"huber": 1.5}, 0.1, {"power": {"half_life": 10.0, "exponent": 0.5}}, 3.0, 1e-3, True
    ),
    ks.Gradient(step=None, schedule="adaptive"),
    ks.Ridge(history="reservoir", reservoir=50, random_state=7),
    ks.OnlineNewton(2.0, 1.0, 1.0, 0.1, "restart"),
    ks.OnlineNewton(growth="carry_unprojected", sketch=0.5, random_state=7),
]


@pytest.mark.parametrize("part", EVERY_PART, ids=repr)
def test_copies_are_equal_and_read_back_from_their_text(part):
    assert clone(part) == part
    assert copy.deepcopy(part) == part
    assert pickle.loads(pickle.dumps(part)) == part
    assert eval(repr(part), vars(ks)) == part
    assert type(part).from_spec(part.to_spec()) == part


def test_equality_is_by_value_and_type():
    assert ks.Gaussian(1.0) == ks.Gaussian(1)
    assert ks.Gaussian(1.0) != ks.Gaussian(2.0)
    assert ks.Matern32(1.0) != ks.Matern52(1.0)
    assert ks.Gaussian(1.0) != "gaussian"


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: ks.Gaussian(0.0), "bandwidth"),
        (lambda: ks.Gaussian(-1.0), "bandwidth"),
        (lambda: ks.Gaussian(np.nan), "finite"),
        (lambda: ks.Laplacian(np.inf), "finite"),
        (lambda: ks.Polynomial(0), "degree"),
        (lambda: ks.Polynomial(2, -1.0), "scale"),
        (lambda: ks.Sum([ks.Gaussian()], [-1.0]), "weight"),
        (lambda: ks.Sum([], []), "kernel|weight|sum"),
        (lambda: ks.Sum([ks.Gaussian()], [1.0, 2.0]), "weights"),
        (lambda: -1.0 * ks.Gaussian(), "weight"),
        (lambda: ks.ManhattanLaplacian(0.0), "bandwidth"),
        (lambda: ks.Mapped(ks.Gaussian(), 1.0), "metric"),
        (lambda: ks.Mapped(ks.Gaussian(), []), "metric"),
        (lambda: ks.Mapped(ks.Gaussian(), ["a"]), "metric"),
        (lambda: ks.Mapped(ks.Gaussian(), [1.0, np.nan]), "metric"),
        (lambda: ks.Mapped(ks.Gaussian(), np.zeros((2, 3, 4))), "metric"),
        (lambda: ks.ALD(-1e-3), "tolerance"),
        (lambda: ks.ALD(1.5), "tolerance"),
        (lambda: ks.ALD(max_size=0), "max_size"),
        (lambda: ks.FirstPoints(0), "size"),
        (lambda: ks.Ridge(-1.0), "regularization"),
        (lambda: ks.Ridge(forgetting=0.0), "forgetting"),
        (lambda: ks.Ridge(forgetting=1.5), "forgetting"),
        (lambda: ks.Ridge(prediction="oracle"), "oracle"),
        (lambda: ks.Gradient("cubic"), "cubic"),
        (lambda: ks.Gradient(step=-1.0), "step"),
        (lambda: ks.Gradient(schedule="never"), "never"),
        (lambda: ks.Gradient({"huber": 0.0}), "huber"),
        (lambda: ks.Gradient(radius=0.0), "radius"),
        (lambda: ks.OnlineNewton(0.0), "regularization"),
        (lambda: ks.OnlineNewton(growth="shrink"), "shrink"),
        (lambda: ks.OnlineNewton(curvature=-1.0), "curvature"),
    ],
)
def test_a_bad_value_is_refused_when_the_part_is_made(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()


@pytest.mark.parametrize("value", ["wide", [1.0], object(), 1j])
def test_a_value_of_the_wrong_type_is_refused(value):
    with pytest.raises((ValueError, TypeError)):
        ks.Gaussian(value)


def test_setting_a_bad_parameter_changes_nothing():
    kernel = ks.Polynomial(2, 0.5, 1.0)
    with pytest.raises(ValueError, match="offset"):
        kernel.set_params(degree=3, offset=-1.0)
    assert kernel == ks.Polynomial(2, 0.5, 1.0)
    with pytest.raises(ValueError, match="bandwith"):
        ks.Gaussian(1.0).set_params(bandwith=2.0)


def test_kernels_add_up_and_take_weights():
    total = 0.4 * ks.Gaussian(0.4) + ks.Gaussian(0.7) * np.float64(0.6)
    assert total == ks.Sum([ks.Gaussian(0.4), ks.Gaussian(0.7)], [0.4, 0.6])
    assert 2 * total + ks.Linear() == ks.Sum(
        [ks.Gaussian(0.4), ks.Gaussian(0.7), ks.Linear()], [0.8, 1.2, 1.0]
    )
    with pytest.raises(TypeError):
        ks.Gaussian() + 1.0
    with pytest.raises(TypeError):
        "2" * ks.Gaussian()


def test_default_bandwidth_is_the_root_of_the_width(stream):
    X, y = stream
    default = ks.KernelRegressor(ks.Gaussian(), scale=False).fit(X, y).predict(X)
    explicit = ks.KernelRegressor(ks.Gaussian(np.sqrt(3)), scale=False).fit(X, y).predict(X)
    np.testing.assert_allclose(default, explicit, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        ks.presets.aogd_ald(),
        ks.presets.nons_ald(),
        ks.presets.krls_ald(),
        ks.presets.kernel_ridge(max_size=200),
        ks.presets.kernel_awv(max_size=200),
    ],
    ids=["aogd_ald", "nons_ald", "krls_ald", "kernel_ridge", "kernel_awv"],
)
def test_presets_work_as_they_come(model):
    X, y = real_stream("elevators_raw", 3000)
    predictions = model.partial_fit_predict(X, y)
    mean = np.concatenate([[0.0], np.cumsum(y[:-1]) / np.arange(1, len(y))])
    assert np.mean((predictions - y) ** 2) < np.mean((mean - y) ** 2)


def test_presets_take_any_kernel():
    model = ks.presets.nons_ald(kernel=ks.Matern52(3.0), mu=2.0, tolerance=0.1, max_size=9)
    assert model.kernel == ks.Matern52(3.0)
    assert model.basis == ks.ALD(0.1, 9)
    assert model.learner == ks.OnlineNewton(2.0)


def test_an_unknown_component_is_refused_with_the_known_ones():
    with pytest.raises(
        ValueError, match=r"unknown learner 'delphi'; known: ridge, .*online_newton"
    ):
        Learner.from_spec({"type": "delphi"})


def test_another_loss_is_set_or_refused_with_a_reason():
    learner = ks.OnlineNewton(2.0, sketch=0.5)
    assert learner.with_loss("hinge") == ks.OnlineNewton(2.0, sketch=0.5, loss="hinge")
    assert learner.loss == learner.loss_in_use() == "squared"
    with pytest.raises(ValueError, match="cubic"):
        learner.with_loss("cubic")
    assert ks.Ridge().with_loss("squared") == ks.Ridge()
    for own, kind in (("squared", ks.Ridge()), ("perceptron", ks.BudgetedPerceptron())):
        assert kind.loss_in_use() == own
        with pytest.raises(ValueError, match=r"cannot have loss='logistic'; .*GaussNewton"):
            kind.with_loss("logistic")


def test_predictions_are_unclipped_where_targets_seen_are_the_limit():
    assert ks.Ridge(0.5).unclipped() == ks.Ridge(0.5, clip=False)
    assert ks.OnlineNewton().unclipped() == ks.OnlineNewton(clip=False)
    for learner in (ks.OnlineNewton(bound=2.0), ks.Gradient(), ks.GaussNewton()):
        assert learner.unclipped() == learner


def test_a_learner_that_cannot_have_a_loss_names_those_that_can():
    with pytest.raises(ValueError, match="Gradient and OnlineNewton learn any"):
        ks.GaussNewton(loss="hinge")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ks.Gradient(loss="log_loss"),
            r"^loss must be one of 'squared'.*, got 'log_loss'$",
        ),
        (lambda: ks.Gradient(loss={"hubert": 1.0}), r"^loss must be one of .*, got \{'hubert': 1"),
        (lambda: ks.Gradient(schedule="fast"), "^schedule must be one of 'constant', .*'fast'$"),
        (lambda: ks.Ridge(history="all"), "^history must be one of 'none', .*, got 'all'$"),
    ],
)
def test_names_that_a_parameter_does_not_have_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
