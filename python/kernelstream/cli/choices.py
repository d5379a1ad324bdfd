"""Choices of options, and their defaults."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["WINDOW", "BadCell", "Missing"]

WINDOW = 10_000


class BadCell(StrEnum):
    """What to do with a cell that is not of its column's type."""

    ERROR = "error"
    SKIP = "skip"
    MISSING = "missing"


class Missing(StrEnum):
    """What to do with missing values."""

    ERROR = "error"
    SKIP = "skip"
    FILL = "fill"
