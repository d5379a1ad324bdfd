"""Tables that Rust wrote: Python reads them, predicts the same and continues learning.

`examples/table.rs` wrote them; `tests/rust/written_by_python.rs` is the other way round.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import kernelstream as ks

FOLDER = Path(__file__).parents[1] / "fixtures" / "tables"
EXPECTED = json.loads((FOLDER / "rust.json").read_text(encoding="utf-8"))
HOURS = np.arange(90, 102)
ROWS = {
    "watts": np.where(HOURS % 7 == 3, np.nan, 1e4 * (HOURS * 0.618 % 1.0)),
    "room": np.array(["hall", "attic", "café"])[HOURS // 3 % 3],
    "when": np.datetime64("2026-03-01T00:00") + HOURS.astype("timedelta64[h]"),
}


@pytest.mark.parametrize(
    ("name", "kind"), [("regressor", ks.KernelRegressor), ("classifier", ks.KernelClassifier)]
)
def test_rust_and_python_predict_the_same(name, kind, tmp_path):
    model = ks.load(FOLDER / f"rust_{name}.model")
    assert isinstance(model, kind)
    assert (model.n_seen_, list(model.feature_names_in_)) == (90, ["watts", "room", "when"])
    assert model.columns_ == {"watts": "number", "room": "category", "when": "time"}
    if name == "regressor":
        np.testing.assert_allclose(model.predict(ROWS), EXPECTED[name], rtol=0, atol=1e-12)
    else:
        assert model.predict(ROWS).tolist() == EXPECTED[name]
        assert model.classes_.tolist() == ["high", "low", "middle"]
    model.partial_fit(ROWS, EXPECTED[name])
    model.save(tmp_path / "model")
    again = kind.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(ROWS), model.predict(ROWS))
    assert again.n_seen_ == 102


@pytest.mark.filterwarnings("ignore:5:kernelstream.exceptions.RepeatedRowsWarning")
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (ks.KernelRegressor(ks.Matern32(), ks.AllPoints(20)), "numbers"),
        (ks.KernelRegressor(learner=ks.BudgetedGradient(10)), "numbers"),
        (ks.KernelExperts(mixture="fixed_share"), "numbers"),
        (ks.KernelClassifier(class_weight={"b": 2.0}), "labels"),
        (ks.KernelClassifier(class_weight="balanced", loss="logistic"), "labels"),
        (ks.KernelRegressor(missing="fill", n_warm_up=20), "numbers"),
        (ks.KernelClassifier(n_warm_up=20, scale=False), "labels"),
    ],
    ids=repr,
)
def test_a_core_alone_says_which_estimator_it_is(model, y, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)).round(1)
    targets = X[:, 0] if y == "numbers" else np.where(X[:, 0] > 0, "a", "b")
    model.fit(X, targets)
    model._core.save(str(tmp_path / "model"), "null")
    again = ks.load(tmp_path / "model")
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    for each in (model, again):
        each.partial_fit(X, targets)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again._core.spec == model._core.spec
