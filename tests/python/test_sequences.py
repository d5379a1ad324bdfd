"""Any sequence of accepted calls is saved and loaded, and continues to the same bits.

A refused call changes nothing. `KERNELSTREAM_SEQUENCES=1000` runs as many sequences of each model.
"""

from __future__ import annotations

import copy
import os
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sklearn.base import clone

import kernelstream as ks
from kernelstream.koopman import ReducedRank, TotalLeastSquares

WIDTH, FEW = 2, 6
SEQUENCES = int(os.environ.get("KERNELSTREAM_SEQUENCES", FEW))
KINDS = [
    *("noise", "constant", "stuck", "periodic", "many scales", "falling", "rare", "large"),
    *("rising", "shifted"),
]
BAD = [np.nan, np.inf, -np.inf]

MODELS = {
    "plain": lambda: ks.KernelRegressor(basis=ks.ALD(1e-2, max_size=8)),
    "forgetting": lambda: ks.KernelRegressor(
        basis=ks.ALD(1e-2, max_size=8), learner=ks.Ridge(1e-3, forgetting=0.95)
    ),
    "chosen by the evidence": lambda: ks.KernelRegressor(
        basis=ks.ALD(1e-2, max_size=8), learner=ks.Ridge("evidence"), n_warm_up=20
    ),
    "features": lambda: ks.KernelRegressor(basis=ks.Fourier(8), learner=ks.Gradient()),
    "sketched": lambda: ks.KernelRegressor(basis=ks.Sketched(8)),
    "budget": lambda: ks.KernelRegressor(learner=ks.BudgetedGradient(budget=5)),
    "unscaled": lambda: ks.KernelRegressor(basis=ks.ALD(1e-2, max_size=8), scale=False),
    "chosen experts": lambda: ks.KernelExperts(size=10),
    "experts": lambda: ks.KernelExperts([ks.KernelRegressor(), ks.KernelRegressor()]),
    "classifier": lambda: ks.KernelClassifier(basis=ks.ALD(1e-2, max_size=8)),
    "classifying experts": lambda: ks.KernelExpertsClassifier(size=10),
    "operator": lambda: ks.Koopman(basis=ks.ALD(1e-3, max_size=8)),
    "operator with delays": lambda: ks.Koopman(basis=ks.ALD(1e-3, max_size=8), n_delays=2),
    "operator with sums": lambda: ks.Koopman(
        basis=ks.ALD(1e-3, max_size=8), learner=ks.Ridge(1e-2, forgetting=0.95), n_blocks=8
    ),
    "operator of reduced rank": lambda: ks.Koopman(
        basis=ks.ALD(1e-3, max_size=8), rank=ReducedRank(2), n_blocks=1
    ),
    "operator by total least squares": lambda: ks.Koopman(
        ks.Linear(), ks.ALD(1e-6, max_size=8), rank=TotalLeastSquares(1)
    ),
    "forecaster": lambda: ks.Forecaster([1, 3], period=4),
    "forecaster without candidates": lambda: ks.Forecaster([2], candidates=False),
    "forecaster that finds its season": lambda: ks.Forecaster([1, 12]),
    "rescaled": lambda: ks.KernelRegressor(basis=ks.ALD(1e-2, max_size=8), n_warm_up=8),
    "rescaled classifier": lambda: ks.KernelClassifier(
        basis=ks.ALD(1e-2, max_size=8), loss="logistic", class_weight="balanced", n_warm_up=8
    ),
    "logistic, forgetting classifier": lambda: ks.KernelClassifier(
        basis=ks.ALD(1e-2, max_size=8), learner=ks.GaussNewton(loss="logistic", forgetting=0.9)
    ),
    "table": lambda: ks.KernelRegressor(
        basis=ks.ALD(1e-2, max_size=8), missing="fill", n_warm_up=16
    ),
    "table of experts": lambda: ks.KernelExperts(
        [ks.KernelRegressor(), ks.KernelRegressor()], missing="fill", n_warm_up=16
    ),
}


def numbers(kind, n, start, rng):
    """Give numbers of a kind, those of the rows from `start` on."""
    steps = np.arange(start, start + n)
    return {
        "noise": rng.normal(size=n),
        "constant": np.full(n, 300.0),
        "stuck": np.where(steps % 40 < 10, rng.normal(size=n), 0.5),
        "periodic": np.sin(2.0 * np.pi * steps / 4.0),
        "many scales": np.resize([0.0, 1e-160, 1.0], n),
        "falling": 10.0 ** -(steps % 140.0),
        "rare": (rng.random(n) < 0.05) * 1.0,
        "large": 1e12 * rng.normal(size=n),
        "rising": steps * 1.0,
        "shifted": rng.normal(size=n) + 1e3 * (steps > 50),
    }[kind]


