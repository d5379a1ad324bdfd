"""Named algorithms that take online Newton steps; see `kernelstream.presets`."""

from __future__ import annotations

from collections.abc import Mapping

from kernelstream.components.bases import ALD, KORS, AllPoints
from kernelstream.components.kernels import Kernel
from kernelstream.components.learners import OnlineNewton
from kernelstream.presets.losses import estimator_of
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.regressor import KernelRegressor

__all__ = ["con_kons", "kons", "nons_ald", "pros_n_kons", "sketched_kons"]


def nons_ald(
    kernel: Kernel | None = None,
    mu: float = 1.0,
    tolerance: float = 1e-3,
    bound: float | None = None,
    target_bound: float | None = None,
    max_size: int | None = None,
) -> KernelRegressor:
    """Online Newton steps on ALD coordinates (NONS-ALD).

    A row costs about ``m d + 5 m^2`` operations and memory is ``m (d + 2 m)`` for m stored points;
    storing a point costs no more, while the paper computes a singular value decomposition. Every
    round is predicted and learned, including those that store a point; the published algorithm
    skips these and fails if there are two in succession.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    mu : float, default=1.0
        Initial diagonal of the second-order matrix, above 0.
    tolerance : float, default=1e-3
        ALD tolerance, in (0, 1).
    bound : float, optional
        Bound U on predictions, above 0. None: the largest absolute target so far.
    target_bound : float, optional
        Bound Y on targets, above 0. None: the largest absolute target so far.
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
    return KernelRegressor(kernel, ALD(tolerance, max_size), learner, scale=False)


def kons(
    kernel: Kernel | None = None,
    mu: float = 1.0,
    bound: float | None = None,
    target_bound: float | None = None,
    max_size: int | None = None,
) -> KernelRegressor:
    """Kernel online Newton step (KONS) on all points.

    Time per row and memory are proportional to the square of the number of rows. Points in the span
    of the others up to rounding add no coordinate; the step is the same, since it does not depend
    on the choice of coordinates of the span.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    mu : float, default=1.0
        Initial diagonal of the second-order matrix (the paper's alpha), above 0.
    bound : float, optional
        Bound C on predictions, above 0. None: the largest absolute target so far.
    target_bound : float, optional
        Bound on targets, above 0. None: the largest absolute target so far.
    max_size : int, optional
        At most this many stored points.

    Returns
    -------
    model : KernelRegressor
        The estimator.

    References
    ----------
    D. Calandriello, A. Lazaric, M. Valko, "Second-order kernel online convex optimization with
    adaptive sketching", ICML 2017, Algorithm 1.
    """
    return KernelRegressor(
        kernel, AllPoints(max_size), OnlineNewton(mu, bound, target_bound), scale=False
    )


def sketched_kons(
    kernel: Kernel | None = None,
    mu: float = 1.0,
    share: float = 0.2,
    bound: float | None = None,
    target_bound: float | None = None,
    *,
    max_size: int | None = None,
    random_state: int = 0,
) -> KernelRegressor:
    """Kernel online Newton step with the curvature of a random subset of rows (Sketched-KONS).

    Time and memory grow as for `kons`: the curvature is sketched, not the function, whose points
    are all stored. The paper samples rows by their leverage scores with `share` as the minimum
    probability; here every row has this probability, the case for which its complexity is given.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    mu : float, default=1.0
        Initial diagonal of the second-order matrix, above 0.
    share : float, default=0.2
        Probability (the paper's gamma) that the curvature of a row is used, with weight 1 / share.
        In (0, 1].
    bound : float, optional
        Bound C on predictions, above 0. None: the largest absolute target so far.
    target_bound : float, optional
        Bound on targets, above 0. None: the largest absolute target so far.
    max_size : int, optional
        At most this many stored points.
    random_state : int, default=0
        Seed of the sampled rows.

    Returns
    -------
    model : KernelRegressor
        The estimator.

    References
    ----------
    D. Calandriello, A. Lazaric, M. Valko, "Second-order kernel online convex optimization with
    adaptive sketching", ICML 2017, Algorithm 2.
    """
    learner = OnlineNewton(mu, bound, target_bound, sketch=share, random_state=random_state)
    return KernelRegressor(kernel, AllPoints(max_size), learner, scale=False)


def pros_n_kons(
    kernel: Kernel | None = None,
    alpha: float = 1.0,
    gamma: float = 1.0,
    bound: float | None = None,
    target_bound: float | None = None,
    *,
    max_size: int | None = None,
    random_state: int = 0,
    loss: str | Mapping[str, float] = "squared",
) -> KernelRegressor | KernelClassifier:
    """Online Newton steps on points sampled by leverage, restarted at each one (PROS-N-KONS).

    A row costs ``m d`` and about ``5 m^2`` operations for m stored points; storing a point
    costs ``m^2``, while the paper computes a singular value decomposition. A row that stores a
    point is learned in the new coordinates, after the restart.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    alpha : float, default=1.0
        Initial diagonal of the second-order matrix, above 0.
    gamma : float, default=1.0
        Regularization of the sampling, above 0: larger stores fewer points.
    bound : float, optional
        Bound C on predictions, above 0. None: the largest absolute target so far; for labels, no
        bound.
    target_bound : float, optional
        Bound on targets, above 0. None: the largest absolute target so far.
    max_size : int, optional
        At most this many stored points.
    random_state : int, default=0
        Seed of the sampled points.
    loss : str or {"huber": float}, default="squared"
        Loss of a prediction. With a loss for labels ("hinge", "squared_hinge", "logistic") the
        estimator is a classifier.

    Returns
    -------
    model : KernelRegressor or KernelClassifier
        The estimator.

    References
    ----------
    D. Calandriello, A. Lazaric, M. Valko, "Efficient second-order online kernel learning with
    adaptive embedding", NeurIPS 2017, Algorithm 2.
    """
    learner = OnlineNewton(alpha, bound, target_bound, growth="restart", loss=loss)
    points = KORS(gamma, max_size=max_size, random_state=random_state)
    return estimator_of(kernel, points, learner)


def con_kons(
    kernel: Kernel | None = None,
    alpha: float = 1.0,
    gamma: float = 1.0,
    bound: float | None = None,
    target_bound: float | None = None,
    *,
    max_size: int | None = None,
    random_state: int = 0,
    loss: str | Mapping[str, float] = "squared",
) -> KernelRegressor | KernelClassifier:
    """Online Newton steps on points sampled by leverage, without restarts (CON-KONS).

    As `pros_n_kons`, without the restarts. In the published algorithm the second-order matrix of
    the new coordinates is singular; here the new coordinate has `alpha`, which reproduces the
    published errors (adding `alpha` to all coordinates at each stored point gives errors 30 to
    110 % larger). Weights are carried over from before their projection onto the bound, which is,
    besides the basis, the difference from `nons_ald`.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    alpha : float, default=1.0
        Initial diagonal of the second-order matrix, above 0.
    gamma : float, default=1.0
        Regularization of the sampling, above 0: larger stores fewer points.
    bound : float, optional
        Bound C on predictions, above 0. None: the largest absolute target so far; for labels, no
        bound.
    target_bound : float, optional
        Bound on targets, above 0. None: the largest absolute target so far.
    max_size : int, optional
        At most this many stored points.
    random_state : int, default=0
        Seed of the sampled points.
    loss : str or {"huber": float}, default="squared"
        Loss of a prediction. With a loss for labels ("hinge", "squared_hinge", "logistic") the
        estimator is a classifier.

    Returns
    -------
    model : KernelRegressor or KernelClassifier
        The estimator.

    References
    ----------
    J. Li, S. Liao, "Nearly optimal algorithms with sublinear computational complexity for online
    kernel regression", ICML 2023, remark 4.4 and appendix A.1.
    """
    learner = OnlineNewton(alpha, bound, target_bound, growth="carry_unprojected", loss=loss)
    points = KORS(gamma, max_size=max_size, random_state=random_state)
    return estimator_of(kernel, points, learner)
