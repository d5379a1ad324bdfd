"""What the supervised estimators share: rows of any columns, and a kernel, basis and learner."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kernelstream import _core
from kernelstream.components.base import as_component
from kernelstream.components.bases import ALD, Basis
from kernelstream.components.budget import BudgetLearner
from kernelstream.components.kernels import Gaussian, Kernel
from kernelstream.components.learners import Learner, Ridge
from kernelstream.components.scikit import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from kernelstream.estimators.availability import attribute_of
from kernelstream.estimators.diagnostics import Diagnostics, diagnostics_of
from kernelstream.estimators.explanation import Explanation
from kernelstream.estimators.merging import MergingEstimator
from kernelstream.estimators.order import (
    come_by_category,
    has_serial_index,
    is_serial,
    ordered_columns,
)
from kernelstream.estimators.process import kernel_of, regularization_of
from kernelstream.estimators.repeated import Seen
from kernelstream.estimators.sentinels import Sentinel
from kernelstream.estimators.validation import Rows, Source
from kernelstream.supervised.columns import Columns, Kind, columns_of, read_rows, warn_of_unknown
from kernelstream.supervised.explaining import explain_rows
from kernelstream.supervised.learning import begin, learn, learn_rows
from kernelstream.supervised.onnx_graph import onnx_model

__all__ = ["KernelModel", "Row"]

# A row for live use: numbers in the order of the columns, or values by the columns' names.
Row: TypeAlias = NDArray[np.float64] | Sequence[float] | Mapping[str, Any]


class KernelModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MergingEstimator):
    """A model of raw columns, whose core holds what the warm-up says of these beside the model.

    The class that derives from this stores the parameters ``columns``, ``scale``, ``missing``,
    ``n_warm_up`` and ``verbose``, and ``kernel``, ``basis`` and ``learner`` unless it gives
    ``to_spec`` itself. It says what targets it takes (``_check_targets``), what the first of them
    fix (``_begin_targets``), how they become the core's numbers (``_encode``), how these become
    predictions (``_decode``), and how their error is measured (``_error``).
    """

    _default_parts: ClassVar[Mapping[str, Callable[[], Any]]] = {
        "kernel": Gaussian,
        "basis": ALD,
        "learner": Ridge,
    }

    kernel: Kernel | None
    basis: Basis | None
    learner: Learner | None
    columns: Mapping[Any, Kind] | None
    scale: bool
    missing: Literal["error", "fill"]
    n_warm_up: int
    verbose: bool
    # Fixed by the first rows.
    _columns: Columns
    # One warning is enough for a stream.
    _warned_of_unknown = False
    _warned_of_levels = False
    _warned_of_sentinel = False
    _warned_of_limits = False
    # How many weights are not judged yet, and their sum; None: they were warned of.
    _weights_before: tuple[int, float] | None = 0, 0.0
    # Rows in which codes for missing values are looked for; None: no longer.
    _first_rows: list[NDArray[np.float64]] | None = None
    # Rows among which copies are looked for; None: no longer.
    _rows_seen: Seen | None = None
    _look_at = 0
    # Rows learned when a target was last warned of as an outlier.
    _outlier_at: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "fill"
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    def fit(
        self,
        X: Source,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        shuffle: bool | None = None,
    ) -> Self:
        """Reset, then learn the rows in one pass.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers, n at least 1. float64 arrays are only copied if shuffled.
            Or a source of batches: see the Notes.
        y : array-like of shape (n,) or (n, n_targets), or str or list of str, optional
            Their targets, finite, or NaN for some of several; or of a classifier their labels:
            strings, numbers or booleans. Or the names of the columns of a frame or source that have
            them. These are all the classes there are; if the stream continues with others, begin
            it with `partial_fit` and its `classes`.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, finite, 0 or more, 1 on average; 0: the row is
            not learned. See the Notes of `KernelRegressor`. None: 1.
        shuffle : bool, optional
            Whether to learn the rows in a random order, the same at every call; False: in their
            order, as `partial_fit` does, for rows whose relation changes with time. None: shuffled
            if neighbouring rows are alike in the target or in a column, as in a sorted table; see
            the Notes.

        Returns
        -------
        self : object
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row or target is bad (the message names it) or a parameter is; the model is as it was.

        Notes
        -----
        A source is read one batch at a time, so that memory is that of a batch: an iterator or a
        function that returns one, a list, or a ``DataLoader`` of batches ``(X, y)`` or ``(X, y,
        sample_weight)``; or, with `y` the name of the target's column, of frames; the path of
        Parquet files; a dataset or reader of pyarrow, a polars ``LazyFrame``, a Dask, Spark or Ray
        collection. `sample_weight` is then a name too. Its rows are learned in their order. A
        classifier reads it twice, first for its labels.

        Neighbouring rows are alike where their mean squared difference is less than half of that of
        any two rows (von Neumann's ratio, of columns that of the ranks [1]_), from 64 rows on; from
        12 on categories are, that differ between neighbours half as often as in a random order. A
        learner with ``forgetting`` learns rows in their order. For learners that favour recent rows
        without it (`Gradient`, `Staged`, those with a budget), for experts, which notice an order
        themselves, and in a table in the order of a column of times, only the target counts, and
        the categories of fewer than 64 rows without times.

        References
        ----------
        .. [1] R. Bartels, "The rank version of von Neumann's ratio test for randomness", Journal of
           the American Statistical Association 77, 1982.
        """
        self._learn(X, y, sample_weight, reset=True, shuffle=shuffle)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the coordinates of rows: what the learner is linear in.

        Inner products of coordinates are the kernel, as far as the stored points span it. With a
        budgeted learner they are the similarities to the stored points, k(s_j, x).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows, as for `predict`.

        Returns
        -------
        coordinates : ndarray of shape (n, n_stored_)
            Coordinate j belongs to the j-th stored point; learning on appends columns and does not
            change those there are, unless a budgeted learner replaces a point.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        check_is_fitted(self)
        return cast("NDArray[np.float64]", self._core.transform(self._rows(X, reset=False)))

    def novelty(self, X: Rows) -> NDArray[np.float64]:
        """Compute the novelty of rows: the share of each that the stored points do not explain.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows, as for `predict`.

        Returns
        -------
        novelty : ndarray of shape (n,)
            ``(k(x, x) - z' z) / k(x, x)``, from 0, a row that the stored points span, to 1, one
            that is like none of them. Above 0.5, predictions are more of the prior than of rows;
            with `ALD` the tolerance is the novelty above which a row is stored. For experts
            the weighted mean.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad (the message names it), or no points are stored, as with `Fourier`.

        Notes
        -----
        O(n m^2) for m stored points; with a budgeted learner O(m^3) more a call.
        """
        check_is_fitted(self)
        return cast("NDArray[np.float64]", self._core.novelty(self._rows(X, reset=False)))

    def to_spec(self) -> dict[str, Any]:
        """Give the description of the model that the core understands, without columns."""
        # A budgeted learner chooses the stored points itself; the core refuses a basis beside it.
        alone = isinstance(self.learner, BudgetLearner) and self.basis is None
        return {
            "kernel": as_component(self.kernel, Gaussian, Kernel).to_spec(),
            "basis": None if alone else as_component(self.basis, ALD, Basis).to_spec(),
            "learner": self._chosen_learner().to_spec(),
        }

    @property
    def kernel_(self) -> Kernel | None:
        """The kernel in use, with the bandwidth that was chosen; None of mixtures."""
        check_is_fitted(self)
        return kernel_of(self)

    @property
    def regularization_(self) -> float | None:
        """The learner's regularization; None of mixtures and of learners without."""
        check_is_fitted(self)
        return regularization_of(self)

    @property
    def diagnostics_(self) -> Diagnostics:
        """Quality: errors, also over recent rows, coverage, novel rows, condition."""
        check_is_fitted(self)
        return diagnostics_of(self)

    @property
    def columns_(self) -> dict[str, str]:
        """What each column holds, by its name; empty for numbers without names."""
        check_is_fitted(self)
        return {name: kind["type"] for name, kind in columns_of(self).kinds.items()}

    @property
    def scales_(self) -> NDArray[np.float64] | None:
        """The mean subtracted from each column and its divisor; None if rows are not scaled."""
        check_is_fitted(self)
        scales = self._core.scales
        return None if scales is None else cast("NDArray[np.float64]", scales[0])

    @property
    def dictionary_(self) -> NDArray[np.float64]:
        """Stored points, in the order they were stored."""
        check_is_fitted(self)
        return cast("NDArray[np.float64]", self._core.dictionary())

    @property
    def condition_(self) -> float | None:
        """Condition number of the matrix whose pseudoinverse `Sketched` features are made by.

        The larger, the more rounding and chance there is in the features. None for other bases, and
        in stage one.
        """
        check_is_fitted(self)
        return cast("float | None", self._core.condition)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """How much each column matters, as shares of 1."""
        check_is_fitted(self)
        return attribute_of(lambda: cast("NDArray[np.float64]", self._core.importances()))

    def explain(
        self,
        X: Any,
        background: Any = None,
        *,
        method: Literal["auto", "exact", "sampling"] = "auto",
        n_permutations: int = 4,
        random_state: int = 0,
    ) -> Explanation:
        """Explain predictions: how much each column contributes, as Shapley values.

        The contributions of a row add up to its prediction minus the mean prediction of the
        background; see the Notes for classifiers. What a column contributes is the mean change of
        the prediction when it becomes the row's, over all sets of columns that are the row's
        before, the others being those of a row of the background (interventional values [1]_).

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Rows as they were learned.
        background : array-like or frame of shape (b, n_features), optional
            Rows to compare with; the time is proportional to b. None: at most 100 stored points,
            spread over all, or 25 where values are sampled.
        method : {"auto", "exact", "sampling"}, default="auto"
            ``"exact"``: by quadrature, see the Notes. ``"sampling"``: by random orders of the
            columns, with standard errors. ``"auto"``: exactly where that is possible.
        n_permutations : int, default=4
            Sampled orders of the columns for each row of the background: even, at least 4.
        random_state : int, default=0
            Seed of the sampled orders, 0 or more.

        Returns
        -------
        explanation : Explanation
            With ``values``, ``base_values``, ``data`` and ``feature_names``; `to_shap` gives the
            same as a ``shap.Explanation``. Each column as it was given is one: the features of a
            category or a time count together. For classes,
            `decision_function` is explained.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row or a parameter is bad, or values cannot be exact for this model.

        Notes
        -----
        Values are exact for kernels that are products over the columns (`Gaussian`,
        `ManhattanLaplacian`, and `Linear`, their sums, all with diagonal metrics), on points
        stored by `ALD`, `AllPoints` or a budgeted learner, and for mixtures of such whose weights
        do not depend on the row (``KernelExperts(experts=...)``): with ``f(x) = sum_i a_i prod_j
        k_j(x_j, p_ij)`` the sum over all 2^d sets of columns is the integral of a polynomial of
        degree d - 1, which d / 2 nodes of Gauss and Legendre integrate exactly. A row costs d^2
        operations for each stored point and row of the background. They explain what was learned,
        before a learner keeps its prediction within the range of targets (``clip``).

        Exact values of classifiers with calibrated scores (`GaussNewton` with the logistic loss,
        the default) are those of the log-odds before they are calibrated, and add up to these minus
        their mean; what `decision_function` gives is a piecewise linear function of them.

        Other models are sampled: full metrics, kernels of the Euclidean distance such as
        `Matern32`, and experts that choose themselves, whose shares depend on the row. A row then
        takes ``n_permutations * (d - 1)`` predictions for each row of the background.

        References
        ----------
        .. [1] S. M. Lundberg, S.-I. Lee, "A unified approach to interpreting model predictions",
           NeurIPS 2017.
        """
        return explain_rows(
            self,
            X,
            background,
            method=method,
            n_permutations=n_permutations,
            random_state=random_state,
        )

    def to_onnx(self, X: Any = None) -> Any:
        """Write the fitted model in the ONNX format, for runtimes in any language.

        Parameters
        ----------
        X : array-like or frame, optional
            Rows that have all categories which the model knows, whose texts it does not hold. None:
            there are no columns of categories.

        Returns
        -------
        model : onnx.ModelProto
            ``model.SerializeToString()`` is what a file holds. Inputs are ``X`` of doubles (n,
            n_features), or one of shape (n, 1) for each column by its name, if these have names:
            text for categories, doubles for numbers, booleans (0 and 1) and times (seconds since
            1970), NaN for gaps. The output is ``prediction`` (n, n_targets); of classifiers
            ``label`` (n,), ``scores``, and ``probabilities`` (n, n_classes) where there are.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ImportError
            If onnx is missing: ``pip install "kernelstream[onnx]"``.
        ValueError
            The model is no sum of similarities to stored points, or a category is missing in X.

        Notes
        -----
        The result agrees with `predict` to rounding. Categories that fall into groups (more than
        ``max_size``) are those of X; others count as none.
        """
        return onnx_model(self, X)

    @property
    def _n_features_out(self) -> int:
        # Some bases have no number of stored points.
        rows = np.empty((0, cast(int, self._core.n_features)))
        return int(self._core.transform(rows).shape[1])

    def _chosen_learner(self) -> Learner:
        return as_component(self.learner, Ridge, Learner)

    def _learners(self) -> list[Learner]:
        """Give the learners; none if experts are selected, which notice themselves an order."""
        return [self._chosen_learner()]

    def _is_in_order(self, X: Any, rows: Any, targets: NDArray[Any]) -> bool:
        """Whether rows of positive weight come in an order in which they are not to be learned."""
        learners = self._learners()
        if any(learner._forgets for learner in learners):
            return False
        if is_serial(targets):
            return True
        kinds = [kind["type"] for kind in columns_of(self).kinds.values()]
        categories = [place for place, kind in enumerate(kinds) if kind == "category"]
        if "time" not in kinds and come_by_category(rows, categories):
            return not has_serial_index(X)
        if not learners or not all(learner._weights_alike for learner in learners):
            return False
        if has_serial_index(X) or not (places := ordered_columns(rows, targets)).size:
            return False
        return not kinds or all(kinds[place] != "time" for place in places)

    def _scales_numbers(self) -> bool:
        """Whether the core standardizes numbers before the model gets them."""
        return self.scale

    def _rows(self, X: Any, *, reset: bool) -> Any:
        return read_rows(self, X, reset=reset)

    def _rows_to_predict(self, X: Any) -> Any:
        rows = self._rows(X, reset=False)
        warn_of_unknown(self, X, rows)
        return rows

    def _row(self, x: Any) -> Any:
        return columns_of(self).row(x)

    def _learn(self, X: Any, y: Any, sample_weight: Any, **how: Any) -> Any:
        """Check the arguments and learn the rows: all of them, or on an error none."""
        return learn(self, X, y, sample_weight, **how)

    def _learn_rows(self, rows: Any, targets: Any, weights: Any, **how: Any) -> Any:
        """Learn rows of a stream that has begun."""
        return learn_rows(self, rows, targets, weights, **how)

    def _learn_first(self, x: Any, y: Any, classes: ArrayLike | None = None) -> None:
        """Begin with a single row, whose errors leave nothing behind."""
        if isinstance(x, Mapping):
            self._learn([x], [y], None, classes=classes)
            return
        if self.columns:
            self._learn(np.array([x], object), [y], None, classes=classes)
            return
        with self._learning() as model:
            # Another thread may have begun meanwhile.
            if model is not self:
                begin(model, np.size(x), np.array([y]), classes)
            cast(Any, model).learn_one(x, y)

    def _new_core(self) -> _core.Regressor:
        return _core.Regressor(json.dumps(self._core_spec()))

    def _predicted(self, rows: NDArray[np.float64]) -> NDArray[Any]:
        return self._decode(self._core.predict(rows))

    def _model_spec(self) -> dict[str, Any]:
        """Give the description of what learns features of columns."""
        return self.to_spec()

    def _core_spec(self) -> dict[str, Any]:
        spec = self._model_spec()
        model = spec.get("model", spec)
        learner = model.get("learner", {})
        by_evidence = learner.get("regularization") == "evidence"
        columns = columns_of(self).to_spec(self.missing, self.n_warm_up, needed=by_evidence)
        if columns is None:
            return spec
        # Adaptive experts scale columns by themselves, and follow those that move.
        columns["rescale"] = "adaptive" not in spec
        whole = (spec if "model" in spec else {"model": spec}) | {"columns": columns}
        if by_evidence:
            learner["regularization"] = Ridge.regularization
            whole["evidence"] = {"bandwidth": model["kernel"].get("bandwidth", 0) is None}
        return whole

    def _find_sentinel(self, targets: NDArray[Any]) -> Sentinel | None:
        """Find a target to warn of that may stand for a missing one."""
        del targets
        return None

    def _warn_of_outliers(
        self, targets: NDArray[Any], found: Sentinel | None, limited: list[tuple[int, float]]
    ) -> None:
        """Warn once of what was found, and of the first target that was winsorized.

        Parameters
        ----------
        targets : ndarray
            The targets of the call, in their order.
        found : Sentinel, optional
            What `_find_sentinel` gave for them.
        limited : list of (int, float)
            Outputs and targets of the latest that were learned winsorized, if the call has some.
        """
        del targets, found, limited

    @abstractmethod
    def _check_targets(self, y: ArrayLike, classes: ArrayLike | None) -> NDArray[Any]:
        """Give targets as an array of what this estimator learns."""

    @abstractmethod
    def _begin_targets(
        self, targets: NDArray[Any], classes: ArrayLike | None, *, complete: bool
    ) -> None:
        """Set the attributes that follow from the first targets and the classes."""

    @abstractmethod
    def _encode(self, targets: NDArray[Any]) -> NDArray[np.float64]:
        """Give what the core is to learn, of shape (n, n_outputs)."""

    @abstractmethod
    def _decode(self, outputs: NDArray[np.float64]) -> NDArray[Any]:
        """Give the predictions that the core's outputs stand for."""

    @abstractmethod
    def _error(self, n_outputs: int) -> tuple[Any, Callable[[NDArray[Any]], NDArray[Any]]]:
        """Give a running error, and the function that turns outputs into what it compares."""

    def _has_settings(self) -> bool:
        """Whether a parameter could be set better."""
        return True

    def _useless(self) -> str:
        """Describe a model whose predictions are useless."""
        return (
            "predicted the latest rows no better than the mean of the targets before them: "
            f"{self._scale_remedy()}KernelExperts() finds irrelevant columns; where the relation "
            "drifts, a learner with forgetting follows"
        )

    def _scale_remedy(self) -> str:
        """Name the parameter that standardizes columns, or what it does to a bandwidth."""
        if not self.scale:
            return "standardize columns by scale=True; "
        kernel = getattr(self, "kernel", None)
        if isinstance(kernel, Kernel) and (lengths := list(kernel._lengths())):
            given = " and ".join(f"{length:g}" for length in lengths)
            return (
                f"the kernel's bandwidth {given} counts in standard deviations of the columns, and "
                "scale=False takes columns and bandwidth in their own units; "
            )
        return ""

    def _follows_drift(self) -> str:
        """Name the remedies for a stream that has changed."""
        if self._has_settings():
            return (
                "a learner with forgetting, such as Ridge(forgetting=0.999), follows, and so do "
                "experts"
            )
        return "its experts follow by themselves, if there is anything to be learned"

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_first_rows", None)
        state.pop("_rows_seen", None)
        return state

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        model = super()._from_state(core, state)
        columns = json.loads(core.spec).get("columns")
        known = Columns.from_spec(columns, state["feature_names"])
        written = state.get("written") or {}
        kinds = {name: dict(kind) | written.get(name, {}) for name, kind in known.kinds.items()}
        model._columns = known.with_kinds(kinds) if written else known
        return model

    def _state(self) -> dict[str, Any]:
        written = columns_of(self).written
        return super()._state() | ({"written": written} if written else {})
