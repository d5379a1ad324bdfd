"""Outcome of a task as bytes that any engine transports: a result, or the error of a row."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

__all__ = ["packed", "unpacked"]


def packed(work: Callable[[], Any]) -> bytes:
    """Do some work, and give its result."""
    outcome: tuple[Any, Exception | None]
    try:
        outcome = (work(), None)
    except (ValueError, TypeError) as error:
        outcome = (None, error)
    return pickle.dumps(outcome)


def unpacked(outcome: bytes) -> Any:
    """Give the result, or raise the error."""
    found, error = pickle.loads(outcome)  # noqa: S301  (what `packed` made)
    if error is not None:
        raise error
    return found
