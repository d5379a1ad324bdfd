"""Model files that were not written from Python: which estimator a core is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["state_of"]


def state_of(core: Any) -> dict[str, Any]:
    """Give the attributes that Python would have saved beside a core."""
    spec = json.loads(core.spec)
    if "model" not in spec:
        return _model(spec, core, None)
    return (_table if core.classes is None else _classifier)(spec, core)


def _table(spec: Mapping[str, Any], core: Any) -> dict[str, Any]:
    return _model(spec["model"], core, spec.get("columns"))


def _columns(columns: Mapping[str, Any] | None, n_features: int) -> dict[str, Any]:
    """Give the parameters for the types of columns."""
    if columns is None:
        return {"scale": False}
    each = columns["each"]
    kinds = {column["name"]: column["kind"] for column in columns["named"]}
    if each.get("logarithm"):
        kinds = {str(place): each for place in range(n_features)}
    return {
        "columns": kinds or None,
        "scale": each.get("scale", True),
        "missing": columns["gaps"],
        "n_warm_up": columns["warm_up"],
    }


def _model(spec: Mapping[str, Any], core: Any, columns: Mapping[str, Any] | None) -> dict[str, Any]:
    params: dict[str, Any] = {"verbose": False} | _columns(columns, core.n_features)
    mixed = not spec.keys().isdisjoint({"adaptive", "experts"})
    if "adaptive" in spec:
        params |= {name: spec["adaptive"][name] for name in ("size", "mixture", "effort")}
    elif "experts" in spec:
        params["experts"] = [_parts(expert) for expert in spec["experts"]]
        params["mixture"] = spec["mixture"]
    else:
        params |= _parts(spec)
    return {
        "estimator": "KernelExperts" if mixed else "KernelRegressor",
        "params": params,
        "feature_names": [column["name"] for column in (columns or {"named": ()})["named"]] or None,
        "single_target": core.n_outputs == 1,
    }


def _classifier(spec: Mapping[str, Any], core: Any) -> dict[str, Any]:
    weights = spec["labels"]["weights"]
    if isinstance(weights, Mapping):
        weights = [list(pair) for pair in zip(core.classes, weights["each"], strict=True)]
    elif weights == "equal":
        weights = None
    state = _table(spec, core)
    mixed = state["estimator"] == "KernelExperts"
    return {
        "estimator": "KernelExpertsClassifier" if mixed else "KernelClassifier",
        "params": state["params"] | {"class_weight": weights},
        "feature_names": state["feature_names"],
        "classes": {"dtype": np.array(core.classes).dtype.str},
    }


def _parts(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        part: {"part": part, "spec": value}
        for part, value in spec.items()
        if isinstance(value, Mapping)
    }
