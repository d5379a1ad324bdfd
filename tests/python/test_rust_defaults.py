"""What a specification leaves out is, in Rust, what Python's constructors take for it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import kernelstream as ks
from kernelstream import _core
from kernelstream.components import bases, budget, kernels, learners
from modelbytes import unpack

# Defaults on short streams, some of which predict no better than the mean.
pytestmark = pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")

X = np.random.default_rng(0).normal(size=(30, 2))
NUMBERS, LABELS = X[:, 0], np.where(X[:, 0] > 0, "a", "b")
TWO = {"classes": ["a", "b"]}
# Sum and Mapped need kernels, Staged two learners.
SPELT_OUT = {"Kernel", "Mapped", "Sum"}
COMPONENTS = {
    "basis": [getattr(bases, name) for name in bases.__all__ if name != "Basis"],
    "kernel": [getattr(kernels, name) for name in kernels.__all__ if name not in SPELT_OUT],
    "learner": [
        *(
            getattr(learners, name)
            for name in learners.__all__
            if name not in ("Learner", "Staged")
        ),
        *(getattr(budget, name) for name in budget.__all__ if name != "BudgetLearner"),
    ],
}
# What does not go with the parts that there are otherwise.
TOGETHER = {learners.Interpolation: {"basis": {"type": "noisy_points"}}}


def specification(core):
    return unpack(bytes(core.to_bytes()))[0]["spec"]


@pytest.mark.parametrize(
    ("model", "targets", "short"),
    [
        (ks.KernelRegressor(scale=False), NUMBERS, {}),
        (ks.KernelClassifier(scale=False), LABELS, {"labels": TWO}),
        (
            ks.KernelClassifier(class_weight="balanced", scale=False),
            LABELS,
            {"labels": TWO | {"weights": "balanced"}},
        ),
        (ks.KernelRegressor(), NUMBERS, {"columns": {}}),
        (ks.KernelClassifier(), LABELS, {"columns": {}, "labels": TWO}),
    ],
)
def test_a_model_with_default_components(model, targets, short, tmp_path):
    model.fit(X, targets).save(tmp_path / "model")
    saved = unpack((tmp_path / "model").read_bytes())[0]["spec"]
    assert specification(_core.Regressor(json.dumps(short))) == saved


def test_an_operator_with_default_components(tmp_path):
    # With a kernel it takes states as they are, as in Rust where no choice is asked for.
    ks.Koopman(ks.Gaussian()).fit(X).save(tmp_path / "model")
    saved = unpack((tmp_path / "model").read_bytes())[0]["spec"]
    assert specification(_core.Koopman("{}")) == saved


@pytest.mark.parametrize(
    ("part", "component"), [(part, each) for part, known in COMPONENTS.items() for each in known]
)
def test_a_component_by_its_name_alone(part, component):
    full = component().to_spec()
    short = {"type": full["type"]}
    rest = TOGETHER.get(component, {})
    assert specification(_core.Regressor(json.dumps({part: short} | rest))) == specification(
        _core.Regressor(json.dumps({part: full} | rest))
    )


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        ({"basis": {"type": "ald", "tolerence": 1e-3}}, "basis: unknown field `tolerence`"),
        ({"kernel": {"type": "gausian"}}, "kernel.type: unknown variant `gausian`"),
        ({"lerner": {}}, "unknown field `lerner`"),
        (
            {"columns": {"named": [{"name": "a"}, {"name": "b", "kind": {"type": "day"}}]}},
            r"columns.named\[1\].kind.type: unknown variant `day`",
        ),
    ],
)
def test_an_error_names_its_place_in_the_specification(spec, place):
    with pytest.raises(ValueError, match=place):
        _core.Regressor(json.dumps(spec))
