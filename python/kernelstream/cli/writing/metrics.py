"""The errors along the stream, as lines of JSON for a dashboard."""

from __future__ import annotations

import json
import math
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from kernelstream.cli.writing.replacing import is_direct, replacing

__all__ = ["MetricsFile"]

_EVERY_ROWS = 10_000
_EVERY_SECONDS = 1.0


class MetricsFile:
    """Lines of JSON, one each second or 10,000 rows, whichever comes first, and one at the end."""

    def __init__(self, path: Path, seen_before: int = 0) -> None:
        self._file: IO[str]
        if seen_before and path.is_file():
            kept = _lines_until(path, seen_before)
            with replacing(path) as file:
                file.write("".join(kept).encode())
            self._file = path.open("a", encoding="utf-8")
        else:
            self._file = path.open("w", encoding="utf-8")
        self._direct = is_direct(path)
        self._rows = 0
        self._time = time.monotonic()

    def is_due(self, rows: int) -> bool:
        """Tell whether it is time for a line."""
        late = time.monotonic() - self._time >= _EVERY_SECONDS
        return rows - self._rows >= _EVERY_ROWS or (late and rows > self._rows)

    def write(self, figures: dict[str, Any]) -> None:
        """Write a line."""
        self._rows, self._time = int(figures["rows"]), time.monotonic()
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": now} | {name: _as_json(value) for name, value in figures.items()}
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            self._file.close()


def _lines_until(path: Path, seen: int) -> list[str]:
    """Give the lines that earlier runs wrote until then; later rows are learned again."""
    kept = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            try:
                before = int(json.loads(line)["seen"]) <= seen
            except (ValueError, KeyError, TypeError):
                continue
            if before and line.endswith("\n"):
                kept.append(line)
    return kept


def _as_json(value: Any) -> Any:
    """Give a number for JSON, to six digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
