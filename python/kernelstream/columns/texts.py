"""Cells that are text: the rule that settles what a column of them holds, and its casts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelstream.columns.arrow_types import kind_of
from kernelstream.columns.cells import (
    ABSENT,
    FALSE_WORDS,
    FRACTION,
    MISSING,
    ODD_SHARE,
    TRUE_WORDS,
)

__all__ = [
    "ABSENT",
    "CLOCK",
    "DURATION",
    "MISSING",
    "Numerals",
    "Settled",
    "are_codes",
    "cast_texts",
    "clock_form",
    "codes_in",
    "date_in",
    "find_dates",
    "find_numerals",
    "fitting",
    "resemble_dates",
    "settle",
    "values_of_texts",
]

# What may stand for a sign that separates thousands.
_ALIKE = {" ": r"[ \x{00a0}\x{2009}\x{202f}]", "'": r"['\x{2019}]"}
_SIGN = r"[-+\x{2212}]?"
_UNITS = (*"%$€£¥₹", "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR")
_NEGATIVE = {"()": "(5)", "5-": "5-"}
# A number and the unit behind it, such as 12.5 kg.
_MEASURE = r"^[-+\x{2212}]?\d[\d.,' ]*?\s?(?P<unit>[^\d\s.,'+-]\D{0,9})$"
# Dates in other forms than ISO 8601, or with what it may have behind them.
_DATE = r"^(\d{1,2}[-/. ](\d{1,2}|\pL{3,9}\.?)[-/. ]\d{2,4}|\d{4}[-/.]\d{1,2}[-/.]\d{1,2})(\b|[T_])"
# A date of three numbers anywhere in a cell, such as Mon 3/4/24 or 10:00 3.4.2024.
_DATE_INSIDE = r"(^|[^\d./-])\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([^\d./-]|$)"
# A date of three numbers or names with something between them, and perhaps a time.
_DATE_PARTS = re.compile(
    r"(\d{1,4}|[^\W\d_]{3,9})(\.?[-/.,]?\s*)(?<![^\W_])(\d{1,2}|[^\W\d_]{3,9})"
    r"(\.?[-/.,]?\s*)(?<![^\W_])(\d{4}|\d{2}|\d)(?:(,?\s+|T)(\d{1,2}:\d{2}(:\d{2})?)\s?([AaPp][Mm])?)?$"
)
# Months whose German names do not begin as the English ones, and those that are longer.
_MONTHS = (
    *(
        (r"(?i)M(?:\x{00e4}|ae)rz|Mrz", "Mar"),
        (r"(?i)\bMai\b", "May"),
        (r"(?i)Okt(?:ober)?", "Oct"),
    ),
    *((r"(?i)Dez(?:ember)?", "Dec"), (r"(?i)J(?:\x{00e4}|ae)n(?:ner)?|Januar\b", "Jan")),
    *((r"(?i)Februar\b", "Feb"), (r"(?i)Juni\b", "Jun"), (r"(?i)Juli\b", "Jul")),
)
_SHORTEST_CODE = 3  # digits of a code in a file: months and hours have 2
_PER_SECOND = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}
# Times of the day, which are numbers of seconds since midnight: the form that stands for them.
CLOCK = "%H:%M:%S"
_CLOCK = r"^(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?$"
_END_OF_DAY = r"^24:00(?::00(?:[.,]0{1,9})?)?$"
# Spans of time as m:ss or h:mm:ss, of any number of minutes or hours: seconds.
DURATION = "duration"
_DURATION = r"^-?\d+:[0-5]\d(?::[0-5]\d)?(?:[.,]\d{1,9})?$"
_SPANS = {CLOCK: _CLOCK, DURATION: _DURATION}
_FORTRAN = r"\d[dD][-+]?\d"
_ISO_TIME = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}(:?\d{2}(:?\d{2}([.,]\d{1,9})?)?)?)?"
_ZONE = r"(Z|[-+]\d{2}(:?\d{2})?)"
# Months and quarters, which stand for their first day. Years are of a calendar, unlike most codes.
_MONTH = r"^(?:1[5-9]|2[01])\d{2}(?:-(?:0[1-9]|1[0-2])|-?Q[1-4])$"
_FIRST_DAYS = (
    (r"^(\d{4}-\d{2})$", r"\1-01"),
    *((rf"^(\d{{4}})-?Q{i}$", rf"\1-{3 * i - 2:02}-01") for i in range(1, 5)),
)

# The types that a column of text may turn out to be of, in the order in which they are tried.
_TYPES = (
    ("number", pa.float64()),
    ("time", pa.timestamp("us")),
    ("time", pa.timestamp("us", "UTC")),
    ("boolean", pa.bool_()),
)
# Truth values as programs write them.
_PLAIN_TRUTH = (*MISSING, "true", "false", "True", "False", "TRUE", "FALSE")


@dataclass(frozen=True)
class Numerals:
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal : str
        The decimal sign.
    thousands : str
        What separates groups of three digits; empty for nothing. A space stands for any of them.
    unit : str
        What stands before or behind each number, such as ``%``, ``$`` or ``kg``; empty for none.
        The number is taken as it is written: ``12.5%`` is 12.5.
    negative : {"-", "()", "5-"}
        How numbers below 0 are written besides by a minus in front.
    date : str
        How times are written that are not ISO 8601: a format of ``strptime``, or the unit of
        numbers since 1970, ``s``, ``ms``, ``us`` or ``ns``; empty for numbers and ISO 8601.
        ``%H:%M:%S`` stands for times of the day, which are numbers of seconds since midnight, and
        ``duration`` for spans of time as ``m:ss`` or ``h:mm:ss``, which are numbers of seconds.
    exponent : {"e", "d"}
        The letter of exponents; ``d`` is Fortran's, as in ``3.4D+03``, beside the usual one.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    negative: str = "-"
    date: str = ""
    exponent: str = "e"

    @property
    def is_plain(self) -> bool:
        """Whether they are as programs write them."""
        return self == Numerals()

    @property
    def counts_seconds(self) -> bool:
        """Whether they are times of the day or spans of time, which are numbers of seconds."""
        return self.date in _SPANS

    @property
    def pattern(self) -> str:
        """A regular expression (RE2) that matches a whole cell that is such a number."""
        if self.counts_seconds:
            return _SPANS[self.date]
        letters = "eEdD" if self.exponent == "d" else "eE"
        decimal, exponent = re.escape(self.decimal), rf"([{letters}][-+]?\d+)?"
        if self.thousands:
            group = _ALIKE.get(self.thousands, re.escape(self.thousands))
            whole = rf"[1-9]\d{{0,2}}({group}\d{{3}})+"
            if self.thousands == ",":  # as in India, 12,34,567
                whole += r"|[1-9]\d?(,\d{2})+,\d{3}"
            digits = rf"({whole}|\d+)({decimal}\d*)?{exponent}"
        else:
            digits = rf"(\d+({decimal}\d*)?|{decimal}\d+){exponent}"
        ways = [rf"{_SIGN}{digits}"]
        if self.unit:
            unit = re.escape(self.unit)
            ways = [rf"{_SIGN}{unit}\s*{_SIGN}{digits}", rf"{_SIGN}{digits}\s*{unit}"]
            if self.negative == "()":
                ways += [rf"\({unit}\s*{digits}\)", rf"\({digits}\s*{unit}\)"]
                ways += [rf"\({digits}\)\s*{unit}"]
            elif self.negative == "5-":
                ways += [rf"{unit}\s*{digits}-", rf"{digits}\s*{unit}-", rf"{digits}-\s*{unit}"]
        else:
            ways += [{"()": rf"\({digits}\)", "5-": rf"{digits}-"}.get(self.negative, ways[0])]
            ways += ["[-+]?(?i:inf|infinity|nan)"]
        return f"^({'|'.join(ways)})$"

    def __str__(self) -> str:
        if self.date == CLOCK:
            return "of seconds since midnight"
        if self.date == DURATION:
            return "of seconds, as durations m:ss or h:mm:ss"
        notes = [f"with thousands separated by {self.thousands!r}"] if self.thousands else []
        notes += [f"with the decimal sign {self.decimal!r}"] if self.decimal != "." else []
        notes += [f"with {self.unit}"] if self.unit else []
        notes += (
            [f"with negative ones as {_NEGATIVE[self.negative]}"] if self.negative != "-" else []
        )
        notes += [f"written as {self.date}"] if self.date else []
        notes += ["with exponents as Fortran's"] if self.exponent == "d" else []
        return ", ".join(notes)

    def clean(self, texts: pa.Array) -> pa.Array:
        """Give texts that match as texts of plain numbers.

        Parameters
        ----------
        texts : Array of str
            Cells that match `pattern`.
        """
        if self.thousands:
            group = _ALIKE.get(self.thousands, re.escape(self.thousands))
            texts = pc.replace_substring_regex(texts, group, "")
        if self.unit:
            texts = pc.replace_substring_regex(texts, rf"\s*{re.escape(self.unit)}\s*", "")
        if self.decimal != ".":
            texts = pc.replace_substring(texts, self.decimal, ".")
        texts = pc.replace_substring(texts, "\N{MINUS SIGN}", "-")
        if self.exponent == "d":
            texts = pc.replace_substring_regex(texts, "[dD]", "e")
        if self.negative != "-":
            texts = pc.replace_substring_regex(texts, r"^(?:\((.*)\)|(.*)-)$", r"-\1\2")
        return pc.replace_substring_regex(texts, r"^\+", "")


@dataclass(frozen=True)
class Settled:
    """What a column of text holds, and by which counts that was settled.

    Attributes
    ----------
    type : DataType
        The type that nearly all cells have; text if there is none.
    numerals : Numerals
        How its numbers are written.
    n_known, n_fitting : int
        Cells that hold a value, and those that are of the type; of a column of text, those that
        are numbers.
    written : tuple of (int, str), or None
        Place and text of the first number that is not written as programs do.
    odd : tuple of (int, str), or None
        Place and text of the first cell that holds a value and is not of the type; of a column
        of text with numbers among its cells, of the first that is no number.
    """

    type: pa.DataType
    numerals: Numerals
    n_known: int
    n_fitting: int
    odd: tuple[int, str] | None
    written: tuple[int, str] | None = None

    @property
    def n_odd(self) -> int:
        """Cells that hold a value of another type."""
        return self.n_known - self.n_fitting

    @property
    def kind(self) -> str:
        """What it holds: ``number``, ``time``, ``boolean`` or ``category``."""
        return str(kind_of(self.type))

    @property
    def is_sure(self) -> bool:
        """Whether text that is declared as text holds numbers or times all the same.

        Digits alone and truth values may be names: text is how codes are usually declared.
        """
        return self.kind in {"number", "time"} and not pa.types.is_integer(self.type)


def settle(texts: pa.Array, decimal: str = ".") -> Settled:
    """Settle what a column of text holds, from its first cells.

    A column is of numbers, times or truth values if all its cells with a value are, but for one,
    or for a tenth of them. Otherwise it is text. Months and quarters, such as 2024-01 and 2024-Q1,
    are times only if all cells are such: codes may look like them.

    Parameters
    ----------
    texts : Array of str
        Its first cells.
    decimal : str, default="."
        The decimal sign of the table.

    Returns
    -------
    settled : Settled
        The type, and the counts.
    """
    texts = _plain_texts(texts)
    n_known = _n_known(texts)
    months = np.asarray(pc.fill_null(pc.match_substring_regex(texts, _MONTH), False))
    numerals = find_numerals(texts, decimal)
    best = Settled(pa.string(), numerals, n_known, 0, None)
    tried = [(kind, type_, numerals) for kind, type_ in _TYPES]
    tried += [("time", pa.timestamp("us"), Numerals(date=form)) for form in find_dates(texts)[:1]]
    if form := clock_form(texts):
        tried += [("number", pa.float64(), Numerals(date=form))]
    for kind, type_, numerals in tried:
        odd = cast_texts(texts, kind, numerals, MISSING, type_)[1]
        if kind == "boolean":
            # Others, such as yes and no, are categories, as they are where text has a type.
            odd |= ~np.asarray(_is_word(texts, _PLAIN_TRUTH))
        elif kind == "time" and months.sum() < n_known:
            odd |= months
        n_odd = int(odd.sum())
        n_fitting = n_known - n_odd
        first = (int(odd.argmax()), str(texts[int(odd.argmax())])) if n_odd else None
        if kind == "number" and n_fitting and not numerals.date:
            best = Settled(pa.string(), numerals, n_known, n_fitting, first)
        if n_odd <= max(1, ODD_SHARE * n_known) and n_fitting >= max(2 * n_odd, 1):
            is_whole = (
                kind == "number" and not numerals.date and _all_whole(texts.filter(pa.array(~odd)))
            )
            found = pa.int64() if is_whole else type_
            written = _unusual(texts, numerals) if kind == "number" else None
            if numerals.date:
                written = _first(~odd & ~np.asarray(_is_word(texts, MISSING)), texts)
            return Settled(found, numerals, n_known, n_fitting, first, written)
    return best


def values_of_texts(
    values: NDArray[Any], kind: str, numerals: Numerals
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Read the texts among the values of a column.

    Parameters
    ----------
    values : ndarray of object of shape (n,)
        The values; those that are no text stay as they are.
    kind : {"number", "time"}
        What the column holds.
    numerals : Numerals
        How its numbers or times are written.

    Returns
    -------
    values : ndarray of object of shape (n,)
        Numbers, times in seconds since 1970, and None for gaps in place of texts.
    odd : ndarray of bool of shape (n,)
        Where a text is none of this kind.
    """
    places = np.array([isinstance(value, str) for value in values.tolist()], dtype=bool)
    found, odd = values.copy(), np.zeros(len(values), dtype=bool)
    if not places.any():
        return found, odd
    texts = pa.array([str(text) for text in values[places].tolist()], pa.string())
    read, odd[places] = cast_texts(texts, kind, numerals)
    if kind == "time":
        seconds = pc.divide(read.cast(pa.int64()).cast(pa.float64(), safe=False), 1e6)
        read = seconds
    found[places] = np.array(read.to_pylist(), object)
    return found, odd


