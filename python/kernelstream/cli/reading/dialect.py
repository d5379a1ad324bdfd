"""How a CSV file is written: its delimiter, its decimal sign, its header line."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kernelstream.columns.texts import MISSING

__all__ = ["Dialect", "find_dialect"]

_SOME = 1 << 16  # bytes of the first rows
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "spaces"}
# The first line in which spreadsheets name the delimiter.
_NAMED = re.compile(rb"\A[ \t]*(?:\"sep=(.)\"|sep=(.))[ \t]*\r?\n", re.IGNORECASE)
# Another delimiter with spaces around it.
_AROUND = re.compile(rb" *([,;\t|]) *")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+(e[-+]?\d+)?\s*", re.IGNORECASE)
_DECIMAL_POINT = re.compile(r"\s*[-+]?\d*\.\d+(e[-+]?\d+)?\s*", re.IGNORECASE)
_CLOCK = r"\d\d?:\d\d(:\d\d([.,]\d+)?)?(Z|[-+]\d\d:?\d\d)?"
_DAY = (
    r"(\d{4}-\d\d?(-\d\d?)?|\d{4}(?P<a>[./])\d\d?(?P=a)\d\d?"
    r"|\d\d?(?P<b>[./-])\d\d?(?P=b)(\d{4}|\d\d))"
)
_DATE = re.compile(rf"\s*({_DAY}([T ]{_CLOCK})?|{_CLOCK})\s*")
_NUMBER = re.compile(r"\s*[-+]?(\d+[.,]?\d*|[.,]\d+)(e[-+]?\d+)?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written.

    Attributes
    ----------
    delimiter : str
        What separates the fields.
    decimal : str
        A point or a comma.
    names : list of str
        The fields of the header line.
    header_bytes : int
        Length of the header, and of empty lines before it.
    notes : list of str
        What is not usual.
    """

    delimiter: str
    decimal: str
    names: list[str]
    header_bytes: int
    notes: list[str]


def find_dialect(text: bytes, name: str, delimiter: str | None = None) -> Dialect:
    """Find out how a CSV file is written from its first lines.

    Parameters
    ----------
    text : bytes
        Whole lines from its beginning, in UTF-8.
    name : str
        What errors call the file.
    delimiter : str, optional
        Delimiter given by the user.

    Raises
    ------
    ValueError
        The header is none.
    """
    notes: list[str] = []
    if delimiter is not None and len(delimiter.encode()) != 1:
        raise ValueError(f"--delimiter {delimiter!r}: one character separates the fields")
    above = 0
    if (named := _NAMED.match(text)) is not None:
        above = named.end()
        delimiter = delimiter or (named[1] or named[2]).decode("utf-8", "replace")
    if delimiter is None:
        delimiter = _most_likely(text)
        if delimiter != ",":
            notes.append(f"separated by {_DELIMITERS[delimiter]}")
    names, header_bytes = _header(text[above:], name, delimiter)
    header_bytes += above
    some_rows = text[header_bytes:][:_SOME].decode("utf-8", "replace").splitlines()[:200]
    decimal = "."
    if delimiter != ",":
        fields = [field.strip('"') for row in some_rows for field in row.split(delimiter)]
        commas = sum(_DECIMAL_COMMA.fullmatch(field) is not None for field in fields)
        points = sum(_DECIMAL_POINT.fullmatch(field) is not None for field in fields)
        if commas > points:
            decimal = ","
            notes.append("with decimal commas")
    numbers = [field for field in names if _NUMBER.fullmatch(field)]
    dates = [field for field in names if _DATE.fullmatch(field)]
    # An empty name is that of an index.
    missing = [field for field in names if field and field in MISSING]
    if numbers and len(numbers) + len(dates) + len(missing) == len(names):
        what = "a date and numbers" if dates else "numbers"
        raise ValueError(
            f"{name} begins with {what}, {delimiter.join(names)[:60]!r}: put a first line with "
            "the columns' names there"
        )
    return Dialect(delimiter, decimal, names, header_bytes, notes)


def _most_likely(text: bytes) -> str:
    """Give the delimiter that the header has and that most of the lines have as often."""
    lines = [line for line in text[: 1 << 16].splitlines() if line.strip()][:20]
    # Spaces around other delimiters are none.
    stripped = [_AROUND.sub(rb"\1", line) for line in lines]
    best, best_score = ",", (0, 0)
    for delimiter in _DELIMITERS:
        of = stripped if delimiter == " " else lines
        counts = [_outside_quotes(line).count(delimiter.encode()) for line in of]
        if counts and counts[0]:
            alike = Counter(counts)[counts[0]] / len(counts)
            score = (round(10 * alike), counts[0])
            if delimiter == " " and alike < 1.0:
                continue  # words
            if score > best_score:
                best, best_score = delimiter, score
    return best


def _outside_quotes(line: bytes) -> bytes:
    return re.sub(rb'"[^"]*"', b"", line)


def _header(text: bytes, name: str, delimiter: str) -> tuple[list[str], int]:
    """Give the fields of the first line that is not empty, and where it ends."""
    used = 0

    def _lines() -> Iterator[str]:
        nonlocal used
        for line in text.splitlines(keepends=True):
            used += len(line)
            yield line.decode()

    try:
        for fields in csv.reader(_lines(), delimiter=delimiter):
            if any(field.strip() for field in fields):
                return [field.strip() for field in fields], used
    except csv.Error as error:
        raise ValueError(f"the header of {name} cannot be read: {error}") from None
    raise ValueError(f"{name} is empty")
