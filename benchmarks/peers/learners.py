"""The learners that tables.py compares on streams of rows: kernelstream, and other packages.

A package that is not installed has no entries, and is named by `missing()`. Programs are compiled
by ``make peers``: irithyll by cargo, dlib from dlib_krls.cpp if its headers are found (Debian:
libdlib-dev).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from peers import retrained
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDRegressor
from sklearn.neural_network import MLPRegressor
from streams import FloatArray

import kernelstream as ks

try:
    from river import (
        ensemble,
        feature_extraction,
        forest,
        linear_model,
        neighbors,
        optim,
        preprocessing,
        tree,
    )
except ImportError:
    forest = None

FOLDER = Path(__file__).resolve().parent
CHUNK = 100
FEATURES = 300
ONE, CHUNKS, MANY = "one row per call", f"{CHUNK} rows per call", "many rows per call"
RETRAINED = "retrained"


class Timed(NamedTuple):
    """Predictions of another program, and its processor time."""

    predictions: FloatArray
    seconds: float


class Peer(Protocol):
    """Predicts a stream, given the warm-up rows."""

    def __call__(self, warm_up: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray | Timed: ...


@dataclass(frozen=True)
class Entry:
    """A learner of the stream, called with one row, with chunks, or with all rows."""

    name: str
    fed: str
    run: Peer
    ours: bool = False
    slow: bool = False

    @property
    def threaded(self) -> bool:
        """Whether it can use several threads."""
        return self.fed == CHUNKS or (self.ours and self.fed == MANY)


def gamma_of(X: FloatArray) -> float:
    """The default bandwidth of kernelstream as scikit-learn's gamma."""
    return 1.0 / (2.0 * X.shape[1])


# ------------------------------------------------------------------------------------- kernelstream


def begun(model: ks.KernelRegressor | None, X: FloatArray) -> ks.KernelRegressor:
    """A copy, or for None the grid of experts that suits these columns."""
    if model is None:
        return ks.KernelExperts(ks.presets.bandwidth_grid(X.shape[1]), scale=False)
    return clone(model)


def in_one_call(model: ks.KernelRegressor | None) -> Peer:
    return lambda _, X, y: begun(model, X).partial_fit_predict(X, y)


