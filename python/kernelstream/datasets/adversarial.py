"""Adversarial streams: sorted, drifting, with flipped labels, or chosen by a greedy adversary.

Regret bounds of online learning hold for any sequence, also for these. All streams are reproducible
by ``random_state``.
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
Predict: TypeAlias = Callable[[FloatArray], ArrayLike]
Learner: TypeAlias = Callable[[FloatArray, float], object]

# Gains that differ by no more are a tie.
_TIE = 1e-9


def sorted_stream(
    X: ArrayLike, y: ArrayLike, by: int | ArrayLike | None = None
) -> tuple[FloatArray, FloatArray]:
    """Sort rows in ascending order, so that the stream passes through its range once.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The rows.
    y : array of shape (n_rows,)
        Their targets.
    by : int or array of shape (n_rows,), optional
        Sort key: the index of a feature (negative ones count from the end), or a number for each
        row. None: the target.

    Returns
    -------
    X, y : ndarray
        The sorted rows and targets; the sort is stable.
    """
    rows, targets = _rows_and_targets(X, y)
    if by is None:
        key = targets
    elif isinstance(by, int | np.integer) and not isinstance(by, bool):
        if not -rows.shape[1] <= by < rows.shape[1]:
            raise ValueError(
                f"by must be a column index of X, which has {rows.shape[1]} columns, got {by}"
            )
        key = rows[:, by]
    else:
        key = np.asarray(by, dtype=np.float64)
        if key.shape != targets.shape:
            raise ValueError(
                f"by has shape {key.shape}, but ({len(targets)},) or a column index is needed"
            )
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
    """Repeat randomly drawn rows in blocks, with the target flipped in every other block.

    The relation learned in one block is wrong in the next, which penalizes a long memory.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The rows to draw from.
    y : array of shape (n_rows,)
        Their targets; labels are -1 and 1.
    n_blocks : int, default=500
        Number of blocks, at least 1. Each draws one row, with replacement.
    n_repeats : int, default=10
        Number of repetitions of the row, at least 1.
    center : float, default=0.0
        The targets of the second, fourth, ... block are reflected at this value: y becomes
        ``2 center - y``. 0 flips the sign.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator.

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
    """Draw rows whose target depends on a direction that rotates steadily (concept drift).

    Rows are uniform in [-1, 1]^n_features and ``y = sin(pi (x1 cos a + x2 sin a)) + noise`` with
    the angle ``a = 2 pi t / period`` in row t. With one feature the phase shifts instead: ``y =
    sin(pi x1 + a)``.

    Parameters
    ----------
    n_rows : int
        Number of rows, at least 1.
    n_features : int, default=2
        Number of features, at least 1; those beyond the second are irrelevant for the target.
    period : float, default=2000.0
        Number of rows per full turn, above 0.
    noise : float, default=0.05
        Standard deviation of the Gaussian noise of the target, 0 or more.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
        The rows, in order of time.
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
    """The rounds of a game between a learner and an adversary.

    Attributes
    ----------
    X : ndarray of shape (n_rounds, n_features)
        The rows that the adversary chose.
    y : ndarray of shape (n_rounds,)
        Its targets, all -1 or 1.
    predictions : ndarray of shape (n_rounds,)
        The learner's predictions before it learned them.
    regret : ndarray of shape (n_rounds,)
        Cumulative squared error minus the smallest of any function in the kernel's space,
        including ``regularization`` times its squared norm.
    """

    X: FloatArray
    y: FloatArray
    predictions: FloatArray
    regret: FloatArray


def greedy_adversary(
    predict: Predict,
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
    """Choose in each round the row and target that increase a learner's regret most.

    Rows are in [-1, 1]^n_features and targets in [-1, 1]. The regret of the learner against the
    best function in hindsight, ``min_f sum (y - f(x))^2 + regularization |f|^2``, grows in a round
    by ``(y - p)^2 - (y - ridge)^2 / (1 + q)``, where p is the learner's prediction, `ridge` that of
    kernel ridge regression on the previous rounds, and ``q = [k(x, x) - k^T (K + lambda I)^-1 k] /
    lambda``. This is a convex parabola in y, so the worst target is -1 or 1; the worst row is
    searched among random ones, then in shrinking neighbourhoods of the best one found.

    Parameters
    ----------
    predict : callable
        From rows (n, n_features) to the learner's current predictions (n,). It is not called
        before the first row is learned: until then all predictions are 0.
    learn : callable
        Learns one row (n_features,) and its target, a float.
    similarity : callable
        The kernel: from points (n, d) and (m, d) to the kernel matrix (n, m).
    n_rounds : int, default=80
        Number of rounds, at least 1. Round t costs t^2 per candidate.
    n_features : int, default=5
        Number of features, at least 1.
    regularization : float, default=1.0
        Weight of the squared norm of the function in hindsight, above 0.
    n_candidates : int, default=256
        Number of candidate rows in each search, at least 1.
    n_refinements : int, default=4
        Number of searches around the best row found, each a third as wide as the previous, 0 or
        more.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator.

    Returns
    -------
    Game
        Rows, targets, predictions and regret of the rounds.

    References
    ----------
    R. Jezequel, P. Gaillard, A. Rudi, "Efficient online learning with kernels for adversarial large
    scale problems", NeurIPS 2019, figure 3 (with scipy's optimizer over rows and targets).

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
    targets, predictions = np.empty(n_rounds), np.empty(n_rounds)
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
                guesses[:] = np.asarray(predict(candidates)).reshape(n_candidates)
            ridge, spread = hindsight.at(candidates)
            # The Vovk-Azoury-Warmuth forecast makes both targets gain alike: rounding must not
            # decide.
            for target in rng.permutation((-1.0, 1.0)):
                compared = (target - ridge) ** 2 / (1.0 + spread)
                gains = (target - guesses) ** 2 - compared
                i = int(np.argmax(gains))
                if gains[i] > best[0] + _TIE:
                    best = (gains[i], candidates[i], float(target), guesses[i], compared[i])
        increments[t], rows[t], targets[t], predictions[t], own_loss[t] = best
        learn(rows[t].copy(), float(targets[t]))
    return Game(rows, targets, predictions, np.cumsum(increments))


class _Hindsight:
    """Kernel ridge regression on the previous rounds."""

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
        """Predictions at points, and their variance divided by the regularization."""
        own = np.array([float(self.similarity(x[None, :], x[None, :])[0, 0]) for x in points])
        if not len(self.rows):
            return np.zeros(len(points)), own / self.strength
        half = np.linalg.solve(self.factor, self.similarity(self.rows, points))
        spread = np.maximum(own - np.sum(half * half, axis=0), 0.0) / self.strength
        return half.T @ self.solved, spread


def _rows_and_targets(X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    rows, targets = np.array(X, dtype=np.float64), np.array(y, dtype=np.float64)
    if rows.ndim != 2 or not len(rows):
        raise ValueError(
            f"X has shape {rows.shape}, but must be (n_rows, n_features) and not empty"
        )
    if targets.shape != (len(rows),):
        raise ValueError(f"y has shape {targets.shape}, but must be ({len(rows)},)")
    return rows, targets


def _check_number(name: str, value: float, sound: bool, needed: str) -> None:
    if not (np.isfinite(value) and sound):
        raise ValueError(f"{name} must be a finite number, {needed}, got {value}")
