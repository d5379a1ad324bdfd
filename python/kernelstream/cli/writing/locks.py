"""Locks on files that processes hold, and lose when they end, however they end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["alone", "is_ours"]


def is_ours(file: IO[bytes]) -> bool | None:
    """Lock an open file, unless another process has."""
    try:
        import fcntl  # noqa: PLC0415  (Unix only)
    except ImportError:
        return None
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Be the only process that writes a file.

    An empty hidden file beside it, ``.kernelstream-NAME.lock``, is locked meanwhile and removed at
    the end. The lock ends with its process, so a mark that a killed process left locks nothing. A
    file of that name with contents, or a link, is not ours and is never removed or changed.

    Raises
    ------
    ValueError
        Another process writes it.
    """
    path = path.resolve()
    mark = path.with_name(f".kernelstream-{path.name}.lock")
    while True:
        with _open_unlinked(mark) as file:
            if is_ours(file) is False:
                raise ValueError(f"{path} is in use: another run of 'learn' is using it")
            if not _is_still(file, mark):
                continue  # its last user has removed it in the meantime
            try:
                yield
            finally:
                with suppress(OSError):
                    if os.fstat(file.fileno()).st_size == 0 and _is_still(file, mark):
                        mark.unlink()
            return


def _open_unlinked(path: Path) -> IO[bytes]:
    """Open a file to append, but not through a symbolic link."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    return os.fdopen(os.open(path, flags, 0o666), "ab")


def _is_still(file: IO[bytes], path: Path) -> bool:
    """Tell whether an open file still has its name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.lstat())
    except FileNotFoundError:
        return False
