"""Admission rules for pairs: which states an operator learner stores."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

from kernelstream import _core
from kernelstream.components.base import Component

__all__ = ["HilbertSchmidt"]


class Admission(Component):
    """What all admission rules for pairs share."""

    _part: ClassVar[str] = "admission"


@dataclass(eq=False)
class HilbertSchmidt(Admission):
    """Store a pair when a gradient step on it would otherwise lose more than a budget.

    What a step of size ``eta`` on a pair loses when its states are not stored has a closed form,
    the exact Hilbert-Schmidt norm of the difference of two operators. It is compared with
    ``budget * eta^power``. Inputs and outputs have dictionaries of their own, and a state is stored
    only if the other one alone would not do (unless ``paired``).

    Parameters
    ----------
    budget : float, default=0.01
        What one step may lose, 0 or more. 0 stores every state that is not spanned to rounding.
    power : float, default=0.0
        The budget is multiplied by this power of the step. 0: it is constant. 2 or more lets
        it fall fast enough with a falling step for the estimate to converge (Assumption 3).
    max_size : int, optional
        At most this many inputs, and as many outputs; later pairs still teach the learner.
    pivot_floor : float, default=1e-10
        States with a relative residual under this are never stored. In (0, 1).
    paired : bool, default=False
        Store both states of a pair or neither, as Hou et al. do.

    References
    ----------
    B. Hou, S. Sanjari, N. Dahlin, A. Koppel, S. Bose, "Nonparametric sparse online learning of the
    Koopman operator", 2024, equations 4.10 and 4.11. Their formula F.2 for the loss keeps one of
    its two terms; the test is on the norm, where their Algorithm 1 prints the square.
    """

    _type: ClassVar[str] = "hilbert_schmidt"
    budget: float = 0.01
    power: float = 0.0
    max_size: int | None = None
    pivot_floor: float = 1e-10
    paired: bool = False

    def _check(self) -> None:
        spec = self.to_spec()
        if not isinstance(spec.pop("paired"), bool):
            raise TypeError(f"paired of HilbertSchmidt must be True or False, got {self.paired!r}")
        _core.check(self._part, json.dumps(spec))
