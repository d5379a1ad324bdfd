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
    a point that is stored costs as much as any, where the paper computes a singular value
    decomposition. It predicts and learns on every round, also on those that store a point, where
    the printed algorithm does neither and breaks on two in a row.

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


def kons(
    kernel: Kernel | None = None,
    mu: float = 1.0,
    bound: float | None = None,
    target_bound: float | None = None,
    max_size: int | None = None,
) -> KernelRegressor:
    """Kernel online Newton step (KONS), every point stored.

    A row costs time, and memory is, in proportion to the square of the rows seen. Points that the
    others span to rounding add no coordinate, which changes nothing: the step is the same in any
    coordinates of the same span.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    mu : float, default=1.0
        Starting diagonal of the second-order matrix (the paper's alpha), above 0.
    bound : float, optional
        Bound C on predictions, above 0. None: the largest absolute target seen.
    target_bound : float, optional
        Bound on targets, above 0. None: the largest absolute target seen.
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
    return KernelRegressor(kernel, AllPoints(max_size), OnlineNewton(mu, bound, target_bound))


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
    """Kernel online Newton step in which the curvature of a share of the rows counts.

    Cost and memory grow as those of `kons` do: it is the curvature that is sketched, not the
    function, whose points are all stored. The paper draws rows by their leverage scores with
    `share` as the least chance; here every row has that chance, the case its complexity is given
    for.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    mu : float, default=1.0
        Starting diagonal of the second-order matrix, above 0.
    share : float, default=0.2
        Chance (the paper's gamma) that a row's curvature counts, then 1 / share times. In (0, 1].
    bound : float, optional
        Bound C on predictions, above 0. None: the largest absolute target seen.
    target_bound : float, optional
        Bound on targets, above 0. None: the largest absolute target seen.
    max_size : int, optional
        At most this many stored points.
    random_state : int, default=0
        Seed of which rows count.

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
    return KernelRegressor(kernel, AllPoints(max_size), learner)


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
    """Online Newton steps on points drawn by leverage, begun anew with each (PROS-N-KONS).

    A row costs ``m d`` and about ``5 m^2`` operations for m stored points; a point that is stored
    costs ``m^2``, where the paper computes a singular value decomposition. The row that stores a
    point is learned in the new coordinates, after the restart.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    alpha : float, default=1.0
        Starting diagonal of the second-order matrix, above 0.
    gamma : float, default=1.0
        Regularization of the sampling, above 0: larger stores fewer points.
    bound : float, optional
        Bound C on predictions, above 0. None: the largest absolute target seen; for labels, no
        bound.
    target_bound : float, optional
        Bound on targets, above 0. None: the largest absolute target seen.
    max_size : int, optional
        At most this many stored points.
    random_state : int, default=0
        Seed of the points drawn.
    loss : str or {"huber": float}, default="squared"
        Loss of a prediction. With one of labels ("hinge", "squared_hinge", "logistic") the
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
    """Online Newton steps on points drawn by leverage, carried over from each (CON-KONS).

    As `pros_n_kons`, without the restarts. As printed, the second-order matrix of the new
    coordinates is singular; here the new one has `alpha`, which gives the published figures
    (`alpha` once more on all of them, at each point stored, gives errors 30 to 110 % larger).
    Weights go over from before their projection on the bound, in which it differs from `nons_ald`
    besides the points.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    alpha : float, default=1.0
        Starting diagonal of the second-order matrix, above 0.
    gamma : float, default=1.0
        Regularization of the sampling, above 0: larger stores fewer points.
    bound : float, optional
        Bound C on predictions, above 0. None: the largest absolute target seen; for labels, no
        bound.
    target_bound : float, optional
        Bound on targets, above 0. None: the largest absolute target seen.
    max_size : int, optional
        At most this many stored points.
    random_state : int, default=0
        Seed of the points drawn.
    loss : str or {"huber": float}, default="squared"
        Loss of a prediction. With one of labels ("hinge", "squared_hinge", "logistic") the
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
