"""Keep what `make bench` measured, and compare it with the release before, or the run before.

make bench                                   # times all benches, then does this
python benchmarks speed benches              # what the last run measured, beside the release before
python benchmarks speed benches old.json     # beside that file

What a version measured is kept as `benchmarks/output/benches/VERSION.json`. For the release before,
`make bench` is to be run once on its tag, on the same machine; its file stays. Without one, the run
before of the same version is compared.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tomllib
from pathlib import Path
from typing import Any

from report import OUTPUT, Report

HOUSE = Path(__file__).resolve().parents[2]
KEPT = OUTPUT / "benches"
#: Ratios between 1 over this and this are within what a shared machine scatters.
NOISE = 1.1


def measured(folder: Path) -> dict[str, dict[str, float]]:
    """Nanoseconds of each bench, as criterion left them: the median with its 95 % interval."""
    found = {}
    for estimates in sorted(folder.glob("**/new/estimates.json")):
        median = json.loads(estimates.read_text())["median"]
        name = json.loads((estimates.parent / "benchmark.json").read_text())["full_id"]
        interval = median["confidence_interval"]
        found[name] = {
            "median": median["point_estimate"],
            "low": interval["lower_bound"],
            "high": interval["upper_bound"],
        }
    return found


def version() -> tuple[int, ...]:
    """Version of the crate that was measured."""
    manifest = tomllib.loads((HOUSE / "Cargo.toml").read_text())
    said: str = (manifest.get("workspace", {}).get("package") or manifest["package"])["version"]
    return numbers(said.partition("-")[0])


def numbers(said: str) -> tuple[int, ...]:
    return tuple(int(part) for part in said.split("."))


def release_before(own: tuple[int, ...]) -> Path | None:
    """File of the latest version before this one."""
    known = {
        tuple(int(part) for part in path.stem.split(".")): path for path in KEPT.glob("*.json")
    }
    earlier = [other for other in known if other < own]
    return known[max(earlier)] if earlier else None


def time_of(nanoseconds: float) -> str:
    """Three digits in the unit that suits them."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def said_of(ratio: float, before: dict[str, float], now: dict[str, float]) -> str:
    """Describe the ratio where it exceeds scatter."""
    overlap = before["low"] <= now["high"] and now["low"] <= before["high"]
    if overlap or 1 / NOISE < ratio < NOISE:
        return ""
    return "slower" if ratio > 1 else "faster"


def compare(report: Report, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Print both and their ratio, the slowest first."""
    if before["machine"] != now["machine"]:
        report.remark(f"measured on another machine: {before['machine']}, now {now['machine']}")
    old, new = before["benches"], now["benches"]
    ratio = {name: new[name]["median"] / old[name]["median"] for name in old.keys() & new.keys()}
    rows = []
    for name in sorted(ratio, key=lambda name: -ratio[name]):
        times = [time_of(one[name]["median"]) for one in (old, new)]
        rows.append(
            [name, *times, f"{ratio[name]:.2f}", said_of(ratio[name], old[name], new[name])]
        )
    report.table(["bench", before["version"], now["version"], "ratio", ""], rows)
    only = {"gone": old.keys() - new.keys(), "new": new.keys() - old.keys()}
    for what, names in only.items():
        if names:
            report.remark(f"{what}: {', '.join(sorted(names))}")


def main() -> None:
    own = version()
    name = ".".join(map(str, own))
    folder = Path(os.environ.get("CARGO_TARGET_DIR", HOUSE / "target")) / "criterion"
    benches = measured(folder)
    if not benches:
        sys.exit(f"nothing was measured: {folder} holds no results; run `make bench`")
    now = {"version": name, "machine": machine(), "benches": benches}
    KEPT.mkdir(parents=True, exist_ok=True)
    kept, report = KEPT / f"{name}.json", Report("benches")
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else release_before(own) or kept
    before = json.loads(path.read_text()) if path.exists() else None
    kept.write_text(json.dumps(now, indent=1) + "\n")
    if before is None:
        report.remark(f"kept as {kept}, with which the next run is compared")
        return
    compare(report, before | {"version": path.stem}, now)
    report.write()


def machine() -> str:
    """The processor's name, or what is known of it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
