"""What a model file holds, for the command ``info``."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.exceptions import NotFittedError

from kernelstream.cli.running.models import load_model
from kernelstream.cli.running.progress import Progress
from kernelstream.cli.writing.messages import Terminal, say

__all__ = ["describe", "print_description"]

_COUNTS = {"rows": "n_seen_", "points": "n_stored_"}


def describe(path: Path) -> dict[str, Any]:
    """Describe a model file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    description : dict
        What it holds, as JSON can carry it.

    Raises
    ------
    OSError, ModelFileError
        It cannot be read, or is no model file.
    """
    model = load_model(path)
    found: dict[str, Any] = {"file": str(path), "model": type(model).__name__}
    inner = getattr(model, "regressor", None) or getattr(model, "classifier", None) or model
    parameters = inner.get_params(deep=False)
    found["settings"] = {name: repr(value) for name, value in parameters.items()}
    for name, attribute in _COUNTS.items():
        with suppress(AttributeError, NotFittedError):
            found[name] = int(getattr(model, attribute))
    if (targets := getattr(model, "targets", None)) is not None:
        found["targets"] = list(targets)
    with suppress(AttributeError, NotFittedError):
        found["labels"] = [str(label) for label in model.classes_.tolist()]
    found["columns"] = _columns(model)
    with suppress(AttributeError, NotFittedError, NotImplementedError, ValueError):
        importances = np.asarray(model.feature_importances_, dtype=np.float64)
        if len(importances) == len(found["columns"]):
            for column, share in zip(found["columns"], importances.tolist(), strict=True):
                column["importance"] = share
    if model.note_ is not None:
        found["note"] = model.note_
    note = getattr(model, "_note", None)
    if note is not None:
        progress = Progress.from_note(note, path)
        found["options"] = progress.options
        found["files"] = {
            name: mark["rows"] for name, mark in progress.to_note(path)["files"].items()
        }
    return found


def _columns(model: Any) -> list[dict[str, Any]]:
    """Give the columns, their types, and the mean and deviation that standardize numbers."""
    kinds = getattr(model, "_kinds", None)
    if not isinstance(kinds, dict):
        names = getattr(model, "feature_names_in_", None)
        return [] if names is None else [{"name": str(name)} for name in names]
    columns = [
        {"name": name, "type": kind["type"], **({"zone": kind["zone"]} if "zone" in kind else {})}
        for name, kind in kinds.items()
    ]
    if model.mean_ is not None:
        for column, mean, deviation in zip(columns, model.mean_, model.deviation_, strict=True):
            if column["type"] == "number":
                column |= {"mean": float(mean), "deviation": float(deviation)}
    return columns


def print_description(description: dict[str, Any], *, as_json: bool) -> None:
    """Print a description.

    Parameters
    ----------
    description : dict
        What `describe` gave.
    as_json : bool
        Whether as one JSON object.
    """
    console = Terminal()
    if as_json:
        print(json.dumps(description, ensure_ascii=False))
        return
    for name, value in description.items():
        if name == "columns":
            say(console, "columns")
            _print_columns(console, value)
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
