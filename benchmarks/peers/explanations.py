"""Exact contributions of columns beside the explainers of the package shap: time and error.

python benchmarks peers explanations      # needs shap for the comparison
"""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import kernelstream as ks

ROWS, COLUMNS, POINTS, BACKGROUND = 1_000, 12, 300, 100

Values = NDArray[np.float64]


def timed(name: str, rows: int, explain: Callable[[], Values], exact: Values | None) -> Values:
    """Print seconds a row, and the error relative to exact values."""
    begin = time.perf_counter()
    values = explain()
    seconds = (time.perf_counter() - begin) / rows
    size = 1.0 if exact is None else np.sqrt(np.mean(exact[:rows] ** 2))
    error = 0.0 if exact is None else np.sqrt(np.mean((values - exact[:rows]) ** 2)) / size
    print(f"{name:32} {1e3 * seconds:10.2f} ms a row   relative error {error:.1e}")
    return values


def main() -> None:
    """Explain the same rows with all of them."""
    random = np.random.default_rng(0)
    X = random.normal(size=(4_000, COLUMNS))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * X[:, 3]
    basis = ks.ALD(1e-9, max_size=POINTS)
    model = ks.KernelRegressor(ks.Gaussian(3.0), basis, ks.Ridge(clip=False)).fit(X, y)
    background = X[2_000 : 2_000 + BACKGROUND]
    exact = timed("exact", ROWS, lambda: model.explain(X[:ROWS], background).values, None)

    def sampled() -> Values:
        return model.explain(X[:50], background, method="sampling").values

    timed("sampled", 50, sampled, exact)
    try:
        import shap  # noqa: PLC0415 (optional)
    except ImportError:
        print("shap is not installed: pip install shap")
        return
    for evaluations in (2 * COLUMNS + 1, 10 * (2 * COLUMNS) + 1):
        explainer = shap.PermutationExplainer(model.predict, background)
        explainer(X[:1], silent=True)

        def permuted(explainer=explainer, evaluations=evaluations) -> Values:
            return explainer(X[:20], max_evals=evaluations, silent=True).values

        timed(f"shap permutation, {evaluations} sets", 20, permuted, exact)
    kernel = shap.KernelExplainer(model.predict, background)
    timed("shap kernel", 5, lambda: kernel.shap_values(X[:5], silent=True), exact)
    whole = shap.ExactExplainer(model.predict, background)
    timed("shap exact", 3, lambda: whole(X[:3], silent=True).values, exact)
