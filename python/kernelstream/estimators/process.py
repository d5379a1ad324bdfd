"""Regression by least squares as a Gaussian process: joint covariances, and draws."""

from __future__ import annotations

import json
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kernelstream.components.kernels import Kernel

__all__ = ["covariance_of", "draws_of", "kernel_of", "regularization_of"]


def kernel_of(estimator: Any) -> Kernel | None:
    """Give the kernel that a single model compares features with; None of mixtures."""
    kernel = json.loads(estimator._core.learned_spec).get("kernel")
    return None if kernel is None else Kernel.from_spec(kernel)


def regularization_of(estimator: Any) -> float | None:
    """Give the regularization of a single model's learner; None if it has none."""
    learner = json.loads(estimator._core.learned_spec).get("learner", {})
    return cast("float | None", learner.get("regularization"))


def covariance_of(estimator: Any, rows: Any) -> NDArray[np.float64]:
    """Give the covariance of the targets of rows, noise included.

    Raises
    ------
    ValueError
        The learner does not know deviations.
    """
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    relative = estimator._core.posterior_covariance(dense)
    noise = np.square(np.atleast_1d(np.asarray(estimator.noise_, dtype=np.float64)))
    several: NDArray[np.float64] = relative[:, :, None] * noise
    return several[:, :, 0] if estimator._single else several


def draws_of(
    estimator: Any, rows: Any, n_samples: int, random_state: Any, *, noise: bool
) -> NDArray[np.float64]:
    """Give draws from the joint distribution of the targets of rows.

    Raises
    ------
    ValueError
        The learner does not know deviations.
    """
    covariance = covariance_of(estimator, rows)
    mean = estimator._predicted(rows)
    if estimator._single:
        covariance, mean = covariance[:, :, None], mean[:, None]
    if not noise:
        own = np.square(np.atleast_1d(np.asarray(estimator.noise_, dtype=np.float64)))
        covariance = covariance - np.eye(len(mean))[:, :, None] * own
    out = np.empty((*mean.shape, n_samples))
    for c in range(mean.shape[1]):
        values, vectors = np.linalg.eigh(covariance[:, :, c])
        # Rounding makes eigenvalues slightly negative.
        root = vectors * np.sqrt(np.clip(values, 0.0, None))
        out[:, c] = mean[:, c, None] + root @ random_state.standard_normal((len(mean), n_samples))
    return out[:, 0] if estimator._single else out
