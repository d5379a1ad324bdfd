"""Which columns of a table are learned from, which are not, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from kernelstream.cli.reading.reader import Reader
from kernelstream.columns.arrow import as_array, has_fraction
from kernelstream.columns.arrow_types import (
    WORDS,
    can_be_label,
    kind_of,
    named_zone,
    plain,
    what_else,
)
from kernelstream.columns.names import near_name, normalized
from kernelstream.columns.texts import (
    Numerals,
    cast_texts,
    codes_in,
    date_in,
    find_dates,
    resemble_dates,
)

__all__ = [
    "Columns",
    "check_alike",
    "choose",
    "described",
    "has_whole_numbers",
    "listed",
    "note_of_dates",
    "own_names",
    "require_kinds",
    "unused",
    "ways_of_times",
]

_FEW, _SHARE = 40, 0.5  # texts by which to judge, and how many of them may differ
_FEW_LABELS = 10  # labels that all differ from this many rows on are none
_NUMERIC_SHARE = 0.1  # of a column of text, from which its numbers are worth a note
_EXACT = 2**53  # the whole numbers up to it are floats of double precision
_FRAME_INDEX = re.compile(r"__index_level_\d+__")


@dataclass
class Columns:
    """What is read of a table.

    Attributes
    ----------
    kinds : dict of str to str
        Columns to learn from, and what each holds: numbers, truth values, times or categories.
    targets : list of str
        Columns to predict.
    label : str or None
        The target, if it is a label.
    label_type : DataType or None
        What the label is read as.
    left_out : dict of str to str
        The others, and why they are not learned from.
    zones : dict of str to str
        Time zones on whose clocks columns of times are; of those without, UTC.
    kept : list of str
        Columns that are carried along as they are.
    numerals : dict of str to Numerals
        How numbers are written in columns of text, which later tables obey.
    notes : list of str
        What was decided about columns that looks like more than one thing.
    """

    kinds: dict[str, str]
    targets: list[str]
    label: str | None = None
    label_type: pa.DataType | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    zones: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    numerals: dict[str, Numerals] = field(default_factory=dict)

    @property
    def needed(self) -> list[str]:
        """The columns that are read."""
        return list(dict.fromkeys([*self.kinds, *self.targets, *self.kept]))

    @property
    def features(self) -> list[str]:
        """The columns to learn from."""
        return list(self.kinds)

    @property
    def numeric_targets(self) -> list[str]:
        """The targets, unless that is a label."""
        return [] if self.label else self.targets


def choose(
    table: Reader,
    targets: Sequence[str],
    excluded: Sequence[str],
    categories: Sequence[str],
    numbers: Sequence[str] = (),
    *,
    classify: bool,
    fill: bool = False,
) -> Columns:
    """Choose the columns of a table to learn from.

    Parameters
    ----------
    table : Reader
        The table.
    targets, excluded, categories, numbers : sequence of str
        Columns to predict, and those that the user leaves out, calls categories, or numbers.
    classify : bool
        Whether the user calls the target a label.
    fill : bool, default=False
        Whether gaps are filled, so that a column without a value so far can be learned from.

    Returns
    -------
    columns : Columns
        What is used, and why the others are not.

    Raises
    ------
    ValueError
        A column is missing or of another kind, or there is none to learn from.
    """
    targets, excluded, categories, numbers = (
        own_names(table, names) for names in (targets, excluded, categories, numbers)
    )
    if both := [name for name in numbers if name in categories]:
        raise ValueError(f"column {both[0]!r} is both --number and --category: leave one out")
    if all(pa.types.is_null(kind) for kind in table.schema.types):
        raise ValueError(f"{table.name} has a header and no rows")
    chosen = Columns({}, list(targets))
    for name, kind in zip(table.schema.names, table.schema.types, strict=True):
        if name in targets:
            continue
        if name in excluded:
            chosen.left_out[name] = "excluded"
        elif name in categories or name in numbers:
            chosen.kinds[name] = "category" if name in categories else "number"
        elif reason := _why_left_out(table, name, kind, fill=fill):
            chosen.left_out[name or "''"] = reason
        else:
            chosen.kinds[name] = _kind_in(table, name)
    chosen.zones = {name: zone for name in chosen.kinds if (zone := _zone(table, name))}
    chosen_by_name = [*excluded, *categories, *numbers]
    # Columns without a name are left out, and several may have none.
    left = [name for name in table.schema.names if name and name not in chosen_by_name]
    chosen.notes = [note for name in left if (note := _note(table, name))]
    chosen.notes += [
        _note_of_rounded(name)
        for name, kind in chosen.kinds.items()
        if kind == "number" and name not in chosen_by_name and _is_rounded(table, name)
    ]
    known = [*chosen_by_name, *(targets if classify else [])]
    chosen.notes += [
        _note_of_codes(name, code, is_target=name in targets)
        for name, code in table.codes.items()
        if name not in known
    ]
    if not chosen.kinds:
        raise ValueError(
            f"{table.name} has no column to learn from besides the target"
            + (f"; left out: {described(chosen.left_out)}" if chosen.left_out else "")
        )
    _choose_target(chosen, table, numbers, classify=classify)
    numeric = [name for name, kind in chosen.kinds.items() if kind == "number"]
    chosen.numerals = ways_of_times(table, chosen.kinds)
    for name in [*numeric, *chosen.numeric_targets]:
        if (settled := table.settled_as(name)) is not None:
            chosen.numerals[name] = settled.numerals
        elif table.decimal != ".":
            chosen.numerals[name] = Numerals(table.decimal)
    return chosen


def ways_of_times(table: Reader, names: Iterable[str]) -> dict[str, Numerals]:
    """Give how times are written in columns in which they are not ISO 8601."""
    settled = {name: table.settled_as(name) for name in names}
    return {name: own.numerals for name, own in settled.items() if own and own.numerals.date}


def _choose_target(
    chosen: Columns, table: Reader, numbers: Sequence[str], *, classify: bool
) -> None:
    """Decide whether the target is a label."""
    targets = chosen.targets
    kinds = [
        pa.float64() if name in numbers else plain(table.schema.field(name).type)
        for name in targets
    ]
    if classify or any(kind_of(kind) in {"category", "boolean"} for kind in kinds):
        if classify and len(targets) == 1 and pa.types.is_null(kinds[0]):
            # Labels of which the first rows have none are texts.
            chosen.label, chosen.label_type = targets[0], pa.string()
            return
        if classify and len(targets) == 1 and has_whole_numbers(table, targets[0]):
            # Whole numbers beside gaps are written as floats.
            chosen.label, chosen.label_type = targets[0], pa.int64()
            return
        chosen.label = _label(targets, kinds)
        chosen.label_type = plain(table.schema.field(chosen.label).type)
        if not classify:
            _refuse_names_of_rows(table, chosen.label)
    else:
        require_kinds(table, dict.fromkeys(set(targets) - set(numbers), "number"))
        chosen.notes += [
            f"{name} has no value in the first rows, and is learned as a number; --classify learns "
            "labels"
            for name, kind in zip(targets, kinds, strict=True)
            if pa.types.is_null(kind)
        ]


def check_alike(table: Reader, columns: Columns, first: str) -> None:
    """Check that a table has the columns that another one, or a model, has.

    Parameters
    ----------
    table : Reader
        The table.
    columns : Columns
        What is wanted.
    first : str
        What messages call the other one.

    Raises
    ------
    ValueError
        A column is missing or of another kind.
    """
    needed = columns.needed
    missing = [name for name in needed if table.own_name(name) is None]
    if missing:
        raise ValueError(
            f"{table.name} has no column {listed([repr(name) for name in missing])}, "
            f"which {first} has; it has: {listed(table.schema.names, most=20)}"
            f"{near_name(missing[0], table.schema.names)}"
        )
    require_kinds(table, columns.kinds | dict.fromkeys(columns.numeric_targets, "number"))


def unused(table: Reader, columns: Columns) -> list[str]:
    """Name the columns of a later table that neither the model nor its first table has.

    Parameters
    ----------
    table : Reader
        The table.
    columns : Columns
        What is read, and what is left out.
    """
    known = {normalized(name) for name in [*columns.needed, *columns.left_out]}
    return [
        name
        for name in table.schema.names
        if name and normalized(name) not in known and not _FRAME_INDEX.fullmatch(name)
    ]


def own_names(table: Reader, names: Sequence[str]) -> list[str]:
    """Give the table's own names of columns that the user names.

    Parameters
    ----------
    table : Reader
        The table.
    names : sequence of str
        The names.

    Raises
    ------
    ValueError
        The table has no such column.
    """
    own = []
    for name in names:
        found = table.own_name(name)
        if found is None:
            raise ValueError(
                f"{table.name} has no column {name!r}; it has: "
                f"{listed(table.schema.names, most=20)}{near_name(name, table.schema.names)}"
            )
        own.append(found)
    return own


def require_kinds(table: Reader, kinds: Mapping[str, str]) -> None:
    """Check that columns hold what they must, as far as their first rows say.

    Parameters
    ----------
    table : Reader
        The table.
    kinds : mapping of str to str
        What its columns must hold.

    Raises
    ------
    ValueError
        One holds something else.
    """
    for name, wanted in kinds.items():
        own = table.own_name(name) or name
        kind = table.schema.field(own).type
        found = kind_of(kind)
        if found == "category":
            _refuse_texts(table, own, wanted)
            continue
        numeric = {found, wanted} <= {"number", "boolean"}
        fits = wanted in {"category", found} or what_else(kind) == "empty"
        if not fits and not numeric:
            raise ValueError(
                f"{table.name}: column {name!r} contains {what_else(kind)}, not {WORDS[wanted]}"
            )


def described(left_out: Mapping[str, str]) -> str:
    """Name columns by what they have in common.

    Parameters
    ----------
    left_out : mapping of str to str
        Columns, and what each contains.

    Returns
    -------
    text : str
        Such as ``a, b (text), c (empty)``.
    """
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        by_reason.setdefault(reason, []).append(name)
    return ", ".join(f"{listed(names)} ({reason})" for reason, names in by_reason.items())


def listed(names: Sequence[str], most: int = 8) -> str:
    """Name some of many.

    Returns
    -------
    text : str
        The first ones, and how many more there are.
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _why_left_out(table: Reader, name: str, kind: pa.DataType, *, fill: bool) -> str | None:
    if _FRAME_INDEX.fullmatch(name):
        return "index of a data frame"
    if not name:
        return "no name"
    if pa.types.is_null(kind):
        return None if fill else "empty"
    if kind_of(kind) is None:
        return what_else(kind)
    if _kind_in(table, name) == "category" and _is_nearly_unique(table.sample(name)):
        reason = "text, another in nearly every row"
        if resemble_dates(table.sample(name)):
            forms = find_dates(table.sample(name))[1:] or ["%d/%m/%Y"]
            ways = " or ".join(f"--dates '{name}={form}'" for form in forms)
            reason += f"; if these are dates, give their form, as in {ways}"
        return reason
    return None


