"""Bases: which points of the stream are stored, and become coordinates.

A stored point adds one coordinate; ``m`` of them cost ``m^2`` memory and about ``5 m^2`` operations
a row. What is stored stays stored, so coordinates are only ever appended to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kernelstream._component import Component

__all__ = ["ALD", "AllPoints", "Basis", "FirstPoints"]


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
        In (0, 1). Smaller stores more points and follows finer detail. Below about 1e-7 the Gram
        matrix of a smooth kernel is singular to rounding, and less is gained than lost.
    max_size : int or None, default=500
        At most this many points; once full, later points still teach the learner, through what the
        stored ones see of them. The default keeps memory and time per row constant on any stream,
        wide tables included. None: no limit.
    pivot_floor : float, default=1e-10
        Points with a relative residual under this are never stored, whatever the tolerance:
        storing them would make the Gram matrix singular to rounding. In (0, 1).
    selective : bool, default=False
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
    pivot_floor: float = 1e-10
    selective: bool = False


@dataclass(eq=False)
class AllPoints(Basis):
    """Store every point, except those that the stored ones span to rounding.

    Memory grows with the square of the rows seen: for small data and for checking other bases.

    Parameters
    ----------
    max_size : int, optional
        At most this many points. None: no limit.
    pivot_floor : float, default=1e-10
        Points with a relative residual under this are not stored. In (0, 1).
    selective : bool, default=False
        Store only points whose loss is not zero when they come, as budgeted learners of labels do:
        with a hinge, those that are not yet far on their side.
    """

    _type: ClassVar[str] = "all_points"
    max_size: int | None = None
    pivot_floor: float = 1e-10
    selective: bool = False


@dataclass(eq=False)
class FirstPoints(Basis):
    """Store the first points of the stream, then no more.

    Parameters
    ----------
    size : int, default=100
        How many, 1 or more.
    pivot_floor : float, default=1e-10
        Points with a relative residual under this are not stored. In (0, 1).
    selective : bool, default=False
        Store only points whose loss is not zero when they come, as budgeted learners of labels do:
        with a hinge, those that are not yet far on their side.

    References
    ----------
    J. Lu, S. Hoi, J. Wang, P. Zhao, Z. Liu, "Large scale online kernel learning", Journal of
    Machine Learning Research, 2016 (the points of NOGD).
    """

    _type: ClassVar[str] = "first_points"
    size: int = 100
    pivot_floor: float = 1e-10
    selective: bool = False
