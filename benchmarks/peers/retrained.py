"""Batch learners on a stream: retrained on all rows so far when these have grown by a quarter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from experts.boosting import trainings
from streams import FloatArray

FIRST = 300

# Learns rows and their targets, and returns what predicts other rows.
Fit = Callable[[FloatArray, FloatArray], Callable[[FloatArray], FloatArray]]


def prequential(fit: Fit, X: FloatArray, y: FloatArray) -> FloatArray:
    """Predictions of every row by the latest model; zero for the first 300."""
    predictions = np.zeros(len(y))
    for start, stop in trainings(len(y), FIRST):
        predictions[start:stop] = fit(X[:start], y[:start])(X[start:stop])
    return predictions


def estimator(make: Callable[[], Any]) -> Fit:
    """A regressor with the methods of scikit-learn's."""

    def fit(X: FloatArray, y: FloatArray) -> Callable[[FloatArray], FloatArray]:
        return make().fit(X, y).predict

    return fit


def lightgbm() -> Any:
    from lightgbm import LGBMRegressor  # noqa: PLC0415  (an optional package)

    return LGBMRegressor(n_jobs=1, verbose=-1, random_state=0)


def catboost() -> Any:
    from catboost import CatBoostRegressor  # noqa: PLC0415

    return CatBoostRegressor(
        thread_count=1, random_seed=0, verbose=False, allow_writing_files=False
    )


def histogram_boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415

    return HistGradientBoostingRegressor(random_state=0)


def held_out(X: FloatArray, y: FloatArray) -> Any:
    """Tensors of the rows to learn and of every fifth, with which their learner selects."""
    import torch  # noqa: PLC0415

    torch.manual_seed(0)
    torch.set_num_threads(1)
    inputs = torch.tensor(X, dtype=torch.float32)
    targets = torch.tensor(y, dtype=torch.float32)[:, None]
    chosen = torch.arange(len(y)) % 5 == 0
    return inputs[~chosen], targets[~chosen], inputs[chosen], targets[chosen]


def numbers(model: Any) -> Callable[[FloatArray], FloatArray]:
    def predict(X: FloatArray) -> FloatArray:
        return np.asarray(model.predict(X.astype(np.float32)), dtype=np.float64).reshape(-1)

    return predict


def xrfm(X: FloatArray, y: FloatArray) -> Callable[[FloatArray], FloatArray]:
    from xrfm import xRFM  # noqa: PLC0415

    model = xRFM(device="cpu", tuning_metric="mse", random_state=0, n_threads=1, verbose=False)
    return numbers(model.fit(*held_out(X, y)))


# Modules that a learner needs, and the learner, with its defaults.
PACKAGES: dict[str, tuple[tuple[str, ...], Fit]] = {
    "scikit-learn HistGradientBoosting": (("sklearn",), estimator(histogram_boosting)),
    "LightGBM": (("lightgbm",), estimator(lightgbm)),
    "CatBoost": (("catboost",), estimator(catboost)),
    "xRFM": (("xrfm", "torch"), xrfm),
}
