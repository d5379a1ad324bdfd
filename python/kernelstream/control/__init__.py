"""Control with a learned model: value iteration on the conditional mean embedding.

`EmbeddingValueIteration` learns a model of a system from transitions and derives a policy from it;
`train` trains it on an environment of gymnasium, `evaluate` computes returns of episodes.
"""

from __future__ import annotations

from kernelstream.control.controller import EmbeddingValueIteration
from kernelstream.control.training import Training, evaluate, train

__all__ = ["EmbeddingValueIteration", "Training", "evaluate", "train"]
