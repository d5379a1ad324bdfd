"""What does not fit together is refused by name, with the remedy; experts print a short table."""

import numpy as np
import pandas as pd
import pytest

import kernelstream as ks
from kernelstream.exceptions import DataError

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 3))
Y = 3.0 * np.sin(X[:, 0]) + X[:, 1]


@pytest.mark.parametrize(
    ("learner", "loss"),
    [
        (ks.GaussNewton(), "squared_hinge"),
        (ks.GaussNewton(loss="logistic"), "logistic"),
        (ks.OnlineNewton(loss="hinge"), "hinge"),
        (ks.Gradient(loss="squared_hinge"), "squared_hinge"),
        (ks.BudgetedGradient(loss="hinge"), "hinge"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("scale", [False, True])
def test_losses_of_labels_refuse_numbers_by_name(learner, loss, scale):
    row = int(np.argmax(np.abs(Y) > 1))
    name = type(learner).__name__
    model = ks.KernelRegressor(learner=learner, scale=scale)
    with pytest.raises(DataError, match=rf"row {row} .*{name} has loss='{loss}'.*Ridge") as caught:
        model.fit(X, Y)
    assert (caught.value.array, caught.value.row) == ("y", row)
    with pytest.raises(DataError, match="KernelClassifier"):
        model.partial_fit(X, np.column_stack([np.sign(Y), Y]))
    assert np.isfinite(model.fit(X, np.sign(Y)).predict(X)).all()


@pytest.mark.parametrize("loss", ["hinge", "absolute", "half_squared", {"huber": 1.0}, "logistic"])
def test_a_classifier_picks_a_learner_that_has_the_loss(loss):
    labels = np.where(Y > 0, "up", "down")
    model = ks.KernelClassifier(loss=loss).fit(X, labels)
    assert np.mean(model.predict(X) == labels) > 0.9
    learner = model._chosen_learner()
    assert learner.loss_in_use() == loss
    curved = loss in ("half_squared", "logistic")
    kind = ks.GaussNewton if curved else ks.OnlineNewton
    assert isinstance(learner, kind)
    with pytest.raises(ValueError, match="GaussNewton cannot have loss='hinge'"):
        ks.KernelClassifier(learner=ks.GaussNewton(), loss="hinge").fit(X, labels)
    with pytest.raises(ValueError, match=r"loss must be one of .*'squared_hinge'.*'hing'$"):
        ks.KernelClassifier(loss="hing").fit(X, labels)


@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_interpolation_refuses_weights(weight):
    weights = np.ones(len(X))
    weights[7] = weight
    model = ks.KernelRegressor(basis=ks.NoisyPoints(0.1), learner=ks.Interpolation())
    with pytest.raises(DataError, match=f"row 7 is {weight:g}, but Interpolation.*Ridge") as caught:
        model.fit(X, Y, sample_weight=weights)
    assert caught.value.row == 7
    weights[7] = 0.0
    without = ks.KernelRegressor(basis=ks.NoisyPoints(0.1), learner=ks.Interpolation())
    kept = weights > 0
    np.testing.assert_allclose(
        model.set_params(scale=False).fit(X, Y, sample_weight=weights).predict(X),
        without.set_params(scale=False).fit(X[kept], Y[kept]).predict(X),
    )


@pytest.mark.parametrize("kind", [ks.KernelExperts, ks.KernelExpertsClassifier])
def test_experts_print_a_short_table(kind):
    wide = RANDOM.normal(size=(400, 40))
    targets = wide[:, 0] if kind is ks.KernelExperts else wide[:, 0] > 0
    model = kind(size=20).fit(wide, targets)
    text = repr(model.experts_)
    lines = text.splitlines()
    assert len(lines) == 1 + len(model.experts_)
    assert max(map(len, lines)) < 200
    assert {"kernel", "metric", "regularization", "weight"} <= set(lines[0].split())
    assert f"{model.weights_.max():.3f}" in text
    assert all(len(np.atleast_1d(expert["metric"])) for expert in model.experts_)


def test_given_experts_print_what_differs():
    experts = [ks.KernelRegressor(ks.Gaussian(b)) for b in (1.0, 2.0)]
    model = ks.KernelExperts(experts).fit(X, Y)
    assert "kernel__bandwidth" in repr(model.experts_).splitlines()[0]
    assert len(model.experts_) == 2


def test_pod_keeps_the_names_of_columns():
    frame = pd.DataFrame(RANDOM.normal(size=(60, 4)), columns=list("abcd"))
    pod = ks.POD(2).fit(frame)
    assert pod.feature_names_in_.tolist() == list("abcd")
    turned = frame[list("dcba")]
    for call in (pod.transform, pod.partial_fit):
        with pytest.raises(ValueError, match="feature names should match"):
            call(turned)
    np.testing.assert_array_equal(pod.transform(frame), pod.transform(frame.copy()))
    with pytest.warns(UserWarning, match="valid feature names"):
        pod.transform(frame.to_numpy())
    with pytest.raises(ValueError, match="feature names should match"):
        pod.transform(frame[list("abc")])
    again = pod.fit(frame.to_numpy())
    assert not hasattr(again, "feature_names_in_")
    with pytest.raises(ValueError, match="X has 3 features, but POD is expecting 4 features"):
        again.transform(frame.to_numpy()[:, :3])
    fields = ks.POD(2).fit(RANDOM.normal(size=(20, 3, 4)))
    assert fields.transform(RANDOM.normal(size=(2, 3, 4))).shape == (2, 2)
