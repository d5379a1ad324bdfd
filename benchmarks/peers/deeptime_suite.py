"""Runs deeptime's own tests of VAMP on kernelstream's operator.

Its source, with the tests, is at github.com/deeptime-ml/deeptime; it must be installed too. An
adapter gives `Koopman(Linear())` the constructor and methods that the tests call. Means and
covariances of the data are numpy's; what is decomposed, scored and propagated is the operator's.
Left out are the nine tests of deeptime's own class of models (`expectation` and `propagate`).

python benchmarks peers deeptime_suite FOLDER [arguments of pytest]
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import kernelstream as ks
from kernelstream.koopman import chapman_kolmogorov

# Singular values below this are rounding.
SMALLEST = 1e-6


class Model:
    """An operator with the names of deeptime's model."""

    def __init__(self, operator, pairs, estimator):
        self.operator_model = operator
        self.X, self.Y = pairs
        self.scaling, self.epsilon = estimator.scaling, estimator.epsilon
        self.dim, self.var_cutoff = estimator.dim, estimator.var_cutoff
        correlations = operator.singular_values_[1:]
        self.singular_values = correlations[correlations > SMALLEST]
        if not len(self.singular_values):
            from deeptime.numeric import ZeroRankError  # noqa: PLC0415  (an optional package)

            raise ZeroRankError("nothing varies")
        self.mean_0, self.mean_t = self.X.mean(axis=0), self.Y.mean(axis=0)
        before, after = self.X - self.mean_0, self.Y - self.mean_t
        self.cov_00, self.cov_0t, self.cov_tt = (
            a.T @ b / len(a) for a, b in ((before, before), (before, after), (after, after))
        )

    @property
    def cumulative_kinetic_variance(self):
        squares = np.cumsum(self.singular_values**2)
        return squares / squares[-1]

    @property
    def output_dimension(self):
        if self.var_cutoff is not None:
            below = self.cumulative_kinetic_variance < self.var_cutoff
            return min(int(np.sum(below)) + 1, len(below))
        return min(self.dim or len(self.singular_values), len(self.singular_values))

    @property
    def operator(self):
        return np.diag(self.singular_values[: self.output_dimension])

    def _functions(self, X, *, right):
        count = self.output_dimension + 1
        return self.operator_model.singular_functions(X, count, right=right)[:, 1:]

    def forward(self, X, propagate=True):
        functions = self._functions(X, right=False)
        return functions @ self.operator if propagate else functions

    def backward(self, X, propagate=True):
        functions = self._functions(X, right=True)
        return functions @ self.operator if propagate else functions

    def transform(self, X, propagate=False):
        if self.scaling in {"km", "kinetic_map"}:
            return self.operator_model.kinetic_map(X, self.output_dimension)
        return self.forward(X, propagate)

    def _vectors(self, *, right):
        # The functions are linear: their values at the unit vectors, less those at zero.
        values = self._functions(np.vstack([np.eye(self.X.shape[1]), 0 * self.X[:1]]), right=right)
        return values[:-1] - values[-1]

    @property
    def singular_vectors_left(self):
        return self._vectors(right=False)

    @property
    def singular_vectors_right(self):
        return self._vectors(right=True)

    def score(self, r, test_model=None):
        data = () if test_model is None else (test_model.X, test_model.Y)
        return self.operator_model.vamp_score(*data, method=f"VAMP{r}", k=None)


class VAMP:
    """`Koopman(Linear())` with the names of deeptime's class."""

    def __init__(self, lagtime=None, dim=None, var_cutoff=None, scaling=None, epsilon=1e-6):
        if dim is not None and dim < 1:
            raise ValueError("dim must be 1 or more")
        if var_cutoff is not None and not 0 < var_cutoff <= 1:
            raise ValueError("var_cutoff must be above 0 and at most 1")
        self.lagtime, self.dim, self.var_cutoff = lagtime, dim, var_cutoff
        self.scaling, self.epsilon = scaling, epsilon
        self._start()

    def _start(self):
        self.pairs = []
        self.operator = ks.Koopman(
            ks.Linear(), ks.ALD(1e-12), ks.Ridge(1e-9), lag=self.lagtime or 1, n_blocks=1
        )

    @staticmethod
    def covariance_estimator(lagtime):
        return VAMP(lagtime)

    def _pairs(self, data):
        if isinstance(data, tuple):
            return [data]
        if hasattr(data, "trajectories"):
            data = list(data.trajectories)
        elif hasattr(data, "trajectory"):
            data = [data.trajectory]
        elif hasattr(data, "data_lagged"):
            return [(data.data, data.data_lagged)]
        elif hasattr(data, "subsets"):
            return [(part.data, part.data_lagged) for part in data.subsets]
        pieces = data if isinstance(data, list) else [data]
        return [(piece[: -self.lagtime], piece[self.lagtime :]) for piece in pieces]

    def fit(self, data):
        if isinstance(data, Model):
            self.operator, self.pairs = data.operator_model, [(data.X, data.Y)]
            return self
        self._start()
        for pair in self._pairs(data):
            self.partial_fit(pair)
        return self

    fit_from_timeseries = fit

    def partial_fit(self, pair):
        self.pairs.append(pair)
        self.operator.partial_fit(*pair)
        return self

    def fetch_model(self):
        X, Y = (np.concatenate(part) for part in zip(*self.pairs, strict=True))
        return Model(self.operator, (X, Y), self)

    def transform(self, X):
        return self.fetch_model().transform(X)

    def chapman_kolmogorov_validator(self, mlags):
        return Validator(self, mlags)


class Validator:
    """`chapman_kolmogorov` with the names of deeptime's class."""

    def __init__(self, estimator, mlags):
        self.estimator, self.mlags = estimator, mlags

    def fit(self, data):
        operator, dim = self.estimator.operator, self.estimator.dim
        result = chapman_kolmogorov(operator, data, self.mlags, k=dim)
        self.predictions, self.estimates = result.predicted, result.estimated
        return self

    def fetch_model(self):
        return self


def main() -> int:
    """Run the tests; the exit code is pytest's."""
    import deeptime.decomposition  # noqa: PLC0415  (an optional package)

    deeptime.decomposition.VAMP = VAMP
    folder = Path(sys.argv[1])
    sys.path.insert(0, str(folder))
    os.chdir(folder)
    warnings.simplefilter("ignore")
    others = "not test_expectation_sanity and not test_propagate"
    file = "tests/decomposition/test_vamp.py"
    return int(pytest.main([file, "-q", "-p", "no:cacheprovider", "-k", others, *sys.argv[2:]]))


if __name__ == "__main__":
    sys.exit(main())
