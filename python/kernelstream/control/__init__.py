"""Control by a learned model: value iteration on the conditional mean embedding.

`EmbeddingValueIteration` learns from transitions how a system answers to actions, and from that how
to act; `train` lets it learn on an environment of gymnasium, `evaluate` plays episodes with it.
"""

from __future__ import annotations

from kernelstream.control.controller import EmbeddingValueIteration
from kernelstream.control.training import Training, evaluate, train

__all__ = ["EmbeddingValueIteration", "Training", "evaluate", "train"]
