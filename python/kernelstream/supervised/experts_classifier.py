"""Classification on a stream, with automatic selection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernelstream.components.learners import Learner
from kernelstream.supervised.chosen import adaptive_spec, experts_of, generations_of, weights_of
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.columns import Kind
from kernelstream.supervised.described import ExpertList

__all__ = ["KernelExpertsClassifier"]


class KernelExpertsClassifier(KernelClassifier):
    """Kernel classification with automatic selection, on raw columns of any units.

    It selects settings as `KernelExperts` does: transforms of columns, a metric, kernel, bandwidth
    and regularization, and whether to forget. Its experts minimize the squared hinge, two classes
    as one output, more as one each (one against the rest), and are mixed by this loss.

    From 256 rows on trees join the scores, as of `KernelExperts`: a forest of means of the labels,
    and trees boosted on the logarithmic loss. `experts_`, `weights_` and `feature_importances_` are
    those of the kernel experts alone.

    Probabilities are calibrated along the stream: scale and offset of the log-odds are learned from
    the prequential predictions [1]_.

    It has the methods and guarantees of `KernelClassifier`: the model does not depend on chunks, an
    error does not change it, and a loaded model is the saved one to the bit.

    Parameters
    ----------
    mixture : {"polynomial", "fixed_share"}, default="polynomial"
        How predictions become one, as of `KernelExperts`.
    size : int, default=300
        Most points that a dictionary stores, from 10 to 4,000; an expert may have several that
        share the space. The time of a row and the memory grow with its square.
    class_weight : mapping of label to float or "balanced", optional
        Weight of the rows of each class, as of `KernelClassifier`. The probabilities are those of a
        stream in which the frequency of rows is proportional to their weights.
    columns, scale, missing, n_warm_up : object
        As of `KernelExperts`.
    verbose : bool, default=False
        Show a progress bar with running mistake rate and stored points on work longer than a second
        (needs ``rich``).
    effort : {"high", "low"}, default="high"
        What accuracy may cost. ``"low"``: kernel experts without trees, in a third to two thirds of
        the time.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_count_ : ndarray of int of shape (n_classes,)
        Rows of each class learned so far.
    weights_ : ndarray of shape (n_experts,), or (n_classes, n_experts) if there are more than two
        Weight of each expert in the scores, with sum 1. Empty for the first rows, for which
        frequencies are predicted.
    experts_ : list of dict
        Description of each expert, as of `KernelExperts`.
    n_generations_ : int
        Number of refits so far.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of each column: the mean squared slope of the scores along it at rows of the
        buffer, times its variance, as shares of 1, both after the column's transform.
    dictionary_ : ndarray of shape (n_stored_, n_features_in_)
        The stored points of all experts, as of `KernelExperts`.
    columns_ : dict of str to str
        Type of each column, by its name; empty for arrays of numbers.
    n_seen_ : int
        Rows learned so far.
    n_stored_ : int
        Points stored, by all experts together.
    n_features_in_ : int
        Columns of a row.
    feature_names_in_ : ndarray of str of shape (n_features_in_,)
        Names of the columns, if the first rows had names.

    References
    ----------
    .. [1] D. R. Cox, "Two further applications of a model for binary regression", Biometrika, 1958.

    Examples
    --------
    The last of three columns in different units is irrelevant:

    >>> import numpy as np
    >>> import kernelstream as ks
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(1500, 3)) * [1, 1e6, 1e-3]
    >>> y = np.where(np.hypot(X[:, 0], X[:, 1] / 1e6) < 0.7, "inside", "outside")
    >>> model = ks.KernelExpertsClassifier(size=50)
    >>> predicted = model.partial_fit_predict(X, y, classes=["inside", "outside"])
    >>> bool(np.mean(predicted[1000:] == y[1000:]) > 0.95)
    True
    >>> bool(model.predict_proba_one([0.1, 2e5, 0.0])["inside"] > 0.9)
    True
    >>> bool(model.feature_importances_[2] < 0.1)
    True
    """

    def __init__(  # another choice of parameters, with the same methods
        self,
        mixture: Literal["polynomial", "fixed_share"] = "polynomial",
        size: int = 300,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        columns: Mapping[Any, Kind] | None = None,
        scale: bool = True,
        missing: Literal["error", "fill"] = "error",
        n_warm_up: int = 500,
        verbose: bool = False,
        effort: Literal["high", "low"] = "high",
    ) -> None:
        self.mixture = mixture
        self.size = size
        self.class_weight = class_weight
        self.columns = columns
        self.scale = scale
        self.missing = missing
        self.n_warm_up = n_warm_up
        self.verbose = verbose
        self.effort = effort

    @property
    def weights_(self) -> NDArray[np.float64]:
        """The share of each expert in the scores."""
        check_is_fitted(self)
        return weights_of(self._core, single=len(self._core.mixture) == 1)

    @property
    def experts_(self) -> ExpertList:
        """Descriptions of the experts."""
        check_is_fitted(self)
        return experts_of(self._core)

    @property
    def n_generations_(self) -> int:
        """Generations of experts so far."""
        check_is_fitted(self)
        return generations_of(self._core)

    def _learners(self) -> list[Learner]:
        return []

    def _has_settings(self) -> bool:
        return False

    def _scales_numbers(self) -> bool:
        # Experts transform numbers by themselves.
        return False

    def to_spec(self) -> dict[str, Any]:
        """Give the description of the model that the core understands."""
        return adaptive_spec(self)

    def _loss_in_use(self) -> Any:
        return "squared_hinge"
