"""What happens when something cannot be written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["OutputError", "close_output", "while_writing"]


class OutputError(Exception):
    """Predictions or figures could not be written."""


@contextmanager
def while_writing() -> Iterator[None]:
    """Tell errors of writing from those of reading.

    Raises
    ------
    OutputError
        Instead of an OSError; it names the file.
    """
    try:
        yield
    except BrokenPipeError:
        close_output()
        raise OutputError("the reader of the predictions has closed its end") from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise OutputError(f"{where}{error.strerror or error}") from None


def close_output() -> None:
    """Write the standard output nowhere, once its reader, such as head, has closed it.

    Python would raise an error when it flushes at exit.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
