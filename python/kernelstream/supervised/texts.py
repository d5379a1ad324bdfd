"""Columns of text in frames and dicts: what they hold, by the rule for files, and their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelstream.columns.cells import MISSING, refused, texts_of
from kernelstream.estimators.advice import advise

__all__ = ["WRITTEN", "is_written", "read_texts", "settled_kind", "with_ways"]

# Parts of a kind that describe how values are written, which the core does not know.
WRITTEN = frozenset({"format", "numerals"})
_FIRST, _FEW = 1000, 10  # values by which text is judged, and how many must differ
_UNIQUE, _SHARE = 40, 0.5  # as the command line: known values, and distinct ones among them
_CODES = 100  # distinct codes with leading zeros among the first values, of which none repeats
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
# Digits that may be times, by their number.
_DIGITS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_DAY = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])?([0-5]\d){0,2}")


def with_ways(
    kinds: Mapping[str, Mapping[str, Any]], ways: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Give the kinds of columns, with how their numbers and times are written.

    Parameters
    ----------
    kinds : mapping of str to mapping
        What each column holds.
    ways : mapping of str to Numerals
        How values are written in files, by the columns' names.

    Returns
    -------
    kinds : dict of str to dict
        The same kinds; those that are written in a way of their own with it.
    """
    read = {"number", "time"}
    own = {
        name: _ways_of(way)
        for name, way in ways.items()
        if name in kinds and kinds[name]["type"] in read and way != type(way)()
    }
    return {name: dict(kind) | own.get(name, {}) for name, kind in kinds.items()}


def is_written(kind: Mapping[str, Any]) -> bool:
    """Tell whether a kind says how its values are written.

    Parameters
    ----------
    kind : mapping
        The kind of a column.
    """
    return not WRITTEN.isdisjoint(kind)


def settled_kind(
    name: Any,
    column: Any,
    kind: Mapping[str, Any],
    *,
    declared: bool,
    warn: Callable[[str], None] = advise,
    remedy: str = "",
) -> Mapping[str, Any]:
    """Settle what a column of text holds: numbers or times, if nearly all its first values are.

    Digits alone and truth values stay categories, since text is how codes are declared.

    Parameters
    ----------
    name : object
        The column.
    column : array-like of shape (n,)
        Its first values.
    kind : mapping
        What it holds by its type, or as the user declares it.
    declared : bool
        Whether the user does.
    warn : callable, optional
        Takes what is decided.
    remedy : str
        What the user can do. Empty: declare the column.

    Returns
    -------
    kind : mapping
        The kind, with how numbers or times are written.

    Raises
    ------
    ValueError
        It is declared as a time, and day and month cannot be distinguished.
    """
    type_ = kind["type"]
    if is_written(kind) or type_ == "boolean" or (declared and type_ == "category"):
        return kind
    if type_ == "number" and not declared:
        _warn_of_digits(name, column)
        _warn_of_truth(name, column)
        return kind
    texts = _first_texts(column)
    if not texts:
        return kind
    try:
        from kernelstream.columns import texts as reading  # noqa: PLC0415
    except ModuleNotFoundError:  # pyarrow is optional
        if not declared and sum(any(sign.isdigit() for sign in text) for text in texts) > _FEW:
            warn(
                f"column {name!r} is text such as {texts[0]!r}, and is learned as a category: "
                "whether it holds numbers or times is found with pyarrow, pip install "
                f"'kernelstream[cli]'; columns={{{name!r}: 'category'}} leaves it as it is"
            )
        return kind
    cells = _arrow(texts)
    forms = reading.find_dates(cells)
    settled = reading.settle(cells)
    if declared:
        return _declared_kind(name, kind, settled, forms, reading.find_numerals(cells))
    padded = bool(reading.codes_in(cells))
    if settled.is_sure and not padded:
        example = _reason_for_text(column, texts, settled)
        ways = str(settled.numerals) or ("in ISO 8601" if settled.kind == "time" else "")
        remedy = remedy or (
            f"columns={{{name!r}: {settled.kind!r}}} declares it, and "
            f"columns={{{name!r}: 'category'}} leaves it text"
        )
        what = f"column {name!r} is text that holds {settled.kind}s {ways}".rstrip()
        warn(f"{what}{example}, and is read so: {remedy}")
        return {"type": settled.kind} | _ways_in(settled)
    if len(forms) > 1 and reading.date_in(cells):
        ways = remedy or " or ".join(_remedy(name, form) for form in forms[1:])
        warn(
            f"column {name!r} is text, and is learned as a category: day and month of dates such "
            f"as {reading.date_in(cells)!r} cannot be distinguished: {ways}"
        )
    elif message := _describe_text(name, texts, settled, remedy, padded=padded):
        warn(message)
    return kind


