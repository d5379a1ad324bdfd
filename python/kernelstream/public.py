"""All that ``kernelstream`` names: loaded when one of the names is first asked for."""

from kernelstream import control, linalg, presets
from kernelstream._core import ModelFileError
from kernelstream.components import admission as _admission
from kernelstream.components import bases as _bases
from kernelstream.components import budget as _budget
from kernelstream.components import kernels as _kernels
from kernelstream.components import learners as _learners
from kernelstream.components.admission import *  # noqa: F403
from kernelstream.components.bases import *  # noqa: F403
from kernelstream.components.budget import *  # noqa: F403
from kernelstream.components.kernels import *  # noqa: F403
from kernelstream.components.learners import *  # noqa: F403
from kernelstream.components.replay import Replay
from kernelstream.estimators.model_file import load
from kernelstream.estimators.threads import get_num_threads, set_num_threads
from kernelstream.fields import POD
from kernelstream.forecasting import Forecaster
from kernelstream.koopman import Koopman
from kernelstream.koopman.metastable import metastable_sets, slow_coordinates
from kernelstream.supervised.classifier import KernelClassifier
from kernelstream.supervised.experts import KernelExperts
from kernelstream.supervised.experts_classifier import KernelExpertsClassifier
from kernelstream.supervised.function_kernel import FunctionKernel
from kernelstream.supervised.regressor import KernelRegressor

__all__ = [
    "POD",
    "Forecaster",
    "FunctionKernel",
    "KernelClassifier",
    "KernelExperts",
    "KernelExpertsClassifier",
    "KernelRegressor",
    "Koopman",
    "ModelFileError",
    "Replay",
    "control",
    "get_num_threads",
    "linalg",
    "load",
    "metastable_sets",
    "presets",
    "set_num_threads",
    "slow_coordinates",
]
# What a model is made of: a new one is named in its own module only.
__all__ += _admission.__all__
__all__ += _bases.__all__
__all__ += _budget.__all__
__all__ += _kernels.__all__
__all__ += _learners.__all__
