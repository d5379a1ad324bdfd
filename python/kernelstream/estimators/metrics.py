"""The errors of a stream of predictions, kept as the rows pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNIT", "RunningError", "RunningMistakes"]

# A power of two in whose units squares of numbers from 1e-255 to 1e50, the largest that is
# learned, are within double precision.
UNIT = 2.0**-316


class _Sums:
    """Sums over rows, which can be stored and continued."""

    def to_state(self) -> dict[str, Any]:
        """Give the sums so far, as JSON can carry them."""
        return {name: np.asarray(value).tolist() for name, value in vars(self).items()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on from sums that `to_state` gave.

        Raises
        ------
        ValueError
            They are of something else.
        """
        for name, value in vars(self).items():
            given = np.array(state.get(name))
            same_kind = given.dtype.kind == np.asarray(value).dtype.kind
            if given.shape != np.shape(value) or not same_kind:
                raise ValueError(f"the sums of errors do not fit: {name.lstrip('_')}")
        for name, value in vars(self).items():
            given = np.array(state[name])
            setattr(self, name, given if isinstance(value, np.ndarray) else given.item())


class RunningError(_Sums):
    """Squared errors of prequential predictions, beside three baselines.

    The yardsticks are the mean of the targets before each row (what is predicted without
    features), the last target, which is hard to beat where rows come in an order, and the spread
    of the targets. The very first row, which nothing can predict, does not count.

    Attributes
    ----------
    n_rows : int
        Rows counted.
    """

    def __init__(self, n_targets: int) -> None:
        self._seen = np.zeros(n_targets, dtype=np.int64)
        self._mean = np.zeros(n_targets)
        # Sums of squares, in units of `UNIT`.
        self._spread = np.zeros(n_targets)  # of deviations from the mean
        self._model = np.zeros(n_targets)
        self._baseline = np.zeros(n_targets)
        self._repeated = np.zeros(n_targets)
        self._last = np.zeros(n_targets)

    @property
    def n_rows(self) -> int:
        """Rows counted."""
        return max(int(self._seen.max()) - 1, 0)

    @property
    def begun(self) -> NDArray[np.bool_]:
        """Whether there was a row with each target."""
        return self._seen > 0

    def update(self, targets: NDArray[Any], predictions: NDArray[Any]) -> None:
        """Count some more rows; NaN for a target that is missing."""
        for place in range(len(self._seen)):
            known = ~np.isnan(targets[:, place])
            if known.any():
                self._count(place, targets[known, place], predictions[known, place])

    def _count(self, place: int, targets: NDArray[Any], predictions: NDArray[Any]) -> None:
        seen, mean = int(self._seen[place]), self._mean[place]
        first = int(seen == 0)
        counts = np.arange(seen + 1, seen + len(targets) + 1)
        # Sums around a fixed point near the data keep their digits.
        anchor = mean if seen else targets[0]
        sums = (mean - anchor) * seen + np.cumsum(targets - anchor)
        means = anchor + sums / counts
        before = np.concatenate([[mean], means[:-1]])
        self._baseline[place] += np.square((targets - before)[first:] / UNIT).sum()
        self._spread[place] += ((targets - before) / UNIT * ((targets - means) / UNIT)).sum()
        self._model[place] += np.square((targets - predictions)[first:] / UNIT).sum()
        last = np.concatenate([[self._last[place]], targets[:-1]])
        self._repeated[place] += np.square((targets - last)[first:] / UNIT).sum()
        self._last[place] = targets[-1]
        self._mean[place] = means[-1]
        self._seen[place] += len(targets)

    @property
    def rmse(self) -> NDArray[np.float64]:
        """Root mean squared error for each target, in its units."""
        return self._root_mean(self._model)

    @property
    def baseline_rmse(self) -> NDArray[np.float64]:
        """The same for the running mean."""
        return self._root_mean(self._baseline)

    @property
    def last_rmse(self) -> NDArray[np.float64]:
        """The same for the last target."""
        return self._root_mean(self._repeated)

    def _root_mean(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sqrt(sums / np.maximum(self._seen - 1, 1)) * UNIT

    @property
    def r2(self) -> NDArray[np.float64]:
        """Share of each target's variance that is explained, at most 1; NaN without variance."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self._spread > 0, 1.0 - self._model / self._spread, np.nan)

    def __str__(self) -> str:
        if not self.n_rows:
            return ""
        parts = [f"RMSE {float(np.sqrt(np.mean(np.square(self.rmse / UNIT))) * UNIT):.4g}"]
        r2 = float(np.mean(self.r2))
        if np.isfinite(r2):
            parts.append(f"R² {r2:.3f}")
        return " · ".join(parts)


class RunningMistakes(_Sums):
    """Wrong labels among those predicted before each was known, next to two yardsticks.

    The yardsticks are to predict the most frequent label so far, and to repeat the last label,
    which on a stream that comes in blocks is hard to beat. Every row counts, the first one too.

    Attributes
    ----------
    n_rows : int
        Rows counted.
    mistakes, majority_mistakes, last_mistakes : int
        Wrong labels: those predicted, the most frequent ones so far (the first class before any
        row, and of equals), and the last ones.
    """

    def __init__(self, n_classes: int) -> None:
        self.n_rows = 0
        self.mistakes = 0
        self.majority_mistakes = 0
        self.last_mistakes = 0
        self._counts = np.zeros(n_classes, dtype=np.int64)
        self._last = 0

    def extend(self, n_classes: int, places: Sequence[int]) -> None:
        """Go on with more classes.

        Parameters
        ----------
        n_classes : int
            How many there are now.
        places : sequence of int
            The new code of each former class.
        """
        counts = np.zeros(n_classes, dtype=np.int64)
        counts[list(places)] = self._counts
        self._counts = counts
        self._last = places[self._last] if self.n_rows else 0

    def update(self, codes: NDArray[np.intp], predicted: NDArray[np.intp]) -> None:
        """Count some more rows."""
        if len(codes) == 0:
            return
        classes = np.arange(len(self._counts))
        after = self._counts + np.cumsum(codes[:, None] == classes, axis=0)
        before = np.vstack([self._counts, after[:-1]])
        last = np.concatenate([[self._last], codes[:-1]])
        self.mistakes += int(np.sum(predicted != codes))
        self.majority_mistakes += int(np.sum(before.argmax(axis=1) != codes))
        self.last_mistakes += int(np.sum(last != codes))
        self.n_rows += len(codes)
        self._counts = after[-1]
        self._last = int(codes[-1])

    @property
    def rate(self) -> float:
        """Share of wrong labels, from 0 to 1; NaN before a row."""
        return self.mistakes / self.n_rows if self.n_rows else float("nan")

    @property
    def majority_rate(self) -> float:
        """The same for the most frequent label so far."""
        return self.majority_mistakes / self.n_rows if self.n_rows else float("nan")

    @property
    def last_rate(self) -> float:
        """The same for the last label."""
        return self.last_mistakes / self.n_rows if self.n_rows else float("nan")

    def __str__(self) -> str:
        return f"mistakes {self.rate:.2%}" if self.n_rows else ""
