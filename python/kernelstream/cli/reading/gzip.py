"""Text that is compressed by gzip: members put together, and zeros after the last."""

from __future__ import annotations

import zlib
from collections.abc import Callable

__all__ = ["Gzip"]

_MEMBER = 16 + zlib.MAX_WBITS  # with the header and the checksum of a gzip member


class Gzip:
    """Decompresses gzip in pieces.

    Zeros after a member are left out, as gzip does: tapes and block devices fill their last block
    with them.

    Parameters
    ----------
    read : callable
        Gives up to this many compressed bytes; none at the end.
    """

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._source = read
        self._member = zlib.decompressobj(_MEMBER)
        self._rest = b""
        self._inside = False

    def read(self, count: int) -> bytes:
        """Read decompressed bytes.

        Parameters
        ----------
        count : int
            The most bytes to give, and to take at a time.

        Returns
        -------
        data : bytes
            At least one, or none at the end.

        Raises
        ------
        OSError
            The text is damaged, or ends within a member.
        """
        while True:
            if self._member.eof:
                self._member, self._inside = zlib.decompressobj(_MEMBER), False
            if not self._inside:
                self._rest = self._rest.lstrip(b"\0")
            block = self._rest or self._source(count)
            if not block:
                if self._inside:
                    raise OSError("truncated gzip text")
                return b""
            if not self._inside and not (block := block.lstrip(b"\0")):
                self._rest = b""
                continue
            self._inside = True
            try:
                data = self._member.decompress(block, count)
            except zlib.error as error:
                raise OSError(str(error)) from None
            self._rest = self._member.unused_data or self._member.unconsumed_tail
            if data:
                return data
