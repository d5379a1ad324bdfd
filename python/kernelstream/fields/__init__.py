"""Fields: states of thousands to millions of numbers, reduced to a few in one pass."""

from __future__ import annotations

from kernelstream.fields.pod import POD

__all__ = ["POD"]
