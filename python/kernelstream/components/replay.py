"""Replay: pairs collected and learned in shuffled order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from kernelstream.components.base import Component
from kernelstream.components.learners import Learner

__all__ = ["Replay"]


@dataclass(eq=False)
class Replay(Component):
    """A learner of an operator that learns collected pairs in shuffled order.

    A gradient learner with a constant step is biased where successive pairs are correlated, as
    those of a trajectory are. `fit` learns the remaining pairs at the end; after `partial_fit`
    call `Koopman.flush`.

    Parameters
    ----------
    learner : Ridge or Gradient, optional
        The learner. None: ``Ridge()``.
    size : int, default=1000
        Number of pairs that are collected before they are learned, 1 or more.
    passes : int, default=1
        Number of passes over each buffer, 1 to 1000.
    random_state : int or None, default=None
        Seed of the shuffling, 0 or more. None: a random seed.

    Examples
    --------
    >>> import kernelstream as ks
    >>> model = ks.Koopman(ks.Gaussian(1.0), learner=ks.Replay(ks.Gradient(step=0.3), 500))
    """

    _part: ClassVar[str] = "replay"
    _type: ClassVar[str] = "replay"
    learner: Learner | None = None
    size: int = 1000
    passes: int = 1
    random_state: int | None = None

    def _check(self) -> None:
        if not isinstance(self.learner, Learner | None):
            raise TypeError(f"learner must be one such as Gradient(), got {self.learner!r}")
        self._check_whole("size", self.size, 1)
        self._check_whole("passes", self.passes, 1, 1000)
        if self.random_state is not None:
            self._check_whole("random_state", self.random_state, 0)

    @staticmethod
    def _check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or value < least or (most is not None and value > most):
            limits = f"from {least}" + ("" if most is None else f" to {most}")
            raise ValueError(f"{name} of Replay must be a whole number {limits}, got {value!r}")

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Self:
        learner: Mapping[str, Any] | None = values.get("learner")
        part = None if learner is None else Learner.from_spec(learner)
        return cls(**(values | {"learner": part}))
