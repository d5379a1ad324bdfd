"""Published and measured figures of the named regression algorithms, on real tables."""

from __future__ import annotations

import numpy as np
import pytest

import kernelstream as ks
from realdata import scaled, table


@pytest.fixture(scope="module")
def casp():
    """Give the first 8,000 rows of casp, target log(1 + y), all scaled to [-1, 1]."""
    data = table("protein_raw")
    X, y = scaled(data["X"], np.log1p(data["y"].ravel()))
    return X[:8000], 2.0 * y[:8000] - 1.0


def error(model, X, y):
    return float(np.mean((model.partial_fit_predict(X, y) - y) ** 2))


@pytest.mark.parametrize(("degree", "expected"), [(2, 0.184), (3, 0.1755), (4, 0.171)])
def test_pkawv_by_taylor_on_casp(degree, expected, casp):
    model = ks.presets.pkawv_taylor(ks.Gaussian(1.0), 1.0, degree)
    assert error(model, *casp) == pytest.approx(expected, rel=0.02)


def test_pkawv_by_sampled_points_on_casp(casp):
    errors = {
        history: error(ks.presets.pkawv_nystroem(ks.Gaussian(1.0), history=history), *casp)
        for history in ("exact", "reservoir", "none")
    }
    assert errors["exact"] == pytest.approx(0.1658, rel=0.02)
    assert errors["reservoir"] == pytest.approx(errors["exact"], rel=0.005)
    assert errors["none"] > errors["reservoir"]


@pytest.mark.filterwarnings("ignore::kernelstream.exceptions.KernelstreamWarning")
@pytest.mark.parametrize(
    ("name", "bandwidth", "rows", "gamma", "con", "pros"),
    [
        ("elevators_raw", 8.0, None, 10.0, 0.0047, 0.0088),
        ("ailerons", 8.0, None, 1.0, 0.0032, 0.0150),
        ("bank32nh", 12.0, None, 1.0, 0.0165, 0.0268),
        ("cpusmall", 4.0, None, 5.0, 0.0116, 0.0290),
        ("cal_housing", 4.0, 14_000, 5.0, 0.0234, 0.0411),
    ],
)
def test_con_kons_and_pros_n_kons(name, bandwidth, rows, gamma, con, pros, load_scaled):
    X, y = (part[:rows] for part in load_scaled(name))
    for preset, expected in ((ks.presets.con_kons, con), (ks.presets.pros_n_kons, pros)):
        errors = []
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(len(y))
            model = preset(ks.Gaussian(bandwidth), 5.0, gamma, 1.0, 1.0, random_state=seed)
            errors.append(error(model, X[order], y[order]))
        assert np.mean(errors) == pytest.approx(expected, rel=0.1)
