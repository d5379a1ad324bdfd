"""Regression on a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kernelstream.components.bases import Basis
from kernelstream.components.kernels import Kernel
from kernelstream.components.learners import Learner
from kernelstream.components.scikit import MultiOutputMixin, RegressorMixin
from kernelstream.estimators.advice import advise, by_options
from kernelstream.estimators.metrics import RunningError
from kernelstream.estimators.process import covariance_of, draws_of
from kernelstream.estimators.sentinels import Sentinel, find_sentinel
from kernelstream.estimators.uncertainty import (
    Bounds,
    Prequential,
    checked_bounds,
    checked_coverage,
)
from kernelstream.estimators.validation import Rows, Source, first_of, numbers_of, whole_number
from kernelstream.exceptions import OutlierWarning, SentinelWarning
from kernelstream.supervised.columns import Kind, columns_of
from kernelstream.supervised.fitness import (
    refuse_numbers_for_labels,
    refuse_weights_for_interpolation,
)
from kernelstream.supervised.model import KernelModel, Row

__all__ = ["KernelRegressor"]

# Rows before which no outlier is warned of.
_FEWEST_TO_WARN = 100

_HELD = {"category": "categories", "boolean": "true or false", "time": "times"}


class KernelRegressor(MultiOutputMixin, RegressorMixin, KernelModel):
    """Kernel regression on a stream: one pass, constant memory, any number of targets.

    A kernel compares points, a basis decides which points are stored and so become coordinates, a
    learner keeps a linear model in those coordinates up to date after every row.

    Feeding a stream in chunks of any size gives the same model to rounding. One object may be used
    from several threads: predictions are answered while another thread learns.

    Parameters
    ----------
    kernel : Kernel, optional
        How alike two points are. None: ``Gaussian()``, whose bandwidth ``sqrt(n_features)`` suits
        standardized features.
    basis : Basis, optional
        Which points are stored. None: ``ALD()``, or nothing beside a budgeted learner, which
        chooses the points itself.
    learner : Learner, optional
        How the weights follow the targets. None: ``Ridge()``.
    columns : mapping of str to str or dict, optional
        What columns hold, where their types do not say it: ``"number"``, ``"category"``,
        ``"boolean"`` or ``"time"``, or a dict with that as ``"type"`` and options, see the Notes,
        by the column's name, or by its place in an array. None: what the types of the first rows
        say; arrays hold numbers.
    scale : bool, default=True
        Whether numbers are standardized by the warm-up. False: they are taken as they are.
    missing : {"error", "fill"}, default="error"
        What becomes of gaps (None, NaN and the like): the row is refused, or numbers get the mean
        of those in the rows before (experts: in the warm-up, so that it does not tell how late a
        row is), with a feature that marks gaps if there were any in the warm-up, and other kinds
        zeros.
    n_warm_up : int, default=500
        Rows of the warm-up, 1 or more, which fix scales and categories (see the Notes).
    verbose : bool, default=False
        Show a progress bar with running error and stored points on work longer than a second
        (needs ``rich``).

    Attributes
    ----------
    dictionary_ : ndarray of shape (n_stored_, n_features_in_)
        The stored points, in the order they were stored; with a budgeted learner a new point takes
        the place of one that left.
    columns_ : dict of str to str
        What each column holds, by its name; empty for arrays of numbers.
    scales_ : ndarray of shape (n_features_in_, 2), or None
        The mean subtracted from each number and its divisor, 1 of a column that was constant so
        far; 0 and 1 for other columns. None if rows are not scaled.
    n_seen_ : int
        Rows learned so far.
    n_stored_ : int
        Points stored.
    n_outputs_ : int
        Number of targets.
    n_features_in_ : int
        Columns of a row.
    feature_names_in_ : ndarray of str of shape (n_features_in_,)
        Names of the columns, if the first rows had names.
    n_limited_ : int
        Rows so far whose target was learned winsorized: see the Notes.
    noise_ : float, or ndarray of shape (n_outputs_,) if the targets were two-dimensional
        Standard deviation of the noise, from prequential errors: see the Notes. None with learners
        that do not know deviations, and of mixtures.
    kernel_ : Kernel, or None
        The kernel in use, with its bandwidth if that was given or chosen (`Ridge`, "evidence").
        None of mixtures.
    regularization_ : float, or None
        The learner's regularization, given or chosen. None of mixtures and of learners without.
    log_marginal_likelihood_ : float, or ndarray of shape (n_outputs_,)
        Logarithm of the density of the targets learned, under the model that was fitted, with the
        noise that makes it largest: see the Notes. None where deviations are not known, with
        forgetting, and before the second row.
    feature_importances_ : ndarray of shape (n_features_in_,)
        How much each column matters: the mean squared slope of the predictions along it at the
        stored points, times its variance there, as shares of 1. For models that have a `gradient`.

    Notes
    -----
    Kernels compare points by distance, so columns must have comparable scales. The first
    ``n_warm_up`` rows fix the scale of each number and which categories there are: a scale that
    changed with each row would invalidate the stored points. During the warm-up each row is
    predicted by those before it, and at the 2nd, 4th, 8th, ... and last row the rows so far are
    learned again on the scale that they give. Later, when rows are 2, 4, 8, ... times the warm-up,
    a sample of at most about 2,500 of them is compared with the scale. If a column has left it, as
    one that rises with the rows does (a row number, a time, a table sorted by it), or more than a
    twentieth of its values are the first gaps or new categories, all columns are scaled by the
    sample, which is learned again, and `diagnostics_` names the column. A bandwidth is in units of
    the scaled columns. Frames (pandas, polars, pyarrow), dicts of columns and lists of dicts have
    the names and types of their columns; later rows must have the same.

    - ``{"type": "number", "logarithm": True}`` takes ``sign(x) log(1 + |x|)`` first, for counts and
      prices; ``"scale": False`` takes them as they are.
    - ``{"type": "category", "max_size": 128}``: each category of the warm-up is a feature of 0 or
      1, and so is any other; if there are more than ``max_size``, they share this many features,
      of which each has two, by its hash. If 40 rows or more of it have categories and less than a
      tenth of these repeat another, as names of rows, the column has no effect.
    - ``{"type": "time", "parts": ["day", "week", "year", "trend"]}``: the time of the day, of the
      week and of the year as sine and cosine; and where rows of the warm-up do not come in the
      order of these times, as dates of birth or of sale, the time itself, standardized, within
      three deviations. ``"elapsed"`` is that in any order and without bounds: where rows come in
      the order of time it is always outside the range seen, where a stationary kernel cannot
      extrapolate. Without it, `partial_fit` learns no trend of such rows; `fit`, which shuffles
      rows whose targets rise with them, does. A learner with ``forgetting`` and `KernelExperts`
      follow the recent level.
    - Booleans are -1 and 1.

    A value of the warm-up that lies more than 10,000 times further from its column's median than
    others is an outlier, if at most one in a hundred does; so is a single one (or one in 400)
    beyond 50 root mean square distances of the others. It is learned unchanged, and not used for
    the scale.

    With ``scale`` and a squared loss outlying targets are winsorized, from the 8th row on. A target
    beyond 5 standard deviations of the recent ones and 30 of the errors is learned as if it were 5
    standard deviations of the errors from its prediction. The fourth and later of such in a row are
    learned as they are: they are a new level. In the warm-up, a single target (or one in 400)
    beyond 30 standard deviations of the others is learned as the nearest of them; each refit of the
    warm-up decides and counts again. A warning reports the first one, from the 100th row on, and
    ``n_limited_`` counts them. Weights of rows do not change what is an outlier. Models whose
    dictionary is frozen, and merged ones, learn targets as they are, so that merging is exact.

    ``sample_weight`` multiplies the loss of a row, in a single round, but not the regularization:
    weights should be 1 on average, which ``weights / weights.mean()`` are. A mean of 20 rows
    or more above 30 or below 0.05 is warned of, except by experts, which use only ratios. For
    `Ridge`, and `GaussNewton` with a squared loss, weight 3 equals three identical rows (scales, a
    reservoir and `forgetting` count it as one row). Otherwise the slope of the loss is multiplied,
    and with it the step of `Gradient` and of budgeted learners, which differs from several steps.
    Whether a row is stored does not depend on its weight, if it is above 0. A row of weight 0
    counts in ``n_seen_`` and changes nothing else.

    A row may lack some of several targets (NaN): it is learned with the others. From the first such
    row on each target has a model of its own, so that time and memory are those of all models;
    the result is that of models of one target, each of the rows that have it. Learners whose
    outputs depend on each other (`OnlineNewton`, budgeted ones, experts) continue from a copy of
    the common model.

    `Ridge` is Bayesian linear regression: a Gaussian process in the coordinates z(x) of the stored
    points. The prior variance of the function is ``noise_**2 / regularization`` times the kernel,
    and ``predict(X, return_std=True)`` gives the root of ``noise_**2 (1 + z' P z + (k(x, x) - z'
    z) / regularization)``, where P is the inverse of the regularized sum of ``z z'``: the variances
    of the noise, of the weights, and of the residual of the coordinates. The noise is estimated by
    ``mean(e**2 / (1 + z' P z + ...))`` over the prequential errors e, the estimate of maximum
    likelihood; with forgetting, over recent ones. The same holds for `GaussNewton` with a squared
    loss. Other learners have no deviations.

    ``log_marginal_likelihood_`` is the sum over rows of the logarithm of the normal density of a
    target about its prequential prediction, with the variance ``noise**2 (1 / weight + z' P z +
    ...)``: by the chain rule the logarithm of their joint density, from running sums. With
    ``AllPoints()`` and ``Ridge(center=False, clip=False)`` it is that of scikit-learn's
    ``GaussianProcessRegressor`` with the prior variance ``noise**2 / regularization``; otherwise
    that of the sequence of models that made the predictions, for centred ones conditional on the
    first row. On the same rows the larger one is the better model. In the warm-up rows count on
    their latest scale. For unequal noise set ``sample_weight`` to one over its variance.

    Intervals are the prediction plus and minus a number of deviations (for other learners, of root
    mean squared errors) that follows the prequential errors for each level, so that their coverage
    also holds for noise that is not Gaussian, and under drift.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelstream as ks
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(1000, 1))
    >>> y = np.sin(3 * X[:, 0])
    >>> model = ks.KernelRegressor(kernel=ks.Gaussian(0.5)).partial_fit(X, y)
    >>> bool(abs(model.predict([[0.5]])[0] - np.sin(1.5)) < 0.01)
    True
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        basis: Basis | None = None,
        learner: Learner | None = None,
        columns: Mapping[Any, Kind] | None = None,
        scale: bool = True,
        missing: Literal["error", "fill"] = "error",
        n_warm_up: int = 500,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.basis = basis
        self.learner = learner
        self.columns = columns
        self.scale = scale
        self.missing = missing
        self.n_warm_up = n_warm_up
        self.verbose = verbose

    def partial_fit(
        self,
        X: Source,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Continue learning with more rows, in their order.

        In the order of a column of times, these are no trend: see the Notes of `KernelRegressor`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers, n at least 1. float64 arrays in any memory order are not copied.
            Or a source of batches, as for `fit`; then a bad row leaves those of the batches before
            it learned.
        y : array-like of shape (n,) or (n, n_targets), or str or list of str, optional
            Their targets, finite; or the names of their columns in a frame or source.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, finite, 0 or more, 1 on average; 0: the row is
            not learned. See the Notes of `KernelRegressor`. None: 1.

        Returns
        -------
        self : object
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is bad (the message names it); the model is as it was.
        KeyboardInterrupt
            Ctrl-C; the rows done by then stay learned (see ``n_seen_``).
        """
        self._learn(X, y, sample_weight)
        return self

    @overload
    def predict(
        self, X: Rows, return_std: Literal[False] = False, return_cov: Literal[False] = False
    ) -> NDArray[np.float64]: ...  # numpydoc ignore=GL08

    @overload
    def predict(  # numpydoc ignore=GL08
        self, X: Rows, return_std: Literal[True], return_cov: Literal[False] = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    @overload
    def predict(  # numpydoc ignore=GL08
        self, X: Rows, return_std: Literal[False] = False, *, return_cov: Literal[True]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    def predict(
        self, X: Rows, return_std: bool = False, return_cov: bool = False
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Predict the targets of rows, with their uncertainty.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers.
        return_std : bool, default=False
            Whether to give standard deviations too.
        return_cov : bool, default=False
            Whether to give the joint covariance of the targets instead, noise included; for models
            of `Ridge`, and of `GaussNewton` with a squared loss.

        Returns
        -------
        predictions : ndarray of shape (n,) or (n, n_targets)
            One-dimensional if the targets learned were.
        deviations : ndarray of the same shape, if `return_std`
            Standard deviations of targets about their predictions, of the noise and of what is not
            known of the function: see the Notes of `KernelRegressor`. Infinite before the second
            row was learned.
        covariance : ndarray of shape (n, n) or (n, n, n_targets), if `return_cov`
            Covariance of the targets of all rows, whose diagonal is the squared deviations.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad (the message names it), or the learner does not know deviations.
        """
        check_is_fitted(self)
        rows = self._rows_to_predict(X)
        if return_cov:
            if return_std:
                raise ValueError(
                    "return_std and return_cov cannot both be True: the diagonal of the covariance "
                    "is the squared deviations"
                )
            return self._predicted(rows), covariance_of(self, rows)
        if not return_std:
            return self._predicted(rows)
        both = self._core.predict_with_deviation(rows)
        predictions, deviations = np.split(both, 2, axis=1)
        return self._decode(predictions), self._decode(deviations)

    def partial_fit_predict(
        self,
        X: Source,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Predict each row just before learning it (prequential predictions).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers, n at least 1. Or a source of batches, as for `partial_fit`.
        y : array-like of shape (n,) or (n, n_targets), or str or list of str, optional
            Their targets, finite; or the names of their columns in a frame or source.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, finite, 0 or more, 1 on average; 0: the row is
            predicted, and not learned. See the Notes of `KernelRegressor`. None: 1.

        Returns
        -------
        predictions : ndarray, of the shape of y
            The prediction for row i made when the rows before it had been learned. The first row of
            all gets 0.

        Raises
        ------
        ValueError, TypeError
            A row is bad (the message names it); the model is as it was.
        """
        return cast("NDArray[np.float64]", self._learn(X, y, sample_weight, predict=True))

    def predict_interval(
        self, X: Rows, coverage: float = 0.9, bounds: Bounds | None = None
    ) -> NDArray[np.float64]:
        """Give intervals that contain this share of the targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers.
        coverage : float, default=0.9
            The share of targets that are to be inside, above 0 and below 1. Those from 0.5 to 0.99
            are followed; for others see the Notes of `KernelRegressor`.
        bounds : (float or None, float or None), optional
            The range of possible targets, such as ``(0, None)`` where none is negative. Ends beyond
            it are moved to it, which excludes no target.

        Returns
        -------
        intervals : ndarray of shape (n, 2) or (n, n_targets, 2)
            Lower and upper ends, infinite before the second row was learned. Several targets have
            their coverage each, not together.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row, the coverage or a bound is bad; the message names it.
        """
        limits = checked_bounds(bounds)
        check_is_fitted(self)
        ends = self._core.interval(self._rows_to_predict(X), checked_coverage(coverage))
        return self._ends(ends.reshape(len(ends), -1, 2)).clip(*limits)

    def partial_fit_predict_interval(
        self,
        X: Source,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        coverage: float = 0.9,
        bounds: Bounds | None = None,
    ) -> NDArray[np.float64]:
        """Give the interval of each row just before learning it (prequential intervals).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Rows of finite numbers, n at least 1. Or a source of batches, as for `partial_fit`.
        y : array-like of shape (n,) or (n, n_targets), or str or list of str, optional
            Their targets, finite; or the names of their columns in a frame or source.
        sample_weight : array-like of shape (n,), optional
            As for `partial_fit`.
        coverage : float, default=0.9
            As for `predict_interval`.
        bounds : (float or None, float or None), optional
            As for `predict_interval`.

        Returns
        -------
        intervals : ndarray of shape (n, 2) or (n, n_targets, 2)
            The interval for row i made when the rows before it had been learned; those of the first
            two rows of all are infinite.

        Raises
        ------
        ValueError, TypeError
            A row, the coverage or a bound is bad (the message names it); the model is as it was.
        """
        limits = checked_bounds(bounds)
        prequential = Prequential(coverage=checked_coverage(coverage))
        self._learn(X, y, sample_weight, prequential=prequential)
        _, intervals = cast(Any, prequential.intervals)
        return self._ends(intervals).clip(*limits)

    def learn_one(self, x: Row, y: float | Sequence[float]) -> None:
        """Learn one row: `partial_fit` for live use, without its checks and copies.

        Parameters
        ----------
        x : float64 array or sequence of n_features floats, or dict of values by column
            The row.
        y : float or sequence of n_targets floats
            Its target or targets.

        Raises
        ------
        ValueError, TypeError
            The row is bad; the model is as it was.
        """
        try:
            core = self._core
        except AttributeError:
            self._learn_first(x, y)
            return
        try:
            core.learn_one(self._row(x), y)
        except TypeError:
            # None for a target that is missing, and other numbers than floats.
            targets = self._check_targets(np.atleast_1d(np.asarray(y, object))[None], None)
            core.learn_one(self._row(x), targets[0])

    @overload
    def predict_one(  # numpydoc ignore=GL08
        self, x: Row, return_std: Literal[False] = False
    ) -> float | NDArray[np.float64]: ...

    @overload
    def predict_one(  # numpydoc ignore=GL08
        self, x: Row, return_std: Literal[True]
    ) -> tuple[float, float] | tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    def predict_one(self, x: Row, return_std: bool = False) -> Any:
        """Predict one row, for live use.

        Parameters
        ----------
        x : float64 array or sequence of n_features floats, or dict of values by column
            The row.
        return_std : bool, default=False
            Whether to give the standard deviation too, as a pair: see `predict`.

        Returns
        -------
        prediction : float, or ndarray of shape (n_targets,) if there are several
            The prediction.
        deviation : the same, if `return_std`
            Its standard deviation.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            The row is bad, or the learner does not know deviations.
        """
        try:
            core = self._core
        except AttributeError:
            check_is_fitted(self)
            raise
        row = self._row(x)
        return core.predict_one_with_deviation(row) if return_std else core.predict_one(row)

    @property
    def n_outputs_(self) -> int:
        """Number of targets."""
        check_is_fitted(self)
        return cast(int, self._core.n_outputs)

    @property
    def n_limited_(self) -> int:
        """Rows so far whose target was learned winsorized."""
        check_is_fitted(self)
        return int(self._core.n_limited)

    @property
    def noise_(self) -> Any:
        """Standard deviation of the noise; None where the learner does not know."""
        check_is_fitted(self)
        noise = self._core.noise
        if noise is None:
            return None
        return float(noise[0]) if self._single else cast("NDArray[np.float64]", noise)

    @property
    def log_marginal_likelihood_(self) -> Any:
        """Logarithm of the marginal likelihood of the targets; None where it is not known."""
        check_is_fitted(self)
        each = self._core.log_marginal_likelihood
        if each is None:
            return None
        return float(each[0]) if self._single else cast("NDArray[np.float64]", each)

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = 0, *, noise: bool = True
    ) -> NDArray[np.float64]:
        """Draw targets of rows from their joint distribution, as a Gaussian process does.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Rows.
        n_samples : int, default=1
            How many draws.
        random_state : int, RandomState or None, default=0
            What they are drawn by.
        noise : bool, default=True
            Whether draws are of targets, with their noise, or of the function without it, as those
            of scikit-learn's ``GaussianProcessRegressor``.

        Returns
        -------
        draws : ndarray of shape (n, n_samples) or (n, n_targets, n_samples)
            The draws: about ``predict(X)``, with the covariance of ``return_cov=True``.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad, or the learner does not know deviations.
        """
        check_is_fitted(self)
        count = whole_number("n_samples", n_samples)
        source = check_random_state(random_state)
        return draws_of(self, self._rows_to_predict(X), count, source, noise=noise)

    def _learn(self, X: Any, y: Any, sample_weight: Any, **how: Any) -> Any:
        given = sample_weight is not None and not isinstance(sample_weight, str)
        if given and getattr(self, "learner", None) is not None:
            refuse_weights_for_interpolation(sample_weight, self._chosen_learner())
        return super()._learn(X, y, sample_weight, **how)

    def gradient(self, X: ArrayLike) -> NDArray[np.float64]:
        """Give the slopes of the predictions: their derivatives with respect to the columns.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.

        Returns
        -------
        gradient : ndarray of shape (n, n_features), or (n, n_targets, n_features)
            Entry (i, j) is the derivative of the prediction for row i with respect to column j, in
            units of the target over units of the column. Three-dimensional if the targets learned
            were two-dimensional.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad, or predictions have no gradient here: those on stored points do, with
            `ALD` or `AllPoints`, with respect to columns of numbers.

        Notes
        -----
        It is that of the linear model in the coordinates. What a learner does with its prediction
        after that (``Ridge(prediction="awv")``, a radius that it is kept within) is left out.
        """
        check_is_fitted(self)
        rows = self._rows_to_predict(X)
        for name, kind in columns_of(self).kinds.items():
            if kind["type"] != "number":
                raise ValueError(
                    f"column {name!r} holds {_HELD[kind['type']]}, with respect to which "
                    "predictions have no gradient here: learn columns of numbers alone for "
                    "gradients"
                )
        slopes = cast("NDArray[np.float64]", self._core.gradient(rows))
        return slopes[:, 0] if self._single else slopes

    def _check_targets(self, y: ArrayLike, classes: ArrayLike | None) -> NDArray[np.float64]:
        if classes is not None:
            raise TypeError(
                f"{type(self).__name__} predicts numbers, which have no classes: leave classes out"
            )
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        try:
            targets = numbers_of(y, "y", estimator=self, ensure_2d=False, partial=True)
        except (ValueError, TypeError):
            if text := first_of(y, (str, bytes)):
                raise _labels_given(type(self).__name__, text, self._classifier) from None
            raise
        if getattr(self, "learner", None) is not None:
            refuse_numbers_for_labels(targets, self._chosen_learner())
        return targets

    def _find_sentinel(self, targets: NDArray[np.float64]) -> Sentinel | None:
        numbers = self._encode(targets)
        if self._warned_of_sentinel or np.isinf(numbers).any():
            return None
        return find_sentinel(numbers, self._sentinels_to_name)

    def _warn_of_outliers(
        self, targets: NDArray[Any], found: Sentinel | None, limited: list[tuple[int, float]]
    ) -> None:
        if found is not None:
            self._warned_of_sentinel = True
            is_limited = (found.column, found.value) in limited
            learned, remedy = self._describe_learned(found, limited=is_limited)
            place = self._place_of_target(found.row, found.column)
            advise(
                f"y contains {found.describe(place, learned)}: if it stands for a missing value, "
                f"leave the row out{remedy}",
                SentinelWarning,
            )
            self._warned_of_limits |= is_limited
        # Few rows do not show what is ordinary.
        if not limited or self._warned_of_limits or self.n_seen_ < _FEWEST_TO_WARN:
            return
        self._warned_of_limits = True
        output, target = limited[-1]
        rows = np.flatnonzero(self._encode(targets)[:, output] == target)
        place = self._place_of_target(rows[-1], output) if rows.size else "an earlier row"
        advise(
            f"{type(self).__name__} met a target far beyond all errors so far, {target:.6g} at "
            f"{place}, and learned the nearest ordinary value instead (n_limited_ counts such "
            "rows): if it is an error, leave the row out; if rare targets of that size are real, "
            f"learn their logarithm or {self._learning_unlimited}",
            OutlierWarning,
        )

    def _place_of_target(self, row: int, column: int) -> str:
        return f"row {row}" if self._single else f"row {row}, column {column}"

    @property
    def _learning_unlimited(self) -> str:
        """How to learn targets as they are."""
        way = "give --no-scale" if by_options() else "pass scale=False"
        return f"{way}, which takes targets and columns as they are"

    @property
    def _classifier(self) -> str:
        """The class of the same kind that learns labels."""
        return "KernelClassifier"

    @property
    def _sentinels_to_name(self) -> Literal["any", "known", "far"]:
        """Which targets are warned of."""
        return "any"

    def _describe_learned(self, found: Sentinel, *, limited: bool) -> tuple[str, str]:
        """Describe what is learned of a target that may be missing, and a remedy."""
        if limited:
            return "is learned as the nearest ordinary value (n_limited_ counts these)", ""
        unlimited = found.is_far and not self.scale
        return "is learned as it is", "; scale=True winsorizes outliers" if unlimited else ""

    def _begin_targets(
        self, targets: NDArray[Any], classes: ArrayLike | None, *, complete: bool
    ) -> None:
        del classes, complete
        self._single = targets.ndim == 1
        self._warned_of_sentinel = self._warned_of_limits = False

    def _encode(self, targets: NDArray[np.float64]) -> NDArray[np.float64]:
        return targets[:, None] if targets.ndim == 1 else targets

    def _decode(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        return outputs[:, 0] if self._single else outputs

    def _ends(self, intervals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give intervals (n, n_outputs, 2) in the shape of the targets."""
        return np.stack([self._decode(intervals[..., 0]), self._decode(intervals[..., 1])], axis=-1)

    def _error(self, n_outputs: int) -> tuple[RunningError, Callable[[Any], Any]]:
        return RunningError(n_outputs), lambda outputs: outputs

    def _state(self) -> dict[str, Any]:
        return super()._state() | {"single_target": self._single}

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        model = super()._from_state(core, state)
        model._single = bool(state["single_target"])
        model._warned_of_limits = core.n_limited > 0
        return model


def _labels_given(name: str, text: str, classifier: str) -> ValueError:
    return ValueError(
        f"y contains strings ({text}), but {name} predicts numbers: for labels use {classifier}"
    )
