"""What merging costs and loses: the lines of "What it costs" in docs/merging.md.

python benchmarks speed merging                  # tables, times, threads: a few minutes
python benchmarks speed merging cluster 1e8      # this many rows on a cluster of two processes
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from copy import deepcopy
from pathlib import Path

import numpy as np
from sklearn.base import clone

import kernelstream as ks
from kernelstream import datasets, distributed

DATA = Path(os.environ.get("KERNELSTREAM_DATA", Path(__file__).parents[3] / "shared" / "data"))
TABLES = ("elevators_raw", "cal_housing", "cpusmall")
ROWS_OF_PART = 1_000_000


def parts_of(rows, way):
    """Indices of the rows of eight parts."""
    order = np.arange(len(rows)) if way == "shuffled" else np.argsort(rows[:, 0], kind="stable")
    return np.array_split(order, 8)


def standardized(name):
    """Rows to learn and rows to predict of a table, as X, y, X_test, y_test."""
    with np.load(DATA / f"{name}.npz") as data:
        X, y = data["X"], data["y"].ravel()
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    n = int(0.8 * len(X))
    return X[:n], (y[:n] - y.mean()) / y.std(), X[n:], (y[n:] - y.mean()) / y.std()


def losses():
    """Squared error over variance on rows not learned: one stream, parts merged, two rounds."""
    print("| table | parts | one stream | parts merged | with a reservoir | two rounds |")
    print("|---|---|---|---|---|---|")
    # Each with its number of points.
    for name in TABLES:
        X, y, X_test, y_test = standardized(name)
        basis = ks.ALD(1e-3, max_size=None)
        kernel = ks.Gaussian(3 * X.shape[1] ** 0.5)
        model = ks.KernelRegressor(kernel, basis, ks.Ridge(1e-2), scale=False)
        holding = ks.KernelRegressor(
            kernel, basis, ks.Ridge(1e-2, history="reservoir"), scale=False
        )

        def error(fitted, X_test=X_test, y_test=y_test):
            return 1 - fitted.score(X_test, y_test)

        one = clone(model).fit(X, y)
        for way in ("shuffled", "sorted"):
            pieces = [(X[rows], y[rows]) for rows in parts_of(X, way)]
            joined, held = (
                clone(each).merge(*(clone(each).fit(*piece) for piece in pieces))
                for each in (model, holding)
            )
            rounds = distributed.fit(clone(model), pieces)
            said = [f"{error(each):.4f} ({each.n_stored_})" for each in (one, joined, held, rounds)]
            print(f"| {name} | {way} | {' | '.join(said)} |", flush=True)


def alanine():
    """Three runs of alanine dipeptide as sines and cosines of its angles, and eight pieces."""
    with np.load(DATA / "alanine_dipeptide_dihedrals.npz") as data:
        angles = data["trajectory"].astype(np.float64)
    runs = np.concatenate([np.cos(angles), np.sin(angles)], axis=-1)
    cuts = zip(runs, (3, 3, 2), strict=True)
    return list(runs), [piece for run, parts in cuts for piece in np.array_split(run, parts)]


def spectra():
    """Eigenvalues of one stream and of eight parts merged, in standard errors of the former."""
    process = datasets.ornstein_uhlenbeck(100_000, theta=1.0, tau=0.5, random_state=0).trajectories
    systems = {
        "Ornstein-Uhlenbeck": (1.0, list(process), np.array_split(process[0], 8)),
        "alanine dipeptide": (1e-3, *alanine()),
    }
    print("| system | eigenvalue | one stream | parts merged | standard error |")
    print("|---|---|---|---|---|")
    for name, (regularization, whole, pieces) in systems.items():
        basis, learner = ks.ALD(1e-2), ks.Ridge(regularization)
        model = ks.Koopman(ks.Gaussian(1.0), basis, learner, n_blocks=32)
        one = clone(model).fit(whole)
        merged = clone(model).merge(*(clone(model).fit(piece) for piece in pieces))
        for j in range(1, 4):
            values = [each.eigenvalues_[j].real for each in (one, merged)]
            line = [name if j == 1 else "", j + 1, *(f"{value:.4f}" for value in values)]
            print(f"| {' | '.join(map(str, line))} | {one.eigenvalue_errors_[j]:.4f} |", flush=True)


def stored(m, seed, width=8):
    """A model with m points that has learned some rows."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(2 * m, width))
    model = ks.KernelRegressor(
        ks.Gaussian(0.5), ks.ALD(1e-6, max_size=m), ks.Ridge(1e-2), scale=False
    )
    return model.fit(X, np.sin(X.sum(axis=1)))


