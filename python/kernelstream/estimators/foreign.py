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
        return _model(spec, core)
    labels = core.classes is not None
    inner = _classifier(spec, core) if labels else _model(spec["model"], core)
    columns = spec.get("columns")
    if columns is None:
        return inner
    kind = inner["estimator"]
    if not columns["named"]:
        parameters = {
            "n_warm_up": columns["warm_up"],
            "logarithm": columns["each"].get("logarithm", False),
        }
        return {
            "estimator": "Scaled",
            "kind": kind,
            "model": inner,
            "scaler": {"params": parameters},
            "feature_names": None,
        }
    about: dict[str, Any] = {"kind": kind, "scale": True, "kinds_given": True}
    if labels:
        return about | {"estimator": "TableClassifier", "classifier": inner, "target": "target"}
    names = ["target"] if core.n_outputs == 1 else [f"y{i}" for i in range(core.n_outputs)]
    return about | {"estimator": "TableRegressor", "regressor": inner, "targets": names}


def _model(spec: Mapping[str, Any], core: Any) -> dict[str, Any]:
    params: dict[str, Any] = {"verbose": False}
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
    state = _model(spec["model"], core)
    mixed = state["estimator"] == "KernelExperts"
    return {
        "estimator": "KernelExpertsClassifier" if mixed else "KernelClassifier",
        "params": state["params"] | {"class_weight": weights},
        "feature_names": None,
        "classes": {"dtype": np.array(core.classes).dtype.str},
    }


def _parts(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {part: {"part": part, "spec": value} for part, value in spec.items() if value}