def are_codes(texts: pa.Array) -> bool:
    """Tell whether whole numbers are codes, such as 00123: all of one length, which zeros fill.

    Months and hours (``01``) are numbers, and so are those that rarely repeat, which name rows.

    Parameters
    ----------
    texts : Array of str
        Cells nearly all of which are whole numbers, of which some begin with a zero.
    """
    if not codes_in(texts):
        return False
    known = texts.filter(pc.fill_null(pc.match_substring_regex(texts, r"^\d+$"), False))
    lengths = pc.utf8_length(known).to_numpy(zero_copy_only=False)
    usual = int(np.median(lengths))
    n_odd = int(np.count_nonzero(lengths != usual))
    repeats = 2 * len(pc.unique(known)) <= len(known)
    return bool(usual >= _SHORTEST_CODE and n_odd <= max(1, ODD_SHARE * len(known)) and repeats)


def codes_in(texts: pa.Array) -> str:
    """Give a cell with leading zeros, such as 007, where nearly all cells are digits alone.

    Parameters
    ----------
    texts : Array of str
        Cells.

    Returns
    -------
    code : str
        The first one; empty if there is none, or the others are no digits alone.
    """
    texts = _plain_texts(texts)
    known = texts.filter(pc.invert(_is_word(texts, MISSING)))
    digits = known.filter(pc.match_substring_regex(known, r"^\d+$"))
    padded = digits.filter(pc.match_substring_regex(digits, r"^0\d"))
    n_odd = len(known) - len(digits)
    is_usual = n_odd <= max(1, ODD_SHARE * len(known)) and len(digits) > 2 * n_odd
    return str(padded[0]) if len(padded) and is_usual else ""


