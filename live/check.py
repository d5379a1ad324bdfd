"""Compares the live page's figures with Python's: both are the same crate.

python live/check.py WASM
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import kernelstream as ks

HERE = Path(__file__).parent


def figures(points, x, states, at):
    """Figures of the page, by the Python package."""
    curve = ks.KernelRegressor(
        ks.Gaussian(0.63), ks.ALD(1e-3, max_size=200), ks.Ridge(0.1)
    ).partial_fit(points[:, :1], points[:, 1])
    motion = ks.Koopman(ks.Gaussian(0.35), ks.ALD(1e-2, max_size=200), ks.Ridge(0.1))
    for trajectory in states:
        motion.partial_fit_trajectory(trajectory)
    values = motion.eigenvalues_
    return {
        "curve": curve.predict(x[:, None]),
        "stored": curve.n_stored_,
        "eigenvalues": np.column_stack([values.real, values.imag]).ravel(),
        "forecast": motion.predict(at[None], range(1, 21)).ravel(),
    }


def main():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, 1000)
    given = {
        "points": np.column_stack([x, np.sin(1.3 * x) + 0.15 * rng.normal(size=x.size)]),
        "x": np.linspace(0, 10, 101),
        "states": [_thrown(rng.uniform(-1.5, 1.5, 2)) for _ in range(40)],
        "at": np.array([0.3, 0.9]),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.json"
        path.write_text(json.dumps(given, default=np.ndarray.tolist))
        command = ["node", str(HERE / "check.mjs"), sys.argv[1], str(path)]
        said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    for name, expected in figures(**given).items():
        far = float(np.max(np.abs(np.asarray(said[name]) - expected)))
        print(f"{name}: {np.size(expected)} numbers, largest difference {far:.1e}")
        if far >= 1e-9:
            sys.exit(f"{name} of the page is not what Python says")


def _thrown(state):
    """A ball with friction in two valleys, 30 steps of 0.2."""
    states = [state]
    for _ in range(29):
        x, v = states[-1]
        for _ in range(20):
            x, v = x + 0.01 * v, v + 0.01 * (x - x**3 - 0.5 * v)
        states.append(np.array([x, v]))
    return np.array(states)


if __name__ == "__main__":
    main()
