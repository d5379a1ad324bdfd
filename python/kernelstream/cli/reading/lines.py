"""Text of a file or a pipe, in blocks of whole lines."""

from __future__ import annotations

import codecs
import re
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from kernelstream.cli.reading.gzip import Gzip
from kernelstream.cli.reading.raw import BLOCK, Bytes

__all__ = ["Lines", "end_of_rows", "line_of_row"]

_PATIENCE = 1.0  # seconds to wait for more of the first lines
_LONGEST = 1 << 26  # bytes of a line; more is no table
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}

_HIGH = bytes(range(128, 256))
_NOT_UTF8, _BEYOND_ASCII = re.compile("[\udc80-\udcff]"), re.compile(r"[^\x00-\x7f]+")
# Five bytes without a character are control characters, as browsers read them.
_CP1252 = "".join(bytes([code]).decode("cp1252", "ignore") or chr(code) for code in range(256))


class Lines:
    """Blocks of whole lines, in UTF-8, from plain or compressed text.

    A block holds what there is, up to about a megabyte: a pipe whose lines come slowly is given
    line by line.

    Parameters
    ----------
    bytes_ : Bytes
        Source of the lines.
    name : str
        What messages call it.
    encoding : str, optional
        How the text is encoded. None: UTF-16 if it begins with that mark, else UTF-8, of which
        bytes that are not are read as cp1252.

    Attributes
    ----------
    name : str
        What messages call it.
    is_cp1252 : bool
        Whether some text so far was read as cp1252, because it is not UTF-8.

    Raises
    ------
    ValueError
        There is no such encoding.
    """

    def __init__(self, bytes_: Bytes, name: str, encoding: str | None = None) -> None:
        self.name = name
        self._bytes = bytes_
        magic = bytes_.peek(4)
        packed = [kind for mark, kind in _PACKED.items() if magic.startswith(mark)]
        self._read: Any = bytes_.read
        if packed:
            self._read = (
                Gzip(bytes_.read).read
                if packed[0] == "gzip"
                else pa.CompressedInputStream(pa.PythonFile(bytes_, "r"), packed[0]).read
            )
        self._n_lines = 0
        self._kept = self._some_bytes()
        if encoding is None:
            encoding = next(
                (name for bom, name in _UTF16.items() if self._kept.startswith(bom)), None
            )
        self._guessing = _Utf8OrCp1252() if encoding is None else None
        self._decoder = codecs.getincrementaldecoder(codecs_name(encoding or "utf-8"))()
        self._kept = self._decoded(self._kept)
        self._kept = self._kept.removeprefix(codecs.BOM_UTF8)
        # Line ends of old Macintosh files.
        self._returns = b"\r" in self._kept and b"\n" not in self._kept
        self._kept = self._with_newlines(self._kept)
        self._ended = False

    @property
    def done(self) -> int:
        """Bytes of the file read so far, compressed as they are."""
        return self._bytes.done

    @property
    def is_cp1252(self) -> bool:
        """Whether some text so far was read as cp1252, because it is not UTF-8."""
        return self._guessing is not None and self._guessing.found

    def first(self, count: int, at_most: int = 0) -> bytes:
        """Look at the first lines without reading them.

        Parameters
        ----------
        count : int
            How many are needed.
        at_most : int, default=0
            Number of lines wanted, if they arrive soon.

        Returns
        -------
        text : bytes
            At least as many lines as are needed, or about a megabyte, or all there are.
        """
        end = time.monotonic() + _PATIENCE
        while len(self._kept) < BLOCK:
            n_lines = self._kept.count(b"\n")
            if n_lines >= count and (
                n_lines >= at_most or not self._bytes.comes(end - time.monotonic())
            ):
                break
            if not self._more():
                break
        return self._kept

    def blocks(self, start: int = 0, quoted_after: bytes | None = None) -> Iterator[bytes]:
        """Read everything.

        Parameters
        ----------
        start : int, default=0
            Bytes of the first lines not to be given.
        quoted_after : bytes, optional
            The delimiter after which a quotation mark begins a field that may contain line ends.
            None: a line end always ends a row.
        """
        self._kept = self._kept[start:]
        while True:
            cut = end_of_rows(self._kept, quoted_after)
            if cut:
                block, self._kept = self._kept[:cut], self._kept[cut:]
                yield block
            elif len(self._kept) > _LONGEST:
                raise ValueError(
                    f"{self.name} has a row longer than {_LONGEST >> 20} MB: is a quotation mark "
                    "missing, or is it no text?"
                )
            if not self._more():
                break
        if self._kept.strip(b"\r\n\0 "):
            yield self._kept
        self._kept = b""

    def close(self) -> None:
        """Close the file."""
        self._bytes.close()

    def _more(self) -> bool:
        """Read some more text, waiting for it; return whether there was any."""
        if self._ended:
            return False
        block = self._some_bytes()
        self._ended = not block
        self._kept += self._with_newlines(self._decoded(block))
        return not self._ended

    def _with_newlines(self, block: bytes) -> bytes:
        return block.replace(b"\r", b"\n") if self._returns else block

    def _some_bytes(self) -> bytes:
        try:
            return bytes(self._read(BLOCK))
        except OSError as error:
            if error.errno is not None:
                raise
            raise ValueError(f"{self.name} is damaged: {str(error).lower()}") from None

    def _decoded(self, block: bytes) -> bytes:
        if self._guessing is not None:
            return self._guessing.decode(block, final=not block)
        try:
            text = self._decoder.decode(block, final=not block).encode()
        except UnicodeDecodeError as error:
            line = self._n_lines + error.object[: error.start].count(b"\n") + 1
            raise ValueError(
                f"{self.name} is not {error.encoding} text: byte 0x{error.object[error.start]:02x} "
                f"in line {line}; without --encoding, bytes that are not UTF-8 are read as cp1252"
            ) from None
        self._n_lines += block.count(b"\n")
        return text


