"""What each number of the adaptive experts is worth: halved, doubled, and the errors and times.

The numbers stand in `src/experts/adaptive/params.rs`, `src/online/drift.rs` and
`src/online/winsorizer.rs`, from which their names, texts and defaults are read. Each is halved and
doubled (one between 0.5 and 1: its distance to 1), all else as it is, on ten tables in random
order, on two in four other orders (sorted, in blocks, in a slow rotation), and on streams that
drift, with outliers, with a clock, and with irrelevant columns. The error is a mean square over the
variance of the target, or a share of wrong labels, of predictions on the stream, and of rows held
out after it. The effect of a number is the largest relative change of an error.

    python benchmarks experts ablation measure [--quick] [--only refits]
    python benchmarks experts ablation table

`measure` adds to benchmarks/output/ablation.json as it goes; numbers already there are skipped.
`--quick` takes shorter streams, and leaves a number as soon as an error has changed by 0.5 %: it
tells which numbers have no effect. `table` writes docs/measurements/parameters.csv,
and beside it the parameters of dynamics (`src/dynamics/params.rs`) without effects.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from drift.orders import LABELS, NUMBERS, SMALL, orders
from experts.varied import varied
from report import OUTPUT, Report
from streams import FloatArray, load

import kernelstream as ks
from kernelstream.datasets.adversarial import drifting

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    "src/experts/adaptive/params.rs",
    "src/dynamics/params.rs",
    "src/online/drift.rs",
    "src/online/winsorizer.rs",
]
FOUND = OUTPUT / "ablation.json"
TABLE = ROOT / "docs" / "measurements" / "parameters.csv"
DYNAMICS = TABLE.with_name("dynamics_parameters.csv")
LEAST = 0.005


@dataclass(frozen=True)
class Number:
    """A number, or some of the same meaning in a list, of a struct of parameters."""

    name: str
    text: str
    default: Any


def read_structs() -> dict[str, dict[str, tuple[str, str, str]]]:
    """The fields of all structs: type, text and default, each as it is in the source."""
    structs: dict[str, dict[str, tuple[str, str, str]]] = {}
    text = "\n".join((ROOT / source).read_text(encoding="utf-8") for source in SOURCES)
    for name, body in re.findall(r"pub struct (\w+Params) \{\n(.*?)\n\}", text, re.DOTALL):
        fields = re.findall(r"((?:    ///.*\n)+)    pub (\w+): (.*),", body + "\n")
        default = re.search(
            rf"impl Default for {name} \{{.*?Self \{{(.*?)\}}\n    \}}\n\}}", text, re.DOTALL
        )
        values = default.group(1) if default else ""
        structs[name] = {
            field: (
                kind,
                " ".join(re.findall(r"/// ?(.*)", docs)),
                value.group(1)
                if (value := re.search(rf"\b{field}: (\[.*?\]|\w+ \{{.*?\}}|[^,\n]*)", values))
                else "",
            )
            for docs, field, kind in fields
        }
    return structs


def value_of(text: str) -> Any:
    """The value of a literal of the source."""
    text = text.strip().removesuffix(" }").replace("_", "")
    if text == "2.0 / 3.0":
        return 2 / 3
    if text.startswith("1 <<"):
        return 1 << int(text.split()[-1])
    return json.loads(text)


@cache
def numbers(root: str = "AdaptiveParams") -> tuple[Number, ...]:
    """All numbers of a struct and those within, by the names that they have in a specification."""
    structs, found = read_structs(), []

    def add(prefix: str, struct: str, defaults: str = "") -> None:
        for field, (kind, text, default) in structs[struct].items():
            if kind in structs:
                add(f"{prefix}{field}.", kind, default)
                continue
            if kind.startswith("Option"):  # no number
                continue
            if "{" in defaults:
                own = re.search(rf"\b{field}: (\[.*?\]|[^,}}]*)", defaults)
                default = own.group(1) if own else ""  # noqa: PLW2901
            found.append(Number(prefix + field, text, value_of(default)))

    add("", root)
    return tuple(found)


def scaled(value: Any, factor: float) -> Any:
    """A number, or all of a list, times a factor."""
    if isinstance(value, list):
        return [scaled(each, factor) for each in value]
    if isinstance(value, int):
        return max(1, round(value * factor))
    return 1 - (1 - value) * factor if 0.5 < value < 1 else value * factor


def specification(name: str, value: Any) -> dict[str, Any]:
    """The parameters of a specification with this number, all else as it is."""
    *path, last = name.split(".")
    inner: dict[str, Any] = {last: value}
    for part in reversed(path):
        inner = {part: inner}
    return inner


@dataclass(frozen=True)
class Stream:
    """Rows to learn, and rows held out."""

    name: str
    X: FloatArray
    y: FloatArray
    Z: FloatArray
    z: FloatArray
    labels: bool = False
    size: int = 300

    def errors(self, params: dict[str, Any]) -> tuple[list[float], float]:
        """Errors on the stream and held out, and seconds."""
        experts = varied(params, labels=self.labels, size=self.size)
        start = time.process_time()
        if self.labels:
            made = experts.partial_fit_predict(self.X, self.y, classes=np.unique(self.y))
        else:
            made = experts.partial_fit_predict(self.X, self.y)
        pairs = [(made, self.y), (experts.predict(self.Z), self.z)]
        seconds = time.process_time() - start
        if self.labels:
            return [float(np.mean(made != y)) for made, y in pairs], seconds
        # Medians of squares ignore outliers, means see little else: errors are clipped.
        limit = 25 * np.var(self.z)
        squares = [np.minimum((made - y) ** 2, limit).mean() for made, y in pairs]
        return [float(square / np.var(self.z)) for square in squares], seconds


def streams(rows: int) -> Iterator[Stream]:
    """Tables in several orders, drawn in this many rows, and synthetic streams."""
    drawn = {}
    for name in NUMBERS + LABELS:
        X, y = load(name)
        places = np.random.default_rng(1).permutation(len(y))[: rows + 400]
        drawn[name] = X, y = X[places], y[places]
        yield Stream(name, X[:rows], y[:rows], X[rows:], y[rows:], name in LABELS)
    for name in SMALL[::2]:
        X, y = drawn[name]
        places = orders(X[:rows], y[:rows], labels=name in LABELS)
        for order in ("by target", "by column 1", "blocks of 100", "slow rotation"):
            at = places[order]
            yield Stream(f"{name}, {order}", X[at], y[at], X[rows:], y[rows:], name in LABELS)
    X, y = drawn["cpusmall"]
    rng = np.random.default_rng(3)
    D, d = drifting(2500, 2, period=1000.0, random_state=0)
    yield Stream("drift", D[: 2 * rows], d[: 2 * rows], D[2 * rows :], d[2 * rows :])
    wrong = y[:rows].copy()
    wrong[rng.permutation(rows)[:8]] *= 1000
    yield Stream("cpusmall, outliers", X[:rows], wrong, X[rows:], y[rows:])
    d = y * (1 + 0.5 * np.sin(np.arange(len(y)) / 200))
    D = np.column_stack([X, np.arange(len(y), dtype=np.float64)])
    yield Stream("cpusmall, clock", D[:rows], d[:rows], D[rows:], d[rows:])
    for columns in (30, 90):
        D = rng.normal(size=(rows + 200, columns))
        d = np.sin(2 * D[:, 0]) + D[:, 1] * D[:, 2] + 0.2 * rng.normal(size=len(D))
        yield Stream(f"{columns - 3} irrelevant columns", D[:rows], d[:rows], D[rows:], d[rows:])
    yield from long_streams(5 * rows)


def long_streams(rows: int) -> Iterator[Stream]:
    """Streams with several refits and blocks, for small experts, which are fast."""
    for name, order in (
        ("cal_housing", "random"),
        ("codrna_30k", "random"),
        ("cpusmall", "by target"),
        ("cal_housing", "slow rotation"),
        ("elevators_raw", "abrupt change"),
    ):
        labels = name in LABELS
        X, y = load(name)
        places = np.random.default_rng(2).permutation(len(y))[: rows + 400]
        X, y, Z, z = X[places[:rows]], y[places[:rows]], X[places[rows:]], y[places[rows:]]
        at = orders(X, y, labels=labels)[order]
        yield Stream(f"{name}, {rows} rows, {order}", X[at], y[at], Z, z, labels, 60)
    for period in (500.0, 8000.0):
        X, y = drifting(rows + 400, 2, period=period, random_state=0)
        name = f"drift of period {period:.0f}, {rows} rows"
        yield Stream(name, X[:rows], y[:rows], X[rows:], y[rows:], size=60)
    time_of = np.arange(rows + 400, dtype=np.float64)
    X = np.column_stack([X, time_of])
    y = np.sin(2 * X[:, 0]) + X[:, 1] + np.sin(time_of / 300)
    yield Stream(f"clock, {rows} rows", X[:rows], y[:rows], X[rows:], y[rows:], size=60)


def measure(only: str, *, quick: bool) -> None:
    """Halve and double each number."""
    ks.set_num_threads(1)
    warnings.simplefilter("ignore")
    found = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    all_streams = list(streams(600 if quick else 1000))
    base = {stream.name: stream.errors({}) for stream in all_streams}
    total = sum(seconds for _, seconds in base.values())
    print(f"{len(numbers())} numbers, {len(all_streams)} streams, {total:.1f} s")
    chosen = [number for number in numbers() if re.search(only, number.name)]
    if not chosen:
        raise SystemExit(f"no number has a name with {only!r}, such as order.distance")
    for number in chosen:
        if number.name in found:
            continue
        effects: dict[str, dict[str, float]] = {}
        ratios = {}
        for factor in (0.5, 2.0):
            params = specification(number.name, scaled(number.default, factor))
            spent = known = 0.0
            changes = effects.setdefault(f"{factor:g}", {})
            for stream in sorted(all_streams, key=lambda stream: base[stream.name][1]):
                try:
                    errors, seconds = stream.errors(params)
                except ValueError as refused:
                    print(f"{number.name} x {factor:g}: {refused}")
                    break
                before, usual = base[stream.name]
                signed = [(e - b) / max(b, 1e-4) for e, b in zip(errors, before, strict=True)]
                changes[stream.name] = max(signed, key=abs)
                spent, known = spent + seconds, known + usual
                if quick and abs(changes[stream.name]) >= LEAST:
                    break
            ratios[f"{factor:g}"] = spent / known if known else 1.0
            if quick and max(map(abs, changes.values()), default=0) >= LEAST:
                break
        found[number.name] = {"changes": effects, "time": ratios, "quick": quick}
        largest = [
            f"x {factor}: {max(changes.values(), key=abs, default=0):+.2%} "
            f"({max(changes, key=lambda name: abs(changes[name]), default='')}), "
            f"time x {ratios.get(factor, 1):.2f}"
            for factor, changes in effects.items()
        ]
        print(f"{number.name} = {number.default}: {'; '.join(largest)}", flush=True)
        OUTPUT.mkdir(exist_ok=True)
        FOUND.write_text(json.dumps(found, indent=1))


def write_table() -> None:
    """Write what was measured to the docs; what was not keeps its line, but for the meaning."""
    found = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        earlier = {line[0]: line for line in csv.reader(file)}
    report = Report("ablation")
    rows = []
    for number in numbers():
        known = found.get(number.name)
        if known is None:
            start = [f"`{number.name}`", str(number.default)]
            line = earlier.get(start[0])
            measured = line[2:6] if line and line[1] == start[1] else [""] * 4
            rows.append([*start, *measured, number.text])
            continue
        cells = []
        for factor in ("0.5", "2"):
            changes = known["changes"].get(factor, {})
            if changes:
                name = max(changes, key=lambda stream: abs(changes[stream]))
                cells += [f"{changes[name]:+.1%} ({name})", f"{known['time'][factor]:.2f}"]
            else:
                cells += ["", ""]
        rows.append([f"`{number.name}`", str(number.default), *cells, number.text])
    columns = ["number", "default", "halved", "time", "doubled", "time", "meaning"]
    report.table(columns, rows)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    with DYNAMICS.open("w", encoding="utf-8", newline="") as file:
        dynamics = numbers("DynamicsParams")
        cells = [[f"`{number.name}`", str(number.default), number.text] for number in dynamics]
        csv.writer(file, lineterminator="\n").writerows([["number", "default", "meaning"], *cells])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["measure", "table"])
    parser.add_argument("--quick", action="store_true", help="only whether there is an effect")
    parser.add_argument(
        "--only", default="", help="numbers with this in their names, a regular expression"
    )
    arguments = parser.parse_args()
    if arguments.command == "measure":
        measure(arguments.only, quick=arguments.quick)
    else:
        write_table()


if __name__ == "__main__":
    main()
