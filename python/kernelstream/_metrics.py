"""The error of a stream of forecasts, kept as the rows pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RunningError"]


class RunningError:
    """Squared errors of forecasts made before each target was known, next to two yardsticks.

    The yardsticks are the mean of the targets before each row (what a forecaster without features
    would say) and the spread of the targets. The very first row, which nothing can forecast, does
    not count.

    Parameters
    ----------
    n_targets : int
        Number of targets, 1 or more.

    Attributes
    ----------
    n_rows : int
        Rows counted.
    """

    def __init__(self, n_targets: int) -> None:
        self._seen = 0
        self._mean = np.zeros(n_targets)
        self._spread = np.zeros(n_targets)  # sum of squared deviations from the mean
        self._model = np.zeros(n_targets)
        self._baseline = np.zeros(n_targets)

    @property
    def n_rows(self) -> int:
        """Rows counted."""
        return max(self._seen - 1, 0)

    def update(self, targets: NDArray[Any], forecasts: NDArray[Any]) -> None:
        """Count some more rows.

        Parameters
        ----------
        targets, forecasts : ndarray of shape (n, n_targets)
            What came, and what was said before it came.
        """
        if len(targets) == 0:
            return
        first = int(self._seen == 0)
        counts = np.arange(self._seen + 1, self._seen + len(targets) + 1)[:, None]
        # Sums around a fixed point near the data keep their digits.
        anchor = self._mean if self._seen else targets[0]
        sums = (self._mean - anchor) * self._seen + np.cumsum(targets - anchor, axis=0)
        means = anchor + sums / counts
        before = np.vstack([self._mean, means[:-1]])
        self._baseline += np.square(targets[first:] - before[first:]).sum(axis=0)
        self._spread += ((targets - before) * (targets - means)).sum(axis=0)
        self._model += np.square(targets[first:] - forecasts[first:]).sum(axis=0)
        self._mean = means[-1]
        self._seen += len(targets)

    @property
    def rmse(self) -> NDArray[np.float64]:
        """Root mean squared error for each target, in its units."""
        return np.sqrt(self._model / max(self.n_rows, 1))

    @property
    def baseline_rmse(self) -> NDArray[np.float64]:
        """The same for the running mean."""
        return np.sqrt(self._baseline / max(self.n_rows, 1))

    @property
    def r2(self) -> NDArray[np.float64]:
        """Share of each target's variance that is explained, at most 1; NaN without variance."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self._spread > 0, 1.0 - self._model / self._spread, np.nan)
