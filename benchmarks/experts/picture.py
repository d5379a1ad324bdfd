"""Draw docs/measurements/race.csv: error against time for every learner, docs/_static/race.png."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from kernelstream.plots import CYCLE, style_axes

DOCS = Path(__file__).resolve().parents[2] / "docs"
OURS = "experts"
NAMES = {
    "experts": "KernelExperts()",
    "low": 'KernelExperts(effort="low")',
    "histogram": "scikit-learn, histogram boosting",
    "trees": "scikit-learn, randomized trees",
    "lightgbm": "LightGBM, six settings",
    "xgboost": "XGBoost",
    "catboost": "CatBoost",
}


def read() -> dict[str, dict[str, tuple[float, float]]]:
    """Mean error and seconds over the orders, by learner and table."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    with (DOCS / "measurements" / "race.csv").open(newline="") as file:
        for line in csv.DictReader(file):
            values = float(line["error"]), float(line["seconds"])
            found[line["learner"]][line["table"]].append(values)
    return {
        learner: {table: tuple(np.mean(all_orders, axis=0)) for table, all_orders in tables.items()}
        for learner, tables in found.items()
    }


def main() -> None:
    """One point for each learner and table, and the geometric mean of each learner."""
    found = read()
    figure, ax = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
    style_axes(ax)
    colours = [CYCLE[0], CYCLE[0], CYCLE[3], CYCLE[1], CYCLE[2], "0.35", CYCLE[4]]
    for (learner, name), colour in zip(NAMES.items(), colours, strict=True):
        tables = found[learner]
        ratios = np.array([error / found[OURS][table][0] for table, (error, _) in tables.items()])
        seconds = np.array([seconds for _, seconds in tables.values()])
        hollow = {"markerfacecolor": "white"} if learner == "low" else {}
        ax.loglog(seconds, ratios, "o", color=colour, markersize=3.5, alpha=0.45, **hollow)
        large = {"markerfacecolor": "white", "markeredgecolor": colour, "markeredgewidth": 2}
        style = large if learner == "low" else {"markeredgecolor": "white"}
        mean = [np.exp(np.mean(np.log(values))) for values in (seconds, ratios)]
        ax.loglog(*mean, "o", color=colour, markersize=11, **style,
                  label=f"{name}: {mean[1]:.2f}, {mean[0]:.0f} s", zorder=3)  # fmt: skip
    ax.axhline(1.0, color="0.6", linewidth=0.8, zorder=0)
    ax.set(
        xlabel="seconds of processor time for a stream of at most 20,000 rows",
        ylabel="error over that of KernelExperts()",
    )
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.yaxis.set_minor_formatter(
        lambda value, _: f"{value:g}" if value in (0.9, 1.5, 2, 3, 4) else ""
    )
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.legend(
        fontsize=8, loc="upper left", title="geometric means of error and time", title_fontsize=8
    )
    path = DOCS / "_static" / "race.png"
    figure.savefig(path, dpi=130)
    print(f"written to {path}")


if __name__ == "__main__":
    main()
