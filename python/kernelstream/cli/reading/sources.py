"""What the arguments of a command name: files, patterns of files, pipes, standard input."""

from __future__ import annotations

import errno
import glob
import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

__all__ = ["Extent", "Source", "find_sources"]


@dataclass(frozen=True)
class Source:
    """Something to read rows from.

    Attributes
    ----------
    path : Path or None
        The file or named pipe; None: standard input.
    """

    path: Path | None

    @property
    def name(self) -> str:
        """What messages call it."""
        return "standard input" if self.path is None else str(self.path)

    @property
    def suffix(self) -> str:
        """The extension in lower case, without that of a compression."""
        if self.path is None:
            return ""
        stem = self.path.name.lower()
        for packed in (".gz", ".bz2", ".zst", ".lz4"):
            stem = stem.removesuffix(packed)
        return Path(stem).suffix

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file, which can be read again from its beginning."""
        return self.path is not None and self.path.is_file()

    @property
    def size(self) -> int | None:
        """Bytes that it holds; None for a pipe."""
        status = os.fstat(0) if self.path is None else self.path.stat()
        return status.st_size or None

    def open(self) -> io.FileIO:
        """Open it for reading without a buffer, so that a pipe's bytes arrive at once.

        Returns
        -------
        file : FileIO
            To be closed by the caller; standard input stays open.
        """
        if self.path is None:
            return io.FileIO(0, closefd=False)
        return io.FileIO(self.path)


class Extent:
    """How many bytes several sources have, one after another.

    Parameters
    ----------
    sources : sequence of Source
        The sources.

    Attributes
    ----------
    total : int or None
        Bytes of all of them; None if there is a pipe.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        found = [source.size for source in sources]
        sizes = [size or 0 for size in found]
        self.total = None if None in found else sum(sizes)
        self._begins = dict(zip(sources, accumulate(sizes, initial=0), strict=False))
        self._sizes = dict(zip(sources, sizes, strict=True))

    def at(self, source: Source, share: float) -> int:
        """Tell how many bytes lie before a place.

        Parameters
        ----------
        source : Source
            Where it is.
        share : float
            How much of that source lies before it, from 0 to 1.
        """
        return self._begins[source] + int(share * self._sizes[source])


def find_sources(arguments: Sequence[str]) -> list[Source]:
    """Find the files that the arguments of a command name.

    Parameters
    ----------
    arguments : sequence of str
        Paths, patterns such as ``data/*.csv``, or ``-`` for standard input.

    Returns
    -------
    sources : list of Source
        In the order of the arguments, each once. Names that came in the order of the alphabet, as
        a shell sorts them, are sorted with numbers by value: day2 before day10.

    Raises
    ------
    ValueError
        A pattern has no match, or a folder is named.
    FileNotFoundError
        A file does not exist.
    """
    names: list[str] = []
    for argument in arguments:
        if argument == "-" or Path(argument).exists():
            names.append(argument)
        elif glob.has_magic(argument):
            found = glob.glob(argument, recursive=True)  # noqa: PTH207  (absolute ones, too)
            found = [name for name in found if Path(name).is_file()]
            if not found:
                raise ValueError(f"no file matches {argument!r}")
            names += sorted(found, key=_natural)
        else:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argument)
    if names == sorted(names):
        names.sort(key=_natural)
    for name in names:
        if name != "-" and Path(name).is_dir():
            raise ValueError(
                f"{name} is a folder: name its files, such as '{Path(name) / '*.csv'}'"
            )
    return [Source(None if name == "-" else Path(name)) for name in dict.fromkeys(names)]


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort numbers within names by their value."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]
