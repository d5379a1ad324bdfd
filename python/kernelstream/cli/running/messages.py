"""Messages of a run, besides its errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from rich.console import Console

from kernelstream.cli.reading.columns import Columns, described, listed
from kernelstream.cli.reading.reader import Reader
from kernelstream.cli.reading.sources import Source
from kernelstream.cli.running.labels import Labels
from kernelstream.cli.running.options import RunOptions
from kernelstream.cli.running.session import Session
from kernelstream.cli.writing.messages import say
from kernelstream.columns.arrow_types import WORDS, what_else
from kernelstream.estimators.progress import ProgressBar
from kernelstream.estimators.sentinels import Sentinel

__all__ = [
    "announce",
    "describe_repeated",
    "describe_sentinel",
    "describe_skipped",
    "explain",
    "print_facts",
    "print_labels",
    "print_notes",
    "remedy_for_drift",
]


def announce(console: Console, first: Reader, sources: Sequence[Source], columns: Columns) -> None:
    """Print the files, and which of their columns are used."""
    print_notes(console, first)
    for note in columns.notes:
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


def print_labels(console: Console, session: Session) -> None:
    """Name the labels, among which a cell that is none would stand."""
    label, task = session.columns.label, session.task
    if label is not None and isinstance(task, Labels):
        if not len(task.classes):
            say(console, f"{label} is a label, learned as it comes")
            return
        names = [repr(name) for name in task.classes.tolist()]
        say(console, f"{label} is a label, one of {len(names)}: {listed(names, most=12)}")


def print_notes(console: Console, table: Reader, printed: Sequence[str] = ()) -> list[str]:
    """Print unusual properties of a table that were not printed before."""
    new = [note for note in table.notes if note not in printed]
    for note in new:
        say(console, f"{table.name}: {note}")
    return [*printed, *new]


def explain(console: Console, table: Reader, columns: Columns) -> None:
    """Show the type of each column, and the counts of its first cells."""
    rows = [["column", "taken for", "why", "odd cells"]]
    targets = dict.fromkeys(columns.targets, "target, " + ("label" if columns.label else "number"))
    kinds: dict[str, str] = columns.kinds | targets | dict.fromkeys(columns.left_out, "left out")
    for name in table.schema.names:
        kind = kinds.get(name, "not used")
        why, odd = _reason(table, name)
        rows.append([name, kind, columns.left_out.get(name, why), odd])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say(console, "  ".join(cells).rstrip())


def _reason(table: Reader, name: str) -> tuple[str, str]:
    """Describe the counts that set the type of a column, and the odd cells."""
    settled, kind = table.settled.get(name), table.schema.field(name).type
    if settled is None:
        values = table.sample(name)
        count = "" if values is None else f" in the first {len(values):,} rows"
        return f"{what_else(kind)}{count}", ""
    what = what_else(settled.type)
    is_text = what_else(settled.type) == WORDS["category"]
    fitting = f"{settled.n_fitting:,} of {settled.n_known:,} are {'numbers' if is_text else what}"
    written = str(settled.numerals) if not is_text else ""
    odd = f"{settled.n_odd:,}" if settled.odd is not None else ""
    if settled.odd is not None:
        odd += f", such as {settled.odd[1]!r} in row {settled.odd[0] + 1:,}"
    return ", ".join(part for part in (fitting, written) if part), odd


def describe_repeated(table: Reader) -> str:
    """Say which rows of a table repeat its header."""
    first = ", ".join(f"{row:,}" for row in table.repeated[:3])
    rows = "row" if len(table.repeated) == 1 else "rows"
    more = ", ..." if len(table.repeated) > 3 else ""
    return f"{len(table.repeated):,} in {table.name}, {rows} {first}{more}, left out"


def describe_sentinel(where: str, found: Sentinel, learned: str = "is learned as it is") -> str:
    """Say where a number is that may stand for a missing value, and what becomes of it."""
    return (
        f"{where}: {found.value:.12g}, {found.why}, {learned}; if it stands for a missing value: "
        f"--missing-values={found.value:.12g}"
    )


def remedy_for_drift(options: RunOptions, *, is_label: bool) -> str:
    """Print remedies for drift that the user has not tried."""
    if "forgetting" in (options.learner or ""):
        return "try a smaller forgetting"
    learner = "gauss_newton" if is_label else "ridge"
    forget = f"a learner that forgets, such as --learner {learner}:1e-2,forgetting=0.999"
    return f"try {forget}" if is_label or options.experts else f"try --experts, or {forget}"


def describe_skipped(session: Session) -> str:
    """Say how many rows were not learned; where gaps are filled, these had no target."""
    count = session.progress.skipped
    why = "without a target" if session.model.missing == "fill" else "skipped"
    return f" ({count:,} {why})" if count else ""


def print_facts(
    console: Console,
    session: Session,
    bar: ProgressBar,
    saved: Sequence[Path],
    decided: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Print the number of rows, the speed, the file of the model, and decisions on columns."""
    progress = session.progress
    facts = {"rows learned": f"{progress.rows:,}{describe_skipped(session)}"}
    if session.n_before and session.n_seen > progress.rows:
        facts["in all"] = f"{session.n_seen:,}"
    facts["points stored"] = f"{session.model.n_stored_:,}"
    if progress.rows:
        facts["speed"] = f"{bar.rows_per_second:,.0f} rows per second, {bar.seconds:.1f} s in total"
    if saved:
        sizes = [f"{path} ({path.stat().st_size / 1024:,.0f} kB)" for path in saved]
        facts["model saved"] = ", ".join(sizes)
    facts |= {name: text for name, text in decided.items() if text}
    width = max(map(len, facts))
    for name, value in facts.items():
        say(console, f"{name:<{width}}  {value}")
