"""Regression on a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
)

from kernelstream.components.bases import Basis
from kernelstream.components.kernels import Kernel
from kernelstream.components.learners import Learner
from kernelstream.estimators.base import RowEstimator
from kernelstream.estimators.progress import progress_bar
from kernelstream.estimators.validation import as_float64, sample_weights, unchanged_by_errors

__all__ = ["KernelRegressor"]


class KernelRegressor(
    RowEstimator,
    MultiOutputMixin,
    RegressorMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
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
    verbose : bool, default=False
        Show a progress bar with running error and stored points on work longer than a second
        (needs ``rich``).

    Attributes
    ----------
    dictionary_ : ndarray of shape (n_stored_, n_features_in_)
        The stored points, in the order they were stored; with a budgeted learner a new point takes
        the place of one that left.
    n_seen_ : int
        Rows learned so far.
    n_stored_ : int
        Points stored.
    n_outputs_ : int
        Number of targets.
    n_features_in_ : int
        Width of a row.
    feature_names_in_ : ndarray of str of shape (n_features_in_,)
        Column names, if the first rows came as a data frame with names.

    Notes
    -----
    With ``sample_weight`` the loss of a row counts that many times, in the one round that the row
    has. `Ridge` is then what it would be had the row come as often (rows held by a reservoir and
    `forgetting` count it as one row); so is `GaussNewton` with a squared loss. Otherwise the slope
    of the loss is multiplied, and with it the step of `Gradient` and of budgeted learners, which is
    not several steps one after the other. A row with a weight above 0 is stored, or not, whatever
    its weight. One of weight 0 counts in ``n_seen_`` and changes nothing else.

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
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.basis = basis
        self.learner = learner
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows in one pass.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers, n at least 1. float64 arrays in any memory order are not copied.
        y : array-like of shape (n,) or (n, n_targets)
            Their targets, finite.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, finite, 0 or more; 0: the row is not learned. See
            the Notes of the class. None: 1.

        Returns
        -------
        self : KernelRegressor
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is bad (the message names it) or a parameter is; the model is as it was.
        """
        self._learn(X, y, sample_weight, reset=True)
        return self

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Go on learning with some more rows, in their order.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers, n at least 1. float64 arrays in any memory order are not copied.
        y : array-like of shape (n,) or (n, n_targets)
            Their targets, finite.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, finite, 0 or more; 0: the row is not learned. See
            the Notes of the class. None: 1.

        Returns
        -------
        self : KernelRegressor
            This estimator.

        Raises
        ------
        ValueError, TypeError
            A row is bad (the message names it); the model is as it was.
        KeyboardInterrupt
            Ctrl-C; the rows done by then stay learned (see ``n_seen_``).
        """
        self._learn(X, y, sample_weight, reset=False)
        return self

    def partial_fit_predict(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Predict each row just before learning it (prequential or progressive forecasts).

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers, n at least 1.
        y : array-like of shape (n,) or (n, n_targets)
            Their targets, finite.
        sample_weight : array-like of shape (n,), optional
            How many times each row's loss counts, finite, 0 or more; 0: the row is predicted, and
            not learned. See the Notes of the class. None: 1.

        Returns
        -------
        forecasts : ndarray, of the shape of y
            The prediction for row i made when the rows before it had been learned. The first row of
            all gets 0.

        Raises
        ------
        ValueError, TypeError
            A row is bad (the message names it); the model is as it was.
        """
        return self._learn_part(X, y, sample_weight)

    def learn_one(
        self, x: NDArray[np.float64] | Sequence[float], y: float | Sequence[float]
    ) -> None:
        """Learn one row: `partial_fit` for live use, without its checks and copies.

        Parameters
        ----------
        x : float64 array or sequence of n_features floats
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
            core = self._new_core()
            core.learn_one(x, y)
            self._single = np.ndim(y) == 0
            self.n_features_in_ = core.n_features
            self._core = core
        else:
            core.learn_one(x, y)

    def _learn(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        *,
        reset: bool,
        forecast: bool = False,
        first_row: int = 0,
    ) -> NDArray[np.float64] | None:
        fresh = reset or "_core" not in vars(self)
        with unchanged_by_errors(self):
            rows = self._rows(X, reset=fresh)
            targets = self._targets(y, rows)
            weights = sample_weights(sample_weight, rows, some=reset)
            if fresh:
                self._core = self._new_core()
                self._single = targets.ndim == 1
            matrix = targets[:, None] if targets.ndim == 1 else targets
            return self._feed(
                rows,
                matrix,
                progress_bar,
                forecast=forecast,
                weights=weights,
                first_row=first_row,
            )

    def _learn_part(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        first_row: int = 0,
    ) -> NDArray[np.float64]:
        """Predict and learn rows that may be a part of a user's, from its row `first_row` on."""
        forecasts = self._learn(
            X, y, sample_weight, reset=False, forecast=True, first_row=first_row
        )
        assert forecasts is not None  # noqa: S101  (asked for)
        return self._shaped(forecasts)

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the targets of rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows of finite numbers.

        Returns
        -------
        predictions : ndarray of shape (n,) or (n, n_targets)
            One-dimensional if the targets learned were.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            A row is bad; the message names it.
        """
        check_is_fitted(self)
        return self._shaped(self._core.predict(self._rows(X, reset=False)))

    def predict_one(self, x: NDArray[np.float64] | Sequence[float]) -> float | NDArray[np.float64]:
        """Predict one row, for live use.

        Parameters
        ----------
        x : float64 array or sequence of n_features floats
            The row.

        Returns
        -------
        prediction : float, or ndarray of shape (n_targets,) if there are several
            The prediction.

        Raises
        ------
        NotFittedError
            Nothing has been learned yet.
        ValueError, TypeError
            The row is bad.
        """
        try:
            core = self._core
        except AttributeError:
            check_is_fitted(self)
            raise
        return core.predict_one(x)  # type: ignore[no-any-return]

    @property
    def n_outputs_(self) -> int:
        """Number of targets."""
        check_is_fitted(self)
        return cast(int, self._core.n_outputs)

    def _targets(self, y: ArrayLike, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        checked = check_array(
            y,
            ensure_2d=False,
            dtype="numeric",
            ensure_all_finite=False,
            input_name="y",
            estimator=self,
        )
        targets = as_float64(checked, "y")
        check_consistent_length(rows, targets)
        return targets

    def _shaped(self, predictions: NDArray[np.float64]) -> NDArray[np.float64]:
        return predictions[:, 0] if self._single else predictions

    def _state(self) -> dict[str, Any]:
        return super()._state() | {"single_target": self._single}

    @classmethod
    def _from_state(cls, core: Any, state: Mapping[str, Any]) -> Self:
        model = super()._from_state(core, state)
        model._single = bool(state["single_target"])
        return model
