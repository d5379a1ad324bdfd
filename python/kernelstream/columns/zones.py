"""Time zones and offsets of columns of times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["Zoned", "on_clocks", "with_offsets"]

_OFFSET = r"(?P<sign>[-+])(?P<hours>\d{2}):?(?P<minutes>\d{2})?\s*$"


@dataclass(frozen=True)
class Zoned:
    """Times with zones or offsets.

    Attributes
    ----------
    column : Array
        The times as they were read: text, or of Arrow.
    times : ndarray of datetime64 of shape (n,)
        The times in UTC.
    """

    column: pa.Array
    times: NDArray[Any]

    @cached_property
    def clocks(self) -> NDArray[Any]:
        """The times on their own clocks, in microseconds."""
        if pa.types.is_timestamp(self.column.type):
            clocks = pc.local_timestamp(self.column).cast(pa.timestamp("us"), safe=False)
            return np.asarray(clocks.to_numpy(zero_copy_only=False))
        # Text has the offset of each time.
        minutes = self._minutes.astype("timedelta64[m]")
        found: NDArray[Any] = self.times.astype("datetime64[us]") + minutes
        return found

    @cached_property
    def _minutes(self) -> NDArray[np.int64]:
        """The offsets that are written, 0 for Z."""
        parts = pc.extract_regex(self.column.cast(pa.string()), _OFFSET)
        if parts.null_count == len(parts):
            return np.zeros(len(parts), dtype=np.int64)
        sign, hours, minutes = (
            pc.fill_null(pc.struct_field(parts, name), "") for name in ("sign", "hours", "minutes")
        )
        size = 60 * _whole(hours) + _whole(minutes)
        return np.where(np.asarray(pc.equal(sign, "-")), -size, size)

    def zone(self, row: int) -> str:
        """Give the zone or offset of one row, as in types of Arrow."""
        if pa.types.is_timestamp(self.column.type):
            return str(self.column.type.tz)
        minutes = int(self._minutes[row])
        hours, rest = divmod(abs(minutes), 60)
        return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"


def _whole(texts: pa.Array) -> NDArray[np.int64]:
    empty = pc.equal(texts, "")
    return np.asarray(pc.if_else(empty, "0", texts).cast(pa.int64()))


def on_clocks(times: NDArray[Any], zone: str) -> pa.Array:
    """Give the instants at which clocks of a zone show these times, the earlier of two."""
    plain = pa.array(times.astype("datetime64[us]"))
    return pc.assume_timezone(plain, zone, ambiguous="earliest", nonexistent="latest")


def with_offsets(times: pa.Array) -> pa.Array:
    """Write times with a zone as text, each with its offset, such as ``+02:00``."""
    texts = pc.strftime(times, "%Y-%m-%d %H:%M:%S%z")
    return pc.replace_substring_regex(texts, r"([-+]\d{2})(\d{2})$", r"\1:\2")
