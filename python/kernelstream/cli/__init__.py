"""The command line."""

from __future__ import annotations

from kernelstream.cli.app import app
from kernelstream.cli.writing.standard import open_standard_streams

__all__ = ["app", "open_standard_streams"]
