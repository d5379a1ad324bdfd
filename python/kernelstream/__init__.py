"""Learn from a stream with kernels: one pass, constant memory, second order."""

from importlib.metadata import version as _version

from kernelstream import presets
from kernelstream._core import ModelFileError
from kernelstream._modelfile import load
from kernelstream.bases import ALD, AllPoints, FirstPoints
from kernelstream.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Polynomial,
    Sum,
)
from kernelstream.learners import Gradient, OnlineNewton, Ridge
from kernelstream.regressor import KernelRegressor
from kernelstream.table import TableRegressor

__all__ = [
    "ALD",
    "AllPoints",
    "FirstPoints",
    "Gaussian",
    "Gradient",
    "KernelRegressor",
    "Laplacian",
    "Linear",
    "Matern32",
    "Matern52",
    "ModelFileError",
    "OnlineNewton",
    "Polynomial",
    "Ridge",
    "Sum",
    "TableRegressor",
    "load",
    "presets",
]

__version__ = _version("kernelstream")
