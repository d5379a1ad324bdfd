"""How sure predictions are: standard deviations, and intervals whose coverage holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bounds", "Prequential", "checked_bounds", "checked_coverage"]

# The range of possible targets.
Bounds = tuple[float | None, float | None]


class Prequential:
    """Outputs for rows before each is learned, besides predictions."""

    deviations: NDArray[np.float64] | None = None
    intervals: tuple[float, NDArray[np.float64]] | None = None
    probabilities: NDArray[np.float64] | None = None

    def __init__(
        self, *, std: bool = False, coverage: float | None = None, probabilities: bool = False
    ) -> None:
        self._std, self._coverage, self._probabilities = std, coverage, probabilities

    def begin(self, shape: tuple[int, ...], n_classes: int = 0) -> None:
        """Allocate this number of rows and outputs."""
        if self._std:
            self.deviations = np.empty(shape)
        if self._coverage is not None:
            self.intervals = (checked_coverage(self._coverage), np.empty((*shape, 2)))
        if self._probabilities:
            self.probabilities = np.empty((shape[0], n_classes))

    def alike(self) -> Prequential:
        """Give another one with the same outputs, for other rows."""
        return Prequential(
            std=self._std, coverage=self._coverage, probabilities=self._probabilities
        )

    def join(self, parts: Sequence[Prequential]) -> None:
        """Concatenate the outputs for several parts of the rows."""
        every = cast("Sequence[Any]", parts)
        if self._std:
            self.deviations = np.concatenate([part.deviations for part in every])
        if self._coverage is not None:
            ends = np.concatenate([part.intervals[1] for part in every])
            self.intervals = (self._coverage, ends)
        if self._probabilities:
            self.probabilities = np.concatenate([part.probabilities for part in every])


def checked_coverage(coverage: float) -> float:
    """Check that a coverage is between 0 and 1.

    Raises
    ------
    ValueError, TypeError
        It is not a number above 0 and below 1.
    """
    if isinstance(coverage, bool) or not isinstance(coverage, int | float | np.number):
        raise TypeError(f"coverage must be a number above 0 and below 1, got {coverage!r}")
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage must be above 0 and below 1, got {coverage}")
    return float(coverage)


def checked_bounds(bounds: Bounds | None) -> tuple[float, float]:
    """Check the range of possible targets.

    Parameters
    ----------
    bounds : (float or None, float or None), optional
        Its lower and upper end; None: no end.

    Returns
    -------
    lower, upper : float
        The ends, infinite where there is none.

    Raises
    ------
    ValueError, TypeError
        It is no pair, or the lower end is not below the upper one.
    """
    if bounds is None:
        return -np.inf, np.inf
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise TypeError(
            f"bounds must be a lower and an upper end, such as (0, None), got {bounds!r}"
        )
    for end in bounds:
        is_number = isinstance(end, int | float | np.number) and not isinstance(end, bool)
        if end is not None and not is_number:
            raise TypeError(f"each of the bounds must be a number or None, got {end!r}")
    lower, upper = bounds
    ends = (-np.inf if lower is None else float(lower), np.inf if upper is None else float(upper))
    if not ends[0] < ends[1]:
        raise ValueError(f"the lower of the bounds must be below the upper one, got {bounds}")
    return ends
