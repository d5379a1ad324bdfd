"""Descriptions of experts as a short table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

__all__ = ["ExpertList"]

_WIDEST = 36


class ExpertList(list[dict[str, Any]]):
    """What each expert of a mixture is: a list of dicts that prints as a short table."""

    def __init__(self, experts: Iterable[dict[str, Any]], weights: Any = None) -> None:
        super().__init__(experts)
        self._weights = None if weights is None else np.asarray(weights, dtype=np.float64)

    def __repr__(self) -> str:
        names = list(dict.fromkeys(name for expert in self for name in expert))
        head = ["", *names]
        lines = [
            [str(i), *(_short(expert.get(name)) for name in names)] for i, expert in enumerate(self)
        ]
        if self._weights is not None and self._weights.shape == (len(self),):
            head.insert(1, "weight")
            for line, weight in zip(lines, self._weights, strict=True):
                line.insert(1, f"{weight:.3f}")
        widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in [head, *lines]
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("ExpertList(...)" if cycle else repr(self))


def _short(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, np.ndarray):
        size = " x ".join(map(str, value.shape))
        return f"full {size}" if value.ndim == 2 else f"diagonal {size}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return f"{len(value)} parameters"
    text = str(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
