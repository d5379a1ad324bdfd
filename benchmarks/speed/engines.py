# ruff: noqa: PLC0415  (each engine is imported where it is measured)
"""The same rows by one process, threads, Dask, Spark and Ray: rows a second, error, and equality.

python benchmarks speed engines [rows]        all engines that are installed, on Parquet files
python benchmarks speed engines broker [n]    a Redis stream, with the consumer killed three times
python benchmarks speed engines many [rows]   rows made by part and not stored, on two Dask workers
"""

from __future__ import annotations

import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone

import kernelstream as ks
from kernelstream import distributed

COLUMNS = [f"x{i}" for i in range(8)]
N_FILES = 16
MODEL = ks.KernelRegressor(ks.Gaussian(3.0), ks.ALD(1e-2, max_size=300))


def rows_of(seed, n):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 8))
    return X, np.sin(X[:, 0]) * X[:, 1] + X[:, 2] / 2 + 0.1 * random.normal(size=n)


def write(folder, n):
    for i in range(N_FILES):
        X, y = rows_of(i, n // N_FILES)
        frame = pd.DataFrame(X, columns=COLUMNS).assign(y=y)
        frame.to_parquet(folder / f"{i:02}.parquet", index=False)


def by_threads(n_jobs):
    return lambda folder: distributed.fit(clone(MODEL), folder, "y", n_jobs=n_jobs)


def by_dask(n_workers):
    def run(folder):
        import dask.dataframe as dd

        return distributed.fit(clone(MODEL), dd.read_parquet(folder), "y")

    def started(folder, measure):
        from dask.distributed import Client

        with Client(n_workers=n_workers, threads_per_worker=1, dashboard_address=None):
            return measure(lambda: run(folder))

    return started


def by_spark(folder, measure):
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")
    spark = builder.config("spark.driver.memory", "1g").getOrCreate()
    try:
        rows = spark.read.parquet(str(folder))
        rows.count()
        return measure(lambda: distributed.fit(clone(MODEL), rows, "y"))
    finally:
        spark.stop()


def by_ray(folder, measure):
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False
        rows = ray.data.read_parquet(str(folder), override_num_blocks=N_FILES)
        return measure(lambda: distributed.fit(clone(MODEL), rows, "y"))
    finally:
        ray.shutdown()


def plain(run):
    return lambda folder, measure: measure(lambda: run(folder))


ENGINES = {
    "one thread": (None, plain(by_threads(1))),
    "two threads": (None, plain(by_threads(2))),
    "Dask, 1 worker": ("distributed", by_dask(1)),
    "Dask, 2 workers": ("distributed", by_dask(2)),
    "Spark, local[2]": ("pyspark", by_spark),
    "Ray, 2 CPUs": ("ray", by_ray),
}


def measured(run):
    begun = time.perf_counter()
    return run(), time.perf_counter() - begun


def compare(n):
    X, y = rows_of(10**6, 20_000)
    test = pd.DataFrame(X, columns=COLUMNS)
    first = None
    print(
        "| engine | seconds | rows a second | error | largest difference |\n|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), n)
        for engine, (needs, run) in ENGINES.items():
            if needs and importlib.util.find_spec(needs) is None:
                print(f"| {engine} | {needs} is not installed | | | |")
                continue
            model, seconds = run(Path(name), measured)
            found = model.predict(test)
            first = found if first is None else first
            error = np.mean((found - y) ** 2) / np.var(y)
            print(
                f"| {engine} | {seconds:.1f} | {n / seconds:,.0f} | {error:.5f} | "
                f"{np.abs(found - first).max():.1e} |",
                flush=True,
            )


def broker(n):
    test = Path(__file__).parents[2] / "tests" / "python" / "test_brokers.py"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rs",
        "--durations=4",
        str(test),
        "-k",
        "redis",
    ]
    subprocess.run(command, env=os.environ | {"KERNELSTREAM_MESSAGES": str(n)}, check=True)


def many(n):
    import dask
    from dask.distributed import Client

    parts = 200
    model = ks.KernelRegressor(ks.Gaussian(3.0), ks.ALD(1e-2, max_size=30))
    made = [dask.delayed(rows_of)(seed, n // parts) for seed in range(parts)]
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        _, seconds = measured(lambda: distributed.fit(model, made))
        peaks = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    X, y = rows_of(10**6, 20_000)
    print(
        f"{n:,} rows: {seconds:.0f} s, {n / seconds:,.0f} rows a second, R2 {model.score(X, y):.4f}"
    )
    print(
        "largest memory of a worker:", ", ".join(f"{peak / 1024:.0f} MB" for peak in peaks.values())
    )
    print(
        f"10^10 rows on 100 machines of two such workers: {1e10 / 100 * seconds / n / 3600:.2f} h"
    )


def main():
    match sys.argv[1:]:
        case ["broker", *n]:
            broker(int(float(n[0])) if n else 200_000)
        case ["many", *n]:
            many(int(float(n[0])) if n else 200_000_000)
        case n:
            compare(int(float(n[0])) if n else 2_000_000)


if __name__ == "__main__":
    main()