def _reason_for_text(column: Any, texts: list[str], settled: Any) -> str:
    """Name the value because of which a column of numbers or times is text."""
    if settled.odd is not None:
        text = settled.odd[1]
        place = _place_in(column, [text])[0] or repr(text)
        return f" but for {place}{_and_more(settled.n_odd)}"
    if settled.written is not None:
        return f", such as {settled.written[1]!r}"
    place, count = _place_in(column, frozenset(MISSING) - {""})
    if place:
        counts = "which counts" if count == 1 else "which count"
        return f" but for {place}{_and_more(count)}, {counts} as missing"
    return f", such as {texts[0]!r}"


def _place_in(column: Any, words: Collection[str]) -> tuple[str, int]:
    """Give the first of these texts in the first values, with its row, and how many there are."""
    values = texts_of(column[:_FIRST])
    found = [
        (row, value.strip())
        for row, value in enumerate([] if values is None else values.tolist())
        if isinstance(value, str) and value.strip() in words
    ]
    return (f"{found[0][1]!r} in row {found[0][0]}" if found else ""), len(found)


def _and_more(count: int) -> str:
    return f" and {count - 1:,} more" if count > 1 else ""


def _declared_kind(
    name: Any, kind: Mapping[str, Any], settled: Any, forms: list[str], numerals: Any
) -> Mapping[str, Any]:
    """Give a kind that is declared, with how its texts are written."""
    if kind["type"] == "number":
        return dict(kind) | _ways_of(settled.numerals if settled.kind == "number" else numerals)
    if len(forms) > 1 and settled.kind != "time":
        ways = " or ".join(_remedy(name, form) for form in forms[1:])
        raise ValueError(
            f"day and month of the times in column {name!r} cannot be distinguished: {ways}"
        )
    return dict(kind) | (_ways_in(settled) if settled.kind == "time" else {})


def _describe_text(name: Any, texts: list[str], settled: Any, remedy: str, *, padded: bool) -> str:
    """Say that a category holds numbers, or differs in nearly every row; empty if it does not."""
    distinct = len(set(texts))
    if distinct <= _FEW:
        return ""
    nearly_unique = len(texts) >= _UNIQUE and distinct > _SHARE * len(texts)
    if settled.kind in {"number", "time"} and not padded:
        kind, form = settled.kind, _form_of_digits(texts)
        odd = "all" if settled.odd is None else f"but for {settled.odd[1]!r} all"
        dates = f", {_remedy(name, form)} for a time" if form else ""
        remedy = remedy or (
            f"columns={{{name!r}: {kind!r}}} takes it for a {kind}{dates}, and "
            f"columns={{{name!r}: 'category'}} leaves it as it is"
        )
        return (
            f"column {name!r} is text, {odd} of whose first values are {kind}s, and is learned as "
            f"a category: {remedy}"
        )
    # Codes are often many: they name rows if none repeats, which few rows do not show.
    if not nearly_unique or (padded and (distinct < len(texts) or distinct < _CODES)):
        return ""
    remedy = remedy or f"leave it out, or declare columns={{{name!r}: 'category'}}"
    return (
        f"column {name!r} is text with {distinct:,} different values in its first "
        f"{len(texts):,} rows, such as {texts[0][:40]!r}: such text names rows, and has no effect "
        f"where nearly all rows differ: {remedy}"
    )


