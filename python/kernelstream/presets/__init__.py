"""Named algorithms of the literature: combinations of basis, learner and loss.

Each function returns an ordinary `KernelRegressor`, `KernelClassifier` or `Koopman`, whose
components can be changed with ``set_params``; `bandwidth_grid` a list of them for `KernelExperts`.
"""

from __future__ import annotations

from kernelstream.presets.budget import bogd, bpas, kogd, projectron, rbp
from kernelstream.presets.experts import bandwidth_grid
from kernelstream.presets.gradient import aogd_ald, fogd, nogd
from kernelstream.presets.koopman import recursive_koopman, sparse_koopman
from kernelstream.presets.least_squares import (
    kernel_awv,
    kernel_ridge,
    krls_ald,
    pkawv_nystroem,
    pkawv_taylor,
)
from kernelstream.presets.newton import con_kons, kons, nons_ald, pros_n_kons, sketched_kons
from kernelstream.presets.sketched import forks, skegd

__all__ = [
    "aogd_ald",
    "bandwidth_grid",
    "bogd",
    "bpas",
    "con_kons",
    "fogd",
    "forks",
    "kernel_awv",
    "kernel_ridge",
    "kogd",
    "kons",
    "krls_ald",
    "nogd",
    "nons_ald",
    "pkawv_nystroem",
    "pkawv_taylor",
    "projectron",
    "pros_n_kons",
    "rbp",
    "recursive_koopman",
    "skegd",
    "sketched_kons",
    "sparse_koopman",
]
