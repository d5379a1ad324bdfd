"""The bytes of a file or a pipe, as they arrive."""

from __future__ import annotations

import io
import select
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

__all__ = ["BLOCK", "Bytes", "closed_on_error"]

BLOCK = 1 << 20


class _Closeable(Protocol):
    def close(self) -> None: ...


@contextmanager
def closed_on_error(opened: _Closeable) -> Iterator[None]:
    """Close what was opened if the block raises, Ctrl-C included."""
    try:
        yield
    except BaseException:
        opened.close()
        raise


class Bytes(io.RawIOBase):
    """A file or pipe whose first bytes can be peeked at, and that counts the bytes read.

    Parameters
    ----------
    file : FileIO
        The file, just opened; it is closed with this.

    Attributes
    ----------
    done : int
        Bytes read.
    """

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self._head = b""
        self.done = 0
        _widen(file)

    def peek(self, count: int) -> bytes:
        """Look at the first bytes without reading them.

        Returns
        -------
        head : bytes
            At least this many, or all there are.
        """
        while len(self._head) < count:
            more = self._file.read(BLOCK)
            if not more:
                break
            self._head += more
        return self._head

    def comes(self, seconds: float) -> bool:
        """Wait for bytes for a while.

        Returns
        -------
        comes : bool
            Whether some can be read without waiting, or the end; True if that is unknown.
        """
        if self._head:
            return True
        try:
            return bool(select.select([self._file], [], [], max(seconds, 0.0))[0])
        except (OSError, ValueError):
            return True

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the available bytes, waiting for at least one; return 0 at the end."""
        if self._head:
            count = min(len(buffer), len(self._head))
            buffer[:count] = self._head[:count]
            self._head = self._head[count:]
        else:
            count = self._file.readinto(buffer) or 0
        self.done += count
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def _widen(file: io.FileIO) -> None:
    """Let a pipe hold a whole block, if possible, so that fast rows are read many at once."""
    with suppress(ImportError, AttributeError, OSError):
        import fcntl  # noqa: PLC0415  (Unix only)

        fcntl.fcntl(file, fcntl.F_SETPIPE_SZ, BLOCK)