def read_texts(name: str, column: Any, kind: Mapping[str, Any]) -> Any:
    """Give a column with its texts read as its kind says that they are written.

    Parameters
    ----------
    name : str
        What errors call it.
    column : array-like of shape (n,)
        The column.
    kind : mapping
        What it holds, and how that is written.

    Returns
    -------
    column : array-like of shape (n,)
        Numbers, or seconds since 1970, in place of texts.

    Raises
    ------
    ValueError
        A text is not written so; the message names its row.
    ImportError
        pyarrow is missing.
    """
    form = kind.get("format", "")
    if form and (numbers := _numbers_of(column)) is not None:
        if form in _PER_SECOND:
            return numbers / _PER_SECOND[form]
        column = _as_digits(numbers)
    if (texts := texts_of(column)) is None:
        return column
    try:
        from kernelstream.columns.texts import Numerals, values_of_texts  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"reading the text of column {name!r} needs pyarrow: pip install 'kernelstream[cli]'"
        ) from None
    numerals = Numerals(**(kind.get("numerals") or {"date": form}))
    values, odd = values_of_texts(texts, kind["type"], numerals)
    if odd.any():
        row = int(odd.argmax())
        raise refused(name, row, texts[row], kind["type"])
    return values


def _ways_of(numerals: Any) -> dict[str, Any]:
    return {"numerals": asdict(numerals)}


def _ways_in(settled: Any) -> dict[str, Any]:
    """Give how values are written; times in ISO 8601 need no word."""
    plain = settled.kind == "time" and settled.numerals.is_plain
    return {} if plain else _ways_of(settled.numerals)


def _remedy(name: Any, form: str) -> str:
    return f"columns={{{name!r}: {{'type': 'time', 'format': {form!r}}}}}"


def _first_texts(column: Any) -> list[str]:
    """Give the texts among the first values of a column, if most of them are."""
    values = texts_of(column[:_FIRST])
    if values is None:
        return []
    known = [value for value in values.tolist() if value is not None]
    texts = [str(value) for value in known if isinstance(value, str) and value]
    return texts if 2 * len(texts) >= len(known) else []


def _arrow(texts: list[str]) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    return pa.array(texts, pa.string())


def _form_of_digits(texts: list[str]) -> str:
    """Give the format of dates that are written as digits alone; empty if these are none."""
    form = _DIGITS.get(len(texts[0]), "") if texts else ""
    same = all(len(text) == len(texts[0]) and _DAY.fullmatch(text) for text in texts)
    return form if same else ""


def _warn_of_digits(name: Any, column: Any) -> None:
    """Warn of whole numbers all of which may be dates, such as 20240131."""
    values = np.asarray(column[:_FIRST])
    if values.dtype.kind not in "iuO" or values.ndim != 1:
        return
    distinct = {one for one in values.tolist() if one is not None}
    if not all(isinstance(one, int) for one in distinct):
        return
    if len(distinct) > _FEW and (form := _form_of_digits([str(one) for one in distinct])):
        advise(
            f"column {name!r} holds numbers such as {next(iter(distinct))}, which may be dates: "
            f"{_remedy(name, form)} takes them for times, columns={{{name!r}: 'number'}} for "
            "numbers"
        )


def _warn_of_truth(name: Any, column: Any) -> None:
    """Warn of truth values among numbers, which count as 1 and 0."""
    values = np.asarray(column)
    if values.dtype.kind != "O" or values.ndim != 1:
        return
    rows = [i for i, one in enumerate(values.tolist()) if isinstance(one, bool | np.bool_)]
    if rows:
        value = bool(values[rows[0]])
        more = _and_more(len(rows))
        advise(
            f"column {name!r} holds numbers and, in row {rows[0]}, {value}{more}, which counts as "
            f"{int(value)}: correct it"
        )


def _numbers_of(column: Any) -> NDArray[np.float64] | None:
    """Give a column of numbers as floats; None of anything else."""
    values = np.asarray(column)
    if values.dtype.kind == "O":
        known = [value for value in values.tolist() if value is not None]
        if not known or not all(isinstance(value, int | float) for value in known):
            return None
        return np.array([np.nan if v is None else v for v in values.tolist()], np.float64)
    return values.astype(np.float64) if values.dtype.kind in "iuf" else None


def _as_digits(numbers: NDArray[np.float64]) -> NDArray[Any]:
    return np.array([None if np.isnan(one) else f"{one:.0f}" for one in numbers.tolist()], object)