def clock_form(texts: pa.Array) -> str:
    """Find whether any cell is a time of the day, such as 12:30, or a span of time, such as 26:09.

    Cells are spans if more than one, and more than a tenth of them, are no time of the day. 24:00
    is the end of a day.

    Parameters
    ----------
    texts : Array of str
        Cells.

    Returns
    -------
    form : str
        `CLOCK`, `DURATION`, or empty for neither.
    """
    texts = _plain_texts(texts)
    clocks, spans, ends = (
        int(pc.match_substring_regex(texts, pattern).true_count or 0)
        for pattern in (_CLOCK, _DURATION, _END_OF_DAY)
    )
    if spans - clocks - ends > 0 and spans - clocks > max(1, ODD_SHARE * spans):
        return DURATION
    return CLOCK if clocks else ""


def find_dates(texts: pa.Array) -> list[str]:
    """Find how the dates of a column are written that are not ISO 8601.

    Returns the formats of `strptime` that most of its cells fit: one, or none if they are no dates;
    several where day and month cannot be distinguished, as an empty one and these.
    """
    texts = _plain_texts(texts)
    known = texts.filter(pc.invert(_is_word(texts, MISSING)))
    matches = (_DATE_PARTS.match(text) for text in known.slice(0, 50).to_pylist())
    first = next((match for match in matches if match is not None), None)
    if first is None:
        return []
    counts = {form: fitting(known, Numerals(date=form)) for form in _date_formats(first)}
    most = max(counts.values())
    if 2 * most <= len(known):
        return []
    found = [form for form, count in counts.items() if count == most]
    # With points between them the day comes first, unless it is the number of a version.
    padded = pc.match_substring_regex(known, r"^\d\d\.\d\d\.").true_count
    sure = "%Y" in found[0] or padded >= most
    dotted = len(found) > 1 and found[0].startswith("%d.") and sure
    return found[:1] if dotted or len(found) == 1 else ["", *found]


