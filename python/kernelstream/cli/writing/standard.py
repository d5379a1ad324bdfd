"""The standard streams: one that is closed is found out about, messages never end a command."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, TextIO

__all__ = ["open_standard_streams"]


class _Messages(io.TextIOWrapper):
    """A text stream that discards output after the first error, as on a full disk."""

    def write(self, text: str) -> int:
        """Write, or give the text up."""
        try:
            return super().write(text)
        except OSError:
            _give_up(self.fileno())
            return len(text)

    def flush(self) -> None:
        """Flush, or discard the rest."""
        try:
            super().flush()
        except OSError:
            _give_up(self.fileno())


class _Bytes(io.FileIO):
    """The standard output, whose errors name it; output after the first error is discarded."""

    def write(self, data: Any) -> int:
        """Write, or fail once."""
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            _give_up(self.fileno())
            reason = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise OSError(f"the standard output cannot be written to: {reason}") from None


def _give_up(number: int) -> None:
    """Let a stream go nowhere, so that Python's last flush does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def _occupy(number: int, flags: int) -> None:
    """Open a closed standard stream, so that no other file gets its number."""
    nowhere = os.open(os.devnull, flags)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)


def open_standard_streams() -> None:
    """Make the standard streams of this process usable.

    A closed standard output fails when it is written to, as a full one does; messages that the
    standard error does not take are given up, so that what is learned is saved.
    """
    if sys.stdin is None:
        _occupy(0, os.O_RDONLY)
        sys.stdin = os.fdopen(0, closefd=False)
    encoding, errors, is_terminal = "utf-8", "strict", False
    if sys.stdout is None:
        # Open for reading: writing fails.
        _occupy(1, os.O_RDONLY)
        sys.stdout = _output(encoding, errors, is_terminal)
    elif (stream := _of_process(sys.stdout)) is not None:
        encoding, errors = stream.encoding, stream.errors or errors
        is_terminal = stream.isatty()
        stream.flush()
        stream.detach()
        sys.stdout = _output(encoding, errors, is_terminal)
    if sys.stderr is None:
        _occupy(2, os.O_WRONLY)
        sys.stderr = os.fdopen(2, "w", closefd=False)
    elif (stream := _of_process(sys.stderr)) is not None:
        encoding = stream.encoding
        sys.stderr = _Messages(stream.detach(), encoding, "backslashreplace", line_buffering=True)


def _output(encoding: str, errors: str, is_terminal: bool) -> TextIO:
    binary = io.BufferedWriter(_Bytes(1, "w", closefd=False))
    return io.TextIOWrapper(binary, encoding, errors, line_buffering=is_terminal)


def _of_process(stream: TextIO | Any) -> io.TextIOWrapper | None:
    """Give a stream of this process; None if it was replaced, as by a test."""
    try:
        stream.fileno()
    except (OSError, ValueError):
        return None
    return stream if isinstance(stream, io.TextIOWrapper) else None
