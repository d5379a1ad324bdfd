"""The Koopman operator of a dynamical system, from a stream of its states."""

from __future__ import annotations

from kernelstream.koopman.estimator import Koopman

__all__ = ["Koopman"]
