"""Classes stay shallow and their constructors short, so that a page says what an estimator does."""

from __future__ import annotations

import inspect

import pytest

import kernelstream as ks

ESTIMATORS = [
    ks.KernelRegressor,
    ks.KernelClassifier,
    ks.KernelExperts,
    ks.KernelExpertsClassifier,
    ks.Koopman,
    ks.Forecaster,
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_at_most_five_classes_of_ours_are_above_one_another(estimator):
    ours = [kind for kind in estimator.__mro__ if kind.__module__.startswith("kernelstream")]
    assert len(ours) <= 5, [kind.__name__ for kind in ours]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_estimators_have_at_most_twelve_parameters(estimator):
    assert len(inspect.signature(estimator).parameters) <= 12


def test_there_are_few_public_names():
    assert len(ks.__all__) <= 45