class _Utf8OrCp1252:
    """Gives text in UTF-8 whose bytes that are not UTF-8 are cp1252, in blocks of any length.

    Each line is decoded for itself: one that is mostly not UTF-8 is cp1252; of one that is UTF-8
    but for some bytes, as damaged text is, these bytes are.

    Attributes
    ----------
    found : bool
        Whether a byte was not UTF-8.
    """

    def __init__(self) -> None:
        self._rest = b""
        self.found = False

    def decode(self, block: bytes, final: bool = False) -> bytes:
        """Give the whole lines of a block; the rest of it comes with the next one."""
        text = self._rest + block
        end = len(text) if final else max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        if end == 0 and len(text) > BLOCK:
            end = len(text.rstrip(_HIGH))
        self._rest, text = text[end:], text[:end]
        try:
            text.decode()
        except UnicodeDecodeError:
            self.found = True
            return "".join(map(_decoded_line, text.splitlines(keepends=True))).encode()
        return text


def _decoded_line(line: bytes) -> str:
    # Bytes that are not UTF-8 become U+DC80 to U+DCFF.
    text = line.decode(errors="surrogateescape")
    n_others = len(_NOT_UTF8.findall(text))
    n_known = sum(map(len, _BEYOND_ASCII.findall(text))) - n_others
    if n_others > n_known and not text.startswith("\ufeff"):
        return _from_cp1252(line)
    return _NOT_UTF8.sub(lambda one: _from_cp1252(bytes([ord(one[0]) - 0xDC00])), text)


def _from_cp1252(text: bytes) -> str:
    return codecs.charmap_decode(text, "strict", _CP1252)[0]


def end_of_rows(text: bytes, delimiter: bytes | None) -> int:
    """Find where the last whole row of a text ends.

    Parameters
    ----------
    text : bytes
        Text that begins with a row.
    delimiter : bytes or None
        After which a quotation mark begins a field that may contain line ends. None: a line end
        always ends a row.

    Returns
    -------
    end : int
        Length of the whole rows; 0 if there is none.
    """
    end = text.rfind(b"\n") + 1
    if delimiter is None or b'"' not in text:
        return end
    for found in _quoted(delimiter).finditer(text):
        if not found[1]:
            return min(end, text.rfind(b"\n", 0, found.start()) + 1)
    return end


def line_of_row(text: bytes, row: int, delimiter: bytes | None) -> int | None:
    """Find the line in which a row of a text begins; empty lines are no rows.

    Parameters
    ----------
    text : bytes
        Whole rows.
    row : int
        Which row, from 0.
    delimiter : bytes or None
        As of `end_of_rows`.

    Returns
    -------
    line : int or None
        The line, from 0; None if there are fewer rows.
    """
    if delimiter is not None and b'"' in text:
        text = _quoted(delimiter).sub(lambda field: field[0].replace(b"\n", b"\0"), text)
    line = 0
    for whole in text.split(b"\n"):
        if whole.strip(b"\r"):
            if not row:
                return line
            row -= 1
        line += 1 + whole.count(b"\0")
    return None


def _quoted(delimiter: bytes) -> re.Pattern[bytes]:
    """Match a quoted field; inside an unquoted field a quotation mark is ordinary text."""
    return re.compile(rb"(?:^|(?<=[\n" + re.escape(delimiter) + rb']))"(?:[^"]|"")*("?)')


def codecs_name(encoding: str) -> str:
    """Give the usual name of an encoding.

    Raises
    ------
    ValueError
        There is no such encoding.
    """
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise ValueError(
            f"there is no encoding {encoding!r}; usual ones are utf-8, latin-1, cp1252, utf-16"
        ) from None
