"""Consumers of brokers that are killed lose no message and learn none twice.

Skipped where Redis or Kafka's client is missing; `make test-engines` installs them.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

import kernelstream as ks
from realdata import ROOT, random_stream

N = int(os.environ.get("KERNELSTREAM_MESSAGES", "20000"))
X, Y = random_stream(N, 8)
ROWS = np.column_stack([X, Y])
EXAMPLES = ROOT / "examples" / "engines"


def consume(module, path, name, server, **how):
    """Start a consumer that saves often, of an example."""
    script = (
        f"import {module} as consumer; from pathlib import Path\n"
        f"consumer.SAVE_EVERY, consumer.BATCH = {N // 20}, 500\n"
        f"server = {server}\n"
        f"consumer.consume(Path({str(path)!r}), {name!r}, server, **{how})"
    )
    paths = [str(EXAMPLES), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.Popen([sys.executable, "-c", script], env=environment)


def changed(path, before):
    return path.exists() and path.stat().st_ino != before


def kill_at_random_and_finish(path, start, kills=3):
    """Kill a consumer some time after it has saved, several times; then let it come to the end."""
    wait = random.Random(0)
    for _ in range(kills):
        before = path.stat().st_ino if path.exists() else None
        process = start()
        deadline = time.monotonic() + 120
        while not changed(path, before) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        time.sleep(wait.uniform(0, 0.05))
        process.kill()
        process.wait()
    assert start().wait(timeout=300) == 0


@pytest.fixture
def redis(tmp_path):
    module = pytest.importorskip("redis", reason="needs redis: pip install redis")
    if shutil.which("redis-server") is None:
        pytest.skip("needs Redis: apt-get install redis-server")
    socket = str(tmp_path / "redis.sock")
    command = [
        "redis-server",
        "--port",
        "0",
        "--unixsocket",
        socket,
        "--save",
        "",
        "--dir",
        str(tmp_path),
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        client = module.Redis(unix_socket_path=socket)
        for _ in range(500):
            try:
                client.ping()
                break
            except module.ConnectionError:
                time.sleep(0.02)
        yield client, f"consumer.redis.Redis(unix_socket_path={socket!r})"
    finally:
        server.terminate()
        server.wait()


def test_a_killed_consumer_of_redis_learns_each_message_once(redis, tmp_path):
    client, server = redis
    for start in range(0, N, 1000):
        pipeline = client.pipeline(transaction=False)
        for row in ROWS[start : start + 1000]:
            pipeline.xadd("rows", {"row": row.tobytes()})
        pipeline.execute()
    path = tmp_path / "m.model"
    kill_at_random_and_finish(
        path, lambda: consume("redis_consumer", path, "rows", server, block=1000)
    )
    found, expected = ks.load(path), ks.KernelRegressor().partial_fit(X, Y)
    assert found.n_seen_ == N
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=0, atol=1e-11)


def test_a_killed_consumer_of_kafka_learns_each_message_once(tmp_path):
    kafka = pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")
    # Kafka's client brings a cluster for tests, which lives in this process.
    producer = kafka.Producer({"bootstrap.servers": "localhost", "test.mock.num.brokers": 1})
    (broker,) = producer.list_topics(timeout=30).brokers.values()
    for row in ROWS:
        producer.produce("rows", row.tobytes())
        producer.poll(0)
    assert producer.flush(60) == 0
    # Partitions come in another order after a stop: which points are stored may not depend on it.
    path = tmp_path / "m.model"
    begun = ks.KernelRegressor(learner=ks.Ridge(clip=False)).fit(X[:500], Y[:500])
    begun.freeze_dictionary().save(path)
    address = repr(f"{broker.host}:{broker.port}")
    kill_at_random_and_finish(
        path, lambda: consume("kafka_consumer", path, "rows", address, wait=5)
    )
    found = ks.load(path)
    assert found.n_seen_ == N
    assert sum(found.note_["rows"].values()) == N
    expected = begun.partial_fit(X, Y)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=0, atol=1e-9)