class Calls(RuleBasedStateMachine):
    """Calls on a model, and the bytes of its file."""

    name = "plain"

    @initialize(seed=st.integers(0, 10**6))
    def begin(self, seed):
        """Make the model, which has learned nothing."""
        warnings.simplefilter("ignore")
        self.rng, self.rows = np.random.default_rng(seed), 0
        self.model = MODELS[self.name]()
        self.dynamic = isinstance(self.model, ks.Koopman | ks.Forecaster)
        self.labels = "lassif" in self.name

    def bytes(self, model=None):
        """Give what a file of the model holds."""
        model = self.model if model is None else model
        return model._core.to_bytes() if hasattr(model, "_core") else b""

    def targets(self, kind, n):
        """Give targets; labels where there are classes."""
        y = numbers(kind, n, self.rows, self.rng)
        return np.where(y > 0.2, "high", "low") if self.labels else y

    def states(self, kind, n):
        """Give rows."""
        columns = [numbers(kind, n, self.rows + shift, self.rng) for shift in range(WIDTH)]
        if "table" not in self.name:
            return np.stack(columns, axis=1)
        # Gaps, categories that come later than others, and columns in either order.
        gaps = np.where(self.rng.random(n) < 0.1, np.nan, columns[0])
        seen = self.rng.integers(1 + self.rows // 20, size=n)
        table = {"number": gaps, "category": np.array([f"level {level}" for level in seen])}
        return dict(reversed(table.items())) if self.rows % 2 else table

    def learn(self, model, X, y, weights=None):
        """Learn rows, or a trajectory."""
        if isinstance(model, ks.Forecaster):
            model.partial_fit(X)
        elif self.dynamic:
            model.partial_fit_trajectory(X)
        elif self.labels:
            model.partial_fit(X, y, classes=["high", "low"], sample_weight=weights)
        else:
            model.partial_fit(X, y, sample_weight=weights)

    @rule(
        kind=st.sampled_from(KINDS),
        of_targets=st.sampled_from(KINDS),
        n=st.integers(1, 60),
        weights=st.sampled_from([None, 0.0, 1.0, 100.0, 1e-12, 1e18]),
    )
    def rows_are_learned(self, kind, of_targets, n, weights):
        """The model and one that was read back learn the same."""
        X, y = self.states(kind, n), self.targets(of_targets, n)
        given = None if weights is None or self.dynamic else np.full(n, weights)
        before, again = self.bytes(), pickle.loads(pickle.dumps(self.model))
        try:
            self.learn(self.model, X, y, given)
        except ValueError:
            assert self.bytes() == before
            return
        self.rows += n
        self.learn(again, X, y, given)
        assert self.bytes(again) == self.bytes()

    @rule(kind=st.sampled_from(KINDS), bad=st.sampled_from(BAD), n=st.integers(1, 30))
    def a_bad_row_is_refused(self, kind, bad, n):
        """A refused call changes nothing."""
        X, y = self.states(kind, n), self.targets(kind, n)
        if "table" in self.name:
            # There a gap is none that is refused.
            bad, X["number"][n - 1] = np.inf, np.inf
        else:
            X[n - 1, 0] = bad
        before = self.bytes()
        with pytest.raises(ValueError, match=r"(?i)nan|inf"):
            self.learn(self.model, X, y)
        assert self.bytes() == before

    @rule()
    def it_is_asked(self):
        """Questions change nothing, and answers are numbers."""
        before = self.bytes()
        if not before or not self.rows:
            return
        try:
            if isinstance(self.model, ks.Forecaster):
                answer = self.model.forecast()
            else:
                answer = self.model.predict(self.states("noise", 3))
        except ValueError:
            answer = np.zeros(1)
        assert self.bytes() == before
        assert answer.dtype.kind != "f" or np.isfinite(answer).all()

    @rule(how=st.sampled_from(["copy", "deep copy", "clone", "parameters", "merge", "freeze"]))
    def it_is_copied_or_changed(self, how):
        """A copy, or a model with other parameters, continues; a refused merge changes nothing."""
        if how == "copy":
            self.model = copy.copy(self.model)
        elif how == "deep copy":
            self.model = copy.deepcopy(self.model)
        elif how == "clone":
            assert not self.bytes(clone(self.model))
        elif how == "parameters" and "n_warm_up" in self.model.get_params(deep=False):
            self.model.set_params(n_warm_up=int(self.rng.integers(1, 30)))
        elif how in ("merge", "freeze") and hasattr(self.model, "merge") and self.rows:
            before = self.bytes()
            try:
                if how == "merge":
                    self.model.merge(copy.deepcopy(self.model))
                else:
                    self.model.freeze_dictionary()
            except (ValueError, TypeError):
                assert self.bytes() == before

    @invariant()
    def it_can_be_read_back(self):
        """The file loads, and holds the same."""
        again = pickle.loads(pickle.dumps(self.model))
        assert self.bytes(again) == self.bytes()


@pytest.mark.parametrize("name", MODELS)
def test_any_sequence_of_calls_is_read_back_and_refused_calls_leave_no_trace(name):
    machine = type(Calls.__name__, (Calls,), {"name": name})
    case = machine.TestCase
    case.settings = settings(
        max_examples=SEQUENCES,
        stateful_step_count=10,
        deadline=None,
        derandomize=SEQUENCES == FEW,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    case("runTest").runTest()
