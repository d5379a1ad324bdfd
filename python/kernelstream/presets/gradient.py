"""Gradient descent on fixed or growing coordinates: AOGD-ALD, FOGD and NOGD."""

from __future__ import annotations

from collections.abc import Mapping

from kernelstream.components.bases import ALD, FirstPoints, Fourier
from kernelstream.components.kernels import Kernel
from kernelstream.components.learners import Gradient
from kernelstream.presets.losses import estimator_of
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.regressor import KernelRegressor

__all__ = ["aogd_ald", "fogd", "nogd"]


def aogd_ald(
    kernel: Kernel | None = None,
    tolerance: float = 1e-3,
    radius: float | None = None,
    max_size: int | None = None,
) -> KernelRegressor:
    """Adaptive online gradient descent on ALD coordinates (AOGD-ALD).

    A row costs about ``m d + m^2`` operations and memory is ``m (d + m)`` for m stored points. In
    the paper every point is stored once their number reaches a bound B_0; here none is stored
    beyond `max_size`, and later points are learned through their projection.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    tolerance : float, default=1e-3
        ALD tolerance, in (0, 1).
    radius : float, optional
        Radius U of the ball the weights stay in, which also sets the step, above 0.
        None: twice the largest absolute target so far.
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
    return KernelRegressor(kernel, ALD(tolerance, max_size), learner, scale=False)


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
    published code does not divide the features by sqrt(size), so that its effective steps are
    `size` times as long; ``normalized=False`` reproduces them.

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
        Loss of a prediction. With a loss for labels ("hinge", "squared_hinge", "logistic") the
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
    A row costs ``size * (d + rank)`` operations, and the transition ``size^3`` once.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    step : float, default=0.1
        Constant step, above 0; of the squared loss below ``1 / k(x, x)``.
    size : int, default=100
        Number of points B. Points in the span of the others up to rounding are not stored.
    rank : int, default=20
        Number of features k, 1 to `size`.
    loss : str or {"huber": float}, default="squared"
        Loss of a prediction. With a loss for labels ("hinge", "squared_hinge", "logistic") the
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
    points = FirstPoints(size, loss_driven=True, rank=rank)
    return estimator_of(kernel, points, Gradient(loss, step))
