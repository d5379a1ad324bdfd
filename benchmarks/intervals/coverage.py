"""Coverage of prequential intervals on twenty-four streams, whole and in windows of 1,000 rows.

Seven tables in a random order and as in the file, three of them sorted by the target and by a
column, targets that rotate slowly and fast, and targets that flip every ten and every twenty rows;
columns and targets are standardized. Each row has its interval before it is learned, by
`KernelRegressor` with at most 150 stored points and by `KernelExperts`, with nothing else chosen.
Figures are coverage minus what was asked for, in percent. One pass over a stream for each coverage.

Where a target stays the same for long, predictions become exact, and targets are inside any
interval: rows after thirty exact predictions in a row are left out.

Then four adversaries, who know each interval before they choose its target: coverage of all rows,
and that which `diagnostics_` has of the 90 % intervals, beside what was truly inside of these.

    python benchmarks intervals coverage [--rows 12000] [--model KernelRegressor]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from report import Report
from sklearn.base import clone
from streams import NUMBERS, FloatArray, available, load, random_order, standardized

import kernelstream as ks
from kernelstream.datasets import adversarial

SORTED = ("elevators_raw", "bank32nh", "cal_housing")
COVERAGES = (0.5, 0.8, 0.9, 0.95, 0.99)
WINDOW, STILL = 1000, 30

MODELS = {
    "KernelRegressor": ks.KernelRegressor(basis=ks.ALD(1e-3, max_size=150), scale=False),
    "KernelExperts": ks.KernelExperts(),
}

# What a stream is like: coverage in windows is distinguished by it.
RANDOM, FILE, CHANGING = "in a random order", "as in the file", "sorted, rotating, flipped"


@dataclass(frozen=True)
class Stream:
    """Rows and targets in the order in which they come."""

    name: str
    kind: str
    X: FloatArray
    y: FloatArray


def streams(report: Report, most: int) -> Iterator[Stream]:
    names = [name for name in NUMBERS if available(report, name)]
    for name in names:
        X, y = (standardized(values) for values in load(name))
        order, short = random_order(len(y), 0)[:most], name.removesuffix("_raw")
        yield Stream(short, RANDOM, X[order], y[order])
        yield Stream(f"{short}, file", FILE, X[:most], y[:most])
        if name in SORTED:
            for what, by in (("target", None), ("column", 0)):
                rows, targets = adversarial.sorted_stream(X[order], y[order], by=by)
                yield Stream(f"{short}, by {what}", CHANGING, rows, targets)
    for period in (2000, 20_000):
        rows, targets = adversarial.drifting(most, period=float(period), random_state=0)
        yield Stream(f"rotating, {period:,} rows a turn", CHANGING, rows, standardized(targets))
    for name in ("cal_housing", "elevators_raw"):
        if name in names:
            repeats = 10 if name == "cal_housing" else 20
            X, y = (standardized(values) for values in load(name))
            rows, targets = adversarial.block_flips(X, y, most // repeats, repeats, random_state=0)
            yield Stream(f"flipped every {repeats} rows", CHANGING, rows, targets)


Model: TypeAlias = ks.KernelRegressor | ks.KernelExperts

# The target of a row, of the ends of its interval and of what the target would be otherwise.
Adversary: TypeAlias = Callable[[int, float, float, float], float]


def inside(model: Model, stream: Stream, coverage: float) -> NDArray[np.bool_]:
    """Whether the target of each row was in its interval."""
    ends = clone(model).partial_fit_predict_interval(stream.X, stream.y, coverage=coverage)
    found: NDArray[np.bool_] = (ends[:, 0] <= stream.y) & (stream.y <= ends[:, 1])
    return found


def judged(model: Model, stream: Stream) -> NDArray[np.bool_]:
    """Which rows do not come after thirty exact predictions in a row."""
    made = clone(model).partial_fit_predict(stream.X, stream.y)
    exact = np.abs(stream.y - made) <= 1e-12 * np.abs(stream.y)
    places = np.arange(len(exact))
    latest_error = np.maximum.accumulate(np.where(exact, -1, places))
    found: NDArray[np.bool_] = places - latest_error <= STILL
    return found


def gaps(within: NDArray[np.bool_], coverage: float) -> tuple[float, float]:
    """Distance of the coverage of all rows, and of the window that is furthest off, in percent."""
    windows = within[: len(within) // WINDOW * WINDOW].reshape(-1, WINDOW).mean(axis=1)
    furthest = windows[np.abs(windows - coverage).argmax()]
    return 100 * (float(within.mean()) - coverage), 100 * (float(furthest) - coverage)


def just_outside(limit: float) -> Adversary:
    """A target beyond the interval by a thousandth of its width, if it is within a limit."""

    def target(_row: int, low: float, high: float, usual: float) -> float:
        outside = high + 1e-3 * (high - low)
        return outside if abs(outside) <= limit else usual

    return target


def by_turns(row: int, low: float, high: float, usual: float) -> float:
    """A target beyond the upper end and one beyond the lower end."""
    outside = high + 1e-3 * (high - low) if row % 2 else low - 1e-3 * (high - low)
    return outside if abs(outside) <= 3 else usual


def in_bursts(row: int, low: float, high: float, usual: float) -> float:
    """Fifty targets next to the predictions, then fifty outside."""
    if row // 50 % 2 and np.isfinite(high - low):
        return 0.5 * (low + high) + 1e-3 * (high - low) * usual
    return just_outside(5.0)(row, low, high, usual)


ADVERSARIES: dict[str, Adversary] = {
    "just outside, within 3": just_outside(3.0),
    "just outside, within 1e6": just_outside(1e6),
    "beyond both ends by turns": by_turns,
    "in bursts": in_bursts,
}


def inside_against(model: Model, adversary: Adversary, coverage: float, n: int) -> list[float]:
    """Shares of targets inside: of these intervals, and by `diagnostics_` of 90 % intervals."""
    model, rng = clone(model), np.random.default_rng(0)
    X, usual = rng.normal(size=(n, 2)), rng.normal(size=n)
    model.partial_fit(X[:30], usual[:30])
    within = 0
    for i in range(30, n):
        low, high = model.predict_interval(X[i : i + 1], coverage=coverage)[0]
        y = adversary(i, low, high, usual[i])
        within += bool(low <= y <= high)
        model.learn_one(X[i], y)
    return [within / (n - 30), float(model.diagnostics_.coverage)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=12_000, help="of a stream, at most")
    parser.add_argument("--model", choices=list(MODELS), help="this one alone")
    parser.add_argument("--adversaries", action="store_true", help="these alone")
    options = parser.parse_args()
    report, began = Report("coverage"), time.perf_counter()
    columns = [f"{coverage:.0%}" for coverage in COVERAGES]
    kinds = [options.model] if options.model else list(MODELS)
    if options.adversaries:
        for kind in kinds:
            against(report, kind, options.rows)
        report.write()
        return
    shown = list(streams(report, options.rows))
    for kind in kinds:
        report.heading(f"{kind}: of a stream, and (of the {WINDOW:,} rows furthest off)")
        found, rows = [], []
        for stream in report.track(shown, "streams"):
            model = MODELS[kind]
            counts = judged(model, stream)
            found.append([gaps(inside(model, stream, c)[counts], c) for c in COVERAGES])
            cells = [f"{all_:+.1f} ({window:+.1f})" for all_, window in found[-1]]
            rows.append([stream.name, f"{counts.sum():,}", *cells])
            report.remark(" | ".join(rows[-1]))
        report.table(["stream", "rows", *columns], rows)
        furthest = np.abs(np.array(found))
        lines = [[f"of a stream, furthest of {len(shown)}", *_percent(furthest[..., 0])]]
        for what in (RANDOM, FILE, CHANGING):
            alike = [i for i, stream in enumerate(shown) if stream.kind == what]
            label = f"of {WINDOW:,} rows, furthest {what}"
            lines.append([label, *_percent(furthest[alike, :, 1])])
        report.table([kind, *columns], lines)
        against(report, kind, options.rows)
    report.remark(f"{time.perf_counter() - began:.0f} s")
    report.write()


def against(report: Report, kind: str, n: int) -> None:
    """The table of the adversaries: gaps in percent, and what diagnostics are off by."""
    report.heading(f"{kind}: against an adversary, {n:,} rows")
    rows = []
    for name, adversary in report.track(list(ADVERSARIES.items()), "adversaries"):
        found = [inside_against(MODELS[kind], adversary, c, n) for c in COVERAGES]
        off = [inside - c for (inside, _), c in zip(found, COVERAGES, strict=True)]
        true, counted = found[COVERAGES.index(0.9)]
        rows.append([name, *(f"{100 * gap:+.1f}" for gap in off), f"{100 * (counted - true):+.2f}"])
        report.remark(" | ".join(rows[-1]))
    columns = [f"{coverage:.0%}" for coverage in COVERAGES]
    report.table(["adversary", *columns, "diagnostics' 90 %"], rows)


def _percent(gaps_of_streams: FloatArray) -> list[str]:
    return [f"{gap:.1f}" for gap in gaps_of_streams.max(axis=0)]
