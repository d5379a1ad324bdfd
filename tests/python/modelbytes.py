"""Model files taken apart and put together again without the library, to build damaged ones."""

from __future__ import annotations

import json
import struct

import numpy as np

TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
}
NAMES = {np.dtype(kind): name for name, kind in TYPES.items()}


def widened(values):
    """Numbers and counts in the type that represents all of them; bytes as they are."""
    if values.dtype == np.uint8:
        return values.copy()
    return values.astype("<f8" if values.ndim == 2 else "<u8")


def unpack(data):
    """The configuration, and the arrays by name, as doubles, 64-bit counts or bytes."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    config = json.loads(header.pop("__metadata__")["kernelstream"])
    body = data[8 + length :]
    arrays = {}
    for name, entry in header.items():
        start, stop = entry["data_offsets"]
        values = np.frombuffer(body[start:stop], TYPES[entry["dtype"]])
        arrays[name] = widened(values.reshape(entry["shape"]))
    return config, arrays


def checksum(config, arrays):
    """FNV-1a of 64 bits over what the file holds."""

    def text(value):
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    data = f"{config['kind']}\n{text(config['spec'])}\n{text(config['extra'])}\n".encode()
    for name, values in sorted(arrays.items()):
        kind = NAMES[values.dtype]
        data += f"{name} {kind} {list(values.shape)}\n".encode() + values.tobytes()
    total = 0xCBF29CE484222325
    for byte in data:
        total = ((total ^ byte) * 0x100000001B3) % 2**64
    return f"{total:016x}"


def pack(config, arrays):
    """A file with this configuration and these arrays, its checksum put right."""
    if isinstance(config, dict) and config.keys() >= {"kind", "spec", "extra"}:
        config = config | {"checksum": checksum(config, arrays)}
    header = {"__metadata__": {"kernelstream": json.dumps(config)}}
    body = b""
    for name, values in arrays.items():
        raw = np.ascontiguousarray(values).tobytes()
        kind = NAMES[values.dtype]
        offsets = [len(body), len(body) + len(raw)]
        header[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": offsets}
        body += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body
