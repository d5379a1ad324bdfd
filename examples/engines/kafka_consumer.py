"""Learn a Kafka topic exactly once: the offsets are saved with the model, in one file.

Usage: python kafka_consumer.py MODEL_FILE TOPIC [BOOTSTRAP_SERVERS]
"""

import sys
from pathlib import Path

import numpy as np
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

import kernelstream as ks

BATCH = 2_000  # messages at once
SAVE_EVERY = 20_000  # messages: what is learned again after a stop, at most


def consume(path: Path, topic: str, servers: str, *, wait: float = 5.0) -> ks.KernelRegressor:
    """Learn until no message has come for `wait` seconds."""
    model = ks.KernelRegressor.load(path) if path.exists() else ks.KernelRegressor()
    offsets = dict((model.note_ or {}).get(topic, {}))  # the next one of each partition
    # The broker is to keep no place of its own; a group must have a name nevertheless.
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "kernelstream", "enable.auto.commit": False}
    )
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign(
        [TopicPartition(topic, p, offsets.get(str(p), OFFSET_BEGINNING)) for p in partitions]
    )
    unsaved = 0
    while messages := consumer.consume(BATCH, timeout=wait):
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
        rows = np.frombuffer(b"".join(message.value() for message in messages))
        rows = rows.reshape(len(messages), -1)  # a message is the bytes of x and, last, y
        model.partial_fit(rows[:, :-1], rows[:, -1])
        offsets |= {str(message.partition()): message.offset() + 1 for message in messages}
        unsaved += len(messages)
        if unsaved >= SAVE_EVERY:
            model.save(path, note={topic: offsets})
            unsaved = 0
    if unsaved:
        model.save(path, note={topic: offsets})
    consumer.close()
    return model


if __name__ == "__main__":
    servers = sys.argv[3] if len(sys.argv) > 3 else "localhost:9092"
    model = consume(Path(sys.argv[1]), sys.argv[2], servers)
    print(f"{model.n_seen_:,} rows learned")
