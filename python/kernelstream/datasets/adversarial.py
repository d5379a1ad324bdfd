"""Streams that are not drawn at random: ordered, drifting, flipped, and chosen by an adversary.

Guarantees of online learning hold on any sequence; these are sequences that show it. All of them
give the same rows for the same ``random_state``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelstream.estimators.validation import whole_number

__all__ = ["Game", "block_flips", "drifting", "greedy_adversary", "sorted_stream"]

FloatArray: TypeAlias = NDArray[np.float64]
RandomState: TypeAlias = int | np.random.Generator | None
Similarity: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
Forecaster: TypeAlias = Callable[[FloatArray], ArrayLike]
Learner: TypeAlias = Callable[[FloatArray, float], object]


def sorted_stream(
    X: ArrayLike, y: ArrayLike, by: int | ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    """Put rows in ascending order, so that the stream wanders through its own range once.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The rows.
    y : array of shape (n_rows,)
        Their targets.
    by : int or array of shape (n_rows,), optional
        What to sort by: a feature, by its column (negative ones count from the end), or one number
        for each row. None: the target.

    Returns
    -------
    X, y : ndarray
        The same rows and targets in order; equal ones stay in the order they had.
    """
    rows, targets = _rows_and_targets(X, y)
    if by is None:
        key = targets
    elif isinstance(by, int | np.integer) and not isinstance(by, bool):
        if not -rows.shape[1] <= by < rows.shape[1]:
            raise ValueError(f"by={by} must be a column of X, which has {rows.shape[1]}")
        key = rows[:, by]
    else:
        key = np.asarray(by, dtype=np.float64)
        if key.shape != targets.shape:
            raise ValueError(f"by has shape {key.shape}; it must be a column or ({len(targets)},)")
    order = np.argsort(key, kind="stable")
    return rows[order], targets[order]


def block_flips(
    X: ArrayLike,
    y: ArrayLike,
    n_blocks: int = 500,
    n_repeats: int = 10,
    *,
    center: float = 0.0,
    random_state: RandomState = None,
) -> tuple[FloatArray, FloatArray]:
    """Repeat rows drawn from a table, block by block, with the target flipped in every other block.

    What was learned in one block is wrong in the next: a learner that holds on to it pays again and
    again.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The table.
    y : array of shape (n_rows,)
        Its targets; labels are -1 and 1.
    n_blocks : int, default=500
        Number of blocks, at least 1. Each draws one row, with replacement.
    n_repeats : int, default=10
        How often the row comes, at least 1.
    center : float, default=0.0
        What the targets of the second, fourth, ... block are mirrored at: y becomes
        ``2 center - y``. 0 flips the sign.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or source of randomness.

    Returns
    -------
    X : ndarray of shape (n_blocks * n_repeats, n_features)
        The rows.
    y : ndarray of shape (n_blocks * n_repeats,)
        The targets.

    References
    ----------
    D. Wen et al., "Fast online kernel learning by incremental sketching" (FORKS), section 5.2: 500
    blocks of 10 and of 20.
    """
    rows, targets = _rows_and_targets(X, y)
    whole_number("n_blocks", n_blocks)
    whole_number("n_repeats", n_repeats)
    drawn = np.random.default_rng(random_state).integers(len(rows), size=n_blocks)
    chosen = targets[drawn]
    chosen[1::2] = 2.0 * center - chosen[1::2]
    return np.repeat(rows[drawn], n_repeats, axis=0), np.repeat(chosen, n_repeats)


def drifting(
    n_rows: int,
    n_features: int = 2,
    *,
    period: float = 2000.0,
    noise: float = 0.05,
    random_state: RandomState = None,
) -> tuple[FloatArray, FloatArray]:
    """Draw rows whose target's direction turns steadily: what is true now is wrong later.

    Rows are uniform in [-1, 1]^n_features and ``y = sin(pi (x1 cos a + x2 sin a)) + noise`` with
    the angle ``a = 2 pi t / period`` in row t. With one feature the wave travels instead: ``y =
    sin(pi x1 + a)``.

    Parameters
    ----------
    n_rows : int
        Number of rows, at least 1.
    n_features : int, default=2
        Number of features, at least 1; those beyond the second say nothing about the target.
    period : float, default=2000.0
        Rows in a full turn, above 0.
    noise : float, default=0.05
        Standard deviation of what is added to the target, 0 or more.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or source of randomness.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
        The rows, in the order of time.
    y : ndarray of shape (n_rows,)
        The targets.
    """
    whole_number("n_rows", n_rows)
    whole_number("n_features", n_features)
    _check_number("period", period, period > 0.0, "above 0")
    _check_number("noise", noise, noise >= 0.0, "0 or more")
    rng = np.random.default_rng(random_state)
    rows = rng.uniform(-1.0, 1.0, size=(n_rows, n_features))
    angle = 2.0 * np.pi * np.arange(n_rows) / period
    if n_features == 1:
        phase = np.pi * rows[:, 0] + angle
    else:
        phase = np.pi * (rows[:, 0] * np.cos(angle) + rows[:, 1] * np.sin(angle))
    targets: FloatArray = np.sin(phase) + noise * rng.standard_normal(n_rows)
    return rows, targets


@dataclass(frozen=True)
class Game:
    """What a learner and an adversary played.

    Attributes
    ----------
    X : ndarray of shape (n_rounds, n_features)
        The rows that the adversary chose.
    y : ndarray of shape (n_rounds,)
        Its targets, all -1 or 1.
    forecasts : ndarray of shape (n_rounds,)
        What the learner forecast before it saw them.
    regret : ndarray of shape (n_rounds,)
        Squared error so far less the smallest that any function of the kernel's space has, with
        ``regularization`` times its squared norm added.
    """

    X: FloatArray
    y: FloatArray
    forecasts: FloatArray
    regret: FloatArray


def greedy_adversary(
    forecast: Forecaster,
    learn: Learner,
    similarity: Similarity,
    n_rounds: int = 80,
    n_features: int = 5,
    *,
    regularization: float = 1.0,
    n_candidates: int = 256,
    n_refinements: int = 4,
    random_state: RandomState = None,
) -> Game:
    """Play against a learner, taking in each round the row and target that raise its regret most.

    Rows are in [-1, 1]^n_features and targets in [-1, 1]. The regret of the learner against the
    best function in hindsight, ``min_f sum (y - f(x))^2 + regularization |f|^2``, grows in a round
    by ``(y - forecast)^2 - (y - ridge)^2 / (1 + q)``, where `ridge` is the forecast of kernel ridge
    regression on the rounds before and ``q = [k(x, x) - k^T (K + lambda I)^-1 k] / lambda``. In y
    this is a convex parabola, so the worst target is -1 or 1, whichever is worse; the worst row is
    searched among random ones, then around the best found, ever closer.

    Parameters
    ----------
    forecast : callable
        From rows (n, n_features) to the learner's forecasts (n,) as it stands. It is not called
        before the first row was learned: until then all forecasts are 0.
    learn : callable
        Makes the learner learn one row (n_features,) and its target, a float.
    similarity : callable
        The kernel: from points (n, d) and (m, d) to their similarities (n, m).
    n_rounds : int, default=80
        How many rounds, at least 1. Round t costs t^2 for each of the rows looked at.
    n_features : int, default=5
        Features of a row, at least 1.
    regularization : float, default=1.0
        Weight of the squared norm in the hindsight that the learner is compared with, above 0.
    n_candidates : int, default=256
        Rows looked at in each search, at least 1.
    n_refinements : int, default=4
        Searches around the best row found, each a third as wide as the one before, 0 or more.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or source of randomness.

    Returns
    -------
    Game
        Rows, targets, forecasts and regret of the rounds.

    References
    ----------
    R. Jezequel, P. Gaillard, A. Rudi, "Efficient online learning with kernels for adversarial large
    scale problems", NeurIPS 2019, figure 3 (with scipy's optimiser over rows and targets).

    Examples
    --------
    >>> import kernelstream as ks
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> model = ks.presets.kernel_awv(ks.Gaussian(1.0))
    >>> game = greedy_adversary(
    ...     model.predict, model.learn_one, RBF(1.0), n_rounds=10, random_state=0
    ... )
    >>> game.X.shape
    (10, 5)
    """
    for name, count in (("n_rounds", n_rounds), ("n_features", n_features)):
        whole_number(name, count)
    whole_number("n_candidates", n_candidates)
    whole_number("n_refinements", n_refinements, 0)
    _check_number("regularization", regularization, regularization > 0.0, "above 0")
    rng = np.random.default_rng(random_state)
    rows = np.empty((n_rounds, n_features))
    targets, forecasts = np.empty(n_rounds), np.empty(n_rounds)
    increments, own_loss = np.empty(n_rounds), np.empty(n_rounds)
    for t in range(n_rounds):
        hindsight = _Hindsight(similarity, rows[:t], targets[:t], regularization)
        best = (-np.inf, np.zeros(n_features), 1.0, 0.0, 0.0)
        for search in range(1 + n_refinements):
            if search == 0:
                candidates = rng.uniform(-1.0, 1.0, size=(n_candidates, n_features))
            else:
                steps = rng.standard_normal((n_candidates, n_features)) / 3.0**search
                candidates = np.clip(best[1] + steps, -1.0, 1.0)
            guesses = np.zeros(n_candidates)
            if t > 0:
                guesses[:] = np.asarray(forecast(candidates)).reshape(n_candidates)
            ridge, spread = hindsight.at(candidates)
            for target in (-1.0, 1.0):
                compared = (target - ridge) ** 2 / (1.0 + spread)
                gains = (target - guesses) ** 2 - compared
                i = int(np.argmax(gains))
                if gains[i] > best[0]:
                    best = (gains[i], candidates[i], target, guesses[i], compared[i])
        increments[t], rows[t], targets[t], forecasts[t], own_loss[t] = best
        learn(rows[t].copy(), float(targets[t]))
    return Game(rows, targets, forecasts, np.cumsum(increments))


class _Hindsight:
    """Kernel ridge regression on the rounds so far."""

    def __init__(
        self, similarity: Similarity, rows: FloatArray, targets: FloatArray, strength: float
    ) -> None:
        self.similarity = similarity
        self.rows = rows
        self.strength = strength
        gram = similarity(rows, rows) if len(rows) else np.zeros((0, 0))
        self.factor = np.linalg.cholesky(gram + strength * np.eye(len(rows)))
        self.solved = np.linalg.solve(self.factor, targets)

    def at(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Forecasts at points, and their variance over the regularization."""
        own = np.array([float(self.similarity(x[None, :], x[None, :])[0, 0]) for x in points])
        if not len(self.rows):
            return np.zeros(len(points)), own / self.strength
        half = np.linalg.solve(self.factor, self.similarity(self.rows, points))
        spread = np.maximum(own - np.sum(half * half, axis=0), 0.0) / self.strength
        return half.T @ self.solved, spread


def _rows_and_targets(X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    rows, targets = np.array(X, dtype=np.float64), np.array(y, dtype=np.float64)
    if rows.ndim != 2 or not len(rows):
        raise ValueError(f"X has shape {rows.shape}; it must be (n_rows, n_features), not empty")
    if targets.shape != (len(rows),):
        raise ValueError(f"y has shape {targets.shape}; it must be ({len(rows)},)")
    return rows, targets


def _check_number(name: str, value: float, sound: bool, needed: str) -> None:
    if not (np.isfinite(value) and sound):
        raise ValueError(f"{name}={value} must be a finite number, {needed}")
