"""Expressions as users write them: those a type checker must accept, and those it must reject.

`make lint` runs mypy on this file, strictly: it also objects to an ignored error that is none.
"""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import kernelstream as ks
from kernelstream.components.kernels import Product, Sum

X, y = np.zeros((4, 2)), np.arange(4.0)

# Kernels add up and take weights, on either side.
mixed = 0.4 * ks.Gaussian() + 0.6 * ks.Gaussian()
assert_type(mixed, Sum)
assert_type(np.float64(0.5) * ks.Matern32(2.0) + ks.Linear() * 2, Sum)
ks.Gaussian() + 1  # type: ignore[operator]
assert_type(ks.Gaussian() * ks.Gaussian(), Product)
assert_type((ks.Gaussian() + ks.Linear()) * ks.Linear() + ks.Matern32(), Sum)
ks.Gaussian() * "2"  # type: ignore[operator]
"0.4" * ks.Gaussian()  # type: ignore[operator]
ks.Gaussian("wide")  # type: ignore[arg-type]
ks.Gaussian(width=1.0)  # type: ignore[call-arg]
assert_type(0.5 * ks.Mapped(ks.ManhattanLaplacian(3.0), np.ones(2)), Sum)
ks.Mapped([1.0, 2.0], ks.Gaussian())  # type: ignore[arg-type]

# Every part in its place.
model = ks.KernelRegressor(mixed, ks.ALD(1e-3, max_size=None), ks.Ridge(1e-2, prediction="awv"))
ks.KernelRegressor(ks.Ridge())  # type: ignore[arg-type]
ks.KernelRegressor(kernel="gaussian")  # type: ignore[arg-type]
ks.KernelClassifier(learner=ks.ALD())  # type: ignore[arg-type]
ks.Koopman(basis=ks.HilbertSchmidt(0.01), learner=ks.Gradient(step=0.3))
ks.Koopman(basis=ks.Ridge())  # type: ignore[arg-type]
ks.Ridge(prediction="forecast")  # type: ignore[arg-type]
ks.ALD(tolerence=1e-3)  # type: ignore[call-arg]
ks.KernelClassifier(class_weight={"rare": 5.0}, loss={"huber": 1.0})
ks.KernelClassifier(class_weight=5)  # type: ignore[arg-type]
ks.KernelExperts([ks.KernelRegressor(ks.Gaussian(1.0))], mixture="fixed_share")
ks.KernelExperts(mixture="mean")  # type: ignore[arg-type]

# What is learned, and what comes out.
assert_type(model.fit(X, y), ks.KernelRegressor)
assert_type(model.set_params(kernel__bandwidth=2.0), ks.KernelRegressor)
assert_type(model.set_output(transform="pandas"), ks.KernelRegressor)
assert_type(model.partial_fit_predict(X, y), NDArray[np.float64])
assert_type(model.score(X, y), float)
assert_type(ks.KernelClassifier().predict_proba(X), NDArray[np.float64])
assert_type(ks.Koopman().partial_fit(X, X_next=X).eigenvalues_, NDArray[np.complex128])
model.fitt(X, y)  # type: ignore[attr-defined]
model.partial_fit(X, y, classes=[1, 2])  # type: ignore[call-arg]
model.predict_proba(X)  # type: ignore[attr-defined]

# Model files: what all can do, or the class's own.
loaded = ks.load("any.model").partial_fit(X, y)
assert_type(loaded.n_seen_, int)
loaded.predict(X).mean()
print(loaded.eigenvalues_)  # type: ignore[attr-defined]
assert_type(ks.Koopman.load("koopman.model"), ks.Koopman)
if isinstance(loaded, ks.KernelClassifier):
    loaded.predict_proba(X)
