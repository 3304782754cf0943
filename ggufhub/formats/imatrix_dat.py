"""Importance matrices as they were before they became GGUF: ``imatrix.dat``.

Layout of ``tools/imatrix/imatrix.cpp`` of llama.cpp 0c1e57098, legacy format: an i32 count, then
for each entry the length of its name, the name, the number of calls, the number of values and
the values as floats. Newer files end with the number of chunks and the name of the data set.
There is no magic: a file is one only where this ends exactly where the file does.
"""

import struct

from ggufhub.formats.header import Array, Encoding, Header, Key, Span, Tensor
from ggufhub.formats.values import ByteOrder, ValueType
from ggufhub.sources.pages import Pages
from ggufhub.sources.window import Window

MOST_ENTRIES = 65_536
"""A large mixture-of-experts model has about 1,000."""

MOST_NAME = 1_024
MOST_VALUES = 1 << 28
"""Values of one entry: experts times row length; the largest real one is below 2^22."""

_F32 = 0
_WORD = struct.Struct("<i")


class _Misfit(Exception):
    """The bytes are something else."""


def read_imatrix_dat(window: Window) -> Header | None:
    """The header of an old importance matrix; None where the bytes are something else.

    Raises only ``SourceError``.
    """
    reader = _Reader(Pages(window), Header("unknown", window.size))
    try:
        return reader.read()
    except _Misfit:
        return None


class _Reader:
    """Reads entry after entry; gives up at the first thing that does not fit."""

    def __init__(self, pages: Pages, header: Header) -> None:
        self._pages = pages
        self._header = header
        self._calls: list[int] = []

    def read(self) -> Header:
        header = self._header
        count = self._number(0, 1, MOST_ENTRIES)
        self._add("n_entries", ValueType.INT32, 0, _WORD.pack(count))
        position = 4
        for _ in range(count):
            position = self._entry(position)
        self._add_calls(position)
        header.keys_end = header.tables_end = position
        header.data_offset = 0
        if not self._pages.ended_at(position):
            position = self._trailer(position)
        if not self._pages.ended_at(position) or len(self._pages.read(position - 1, 1)) != 1:
            raise _Misfit
        header.byte_order, header.alignment = ByteOrder.LITTLE, 1
        header.program = "imatrix"
        header.size = self._pages.size
        return header

    def _entry(self, at: int) -> int:
        length = self._number(at, 1, MOST_NAME)
        name = self._pages.read(at + 4, length)
        if len(name) < length or min(name) < 0x20:
            raise _Misfit
        calls_at = at + 4 + length
        self._calls.append(self._number(calls_at, 0, (1 << 31) - 1))
        values = self._number(calls_at + 4, 1, MOST_VALUES)
        data = calls_at + 8
        span = Span(at, data - at)
        self._header.tensors.append(Tensor(name, (values,), _F32, data, span, 4 * values))
        return data + 4 * values

    def _trailer(self, at: int) -> int:
        chunks = self._number(at, 0, (1 << 31) - 1)
        length = self._number(at + 4, 0, MOST_NAME)
        name = self._pages.read(at + 8, length)
        if len(name) < length:
            raise _Misfit
        self._add("n_chunks", ValueType.INT32, at, _WORD.pack(chunks))
        self._add("dataset", ValueType.STRING, at + 4, _WORD.pack(length) + name)
        return at + 8 + length

    def _number(self, at: int, least: int, most: int) -> int:
        raw = self._pages.read(at, _WORD.size)
        if len(raw) < _WORD.size:
            raise _Misfit
        (value,) = _WORD.unpack(raw)
        if not least <= value <= most:
            raise _Misfit
        return int(value)

    def _add(self, name: str, kind: ValueType, at: int, raw: bytes) -> None:
        encoding = Encoding(memoryview(raw), ByteOrder.LITTLE, 4)
        self._header.keys.append(Key(encoding, name.encode(), kind, at, 0, at + len(raw)))

    def _add_calls(self, end: int) -> None:
        """How often each entry was computed; the numbers lie between names and values."""
        raw = struct.pack(f"<{len(self._calls)}i", *self._calls)
        encoding = Encoding(memoryview(raw), ByteOrder.LITTLE, 4)
        array = Array(encoding, ValueType.INT32, len(self._calls), 0, len(raw))
        self._header.keys.append(Key(encoding, b"calls", ValueType.ARRAY, 4, 0, end, array))
