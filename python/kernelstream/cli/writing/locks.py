"""Locks on files that processes hold, and lose when they end, however they end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["alone", "is_ours"]


def is_ours(file: IO[bytes]) -> bool | None:
    """Lock an open file, unless another process has.

    Parameters
    ----------
    file : binary file
        The file; the lock ends with it.

    Returns
    -------
    ours : bool or None
        Whether it is locked now; None where files cannot be locked.
    """
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
    """Be the only one that works on a file.

    A file beside it, with ``.lock`` added to its name, is locked meanwhile and removed at the end.
    One that a killed process left is nobody's.

    Parameters
    ----------
    path : Path
        The file, whether or not it is there yet.

    Raises
    ------
    ValueError
        Another process works on it.
    """
    path = path.resolve()
    mark = path.with_name(path.name + ".lock")
    while True:
        with mark.open("ab") as file:
            if is_ours(file) is False:
                raise ValueError(f"{path} is in use: another run of 'learn' goes on with it")
            if not _is_still(file, mark):
                continue  # its last user has removed it in the meantime
            try:
                yield
            finally:
                with suppress(OSError):
                    mark.unlink()
            return


def _is_still(file: IO[bytes], path: Path) -> bool:
    """Tell whether an open file still has its name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
