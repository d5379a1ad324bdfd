"""The lines of docs/merging.md for Spark and Ray, where these are installed (Spark needs Java)."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import kernelstream as ks
from kernelstream import distributed
from realdata import random_stream

X, Y = random_stream(500, 3)
MODEL = ks.KernelRegressor(basis=ks.ALD(1e-3))
PARTS = list(zip(np.array_split(X, 4), np.array_split(Y, 4), strict=True))
GUIDE = Path(__file__).parents[2] / "docs" / "merging.md"


def lines_for(engine):
    """What the guide says to do with an engine."""
    text = GUIDE.read_text(encoding="utf-8")
    return re.search(rf"^# {engine}.*?(?=^# |^```)", text, re.MULTILINE | re.DOTALL).group()


def check(model):
    """Compare with what threads make of the same parts."""
    assert model.n_seen_ == len(X)
    expected = distributed.fit(clone(MODEL), PARTS, sample_size=400)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-9)


def test_ray():
    ray = pytest.importorskip("ray", reason="needs Ray: pip install ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    names = {"ray": ray, "distributed": distributed, "model": MODEL, "parts": PARTS}
    try:
        exec(lines_for("Ray"), names)
    finally:
        ray.shutdown()
    check(names["model"])


def test_spark():
    pyspark = pytest.importorskip("pyspark", reason="needs Spark: pip install pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")

    def as_part(rows):
        rows = list(rows)
        return np.array([x for x, _ in rows]).reshape(-1, 3), np.array([y for _, y in rows])

    conf = pyspark.SparkConf().setMaster("local[2]").set("spark.ui.enabled", "false")
    context = pyspark.SparkContext(conf=conf)
    names = {"distributed": distributed, "model": MODEL, "as_part": as_part}
    try:
        names["rdd"] = context.parallelize(list(zip(X.tolist(), Y.tolist(), strict=True)), 4)
        exec(lines_for("Spark"), names)
    finally:
        context.stop()
    check(names["model"])
