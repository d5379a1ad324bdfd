"""The command line."""

from __future__ import annotations

from kernelstream.cli.app import app

__all__ = ["app"]
