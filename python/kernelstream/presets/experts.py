"""Lists of regressors for `KernelExperts`."""

from __future__ import annotations

import math
from itertools import product

from kernelstream.components.bases import ALD
from kernelstream.components.kernels import Gaussian
from kernelstream.components.learners import Ridge
from kernelstream.supervised.regressor import KernelRegressor

__all__ = ["bandwidth_grid"]

# Over the square root of the number of features: from features within [-1, 1] to standardized ones.
_BANDWIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
_REGULARIZATIONS = (1e-4, 1e-3, 1e-2, 1e-1)
_TOLERANCE = 1e-4


def bandwidth_grid(n_features: int, max_size: int = 150) -> list[KernelRegressor]:
    """Twenty regressors of five bandwidths with four regularizations each, to be mixed.

    For ``KernelExperts(bandwidth_grid(n_features))`` on features that are standardized or within
    [-1, 1]. The twenty hold about 10 MB and learn a row of 18 features in 28 µs on one thread, 15
    on two, or 105 by itself.

    Parameters
    ----------
    n_features : int
        Width of a row, 1 or more: bandwidths are a quarter to four times its square root.
    max_size : int, default=150
        At most this many points stored by each.

    Returns
    -------
    experts : list of KernelRegressor
        `Gaussian`, ``ALD(1e-4, max_size)`` and `Ridge` with 1e-4 to 1e-1.
    """
    root = math.sqrt(n_features)
    return [
        KernelRegressor(Gaussian(factor * root), ALD(_TOLERANCE, max_size), Ridge(regularization))
        for factor, regularization in product(_BANDWIDTHS, _REGULARIZATIONS)
    ]
