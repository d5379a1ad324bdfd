"""Learners of labels against slow versions that share nothing with them, on real rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

import kernelstream as ks
import reference as ref
import reference_classification as slow
from realdata import FOLDER, real_stream

N_ROWS = 1000


def rows_and_signs(name):
    """1,000 real rows and their signs: one column, or one for each of ten digits."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))[:N_ROWS]
        return X[order] / 16, np.where(y[order, None] == np.arange(10), 1.0, -1.0)
    X, y = real_stream(name, N_ROWS)
    return X, 2.0 * y[:, None] - 1.0


# Data, bandwidth and tolerance: tens of stored points each.
STREAMS = [("svmguide3", 4.0, 0.02), ("ijcnn1", 2.0, 0.1), ("digits", 2.0, 0.4)]

LEARNERS = {
    "gradient, hinge": (ks.Gradient("hinge", 0.2), slow.Descent, slow.hinge, {"step": 0.2}),
    "gradient, logistic": (
        ks.Gradient("logistic", 0.5, "inverse_sqrt"),
        slow.Descent,
        slow.logistic,
        {"step": 0.5, "decay": lambda t: 1 / np.sqrt(t)},
    ),
    "gradient, squared hinge": (
        ks.Gradient("squared_hinge", 0.1),
        slow.Descent,
        slow.squared_hinge,
        {"step": 0.1},
    ),
    "Gauss-Newton, squared hinge": (
        ks.GaussNewton(0.1),
        slow.Newton,
        slow.squared_hinge,
        {"regularization": 0.1},
    ),
    "Gauss-Newton, logistic": (
        ks.GaussNewton(0.1, "logistic"),
        slow.Newton,
        slow.logistic,
        {"regularization": 0.1},
    ),
    "online Newton, hinge": (
        ks.OnlineNewton(0.1, loss="hinge", clip=False),
        slow.Newton,
        slow.hinge,
        {"regularization": 0.1, "gauss_newton": False},
    ),
    "online Newton, squared hinge": (
        ks.OnlineNewton(0.2, curvature=0.3, loss="squared_hinge", clip=False),
        slow.Newton,
        slow.squared_hinge,
        {"regularization": 0.2, "gauss_newton": False, "eta": 0.3},
    ),
}


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(("data", "bandwidth", "tolerance"), STREAMS)
def test_predictions_of_labels_are_those_of_dense_algebra(name, data, bandwidth, tolerance):
    learner, kind, loss, options = LEARNERS[name]
    X, signs = rows_and_signs(data)
    reference = kind(
        ref.gaussian(bandwidth), loss, tolerance=tolerance, n_outputs=signs.shape[1], **options
    )
    expected = ref.run(reference, X, signs)
    basis = ks.ALD(tolerance, max_size=None)
    model = ks.KernelRegressor(ks.Gaussian(bandwidth), basis, learner, scale=False)
    np.testing.assert_allclose(model.partial_fit_predict(X, signs), expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.dictionary_, reference.dictionary.points)
    # Stand-ins are less regular than the tables.
    known = data == "digits" or (FOLDER / f"{data}.npz").exists()
    assert 15 < model.n_stored_ < (120 if known else 200)
    # The classifier sees the same, and decides by sign or by the largest.
    labels = signs[:, 0] if signs.shape[1] == 1 else signs.argmax(axis=1)
    classifier = ks.KernelClassifier(ks.Gaussian(bandwidth), basis, learner, scale=False)
    said = classifier.partial_fit_predict(X, labels, classes=np.unique(labels))
    if name == "Gauss-Newton, logistic":
        calibration = slow.Recalibration(signs.shape[1])
        expected = np.array([calibration.step(*row) for row in zip(expected, signs, strict=True)])
        made = np.array([calibration.apply(row) for row in model.predict(X)])
        scores = classifier.decision_function(X).reshape(made.shape)
        np.testing.assert_allclose(scores, made, rtol=0, atol=1e-7)
    if signs.shape[1] == 1:
        sure = np.abs(expected[:, 0]) > 1e-9
        np.testing.assert_array_equal(said[sure], np.sign(expected[sure, 0]))
    else:
        first, second = np.sort(expected, axis=1)[:, :-3:-1].T
        sure = first - second > 1e-9
        np.testing.assert_array_equal(said[sure], expected[sure].argmax(axis=1))
    assert sure.sum() > 950


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("loss_driven", [False, True])
@pytest.mark.parametrize(("data", "bandwidth", "tolerance"), STREAMS)
def test_points_limited_in_number_or_to_those_with_a_loss(loss_driven, data, bandwidth, tolerance):
    X, signs = rows_and_signs(data)
    reference = slow.Newton(
        ref.gaussian(bandwidth),
        slow.squared_hinge,
        tolerance=tolerance,
        n_outputs=signs.shape[1],
        max_size=40,
        loss_driven=loss_driven,
        regularization=0.1,
    )
    expected = ref.run(reference, X, signs)
    basis = ks.ALD(tolerance, max_size=40, loss_driven=loss_driven)
    model = ks.KernelRegressor(ks.Gaussian(bandwidth), basis, ks.GaussNewton(0.1), scale=False)
    np.testing.assert_allclose(model.partial_fit_predict(X, signs), expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.dictionary_, reference.dictionary.points)


