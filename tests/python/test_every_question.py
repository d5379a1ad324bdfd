"""Every public attribute and method of every class, asked at every early age of a model."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

import kernelstream as ks
from kernelstream.koopman import ReducedRank, TotalLeastSquares

WIDTH = 2
ROWS = np.random.default_rng(0).normal(size=(30, WIDTH))
TARGETS = ROWS[:, 0] + 0.1 * ROWS[:, 1] ** 2
LABELS = np.where(TARGETS > 0, "high", "low")

# Parts of a model, which learn nothing by themselves, have none.
ARGUMENTS: dict[str, None] = {
    "FunctionKernel": None,
    "Replay": None,
    "Staged": None,
}
MORE = {
    "experts of experts": lambda: ks.KernelExperts([ks.KernelRegressor(), ks.KernelRegressor()]),
    "operator with delays": lambda: ks.Koopman(n_delays=3),
    "operator with sums": lambda: ks.Koopman(n_blocks=8),
    "operator of reduced rank": lambda: ks.Koopman(rank=ReducedRank(2), n_blocks=1),
    "operator by total least squares": lambda: ks.Koopman(ks.Linear(), rank=TotalLeastSquares(2)),
    "forecaster with delays": lambda: ks.Forecaster([1, 2], ks.Koopman(n_delays=2), period=4),
    "budget": lambda: ks.KernelRegressor(basis=None, learner=ks.BudgetedGradient(budget=5)),
    "features": lambda: ks.KernelRegressor(basis=ks.Fourier(10)),
    "exact": lambda: ks.KernelRegressor(basis=ks.NoisyPoints(), learner=ks.Interpolation()),
}


def classes():
    """Give a maker of each public class that learns."""
    found = {}
    for name in ks.__all__:
        kind = getattr(ks, name)
        learns = inspect.isclass(kind) and issubclass(kind, BaseEstimator)
        arguments = ARGUMENTS.get(name, tuple)
        if learns and hasattr(kind, "partial_fit") and arguments is not None:
            found[name] = lambda kind=kind, arguments=arguments: kind(*arguments())
    return found | MORE


MAKERS = classes()


def is_dynamic(model):
    return hasattr(type(model), "partial_fit_trajectory")


def learn(model, n, **more):
    """Learn n rows, or pairs."""
    if getattr(model, "n_delays", 0):
        model.partial_fit_trajectory(ROWS[: n + 4])
    elif is_dynamic(model):
        model.partial_fit(ROWS[:n], 0.9 * ROWS[:n])
    elif "y" not in inspect.signature(model.partial_fit).parameters or isinstance(model, ks.POD):
        model.partial_fit(ROWS[:n])
    elif "classes" in inspect.signature(model.partial_fit).parameters and (
        isinstance(model, ClassifierMixin)
    ):
        model.partial_fit(ROWS[:n], LABELS[:n], classes=["high", "low"], **more)
    else:
        model.partial_fit(ROWS[:n], TARGETS[:n], **more)


def no_rows(model):
    pass


def one_row(model):
    learn(model, 1)


def two_rows(model):
    learn(model, 2)


def few_rows(model):
    learn(model, 8)


def some_rows(model):
    learn(model, 30)


def without_weight(model):
    if "sample_weight" not in inspect.signature(model.partial_fit).parameters:
        pytest.skip("its rows have no weights")
    learn(model, 3, sample_weight=np.zeros(3))


def alike(model):
    if is_dynamic(model):
        model.partial_fit_trajectory(np.ones((20, WIDTH)))
    else:
        pytest.skip("it learns no pairs")


def trajectory(model):
    if not is_dynamic(model):
        pytest.skip("it learns no trajectories")
    model.partial_fit_trajectory(ROWS[:6])


AGES = [no_rows, one_row, two_rows, few_rows, some_rows, without_weight, alike, trajectory]

# Arguments by their names: rows, a row, what goes with them, sizes.
VALUES = {
    "X": ROWS[:3],
    "X_next": ROWS[1:4],
    "Y": ROWS[1:4],
    "y": TARGETS[:3],
    "x": ROWS[0],
    "x_next": ROWS[1],
    "T": ROWS[:6],
    "trajectory": ROWS[:6],
    "trajectories": [ROWS[:6]],
    "n_steps": 2,
    "k": 1,
    "n": 1,
    "lags": [1, 2],
    "coverage": 0.9,
    "f_values": TARGETS[:3],
    "values": TARGETS[:3],
    "observable": lambda states: states[:, :1],
    "deep": True,
}

# Not questions: what changes or replaces the model, or asks for more than a model.
NO_QUESTIONS = {"merge", "load"}


def arguments_of(question, model, folder):
    """Give values for the arguments without a default; None if one is unknown."""
    known = VALUES | {"path": folder / "model"}
    if isinstance(model, ClassifierMixin):
        known["y"] = LABELS[:3]
    if question.__name__ in ("learn_one", "predict_one_and_learn"):
        known["y"] = "high" if isinstance(model, ClassifierMixin) else TARGETS[0]
    if is_dynamic(model) and question.__name__ in ("learn_one", "partial_fit", "fit"):
        known["y"] = known["X_next"] if "X" in inspect.signature(question).parameters else ROWS[1]
    needed = [
        each
        for each in inspect.signature(question).parameters.values()
        if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
    ]
    if any(each.name not in known for each in needed):
        return None
    return [known[each.name] for each in needed]


def is_of_the_class(error, name):
    """Whether the class has no such attribute at any age."""
    return f"no attribute '{name}'" in str(error) and "_core" not in str(error)


@pytest.mark.parametrize("age", AGES)
@pytest.mark.parametrize("kind", MAKERS)
def test_every_query_has_a_result_or_raises_not_fitted(kind, age, tmp_path):
    def made():
        model = MAKERS[kind]()
        age(model)
        return model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = made()
        names = [name for name in dir(model) if not name.startswith("_")]
    failures = []
    for name in names:
        if name in NO_QUESTIONS or name.startswith("set_"):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            try:
                asked = getattr(model, name)
                if callable(asked):
                    # Calls that learn begin with a model of this age.
                    changing = any(part in name for part in ("fit", "learn", "flush", "improve"))
                    asked = getattr(made(), name) if changing else asked
                    values = arguments_of(asked, model, tmp_path)
                    answer = None if values is None else asked(*values)
                else:
                    answer = asked
                if name in ("predict", "feature_importances_", "gradient", "forecast", "novelty"):
                    numbers = np.asarray(answer)
                    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
                        failures.append(f"{name}: {numbers}")
            except (NotFittedError, ValueError):
                pass
            except ImportError as error:
                if "needs the package" not in str(error):
                    failures.append(f"{name}: {error}")
            except BaseException as error:  # noqa: BLE001  (a panic is no Exception)
                if not is_of_the_class(error, name):
                    failures.append(f"{name}: {type(error).__name__}: {str(error)[:150]}")
    assert not failures, "\n".join(failures)
