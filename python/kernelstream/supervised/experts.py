"""Regression on a stream without a bandwidth or a regularization to choose."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kernelstream.components.bases import ALD
from kernelstream.components.kernels import Gaussian
from kernelstream.components.learners import Ridge
from kernelstream.estimators.model_file import decode_parameters, encode_parameters
from kernelstream.supervised.regressor import KernelRegressor

__all__ = ["KernelExperts"]

# Over the square root of the number of features: from features within [-1, 1] to standardized ones.
_BANDWIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
_REGULARIZATIONS = (1e-4, 1e-3, 1e-2, 1e-1)
_TOLERANCE, _MAX_SIZE = 1e-4, 150


class KernelExperts(KernelRegressor):
    """Kernel regression on a stream that finds its own bandwidth and regularization.

    Several `KernelRegressor` learn the same rows side by side, and their predictions are mixed by
    weights that follow how each did so far. After a while the mixture is about as good as the best
    of them, and often better, without knowing in advance which that is; `weights_` and `experts_`
    show it.

    It is used as a `KernelRegressor` is, with the same guarantees: any chunking of a stream gives
    the same model, an error leaves it as it was, a model file brings it back to the last bit.

    Parameters
    ----------
    experts : sequence of KernelRegressor, optional
        What is mixed: any kernels, bases and learners. They are read, neither used nor changed.
        None: twenty, five bandwidths (a quarter to four times the square root of the number of
        features) with four regularizations (1e-4 to 1e-1) each, ``ALD(1e-4, max_size=150)`` and
        `Ridge`; features should be standardized or within [-1, 1] (see `Scaled`).
    mixture : {"polynomial", "fixed_share"}, default="polynomial"
        How predictions become one. ``"polynomial"``: weights in proportion to how much better an
        expert was than the mixture (ML-Poly [1]_ with regrets kept from falling far below zero, so
        that it recovers when the best expert changes; compare [2]_). ``"fixed_share"``: the
        probability that an expert is the one that is right now, with a chance of one in ten
        thousand a row that another takes over [3]_; it changes over faster and blends less. Neither
        has anything to set: multiplying the targets by a number multiplies the predictions by it.
    verbose : bool, default=False
        Show a progress bar with running error and stored points on work longer than a second
        (needs ``rich``).

    Attributes
    ----------
    weights_ : ndarray of shape (n_experts,), or (n_outputs_, n_experts) if there are several
        The share of each expert in the prediction; they add up to 1.
    experts_ : list of dict
        The parameters by which the experts differ, in their order.
    dictionary_ : ndarray of shape (n_stored_, n_features_in_)
        The stored points of all experts, one expert's after the other's.
    n_seen_ : int
        Rows learned so far.
    n_stored_ : int
        Points stored, by all experts together.
    n_outputs_ : int
        Number of targets.
    n_features_in_ : int
        Width of a row.
    feature_names_in_ : ndarray of str of shape (n_features_in_,)
        Column names, if the first rows came as a data frame with names.

    Notes
    -----
    A row costs what the experts cost, added up; the twenty of the default hold some 10 MB and learn
    a row of 18 features in 28 µs on one thread, 15 on two, or 105 by itself. Calls of many rows run
    on as many threads as `set_num_threads` says, with the same result to the bit. ``predict``
    leaves out experts of weight 0, of which ``"polynomial"`` has many.

    Where an expert can refuse a row (a learner of gradients that may diverge, `Ridge` with
    forgetting or hardly any regularization, one on a budget; kernels without a bound, weights above
    100), a call of several rows first copies all experts, and single rows do so every 256 rows:
    memory is twice as much.

    The mixture judges experts by their squared errors, whatever their losses are.

    References
    ----------
    .. [1] P. Gaillard, G. Stoltz, T. van Erven, "A second-order bound with excess losses", COLT
       2014 (ML-Poly), on the slope of the loss. Ours keeps regrets from falling below the root of
       the sum of their squared steps, and takes the largest step so far for the range.
    .. [2] O. Tammelin, N. Burch, M. Johanson, M. Bowling, "Solving heads-up limit Texas hold'em",
       IJCAI 2015: regrets kept from falling below zero.
    .. [3] M. Herbster, M. K. Warmuth, "Tracking the best expert", Machine Learning, 1998. Ours
       learns the rate: errors are taken to have the variance of the mixture's latest thousand.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelstream as ks
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(1000, 1))
    >>> y = np.sin(3 * X[:, 0])
    >>> model = ks.KernelExperts().partial_fit(X, y)
    >>> bool(abs(model.predict([[0.5]])[0] - np.sin(1.5)) < 0.01)
    True
    >>> model.experts_[0]
    {'kernel__bandwidth': 0.25, 'learner__regularization': 0.0001}
    """

    def __init__(  # another choice of parameters, with the same methods
        self,
        experts: Sequence[KernelRegressor] | None = None,
        mixture: Literal["polynomial", "fixed_share"] = "polynomial",
        verbose: bool = False,
    ) -> None:
        self.experts = experts
        self.mixture = mixture
        self.verbose = verbose

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the predictions of the experts: what the mixture is linear in.

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
        check_is_fitted(self)
        weights = cast("NDArray[np.float64]", self._core.mixture)
        return weights[0] if self._single else weights

    @property
    def experts_(self) -> list[dict[str, Any]]:
        """The parameters by which the experts differ."""
        check_is_fitted(self)
        each = [_named(expert) for expert in json.loads(self._core.spec)["experts"]]
        names = sorted({name for parameters in each for name in parameters})
        differing = [
            name
            for name in names
            if any(parameters.get(name) != each[0].get(name) for parameters in each)
        ]
        return [
            {name: parameters[name] for name in differing if name in parameters}
            for parameters in each
        ]

    def to_spec(self) -> dict[str, Any]:
        """Give the description of the model that the core understands."""
        experts = self._grid() if self.experts is None else list(self.experts)
        for expert in experts:
            if not isinstance(expert, KernelRegressor) or isinstance(expert, KernelExperts):
                raise TypeError(f"experts must be KernelRegressor, got {expert!r}")
        return {"experts": [expert.to_spec() for expert in experts], "mixture": self.mixture}

    def _grid(self) -> list[KernelRegressor]:
        root = math.sqrt(self.n_features_in_)
        basis = ALD(_TOLERANCE, _MAX_SIZE)
        return [
            KernelRegressor(Gaussian(factor * root), basis, Ridge(regularization))
            for factor, regularization in product(_BANDWIDTHS, _REGULARIZATIONS)
        ]

    def _params(self) -> dict[str, Any]:
        params = super()._params()
        if self.experts is not None:
            each = [encode_parameters(expert.get_params(deep=False)) for expert in self.experts]
            params |= {"experts": each}
        return params

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        model = super()._from_state(core, state)
        if model.experts is not None:
            encoded = cast("list[dict[str, Any]]", model.experts)
            model.experts = [KernelRegressor(**decode_parameters(each)) for each in encoded]
        return model


def _named(expert: Mapping[str, Any]) -> dict[str, Any]:
    """Give the parameters of a model by their names in scikit-learn, from its specification."""
    named: dict[str, Any] = {}
    for part, spec in expert.items():
        for name, value in (spec or {}).items():
            named[part if name == "type" else f"{part}__{name}"] = value
    return named
