"""The engines, started for real: the pages of docs/engines run, and what may go wrong does.

Each is skipped where it is missing; `make test-engines` installs them.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import kernelstream as ks
from kernelstream import distributed
from realdata import ROOT, random_stream

# Engines warn of what is deprecated in each other. Warnings of kernelstream and of arithmetic are
# errors.
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("error::RuntimeWarning"),
    pytest.mark.filterwarnings("error::kernelstream.exceptions.KernelstreamWarning"),
]

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
X, Y = random_stream(1200, 3)
COLUMNS = list("abc")
FRAME = pd.DataFrame(X, columns=COLUMNS).assign(weight=0.5 + np.arange(1200) % 3, price=Y)
MODEL = ks.KernelRegressor(ks.Gaussian(1.0), ks.ALD(1e-3))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files that the pages read, in the folder where they run."""
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install kernelstream[cli]")
    monkeypatch.chdir(tmp_path)
    for name, start, end in (("rows", 0, 1000), ("today", 1000, 1100), ("arriving", 1100, 1200)):
        (tmp_path / name).mkdir()
        for number, rows in enumerate(np.array_split(np.arange(start, end), 4)):
            FRAME.iloc[rows].to_parquet(tmp_path / name / f"{number}.parquet", index=False)
    return tmp_path


def run_page(name):
    """Run the lines of a page, and give what it leaves."""
    path = ROOT / "docs" / "engines" / f"{name}.md"
    text, names = path.read_text(encoding="utf-8"), {}
    for block in BLOCK.finditer(text):
        blank = "\n" * text.count("\n", 0, block.start(1))
        exec(compile(blank + block[1], str(path), "exec"), names)
    return names


def check(model, rows, weight="weight"):
    """Compare with what threads make of the same rows."""
    given = None if weight is None else rows[weight]
    expected = distributed.fit(clone(model), rows[COLUMNS], rows["price"], weight=given)
    assert model.n_seen_ == len(rows)
    found = model.predict(rows[COLUMNS])
    np.testing.assert_allclose(found, expected.predict(rows[COLUMNS]), rtol=0, atol=1e-9)


@pytest.fixture
def dask_client():
    distributed_ = pytest.importorskip("distributed", reason="needs Dask")
    with distributed_.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        yield client


def test_the_page_of_dask(folder):
    pytest.importorskip("distributed", reason="needs Dask: pip install kernelstream[distributed]")
    names = run_page("dask")
    assert names["model"].n_seen_ == 1100
    assert ks.load("price.model").note_ == {"day": "2026-03-30"}
    check(distributed.fit(clone(MODEL), names["rows"], "price", weight="weight"), FRAME[:1000])


def test_a_dask_worker_that_dies_costs_time_only(dask_client, tmp_path):
    import dask

    @dask.delayed
    def part(start, marker=None):
        if start == 300 and marker is not None and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return X[start : start + 100], Y[start : start + 100]

    del dask_client
    parts = [part(start) for start in range(0, 1200, 100)]
    whole = distributed.fit(clone(MODEL), parts)
    mortal = [part(start, tmp_path / "killed") for start in range(0, 1200, 100)]
    again = distributed.fit(clone(MODEL), mortal)
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))
    poisoned = [*parts, dask.delayed((np.where(X[7] == X, np.nan, X), Y))]
    with pytest.raises(ValueError, match=r"part 12: .*row 7"):
        distributed.fit(clone(MODEL), poisoned)


