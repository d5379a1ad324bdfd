"""Regressor or classifier, by the loss of the learner."""

from __future__ import annotations

from kernelstream.components.bases import Basis
from kernelstream.components.budget import BudgetedGradient
from kernelstream.components.kernels import Kernel
from kernelstream.components.learners import Gradient, OnlineNewton
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.regressor import KernelRegressor

__all__ = ["estimator_of"]

_OF_LABELS = ("hinge", "squared_hinge", "logistic")


def estimator_of(
    kernel: Kernel | None, basis: Basis | None, learner: Gradient | OnlineNewton | BudgetedGradient
) -> KernelRegressor | KernelClassifier:
    """Make the estimator for the loss of a learner.

    Parameters
    ----------
    kernel : Kernel or None
        Its kernel.
    basis : Basis or None
        Its basis.
    learner : Gradient, OnlineNewton or BudgetedGradient
        Its learner.

    Returns
    -------
    model : KernelRegressor or KernelClassifier
        A classifier for a loss of labels; rows are taken as they are, without scaling.
    """
    kind = KernelClassifier if learner.loss in _OF_LABELS else KernelRegressor
    return kind(kernel, basis, learner, scale=False)
