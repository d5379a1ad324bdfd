"""The Koopman operator of a dynamical system, from a stream of its states."""

from __future__ import annotations

from kernelstream.koopman._estimator import Koopman

__all__ = ["Koopman"]
