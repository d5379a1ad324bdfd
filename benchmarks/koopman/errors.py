"""Standard errors of the known eigenvalues of an Ornstein-Uhlenbeck process, over many streams.

python benchmarks koopman errors           # 200 streams of 300,000 pairs: ten minutes
python benchmarks koopman errors 700       # the table of docs/koopman.md
python benchmarks koopman errors 20 30000  # fewer, shorter
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import t as student

import kernelstream as ks
from kernelstream import datasets

TAU, N_BLOCKS, N_VALUES = 0.5, 32, 6


def estimates(seed, n_pairs):
    """Eigenvalues of one stream, their standard errors, and stored states."""
    data = datasets.ornstein_uhlenbeck(n_pairs, theta=1.0, tau=TAU, random_state=seed)
    model = ks.Koopman(ks.Gaussian(1.0), ks.ALD(1e-3), ks.Ridge(1.0), n_blocks=N_BLOCKS)
    model.fit(data.trajectories[0])
    return model.eigenvalues_[:N_VALUES].real, model.eigenvalue_errors_[:N_VALUES], model.n_stored_


def main():
    """Print how often an interval of each eigenvalue has the true one in it."""
    n_streams, n_pairs = (int(float(arg)) for arg in [*sys.argv[1:], *("200", "300000")][:2])
    values, errors, sizes = map(
        np.array, zip(*(estimates(seed, n_pairs) for seed in range(n_streams)), strict=True)
    )
    known = np.exp(-TAU * np.arange(N_VALUES))
    # All blocks but the last are alike: half as many as there may be, or more.
    wide = student.ppf(0.975, N_BLOCKS // 2)
    print(f"{n_streams} streams of {n_pairs:,} pairs, {np.median(sizes):.0f} stored states")
    print("| eigenvalue | mean error | spread of estimates | mean standard error | covered |")
    print("|---:|---:|---:|---:|---:|")
    for j in range(N_VALUES):
        gap = values[:, j] - known[j]
        covered = np.mean(np.abs(gap) < wide * errors[:, j])
        print(
            f"| {known[j]:.3f} | {gap.mean():+.1e} | {values[:, j].std():.1e} "
            f"| {errors[:, j].mean():.1e} | {covered:.1%} |"
        )
