"""How an operator gets a limited rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelstream.components.base import Component

__all__ = ["ReducedRank"]


@dataclass(eq=False)
class ReducedRank(Component):
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

    _part: ClassVar[str] = "rank"
    _type: ClassVar[str] = "reduced"
    rank: int

    def _check(self) -> None:
        rank: Any = self.rank
        whole = isinstance(rank, int | np.integer) and not isinstance(rank, bool)
        if not whole or rank < 1:
            raise ValueError(f"rank of ReducedRank must be a whole number from 1, got {rank!r}")
