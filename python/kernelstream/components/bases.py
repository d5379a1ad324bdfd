"""Bases: the stored points, and the coordinates that they define.

A stored point adds one coordinate; ``m`` of them cost ``m^2`` memory and about ``5 m^2`` operations
a row. What is stored stays stored, so coordinates are only ever appended to. `Taylor` and `Fourier`
store no point: their coordinates are functions chosen in advance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kernelstream.components.base import Component

__all__ = [
    "ALD",
    "KORS",
    "AllPoints",
    "FirstPoints",
    "Fourier",
    "NoisyPoints",
    "Sketched",
    "Taylor",
]


class Basis(Component):
    """What all bases share."""

    _part: ClassVar[str] = "basis"


@dataclass(eq=False)
class ALD(Basis):
    """Store a point when the stored ones do not already span it (approximate linear dependence).

    A point is stored when its squared distance to the span of the stored points in the kernel's
    feature space, relative to ``k(x, x)``, is above ``tolerance``. On a bounded region the number
    stored stops growing by itself.

    Parameters
    ----------
    tolerance : float, default=1e-3
        In [0, 1). Smaller stores more points and follows finer detail. Any holds in floating
        point, whatever the order of the rows; less than 1e-12 means 1e-12.
    max_size : int or None, default=500
        At most this many points; once full, later points still teach the learner, through what the
        stored ones see of them. The default keeps memory and time per row constant on any stream,
        wide tables included. None: no limit.
    loss_driven : bool, default=False
        Store only points whose loss is not zero when they come, as budgeted learners of labels do:
        with a hinge, those that are not yet far on their side.

    References
    ----------
    Y. Engel, S. Mannor, R. Meir, "The kernel recursive least-squares algorithm", IEEE Transactions
    on Signal Processing, 2004.
    """

    _type: ClassVar[str] = "ald"
    tolerance: float = 1e-3
    max_size: int | None = 500
    loss_driven: bool = False


@dataclass(eq=False)
class AllPoints(Basis):
    """Store every point, except those that the stored ones span to rounding.

    Memory grows with the square of the rows seen: for small data and for checking other bases.

    Parameters
    ----------
    max_size : int, optional
        At most this many points. None: no limit.
    loss_driven : bool, default=False
        Store only points whose loss is not zero when they come, as budgeted learners of labels do:
        with a hinge, those that are not yet far on their side.
    """

    _type: ClassVar[str] = "all_points"
    max_size: int | None = None
    loss_driven: bool = False


@dataclass(eq=False)
class NoisyPoints(Basis):
    """Store every point, each with noise of its own, as the rows of a Gaussian process have.

    The kernel has `noise` more of a point with itself: a point is new even where another is the
    same. With `Interpolation` this is kernel ridge regression on the stored rows with the
    regularization `noise`, exactly, for ``m^2`` operations a row. Memory grows with the square of
    the points stored.

    Parameters
    ----------
    noise : float, default=0.1
        Above 0, in units of ``k(x, x)``: variance of the noise over that of the function.
    max_size : int or None, default=4000
        At most this many points: 128 MB. None: no limit.
    loss_driven : bool, default=False
        Store only points whose loss is not zero when they come: see `Interpolation`.
    """

    _type: ClassVar[str] = "noisy_points"
    noise: float = 0.1
    max_size: int | None = 4000
    loss_driven: bool = False


@dataclass(eq=False)
class FirstPoints(Basis):
    """Store the first points of the stream, then no more.

    Parameters
    ----------
    size : int, default=100
        How many, 1 or more.
    loss_driven : bool, default=False
        Store only points whose loss is not zero when they come, as budgeted learners of labels do:
        with a hinge, those that are not yet far on their side.
    rank : int, optional
        Once all points are stored, continue with this many leading Nystrom features, 1 to `size`;
        what was learned so far is projected onto them. A row then costs ``size * (d + rank)``
        for its coordinates. None: with all.

    References
    ----------
    J. Lu, S. Hoi, J. Wang, P. Zhao, Z. Liu, "Large scale online kernel learning", Journal of
    Machine Learning Research, 2016 (the points of NOGD).
    """

    _type: ClassVar[str] = "first_points"
    size: int = 100
    loss_driven: bool = False
    rank: int | None = None


@dataclass(eq=False)
class KORS(Basis):
    """Store points with a probability that grows with their ridge leverage scores.

    The chance is ``min(1, oversampling * (1 + accuracy) * a / (1 + a))`` with
    ``a = z P z + residual / regularization`` for coordinates z, where P is the inverse of
    ``regularization * I`` plus the sum of ``z z / chance`` over the stored points. This is the
    paper's score in coordinates, at m^2 a row. The weights in it are 1 / sqrt(chance); appendix H
    of Jezequel et al. has 1 / chance, which stores half as many points. Repeated points, which the
    paper's sampling may store twice, are refused.

    Parameters
    ----------
    regularization : float, default=1.0
        Mu, above 0: larger stores fewer points.
    accuracy : float, default=0.5
        Epsilon, above 0.
    oversampling : float, default=1.0
        Beta, above 0.
    max_size : int, optional
        At most this many points. None: no limit.
    random_state : int, default=0
        Seed of the draws. The same seed gives the same points for any chunking of the stream.

    References
    ----------
    D. Calandriello, A. Lazaric, M. Valko, "Efficient second-order online kernel learning with
    adaptive embedding", NeurIPS 2017, Algorithm 1.
    R. Jezequel, P. Gaillard, A. Rudi, "Efficient online learning with kernels for adversarial large
    scale problems", NeurIPS 2019, appendix H.
    """

    _type: ClassVar[str] = "kors"
    regularization: float = 1.0
    accuracy: float = 0.5
    oversampling: float = 1.0
    max_size: int | None = None
    random_state: int = 0


@dataclass(eq=False)
class Taylor(Basis):
    """Functions of the Gaussian kernel's Taylor expansion: fixed, for few features.

    One coordinate for each multiset of at most `degree` features, ``binomial(degree + d, degree)``
    in all (the paper's flattened outer products repeat them: ``d^degree`` and more), at most
    20,000. They come to the kernel where points are within about one bandwidth of 0.

    Parameters
    ----------
    degree : int, default=2
        Largest degree, 0 to 20.

    References
    ----------
    R. Jezequel, P. Gaillard, A. Rudi, "Efficient online learning with kernels for adversarial large
    scale problems", NeurIPS 2019, section 3.1.
    """

    _type: ClassVar[str] = "taylor"
    degree: int = 2


@dataclass(eq=False)
class Fourier(Basis):
    """Random Fourier features: sines and cosines of frequencies drawn for the kernel.

    For the Gaussian, Laplacian and Matern kernels. Two coordinates a frequency; nothing is stored
    and a row costs ``size * d`` for its coordinates.

    Parameters
    ----------
    size : int, default=200
        Number of frequencies D, 1 to 100,000, as long as neither the frequencies of all features
        nor the curvature of a second-order learner, ``(2 size)**2`` numbers, takes more than 4 GiB.
    normalized : bool, default=True
        Divide by ``sqrt(size)``, so that products of coordinates are the kernel on average.
        Published code of FOGD does not, which makes its steps `size` times as long.
    random_state : int, default=0
        Seed of the frequencies.

    References
    ----------
    A. Rahimi, B. Recht, "Random features for large-scale kernel machines", NeurIPS 2007.
    J. Lu, S. Hoi, J. Wang, P. Zhao, Z. Liu, "Large scale online kernel learning", Journal of
    Machine Learning Research, 2016 (FOGD).
    """

    _type: ClassVar[str] = "fourier"
    size: int = 200
    normalized: bool = True
    random_state: int = 0


@dataclass(eq=False)
class Sketched(Basis):
    """Features of two sketches of the stored points' Gram matrix, updated along the stream.

    Stage one stores the first `size` points whose loss is not zero. In stage two a row x has the
    features ``Z^T k(x, T)`` with ``Z = (S^T K T)^+ V D^(1/2)`` and ``S^T K S ~ V D V^T`` of rank
    `rank`: K is the Gram matrix of the stored points, S a sparse Johnson-Lindenstrauss transform, T
    picks `landmarks` of the first points. Every `period` rows one more row is stored, the features
    are recomputed, and the learner restarts.

    A row of stage two costs ``landmarks * (d + rank)`` for its features; a change of features
    ``size * d + sketch_size * rank^2`` and the memory of one point. Sizes that are not given are
    those of the paper's experiments. Changed from the paper: the landmarks stay those of the
    beginning (the printed update adds the column of a new one to that of an old one, and then no
    features belong to the sketch); the decomposition is updated as a symmetric one, see
    `kernelstream.linalg.TruncatedEigen`; singular values of ``S^T K T`` below 1e-6 of the largest
    are not inverted; points that the others span to rounding are stored once, so that repeated
    rows make stage one longer; the row that changes the features is predicted by those before. The
    estimator's ``condition_`` says how fragile Z is.

    Parameters
    ----------
    size : int, default=100
        Points B stored in stage one, 1 or more.
    sketch_size : int, optional
        Columns s_p of S, 1 or more, as long as the sketch takes at most 4 GiB. None: `size`.
    landmarks : int, optional
        Landmarks s_m, 1 to `size`. None: a fifth of `sketch_size`.
    rank : int, optional
        Features k, 1 to `sketch_size`. None: a tenth of `size`.
    blocks : int, default=1
        Blocks D of S, a divisor of `sketch_size`.
    period : int or None, default=3000
        Rows rho from one change of the features to the next, 1 or more. The paper's experiments
        have 0.3 times the length of the stream, and 0.005 times in adversarial ones. None: no
        change.
    max_size : int, optional
        The features are fixed once this many points are stored, `size` or more. None: no limit.
    random_state : int, default=0
        Seed of S and T.

    References
    ----------
    D. Wen, X. Zhang, Z. Wei, C. Hou, S. Li, W. Zhang, "Fast second-order online kernel learning
    through incremental matrix sketching and decomposition", 2024, sections 3.2 to 3.4.
    """

    _type: ClassVar[str] = "sketched"
    size: int = 100
    sketch_size: int | None = None
    landmarks: int | None = None
    rank: int | None = None
    blocks: int = 1
    period: int | None = 3000
    max_size: int | None = None
    random_state: int = 0
