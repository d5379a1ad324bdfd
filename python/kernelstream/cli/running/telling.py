"""What a run tells the user, besides the errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from kernelstream.cli.reading.columns import Columns, described, listed
from kernelstream.cli.reading.reader import Reader
from kernelstream.cli.reading.sources import Source
from kernelstream.cli.running.beginning import Begun
from kernelstream.cli.running.wishes import Wishes
from kernelstream.cli.writing.messages import say
from kernelstream.estimators.progress import ProgressBar

__all__ = ["announce", "print_facts", "remedy_for_drift"]


def announce(console: Console, first: Reader, sources: Sequence[Source], columns: Columns) -> None:
    """Say what is read, and which of its columns are used."""
    for note in first.notes:
        say(console, f"{first.name}: {note}")
    where = sources[0].name
    if len(sources) > 1:
        where = f"{len(sources)} files, in this order: "
        where += listed([source.name for source in sources])
    say(console, f"reading {where}")
    used = [
        name if kind == "number" else f"{name} ({kind})" for name, kind in columns.kinds.items()
    ]
    say(console, f"learning {listed(columns.targets)} from: {listed(used)}")
    if columns.left_out:
        say(console, f"left out: {described(columns.left_out)}")


def remedy_for_drift(wishes: Wishes, *, is_label: bool) -> str:
    """Say what may help against drift that the user has not tried."""
    if "forgetting" in (wishes.learner or ""):
        return "try a smaller forgetting"
    learner = "gauss_newton" if is_label else "ridge"
    forget = f"a learner that forgets, such as --learner {learner}:1e-2,forgetting=0.999"
    return f"try {forget}" if is_label or wishes.experts else f"try --experts, or {forget}"


def told_of_skipped(begun: Begun) -> str:
    """Say how many rows were not learned; where gaps are filled, these had no target."""
    count = begun.progress.skipped
    why = "without a target" if begun.model.missing == "fill" else "skipped"
    return f" ({count:,} {why})" if count else ""


def print_facts(console: Console, begun: Begun, bar: ProgressBar, saved: Sequence[Path]) -> None:
    """Say how much was learned, how fast, and where the model is."""
    progress = begun.progress
    facts = {"rows learned": f"{progress.rows:,}{told_of_skipped(begun)}"}
    if begun.n_before and begun.n_seen > progress.rows:
        facts["in all"] = f"{begun.n_seen:,}"
    facts["points stored"] = f"{begun.model.n_stored_:,}"
    if progress.rows:
        facts["speed"] = f"{bar.rows_per_second:,.0f} rows per second, {bar.seconds:.1f} s in total"
    for path in saved:
        facts["model saved"] = f"{path} ({path.stat().st_size / 1024:,.0f} kB)"
    width = max(map(len, facts))
    for name, value in facts.items():
        say(console, f"{name:<{width}}  {value}")
