"""Operators beside the packages that people come from, where these are installed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kernelstream as ks
from kernelstream import datasets
from kernelstream.koopman import ReducedRank, TotalLeastSquares

FloatArray = NDArray[np.float64]

ORDERS = ("as it comes", "sorted")


def process(n: int, order: str = "as it comes", seed: int = 0) -> FloatArray:
    path = datasets.ornstein_uhlenbeck(n, tau=0.5, random_state=seed).trajectories[0]
    return np.sort(path, axis=0) if order == "sorted" else path


def plane(n: int, seed: int = 0) -> FloatArray:
    """A noisy turn of the plane, correlated in its two columns."""
    rng = np.random.default_rng(seed)
    turn = 0.9 * np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    out = np.zeros((n, 2))
    for t in range(1, n):
        out[t] = turn @ out[t - 1] + rng.normal(size=2) * [0.3, 0.1]
    return out


@pytest.mark.parametrize("order", ORDERS)
def test_reduced_rank_and_risk_are_those_of_kooplearn(order: str) -> None:
    kernel = pytest.importorskip("kooplearn.kernel", reason="needs kooplearn")
    T, held_out = process(300, order), process(300, seed=1)
    theirs: Any = kernel.KernelRidge(
        n_components=4, kernel="rbf", gamma=0.5, alpha=1e-2, reduced_rank=True, eigen_solver="dense"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the regularization, which is meant to be large
        theirs.fit(T)
    ridge = ks.Ridge(1e-2 * (len(T) - 1))
    ours = ks.Koopman(ks.Gaussian(1.0), ks.ALD(1e-10), ridge, rank=ReducedRank(4)).fit(T)
    expected = np.sort(np.abs(theirs.eig()))[::-1]
    np.testing.assert_allclose(np.abs(ours.eigenvalues_), expected, atol=1e-5)
    np.testing.assert_allclose(ours.risk(T), theirs.risk(), rtol=1e-6)
    np.testing.assert_allclose(ours.risk(held_out), theirs.risk(held_out), rtol=1e-6)


def linear(**parameters: Any) -> ks.Koopman:
    return ks.Koopman(ks.Linear(), ks.ALD(1e-12), ks.Ridge(1e-9), n_blocks=1, **parameters)


def test_singular_values_and_the_kinetic_map_are_those_of_deeptime() -> None:
    decomposition = pytest.importorskip("deeptime.decomposition", reason="needs deeptime")
    T = plane(2_000)
    theirs: Any = decomposition.VAMP(lagtime=1, scaling="kinetic_map", epsilon=1e-12).fit_fetch(T)
    ours = linear().fit(T)
    np.testing.assert_allclose(ours.singular_values_[1:3], theirs.singular_values, rtol=1e-6)
    np.testing.assert_allclose(
        np.abs(ours.kinetic_map(T, 2)), np.abs(theirs.transform(T)), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("n_delays", [0, 3])
def test_a_reconstruction_is_that_of_pydmd(n_delays: int) -> None:
    pydmd = pytest.importorskip("pydmd", reason="needs pydmd")
    t = np.arange(150) * 0.1
    X = np.column_stack([np.exp(-0.1 * t) * np.sin(t), np.exp(-0.1 * t) * np.cos(t)])
    if n_delays:
        X = X[:, :1]
    theirs: Any = pydmd.HankelDMD(svd_rank=-1, d=n_delays + 1, exact=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of clean data, whose delays are dependent
        theirs.fit(X.T)
    ours = ks.Koopman(ks.Linear(), ks.ALD(1e-12), ks.Ridge(1e-12), n_delays=n_delays).fit(X)
    np.testing.assert_allclose(ours.reconstruct(X), np.real(theirs.reconstructed_data).T, atol=1e-6)


def test_total_least_squares_is_that_of_pydmd() -> None:
    pydmd = pytest.importorskip("pydmd", reason="needs pydmd")
    rng = np.random.default_rng(0)
    t = 0.1 * np.arange(300)
    X = np.column_stack([np.sin(t), np.cos(t)]) @ rng.normal(size=(2, 6))
    X += 0.2 * rng.normal(size=X.shape)
    theirs = pydmd.DMD(svd_rank=2, tlsq_rank=2).fit(X.T).eigs
    ours = ks.Koopman(ks.Linear(), ks.ALD(1e-9), rank=TotalLeastSquares(2)).fit(X).eigenvalues_
    np.testing.assert_allclose(np.sort_complex(ours), np.sort_complex(theirs), rtol=1e-6)