def fastest(act, times=5, clock=time.perf_counter):
    """Seconds that the fastest of some calls takes."""
    taken = []
    for _ in range(times):
        start = clock()
        act()
        taken.append(clock() - start)
    return min(taken)


def merges():
    """Time of a merge, of the processor and elapsed, and bytes of a part."""
    print("| m | merge, one dictionary | merge, two dictionaries | elapsed | bytes of a part |")
    print("|---|---|---|---|---|")
    for m in (30, 100, 256, 500):
        one, other = stored(m, 0), stored(m, 1)
        frozen = stored(m, 0).freeze_dictionary()
        rng = np.random.default_rng(2)
        X = rng.uniform(-1, 1, size=(m, 8))
        halves = [deepcopy(frozen).partial_fit(X, X[:, 0]) for _ in range(2)]
        alike = merged(halves[0], halves[1], time.process_time)
        unlike = merged(one, other, time.process_time)
        elapsed = merged(one, other, time.perf_counter)
        print(
            f"| {m} | {1e3 * alike:.1f} ms | {1e3 * unlike:.1f} ms | {1e3 * elapsed:.1f} ms | "
            f"{len(pickle.dumps(one)):,} |",
            flush=True,
        )


def merged(one, other, clock):
    """Seconds that the fastest of ten merges takes."""
    clones = [deepcopy(one) for _ in range(10)]
    return fastest(lambda: clones.pop().merge(other), times=10, clock=clock)


def rates():
    """Time of a row in the second round, of the processor."""
    print("| m | a row |\n|---|---|")
    X = np.random.default_rng(0).uniform(-1, 1, size=(50_000, 8))
    for m in (30, 100, 256, 500):
        begun = stored(m, 0).freeze_dictionary()
        taken = fastest(
            lambda begun=begun: begun.partial_fit(X, X[:, 0]), times=2, clock=time.process_time
        )
        print(f"| {m} | {1e6 * taken / len(X):.1f} us |", flush=True)


def threads():
    """Time of one thread and of two, of the processor, so that others at work do not count."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300_000, 4))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    model = ks.KernelRegressor(
        ks.Gaussian(0.7), ks.ALD(1e-6, max_size=256), ks.Ridge(1e-2), scale=False
    )

    def learned(n_jobs):
        return distributed.fit(clone(model), X, y, n_jobs=n_jobs)

    def first_round():
        return distributed.begin(model, [distributed.sample(model, (X, y), 10_000)])

    acts = (lambda: learned(1), lambda: learned(2), first_round)
    one, two, first = (fastest(act, times=1, clock=time.process_time) for act in acts)
    print(
        f"{len(X):,} rows, m = 256: {one:.1f} s on one thread, {two:.1f} s on two together, "
        f"{first:.1f} s of them on one alone: {one / (first + (two - first) / 2):.2f} times as fast"
    )


def drawn(seed, n):
    """Rows of a part, made where they are learned."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n)


def cluster(n_rows):
    """Two processes of Dask, of which one is killed in the middle the second time."""
    from dask import delayed  # noqa: PLC0415 (optional)
    from dask.distributed import Client, LocalCluster  # noqa: PLC0415

    model = ks.KernelRegressor(
        ks.Gaussian(0.7), ks.ALD(1e-3, max_size=30), ks.Ridge(1e-2), scale=False
    )
    n_parts = max(n_rows // ROWS_OF_PART, 2)
    parts = [delayed(drawn, pure=True)(seed, n_rows // n_parts) for seed in range(n_parts)]
    alone = fastest(lambda: clone(model).fit(*drawn(0, n_rows // n_parts)), times=2)
    made, taken = {}, 0.0
    X, _ = drawn(n_parts, 1000)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers,
        Client(workers) as client,
    ):
        for way in ("as it is", "a worker killed"):
            start = time.perf_counter()
            if way != "as it is":
                client.loop.call_later(0.4 * taken, workers.workers[0].kill)
            made[way] = distributed.fit(clone(model), parts).predict(X)
            taken = time.perf_counter() - start
            print(
                f"{n_rows:,} rows in {n_parts} parts on two processes, {way}: {taken:.1f} s; one "
                f"process needs {alone * n_parts:.1f} s for them, half is {alone * n_parts / 2:.1f}"
            )
    print(f"largest difference: {np.abs(made['as it is'] - made['a worker killed']).max():.1e}")


def main():
    if sys.argv[1:2] == ["cluster"]:
        cluster(int(float(sys.argv[2])))
        return
    losses()
    spectra()
    merges()
    rates()
    threads()
