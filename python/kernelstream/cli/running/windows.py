"""Recent error, and whether it rises."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Drift", "Window"]


class Window:
    """The losses of the last rows.

    Attributes
    ----------
    n_rows : int
        Rows counted so far, in the window or before it.
    """

    def __init__(self, size: int, width: int) -> None:
        self.size = size
        self.n_rows = 0
        self._losses = np.zeros((size, width))

    def add(self, losses: NDArray[np.float64]) -> None:
        """Count some more rows; NaN for a loss that is not known."""
        last = losses[-self.size :]
        places = np.arange(self.n_rows + len(losses) - len(last), self.n_rows + len(losses))
        self._losses[places % self.size] = last
        self.n_rows += len(losses)

    @property
    def is_full(self) -> bool:
        """Whether as many rows were counted as it holds."""
        return self.n_rows >= self.size

    @property
    def losses(self) -> NDArray[np.float64]:
        """The losses of the last rows, in no particular order."""
        return self._losses[: min(self.n_rows, self.size)]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Their means; NaN before a row."""
        if not self.n_rows:
            return np.full(self._losses.shape[1], np.nan)
        known = ~np.isnan(self.losses)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(known, self.losses, 0.0).sum(axis=0) / known.sum(axis=0))


class Drift:
    """Whether recent losses are clearly higher than before."""

    _SIGMAS = 5.0  # beyond chance among many windows

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self._best: NDArray[np.float64] | None = None
        self._looked = 0

    def rises(self, window: Window, least: NDArray[np.float64]) -> bool:
        """Look at a window, now and then."""
        if not window.is_full or window.n_rows - self._looked < window.size // 10:
            return False
        self._looked = window.n_rows
        mean = window.mean
        if self._best is None:
            self._best = mean
        self._best = np.fmin(self._best, mean)
        # Losses relative to the largest: their squares may overflow.
        unit = np.fmax(np.nanmax(window.losses, axis=0), np.finfo(float).tiny)
        known = np.isfinite(mean).all()
        spread = np.nanstd(window.losses / unit, axis=0) * unit if known else np.inf
        chance = self._SIGMAS * spread / np.sqrt(window.size)
        before = np.maximum(self._best, least)
        return bool(np.any((mean > self._factor * before) & (mean - before > chance)))