def test_selection_leaves_points_out_that_are_far_on_their_side():
    X, signs = rows_and_signs("svmguide3")
    sizes = [
        ks.KernelClassifier(
            ks.Gaussian(4.0),
            ks.ALD(0.005, loss_driven=loss_driven),
            loss="squared_hinge",
            scale=False,
        )
        .fit(X, signs[:, 0])
        .n_stored_
        for loss_driven in (False, True)
    ]
    assert 20 < sizes[1] < sizes[0]


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_the_weight_of_a_row_multiplies_its_loss(loss):
    X, signs = rows_and_signs("svmguide3")
    weight = {-1.0: 0.3, 1.0: 2.5}
    reference = slow.Newton(
        ref.gaussian(4.0), getattr(slow, loss), tolerance=0.02, regularization=0.1
    )
    expected = [reference.step(x, y, weight[y[0]])[0] for x, y in zip(X, signs, strict=True)]
    if loss == "logistic":
        calibration = slow.Recalibration(1)
        rows = zip(expected, signs, strict=True)
        expected = [calibration.step([f], y, weight[y[0]])[0] for f, y in rows]
    learner = ks.GaussNewton(0.1, loss)
    whole, single = (
        ks.KernelClassifier(ks.Gaussian(4.0), ks.ALD(0.02), learner, scale=False) for _ in range(2)
    )
    weights = np.array([weight[sign] for sign in signs[:, 0]])
    said = whole.partial_fit_predict(X, signs[:, 0], [-1.0, 1.0], weights)
    sure = np.abs(expected) > 1e-9
    np.testing.assert_array_equal(said[sure], np.sign(expected)[sure])
    for t, (x, y) in enumerate(zip(X, signs[:, 0], strict=True)):
        if t % 50 == 1:
            assert single.decision_function([x])[0] == pytest.approx(expected[t], abs=1e-9)
        single.partial_fit([x], [y], [-1.0, 1.0], [weight[y]])
    np.testing.assert_allclose(
        whole.decision_function(X), single.decision_function(X), rtol=0, atol=1e-9
    )


def test_centred_gauss_newton_with_the_squared_loss_is_centred_ridge():
    X, signs = rows_and_signs("digits")
    for center in (False, True):
        ridge = ks.Ridge(0.1, center=center, clip=False)
        newton = ks.GaussNewton(0.2, "squared", center=center)
        outcome = [
            ks.KernelRegressor(
                ks.Gaussian(2.0), ks.ALD(0.3), learner, scale=False
            ).partial_fit_predict(X, signs)
            for learner in (ridge, newton)
        ]
        np.testing.assert_allclose(outcome[0], outcome[1], rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_centring_predicts_the_constant_far_from_all_rows(loss):
    X, signs = rows_and_signs("svmguide3")
    y = signs[:, 0]
    model = ks.KernelRegressor(
        ks.Gaussian(1.0), None, ks.GaussNewton(loss=loss, center=True), scale=False
    )
    far = model.fit(X, y).predict(X[:1] + 1e3)[0]
    share = np.mean(y > 0)
    if loss == "logistic":
        share = (np.sum(y > 0) + 1) / (len(y) + 2)
        assert far == pytest.approx(np.log(share / (1 - share)), abs=1e-9)
    else:
        assert far == pytest.approx(2 * share - 1, abs=1e-9)
    # Labels turned round turn everything round.
    other = ks.KernelRegressor(
        ks.Gaussian(1.0), None, ks.GaussNewton(loss=loss, center=True), scale=False
    )
    np.testing.assert_allclose(other.fit(X, -y).predict(X), -model.predict(X), atol=1e-9)


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize(
    "preset",
    [
        lambda loss: ks.presets.fogd(ks.Gaussian(0.7), 0.5, 100, loss=loss),
        lambda loss: ks.presets.nogd(ks.Gaussian(0.7), 0.2, 50, 10, loss=loss),
        lambda loss: ks.presets.pros_n_kons(ks.Gaussian(0.7), max_size=50, loss=loss),
        lambda loss: ks.presets.con_kons(ks.Gaussian(0.7), max_size=50, loss=loss),
    ],
    ids=["fogd", "nogd", "pros_n_kons", "con_kons"],
)
def test_named_algorithms_learn_labels_by_their_loss(preset, loss):
    X, signs = rows_and_signs("codrna_30k")
    y = np.where(signs[:, 0] > 0, "coding", "not")
    model = preset(loss)
    assert isinstance(model, ks.KernelClassifier)
    assert isinstance(preset("squared"), ks.KernelRegressor)
    mistakes = np.mean(model.partial_fit_predict(X, y, classes=["coding", "not"]) != y)
    assert mistakes < 0.8 * min(np.mean(y == "coding"), np.mean(y == "not"))
    # The classifier is the regressor of signs, not clipped.
    learner = model.learner
    if isinstance(learner, ks.OnlineNewton):
        learner = learner.set_params(clip=False)
    numbers = ks.KernelRegressor(model.kernel, model.basis, learner, scale=False)
    outcome = numbers.partial_fit(X, np.where(y == "not", 1.0, -1.0)).predict(X[:50])
    np.testing.assert_array_equal(model.decision_function(X[:50]), outcome)
