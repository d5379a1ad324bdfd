"""Linear systems under process noise: `Koopman()` beside least squares with a constant.

Each system x' = A x + noise has a random matrix A with largest modulus .98. Figures are root mean
square errors one step ahead on 300 later states, as shares of the deviation of the noise, and how
often an affine kernel is selected. The nonlinear systems are x' = sin(.9 a Q x) / a + noise with a
random orthogonal Q.

    python benchmarks koopman linear_noise [--seeds N]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from report import Report
from streams import FloatArray

import kernelstream as ks

LATER, NOISE = 300, 0.3
SIZES = ((5, 300), (10, 300), (10, 1000), (20, 300), (20, 2000), (40, 1500))


def drawn(d: int, n: int, seed: int, bend: float) -> FloatArray:
    """States (n + LATER, d)."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    if bend:
        A = 0.9 * np.linalg.qr(A)[0]
    else:
        A *= 0.98 / np.abs(np.linalg.eigvals(A)).max()
    states = np.zeros((n + LATER, d))
    for t in range(1, len(states)):
        ahead = A @ states[t - 1]
        ahead = np.sin(bend * ahead) / bend if bend else ahead
        states[t] = ahead + NOISE * rng.normal(size=d)
    return states


def errors(states: FloatArray) -> tuple[float, float, bool]:
    """Errors of `Koopman()` and of least squares, and whether the kernel is affine."""
    seen, later = states[:-LATER], states[-LATER:]

    def with_constant(x: FloatArray) -> FloatArray:
        return np.column_stack([np.ones(len(x)), x])

    matrix = np.linalg.lstsq(with_constant(seen[:-1]), seen[1:], rcond=None)[0]
    model = ks.Koopman().fit(seen)
    made = (model.predict(later[:-1]), with_constant(later[:-1]) @ matrix)
    own, linear = (float(np.sqrt(np.mean((m - later[1:]) ** 2))) / NOISE for m in made)
    return own, linear, isinstance(model.chosen_["kernel"], ks.Polynomial)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    warnings.simplefilter("ignore", ks.exceptions.KernelstreamWarning)
    report = Report("linear_noise")
    report.heading(f"Errors one step ahead over the noise, {given.seeds} seeds")
    rows = []
    for bend in (0.0, 1.0, 3.0):
        for d, n in SIZES:
            found = np.array([errors(drawn(d, n, seed, bend)) for seed in range(given.seeds)])
            own, linear, affine = found.mean(axis=0)
            name = f"sin, a = {bend:g}" if bend else "linear"
            largest = found[:, 0].max()
            rows.append(
                [
                    name,
                    str(d),
                    f"{n:,}",
                    f"{own:.2f}",
                    f"{largest:.2f}",
                    f"{linear:.2f}",
                    f"{affine:.0%}",
                ]
            )
            report.remark(" | ".join(rows[-1]))
    heads = ["system", "components", "states", "Koopman()", "largest", "least squares", "affine"]
    report.table(heads, rows)
    report.write()
