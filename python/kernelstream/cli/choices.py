"""What a user chooses among, and what holds where nothing was chosen."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["WINDOW", "Missing"]

WINDOW = 10_000


class Missing(StrEnum):
    """What to do with missing values."""

    ERROR = "error"
    SKIP = "skip"
    FILL = "fill"
