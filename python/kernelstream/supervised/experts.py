"""Regression on a stream, with automatic selection."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kernelstream.components.learners import Learner
from kernelstream.estimators.advice import by_options
from kernelstream.estimators.model_file import decode_parameters, encode_parameters
from kernelstream.estimators.sentinels import Sentinel
from kernelstream.exceptions import NotAvailableError
from kernelstream.supervised.chosen import (
    adaptive_spec,
    check_mixture,
    experts_of,
    generations_of,
    weights_of,
)
from kernelstream.supervised.columns import Kind
from kernelstream.supervised.described import ExpertList
from kernelstream.supervised.regressor import KernelRegressor

__all__ = ["KernelExperts"]


class KernelExperts(KernelRegressor):
    """Kernel regression with automatic selection, on raw columns of any units.

    It selects the transform of each column, a metric (learned from the gradients of its own
    predictions [4]_), kernel, bandwidth and regularization, and whether to forget. Whenever the
    number of rows has tripled, or the relation has changed, successive halving on a bounded buffer
    of rows selects new settings, and experts with these settings are added. Predictions are mixed
    by weights that follow the prequential losses; experts of earlier refits are dropped when their
    weight stays near zero.

    With `experts` given, these are mixed instead, on the columns as `KernelRegressor` takes them.

    It is used as a `KernelRegressor` is, with the same guarantees: any chunking of a stream gives
    the same model, an error leaves it as it was, a model file brings it back to the last bit.

    Parameters
    ----------
    experts : sequence of KernelRegressor, optional
        What is mixed: any kernels, bases and learners. They are read, neither used nor changed.
        None: experts that choose themselves.
    mixture : {"polynomial", "fixed_share"}, default="polynomial"
        How predictions become one. ``"polynomial"``: weights in proportion to how much better an
        expert was than the mixture (ML-Poly [1]_ with regrets kept from falling far below zero, so
        that it recovers when the best expert changes; compare [2]_). ``"fixed_share"``: the
        probability that an expert is the one that is right now, with a chance of one in ten
        thousand a row that another takes over [3]_; it changes over faster and blends less. Neither
        has anything to set: multiplying the targets by a number multiplies the predictions by it.
    size : int, default=300
        Most points that a dictionary stores, from 10 to 4,000, where `experts` is None; an expert
        may have several that share the space. The time of a row and the memory grow with its
        square.
    columns : mapping of str to str or dict, optional
        As of `KernelRegressor`.
    scale : bool, default=True
        Whether numbers are standardized by the warm-up for the `experts` that are given. Experts
        that select themselves transform numbers by themselves, whatever this is.
    missing, n_warm_up : object
        As of `KernelRegressor`.
    verbose : bool, default=False
        Show a progress bar with running error and stored points on work longer than a second
        (needs ``rich``).
    effort : {"high", "low"}, default="high"
        What accuracy may cost, where `experts` is None. ``"low"``: kernel experts alone, in
        a sixth to two thirds of the time.

    Attributes
    ----------
    weights_ : ndarray of shape (n_experts,), or (n_outputs_, n_experts) if there are several
        Weight of each expert in the prediction, with sum 1. Empty for the first rows, for which the
        mean of the targets is predicted. Selected experts have less weight in rows far from
        their stored points (see the Notes).
    experts_ : list of dict
        Description of each expert: ``kernel``, ``metric`` (the factors of the transformed columns,
        or the matrix of the map), ``transform`` (``"standardized"`` or ``"normal_scores"``),
        ``regularization``, ``forgetting``, ``cells`` (dictionaries that share the space),
        ``exact`` (for labels: whether it is kernel ridge regression on the rows that it predicted
        with a loss), ``n_stored`` and ``generation`` (number of the refit that added it). With
        `experts` given, the parameters by which these differ.
    n_generations_ : int
        Number of refits so far; 1 with `experts` given.
    n_limited_ : int
        Rows so far whose target was winsorized: see the Notes, and with `experts` given those of
        `KernelRegressor`.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of each column: the mean squared slope of the predictions along it at rows of
        the buffer, times its variance, as shares of 1, both after the column's transform.
    dictionary_ : ndarray of shape (n_stored_, n_features_in_)
        The stored points of all experts, expert by expert; preprocessed if experts are selected.
    columns_ : dict of str to str
        Type of each column, by its name; empty for arrays of numbers.
    n_seen_ : int
        Rows learned so far.
    n_stored_ : int
        Points stored, by all experts together.
    n_outputs_ : int
        Number of targets.
    n_features_in_ : int
        Columns of a row.
    feature_names_in_ : ndarray of str of shape (n_features_in_,)
        Names of the columns, if the first rows had names.

    Notes
    -----
    A row costs the sum over the experts, and a refit as much as thousands of rows, which are done
    ahead on another thread, except after a drift or in ordered rows; memory is
    bounded by that of two refits, and 90 MB for trees and nearest rows. Calls of many rows run on
    as many threads as `set_num_threads` says, with the same result to the bit.
    ``predict`` leaves out experts of weight 0, of which ``"polynomial"`` has many.

    With `experts`, if one can refuse a row (a learner of gradients that may diverge, `Ridge`
    with forgetting or almost no regularization, one on a budget; kernels without a bound, weights
    above 100), a call of several rows first copies all experts, and single rows do so every 256
    rows: memory is doubled. A selected expert that fails is dropped instead.

    The mixture weights experts by their squared errors, for any losses of theirs. In the prediction
    of a row, the weight of each selected expert is multiplied by its confidence, ``1 / (1 + 2 *
    novelty / regularization)`` with the share of the row that its points do not explain, and so is
    the effect of the row on its weight [1]_.

    Without `experts`, others join the prediction from 256 rows on: a forest on the residuals of the
    kernel experts, boosted trees on the targets and, if these are positive and skewed, on their
    logarithms, and regression on the nearest rows, of up to ten columns. `experts_`, `weights_`,
    `transform` and `feature_importances_` are those of the kernel experts alone.

    Without `experts`, outliers among the targets are winsorized: one that is further from
    its prediction than 30 root mean squares of the latest thousand errors, and 5 deviations from
    the mean of the targets, is learned as one that is 5 of those errors away, and a warning says
    so once. Targets that stay on another scale are followed within tens of rows. Targets that
    differ from the rest in fewer than one row of a thousand are winsorized too: learn their
    logarithm, or pass `experts`.

    References
    ----------
    .. [1] P. Gaillard, G. Stoltz, T. van Erven, "A second-order bound with excess losses", COLT
       2014 (ML-Poly), on the slope of the loss. Ours keeps regrets from falling below the root of
       the sum of their squared steps, and takes the largest step so far for the range.
    .. [2] O. Tammelin, N. Burch, M. Johanson, M. Bowling, "Solving heads-up limit Texas hold'em",
       IJCAI 2015: regrets kept from falling below zero.
    .. [3] M. Herbster, M. K. Warmuth, "Tracking the best expert", Machine Learning, 1998. Ours
       learns the rate: errors are taken to have the variance of the mixture's latest thousand.
    .. [4] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin, "Mechanism for feature learning in
       neural networks and backpropagation-free machine learning models", Science, 2024: metrics
       from the average outer product of gradients.

    Examples
    --------
    The last of three columns in different units is irrelevant:

    >>> import numpy as np
    >>> import kernelstream as ks
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(1500, 3)) * [1, 1e6, 1e-3]
    >>> y = np.sin(3 * X[:, 0]) + X[:, 1] / 1e6
    >>> model = ks.KernelExperts(size=50).partial_fit(X, y)
    >>> bool(abs(model.predict([[0.5, 5e5, 0.0]])[0] - np.sin(1.5) - 0.5) < 0.05)
    True
    >>> model.feature_importances_.round(1).tolist()
    [0.8, 0.2, 0.0]
    >>> sorted(model.experts_[0])[:4]
    ['cells', 'exact', 'forgetting', 'generation']
    """

    def __init__(  # another choice of parameters, with the same methods
        self,
        experts: Sequence[KernelRegressor] | None = None,
        mixture: Literal["polynomial", "fixed_share"] = "polynomial",
        size: int = 300,
        columns: Mapping[Any, Kind] | None = None,
        scale: bool = True,
        missing: Literal["error", "fill"] = "error",
        n_warm_up: int = 500,
        verbose: bool = False,
        effort: Literal["high", "low"] = "high",
    ) -> None:
        self.experts = experts
        self.mixture = mixture
        self.size = size
        self.columns = columns
        self.scale = scale
        self.missing = missing
        self.n_warm_up = n_warm_up
        self.verbose = verbose
        self.effort = effort

    @property
    def _classifier(self) -> str:
        return "KernelExpertsClassifier"

    @property
    def _sentinels_to_name(self) -> Literal["any", "known", "far"]:
        """Numbers that programs write: winsorized outliers have a warning of their own."""
        return "known" if self.experts is None else "any"

    def _describe_learned(self, found: Sentinel, *, limited: bool) -> tuple[str, str]:
        learned, remedy = super()._describe_learned(found, limited=limited)
        if self.experts is not None or limited:
            return learned, remedy
        return "is learned as it is, or winsorized among the first rows", ""

    @property
    def _learning_unlimited(self) -> str:
        if self.experts is not None:
            return super()._learning_unlimited
        if by_options():
            return "give --plain --no-scale, which takes targets and columns as they are"
        return "give experts of your own"

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the predictions of the experts, in which the mixture is linear.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.

        Returns
        -------
        predictions : ndarray of shape (n, n_experts * n_outputs_)
            The first expert's predictions of all targets, then the second's.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        return super().transform(X)

    @property
    def weights_(self) -> NDArray[np.float64]:
        """The share of each expert in the prediction."""
        self._check_shared("weights_")
        return weights_of(self._core, single=self._single)

    @property
    def experts_(self) -> ExpertList:
        """Descriptions of the experts; of given ones the parameters in which they differ."""
        self._check_shared("experts_")
        if self._core.members is not None:
            return experts_of(self._core)
        spec = json.loads(self._core.spec)
        each = [_named(expert) for expert in spec.get("model", spec)["experts"]]
        names = sorted({name for parameters in each for name in parameters})
        differing = [
            name
            for name in names
            if any(parameters.get(name) != each[0].get(name) for parameters in each)
        ]
        shown = (
            {name: parameters[name] for name in differing if name in parameters}
            for parameters in each
        )
        return ExpertList(shown, self.weights_ if self._single else None)

    @property
    def n_generations_(self) -> int:
        """Generations of experts so far."""
        self._check_shared("n_generations_")
        return 1 if self._core.members is None else generations_of(self._core)

    def _check_shared(self, name: str) -> None:
        """Refuse experts whose common parameters differ."""
        check_is_fitted(self)
        if self._core.has_models_of_targets:
            raise NotAvailableError(
                f"{name} is of experts that all targets share, but rows lacked some of the "
                "targets, so that each has experts of its own: learn one target to see its experts"
            )

    def to_spec(self) -> dict[str, Any]:
        """Give the description of the model that the core understands."""
        if self.experts is None:
            return adaptive_spec(self)
        experts = list(self.experts)
        for expert in experts:
            if not isinstance(expert, KernelRegressor) or isinstance(expert, KernelExperts):
                raise TypeError(f"experts must be KernelRegressor, got {expert!r}")
        check_mixture(self)
        return {"experts": [expert.to_spec() for expert in experts], "mixture": self.mixture}

    def _scales_numbers(self) -> bool:
        return self.scale and self.experts is not None

    def _learners(self) -> list[Learner]:
        return [expert._chosen_learner() for expert in self.experts or ()]

    def _has_settings(self) -> bool:
        return self.experts is not None

    def _params(self) -> dict[str, Any]:
        params = super()._params()
        if self.experts is not None:
            each = [encode_parameters(expert.get_params(deep=False)) for expert in self.experts]
            params |= {"experts": each}
        return params

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        model = super()._from_state(core, state)
        encoded = cast("list[dict[str, Any]] | None", model.experts)
        if encoded is not None:
            model.experts = [KernelRegressor(**decode_parameters(each)) for each in encoded]
        return model


def _named(expert: Mapping[str, Any]) -> dict[str, Any]:
    """Give the parameters of a model by their names in scikit-learn, from its specification."""
    named: dict[str, Any] = {}
    for part, spec in expert.items():
        for name, value in (spec or {}).items():
            named[part if name == "type" else f"{part}__{name}"] = value
    return named