def row_by_row(model: ks.KernelRegressor | None) -> Peer:
    def run(_: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        live = begun(model, X)
        predictions = np.zeros(len(y))
        for t, target in enumerate(y.tolist()):
            if t:
                predictions[t] = live.predict_one(X[t])
            live.learn_one(X[t], target)
        return predictions

    return run


def ours() -> list[Entry]:
    models: list[tuple[str, ks.KernelRegressor | None]] = [
        (
            f"ridge, at most {most} points",
            ks.KernelRegressor(basis=ks.ALD(1e-3, max_size=most), scale=False),
        )
        for most in (3, 6, 12, 25, 50, 100, 200)
    ]
    models += [
        ("ridge, linear kernel", ks.KernelRegressor(ks.Linear(), scale=False)),
        ("20 experts", None),
        ('KernelExperts(effort="low")', ks.KernelExperts(effort="low")),
        ("KernelExperts()", ks.KernelExperts()),
    ]
    return [
        Entry(name, fed, run(model), ours=True)
        for name, model in models
        for fed, run in ((MANY, in_one_call), (ONE, row_by_row))
    ]


# ------------------------------------------------------------------------------------- scikit-learn

Features = Callable[[float], Any]

STEPS: tuple[dict[str, Any], ...] = (
    {},
    {"learning_rate": "constant", "eta0": 0.01},
    {"learning_rate": "constant", "eta0": 0.1},
    {"learning_rate": "constant", "eta0": 0.5},
    # Passive-aggressive.
    {"learning_rate": "pa1", "eta0": 0.1, "loss": "epsilon_insensitive"},
)


def in_chunks(make: Callable[[], Any], features: Features | None, chunk: int) -> Peer:
    """A learner of features that are fitted to the warm-up rows (None: the columns)."""

    def run(warm_up: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        feature_map = None if features is None else features(gamma_of(X)).fit(warm_up)
        model = make()
        predictions = np.zeros(len(y))
        for start in range(0, len(y), chunk):
            rows = slice(start, start + chunk)
            Z = X[rows] if feature_map is None else feature_map.transform(X[rows])
            if start:
                predictions[rows] = model.predict(Z)
            model.partial_fit(Z, y[rows])
        return predictions

    return run


def fourier(gamma: float) -> Any:
    return RBFSampler(gamma=gamma, n_components=FEATURES, random_state=0)


def nystroem(gamma: float) -> Any:
    return Nystroem(gamma=gamma, n_components=FEATURES, random_state=0)


def sklearn_peers() -> Iterator[Entry]:
    fed = ((CHUNKS, CHUNK), (ONE, 1))
    for name, features in (
        ("SGD, linear", None),
        (f"RBFSampler({FEATURES}) + SGD", fourier),
        (f"Nystroem({FEATURES}) + SGD", nystroem),
    ):
        for calls, chunk in fed:
            for settings in STEPS:
                kind, size = settings.get("learning_rate", "default"), settings.get("eta0", "")
                step = f"{kind} {size}".strip()
                make = partial(SGDRegressor, random_state=0, **settings)
                run = in_chunks(make, features, chunk)
                yield Entry(f"scikit-learn {name} ({step})", calls, run, slow=chunk == 1)
    for calls, chunk in fed:
        for rate in (1e-3, 1e-2):
            make = partial(MLPRegressor, random_state=0, learning_rate_init=rate)
            run = in_chunks(make, None, chunk)
            yield Entry(f"scikit-learn MLPRegressor ({rate:g})", calls, run, slow=chunk == 1)


# -------------------------------------------------------------------------------------------- river


def river_model(make: Callable[[], Any]) -> Peer:
    def run(_: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        model = make()
        predictions = np.zeros(len(y))
        rows = [dict(enumerate(row)) for row in X.tolist()]
        for t, (x, target) in enumerate(zip(rows, y.tolist(), strict=True)):
            if t:
                predictions[t] = model.predict_one(x)
            model.learn_one(x, target)
        return predictions

    return run


def river_fourier() -> Any:
    sampler = feature_extraction.RBFSampler(gamma=1.0 / 36.0, n_components=FEATURES, seed=0)
    # It computes 300 features of each column: its default step of 0.01 diverges.
    linear = linear_model.LinearRegression(optimizer=optim.SGD(1e-4))
    return preprocessing.StandardScaler() | sampler | linear


def river_peers() -> list[Entry]:
    adaptive = partial(tree.HoeffdingAdaptiveTreeRegressor, seed=0)
    makers: list[tuple[str, Callable[[], Any], bool]] = [
        ("LinearRegression", linear_model.LinearRegression, False),
        (f"RBFSampler({FEATURES}) + LinearRegression", river_fourier, True),
        ("HoeffdingTreeRegressor", tree.HoeffdingTreeRegressor, False),
        ("HoeffdingAdaptiveTreeRegressor", adaptive, False),
        ("KNNRegressor", neighbors.KNNRegressor, True),
        ("ARFRegressor, 10 trees", partial(forest.ARFRegressor, seed=0), True),
        ("SRPRegressor, 10 trees", partial(ensemble.SRPRegressor, seed=0), True),
        ("AMFRegressor, 10 trees", partial(forest.AMFRegressor, seed=0), True),
        ("OXTRegressor, 10 trees", partial(forest.OXTRegressor, seed=0), True),
    ]
    return [
        Entry(f"river {name}", ONE, river_model(make), slow=slow) for name, make, slow in makers
    ]


# ---------------------------------------------------------------------------------------- online-cp


def conformal_ridge(_: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
    """Middles of the intervals, which are its predictions; infinite for the first 20 rows."""
    from online_cp import ConformalRidgeRegressor  # noqa: PLC0415  (an optional package)

    model = ConformalRidgeRegressor(a=1.0, warnings=False)
    predictions = np.zeros(len(y))
    for t, (x, target) in enumerate(zip(X, y.tolist(), strict=True)):
        interval, computed = model.predict(x, return_update=True)
        if np.isfinite(interval.lower + interval.upper):
            predictions[t] = 0.5 * (interval.lower + interval.upper)
        model.learn_one(x, target, computed)
    return predictions


def conformal_peers() -> list[Entry]:
    return [Entry("online-cp ConformalRidge", ONE, conformal_ridge, slow=True)]


# --------------------------------------------------------------------------------------- retrained


def retrained_on(fit: retrained.Fit, _: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
    return retrained.prequential(fit, X, y)


def retrained_peers(name: str, fit: retrained.Fit) -> list[Entry]:
    return [Entry(name, RETRAINED, partial(retrained_on, fit), slow=True)]


# -------------------------------------------------------------------------------- compiled programs


def program(path: Path, *numbers: object) -> Peer:
    """A program that reads rows from a file, and writes predictions and its processor time."""

    def run(_: FloatArray, X: FloatArray, y: FloatArray) -> Timed:
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder) / "rows"
            np.column_stack([X, y]).astype(np.float64).tofile(rows)
            values = [number(X) if callable(number) else number for number in numbers]
            command = [path, rows, *map(str, (len(y), X.shape[1], *values))]
            said = subprocess.run(command, check=True, capture_output=True, text=True)
            return Timed(np.fromfile(f"{rows}.out"), float(said.stdout.split()[0]))

    return run


def compiled_dlib() -> Path | None:
    compiler, target = shutil.which("g++"), Path(tempfile.gettempdir()) / f"dlib_krls_{os.getuid()}"
    source = FOLDER / "dlib_krls.cpp"
    if compiler is None:
        return None
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return target
    include = ["-I", os.environ["DLIB_INCLUDE"]] if "DLIB_INCLUDE" in os.environ else []
    build = [compiler, "-O3", "-march=native", "-std=c++17", "-DDLIB_NO_GUI_SUPPORT", *include]
    for blas in (["-lblas"], ["-DWITHOUT_BLAS"]):
        flags, link = (blas, []) if blas[0].startswith("-D") else ([], blas)
        command = [*build, *flags, str(source), "-o", str(target), *link]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return target
    return None


def dlib_program() -> Path | None:
    """dlib's learner, compiled once per run; None if dlib or a compiler is missing."""
    if "DLIB_KRLS" not in os.environ:  # which the processes of this run inherit
        os.environ["DLIB_KRLS"] = str(compiled_dlib() or "")
    return Path(os.environ["DLIB_KRLS"]) if os.environ["DLIB_KRLS"] else None


def dlib_peers() -> list[Entry]:
    path = dlib_program()
    assert path is not None
    return [
        Entry(f"dlib krls, at most {n} points", MANY, program(path, gamma_of, 1e-3, n))
        for n in (50, 200)
    ]


IRITHYLL = FOLDER / "irithyll" / "target" / "release" / "irithyll-stream"


def share_of(share: float) -> Callable[[FloatArray], float]:
    """A share of the default bandwidth of kernelstream."""
    return lambda X: share * float(np.sqrt(X.shape[1]))


def irithyll_peers() -> list[Entry]:
    learners: list[tuple[str, tuple[object, ...]]] = [
        *(
            (
                f"krls, at most {n} points (tolerance {tolerance:g})",
                ("krls", gamma_of, tolerance, n),
            )
            for n in (50, 200)
            for tolerance in (1e-3, 1e-2, 1e-1)
        ),
        *((f"linear ({rate:g})", ("linear", rate)) for rate in (1e-3, 1e-2)),
        *((f"rls (forgetting {factor:g})", ("rls", factor)) for factor in (0.99, 1)),
        ("polynomial of degree 2", ("polynomial", 2, 1)),
        *(
            (f"local, 1000 rows ({share} of our bandwidth)", ("local", 1000, share_of(share)))
            for share in (0.25, 0.5, 1.0)
        ),
        *((f"mondrian ({n} trees)", ("mondrian", n)) for n in (10, 100)),
        *((f"sgbt, 100 steps ({rate:g})", ("sgbt", 100, rate)) for rate in (0.0125, 0.1)),
        *((f"kan, 10 hidden ({rate:g})", ("kan", 10, rate)) for rate in (0.01, 0.1)),
    ]
    return [Entry(f"irithyll {name}", MANY, program(IRITHYLL, *what)) for name, what in learners]


# ---------------------------------------------------------------------------------------- everybody

# Whether a package is installed, and its entries.
PACKAGES: dict[str, tuple[bool, Callable[[], Iterable[Entry]]]] = {
    "scikit-learn": (True, sklearn_peers),
    "river": (forest is not None, river_peers),
    "dlib": (dlib_program() is not None, dlib_peers),
    "irithyll": (IRITHYLL.exists(), irithyll_peers),
    "online-cp": (find_spec("online_cp") is not None, conformal_peers),
    **{
        name: (all(map(find_spec, modules)), partial(retrained_peers, name, fit))
        for name, (modules, fit) in retrained.PACKAGES.items()
    },
}


def entries() -> list[Entry]:
    there = [list(make()) for installed, make in PACKAGES.values() if installed]
    return [*ours(), *chain.from_iterable(there)]


def missing() -> list[str]:
    return [name for name, (installed, _) in PACKAGES.items() if not installed]