def _kind_in(table: Reader, name: str) -> str:
    """Say what a column holds that can be learned: text by its type may hold numbers or times."""
    if name in table.codes:
        return "category"
    kind = kind_of(table.schema.field(name).type) or "number"  # nothing but gaps so far
    settled = table.settled_as(name) if kind == "category" and name not in table.settled else None
    is_sure = settled is not None and settled.is_sure and not _is_padded(table, name)
    return settled.kind if settled is not None and is_sure else kind


def _is_nearly_unique(values: pa.Array | None) -> bool:
    """Tell whether text names rows rather than categories, such as identifiers."""
    if values is None:
        return False
    known = len(values) - values.null_count
    distinct = len(values.drop_null().unique())
    return bool(known >= _FEW and distinct > _SHARE * known)


def _note_of_codes(name: str, code: str, *, is_target: bool) -> str:
    if is_target:
        remedy = "is taken for numbers; --classify takes them for labels"
    else:
        remedy = f"is taken for categories; --number {name} takes it for numbers"
    return f"{name} holds digits of one length with leading zeros, such as {code}, and {remedy}"


def _is_padded(table: Reader, name: str) -> bool:
    """Tell whether text is digits with leading zeros, as codes are."""
    values = table.sample(name)
    return values is not None and bool(codes_in(values.cast(pa.string())))


