"""The errors along the stream, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from kernelstream.cli.writing.replacing import replacing

__all__ = ["History"]

_FEW = 20  # points that are marked
_PICTURES = ("png", "svg", "pdf", "jpg", "webp")


class History:
    """The errors at some moments of the stream, as many as a picture can show.

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
        """Note the errors, if enough rows have passed."""
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
        is_label = bool(self.points) and "majority_error" in self.points[0][1]
        for ax, target in zip(figure.subplots(len(shown), squeeze=False)[:, 0], shown, strict=True):
            suffix = "" if len(self._targets) == 1 else f"_{target}"
            lines = {
                f"window_error{suffix}": (f"last {self._window:,} rows", "-", "tab:blue"),
                f"error{suffix}": ("all rows", "--", "tab:blue"),
                f"mean_error{suffix}": ("running mean", ":", "tab:gray"),
                "majority_error": ("most frequent label", ":", "tab:gray"),
                f"last_error{suffix}": (
                    "last label" if is_label else "last target",
                    "-.",
                    "tab:gray",
                ),
            }
            for name, (label, style, color) in lines.items():
                # As long as the last rows are all, their curves are one.
                is_twice = name.startswith("window") and rows and rows[-1] <= self._window
                if self.points and name in self.points[0][1] and not is_twice:
                    values = [figures[name] for _, figures in self.points]
                    # A line needs two points, and few are hard to see.
                    marker = "." if len(rows) < _FEW else ""
                    ax.plot(rows, values, style, marker=marker, color=color, lw=1.5, label=label)
            ax.set(ylabel=f"error of {target}", ylim=(0.0, None))
            style_axes(ax)
        ax.set_xlabel("rows")
        if self.points:
            ax.legend(frameon=False)
        with replacing(self._path) as file:
            figure.savefig(file, format=self._format, dpi=150)
