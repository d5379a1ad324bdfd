"""Learn from a stream with kernels: one pass, constant memory, second order."""

from importlib.metadata import version as _version

from kernelstream import adversarial, control, linalg, presets
from kernelstream._core import ModelFileError
from kernelstream.all_points import AllPointsKoopman
from kernelstream.components.admission import HilbertSchmidt
from kernelstream.components.bases import (
    ALD,
    KORS,
    AllPoints,
    FirstPoints,
    Fourier,
    Sketched,
    Taylor,
)
from kernelstream.components.budget import (
    BudgetedGradient,
    BudgetedPassiveAggressive,
    BudgetedPerceptron,
)
from kernelstream.components.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Polynomial,
    Sum,
)
from kernelstream.components.learners import GaussNewton, Gradient, OnlineNewton, Ridge, Staged
from kernelstream.estimators.model_file import load
from kernelstream.estimators.threads import get_num_threads, set_num_threads
from kernelstream.koopman import Koopman
from kernelstream.koopman.metastable import metastable_sets, slow_coordinates
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.experts import KernelExperts
from kernelstream.supervised.regressor import KernelRegressor
from kernelstream.supervised.scaling import OnlineScaler, Scaled
from kernelstream.supervised.tables import TableClassifier, TableRegressor

__all__ = [
    "ALD",
    "KORS",
    "AllPoints",
    "AllPointsKoopman",
    "BudgetedGradient",
    "BudgetedPassiveAggressive",
    "BudgetedPerceptron",
    "FirstPoints",
    "Fourier",
    "GaussNewton",
    "Gaussian",
    "Gradient",
    "HilbertSchmidt",
    "KernelClassifier",
    "KernelExperts",
    "KernelRegressor",
    "Koopman",
    "Laplacian",
    "Linear",
    "Matern32",
    "Matern52",
    "ModelFileError",
    "OnlineNewton",
    "OnlineScaler",
    "Polynomial",
    "Ridge",
    "Scaled",
    "Sketched",
    "Staged",
    "Sum",
    "TableClassifier",
    "TableRegressor",
    "Taylor",
    "adversarial",
    "control",
    "get_num_threads",
    "linalg",
    "load",
    "metastable_sets",
    "presets",
    "set_num_threads",
    "slow_coordinates",
]

__version__ = _version("kernelstream")
