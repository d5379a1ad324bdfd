"""Diagnostics of an estimator, and the warnings that follow from them."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from kernelstream.estimators.advice import advise, by_options
from kernelstream.exceptions import (
    DriftWarning,
    MovedColumnsWarning,
    UselessPredictionsWarning,
    WeightsWarning,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = [
    "Diagnostics",
    "concerns_of",
    "diagnostics_of",
    "warn_of_concerns",
    "warn_of_weights",
]

# Mean weight below which the regularization may outweigh the rows, that above which it is too weak
# (errors of a noisy table are 9 % larger at 30, 11 % at 1,000), and fewest rows to judge by.
_SMALL_WEIGHTS, _LARGE_WEIGHTS = 0.05, 30.0
_FEW_WEIGHTS = 20


@dataclass(frozen=True)
class Diagnostics:
    """How an estimator fares, by its predictions of rows before they were learned.

    What is "late" is over the latest thousand rows or so, with weights that fall by a thousandth a
    row. None is what an estimator of its kind, or one of so few rows, does not know. Errors and
    coverages are numbers, or arrays if there are several targets.

    Attributes
    ----------
    rows : int
        Rows that were predicted and learned.
    n_stored : int
        Points stored.
    error, late_error : float or ndarray of shape (n_targets,)
        Root mean squared error, in units of the target; of a classifier the share of wrong labels.
    baseline_error, late_baseline_error : float or ndarray of shape (n_targets,)
        The same for the running mean of the targets, or the commonest class so far.
    coverage, late_coverage : float or ndarray of shape (n_targets,)
        Share of the targets inside their 90 % intervals, or of the labels inside their 90 % sets if
        these may be empty.
    novel, late_novel : float
        Share of the rows that the points stored by then explained less than half of.
    effective_rows : float
        Weights of the rows that the learner remembers, added up: with forgetting, of the latest.
    condition : float
        Condition number of the coordinates; for stored points that of their Gram matrix, estimated
        from below by power iteration.
    error_rose : bool
        Whether the error has ever doubled, or that of a classifier risen by a tenth of the rows,
        and stayed so.
    was_useless : bool
        Whether the baseline was ever as good over recent rows.
    moved_columns : tuple
        Columns, by name or place, that have left the range of the rows before, so that all columns
        were rescaled: for example a row number or a time.
    """

    rows: int
    n_stored: int
    error: Any
    late_error: Any
    baseline_error: Any
    late_baseline_error: Any
    coverage: Any
    late_coverage: Any
    novel: float | None
    late_novel: float | None
    effective_rows: float | None
    condition: float | None
    error_rose: bool
    was_useless: bool
    moved_columns: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        baseline = f"baseline {_written(self.baseline_error)}"
        late_baseline = f"baseline {_written(self.late_baseline_error)}"
        lines = [
            ("error", self.error, f"{_written(self.error)} ({baseline})"),
            ("recent", self.late_error, f"{_written(self.late_error)} ({late_baseline})"),
            (
                "inside 90 %",
                self.coverage,
                f"{_written(self.coverage, '.1%')}, recent {_written(self.late_coverage, '.1%')}",
            ),
            (
                "novel rows",
                self.novel,
                f"{_written(self.novel, '.2%')}, recent {_written(self.late_novel, '.2%')}",
            ),
            ("effective rows", self.effective_rows, _written(self.effective_rows, ",.0f")),
            ("condition", self.condition, _condition(self.condition)),
        ]
        text = f"{self.rows:,} rows, {self.n_stored:,} points stored"
        for name, value, line in lines:
            if value is not None:
                text += f"\n  {name:<15} {line}"
        if self.error_rose:
            text += "\n  the error has risen"
        if self.was_useless:
            text += "\n  the baseline has been as good"
        if self.moved_columns:
            text += f"\n  {'moved columns':<15} {', '.join(map(str, self.moved_columns))}"
        return text


Concerns: TypeAlias = tuple[bool, bool, list[int]]


def _moved(model: Any, places: list[int]) -> str:
    kinds = list(getattr(vars(model).get("_columns"), "kinds", {}).values())
    names = dict(zip(places, _names_of(model, places), strict=True))
    of_text = [place for place in places if kinds and kinds[place]["type"] == "category"]
    others = [names[place] for place in places if place not in of_text]
    causes = []
    if others:
        causes.append(f"{_listed(others)} left the range of the rows before, or gaps appeared")
    if of_text:
        named = _listed([names[place] for place in of_text])
        causes.append(f"{named} categories that the rows before had not")
    follows = "--experts follows" if by_options() else "KernelExperts() follows"
    remedy = (
        "Rows that are sorted by a column are best shuffled, and a row number is best left out; "
        f"{follows} columns that move"
        if others
        else "If the rows are sorted by it, they are best shuffled; else nothing is to be done"
    )
    return (
        "rescaled its columns, and learned a sample of the rows again: "
        f"{', and '.join(causes)}. {remedy}"
    )


def _listed(names: list[Any]) -> str:
    first = ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
    return f"column {first} has" if len(names) == 1 else f"columns {first} have"


# Beyond it coefficients of points have fewer than six of the sixteen digits of double precision.
_FEW_DIGITS = 1e10


def _condition(value: float | None) -> str:
    few = value is not None and value > _FEW_DIGITS
    return _written(value, ".1e") + (
        " (coefficients of single points have fewer than six digits; predictions do not lose them)"
        if few
        else ""
    )


def _written(value: Any, form: str = ".4g") -> str:
    if value is None:
        return "unknown"
    return ", ".join(format(number, form) for number in np.atleast_1d(value))


def diagnostics_of(model: Any) -> Diagnostics:
    """Give the diagnostics of a fitted estimator."""
    found = json.loads(model._core.diagnostics)
    known = {field.name: found[field.name] for field in fields(Diagnostics)}
    for name, value in known.items():
        if name == "moved_columns":
            known[name] = tuple(_names_of(model, value))
        elif isinstance(value, list):
            known[name] = value[0] if len(value) == 1 else np.array(value)
    return Diagnostics(**known)


def _names_of(model: Any, places: Iterable[int]) -> list[Any]:
    """Give the names of columns, or their places where they have none."""
    names = getattr(model, "feature_names_in_", None)
    return [place if names is None else names[place] for place in places]


def concerns_of(model: Any) -> Concerns:
    """Say whether errors have ever risen, predictions were of no use, and columns have moved."""
    core = vars(model).get("_core")
    return (False, False, []) if core is None else cast("Concerns", core.concerns)


def warn_of_concerns(
    model: Any, before: Concerns, drifts: str, useless: str | None, *, after_outlier: bool = False
) -> None:
    """Issue the warnings that a call of a public method has caused, once each.

    With `after_outlier` a target among the latest rows has been warned of as an outlier.
    """
    rose, no_use, moved = concerns_of(model)
    name = type(model).__name__
    reason = (
        "the outlying target that was warned of is the likely reason; " if after_outlier else ""
    )
    if no_use and not before[1] and useless is not None:
        what, _, remedies = useless.partition(": ")
        advise(f"{name} {what}: {reason}{remedies}", UselessPredictionsWarning)
    if rose and not before[0]:
        advise(
            f"the errors of {name} have risen well above what they were, and stayed there (see "
            f"diagnostics_): {reason}if the stream has changed, {drifts}",
            DriftWarning,
        )
    if moved and not before[2]:
        advise(f"{name} {_moved(model, moved)}", MovedColumnsWarning)


def warn_of_weights(
    weights: NDArray[np.float64],
    before: tuple[int, float] = (0, 0.0),
    largest: float = _LARGE_WEIGHTS,
) -> tuple[int, float] | None:
    """Warn if weights of rows are so small or large that the regularization is not what it was.

    Parameters
    ----------
    weights : ndarray
        Weights; zeros do not count.
    before : (int, float), optional
        How many there were before, and their sum.
    largest : float, optional
        The largest mean without a warning.

    Returns
    -------
    before : (int, float), or None
        The same for the next weights; None: a warning was given, as of weights that sum to one, or
        of a survey.
    """
    known = weights[weights > 0.0]
    count, total = before[0] + len(known), before[1] + float(known.sum())
    if count < _FEW_WEIGHTS:
        return count, total
    mean = total / count
    # A few large weights among small ones are meant so.
    if _SMALL_WEIGHTS <= mean <= largest or (mean > largest and np.median(known) <= 1.0):
        return 0, 0.0
    effect = "outweighs rows of small weights"
    if mean > largest:
        effect = "is too weak for rows of large weights"
    advise(
        f"the weights of the rows are {mean:.3g} on average, and the regularization "
        f"{effect}: divide the weights by their mean",
        WeightsWarning,
    )
    return None