def _date_formats(parts: re.Match[str]) -> list[str]:
    """Give the formats of `strptime` that a date may be of."""
    first, between, second, behind, third, gap, clock, seconds, half = parts.groups()
    rest = ""
    if clock is not None:
        rest = gap + ("%I" if half else "%H") + ":%M" + (":%S" if seconds else "")
        rest += " %p" if half else ""
    year = "%Y" if len(third) == 4 else "%y"
    if first.isdigit() and len(first) == 4:
        orders = [("%Y", "%m" if second.isdigit() else "%b", "%d")]
    elif not first.isdigit():
        orders = [("%b", "%d", year)]
    elif not second.isdigit():
        orders = [("%d", "%b", year)]
    else:
        orders = [("%d", "%m", year), ("%m", "%d", year)]
        orders += [("%y", "%m", "%d")] if year == "%y" else []
    return [f"{a}{between}{b}{behind}{c}{rest}" for a, b, c in orders]


def find_numerals(texts: pa.Array, decimal: str = ".") -> Numerals:
    """Find how the numbers of a column are written: the first way that fits most of its cells.

    Parameters
    ----------
    texts : Array of str
        Its first cells.
    decimal : str, default="."
        The decimal sign of the table, which decides where both would fit.
    """
    texts = _plain_texts(texts)
    best, most = Numerals(decimal), 0
    for numerals in _ways(texts, decimal):
        if (count := fitting(texts, numerals)) > most:
            best, most = numerals, count
    return best


