"""Draw the tables of docs/peers.md: error against time a row, into docs/_static/peers.png."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt

from kernelstream.plots import CYCLE, style_axes

DOCS = Path(__file__).resolve().parents[2] / "docs"
TABLES = ("elevators_raw", "cal_housing")
Point = tuple[float, float]


def points(text: str, data: str) -> dict[str, dict[str, Point]]:
    """Read time and error of every learner of a data set, by package."""
    section = re.search(rf"^## {data}: [^\n]*one thread$(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    found: dict[str, dict[str, Point]] = {}
    for line in section[1].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 9 and cells[0].replace(".", "").isdigit():
            package, learner = cells[1].split(" ", 1)
            found.setdefault(package, {})[learner] = float(cells[2]), float(cells[3])
            calls = learner.rsplit(", ", 1)[1]
            ours = f"{cells[5]}, {'one row' if calls == 'one row per call' else 'many rows'}"
            found.setdefault("kernelstream", {})[ours] = float(cells[6]), float(cells[7])
    best = re.search(r"error of kernelstream: ([\d.]+) \(.* ([\d.]+) \S+ per row", section[1])
    found["kernelstream"]["best"] = float(best[2]), float(best[1])
    return found


def main() -> None:
    """Draw one picture for each data set."""
    text = (DOCS / "peers.md").read_text()
    figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.2), sharex=True, layout="constrained")
    colours = {"kernelstream": CYCLE[0], "scikit-learn": CYCLE[3], "river": CYCLE[1], "dlib": "0.5"}
    for ax, data in zip(axes, TABLES, strict=True):
        for package, learners in points(text, data).items():
            times, errors = zip(*learners.values(), strict=True)
            ours = package == "kernelstream"
            ax.loglog(
                times,
                errors,
                "o" if ours else "s",
                color=colours[package],
                markersize=8 if ours else 6,
                alpha=0.85,
                label=package,
                zorder=3 if ours else 2,
            )
        ax.set(
            title=data.removesuffix("_raw"),
            ylim=(0.1, None),
            xlabel="microseconds a row (one thread)",
        )
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.yaxis.set_minor_formatter(lambda value, _: f"{value:.1g}" if value < 1 else f"{value:g}")
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        style_axes(ax, frame=False)
    axes[0].set_ylabel("prequential error / variance")
    handles = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    axes[1].legend(
        [handles[name] for name in colours], list(colours), frameon=False, loc="upper left"
    )
    figure.savefig(DOCS / "_static" / "peers.png", dpi=110)
