"""Parameters and data at the ends of their ranges: numbers or a clear error, never a silent NaN."""

import itertools
import pickle
import re
from collections import Counter

import numpy as np
import pytest

import kernelstream as ks

KERNELS = [
    ks.Gaussian(1e-50),
    ks.Gaussian(1e50),
    ks.Gaussian(1.0),
    ks.Laplacian(1e-3),
    ks.Matern52(2.0),
    ks.Polynomial(20, 1.0, 1.0),
    ks.Polynomial(2),
    ks.Linear(),
    1e50 * ks.Gaussian(1.0),
    1e-50 * ks.Gaussian(1.0),
    1e-50 * ks.Linear(),
]
LEARNERS = [
    ks.Ridge(1e-50),
    ks.Ridge(1e50),
    ks.Ridge(0.0),
    ks.Ridge(1e-2, forgetting=0.01),
    ks.Ridge(1e-12, forgetting=0.5),
    ks.Ridge(1e-50, prediction="awv"),
    ks.OnlineNewton(1e-50),
    ks.OnlineNewton(1e50),
    ks.OnlineNewton(1.0, growth="restart"),
    ks.OnlineNewton(1.0, bound=1e-50),
    ks.OnlineNewton(1.0, curvature=1e50),
    ks.OnlineNewton(1.0, bound=1e50, target_bound=1e50),
    ks.OnlineNewton(1.0, sketch=1e-3),
    ks.Ridge(1e-50, history="exact"),
    ks.Ridge(1e50, history="reservoir", reservoir=5),
    ks.Gradient(),
    ks.Gradient(step=1e50, schedule="constant"),
    ks.Gradient(step=1e-50, schedule="constant"),
    ks.Gradient(radius=1e-50),
    ks.Gradient(radius=1e50),
]
BASES = [
    ks.ALD(1e-3),
    ks.ALD(0.0),
    ks.FirstPoints(5),
    ks.FirstPoints(5, rank=2),
    ks.Sketched(5, period=3),
    ks.KORS(1e-50),
    ks.KORS(1.0, oversampling=1e50),
]


def rows(kind):
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(60, 3))
    return {
        "plain": plain,
        "huge": 1e20 * plain,
        "tiny": 1e-200 * plain,
        "zero": np.zeros((60, 3)),
        "repeated": np.repeat(plain[:4], 15, axis=0),
        "far from the origin": 1e6 + plain,
    }[kind]


KINDS = ["plain", "huge", "tiny", "zero", "repeated", "far from the origin"]
SCALES = [1.0, 1e49, 1e-50, 0.0]
# A refusal names the row, what is wrong with it and, after the colon, what to do.
REFUSED = r"row \d+.*: \w+"


def covering(*factors):
    """Choices of one value from each factor, such that any two values of two factors meet in one.

    Greedy: each choice starts from a pair that has not met yet, and every further value is the one
    that meets most of the others for the first time.
    """
    pairs = {
        (place, other, i, j)
        for place, other in itertools.combinations(range(len(factors)), 2)
        for i in range(len(factors[place]))
        for j in range(len(factors[other]))
    }
    used = Counter()
    while pairs:
        place, other, i, j = min(pairs)
        chosen = {place: i, other: j}
        for free in sorted(set(range(len(factors))) - chosen.keys()):
            met = [
                sum(
                    ((free, at, k, value) if free < at else (at, free, value, k)) in pairs
                    for at, value in chosen.items()
                )
                for k in range(len(factors[free]))
            ]
            uses = [used[free, k] for k in range(len(met))]
            chosen[free] = max(range(len(met)), key=lambda k: (met[k], -uses[k]))
        row = [chosen[place] for place in range(len(factors))]
        used.update(enumerate(row))
        for place, other in itertools.combinations(range(len(factors)), 2):
            pairs.discard((place, other, row[place], row[other]))
        yield [values[i] for values, i in zip(factors, row, strict=True)]


