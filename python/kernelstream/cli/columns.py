"""Which columns of a table are learned from, which are not, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from kernelstream.cli.reader import Reader, is_text, plain, why_not_number

__all__ = ["Columns", "can_be_label", "choose", "described", "listed", "require"]

_FRAME_INDEX = re.compile(r"__index_level_\d+__")


@dataclass
class Columns:
    """What is read of a table.

    Attributes
    ----------
    features : list of str
        Columns to learn from.
    targets : list of str
        Columns to predict.
    label : str or None
        The target, if it is a label.
    label_type : DataType or None
        What the label is read as.
    left_out : dict of str to str
        The others, and why they are not learned from.
    """

    features: list[str]
    targets: list[str]
    label: str | None = None
    label_type: pa.DataType | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def numbers(self) -> list[str]:
        """The columns that are read as numbers: features, then numeric targets."""
        return self.features + ([] if self.label else self.targets)


def choose(
    table: Reader, targets: Sequence[str], excluded: Sequence[str], *, classify: bool
) -> Columns:
    """Choose the columns of a table to learn from.

    Parameters
    ----------
    table : Reader
        The table.
    targets, excluded : sequence of str
        Columns to predict, and those that the user leaves out.
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
    require(table, [*targets, *excluded])
    if all(pa.types.is_null(kind) for kind in table.schema.types):
        raise ValueError(f"{table.name} has a header and no rows")
    chosen = Columns([], list(targets))
    for name, kind in zip(table.schema.names, table.schema.types, strict=True):
        if name in targets:
            continue
        reason = "excluded" if name in excluded else _why_left_out(name, kind)
        if reason is None:
            chosen.features.append(name)
        else:
            chosen.left_out[name or "''"] = reason
    if not chosen.features:
        raise ValueError(
            f"{table.name} has no numeric column besides the target"
            + (f"; left out: {described(chosen.left_out)}" if chosen.left_out else "")
        )
    kinds = [plain(table.schema.field(name).type) for name in targets]
    if classify or any(is_text(kind) or pa.types.is_boolean(kind) for kind in kinds):
        chosen.label = _label(list(targets), kinds)
        chosen.label_type = plain(table.schema.field(chosen.label).type)
    else:
        require(table, targets, numeric=True)
    return chosen


def require(table: Reader, names: Sequence[str], *, numeric: bool = False) -> None:
    """Check that a table has some columns.

    Parameters
    ----------
    table : Reader
        The table.
    names : sequence of str
        The columns.
    numeric : bool, default=False
        Whether they must be numbers, as far as is known.

    Raises
    ------
    ValueError
        One is missing, or contains something else.
    """
    have = table.schema.names
    for name in names:
        if name not in have:
            raise ValueError(
                f"{table.name} has no column {name!r}; it has: {listed(have, most=20)}"
            )
        reason = why_not_number(table.schema.field(name).type)
        if numeric and reason not in {None, "empty"}:
            raise ValueError(f"{table.name}: column {name!r} contains {reason}, not numbers")


def can_be_label(kind: pa.DataType) -> bool:
    """Tell whether a column may contain labels: text, whole numbers or truth values.

    Parameters
    ----------
    kind : DataType
        Type of the column.

    Returns
    -------
    can : bool
        Whether it may.
    """
    kind = plain(kind)
    return bool(is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


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

    Parameters
    ----------
    names : sequence of str
        All of them.
    most : int, default=8
        How many to name.

    Returns
    -------
    text : str
        The first ones, and how many more there are.
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _why_left_out(name: str, kind: pa.DataType) -> str | None:
    if _FRAME_INDEX.fullmatch(name):
        return "index of a data frame"
    return why_not_number(kind) if name else "no name"


def _label(targets: list[str], kinds: list[pa.DataType]) -> str:
    if len(targets) > 1:
        raise ValueError(f"only one label column can be learned, got {listed(targets)}")
    kind = kinds[0]
    if can_be_label(kind):
        return targets[0]
    reason = why_not_number(kind) or "numbers with fractions"
    raise ValueError(
        f"column {targets[0]!r} contains {reason}, not labels (text, whole numbers or booleans)"
    )
