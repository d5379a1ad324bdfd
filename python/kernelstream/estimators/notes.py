"""Notes that users keep in model files: JSON, of a bounded size."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

__all__ = ["checked_note"]

# Bytes: the offsets of about 10,000 partitions.
_LARGEST = 1 << 20
# Levels: the file's reader refuses JSON of more than 128.
_DEEPEST = 32


def checked_note(note: Mapping[str, Any]) -> dict[str, Any]:
    """Give a note as it comes back from a model file.

    Raises
    ------
    ValueError, TypeError
        It is too large, or JSON cannot carry something in it; the message says what.
    """
    if not isinstance(note, Mapping):
        raise TypeError(f"note must be a dict such as {{'offset': 1200}}, got {note!r}")
    plain: dict[str, Any] = _plain(note, "note", _DEEPEST)
    if (size := len(json.dumps(plain))) > _LARGEST:
        raise ValueError(
            f"note is {size:,} bytes of JSON, and a model file keeps up to {_LARGEST:,}: keep the "
            "rest in a file of its own"
        )
    return plain


def _plain(value: Any, where: str, depth: int) -> Any:
    """Convert a value to one that JSON returns unchanged."""
    if depth < 0:
        raise ValueError(f"{where} is nested deeper than {_DEEPEST} levels")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(
                    f"{where} has the key {key!r}, and JSON has texts as keys only: use "
                    f"{str(key)!r}"
                )
        return {
            _plain(key, f"a key of {where}", depth): _plain(inner, f"{where}[{key!r}]", depth - 1)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(inner, f"{where}[{i}]", depth - 1) for i, inner in enumerate(value)]
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{where} is no valid Unicode text: {value!r}") from None
        return str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Real):
        return _number(value, where)
    raise TypeError(
        f"{where} is a {type(value).__name__}, which JSON cannot carry: use dicts, lists, texts, "
        "numbers, booleans or None"
    )


def _number(value: Real, where: str) -> int | float:
    if isinstance(value, Integral):
        if not -(2**63) <= int(value) < 2**64:
            raise ValueError(f"{where} is {value}, which 64 bits cannot hold: keep it as text")
        return int(value)
    if not math.isfinite(value):
        raise ValueError(f"{where} is {value}, which JSON cannot carry: keep it as text")
    return float(value)
