"""Recursive least squares: KRLS, kernel ridge regression, Kernel-AWV and PKAWV."""

from __future__ import annotations

from typing import Literal

from kernelstream.components.bases import ALD, KORS, AllPoints, Taylor
from kernelstream.components.kernels import Kernel
from kernelstream.components.learners import Ridge
from kernelstream.supervised.regressor import KernelRegressor

__all__ = ["kernel_awv", "kernel_ridge", "krls_ald", "pkawv_nystroem", "pkawv_taylor"]


def krls_ald(
    kernel: Kernel | None = None, tolerance: float = 1e-3, max_size: int | None = None
) -> KernelRegressor:
    """Kernel recursive least squares on ALD coordinates (KRLS), not regularized.

    A row costs about ``m d + 5 m^2`` operations and memory is ``m (d + 2 m)`` for m stored points.
    The paper updates the inverse Gram matrix of the stored points, whose error grows with the
    condition number; here its Cholesky factor is extended, which gives the same predictions.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    tolerance : float, default=1e-3
        ALD tolerance, in (0, 1).
    max_size : int, optional
        At most this many stored points.

    Returns
    -------
    model : KernelRegressor
        The estimator.

    References
    ----------
    Y. Engel, S. Mannor, R. Meir, "The kernel recursive least-squares algorithm", IEEE Transactions
    on Signal Processing, 2004.
    """
    learner = Ridge(regularization=0.0, center=False, clip=False)
    return KernelRegressor(kernel, ALD(tolerance, max_size), learner, scale=False)


def kernel_ridge(
    kernel: Kernel | None = None, regularization: float = 1e-2, max_size: int | None = None
) -> KernelRegressor:
    """Exact online kernel ridge regression: the batch solution after every row.

    Time and memory of row t are proportional to t^2.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    regularization : float, default=1e-2
        Weight of the squared norm, above 0.
    max_size : int, optional
        At most this many stored points.

    Returns
    -------
    model : KernelRegressor
        The estimator; memory grows with the square of the number of rows unless ``max_size`` limits
        it.
    """
    learner = Ridge(regularization, center=False, clip=False)
    return KernelRegressor(kernel, AllPoints(max_size), learner, scale=False)


def kernel_awv(
    kernel: Kernel | None = None, regularization: float = 1.0, max_size: int | None = None
) -> KernelRegressor:
    """Exact kernel Vovk-Azoury-Warmuth forecaster (Kernel-AWV) on all points.

    Time and memory of row t are proportional to t^2. A prediction is that of kernel ridge
    regression divided by ``1 + q``, with q the leverage of the row before it is learned: this
    follows from the paper's equation (3); its Algorithm 1 has A_t in place of A_{t-1}.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    regularization : float, default=1.0
        Weight of the squared norm, above 0.
    max_size : int, optional
        At most this many stored points.

    Returns
    -------
    model : KernelRegressor
        The estimator; memory grows with the square of the number of rows unless ``max_size`` limits
        it.

    References
    ----------
    R. Jezequel, P. Gaillard, A. Rudi, "Efficient online learning with kernels for adversarial large
    scale problems", NeurIPS 2019.
    """
    learner = Ridge(regularization, center=False, clip=False, prediction="awv")
    return KernelRegressor(kernel, AllPoints(max_size), learner, scale=False)


def pkawv_taylor(
    kernel: Kernel | None = None, regularization: float = 1.0, degree: int = 2
) -> KernelRegressor:
    """Vovk-Azoury-Warmuth forecaster on Taylor features of the Gaussian kernel (PKAWV).

    A row costs about ``3 r^2`` operations and memory is ``r^2``, for ``r = binomial(degree + d,
    degree)`` functions of d features; no point is stored. The paper's flattened outer products
    contain functions repeatedly (d = 9, degree 4: 7,381 instead of 715); the predictions are the
    same. Its Algorithm 1 has A_t on the right-hand side in place of A_{t-1}.

    Parameters
    ----------
    kernel : Gaussian, optional
        The kernel; only the Gaussian one has this expansion. None: ``Gaussian()``.
    regularization : float, default=1.0
        Weight of the squared norm, above 0.
    degree : int, default=2
        Largest degree M, 0 to 20.

    Returns
    -------
    model : KernelRegressor
        The estimator.

    References
    ----------
    R. Jezequel, P. Gaillard, A. Rudi, "Efficient online learning with kernels for adversarial large
    scale problems", NeurIPS 2019, section 3.1 and Algorithm 1.
    """
    learner = Ridge(regularization, center=False, clip=False, prediction="awv")
    return KernelRegressor(kernel, Taylor(degree), learner, scale=False)


def pkawv_nystroem(
    kernel: Kernel | None = None,
    regularization: float = 1.0,
    mu: float = 1.0,
    *,
    history: Literal["none", "reservoir", "exact"] = "reservoir",
    reservoir: int = 500,
    max_size: int | None = None,
    random_state: int = 0,
) -> KernelRegressor:
    """Vovk-Azoury-Warmuth forecaster on points sampled by leverage score (PKAWV with KORS).

    A row costs ``m d`` and about ``7 m^2`` operations for m stored points. The paper's
    version (``history="exact"``) keeps all rows, and storing a point costs time proportional to
    their number; with the reservoir, which is not in the paper, memory is constant and the loss on
    casp is within 1 % of it. Sampled points have weights 1 / sqrt(p); the paper's appendix H has
    1 / p and stores half as many. Factors are kept in coordinates; the paper's recursion on kernel
    values fails in single precision.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    regularization : float, default=1.0
        Weight lambda of the squared norm, above 0.
    mu : float, default=1.0
        KORS's mu, above 0: larger stores fewer points.
    history : {"none", "reservoir", "exact"}, default="reservoir"
        Initialization of a new coordinate from past rows, see `Ridge`.
    reservoir : int, default=500
        Number of rows kept with ``history="reservoir"``.
    max_size : int, optional
        At most this many stored points.
    random_state : int, default=0
        Seed of the sampled points and of the reservoir.

    Returns
    -------
    model : KernelRegressor
        The estimator.

    References
    ----------
    R. Jezequel, P. Gaillard, A. Rudi, "Efficient online learning with kernels for adversarial large
    scale problems", NeurIPS 2019, section 3.2 and Algorithm 2.
    """
    learner = Ridge(
        regularization,
        center=False,
        clip=False,
        prediction="awv",
        history=history,
        reservoir=reservoir,
        random_state=random_state,
    )
    return KernelRegressor(
        kernel, KORS(mu, max_size=max_size, random_state=random_state), learner, scale=False
    )
