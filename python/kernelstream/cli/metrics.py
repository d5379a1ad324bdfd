"""The errors as time goes by: lines of JSON for a dashboard, and a picture."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from kernelstream.cli.replacing import is_direct, replacing

__all__ = ["History", "MetricsFile"]

_EVERY_ROWS = 10_000
_EVERY_SECONDS = 1.0
_PICTURES = ("png", "svg", "pdf", "jpg", "webp")


class MetricsFile:
    """Lines of JSON, one each second or 10,000 rows, whichever comes first, and one at the end.

    Parameters
    ----------
    path : Path
        Where to; a pipe or device is written to as it is.
    seen_before : int, default=0
        Rows that the model has learned before: the lines of the file up to there stay. 0: a new
        file.
    """

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
        """Tell whether it is time for a line.

        Parameters
        ----------
        rows : int
            Rows so far.

        Returns
        -------
        due : bool
            Whether it is.
        """
        late = time.monotonic() - self._time >= _EVERY_SECONDS
        return rows - self._rows >= _EVERY_ROWS or (late and rows > self._rows)

    def write(self, figures: dict[str, Any]) -> None:
        """Write a line.

        Parameters
        ----------
        figures : dict
            What is in it, beside the time; with ``rows`` and ``seen``.
        """
        self._rows, self._time = int(figures["rows"]), time.monotonic()
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": now} | {name: _as_json(value) for name, value in figures.items()}
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            self._file.close()


class History:
    """The errors at some moments of the stream, as many as a picture can show.

    Parameters
    ----------
    path : Path
        File of the picture, such as ``.png``, ``.svg`` or ``.pdf``.
    targets : sequence of str
        Names of the targets.
    window : int
        How many the last rows are.
    most : int, default=2000
        How many moments are kept; of more, every other one is dropped.

    Attributes
    ----------
    points : list of (int, dict)
        Rows so far, and the errors by name.

    Raises
    ------
    ValueError
        The file has another extension.
    ImportError
        matplotlib is not installed.
    """

    def __init__(self, path: Path, targets: Sequence[str], window: int, most: int = 2000) -> None:
        if find_spec("matplotlib") is None:
            raise ImportError("--plot needs matplotlib: pip install 'kernelstream[plot]'")
        self._format = path.suffix.lower().lstrip(".") or "png"
        if self._format not in _PICTURES:
            raise ValueError(f"--plot {path}: the picture can be {', '.join(_PICTURES)}")
        self._path = path
        self._targets = list(targets)
        self._window = window
        self.points: list[tuple[int, dict[str, float]]] = []
        self._most = most
        self._step = 1

    def add(self, rows: int, figures: dict[str, float]) -> None:
        """Note the errors, if enough rows have passed.

        Parameters
        ----------
        rows : int
            Rows so far.
        figures : dict of str to float
            The errors.
        """
        if self.points and rows - self.points[-1][0] < self._step:
            return
        self.points.append((rows, figures))
        if len(self.points) > self._most:
            self.points = self.points[::2]
            self._step = max(2 * self._step, self.points[-1][0] // self._most)

    def draw(self) -> None:
        """Draw the errors, those of the last rows and those of the baseline."""
        from matplotlib.figure import Figure  # noqa: PLC0415

        from kernelstream.plots import style_axes  # noqa: PLC0415

        shown = self._targets[:8]
        figure = Figure(figsize=(8.0, 1.2 + 2.6 * len(shown)), layout="constrained")
        rows = [count for count, _ in self.points]
        for ax, target in zip(figure.subplots(len(shown), squeeze=False)[:, 0], shown, strict=True):
            suffix = "" if len(self._targets) == 1 else f"_{target}"
            lines = {
                f"window_error{suffix}": (f"last {self._window:,} rows", "-", "tab:blue"),
                f"error{suffix}": ("all rows", "--", "tab:blue"),
                f"mean_error{suffix}": ("running mean", ":", "tab:gray"),
                "majority_error": ("most frequent label", ":", "tab:gray"),
                "last_error": ("last label", "-.", "tab:gray"),
            }
            for name, (label, style, color) in lines.items():
                if self.points and name in self.points[0][1]:
                    values = [figures[name] for _, figures in self.points]
                    ax.plot(rows, values, style, color=color, lw=1.5, label=label)
            ax.set(ylabel=f"error of {target}", ylim=(0.0, None))
            style_axes(ax)
        ax.set_xlabel("rows")
        ax.legend(frameon=False)
        with replacing(self._path) as file:
            figure.savefig(file, format=self._format, dpi=150)


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
    """Give a number as JSON knows it, to six digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
