"""Regression by least squares as a Gaussian process: joint covariances, and draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["covariance_of", "draws_of"]


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
