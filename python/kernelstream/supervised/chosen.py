"""What a core of experts reports of them, in the types of Python."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kernelstream.components.base import as_json
from kernelstream.components.kernels import Kernel
from kernelstream.supervised.described import ExpertList

__all__ = ["adaptive_spec", "check_mixture", "experts_of", "generations_of", "weights_of"]

_MIXTURES = ("polynomial", "fixed_share")
_EFFORTS = ("high", "low")


def adaptive_spec(model: Any) -> dict[str, Any]:
    """Give the description of experts that choose themselves."""
    size = as_json(f"{type(model).__name__}: size", model.size)
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"size must be a whole number, got {model.size!r}")
    check_mixture(model)
    _check_choice("effort", model.effort, _EFFORTS, model)
    return {"adaptive": {"size": size, "mixture": model.mixture, "effort": model.effort}}


def check_mixture(model: Any) -> None:
    """Check the rule by which experts are weighted.

    Raises
    ------
    ValueError
        There is no such rule; the message names those there are.
    """
    _check_choice("mixture", model.mixture, _MIXTURES, model)


def _check_choice(name: str, value: Any, known: Sequence[str], model: Any) -> None:
    if isinstance(value, str) and value in known:
        return
    message = f"{name} must be {' or '.join(map(repr, known))}, got {value!r}"
    if isinstance(value, list | tuple) and name == "mixture":
        message += f": {type(model).__name__} selects its experts itself, and takes none"
    raise ValueError(message)


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
