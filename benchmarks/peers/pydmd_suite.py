"""Runs PyDMD's own tests of kernel EDMD on kernelstream's operator.

Its source, with the tests, is at pypi.org (pydmd-*.tar.gz), to be unpacked first; it must be
installed too. An adapter gives `Koopman` the constructor and attributes that the tests read. What
they check of names and types of PyDMD's parameters is the adapter's, the rest is the operator's.

python benchmarks peers pydmd_suite FOLDER [arguments of pytest]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics.pairwise import KERNEL_PARAMS

import kernelstream as ks
from kernelstream.koopman import ReducedRank

KERNELS = {
    "linear": lambda _: ks.Linear(),
    "poly": lambda p: ks.Polynomial(p.get("degree", 3), scale=p.get("gamma"), offset=p["coef0"]),
    "rbf": lambda p: ks.Gaussian((2 * p["gamma"]) ** -0.5),
}


class Operator:
    """Refuses what a kernel method does not have, as PyDMD does."""

    @property
    def as_numpy_array(self):
        raise ValueError("the operator acts on functions; modes and eigenvalues determine it")

    shape = as_numpy_array


class EDMD:
    """`Koopman` with the names of PyDMD's class."""

    def __init__(self, svd_rank=-1, *, kernel_metric="linear", kernel_params=None):
        parameters = {} if kernel_params is None else kernel_params
        if svd_rank == 0:
            raise ValueError("svd_rank must not be 0")
        if not isinstance(parameters, dict):
            raise TypeError("kernel_params must be a dict")
        known = KERNEL_PARAMS.get(kernel_metric, ())
        numbers = all(isinstance(value, int | float) for value in parameters.values())
        if kernel_metric not in KERNELS or not set(parameters) <= set(known) or not numbers:
            raise ValueError("the kernel or its parameters are unknown")
        self.operator = Operator()
        self.model = ks.Koopman(
            KERNELS[kernel_metric](parameters),
            ks.AllPoints(max_size=1_000),
            ks.Ridge(1e-13),
            rank=ReducedRank(svd_rank) if svd_rank > 0 else None,
        )

    def fit(self, X, Y):
        self.X = X.T
        self.model.fit(X.T, Y.T)
        return self

    @property
    def eigs(self):
        return self.model.eigenvalues_

    @property
    def modes(self):
        return self.model.modes().T

    def eigenfunctions(self, x):
        if not isinstance(x, np.ndarray) or x.ndim != 1:
            raise ValueError("eigenfunctions needs a vector")
        return self.model.eigenfunctions(x[None])[0]

    @property
    def reconstructed_data(self):
        later = self.model.predict(self.X[:1], list(range(1, len(self.X))))
        return np.vstack([self.X[:1], later[:, 0]]).T


def main() -> int:
    """Run the tests; the exit code is pytest's."""
    folder = Path(sys.argv[1])
    # What the tests import is the adapter: PyDMD itself has no part in them.
    sys.modules["pydmd.edmd"] = SimpleNamespace(EDMD=EDMD)
    warnings.simplefilter("ignore")
    file = str(folder / "tests" / "test_edmd.py")
    return int(pytest.main([file, "-q", "-p", "no:cacheprovider", *sys.argv[2:]]))


if __name__ == "__main__":
    sys.exit(main())
