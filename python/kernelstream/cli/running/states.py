"""Columns of a table that are components of the state, and the time."""

from __future__ import annotations

from collections.abc import Sequence

from kernelstream.cli.reading.columns import (
    Columns,
    choose,
    note_of_dates,
    own_names,
    require_kinds,
    ways_of_times,
)
from kernelstream.cli.reading.reader import Reader
from kernelstream.columns.arrow_types import WORDS, kind_of, what_else

__all__ = ["has_zone", "state_columns"]

_NUMERIC = {"number", "boolean"}


def has_zone(table: Reader, name: str) -> bool:
    """Tell whether a column holds times with a time zone or an offset."""
    own = table.own_name(name) or name
    return bool(getattr(table.schema.field(own).type, "tz", None))


def state_columns(table: Reader, names: Sequence[str], time: str | None) -> Columns:
    """Find the components of the state: the columns named, or every column of numbers.

    Raises
    ------
    ValueError
        A column is missing or of another kind, or there is none.
    """
    own = dict(zip(table.schema.names, table.schema.types, strict=True))
    names = own_names(table, names)
    time = None if time is None else own_names(table, [time])[0]
    state = [name for name in dict.fromkeys(names) if name != time]
    left_out: dict[str, str] = {}
    if not names:
        found = choose(table, [], [] if time is None else [time], [], classify=False)
        state = [name for name, kind in found.kinds.items() if kind in _NUMERIC]
        left_out = {name: why for name, why in found.left_out.items() if name != time}
        left_out |= {name: WORDS[kind] for name, kind in found.kinds.items() if name not in state}
    else:
        others = [name for name in own if name not in state]
        found = choose(table, [], others, [], state, classify=False)
    require_kinds(table, dict.fromkeys(state, "number"))
    if not state:
        raise ValueError(f"{table.name} has no column of numbers besides the time")
    kinds = dict.fromkeys(state, "number")
    if time is not None:
        kind = kind_of(own[time])
        if kind not in {"number", "time"}:
            note = note_of_dates(table, time) if kind == "category" else ""
            raise ValueError(
                f"{table.name}: column {time!r} contains {what_else(own[time])}, neither numbers "
                "nor times" + (f"; {note}" if note else "")
            )
        kinds[time] = str(kind)
    numerals = found.numerals | ways_of_times(table, kinds)
    # The time is carried along for its zone or offset.
    kept = [] if time is None else [time]
    return Columns(kinds, [], left_out=left_out, notes=found.notes, kept=kept, numerals=numerals)
