"""Rates from pairs of states whose gaps in time are not all alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kernelstream.estimators.validation import as_float64
from kernelstream.koopman.queries import ComplexArray

__all__ = ["rates_of_gaps"]

# Gaps are summarized by the means of this many groups of equal size.
_GROUPS = 2000
# Steps from a constant gap to the given ones, and of Newton's method in each.
_STEPS, _TURNS = 20, 8
_EXACT = 1e-8


def rates_of_gaps(values: ComplexArray, gaps: ArrayLike) -> tuple[ComplexArray, ComplexArray]:
    """Find the rates whose factors, averaged over gaps, are given eigenvalues.

    Over a gap that does not depend on the state, an eigenfunction of rate r is on average
    multiplied by ``mean(exp(r * gaps))``, so that this is the eigenvalue that pairs with such gaps
    have. It is solved for r by Newton's method, along a path that begins with all gaps at their
    mean.

    Raises
    ------
    ValueError
        A gap is not a positive number, or there is none.
    """
    given = np.sort(as_float64(np.asarray(gaps), "gaps").ravel())
    if not len(given) or given[0] <= 0.0 or not np.isfinite(given[-1]):
        raise ValueError("gaps must be positive numbers, and there must be at least one")
    groups = np.array_split(given, min(len(given), _GROUPS))
    weights = np.array([len(group) / len(given) for group in groups])
    means = np.array([group.mean() for group in groups])
    mean = float(given.mean())
    slopes = np.ones_like(values)
    with np.errstate(all="ignore"):
        rates = (np.log(np.abs(values)) + 1j * np.angle(values)) / mean
        for step in range(_STEPS + 1):
            at = mean + step / _STEPS * (means - mean)
            for _ in range(_TURNS):
                factors = weights * np.exp(np.multiply.outer(rates, at))
                slopes = factors @ at
                rates = rates - (factors.sum(axis=1) - values) / slopes
        reached = weights @ np.exp(np.multiply.outer(rates, means)).T
        missed = ~(np.abs(reached - values) < _EXACT)
    rates[missed] = np.nan
    return rates, slopes
