"""Adversarial streams: the contents of `kernelstream.datasets.adversarial`."""

from __future__ import annotations

from kernelstream.datasets.adversarial import (
    Game,
    block_flips,
    drifting,
    greedy_adversary,
    sorted_stream,
)

__all__ = ["Game", "block_flips", "drifting", "greedy_adversary", "sorted_stream"]