def fitting(texts: pa.Array, numerals: Numerals) -> int:
    """Count the cells that are numbers written in a way.

    Parameters
    ----------
    texts : Array of str
        Cells.
    numerals : Numerals
        The way.
    """
    texts = _plain_texts(texts)
    if numerals.date and not numerals.counts_seconds:
        return int(len(texts) - _cast_dates(texts, numerals.date).null_count)
    return int(pc.match_substring_regex(texts, numerals.pattern).true_count or 0)


def date_in(texts: pa.Array) -> str:
    """Give a date that most cells of a column of text resemble; empty if they are no dates.

    Parameters
    ----------
    texts : Array of str
        Its first cells.
    """
    texts = _plain_texts(texts)
    dates = texts.filter(pc.fill_null(pc.match_substring_regex(texts, _DATE), False))
    return str(dates[0]) if 2 * len(dates) > _n_known(texts) else ""


def resemble_dates(texts: pa.Array) -> bool:
    """Tell whether most cells of a column of text contain something that looks like a date.

    Parameters
    ----------
    texts : Array of str
        Its first cells.
    """
    texts = _plain_texts(texts)
    inside = int(pc.match_substring_regex(texts, _DATE_INSIDE).true_count or 0)
    return bool(date_in(texts)) or 2 * inside > _n_known(texts)


def _n_known(texts: pa.Array) -> int:
    """Count the cells with a value."""
    return len(texts) - int(_is_word(texts, MISSING).true_count)


def _unusual(texts: pa.Array, numerals: Numerals) -> tuple[int, str] | None:
    """Find the first number that is not written with the decimal sign alone."""
    fits = pc.match_substring_regex(texts, numerals.pattern)
    plain = pc.match_substring_regex(texts, Numerals(numerals.decimal).pattern)
    found = np.asarray(pc.fill_null(pc.and_not(fits, plain), False))
    return _first(found, texts) or ((0, str(texts[0])) if numerals.decimal != "." else None)


