"""Named algorithms of the literature: cells of the table basis x learner x loss.

Each function returns an ordinary `KernelRegressor`; its parts may be changed with ``set_params``.
"""

from __future__ import annotations

from kernelstream.bases import ALD, AllPoints
from kernelstream.kernels import Kernel
from kernelstream.learners import Gradient, OnlineNewton, Ridge
from kernelstream.regressor import KernelRegressor

__all__ = ["aogd_ald", "kernel_awv", "kernel_ridge", "krls_ald", "nons_ald"]


def aogd_ald(
    kernel: Kernel | None = None,
    tolerance: float = 1e-3,
    radius: float | None = None,
    max_size: int | None = None,
) -> KernelRegressor:
    """Adaptive online gradient descent on ALD coordinates (AOGD-ALD).

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    tolerance : float, default=1e-3
        ALD tolerance, in (0, 1).
    radius : float, optional
        Radius U of the ball the weights stay in, which also sets the step, above 0.
        None: twice the largest absolute target seen.
    max_size : int, optional
        At most this many stored points.

    Returns
    -------
    model : KernelRegressor
        The estimator.

    References
    ----------
    J. Li, S. Liao, "Nearly optimal algorithms with sublinear computational complexity for online
    kernel regression", ICML 2023, Algorithm 1.
    """
    learner = Gradient(step=None, schedule="adaptive", radius=radius)
    return KernelRegressor(kernel, ALD(tolerance, max_size), learner)


def nons_ald(
    kernel: Kernel | None = None,
    mu: float = 1.0,
    tolerance: float = 1e-3,
    bound: float | None = None,
    target_bound: float | None = None,
    max_size: int | None = None,
) -> KernelRegressor:
    """Online Newton steps on ALD coordinates (NONS-ALD).

    It predicts and learns on every round, also on those that store a point, where the printed
    algorithm does neither.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    mu : float, default=1.0
        Starting diagonal of the second-order matrix, above 0.
    tolerance : float, default=1e-3
        ALD tolerance, in (0, 1).
    bound : float, optional
        Bound U on predictions, above 0. None: the largest absolute target seen.
    target_bound : float, optional
        Bound Y on targets, above 0. None: the largest absolute target seen.
    max_size : int, optional
        At most this many stored points.

    Returns
    -------
    model : KernelRegressor
        The estimator.

    References
    ----------
    J. Li, S. Liao, "Nearly optimal algorithms with sublinear computational complexity for online
    kernel regression", ICML 2023, Algorithm 3.
    """
    learner = OnlineNewton(mu, bound, target_bound)
    return KernelRegressor(kernel, ALD(tolerance, max_size), learner)


def krls_ald(
    kernel: Kernel | None = None, tolerance: float = 1e-3, max_size: int | None = None
) -> KernelRegressor:
    """Kernel recursive least squares on ALD coordinates (KRLS), least squares without a ridge.

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
    return KernelRegressor(kernel, ALD(tolerance, max_size), learner)


def kernel_ridge(
    kernel: Kernel | None = None, regularization: float = 1e-2, max_size: int | None = None
) -> KernelRegressor:
    """Exact online kernel ridge regression: every point stored, as batch kernel ridge at each row.

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
        The estimator; memory grows with the square of the rows unless ``max_size`` stops it.
    """
    learner = Ridge(regularization, center=False, clip=False)
    return KernelRegressor(kernel, AllPoints(max_size), learner)


def kernel_awv(
    kernel: Kernel | None = None, regularization: float = 1.0, max_size: int | None = None
) -> KernelRegressor:
    """Exact kernel forecaster of Vovk, Azoury and Warmuth (Kernel-AWV), every point stored.

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
        The estimator; memory grows with the square of the rows unless ``max_size`` stops it.

    References
    ----------
    R. Jezequel, P. Gaillard, A. Rudi, "Efficient online learning with kernels for adversarial large
    scale problems", NeurIPS 2019.
    """
    learner = Ridge(regularization, center=False, clip=False, forecast="awv")
    return KernelRegressor(kernel, AllPoints(max_size), learner)
