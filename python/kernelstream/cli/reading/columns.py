"""Which columns of a table are learned from, which are not, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from kernelstream.cli.reading.kinds import WORDS, can_be_label, kind_of, plain, what_else
from kernelstream.cli.reading.reader import Reader

__all__ = ["Columns", "check_alike", "choose", "described", "listed"]

_FEW, _SHARE = 40, 0.5  # texts by which to judge, and how many of them may differ
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
    """

    kinds: dict[str, str]
    targets: list[str]
    label: str | None = None
    label_type: pa.DataType | None = None
    left_out: dict[str, str] = field(default_factory=dict)

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
    *,
    classify: bool,
) -> Columns:
    """Choose the columns of a table to learn from.

    Parameters
    ----------
    table : Reader
        The table.
    targets, excluded, categories : sequence of str
        Columns to predict, and those that the user leaves out or calls categories.
    classify : bool
        Whether the user calls the target a label.

    Returns
    -------
    columns : Columns
        What is used, and why the others are not.

    Raises
    ------
    ValueError
        A column is missing or of another kind, or there is none to learn from.
    """
    _require_names(table, [*targets, *excluded, *categories])
    if all(pa.types.is_null(kind) for kind in table.schema.types):
        raise ValueError(f"{table.name} has a header and no rows")
    chosen = Columns({}, list(targets))
    for name, kind in zip(table.schema.names, table.schema.types, strict=True):
        if name in targets:
            continue
        if name in excluded:
            chosen.left_out[name] = "excluded"
        elif name in categories:
            chosen.kinds[name] = "category"
        elif reason := _why_left_out(table, name, kind):
            chosen.left_out[name or "''"] = reason
        else:
            chosen.kinds[name] = str(kind_of(kind))
    if not chosen.kinds:
        raise ValueError(
            f"{table.name} has no column to learn from besides the target"
            + (f"; left out: {described(chosen.left_out)}" if chosen.left_out else "")
        )
    kinds = [plain(table.schema.field(name).type) for name in targets]
    if classify or any(kind_of(kind) in {"category", "boolean"} for kind in kinds):
        chosen.label = _label(list(targets), kinds)
        chosen.label_type = plain(table.schema.field(chosen.label).type)
    else:
        _require_kinds(table, dict.fromkeys(targets, "number"))
    return chosen


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
    needed = [*columns.features, *columns.targets]
    have = set(table.schema.names)
    missing = [repr(name) for name in needed if name not in have]
    if missing:
        raise ValueError(
            f"{table.name} has no column {listed(missing)}, which {first} has; "
            f"it has: {listed(table.schema.names, most=20)}"
        )
    _require_kinds(table, columns.kinds | dict.fromkeys(columns.numeric_targets, "number"))


def _require_names(table: Reader, names: Sequence[str]) -> None:
    have = table.schema.names
    for name in names:
        if name not in have:
            raise ValueError(
                f"{table.name} has no column {name!r}; it has: {listed(have, most=20)}"
            )


def _require_kinds(table: Reader, kinds: Mapping[str, str]) -> None:
    """Check that columns hold what they must, as far as their first rows say."""
    for name, wanted in kinds.items():
        kind = table.schema.field(name).type
        found = kind_of(kind)
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


def _why_left_out(table: Reader, name: str, kind: pa.DataType) -> str | None:
    if _FRAME_INDEX.fullmatch(name):
        return "index of a data frame"
    if not name:
        return "no name"
    found = kind_of(kind)
    if found is None:
        return what_else(kind)
    if found == "category" and _is_nearly_unique(table.sample(name)):
        return "text, another in nearly every row"
    return None


def _is_nearly_unique(values: pa.Array | None) -> bool:
    """Tell whether text names rows rather than categories, such as identifiers."""
    if values is None:
        return False
    known = len(values) - values.null_count
    distinct = len(values.drop_null().unique())
    return bool(known >= _FEW and distinct > _SHARE * known)


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
