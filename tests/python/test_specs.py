"""Components as the command line writes them."""

from __future__ import annotations

import pytest

import kernelstream as ks
from kernelstream.components.parser import parse_basis, parse_kernel, parse_learner


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (parse_kernel, "gaussian", ks.Gaussian()),
        (parse_kernel, "gaussian:8", ks.Gaussian(8.0)),
        (parse_kernel, " Gaussian:1e+1 ", ks.Gaussian(10.0)),
        (parse_kernel, "gaussian:none", ks.Gaussian()),
        (parse_kernel, "laplacian:bandwidth=.5", ks.Laplacian(0.5)),
        (parse_kernel, "polynomial:2,scale=0.1,offset=0", ks.Polynomial(2, 0.1, 0.0)),
        (parse_kernel, "linear", ks.Linear()),
        (parse_kernel, "manhattan-laplacian:9", ks.ManhattanLaplacian(9.0)),
        (parse_kernel, "gaussian@1:.5:0", ks.Mapped(ks.Gaussian(), [1.0, 0.5, 0.0])),
        (
            parse_kernel,
            "0.5*matern32:2@1e+1:3+linear",
            0.5 * ks.Mapped(ks.Matern32(2.0), [10.0, 3.0]) + ks.Linear(),
        ),
        (parse_kernel, "matern52:3", ks.Matern52(3.0)),
        (
            parse_kernel,
            "0.4*gaussian:0.4+0.6*gaussian:0.7",
            0.4 * ks.Gaussian(0.4) + 0.6 * ks.Gaussian(0.7),
        ),
        (parse_kernel, "gaussian:1e+1+linear", ks.Gaussian(10.0) + ks.Linear()),
        (parse_kernel, "2e-1*matern32 + linear", 0.2 * ks.Matern32() + ks.Linear()),
        (parse_basis, "ald", ks.ALD()),
        (parse_basis, "ald:1e-3,max_size=200", ks.ALD(1e-3, 200)),
        (parse_basis, "all-points", ks.AllPoints()),
        (parse_basis, "noisy-points:0.2,max_size=9", ks.NoisyPoints(0.2, 9)),
        (parse_learner, "interpolation", ks.Interpolation()),
        (parse_basis, "first_points:50", ks.FirstPoints(50)),
        (parse_basis, "first-points:50,rank=10", ks.FirstPoints(50, rank=10)),
        (parse_basis, "kors:0.5,random_state=3", ks.KORS(0.5, random_state=3)),
        (parse_basis, "taylor:3", ks.Taylor(3)),
        (parse_basis, "fourier:100,normalized=false", ks.Fourier(100, normalized=False)),
        (parse_learner, "ridge:1,history=reservoir", ks.Ridge(1.0, history="reservoir")),
        (parse_learner, "ridge:1e-2", ks.Ridge(1e-2)),
        (
            parse_learner,
            "ridge:0.1,forgetting=0.99,center=false,clip=False,prediction=awv",
            ks.Ridge(0.1, 0.99, False, False, "awv"),
        ),
        (
            parse_learner,
            "gradient:0.3,loss=huber:1.5,schedule=power:100:0.5,averaging=true",
            ks.Gradient(
                {"huber": 1.5},
                0.3,
                {"power": {"half_life": 100.0, "exponent": 0.5}},
                averaging=True,
            ),
        ),
        (
            parse_learner,
            "gradient:schedule=adaptive,step=none,radius=2",
            ks.Gradient(step=None, schedule="adaptive", radius=2.0),
        ),
        (parse_learner, "gradient:0.3", ks.Gradient(step=0.3)),
        (parse_learner, "online-newton:1,bound=2", ks.OnlineNewton(1.0, 2.0)),
        (parse_learner, "ridge:0.1,prediction=awv", ks.Ridge(0.1, prediction="awv")),
        (parse_learner, "budgeted_gradient:0.3", ks.BudgetedGradient(step=0.3)),
        (parse_basis, "ald:1e-3,loss_driven=true", ks.ALD(1e-3, loss_driven=True)),
    ],
)
def test_what_is_understood(parse, text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("parse", "text", "complaint"),
    [
        (
            parse_kernel,
            "gausian:8",
            r"unknown kernel 'gausian' \(did you mean 'gaussian'\?\); known: ",
        ),
        (parse_kernel, "", "unknown kernel ''; known: gaussian, "),
        (
            parse_kernel,
            "gaussian:8,width=2",
            "unknown parameter of gaussian 'width' .*known: bandwidth",
        ),
        (parse_kernel, "gaussian:8,2", "'2' in 'gaussian:8,2' should read name=value"),
        (parse_kernel, "gaussian:-8", "bandwidth"),
        (parse_kernel, "gaussian:inf", "finite"),
        (parse_kernel, "gaussian:wide", "gaussian:wide"),
        (parse_kernel, "half*gaussian:8", "'half' in .* is not a weight"),
        (parse_kernel, "gaussian:8+", "unknown kernel ''"),
        (parse_kernel, "gaussian@1:x", "'1:x' in 'gaussian@1:x' should be one number for each"),
        (parse_kernel, "gaussian@inf", "finite"),
        (parse_kernel, "linear:3", "'3' in 'linear:3' should read|none"),
        (parse_basis, "adl", "did you mean 'ald'"),
        (parse_basis, "ald:2", "tolerance"),
        (parse_learner, "ridge:x=1", "unknown parameter of ridge 'x'"),
        (
            parse_learner,
            "gaussian",
            r"unknown learner 'gaussian'.*known: ridge, gradient, gauss_newton",
        ),
    ],
)
def test_what_is_not(parse, text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse(text)
