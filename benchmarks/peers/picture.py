"""Draw the tables of docs/peers.md: error against time a row, into docs/_static/peers.png."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import Bbox

from kernelstream.plots import CYCLE, style_axes

DOCS = Path(__file__).resolve().parents[2] / "docs"
TABLES = ("elevators_raw", "cal_housing")
ERRORS = (0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.4)
RETRAINED, OTHERS = "retrained", "online-cp"
COLOURS = {
    "kernelstream": CYCLE[0],
    RETRAINED: CYCLE[2],
    "scikit-learn": CYCLE[3],
    "river": CYCLE[1],
    "irithyll": CYCLE[4],
    "dlib": "0.5",
    OTHERS: "0.2",
}
SHORTER = (
    (r" ?\(\d.*?\)| \(.*?\)", ""),
    (r", at most (\d+) points", r" \1"),
    (r"Regressor|, 10 trees|, 100 steps|, 10 hidden|, 1000 rows", ""),
    ("HistGradientBoosting", "histogram boosting"),
    (r"Hoeffding(Adaptive)?Tree", lambda found: "HAT" if found[1] else "Hoeffding tree"),
    (r'\(effort="low"\)', ", low effort"),
    (r"\(\)", ""),
    (r"Linear(?=$)", "linear"),
)


@dataclass(frozen=True)
class Point:
    """A learner: its package, a short name, time and error, and whether it is called row by row."""

    package: str
    name: str
    time: float
    error: float
    one: bool


def short(name: str) -> str:
    for pattern, by in SHORTER:
        name = re.sub(pattern, by, name)
    return name


def learner(name: str, time: str, error: str) -> Point:
    """The point of a peer, whose name ends with how it is called."""
    full, calls = name.rsplit(", ", 1)
    package, _, rest = full.partition(" ")
    if calls == RETRAINED:
        package, rest = RETRAINED, full.removeprefix("scikit-learn ")
    return Point(package, short(rest), float(time), float(error), one=calls == "one row per call")


def points(text: str, data: str) -> list[Point]:
    """Read time and error of every learner of a data set."""
    section = re.search(rf"^## {data}: [^\n]*one thread$(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    found = []
    for line in section[1].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 9 or not re.fullmatch(r"[\d.]*", cells[0]):
            continue
        peer = learner(*cells[1:4])
        found.append(peer)
        if cells[0]:
            time, error = map(float, cells[6:8])
            found.append(Point("kernelstream", short(cells[5]), time, error, peer.one))
    best = re.search(
        r"kernelstream: ([\d.]+) \((.*), (one|many) .* ([\d.]+) \S+ per row", section[1]
    )
    last = Point("kernelstream", short(best[2]), float(best[4]), float(best[1]), best[3] == "one")
    # Its time is written with a digit less than where it is compared.
    if (last.name, last.one) not in {(point.name, point.one) for point in found}:
        found.append(last)
    return [point for point in dict.fromkeys(found) if np.isfinite(point.error)]


def label(ax: Axes, drawn: list[Point]) -> None:
    """Write the names beside their points, where nothing else is; far ones with a line."""
    figure = ax.figure
    places = ax.transData.transform([(point.time, point.error) for point in drawn])
    taken = [Bbox.from_extents(x - 5, y - 5, x + 5, y + 5) for x, y in places]
    inside = ax.get_window_extent()
    crowd = [np.sum(np.hypot(*(places - place).T) < 60) for place in places]
    ways = [
        (radius, angle)
        for radius in (7, 14, 22, 32, 44, 58, 74)
        for angle in np.deg2rad([0, 180, 90, 270, 30, 330, 150, 210, 60, 300, 120, 240])
    ]
    for i in np.argsort(crowd, kind="stable"):
        point, place = drawn[i], places[i]
        text = ax.annotate(
            point.name, place, xycoords="figure pixels", fontsize=8, color=COLOURS[point.package]
        )
        box = text.get_window_extent(figure.canvas.get_renderer())
        size = np.array([box.width, box.height])
        others = taken[:i] + taken[i + 1 :]
        for radius, angle in ways:
            towards = np.array([np.cos(angle), np.sin(angle)]).round(9)
            corner = place + radius * towards + 0.5 * size * (np.sign(towards) - 1.0)
            room = Bbox.from_bounds(*(corner - 1), *(size + 2))
            fits = inside.x0 < room.x0 and room.x1 < inside.x1
            if fits and not any(room.overlaps(other) for other in others):
                break
        taken.append(room)
        text.set_position(corner)
        if radius > 14:
            end = np.clip(place, corner, corner + size)
            line = ax.transData.inverted().transform([place, end])
            ax.plot(*line.T, color=COLOURS[point.package], linewidth=0.5, alpha=0.6, zorder=1)


def main() -> None:
    """Draw one picture for each data set."""
    text = (DOCS / "peers.md").read_text()
    figure, axes = plt.subplots(2, 1, figsize=(10.5, 12.0), sharex=True, layout="constrained")
    everybody = [points(text, data) for data in TABLES]
    for ax, data, drawn in zip(axes, TABLES, everybody, strict=True):
        for point in drawn:
            colour = COLOURS[point.package]
            ax.loglog(
                point.time,
                point.error,
                "o" if point.package == "kernelstream" else "s",
                markeredgecolor=colour,
                markerfacecolor="white" if point.one else colour,
                markersize=7 if point.package == "kernelstream" else 5,
                zorder=3,
            )
        ax.set(
            title=data.removesuffix("_raw"),
            xlabel="microseconds a row (one thread)",
            ylabel="prequential error / variance",
        )
        ax.margins(x=0.08, y=0.08)
        ax.yaxis.set_major_locator(FixedLocator(ERRORS))
        ax.minorticks_off()
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:,g}")
        style_axes(ax, frame=False)
        ax.tick_params(labelbottom=True)
    for package, colour in COLOURS.items():
        shape = "o" if package == "kernelstream" else "s"
        axes[0].plot([], [], shape, color=colour, label=package)
    for name, face in (("many rows per call", "0.4"), ("one row per call", "white")):
        axes[0].plot([], [], "s", color="0.4", markerfacecolor=face, label=name)
    axes[0].legend(frameon=False, ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1.06))
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for ax, drawn in zip(axes, everybody, strict=True):
        label(ax, drawn)
    figure.savefig(DOCS / "_static" / "peers.png", dpi=figure.dpi)