def learns(kernel, basis, learner, kind, scale):
    """Whether the rows of this combination are learned; if not, they are refused in good order."""
    X = rows(kind)
    y = scale * np.random.default_rng(1).normal(size=len(X))
    model = ks.KernelRegressor(kernel, basis, learner, scale=False)
    try:
        model.partial_fit(X[:30], y[:30])
    except ValueError as error:
        assert re.search(REFUSED, str(error))
        assert not hasattr(model, "n_features_in_")
        return False
    assert model.n_seen_ == 30
    before = model._core.to_bytes()
    try:
        predicted = model.partial_fit_predict(X[30:], y[30:])
    except ValueError as error:
        assert re.search(REFUSED, str(error))
        assert model._core.to_bytes() == before
        learned = False
    else:
        assert np.isfinite(predicted).all()
        assert model.n_seen_ == len(X)
        learned = True
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.predict_one(X[0]))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    return learned


def test_any_two_choices_meet():
    factors = "abc", "de", "fgh", "ij"
    chosen = list(covering(*factors))
    for one, other in itertools.combinations(range(4), 2):
        met = {(row[one], row[other]) for row in chosen}
        assert met == set(itertools.product(factors[one], factors[other]))
    assert len(chosen) <= 12


def test_a_regressor_returns_numbers_or_raises_an_error_without_effect():
    factors = (KERNELS, BASES, LEARNERS, KINDS, SCALES)
    outcomes = [(row, learns(*row)) for row in covering(*factors)]
    assert len(outcomes) >= len(KERNELS) * len(LEARNERS)
    # Most of it is learned; what is refused is beyond double precision.
    assert sum(learned for _, learned in outcomes) > 0.85 * len(outcomes)
    for place, values in enumerate(factors):
        for value in values:
            of_value = [learned for row, learned in outcomes if row[place] is value]
            # Steps of 1e50 are for targets of 0 or 1e-50 alone.
            least = 0.2 if getattr(value, "step", None) == 1e50 else 0.5
            assert sum(of_value) >= least * len(of_value), value


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
def test_an_operator_gives_numbers_or_an_error():
    answered, learned = [], []
    for kernel, kind, *ridge in covering(KERNELS, KINDS, [1e-50, 1e-12, 1e50], [1.0, 0.5, 0.01]):
        X = rows(kind)
        model = ks.Koopman(kernel, ks.ALD(1e-3), ks.Ridge(*ridge))
        try:
            model.partial_fit(X[:-1], X[1:])
        except ValueError as error:
            assert re.search(REFUSED, str(error))
            assert not hasattr(model, "n_features_in_")
            learned.append(False)
            continue
        learned.append(True)
        pickle.loads(pickle.dumps(model))
        for ask in (
            lambda model=model: model.eigenvalues_,
            lambda model=model, X=X: model.predict(X[:3], n_steps=2),
            lambda model=model, X=X: model.eigenfunctions(X[:3], 1),
        ):
            try:
                answer = ask()
            except ValueError as error:
                assert "overflow" in str(error)
                answered.append(False)
            else:
                assert np.isfinite(answer).all()
                answered.append(True)
    assert sum(learned) > 0.8 * len(learned) > 50
    assert sum(answered) > 0.8 * len(answered)


def test_a_small_regularization_costs_no_digits():
    """The limit is approached to rounding, not until the prior cancels all digits."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1]

    def predictions(regularization):
        learner = ks.Ridge(regularization, center=False, clip=False)
        model = ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-2), learner, scale=False)
        return model.partial_fit_predict(X, y)

    limit = predictions(0.0)
    for regularization in (1e-14, 1e-20, 1e-50):
        np.testing.assert_allclose(predictions(regularization), limit, atol=1e-8)


@pytest.mark.parametrize("size", [1e160, 1e300, 1e306])
@pytest.mark.parametrize("form", ["one", "two", "gaps", "codes"])
def test_targets_too_large_are_refused_without_a_warning_of_overflow(size, form):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X[:, 0] * size
    if form == "two":
        y = np.column_stack([y, X[:, 1]])
    if form == "gaps":
        y = np.column_stack([y, np.where(np.arange(60) % 7, X[:, 1], np.nan)])
    if form == "codes":
        y[30] = -9999.0
    for model in (ks.KernelRegressor(), ks.KernelExperts()):
        with pytest.raises(ks.exceptions.DataError, match="row 0 is too large"):
            model.fit(X, y)
