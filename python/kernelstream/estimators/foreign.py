"""Model files that were not written from Python: which estimator a core is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["state_of"]


def state_of(core: Any) -> dict[str, Any]:
    """Give what Python would have written beside a core.

    Parameters
    ----------
    core : Regressor
        A core.

    Returns
    -------
    state : dict
        The name of the estimator, and its state.
    """
    spec = json.loads(core.spec)
    if "model" not in spec:
        return _model(spec, core, None)
    labels = core.classes is not None
    if spec.get("columns") and spec["columns"]["named"]:
        return _named_table(spec, core)
    return (_classifier if labels else _table)(spec, core)


def _named_table(spec: Mapping[str, Any], core: Any) -> dict[str, Any]:
    """Give the state of an estimator of named columns, with names of its targets."""
    bare = {**spec, "columns": None}
    inner = (_table if core.classes is None else _classifier)(bare, core)
    about = {"kind": inner["estimator"], "scale": True, "kinds_given": True}
    if core.classes is not None:
        return about | {"estimator": "TableClassifier", "classifier": inner, "target": "target"}
    names = ["target"] if core.n_outputs == 1 else [f"y{i}" for i in range(core.n_outputs)]
    return about | {"estimator": "TableRegressor", "regressor": inner, "targets": names}


def _table(spec: Mapping[str, Any], core: Any) -> dict[str, Any]:
    return _model(spec["model"], core, spec.get("columns"))


def _columns(columns: Mapping[str, Any] | None, n_features: int) -> dict[str, Any]:
    """Give the parameters that say what columns hold."""
    if columns is None:
        return {"scale": False}
    each = columns["each"]
    kinds = {str(place): each for place in range(n_features)} if each.get("logarithm") else None
    return {
        "columns": kinds,
        "scale": each.get("scale", True),
        "missing": columns["gaps"],
        "n_warm_up": columns["warm_up"],
    }


def _model(spec: Mapping[str, Any], core: Any, columns: Mapping[str, Any] | None) -> dict[str, Any]:
    params: dict[str, Any] = {"verbose": False} | _columns(columns, core.n_features)
    mixed = not spec.keys().isdisjoint({"adaptive", "experts"})
    if "adaptive" in spec:
        params |= {name: spec["adaptive"][name] for name in ("size", "mixture")}
    elif "experts" in spec:
        params["experts"] = [_parts(expert) for expert in spec["experts"]]
        params["mixture"] = spec["mixture"]
    else:
        params |= _parts(spec)
    return {
        "estimator": "KernelExperts" if mixed else "KernelRegressor",
        "params": params,
        "feature_names": None,
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
    return {part: {"part": part, "spec": value} for part, value in spec.items() if value}
