"""Model files that version 0.1.0 wrote still load, predict as they did, and go on learning.

`tests/fixtures/make_format1.py` says how they were made.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kernelstream as ks

FOLDER = Path(__file__).parents[1] / "fixtures" / "format1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
DATA = {name: np.array(values) for name, values in EXPECTED["data"].items()}
MODELS = EXPECTED["models"]
ASK, ASK_STATES = DATA["ASK"], DATA["ASK_STATES"]


def columns(X):
    return pd.DataFrame(X, columns=DATA["NAMES"])


def targets(about):
    if about["target"] == "column":
        return DATA["TWO"][:, :1]
    return DATA[about["target"]]


def costs_of(X):
    return np.abs(X[:, :1]) + np.array([0.1, 0.0, 0.1])


def learn_on(model, about):
    """Learn the other half of the rows."""
    rest = slice(int(DATA["HALF"]), None)
    X, states, acted = DATA["X"][rest], DATA["STATES"][rest], DATA["ACTED"][rest]
    match about["kind"]:
        case "regressor":
            model.partial_fit(columns(X) if about["named"] else X, targets(about)[rest])
        case "classifier":
            model.partial_fit(X, targets(about)[rest])
        case "table":
            model.partial_fit_predict(columns(X), targets(about)[rest])
        case "trajectory":
            model.partial_fit_trajectory(DATA["NEXT"][rest], continued=True)
        case "koopman" if model.n_inputs:
            model.partial_fit(states, acted, inputs=DATA["ACTIONS"][rest])
        case "koopman":
            model.partial_fit(states, DATA["NEXT"][rest])
        case "controller":
            ended = DATA["ENDED"][rest] if model.episodic else None
            model.learn(states, DATA["ACTIONS"][rest], acted, ended)
            model.improve(costs_of(model.states_))
            model.keep(0.5)


def ask(model, name):
    """What the model says now under a name in `expected.json`."""
    named = {"kept", "latest"}
    acting = {"inputs": DATA["ACTIONS"][: len(ASK)]} if getattr(model, "n_inputs", 0) else {}
    operator = isinstance(model, ks.Koopman)
    if name in named:
        return model.action_values(ASK_STATES, costs=costs_of(ASK_STATES), policy=name)
    if name == "predict" and operator:
        return model.predict(ASK_STATES, **acting)
    if name == "ahead":
        return model.predict(ASK_STATES, n_steps=3)
    if name == "moduli":
        return np.abs(model.eigenvalues_[:3])
    if name in {"n_seen", "n_stored", "n_pending", "best_score"}:
        return getattr(model, f"{name}_")
    knows_names = hasattr(model, "feature_names_in_") or hasattr(model, "features")
    return getattr(model, name)(columns(ASK) if knows_names else ASK)


def check(model, said, tolerance):
    for name, values in said.items():
        now, then = np.asarray(ask(model, name)), np.array(values)
        assert now.shape == then.shape, name
        if now.dtype.kind == "f":
            scale = np.abs(then).max()
            np.testing.assert_allclose(now, then, rtol=0, atol=tolerance * scale, err_msg=name)
        else:
            np.testing.assert_array_equal(now, then, err_msg=name)


def test_every_file_is_listed():
    assert {path.stem for path in FOLDER.glob("*.model")} == MODELS.keys()


@pytest.mark.parametrize("name", MODELS)
def test_a_file_of_format_1_loads_and_goes_on(name, tmp_path):
    about = MODELS[name]
    model = ks.load(FOLDER / f"{name}.model")
    check(model, about["saved"], 1e-12)
    # Saved by this version it is the same model.
    model.save(tmp_path / "model")
    again = ks.load(tmp_path / "model")
    for said in about["saved"]:
        np.testing.assert_array_equal(ask(again, said), ask(model, said))
    for each in (model, again):
        learn_on(each, about)
        check(each, about["resumed"], 1e-9)
