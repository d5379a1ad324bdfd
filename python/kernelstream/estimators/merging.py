"""Models that were learned in several places, as one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Self, cast

from sklearn.utils.validation import check_is_fitted

from kernelstream.estimators.base import StreamEstimator

__all__ = ["MergingEstimator"]


class MergingEstimator(StreamEstimator):
    """Estimators that are determined by sums over rows: ``merge``, and what makes it exact."""

    def merge(self, *others: Self, successive: bool = False) -> Self:
        """Add what other estimators of the same parameters have learned.

        Least squares (`Ridge`) stores sums over rows, in coordinates of its dictionary. For
        estimators with the same dictionary, such as copies of one whose dictionary was frozen by
        `freeze_dictionary`, the sums add, and the result is the estimator that learned all rows.
        Where dictionaries differ, the sums are first taken over to a joint dictionary, of at most
        ``max_size`` points: then a row counts without what its own dictionary did not explain of
        it. In which order estimators are merged does not matter, to rounding, unless they forget.

        Parameters
        ----------
        *others : estimator
            Estimators of this class with these parameters. They stay as they are; those that have
            learned nothing count for nothing.
        successive : bool, default=False
            The rows of each came after those of the ones before it: of the first of `others` after
            those of this estimator, and so on. Needed with ``forgetting`` below 1, by which a row
            counts the less the older it is.

        Returns
        -------
        self : object
            This estimator.

        Raises
        ------
        ValueError
            Parameters, columns or classes differ, or the learner does not add: gradient, Newton and
            budgeted learners, `KORS` and `Sketched`, experts. This estimator is as it
            was.
        TypeError
            One of them is of another class.
        """
        for other in others:
            self._check_alike(other)
        learned = [other for other in others if other.__sklearn_is_fitted__()]
        if learned:
            with self._learning() as model:
                if model is not self:
                    model._take_over(learned.pop(0))
                for other in learned:
                    model._check_columns(other)
                model._core.merge([other._core for other in learned], successive)
        return self

    def freeze_dictionary(self) -> Self:
        """Store no further point from now on, and forget the rows learned so far.

        What is learned then depends neither on the order of the rows nor on which of several copies
        learned which of them, to rounding: `merge` adds such copies up exactly. The points stored
        before are those of a sample, so that they should be from everywhere. The scale of columns
        is settled with the dictionary, by the sample if the warm-up is not over.

        Returns
        -------
        self : object
            This estimator.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError
            The learner does not add, see `merge`.
        """
        check_is_fitted(self)
        self._core.freeze_dictionary()
        vars(self).pop("note_", None)
        return self

    def _check_alike(self, other: Any) -> None:
        if type(other) is not type(self):
            raise TypeError(
                f"a {type(self).__name__} is merged with others of its class, not with a "
                f"{type(other).__name__}"
            )
        own, its = _parameters(self), _parameters(other)
        if different := sorted(name for name in own | its if own.get(name) != its.get(name)):
            raise ValueError(
                f"estimators that are merged have the same parameters; {different[0]} is "
                f"{own.get(different[0])} here and {its.get(different[0])} there"
            )

    def _check_columns(self, other: Any) -> None:
        own, its = (getattr(model, "feature_names_in_", None) for model in (self, other))
        if own is not None and its is not None and list(own) != list(its):
            raise ValueError(f"the columns are {list(own)} here and {list(its)} there")

    def _take_over(self, other: Self) -> None:
        """Become a copy of another estimator of the same parameters."""
        given = {*cast(Any, self).get_params(deep=False), "note_"}
        new = {name: value for name, value in vars(deepcopy(other)).items() if name not in given}
        vars(self).update(new)


def _parameters(model: Any) -> dict[str, str]:
    """Give all parameters, also of parts, except those of the display."""
    params = model.get_params(deep=True).items()
    return {name: repr(value) for name, value in params if not name.endswith("verbose")}
