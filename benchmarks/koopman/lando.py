"""The Lorenz system's right-hand side, learned in order, beside PyDMD's LANDO.

10,000 states of one trajectory with their exact derivatives, a quadratic kernel, and the relative
error of the derivatives (Baddoo, Herrmann, McKeon and Brunton, "Kernel learning for robust dynamic
mode decomposition", 2022). LANDO's tolerance of 1e-6 is absolute, beside similarities of 1e6:
relative to them it is 1e-12.

    python benchmarks koopman lando
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time

import numpy as np
from scipy.integrate import solve_ivp

import kernelstream as ks

try:
    from pydmd import LANDO
except ImportError:
    LANDO = None


def field(_, s):
    return [10.0 * (s[1] - s[0]), s[0] * (28.0 - s[2]) - s[1], s[0] * s[1] - 8.0 / 3.0 * s[2]]


def trajectory(n: int = 10_000, dt: float = 1e-3):
    """States in order, and their derivatives."""
    t = dt * np.arange(n)
    solved = solve_ivp(field, (0.0, t[-1]), [-8.0, 8.0, 27.0], "LSODA", t, rtol=1e-12, atol=1e-12)
    return solved.y.T, np.array([field(0.0, s) for s in solved.y.T])


def error(made, exact) -> float:
    return float(np.linalg.norm(made - exact) / np.linalg.norm(exact))


def learned(X, Y, tolerance: float, history: str = "none", scale: bool = True):
    learner = ks.Ridge(1e-8, clip=False, history=history)
    kernel = ks.Polynomial(2, scale=1.0, offset=1.0)
    return ks.KernelRegressor(kernel, ks.ALD(tolerance), learner, scale=scale).partial_fit(X, Y)


def main() -> None:
    """Print a line for each method."""
    X, Y = trajectory()
    print("| method | points | error | seconds |\n|---|---|---|---|")
    for tolerance, history, scale in (
        (1e-6, "none", True),
        (1e-12, "none", True),
        (1e-12, "none", False),
        (1e-6, "exact", True),
    ):
        start = time.perf_counter()
        model = learned(X, Y, tolerance, history, scale)
        seconds = time.perf_counter() - start
        name = f"ALD({tolerance}), history={history}, scale={scale}"
        made = error(model.predict(X), Y)
        print(f"| {name} | {model.n_stored_} | {made:.1e} | {seconds:.1f} |")
    if LANDO is None:
        print("(PyDMD is not installed)")
        return
    start = time.perf_counter()
    parameters = {"degree": 2, "coef0": 1.0, "gamma": 1.0}
    lando = LANDO(3, kernel_metric="poly", kernel_params=parameters, dict_tol=1e-6, permute=False)
    lando.fit(X.T, Y.T)
    seconds = time.perf_counter() - start
    points = lando.sparse_dictionary.shape[1]
    print(f"| PyDMD LANDO | {points} | {error(lando.f(X.T).T, Y):.1e} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
