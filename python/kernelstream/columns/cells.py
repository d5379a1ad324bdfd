"""Cells of a table: what columns hold, as the numbers that the core takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from kernelstream import _core

__all__ = [
    "ABSENT",
    "FALSE_WORDS",
    "FRACTION",
    "KINDS",
    "MISSING",
    "ODD_SHARE",
    "TRUE_WORDS",
    "cell_of",
    "cells_of",
    "kind_of",
    "refused",
    "texts_of",
    "zone_of",
]

Cells = NDArray[np.float64]

TRUE_WORDS = frozenset({"true", "yes", "t", "y", "1", "1.0"})
FALSE_WORDS = frozenset({"false", "no", "f", "n", "0", "0.0"})

# Texts that stand for a missing value in a column of text, unless they are quoted.
ABSENT = (
    *(
        "",
        "NA",
        "N/A",
        "n/a",
        "#N/A",
        "#N/A N/A",
        "#NA",
        "NULL",
        "null",
        "NaN",
        "nan",
        "-NaN",
        "-nan",
    ),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
# Texts that stand for a missing value in a column of numbers, times or truth values.
MISSING = (
    *ABSENT,
    *("None", "none", "NONE", "Null", "NAN", "Nan", "NaT", "<NA>", "nil", "missing", "#NULL!"),
    *("?", "-", "--", "---", "\N{EN DASH}", "\N{EM DASH}", ".", "..", "...", "*"),
    *("n.d.", "N.D.", "n.a.", "N.A.", "na", "nd", "ND", "k.A."),
)

# The fraction of a second in ISO 8601, of which six digits are kept.
FRACTION = r"[.,](\d{1,6})\d*"

# A column is of another type than text if at most this share of its cells, or a single one, is not.
ODD_SHARE = 0.1

# Numbers in a column of times are seconds. Milliseconds since 1970 are beyond it from 1973 on.
_FARTHEST = 1e11

# The clocks of a zone keep one offset from UTC for at least this many seconds.
_OFFSET_STEP = 900


def kind_of(values: Any) -> str:
    """Say what a column seems to hold, by the type of its values.

    Parameters
    ----------
    values : array-like of shape (n,)
        A column, as a data frame gives it.

    Returns
    -------
    kind : {"number", "boolean", "time", "category"}
        The kind.
    """
    if _is_categorical(values):
        return "category"
    array = _plain(values)
    match array.dtype.kind:
        case "b":
            return "boolean"
        case "i" | "u" | "f":
            return "number"
        case "m":
            return "number"
        case "M":
            return "time"
    known = [value for value in array.tolist() if not _is_gap(value)]
    if not known:
        # A column without a value so far most often has numbers later; others are then refused.
        return "number"
    if all(isinstance(value, bool | np.bool_) for value in known):
        return "boolean"
    numbers = sum(isinstance(value, _QUANTITIES) for value in known)
    n_odd = len(known) - numbers
    if numbers and n_odd <= max(1, ODD_SHARE * len(known)) and numbers >= 2 * n_odd:
        # The others are missing values or wrong, as cells of text would be.
        return "number"
    if all(isinstance(value, date) or hasattr(value, "timestamp") for value in known):
        return "time"
    return "category"


def zone_of(values: Any) -> str:
    """Give the time zone of a column of times.

    Parameters
    ----------
    values : array-like of shape (n,)
        A column, as a data frame gives it.

    Returns
    -------
    zone : str
        Its IANA name, such as ``Europe/Berlin``; empty if it has none, or an offset without a
        name.
    """
    zone: Any = None
    for owner, attribute in (("dt", "tz"), ("dtype", "time_zone"), ("type", "tz")):
        zone = zone or _of_type(values, owner, attribute)
    if zone is None and np.asarray(values).dtype.kind == "O":
        zones = (getattr(value, "tzinfo", None) for value in np.asarray(values).flat)
        zone = next((zone for zone in zones if zone is not None), None)
    name = str(getattr(zone, "key", None) or getattr(zone, "zone", None) or zone or "")
    try:
        return "" if name.upper() in {"", "UTC"} else ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ""


def cells_of(values: Any, kind: str, name: str, zone: str = "") -> Cells:
    """Give the cells of a column.

    Parameters
    ----------
    values : array-like of shape (n,)
        The column; None, NaN, NaT and the like are gaps.
    kind : {"number", "boolean", "time", "category"}
        What it holds. Times are dates and times of any library, ISO 8601, or seconds. Those with
        a time zone or an offset are instants, converted to the clocks of `zone`; those without
        are read on these clocks.
    name : str
        What errors call it.
    zone : str, default=""
        IANA name of the time zone on whose clocks times are; empty: UTC.

    Returns
    -------
    cells : ndarray of float64 of shape (n,)
        One number each, NaN where there is a gap.

    Raises
    ------
    ValueError
        An entry is none of this kind; the message names its row.
    """
    array = _plain(values)
    if kind == "time" and array.dtype.kind == "M" and _is_aware(values):
        return _on_clocks(_seconds(array), zone)
    if array.dtype.kind == "m":
        spans = array.astype("timedelta64[us]")
        return np.where(np.isnat(spans), np.nan, spans.astype(np.int64) / 1e6)
    if (held := _unreadable(array)) is not None:
        raise TypeError(f"column {name!r} holds {held}")
    numeric = array.dtype.kind in "biuf"
    if kind != "category" and numeric:
        cells: Cells = array.astype(np.float64)
        if kind == "time" and (far := np.abs(cells) > _FARTHEST).any():
            raise _too_far(name, int(np.argmax(far)), array[far][0])
        return cells
    if kind == "time" and array.dtype.kind == "M":
        return _seconds(array)
    if array.dtype.kind not in "OUSTbiufM":
        raise TypeError(f"column {name!r} holds {array.dtype}, which is no {kind}")
    plain, places = _distinct(array)
    cells = np.empty(len(plain))
    for i, value in enumerate(plain):
        try:
            cells[i] = cell_of(value, kind, zone)
        except (ValueError, TypeError, OverflowError):
            row = int(np.argmax(places == i))
            raise refused(name, row, value, kind) from None
    return cells[places]


def cell_of(value: Any, kind: str, zone: str = "") -> float:
    """Give the cell of one value.

    Parameters
    ----------
    value : object
        The value; None, NaN and the like are a gap.
    kind : {"number", "boolean", "time", "category"}
        What it is.
    zone : str, default=""
        See `cells_of`.

    Returns
    -------
    cell : float
        Its number, NaN for a gap.

    Raises
    ------
    ValueError, TypeError
        It is none of this kind.
    """
    if _is_gap(value) or (kind != "category" and _is_word(value)):
        return np.nan
    return _time(value, zone) if kind == "time" else KINDS[kind](value)


def _is_categorical(values: Any) -> bool:
    """Tell whether the type of a column says that its values are categories, whatever they are."""
    name = str(_of_type(values, "dtype", "name") or type(getattr(values, "dtype", None)).__name__)
    kind = str(getattr(values, "type", "")) or str(getattr(values, "dtype", ""))
    return name in {"category", "Categorical", "Enum"} or kind.startswith("dictionary<")


def texts_of(values: Any) -> NDArray[Any] | None:
    """Give a column as objects if some of its values are text; else None.

    Parameters
    ----------
    values : array-like of shape (n,)
        A column, as a data frame gives it.
    """
    array = _plain(values)
    if array.dtype.kind not in "OUT" or array.ndim != 1:
        return None
    array = array.astype(object)
    return array if any(isinstance(value, str) for value in array.tolist()) else None


def refused(name: str, row: int, value: Any, kind: str) -> ValueError:
    """Give the error for a cell that is not of its column's kind.

    Parameters
    ----------
    name, row, value, kind : str, int, object, str
        The column, the place from 0, the value, and the kind.
    """
    return ValueError(
        f"X at row {row}, column {name!r} is {_short(value)}, which is no {kind}: correct "
        "it, leave the column out, or say what it holds by columns="
    )


def _too_far(name: str, row: int, value: Any) -> ValueError:
    return ValueError(
        f"X at row {row}, column {name!r} is {value}, which as seconds since 1970 is after the "
        "year 5000: convert milliseconds, microseconds or nanoseconds to times, "
        "pandas.to_datetime(..., unit='ms')"
    )


def _category(value: Any) -> float:
    # 3 and 3.0 are one category: whole numbers become floats where there are gaps.
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return _core.category(str(value))


def _boolean(value: Any) -> float:
    word = str(value).strip().lower()
    if word in TRUE_WORDS | FALSE_WORDS:
        return float(word in TRUE_WORDS)
    raise ValueError


def _time(value: Any, zone: str = "") -> float:
    if isinstance(value, _NUMBERS):
        if abs(float(value)) > _FARTHEST:
            raise ValueError("no time in seconds")
        return float(value)
    if isinstance(value, str):
        value = _parsed(value.strip())
    if getattr(value, "tzinfo", None) is not None:
        return float(_on_clocks(np.array([value.timestamp()]), zone)[0])
    return float(_seconds(np.array([value], "datetime64[us]"))[0])


# Python reads 20240131 as a date too, numpy 12 as a year and "now" as the present.
_DASHED = re.compile(r"\d{4}(-|$)")
_QUARTER = re.compile(r"(\d{4})-?Q([1-4])")


def _parsed(text: str) -> Any:
    """Read ISO 8601 with dashes, of whichever of its forms Python or numpy knows, or a quarter."""
    if (quarter := _QUARTER.fullmatch(text)) is not None:
        return np.datetime64(f"{quarter[1]}-{3 * int(quarter[2]) - 2:02}", "us")
    if _DASHED.match(text) is None:
        raise ValueError("no time")
    try:
        return datetime.fromisoformat(re.sub(FRACTION, r".\1", text))
    except ValueError:
        return np.datetime64(text, "us")


def _number(value: Any) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, time):
        return 3600.0 * value.hour + 60.0 * value.minute + value.second + value.microsecond / 1e6
    if isinstance(value, str):
        if "_" in value:
            raise ValueError("Python's way to write numbers, not that of tables")
        value = value.replace("\N{MINUS SIGN}", "-")
    return float(value)


_NUMBERS = (int, float, np.number, Decimal, Fraction)
# Spans of time and times of the day are numbers of seconds.
_QUANTITIES = (*_NUMBERS, timedelta, time)

# What makes a number of a value that is no gap.
KINDS: Mapping[str, Callable[[Any], float]] = {
    "number": _number,
    "boolean": _boolean,
    "time": _time,
    "category": _category,
}


def _on_clocks(instants: Cells, zone: str) -> Cells:
    """Give instants, in seconds of UTC, in seconds on the clocks of a zone."""
    if not zone:
        return instants
    info: tzinfo = ZoneInfo(zone)
    known = ~np.isnan(instants)
    steps, places = np.unique(np.floor(instants[known] / _OFFSET_STEP), return_inverse=True)
    offsets = [
        (datetime.fromtimestamp(step * _OFFSET_STEP, UTC).astimezone(info).utcoffset() or _ZERO)
        for step in steps.tolist()
    ]
    local = instants.copy()
    local[known] += np.array([offset.total_seconds() for offset in offsets])[places]
    return local


_ZERO = timedelta(0)


def _seconds(times: NDArray[np.datetime64]) -> Cells:
    seconds = times.astype("datetime64[us]").astype(np.int64) / 1e6
    return np.where(np.isnat(times), np.nan, seconds)


def _is_word(value: Any) -> bool:
    """Tell whether a text stands for a missing value in a column that is none of text."""
    return isinstance(value, str) and value.strip() in MISSING


def _unreadable(array: NDArray[Any]) -> str | None:
    """Say what a column holds that is no column of cells, and what to do; None if it is one."""
    if array.dtype.kind == "c":
        return "complex numbers: pass their real and imaginary parts as columns"
    if array.ndim > 1:
        return "arrays: make a column of each of their entries, or leave it out"
    if array.dtype.kind == "O":
        for value in array.tolist():
            if isinstance(value, list | tuple | dict | set | np.ndarray):
                held = f"values of type {type(value).__name__}"
                return f"{held}: make a column of each of their entries, or leave it out"
            if isinstance(value, bytes):
                return "bytes: decode them to text, or leave it out"
            if value is not None:
                break
    return None


def _short(value: Any, most: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= most else text[:most] + "…"


def _is_gap(value: Any) -> bool:
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    try:
        return bool(value != value)  # noqa: PLR0124  (NaN and NaT differ from themselves)
    except ValueError:  # arrays are values
        return False
    except TypeError:  # pandas' NA will not say
        return True


def _plain(values: Any) -> NDArray[Any]:
    """Give a column as an array, entries without a value as None or NaN, instants in UTC."""
    if str(getattr(values, "type", "")).startswith("dictionary<"):
        # As an array, a dictionary has some value where there is none.
        values = values.cast(values.type.value_type)
    accessor = _accessor(values)
    if _of_type(values, "dt", "tz") is not None and hasattr(accessor, "tz_convert"):
        values = accessor.tz_convert(None)
    elif hasattr(accessor, "to_timestamp"):
        # Periods, by their beginnings.
        values = accessor.to_timestamp()
    array = np.asarray(values)
    return array.reshape(-1) if array.ndim == 2 and array.shape[1] == 1 else array


def _of_type(values: Any, owner: str, attribute: str) -> Any:
    """Give an attribute of a column's type; None if it has none, as dates of Arrow in pandas."""
    try:
        return getattr(getattr(values, owner, None), attribute, None)
    except (NotImplementedError, ValueError):  # ValueError: dictionaries of Arrow with gaps
        return None


def _accessor(values: Any) -> Any:
    try:
        return getattr(values, "dt", None)
    except ValueError:  # dictionaries of Arrow in pandas
        return None


def _is_aware(values: Any) -> bool:
    """Tell whether the times of a column are instants: its type has a time zone."""
    owners = (("dt", "tz"), ("dtype", "tz"), ("dtype", "time_zone"), ("type", "tz"))
    return any(_of_type(values, owner, attribute) is not None for owner, attribute in owners)


def _distinct(array: NDArray[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """Give the values there are, and the place of each entry among them."""
    found: dict[Any, int] = {}
    values: list[Any] = []
    places = np.empty(len(array), np.intp)
    for i, value in enumerate(array.tolist()):
        known = None if _is_gap(value) else value
        places[i] = found.setdefault(
            known if isinstance(known, Hashable) else repr(known), len(found)
        )
        if len(found) > len(values):
            values.append(known)
    return values, places
