"""Adaptive experts with other parameters, or without one of their mechanisms."""

from __future__ import annotations

from typing import Any

import kernelstream as ks

# Those of `Mechanism` in src/experts/adaptive/params.rs.
MECHANISMS = (
    "forest",
    "boosting",
    "logarithms",
    "nearest",
    "metrics",
    "cells",
    "forgetting",
    "exact",
    "linear",
)


def varied(params: dict[str, Any], *, labels: bool, **settings: Any) -> Any:
    """Experts with other numbers."""
    kind: Any = ks.KernelExpertsClassifier if labels else ks.KernelExperts

    class Varied(kind):  # type: ignore[misc]
        def to_spec(self) -> dict[str, Any]:
            spec: dict[str, Any] = super().to_spec()
            if params:
                spec["adaptive"]["params"] = params
            return spec

    return Varied(**settings)
