"""Data sets of other packages are learned as the states that they hold."""

from types import SimpleNamespace

import numpy as np
import pytest

import kernelstream as ks
from kernelstream import datasets

RANDOM = np.random.default_rng(0)
T = [np.cumsum(RANDOM.normal(size=(60, 2)), axis=0) * 0.3 for _ in range(3)]


def of_deeptime(lag):
    held = pytest.importorskip("deeptime.util.data")
    return (
        held.TrajectoriesDataset.from_numpy(lag, T),
        held.TrajectoryDataset(lag, T[0]),
        held.TimeLaggedDataset(T[0][:-lag], T[0][lag:]),
    )


def alike(lag):
    return (
        SimpleNamespace(trajectories=T, lagtime=lag),
        SimpleNamespace(trajectory=T[0], lagtime=lag),
        SimpleNamespace(data=T[0][:-lag], data_lagged=T[0][lag:]),
    )


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize("source", [of_deeptime, alike])
@pytest.mark.parametrize("lag", [1, 3])
def test_data_sets_have_the_documented_content(source, lag):
    several, single, pairs = source(lag)

    def learned(*given):
        return ks.Koopman(ks.Gaussian(1.0), lag=lag).fit(*given).eigenvalues_

    np.testing.assert_array_equal(learned(several), learned(T))
    np.testing.assert_array_equal(learned(single), learned(T[0]))
    np.testing.assert_array_equal(learned(pairs), learned(T[0][:-lag], T[0][lag:]))
    again = ks.Koopman(ks.Gaussian(1.0), lag=lag).partial_fit(several).eigenvalues_
    np.testing.assert_array_equal(again, learned(T))
    for other in (several, single):
        with pytest.raises(ValueError, match=rf"lagtime={lag}, .* pass Koopman\(lag={lag}\)"):
            ks.Koopman(lag=lag + 1).fit(other)


def test_our_own_data_sets_too():
    data = datasets.ornstein_uhlenbeck(300, tau=0.5, random_state=0)
    np.testing.assert_array_equal(
        ks.Koopman().fit(data).eigenvalues_, ks.Koopman().fit(data.trajectories).eigenvalues_
    )
