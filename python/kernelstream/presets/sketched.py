"""Algorithms on sketched features: FORKS and SkeGD."""

from __future__ import annotations

from collections.abc import Mapping

from kernelstream.components.bases import Sketched
from kernelstream.components.kernels import Kernel
from kernelstream.components.learners import Gradient, OnlineNewton, Staged
from kernelstream.supervised.classifier import KernelClassifier

__all__ = ["forks", "skegd"]


def forks(
    kernel: Kernel | None = None,
    size: int = 100,
    *,
    period: int | None = 3000,
    sketch_size: int | None = None,
    landmarks: int | None = None,
    rank: int | None = None,
    blocks: int = 1,
    max_size: int | None = None,
    step: float = 0.2,
    shrinkage: float = 0.01,
    alpha: float = 0.01,
    sigma: float = 0.5,
    loss: str | Mapping[str, float] = "hinge",
    random_state: int = 0,
) -> KernelClassifier:
    """Online Newton steps on features of incremental sketches (FORKS).

    Stage one is kernel gradient descent, which stores the first `size` points with a nonzero loss;
    stage two takes online Newton steps on `rank` features from two sketches of their Gram matrix
    (see `Sketched`). Every `period` rows a row enters the sketches and the learner is restarted.
    Defaults are those of the paper's experiments.

    A row costs ``size * (d + size)`` operations in stage one, ``landmarks * (d + rank) + 5 rank^2``
    in stage two; memory is that of the points, one more each period, and ``sketch_size *
    (landmarks + rank)`` numbers.

    Differences from the paper: the gradient is taken at the prediction, where line 18 of Algorithm
    1 has its sign; predictions are not clipped, since no bound C is given; and those described in
    `Sketched`. Nested features of the same memory make fewer mistakes on every data set of the
    paper: see ``KernelClassifier(basis=ALD(max_size=...))``.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    size : int, default=100
        Points B of stage one; in the paper 50 for streams of at most 10,000 rows, 100 for longer
        ones, and 200 for adversarial ones.
    period : int or None, default=3000
        Rows rho between updates of the features; in the paper 0.3 times the length of the stream,
        0.005 times for adversarial ones. None: no update.
    sketch_size : int, optional
        Columns s_p of the sketch. None: `size` (in the paper 0.75 times that for adversarial
        streams).
    landmarks : int, optional
        Sampled points s_m. None: a fifth of `sketch_size`.
    rank : int, optional
        Features k. None: a tenth of `size`.
    blocks : int, default=1
        Blocks D of the sketch.
    max_size : int, optional
        The features are no longer updated once this many points are stored. None: no limit.
    step : float, default=0.2
        Step eta of stage one, above 0.
    shrinkage : float, default=0.01
        Lambda: stage one shrinks its weights by ``1 - step * shrinkage`` in each row, 0 or more.
    alpha : float, default=0.01
        Initial diagonal of the second-order matrix in stage two, above 0.
    sigma : float, default=0.5
        Weight of a squared gradient in it, above 0.
    loss : str or {"huber": float}, default="hinge"
        Loss of a prediction for labels 1 and -1.
    random_state : int, default=0
        Seed of the sketches.

    Returns
    -------
    model : KernelClassifier
        The estimator.

    References
    ----------
    D. Wen, X. Zhang, Z. Wei, C. Hou, S. Li, W. Zhang, "Fast second-order online kernel learning
    through incremental matrix sketching and decomposition", 2024, Algorithm 1 and eq. 10.
    """
    basis = Sketched(
        size, sketch_size, landmarks, rank, blocks, period, max_size, random_state=random_state
    )
    first = Gradient(loss, step, regularization=shrinkage)
    then = OnlineNewton(alpha, curvature=sigma, loss=loss, clip=False)
    return KernelClassifier(kernel, basis, Staged(first, then), scale=False)


def skegd(
    kernel: Kernel | None = None,
    size: int = 100,
    *,
    period: int | None = 3000,
    sketch_size: int | None = None,
    landmarks: int | None = None,
    rank: int | None = None,
    blocks: int = 1,
    max_size: int | None = None,
    step: float = 0.2,
    shrinkage: float = 0.01,
    loss: str | Mapping[str, float] = "hinge",
    random_state: int = 0,
) -> KernelClassifier:
    """Gradient descent on features of incremental sketches (SkeGD).

    As `forks`, with gradient steps in stage two as well. A row of it costs ``landmarks *
    (d + rank)`` operations. Differences from the paper: the decomposition is updated, while
    SkeGD recomputes a randomized one; and those described in `Sketched`.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel. None: ``Gaussian()``.
    size : int, default=100
        Points B of stage one.
    period : int or None, default=3000
        Rows between updates of the features, after which the learner is restarted. None: no update.
    sketch_size : int, optional
        Columns s_p of the sketch. None: `size`.
    landmarks : int, optional
        Sampled points s_m. None: a fifth of `sketch_size`.
    rank : int, optional
        Features k. None: a tenth of `size`.
    blocks : int, default=1
        Blocks D of the sketch.
    max_size : int, optional
        The features are no longer updated once this many points are stored. None: no limit.
    step : float, default=0.2
        Constant step, above 0.
    shrinkage : float, default=0.01
        Weights shrink by ``1 - step * shrinkage`` in each row, 0 or more.
    loss : str or {"huber": float}, default="hinge"
        Loss of a prediction for labels 1 and -1.
    random_state : int, default=0
        Seed of the sketches.

    Returns
    -------
    model : KernelClassifier
        The estimator.

    References
    ----------
    X. Zhang, S. Liao, "Incremental randomized sketching for online kernel learning", ICML 2019, as
    D. Wen et al. run it in "Fast second-order online kernel learning through incremental matrix
    sketching and decomposition", 2024, section 5.
    """
    basis = Sketched(
        size, sketch_size, landmarks, rank, blocks, period, max_size, random_state=random_state
    )
    return KernelClassifier(
        kernel, basis, Gradient(loss, step, regularization=shrinkage), scale=False
    )
