"""Targets and weights that a learner cannot use, refused by its name."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream.components.learners import Interpolation, Learner
from kernelstream.estimators.validation import located_error

__all__ = ["refuse_numbers_for_labels", "refuse_weights_for_interpolation"]

_OF_LABELS = ("hinge", "squared_hinge", "logistic")


def refuse_numbers_for_labels(targets: NDArray[np.float64], learner: Learner) -> None:
    """Refuse targets beyond 1 and -1 where the loss is one of labels.

    Raises
    ------
    DataError
        The loss takes labels of 1 and -1, and a target is no such.
    """
    loss = learner.loss_in_use()
    if loss not in _OF_LABELS:
        return
    sizes = np.nan_to_num(np.abs(targets.reshape(len(targets), -1)))
    beyond = sizes.max(axis=1, initial=0.0) > 1.0
    if beyond.any():
        row, kind = int(np.argmax(beyond)), type(learner).__name__
        raise located_error(
            f"the target in row {row} is {targets[row]}, but {kind} has loss={loss!r}, which takes "
            f'labels of 1 and -1: for numbers pass {kind}(loss="squared") or Ridge(), for classes '
            "use KernelClassifier",
            "y",
            row,
        )


def refuse_weights_for_interpolation(sample_weight: ArrayLike, learner: Learner) -> None:
    """Refuse weights other than 0 and 1 where every row is met exactly.

    Raises
    ------
    DataError
        The learner is `Interpolation`, and a weight is neither 0 nor 1.
    """
    if not isinstance(learner, Interpolation):
        return
    weights = np.asarray(sample_weight, dtype=np.float64)
    other = ~np.isin(weights, (0.0, 1.0))
    if other.any():
        row = int(np.argmax(other))
        raise located_error(
            f"the weight in row {row} is {weights.ravel()[row]:g}, but Interpolation meets every "
            "row exactly and has no use for weights: Ridge() with AllPoints() learns the same "
            "function with weights",
            "sample_weight",
            row,
        )
