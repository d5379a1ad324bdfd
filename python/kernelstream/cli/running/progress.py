"""Progress through the rows of files, stored in the model file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from kernelstream.cli.reading.sources import Source
from kernelstream.columns.texts import Numerals

__all__ = ["Mark", "Progress"]

_HEAD = 1 << 16  # bytes that identify a file


@dataclass
class Mark:
    """Progress through one file.

    Attributes
    ----------
    rows : int
        Rows learned or skipped, from its beginning.
    head : int
        Length of its beginning that identifies it, in bytes.
    digest : str
        A hash of that beginning.
    size : int or None
        Its size in bytes if it was learned to its end.
    """

    rows: int
    head: int
    digest: str
    size: int | None = None

    def __post_init__(self) -> None:
        """Refuse what no command noted: the beginning of a file is read up to `head`."""
        if not (_is_count(self.rows) and _is_count(self.head) and self.head <= _HEAD):
            raise TypeError("rows and head are no counts")
        if not (self.size is None or _is_count(self.size)) or not isinstance(self.digest, str):
            raise TypeError("size and digest are not those of a file")


@dataclass
class Progress:
    """Record in a model file of the rows that the model has learned.

    Attributes
    ----------
    files : dict of str to Mark
        The files learned, by their absolute paths; a model file has them relative to its folder.
    options : dict
        Options of the first run.
    piped : int
        Rows of the latest pipe that were read, from its beginning.
    rows, skipped : int
        Rows learned and skipped by the current run.
    finished : bool
        Whether that run was complete.
    error : dict
        The errors of that run so far.
    numerals : dict of str to Numerals
        How numbers are written in the columns of the first table.
    """

    files: dict[str, Mark] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    piped: int = 0
    rows: int = 0
    skipped: int = 0
    finished: bool = False
    error: dict[str, Any] = field(default_factory=dict)
    numerals: dict[str, Numerals] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what no command noted."""
        if not (_is_count(self.rows) and _is_count(self.skipped)):
            raise TypeError("rows and skipped are no counts")
        if not (isinstance(self.options, dict) and isinstance(self.error, dict)):
            raise TypeError("options and error are no dictionaries")

    @classmethod
    def from_note(cls, note: Any, model: Path) -> Self:
        """Set the record from the `to_note` of a model file.

        Raises
        ------
        ValueError
            It is something else.
        """
        if note is None:
            return cls()
        try:
            folder = model.resolve().parent
            files = {
                os.path.normpath(folder / path): Mark(**mark)
                for path, mark in note["files"].items()
            }
            numerals = {name: Numerals(**way) for name, way in note.get("numerals", {}).items()}
            return cls(**(note | {"files": files, "numerals": numerals}))
        except (TypeError, KeyError, AttributeError, ValueError):
            raise ValueError("what the model file says about the rows learned is damaged") from None

    def to_note(self, model: Path) -> dict[str, Any]:
        """Give what a model file is to hold, as JSON can carry it."""
        folder = model.resolve().parent
        files = {_relative(path, folder): asdict(mark) for path, mark in self.files.items()}
        return asdict(self) | {"files": files}

    def learned(self, source: Source) -> int:
        """Tell how many rows of a file have been learned."""
        mark = self.files.get(_key(source)) if source.is_file else None
        if mark is None or _digest(source, mark.head) != mark.digest:
            return 0
        return mark.rows

    def is_finished(self, source: Source) -> bool:
        """Tell whether a file has been learned to its end."""
        mark = self.files.get(_key(source)) if source.is_file else None
        if mark is None or mark.size is None or mark.size != source.size:
            return False
        return _digest(source, mark.head) == mark.digest

    def begin(self, source: Source, rows: int) -> None:
        """Note that a file is being learned."""
        if source.is_file:
            head = min(source.size or 0, _HEAD)
            self.files[_key(source)] = Mark(rows, head, _digest(source, head))
        else:
            self.piped = rows

    def advance(self, source: Source, rows: int) -> None:
        """Note how far a file has been learned."""
        if source.is_file:
            self.files[_key(source)].rows = rows
        else:
            self.piped = rows

    def finish(self, source: Source, size: int | None) -> None:
        """Note that a file was learned to its end."""
        if source.is_file:
            self.files[_key(source)].size = size

    def check_options(self, given: Mapping[str, Any], path: Path) -> None:
        """Check that the options of a command agree with those of the first run.

        Raises
        ------
        ValueError
            One differs.
        """
        for name, value in given.items():
            own = self.options.get(name)
            if value != own:
                said = "the default" if own is None or own is False else f"{_text(own)}"
                raise ValueError(
                    f"--{name} {_text(value)}: {path} continues as it was begun, with {said}; "
                    "leave the option out, or begin in another file"
                )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _key(source: Source) -> str:
    return "" if source.path is None else str(source.path.resolve())


def _relative(path: str, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive of Windows
        return path


def _digest(source: Source, count: int) -> str:
    with source.open() as file:
        head = b""
        while len(head) < count and (more := file.read(count - len(head))):
            head += more
    return hashlib.blake2b(head, digest_size=8).hexdigest() if len(head) == count else ""


def _text(value: Any) -> str:
    return (
        ",".join(map(str, value))
        if isinstance(value, Sequence) and not isinstance(value, str)
        else str(value)
    )
