"""Learn a Redis stream exactly once: the place in it is saved with the model, in one file.

Usage: python redis_consumer.py MODEL_FILE STREAM [REDIS_URL]
"""

import sys
from pathlib import Path

import numpy as np
import redis

import kernelstream as ks

BATCH = 2_000  # messages at once
SAVE_EVERY = 20_000  # messages: what is learned again after a stop, at most


def consume(
    path: Path, stream: str, server: redis.Redis, *, block: int = 1000
) -> ks.KernelRegressor:
    """Learn until no message has come for `block` milliseconds."""
    if path.exists():
        model = ks.KernelRegressor.load(path)
        place = model.note_[stream]
    else:
        model, place = ks.KernelRegressor(), "0"
    unsaved = 0
    while found := server.xread({stream: place}, count=BATCH, block=block):
        [(_, messages)] = found
        rows = np.frombuffer(b"".join(fields[b"row"] for _, fields in messages))
        rows = rows.reshape(len(messages), -1)  # a message is the bytes of x and, last, y
        model.partial_fit(rows[:, :-1], rows[:, -1])
        place = messages[-1][0].decode()
        unsaved += len(messages)
        if unsaved >= SAVE_EVERY:
            model.save(path, note={stream: place})
            unsaved = 0
    if unsaved:
        model.save(path, note={stream: place})
    return model


if __name__ == "__main__":
    url = sys.argv[3] if len(sys.argv) > 3 else "redis://localhost:6379"
    model = consume(Path(sys.argv[1]), sys.argv[2], redis.Redis.from_url(url))
    print(f"{model.n_seen_:,} rows learned")
