"""The Chapman-Kolmogorov test: whether powers of the operator hold at longer lags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream.estimators.validation import whole_number
from kernelstream.koopman.queries import (
    Operator,
    constants_of,
    elapsed_of,
    embedded,
    span_of,
    states_of,
)
from kernelstream.koopman.trajectories import as_trajectories

__all__ = ["ChapmanKolmogorov", "chapman_kolmogorov"]

ComplexArray = NDArray[np.complex128]
FloatArray = NDArray[np.float64]

_BLOCKS = 20


@dataclass(frozen=True)
class ChapmanKolmogorov:
    """What eigenfunctions keep of themselves over several steps.

    Attributes
    ----------
    index : ndarray of int of shape (k,)
        Which of the eigenvalues these are.
    times : ndarray of shape (n_steps,)
        Times in units of ``time_step``.
    predicted : ndarray of complex of shape (n_steps, k)
        Powers of the eigenvalues.
    estimated : ndarray of complex of shape (n_steps, k)
        Regression of the eigenfunctions n steps later on themselves, from data.
    error : ndarray of shape (n_steps, k)
        Its standard error, from blocks of successive states.
    """

    index: NDArray[np.intp]
    times: FloatArray
    predicted: ComplexArray
    estimated: ComplexArray
    error: FloatArray

    @property
    def deviations(self) -> FloatArray:
        """Distances of prediction and estimate in standard errors; above 3 they disagree."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: FloatArray = np.abs(self.predicted - self.estimated) / self.error
        return ratio


def chapman_kolmogorov(
    model: Operator,
    T: ArrayLike | Sequence[ArrayLike],
    n_steps: int = 10,
    *,
    k: int = 3,
) -> ChapmanKolmogorov:
    """Test whether an operator holds for times longer than its lag.

    If the dynamics are Markovian in the states given, and an eigenfunction is a true one, then n
    steps multiply it by the n-th power of its eigenvalue. Here that power is compared with the
    regression of the eigenfunction n steps later on itself, which no model enters. Where they
    disagree, lengthen the lag, add what the states lack (for example delays), or store more.

    Parameters
    ----------
    model : fitted Koopman
        The operator, without inputs.
    T : array-like of shape (n_times, n_features), or several
        Trajectories, better ones that were not learned; longer than ``n_steps`` steps.
    n_steps : int, default=10
        Greatest number of steps of `lag` states each.
    k : int, default=3
        Number of eigenfunctions, beginning with the slowest; the constant one is left out, and the
        second of each conjugate pair.

    Returns
    -------
    result : ChapmanKolmogorov
        To be drawn by `plots.chapman_kolmogorov`.

    Raises
    ------
    NotFittedError
        Nothing has been learned yet.
    ValueError, TypeError
        A row is invalid (the message names it), or the trajectories are too short.

    References
    ----------
    J.-H. Prinz et al., "Markov models of molecular kinetics: generation and validation", Journal
    of Chemical Physics, 2011.

    Examples
    --------
    >>> import kernelstream as ks
    >>> from kernelstream.koopman import chapman_kolmogorov
    >>> data = ks.datasets.ornstein_uhlenbeck(5_000, random_state=0)
    >>> model = ks.presets.recursive_koopman(ks.Gaussian(1.0), 1e-2).fit(data.trajectories[0])
    >>> held_out = ks.datasets.ornstein_uhlenbeck(5_000, random_state=1).trajectories[0]
    >>> bool((chapman_kolmogorov(model, held_out, 4, k=1).deviations < 3).all())
    True
    """
    most, lag = whole_number("n_steps", n_steps), whole_number("lag", model.lag)
    given = [states_of(model, piece) for piece in as_trajectories(T)]
    pieces = [embedded(model, piece) for piece in given if len(piece) > span_of(model)]
    values = model.eigenvalues_
    others = np.setdiff1d(np.flatnonzero(values.imag >= 0.0), constants_of(model))
    chosen = others[: whole_number("k", k)]
    longest = max(map(len, pieces), default=0)
    if longest <= most * lag:
        raise ValueError(
            f"{most} steps of {lag} states need a trajectory longer than "
            f"{most * lag + span_of(model)} states, but the longest has "
            f"{max(map(len, given))}: lower n_steps"
        )
    functions = [
        np.asarray(model._core.eigenfunctions(piece, int(chosen.max(initial=-1)) + 1))[:, chosen]
        for piece in pieces
    ]
    estimated = np.empty((most, len(chosen)), dtype=np.complex128)
    error = np.empty((most, len(chosen)))
    for n in range(1, most + 1):
        shift = n * lag
        long = [f for f in functions if len(f) > shift]
        now, later = (
            np.concatenate([f[a:b] for f in long]) for a, b in ((0, -shift), (shift, None))
        )
        estimated[n - 1], error[n - 1] = _regression(now, later)
    powers = np.arange(1.0, most + 1.0)
    return ChapmanKolmogorov(
        chosen, powers * elapsed_of(model), values[chosen] ** powers[:, None], estimated, error
    )


def _regression(now: ComplexArray, later: ComplexArray) -> tuple[ComplexArray, FloatArray]:
    """Regress columns on columns; standard errors by leaving out blocks of rows (jackknife)."""
    starts = np.unique(np.linspace(0, len(now), _BLOCKS, endpoint=False, dtype=np.int64))
    products = np.add.reduceat(np.conj(now) * later, starts, axis=0)
    squares = np.add.reduceat(np.abs(now) ** 2, starts, axis=0)
    rest = squares.sum(axis=0) - squares
    count = len(starts)
    # NaN where nothing is left: the value of a function that is zero everywhere, and the error of
    # a single block or of a function that is zero outside one.
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = products.sum(axis=0) / squares.sum(axis=0)
        without = (products.sum(axis=0) - products) / np.where(rest > 0.0, rest, np.nan)
        spread = np.abs(without - without.mean(axis=0)) ** 2
    error: FloatArray = np.sqrt((count - 1) / count * spread.sum(axis=0))
    return whole, error
