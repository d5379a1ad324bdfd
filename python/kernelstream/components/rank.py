"""How an operator of limited rank is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelstream.components.base import Component

__all__ = ["Rank", "ReducedRank", "TotalLeastSquares"]


class Rank(Component):
    """How an operator of limited rank is fitted."""

    _part: ClassVar[str] = "rank"
    rank: int

    def _check(self) -> None:
        rank: Any = self.rank
        whole = isinstance(rank, int | np.integer) and not isinstance(rank, bool)
        if not whole or rank < 1:
            raise ValueError(
                f"rank of {type(self).__name__} must be a whole number from 1, got {rank!r}"
            )


@dataclass(eq=False)
class ReducedRank(Rank):
    """The rank of an operator, by reduced-rank regression.

    The best operator of this rank on the pairs learned, where ``rank=4`` takes the leading part of
    the spectrum of the full operator. Better where few functions are predictable and the noise is
    large: what is not predictable is not fitted. For a `Ridge` learner; standard errors of
    eigenvalues are not available. Predictions while learning are those of the full operator.

    Parameters
    ----------
    rank : int
        The rank, 1 or more.

    References
    ----------
    V. Kostic et al., "Learning dynamical systems via Koopman operator regression in reproducing
    kernel Hilbert spaces", 2022, theorem 1.

    Examples
    --------
    >>> import kernelstream as ks
    >>> from kernelstream.koopman import ReducedRank
    >>> model = ks.Koopman(ks.Gaussian(1.0), rank=ReducedRank(4))
    """

    _type: ClassVar[str] = "reduced"
    rank: int


@dataclass(eq=False)
class TotalLeastSquares(Rank):
    """The rank of an operator, by total least squares: for observations with noise.

    Least squares takes the first state of each pair as exact: noise of the observations, which it
    has as well as the second, makes eigenvalues smaller. Here both states are projected to the
    `rank` directions in which the pairs vary most, so that the bias vanishes with the number of
    pairs where the noise is the same in all directions. For `Linear` kernels, with or without
    delays; a `Ridge` learner without `Replay` and inputs. PyDMD calls it ``tlsq_rank``.

    Parameters
    ----------
    rank : int
        Number of directions, 1 or more: two for each oscillation, one for each decay.

    References
    ----------
    M. Hemati, C. Rowley, E. Deem, L. Cattafesta, "De-biasing the dynamic mode decomposition for
    applied Koopman spectral analysis of noisy datasets", Theoretical and Computational Fluid
    Dynamics, 2017.

    Examples
    --------
    >>> import kernelstream as ks
    >>> from kernelstream.koopman import TotalLeastSquares
    >>> model = ks.Koopman(ks.Linear(), rank=TotalLeastSquares(4), n_delays=20)
    """

    _type: ClassVar[str] = "total_least_squares"
    rank: int