def _zone(table: Reader, name: str) -> str:
    return named_zone(table.schema.field(name).type)


def _is_rounded(table: Reader, name: str) -> bool:
    """Tell whether a column has whole numbers that double precision cannot represent exactly."""
    if not pa.types.is_integer(table.schema.field(name).type):
        return False
    values = table.sample(name)
    if values is None or not pa.types.is_integer(values.type):
        return False
    ends = pc.min_max(values).as_py()
    return any(end is not None and abs(end) > _EXACT for end in ends.values())


def _note_of_rounded(name: str) -> str:
    return (
        f"{name} holds whole numbers beyond 2**53, which are rounded; identifiers are left out by "
        f"--exclude {name}, or are categories by --category {name}"
    )


def _note(table: Reader, name: str) -> str:
    """Say how a column's numbers are written, or that much of its text is numbers, if so."""
    settled = table.settled_as(name)
    if settled is not None and name not in table.settled:
        kind = kind_of(settled.type)
        if _is_padded(table, name):
            return ""
        if settled.is_sure:
            row, cell = settled.written or (0, str((table.sample(name) or [""])[0]))
            ways = str(settled.numerals) or ("in ISO 8601" if kind == "time" else "")
            return (
                f"{name} is text by its type and holds {WORDS[str(kind)]} {ways}".rstrip()
                + f", such as {cell!r} in row {row + 1}, and is read so; -c {name} leaves it text"
            )
        if note := note_of_dates(table, name):
            return f"{name} is taken for text: {note}"
        if kind not in {"number", "time"} or settled.n_known < _FEW:
            return ""
        remedy = f"; --number {name} takes it for numbers" if kind == "number" else ""
        return f"{name} is text by its type, though it holds {WORDS[str(kind)]}{remedy}"
    if settled is not None and kind_of(settled.type) == "number":
        numerals = settled.numerals
        if str(numerals) and numerals != Numerals(table.decimal):
            row, cell = settled.written or (0, "")
            return f"{name} holds numbers {numerals}, such as {cell!r} in row {row + 1}"
    if settled is not None and settled.numerals.date and name in table.settled:
        row, cell = settled.written or (0, "")
        return f"{name} holds times {settled.numerals}, such as {cell!r} in row {row + 1}"
    if settled is None or kind_of(settled.type) != "category":
        return ""
    if note := note_of_dates(table, name):
        return f"{name} is taken for text: {note}"
    if settled.odd is None:
        return ""
    row, cell = settled.odd
    if settled.n_fitting < _NUMERIC_SHARE * settled.n_known:
        return ""
    return (
        f"{name} is taken for text: {settled.n_odd:,} of its first {settled.n_known:,} values are "
        f"not numbers, such as {cell!r} in row {row + 1}; --number {name} takes it for numbers"
    )


