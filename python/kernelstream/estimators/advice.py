"""Warnings that point at the line of the user's that caused them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from kernelstream.exceptions import KernelstreamWarning

__all__ = ["advise", "by_options", "naming_options"]

_PACKAGE = str(Path(__file__).parents[1])
_BY_OPTIONS: ContextVar[bool] = ContextVar("by_options", default=False)


@contextmanager
def naming_options() -> Iterator[None]:
    """Let warnings name options of the command line in the place of parameters."""
    before = _BY_OPTIONS.set(True)
    try:
        yield
    finally:
        _BY_OPTIONS.reset(before)


def by_options() -> bool:
    """Tell whether the user has options of the command line rather than parameters."""
    return _BY_OPTIONS.get()


def advise(message: str, category: type[KernelstreamWarning] = KernelstreamWarning) -> None:
    """Warn, with the place outside the package from which it was called, however deep within."""
    # Python 3.12 has `skip_file_prefixes` for it.
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
