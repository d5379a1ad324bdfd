"""Files that appear whole or not at all, as model files do."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from kernelstream.cli.writing.locks import is_ours

__all__ = ["check_writable", "is_direct", "replacing", "resolve"]

# Those of the core, so that each removes leftovers of the other.
_TEMPORARY = re.compile(r"\.kernelstream-[0-9A-Za-z]{6}\.tmp")


def resolve(path: Path) -> Path:
    """Follow the symbolic links of a path.

    Raises
    ------
    ValueError
        The links form a loop.
    """
    try:
        return path.resolve()
    except (RuntimeError, OSError):  # RuntimeError before Python 3.13
        raise ValueError(f"{path} is a loop of symbolic links; choose another name") from None


def is_direct(path: Path) -> bool:
    """Whether a path is written to directly: a pipe or a device."""
    return path.exists() and not path.is_file()


def check_writable(path: Path, what: str) -> None:
    """Check that a file can be created at a place, before hours of computation.

    Raises
    ------
    ValueError
        It is a folder, in no folder, or in one that cannot be written to.
    """
    path = resolve(path)
    if path.is_dir():
        raise ValueError(f"cannot write {what}: {path} is a folder")
    if not path.parent.is_dir():
        raise ValueError(f"cannot write {what}: {path.parent} is not a folder")
    if not os.access(path if is_direct(path) else path.parent, os.W_OK):
        raise ValueError(f"cannot write {what}: {path.parent} cannot be written to")


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Write a file; it appears, or replaces the older one, when all has been written.

    A symbolic link stays one. A replaced file keeps its permissions, a new one has those of the
    umask.
    """
    path = resolve(path)
    _remove_leftovers(path.parent)
    part, file = _new_file(path.parent)
    try:
        with file:
            is_ours(file)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if path.exists():
                part.chmod(path.stat().st_mode & 0o7777)
            part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _new_file(folder: Path) -> tuple[Path, IO[bytes]]:
    while True:
        part = folder / f".kernelstream-{secrets.token_hex(3)}.tmp"
        with suppress(FileExistsError):
            return part, part.open("xb")


def _remove_leftovers(folder: Path) -> None:
    """Remove temporary files of killed processes."""
    for path in folder.iterdir():
        if _TEMPORARY.fullmatch(path.name):
            with suppress(OSError), path.open("rb") as file:
                if is_ours(file):
                    path.unlink()
