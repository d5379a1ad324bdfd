"""Named algorithms of the literature: cells of the table basis x learner x loss.

Each function returns an ordinary `KernelRegressor`, `KernelClassifier` or `Koopman`; its parts may
be changed with ``set_params``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from kernelstream.components.bases import ALD, KORS, AllPoints, FirstPoints, Fourier, Taylor
from kernelstream.components.kernels import Kernel
from kernelstream.components.learners import Gradient, Ridge
from kernelstream.presets.budget import bogd, bpas, kogd, projectron, rbp
from kernelstream.presets.koopman import recursive_koopman, sparse_koopman
from kernelstream.presets.losses import estimator_of
from kernelstream.presets.newton import con_kons, kons, nons_ald, pros_n_kons, sketched_kons
from kernelstream.presets.sketched import forks, skegd
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.regressor import KernelRegressor

__all__ = [
    "aogd_ald",
    "bogd",
    "bpas",
    "con_kons",
    "fogd",
    "forks",
    "kernel_awv",
    "kernel_ridge",
    "kogd",
    "kons",
    "krls_ald",
    "nogd",
    "nons_ald",
    "pkawv_nystroem",
    "pkawv_taylor",
    "projectron",
    "pros_n_kons",
    "rbp",
    "recursive_koopman",
    "skegd",
    "sketched_kons",
    "sparse_koopman",
]


def aogd_ald(
    kernel: Kernel | None = None,
    tolerance: float = 1e-3,
    radius: float | None = None,
    max_size: int | None = None,
) -> KernelRegressor:
    """Adaptive online gradient descent on ALD coordinates (AOGD-ALD).

    A row costs about ``m d + m^2`` operations and memory is ``m (d + m)`` for m stored points. The
    paper goes on storing every point once a bound B_0 on their number is reached; here `max_size`
    stores no more, and later points teach through their projection.

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


def krls_ald(
    kernel: Kernel | None = None, tolerance: float = 1e-3, max_size: int | None = None
) -> KernelRegressor:
    """Kernel recursive least squares on ALD coordinates (KRLS), least squares without a ridge.

    A row costs about ``m d + 5 m^2`` operations and memory is ``m (d + 2 m)`` for m stored points.
    The paper keeps the inverse of the stored points' Gram matrix, whose error grows with its
    condition; here its Cholesky factor is appended to, which predicts the same.

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

    Row t costs in proportion to t^2, and so does the memory.

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

    Row t costs in proportion to t^2, and so does the memory. A prediction is that of kernel ridge
    regression divided by ``1 + q``, with q the leverage of the row before it is learned: what the
    paper's equation (3) comes to, which its Algorithm 1 prints with A_t for A_{t-1}.

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


def pkawv_taylor(
    kernel: Kernel | None = None, regularization: float = 1.0, degree: int = 2
) -> KernelRegressor:
    """Forecaster of Vovk, Azoury and Warmuth on the Gaussian kernel's Taylor expansion (PKAWV).

    A row costs about ``3 r^2`` operations and memory is ``r^2``, for ``r = binomial(degree + d,
    degree)`` functions of d features; nothing is stored. The paper's flattened outer products
    repeat functions (d = 9, degree 4: 7,381 where 715 do); the predictions are the same. Its
    Algorithm 1 reads A_t on the right where it needs A_{t-1}.

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
    learner = Ridge(regularization, center=False, clip=False, forecast="awv")
    return KernelRegressor(kernel, Taylor(degree), learner)


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
    """Forecaster of Vovk, Azoury and Warmuth on points drawn by leverage (PKAWV with KORS).

    A row costs ``m d`` and about ``7 m^2`` operations for m stored points. The paper's own
    (``history="exact"``) keeps the stream, and a stored point costs time in proportion to it; with
    the reservoir, our addition, memory is constant and the loss on casp within 1 % of it. Points
    are drawn by weights 1 / sqrt(p), where the paper's appendix H has 1 / p and stores half as
    many, and factors are kept in coordinates, where its recursion on the kernel's values fails in
    single precision.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    regularization : float, default=1.0
        Weight lambda of the squared norm, above 0.
    mu : float, default=1.0
        KORS's mu, above 0: larger stores fewer points.
    history : {"none", "reservoir", "exact"}, default="reservoir"
        What a new coordinate knows of past rows, see `Ridge`.
    reservoir : int, default=500
        Rows held with ``history="reservoir"``.
    max_size : int, optional
        At most this many stored points.
    random_state : int, default=0
        Seed of the points drawn and of the rows held.

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
        forecast="awv",
        history=history,
        reservoir=reservoir,
        random_state=random_state,
    )
    return KernelRegressor(kernel, KORS(mu, max_size=max_size, random_state=random_state), learner)


def fogd(
    kernel: Kernel | None = None,
    step: float = 0.1,
    size: int = 200,
    *,
    normalized: bool = True,
    random_state: int = 0,
    loss: str | Mapping[str, float] = "squared",
) -> KernelRegressor | KernelClassifier:
    """Online gradient descent on random Fourier features (FOGD).

    A row costs ``size * (d + 4)`` operations and as many sines; memory is ``size * d``. The
    published code does not divide the features by sqrt(size), so that its steps are `size` times as
    long: ``normalized=False`` takes its steps as they are.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel: Gaussian, Laplacian or Matern. None: ``Gaussian()``.
    step : float, default=0.1
        Constant step, above 0; of the squared loss with normalized features below 1.
    size : int, default=200
        Number of frequencies D; there are twice as many features.
    normalized : bool, default=True
        Divide features by the square root of `size`.
    random_state : int, default=0
        Seed of the frequencies.
    loss : str or {"huber": float}, default="squared"
        Loss of a prediction. With one of labels ("hinge", "squared_hinge", "logistic") the
        estimator is a classifier.

    Returns
    -------
    model : KernelRegressor or KernelClassifier
        The estimator.

    References
    ----------
    J. Lu, S. Hoi, J. Wang, P. Zhao, Z. Liu, "Large scale online kernel learning", Journal of
    Machine Learning Research, 2016, Algorithm 2.
    """
    features = Fourier(size, normalized, random_state)
    return estimator_of(kernel, features, Gradient(loss, step))


def nogd(
    kernel: Kernel | None = None,
    step: float = 0.1,
    size: int = 100,
    rank: int = 20,
    *,
    loss: str | Mapping[str, float] = "squared",
) -> KernelRegressor | KernelClassifier:
    """Online gradient descent on Nystrom features of the first points (NOGD).

    Stage one is kernel gradient descent, which stores the first `size` points with a loss; then
    their features of rank `rank` take over, and the function learned so far is projected on them.
    A row costs ``size * (d + rank)`` operations, and the change of stage ``size^3`` once.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    step : float, default=0.1
        Constant step, above 0; of the squared loss below ``1 / k(x, x)``.
    size : int, default=100
        Number of points B. Points that the others span to rounding are not stored.
    rank : int, default=20
        Number of features k, 1 to `size`.
    loss : str or {"huber": float}, default="squared"
        Loss of a prediction. With one of labels ("hinge", "squared_hinge", "logistic") the
        estimator is a classifier.

    Returns
    -------
    model : KernelRegressor or KernelClassifier
        The estimator.

    References
    ----------
    J. Lu, S. Hoi, J. Wang, P. Zhao, Z. Liu, "Large scale online kernel learning", Journal of
    Machine Learning Research, 2016, Algorithm 3.
    """
    points = FirstPoints(size, selective=True, rank=rank)
    return estimator_of(kernel, points, Gradient(loss, step))