def _first(found: NDArray[np.bool_], texts: pa.Array) -> tuple[int, str] | None:
    """Give place and text of the first cell that is found."""
    return (int(found.argmax()), str(texts[int(found.argmax())])) if found.any() else None


def cast_texts(
    texts: pa.Array,
    kind: str,
    numerals: Numerals,
    missing: tuple[str, ...] = MISSING,
    type_: pa.DataType | None = None,
) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Cast a column of text.

    Parameters
    ----------
    texts : Array of str
        Its cells.
    kind : {"number", "boolean", "time"}
        What it holds.
    numerals : Numerals
        How its numbers are written.
    missing : tuple of str
        Texts that stand for a missing value.
    type_ : DataType, optional
        Type of a column of times. None: without a time zone.

    Returns
    -------
    values : Array
        Its values, null where there is none.
    odd : ndarray of bool of shape (n,)
        Where a cell holds a value that is none of this kind.
    """
    texts = _plain_texts(texts)
    words = _is_word(texts, missing)
    if kind == "number" and numerals.counts_seconds:
        fits = pc.match_substring_regex(texts, numerals.pattern)
        values = _cast_seconds(_where(texts, fits, words), numerals.date)
    elif kind == "number":
        fits = pc.match_substring_regex(texts, numerals.pattern)
        values = numerals.clean(_where(texts, fits, words)).cast(pa.float64())
    elif numerals.date:
        values = _cast_dates(_where(texts, pc.invert(words), words), numerals.date)
        fits = values.is_valid()
        zone = getattr(type_, "tz", None)
        values = values.cast(pa.timestamp("us", zone)) if zone else values
    elif kind == "boolean":
        lower = pc.utf8_lower(texts)
        true, known = pa.array(sorted(TRUE_WORDS)), pa.array(sorted(TRUE_WORDS | FALSE_WORDS))
        fits = pc.is_in(lower, value_set=known)
        values = pc.if_else(fits, pc.is_in(lower, value_set=true), pa.scalar(None, pa.bool_()))
    else:
        type_ = pa.timestamp("us") if type_ is None else type_
        zone = getattr(type_, "tz", None)
        fits = pc.match_substring_regex(texts, _ISO_TIME + (_ZONE if zone else "") + "$")
        if not zone:
            months = pc.match_substring_regex(texts, _MONTH)
            if months.true_count:
                fits = pc.or_(fits, months)
                for written, first_day in _FIRST_DAYS:
                    texts = pc.replace_substring_regex(texts, written, first_day)
        values, fits = _cast_times(_where(texts, fits, words), fits, type_)
    found = np.asarray(pc.fill_null(fits, False)) | np.asarray(words)
    return values, ~found


def _cast_seconds(texts: pa.Array, date: str) -> pa.Array:
    """Cast times of the day, or spans of time, to seconds."""
    form = r"^(?P<h>\d+):(?P<m>\d+)(?::(?P<s>[\d.,]+))?$"
    if date == DURATION:
        form = r"^-?(?:(?P<h>\d+):)?(?P<m>\d+):(?P<s>[\d.,]+)$"
    parts = pc.extract_regex(texts, form)
    seconds = pa.nulls(len(texts), pa.float64())
    for name, unit in (("s", 1.0), ("m", 60.0), ("h", 3600.0)):
        part = pc.replace_substring(pc.struct_field(parts, name), ",", ".")
        empty = pc.fill_null(pc.equal(part, ""), False)
        part = pc.if_else(empty, "0", part).cast(pa.float64())
        seconds = pc.add(pc.fill_null(seconds, 0.0), pc.multiply(part, unit))
    is_negative = pc.fill_null(pc.starts_with(texts, "-"), False)
    return pc.if_else(is_negative, pc.negate(seconds), seconds)


def _cast_dates(texts: pa.Array, form: str) -> pa.Array:
    """Cast times of a format, null where one is none."""
    if form in _PER_SECOND:
        numbers = _where(
            texts, pc.match_substring_regex(texts, Numerals().pattern), texts.is_null()
        )
        seconds = pc.divide(numbers.cast(pa.float64()), float(_PER_SECOND[form]))
        micro = pc.round(pc.multiply(seconds, 1e6))
        return micro.cast(pa.int64(), safe=False).cast(pa.timestamp("us"))
    for name, english in _MONTHS:
        texts = pc.replace_substring_regex(texts, name, english)
    # %Y would read years of two digits as those of antiquity.
    year = r"(^|\D)\d{4}(\D|$)" if "%Y" in form and not form.startswith("%Y%m%d") else ""
    times = pc.strptime(texts, format=form, unit="us", error_is_null=True)
    fits = pc.and_(pc.match_substring_regex(texts, year), _are_days(texts, times, form))
    return pc.if_else(pc.fill_null(fits, False), times, pa.scalar(None, times.type))


def _are_days(texts: pa.Array, times: pa.Array, form: str) -> pa.Array:
    """Tell which times are days of the calendar: pyarrow reads 31 February as 2 March."""
    if "%d" not in form:
        return pa.array(np.ones(len(texts), dtype=bool))
    early = pc.fill_null(pc.less_equal(pc.day(times), 3), False)
    forms = {form, form.replace("%b", "%B")}  # pyarrow reads names of months of either length
    wrong = [
        text
        for text in pc.unique(texts.filter(early)).to_pylist()
        if not any(_is_day(text, own) for own in forms)
    ]
    return pc.invert(pc.is_in(texts, value_set=pa.array(wrong, pa.string())))


def _is_day(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def _cast_times(texts: pa.Array, fits: pa.Array, type_: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Cast ISO times; where one is no date, such as 31 February, one by one."""
    wide = pa.timestamp("us", getattr(type_, "tz", None))
    # Arrow refuses what microseconds cannot hold, and commas.
    texts = pc.replace_substring_regex(texts, FRACTION, r".\1")
    try:
        return texts.cast(wide), fits
    except pa.ArrowInvalid:
        values = []
        for text in texts:
            try:
                values.append(text.cast(wide).as_py())
            except pa.ArrowInvalid:
                values.append(None)
        array = pa.array(values, wide)
        return array, pc.and_(fits, array.is_valid())


