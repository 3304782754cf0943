"""GGUF value types and the byte order that reads them.

Numbers and names: ``docs/gguf.md`` of the ggml repository, enum ``gguf_metadata_value_type``;
ids 10 to 12 came with version 2 (llama.cpp pull request 2821).
"""

import codecs
import struct
from enum import Enum, IntEnum

from ggufhub.limits import KIB


class ByteOrder(Enum):
    """Byte order of every number in a file, and its prefix in ``struct`` and numpy formats."""

    LITTLE = "little"
    BIG = "big"

    @property
    def prefix(self) -> str:
        return "<" if self is ByteOrder.LITTLE else ">"


class ValueType(IntEnum):
    """Type of a metadata value."""

    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12

    @property
    def label(self) -> str:
        """The name shown to people: ``uint32``, ``string``, …"""
        return self.name.lower()


STRUCT_CODE = {
    ValueType.UINT8: "B",
    ValueType.INT8: "b",
    ValueType.UINT16: "H",
    ValueType.INT16: "h",
    ValueType.UINT32: "I",
    ValueType.INT32: "i",
    ValueType.FLOAT32: "f",
    ValueType.BOOL: "B",  # the byte itself: 2 is a broken bool that rules want to see
    ValueType.UINT64: "Q",
    ValueType.INT64: "q",
    ValueType.FLOAT64: "d",
}
"""``struct`` code of each fixed-size type; numpy knows the same codes but for bytes order."""

SCALAR_SIZE = {kind: struct.calcsize("<" + code) for kind, code in STRUCT_CODE.items()}
"""Bytes of one value of each fixed-size type."""


def value_type(number: int) -> ValueType | None:
    """The type with this id, or None for an id no version of the format defines."""
    return ValueType(number) if 0 <= number <= 12 else None


def type_label(number: int) -> str:
    """Readable name of a value type id, known or not."""
    known = value_type(number)
    return f"type {number}" if known is None else known.label


_AT_ONCE = 256 * KIB
"""Bytes decoded in one step: a text takes up to four times as much room as its bytes."""


def is_utf8(raw: bytes) -> bool:
    """Whether all bytes are UTF-8."""
    decode = codecs.getincrementaldecoder("utf-8")().decode if len(raw) > _AT_ONCE else None
    try:
        if decode is None:
            raw.decode()
            return True
        for start in range(0, len(raw), _AT_ONCE):
            end = start + _AT_ONCE
            decode(raw[start:end], end >= len(raw))
    except UnicodeDecodeError:
        return False
    return True