def note_of_dates(table: Reader, name: str) -> str:
    """Say why a column of text with dates in it is not one of times, and what to do.

    Parameters
    ----------
    table : Reader
        The table.
    name : str
        The table's own name of the column.

    Returns
    -------
    note : str
        Empty if there is no date in it.
    """
    sample = table.sample(name)
    if sample is None or not (date := date_in(sample)):
        return ""
    if forms := find_dates(sample)[1:]:
        ways = " or ".join(f"--dates '{name}={form}'" for form in forms)
        return f"day and month of dates such as {date!r} cannot be distinguished: {ways}"
    return (
        "times are read as ISO 8601, with a time zone or offset in all cells or in none, not as "
        f"{date!r}; --dates '{name}=FORMAT' says how they are written, such as %d/%m/%Y"
    )


def _refuse_texts(table: Reader, name: str, wanted: str) -> None:
    """Refuse a column of text of whose first cells none is of the kind that is wanted."""
    settled = table.settled_as(name)
    if wanted == "category" or settled is None or not settled.n_known:
        return
    if kind_of(settled.type) == wanted:
        return
    if wanted == "number" and settled.n_fitting:
        return
    raise ValueError(f"{table.name}: column {name!r} contains text, not {WORDS[wanted]}")


def _refuse_names_of_rows(table: Reader, target: str) -> None:
    """Refuse a target of text that differs in nearly every row: it is no label."""
    values = table.sample(target)
    if values is None:
        return
    known = values.drop_null()
    distinct = len(known.unique())
    if _is_nearly_unique(values) or (distinct == len(known) >= _FEW_LABELS):
        raise ValueError(
            f"{table.name}: the target {target!r} is text with {distinct:,} different values in "
            f"its first {len(known):,} rows, such as {known[0].as_py()!r}: --number {target} "
            "takes it for numbers, --classify for labels"
        )


def has_whole_numbers(table: Reader, name: str) -> bool | None:
    """Tell whether a column of floats holds whole numbers alone, as far as its first rows tell.

    Parameters
    ----------
    table : Reader
        The table.
    name : str
        The table's own name of the column.

    Returns
    -------
    has_whole_numbers : bool or None
        False for a column of another type; None if there is no sample of its rows.
    """
    if not pa.types.is_floating(table.schema.field(name).type):
        return False
    values = table.sample(name)
    if values is None:
        return None
    if not pa.types.is_floating(values.type):
        settled = table.settled_as(name)
        numerals = Numerals(table.decimal) if settled is None else settled.numerals
        values = cast_texts(values.cast(pa.string()), "number", numerals, table.missing_values)[0]
    numbers = as_array(values, "number")
    return not has_fraction(numbers).any()


def _label(targets: list[str], kinds: list[pa.DataType]) -> str:
    if len(targets) > 1:
        raise ValueError(f"only one label column can be learned, got {listed(targets)}")
    kind = kinds[0]
    if can_be_label(kind):
        return targets[0]
    reason = "numbers with fractions" if kind_of(kind) == "number" else what_else(kind)
    raise ValueError(
        f"column {targets[0]!r} contains {reason}, not labels (text, whole numbers or booleans)"
    )
