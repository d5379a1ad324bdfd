"""The Koopman operator of a dynamical system, from a stream of its states."""

from __future__ import annotations

from kernelstream.components.rank import ReducedRank, TotalLeastSquares
from kernelstream.koopman.chapman import ChapmanKolmogorov, chapman_kolmogorov
from kernelstream.koopman.estimator import Koopman
from kernelstream.koopman.periods import find_period
from kernelstream.koopman.skill import Skill, prequential_skill
from kernelstream.koopman.vamp import vamp_score

__all__ = [
    "ChapmanKolmogorov",
    "Koopman",
    "ReducedRank",
    "Skill",
    "TotalLeastSquares",
    "chapman_kolmogorov",
    "find_period",
    "prequential_skill",
    "vamp_score",
]
