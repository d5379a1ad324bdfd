"""Runs kooplearn's own tests of its kernel estimators on kernelstream's operator.

Its source, with the tests, is at pypi.org (kooplearn-*.tar.gz), to be unpacked first; it must be
installed too. An adapter gives `Koopman` the constructors and methods that the tests call, each a
line or two; what they check is the operator's.

python benchmarks peers kooplearn_suite FOLDER [arguments of pytest]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

import kernelstream as ks
from kernelstream.koopman import ReducedRank

SUITES = ["test_kernel_ridge_estimator.py", "test_kernel_nystroem_estimator.py"]


class KernelRidge(BaseEstimator):
    """`Koopman` with the names of kooplearn's class; solvers that it does not have are ignored."""

    def __init__(
        self,
        n_components=None,
        *,
        lag_time=1,
        reduced_rank=True,
        kernel="linear",
        gamma=None,
        alpha=1e-6,
        eigen_solver="auto",
        **of_solvers,
    ):
        del of_solvers
        self.n_components = n_components
        self.lag_time = lag_time
        self.reduced_rank = reduced_rank
        self.kernel = kernel
        self.gamma = gamma
        self.alpha = alpha
        self.eigen_solver = eigen_solver

    def _basis(self, n):
        return ks.AllPoints(max_size=n)

    def _kernel(self, d):
        gamma = self.gamma or 1 / d
        kernels = {
            "linear": ks.Linear(),
            "rbf": ks.Gaussian((2 * gamma) ** -0.5),
            "laplacian": ks.ManhattanLaplacian(1 / gamma),
        }
        return ks.Linear() if callable(self.kernel) else kernels[self.kernel]

    def _rows(self, X):
        return self.features_.transform(X) if callable(self.kernel) else np.asarray(X)

    def fit(self, X, y=None):
        X = validate_data(self, X, ensure_min_samples=1 + self.lag_time)
        solvable = self.eigen_solver != "randomized" or self.alpha
        if self.reduced_rank and not solvable:
            raise ValueError("the randomized solver needs a regularization")
        if y is not None and len(y) != len(X):
            raise ValueError("y has another number of rows")
        if callable(self.kernel):
            self.features_ = ks.FunctionKernel(self.kernel).fit(X)
        self.X_fit_, self.y_fit_ = X, y
        rows = self._rows(X)
        rank = min(self.n_components or len(X), len(X) - self.lag_time)
        self.operator_ = ks.Koopman(
            self._kernel(X.shape[1]),
            self._basis(2 * len(X)),
            # It divides by the pairs; an operator here must have some regularization.
            ks.Ridge((self.alpha or 1e-14) * (len(X) - self.lag_time)),
            lag=self.lag_time,
            rank=ReducedRank(rank) if self.reduced_rank else rank,
            n_blocks=1,
        )
        self.operator_.fit(rows[: -self.lag_time], rows[self.lag_time :])
        stored = self.operator_.dictionary_next_
        places = [np.flatnonzero((rows == row).all(axis=1))[0] for row in stored]
        self.stored_ = np.array(places)
        # A conjugate pair at the end is kept together unless its number is said.
        self.rank_ = min(rank, len(self.operator_.eigenvalues_))
        self.U_ = self.operator_.eig(eval_right_on=rows, k=self.rank_)[1]
        return self

    def _observable(self, observable):
        if observable is False:
            return np.asarray(self.X_fit_)[self.stored_]
        if observable is not True or self.y_fit_ is None:
            raise ValueError("observable must be True or False, and y given to fit")
        return np.asarray(self.y_fit_)[self.stored_]

    def predict(self, X, n_steps=1, observable=False):
        check_is_fitted(self)
        values = self._observable(observable)
        return self.operator_.expectation(values, self._rows(X), n_steps)

    def eig(self, eval_left_on=None, eval_right_on=None):
        check_is_fitted(self)
        given = [None if X is None else self._rows(X) for X in (eval_left_on, eval_right_on)]
        return self.operator_.eig(*given, k=self.rank_)

    def dynamical_modes(self, X, observable=False):
        modes = self.operator_.modes(self._observable(observable))
        functions = self.operator_.eigenfunctions(self._rows(X))
        return functions.T[:, :, None] * modes[:, None, :]

    def _svals(self):
        return self.operator_.singular_values_

    def risk(self, X=None):
        before, after = self._split_trajectory(self._rows(self.X_fit_ if X is None else X))
        return self.operator_.risk(before, after)

    def _split_trajectory(self, X):
        return X[: -self.lag_time], X[self.lag_time :]

    def score(
        self, X=None, y=None, n_steps=1, observable=False, metric=r2_score, **metric_parameters
    ):
        check_is_fitted(self)
        if X is None:
            X, y = self.X_fit_, self.y_fit_
        if observable and (y is None or len(y) != len(X)):
            raise ValueError("y must have the observable of each state")
        before, after = self._split_trajectory(np.asarray(X))
        target = self._split_trajectory(np.asarray(y))[1] if observable else after
        predicted = self.predict(before, n_steps, observable)
        rows = len(target) - n_steps + 1
        return metric(target[n_steps - 1 :], predicted[:rows], **metric_parameters)


class NystroemKernelRidge(KernelRidge):
    """The same with few stored states."""

    def __init__(self, n_components=None, *, n_centers=0.1, **others):
        super().__init__(n_components, **others)
        self.n_centers = n_centers

    def _basis(self, n):
        share = isinstance(self.n_centers, float)
        return ks.FirstPoints(max(2, int(self.n_centers * n / 2) if share else self.n_centers))


def main() -> int:
    """Run the tests; the exit code is pytest's."""
    import kooplearn.kernel  # noqa: PLC0415  (an optional package)

    kooplearn.kernel.KernelRidge = KernelRidge
    kooplearn.kernel.NystroemKernelRidge = NystroemKernelRidge
    folder = Path(sys.argv[1])
    warnings.simplefilter("ignore")
    files = [str(folder / "tests" / suite) for suite in SUITES]
    return int(pytest.main([*files, "-q", "-p", "no:cacheprovider", *sys.argv[2:]]))


if __name__ == "__main__":
    sys.exit(main())