def _where(texts: pa.Array, fits: pa.Array, words: pa.Array) -> pa.Array:
    return pc.if_else(
        pc.and_not(pc.fill_null(fits, False), words), texts, pa.scalar(None, pa.string())
    )


def _plain_texts(texts: pa.Array) -> pa.Array:
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    return pc.utf8_trim_whitespace(texts.cast(pa.string()))


def _is_word(texts: pa.Array, words: tuple[str, ...]) -> pa.Array:
    """Tell which cells are missing: null, or one of these texts."""
    found = pc.is_in(texts, value_set=pa.array(["", *words], pa.string()))
    return pc.or_(found, texts.is_null())


def _all_whole(texts: pa.Array) -> bool:
    """Tell whether all values are whole numbers."""
    known = texts.filter(pc.invert(_is_word(texts, MISSING)))
    return len(known) > 0 and bool(
        pc.all(pc.match_substring_regex(known, r"^[-+]?\d{1,18}$")).as_py()
    )


def _ways(texts: pa.Array, decimal: str) -> Iterator[Numerals]:
    """Give the ways in which numbers may be written, the most usual ones first."""
    other = "," if decimal == "." else "."
    units = ["", *(unit for unit in _UNITS if pc.any(pc.match_substring(texts, unit)).as_py())]
    if (unit := _unit_behind(texts)) and unit not in units:
        units.append(unit)
    exponents = ["e"]
    if pc.any(pc.match_substring_regex(texts, _FORTRAN)).as_py():
        exponents.append("d")
    negatives = ["-"]
    for negative, form in (("()", r"^[^\d(]*\(.*\d.*\)"), ("5-", r"\d.*-$")):
        if pc.any(pc.match_substring_regex(texts, form)).as_py():
            negatives.append(negative)
    for exponent, negative, unit in product(exponents, negatives, units):
        for point, comma in ((decimal, other), (other, decimal)):
            for thousands in ("", comma, " ", "'"):
                yield Numerals(point, thousands, unit, negative, exponent=exponent)


def _unit_behind(texts: pa.Array) -> str:
    """Find the unit that stands behind most numbers; empty if there is none."""
    found = pc.extract_regex(texts, _MEASURE).drop_null()
    if 2 * len(found) <= len(texts) - texts.null_count:
        return ""
    counts = found.field("unit").value_counts()
    most = max(counts.to_pylist(), key=lambda count: count["counts"])
    return str(most["values"]) if 2 * most["counts"] > len(texts) - texts.null_count else ""
