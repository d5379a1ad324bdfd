"""The number of threads that predict: settable, respected, and without influence on the numbers."""

import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import kernelstream as ks

VARIABLE = "KERNELSTREAM_NUM_THREADS"


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    ks.set_num_threads(None)


def fitted() -> tuple[ks.KernelRegressor, ks.Koopman, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (3_000, 3))
    model = ks.KernelRegressor(basis=ks.ALD(1e-3, max_size=50), scale=False).fit(
        X, np.sin(X.sum(axis=1))
    )
    koopman = ks.Koopman(basis=ks.ALD(1e-2, max_size=50)).fit(X, 0.9 * X)
    return model, koopman, X


def test_numbers_are_the_same_for_any_count() -> None:
    model, koopman, X = fitted()

    def predictions(n: int) -> list[bytes]:
        ks.set_num_threads(n)
        assert ks.get_num_threads() == n
        arrays = (model.predict(X), model.transform(X), koopman.predict(X, 2), koopman.transform(X))
        return [np.ascontiguousarray(array).tobytes() for array in arrays]

    one = predictions(1)
    assert all(predictions(n) == one for n in (2, 3, 5))


@pytest.mark.parametrize("order", ["shuffled", "sorted"])
@pytest.mark.parametrize("kind", ["regressor", "newton", "operator"])
def test_large_models_learn_the_same_bits(kind: str, order: str) -> None:
    """Products of 900 points are divided among threads, and have the bits of one."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (1_500, 6))
    X = X[np.argsort(X[:, 0])] if order == "sorted" else X
    basis = ks.ALD(1e-6, max_size=900)

    def learned(n: int) -> bytes:
        ks.set_num_threads(n)
        kernel = ks.Gaussian(0.3)
        if kind == "operator":
            operator = ks.Koopman(kernel, basis, scale=False)
            return operator.partial_fit(X[:1_100], 0.9 * X[:1_100])._core.to_bytes()
        if kind == "regressor":
            model = ks.KernelRegressor(kernel, basis, scale=False)
            model.partial_fit(X, np.sin(X.sum(axis=1)))
            return model._core.to_bytes()
        classifier = ks.KernelClassifier(kernel, basis, scale=False)
        classifier.partial_fit(X, X.sum(axis=1) > 0.0, classes=[False, True])
        return classifier._core.to_bytes()

    one = learned(1)
    assert all(learned(n) == one for n in (2, 3))


@pytest.mark.parametrize("n", [0, -1, 1025])
def test_impossible_counts_are_refused(n: int) -> None:
    before = ks.get_num_threads()
    with pytest.raises(ValueError, match="from 1 to 1024"):
        ks.set_num_threads(n)
    assert ks.get_num_threads() == before


def count_with(value: str | None) -> int:
    """The number of threads of a process that has this in its environment."""
    program = "import kernelstream as ks; print(ks.get_num_threads())"
    environment = {name: given for name, given in os.environ.items() if name != VARIABLE}
    if value is not None:
        environment[VARIABLE] = value
    outcome = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    return int(outcome.stdout)


def test_the_environment_sets_the_count() -> None:
    assert count_with("3") == 3
    default = count_with(None)
    assert 1 <= default <= (os.cpu_count() or 1)
    # What is no count counts for nothing.
    assert [count_with(value) for value in ("nonsense", "0")] == [default, default]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux to bind a process")
def test_the_default_is_the_number_of_processors_at_hand() -> None:
    program = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import kernelstream as ks
print(ks.get_num_threads())
"""
    environment = {name: given for name, given in os.environ.items() if name != VARIABLE}
    outcome = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert int(outcome.stdout) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_has_threads_of_its_own() -> None:
    # In a process of its own: a fork of the tests' process, which has threads, would warn.
    program = """
import os
import numpy as np
import kernelstream as ks
X = np.random.default_rng(0).uniform(-1.0, 1.0, (3_000, 3))
model = ks.KernelRegressor().fit(X, X.sum(axis=1))
ks.set_num_threads(2)
before = model.predict(X)
child = os.fork()
if child == 0:
    os._exit(0 if (model.predict(X) == before).all() else 1)
raise SystemExit(os.waitpid(child, 0)[1])
"""
    outcome = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