@pytest.fixture
def spark_options(monkeypatch):
    pytest.importorskip("pyspark", reason="needs Spark: pip install pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    options = "--master local[2] --conf spark.ui.enabled=false --driver-memory 1g pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", options)


def test_the_page_of_spark(folder, spark_options):
    names = run_page("spark")
    model = ks.load("price.model")
    assert model.n_seen_ == 1200
    assert model.note_ == {"day": "2026-03-30", "epochs": {"spark": 0}}
    assert names["model"].n_seen_ == 1100


def test_spark_learns_each_micro_batch_once_and_names_bad_rows(folder, spark_options):
    # Spark's process may be in the folder of an earlier test: its paths are absolute.
    from pyspark.sql import SparkSession

    from kernelstream.distributed.spark import foreach_batch

    spark = SparkSession.builder.getOrCreate()
    try:
        rows = spark.read.parquet(str(folder / "rows"))
        model = distributed.fit(clone(MODEL), rows, "price", weight="weight")
        check(model, FRAME[:1000])
        spread = distributed.fit(clone(MODEL), rows.repartition(40), "price", weight="weight")
        np.testing.assert_allclose(spread.predict(X), model.predict(X), rtol=0, atol=1e-9)
        own = clone(MODEL).fit(rows, "price", "weight")
        assert own.n_seen_ == 1000
        for target, message in (("cost", "no column 'cost'"), (None, "the columns are a, b, c")):
            with pytest.raises(ValueError, match=message):
                distributed.fit(clone(MODEL), rows, target)
        bad = FRAME[:50].assign(b=np.where(np.arange(50) == 31, np.nan, X[:50, 1]))
        bad.to_parquet(folder / "bad.parquet", index=False)
        with pytest.raises(ValueError, match=r"partition 0, batch 0: .*row 31"):
            distributed.fit(clone(MODEL), spark.read.parquet(str(folder / "bad.parquet")), "price")

        model.save("live.model")
        learn_batch, stops = foreach_batch("live.model", "price", weight="weight"), [True]

        def stopped(frame, epoch):
            learn_batch(frame, epoch)
            if stops.pop():
                stops.append(False)
                raise RuntimeError("stopped between the model and the checkpoint")
            stops.append(False)

        def stream():
            reader = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1)
            writer = reader.parquet(str(folder / "arriving")).writeStream.foreachBatch(stopped)
            writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
            return writer.trigger(availableNow=True).start()

        with pytest.raises(Exception, match="stopped between"):
            stream().awaitTermination()
        assert ks.load("live.model").n_seen_ == 1025
        stream().awaitTermination()
        found = ks.load("live.model")
        assert found.n_seen_ == 1100
        distributed.partial_fit(
            model, FRAME[1100:][COLUMNS], FRAME[1100:]["price"], weight=FRAME[1100:]["weight"]
        )
        np.testing.assert_allclose(found.predict(X), model.predict(X), rtol=0, atol=1e-9)
    finally:
        spark.stop()


def test_the_page_of_ray(folder):
    ray = pytest.importorskip("ray", reason="needs Ray: pip install 'ray[data]'")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    ray.init = lambda **_: None
    shutdown, ray.shutdown = ray.shutdown, lambda: None
    try:
        names = run_page("ray")
        assert ks.load("price.model").note_ == {"until": "2026-03-30"}
        assert names["waves"].n_seen_ == 9 * 2000
        check(names["model"], FRAME[:1000])
        references = [ray.put((X, Y)), ray.put((np.where(X[7] == X, np.nan, X), Y))]
        with pytest.raises(ValueError, match=r"part 1: .*row 7"):
            distributed.fit(clone(MODEL), references)
        bad = ray.data.from_pandas(FRAME.assign(b=np.where(np.arange(1200) == 31, np.nan, X[:, 1])))
        with pytest.raises(ValueError, match=r"the block of 1,200 rows that begins with .*row 31"):
            distributed.fit(clone(MODEL), bad, "price")
        with pytest.raises(ValueError, match="no column 'cost'"):
            distributed.fit(clone(MODEL), bad, "cost")
    finally:
        ray.shutdown = shutdown
        ray.shutdown()


def test_the_service_learns_and_predicts(tmp_path, monkeypatch):
    pytest.importorskip("fastapi", reason="needs FastAPI: pip install fastapi httpx")
    pytest.importorskip("httpx", reason="needs httpx")
    from fastapi.testclient import TestClient

    monkeypatch.setenv("MODEL_FILE", str(tmp_path / "service.model"))
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "engines"))
    import service_fastapi

    rows = FRAME[[*COLUMNS, "price"]].rename(columns={"price": "target"}).to_dict("records")
    with TestClient(service_fastapi.app) as client:
        assert client.post("/predict", json={"a": 1.0}).status_code == 422
        assert client.post("/learn", json={"rows": rows}).json() == {"n_seen": 1200}
        one = {name: rows[0][name] for name in COLUMNS}
        found = client.post("/predict", json=one).json()
        assert client.post("/learn", json={"rows": [{"a": 1.0}]}).status_code == 422
    saved = ks.load(tmp_path / "service.model")
    assert found["prediction"] == pytest.approx(saved.predict_one(one))
    assert found["std"] > 0
