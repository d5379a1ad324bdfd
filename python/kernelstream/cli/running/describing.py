"""Content of a model file, for the command ``info``."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.exceptions import NotFittedError

from kernelstream.cli.running.models import load_model
from kernelstream.cli.running.progress import Progress
from kernelstream.cli.writing.messages import Terminal, say
from kernelstream.components.bases import Basis
from kernelstream.components.kernels import Kernel
from kernelstream.components.learners import Learner
from kernelstream.estimators.diagnostics import Diagnostics
from kernelstream.supervised.columns import columns_of
from kernelstream.supervised.model import KernelModel

__all__ = ["describe", "print_description"]

_COUNTS = {"rows": "n_seen_", "points": "n_stored_"}


def describe(path: Path) -> dict[str, Any]:
    """Describe a model file.

    Raises
    ------
    OSError, ModelFileError
        It cannot be read, or is no model file.
    """
    model = load_model(path)
    found: dict[str, Any] = {"file": str(path), "model": type(model).__name__}
    # Columns are described below.
    parameters = model.get_params(deep=False)
    parameters.pop("columns", None)
    chosen = _chosen(model)
    found["settings"] = {
        name: f"{chosen[name]!r}, by default" if value is None and name in chosen else repr(value)
        for name, value in parameters.items()
    }
    for name, attribute in _COUNTS.items():
        with suppress(AttributeError, NotFittedError):
            found[name] = int(getattr(model, attribute))
    progress = Progress.from_note(model._note, path)
    if targets := progress.options.get("target"):
        found["targets"] = list(targets)
    with suppress(AttributeError, NotFittedError):
        found["labels"] = [str(label) for label in model.classes_.tolist()]
    found["columns"] = _columns(model)
    with suppress(AttributeError, NotFittedError, NotImplementedError, ValueError):
        importances = np.asarray(model.feature_importances_, dtype=np.float64)
        if len(importances) == len(found["columns"]):
            for column, share in zip(found["columns"], importances.tolist(), strict=True):
                column["importance"] = share
    with suppress(AttributeError, NotFittedError):
        found["diagnostics"] = {
            name: list(value) if isinstance(value, tuple) else np.asarray(value).tolist()
            for name, value in asdict(model.diagnostics_).items()
        }
    if model.note_ is not None:
        found["note"] = model.note_
    if model._note is not None:
        found["options"] = progress.options
        found["files"] = {
            name: mark["rows"] for name, mark in progress.to_note(path)["files"].items()
        }
    return found


def _chosen(model: Any) -> dict[str, Any]:
    """Give the components of a model, selected by the user or by default."""
    spec = model.to_spec() if isinstance(model, KernelModel) else {}
    parts: dict[str, Any] = {"kernel": Kernel, "basis": Basis, "learner": Learner}
    return {name: part.from_spec(spec[name]) for name, part in parts.items() if name in spec}


def _columns(model: Any) -> list[dict[str, Any]]:
    """Give the columns, their types, and the mean and deviation that standardize numbers."""
    if not isinstance(model, KernelModel):
        names = getattr(model, "feature_names_in_", None)
        return [] if names is None else [{"name": str(name)} for name in names]
    kinds = columns_of(model).kinds
    columns = [
        {"name": name, "type": kind["type"], **({"zone": kind["zone"]} if "zone" in kind else {})}
        for name, kind in kinds.items()
    ]
    if model.scales_ is not None:
        scales = model.scales_.tolist()
        for column, kind, scale in zip(columns, kinds.values(), scales, strict=bool(columns)):
            if kind["type"] == "number" and kind.get("scale", True):
                column["mean"], column["deviation"] = scale
    return columns


def print_description(description: dict[str, Any], *, as_json: bool) -> None:
    """Print a description."""
    console = Terminal()
    if as_json:
        print(json.dumps(description, ensure_ascii=False))
        return
    for name, value in description.items():
        if name == "columns":
            say(console, "columns")
            _print_columns(console, value)
        elif name == "diagnostics":
            say(console, "diagnostics")
            for line in repr(Diagnostics(**value)).splitlines()[1:]:
                say(console, f"  {line}")
        elif name == "note":
            say(console, f"note  {json.dumps(value, ensure_ascii=False)}")
        elif isinstance(value, dict):
            say(console, name)
            for key, inner in value.items():
                say(console, f"  {key}  {_text(inner)}")
        else:
            say(console, f"{name}  {_text(value)}")


def _print_columns(console: Console, columns: list[dict[str, Any]]) -> None:
    titles = list(dict.fromkeys(key for column in columns for key in column))
    rows = [titles, *([_text(column.get(title, "")) for title in titles] for column in columns)]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say(console, ("  " + "  ".join(cells)).rstrip())


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:.5g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
