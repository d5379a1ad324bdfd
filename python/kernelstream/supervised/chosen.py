"""What experts that choose themselves tell of themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernelstream.components.kernels import Kernel

__all__ = ["ChosenExperts"]


class ChosenExperts:
    """A mixture of experts, with its core in ``_core``."""

    _core: Any

    @property
    def weights_(self) -> NDArray[np.float64]:
        """The share of each expert in the prediction."""
        check_is_fitted(self)
        weights = cast("NDArray[np.float64]", self._core.mixture)
        return weights[0] if self._is_single else weights

    @property
    def experts_(self) -> list[dict[str, Any]]:
        """What each expert is."""
        check_is_fitted(self)
        return [_described(member) for member in self._members()]

    @property
    def n_generations_(self) -> int:
        """Generations of experts so far."""
        check_is_fitted(self)
        return max((int(member["generation"]) for member in self._members()), default=0)

    @property
    def _is_single(self) -> bool:
        """Whether there is one output, whose weights need no axis of their own."""
        return len(self._core.mixture) == 1

    def _members(self) -> list[dict[str, Any]]:
        return cast("list[dict[str, Any]]", json.loads(self._core.members))


def _described(member: Mapping[str, Any]) -> dict[str, Any]:
    """Give what the core says of an expert in the types of Python."""
    (metric,) = member["metric"].values()
    rest = ("regularization", "forgetting", "cells", "exact", "n_stored", "generation")
    return {
        "kernel": Kernel.from_spec(member["kernel"]),
        "metric": np.array(metric),
        "transform": "normal_scores" if member["normal_scores"] else "standardized",
    } | {name: member[name] for name in rest}
