"""What a core of experts reports of them, in the types of Python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kernelstream.components.base import as_json
from kernelstream.components.kernels import Kernel
from kernelstream.supervised.described import ExpertList

__all__ = ["adaptive_spec", "experts_of", "generations_of", "weights_of"]


def adaptive_spec(model: Any) -> dict[str, Any]:
    """Give the description of experts that choose themselves."""
    size = as_json(f"{type(model).__name__}: size", model.size)
    return {"adaptive": {"size": size, "mixture": model.mixture, "effort": model.effort}}


def weights_of(core: Any, *, single: bool) -> NDArray[np.float64]:
    """Give the share of each expert in the prediction."""
    weights = cast("NDArray[np.float64]", core.mixture)
    return weights[0] if single else weights


def experts_of(core: Any) -> ExpertList:
    """Describe each expert that was selected."""
    single = len(core.mixture) == 1
    weights = weights_of(core, single=True) if single else None
    return ExpertList(map(_described, json.loads(core.members)), weights)


def generations_of(core: Any) -> int:
    """Count the refits so far."""
    members = json.loads(core.members)
    return max((int(member["generation"]) for member in members), default=0)


def _described(member: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the core's description of an expert to Python's types."""
    (metric,) = member["metric"].values()
    rest = ("regularization", "forgetting", "cells", "exact", "n_stored", "generation")
    return {
        "kernel": Kernel.from_spec(member["kernel"]),
        "metric": np.array(metric),
        "transform": "normal_scores" if member["normal_scores"] else "standardized",
    } | {name: member[name] for name in rest}
