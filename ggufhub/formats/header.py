"""Header: what a reader saw, as plain data. Nothing here is judged; rules do that.

Values and elements are decoded when somebody asks; until then a key is a handful of offsets.
"""

import struct
from array import array as numbers_of
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import TYPE_CHECKING

from ggufhub.errors import LimitExceeded
from ggufhub.formats.values import SCALAR_SIZE, STRUCT_CODE, ByteOrder, ValueType
from ggufhub.limits import MIB

if TYPE_CHECKING:
    import numpy as np

DEFAULT_ALIGNMENT = 32
"""``GGUF_DEFAULT_ALIGNMENT`` in ``ggml/include/gguf.h``."""

TEXT_BYTES = 1 * MIB
"""Bytes of a string that are ever decoded to text: the longest real template has 17 KB, the
longest licence 40 KB. Rules that count bytes or look for broken ones see all of them."""


@dataclass(frozen=True, slots=True)
class Span:
    """``length`` bytes at ``offset`` from the start of the file."""

    offset: int
    length: int

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass(slots=True)
class Encoding:
    """How numbers and strings are written in one file, and the bytes themselves.

    ``prefix`` is the width in bytes of string lengths and counts: 4 in GGUF v1, else 8.
    """

    buffer: memoryview
    order: ByteOrder
    prefix: int
    _length: struct.Struct = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        code = self.order.prefix + ("I" if self.prefix == 4 else "Q")
        self._length = struct.Struct(code)

    def text(self, position: int, most: int | None = None) -> bytes:
        """The string whose length prefix is at ``position``; no more than its first ``most``
        bytes."""
        (length,) = self._length.unpack_from(self.buffer, position)
        start = position + self.prefix
        end = start + (length if most is None else min(length, most))
        return bytes(self.buffer[start:end])


def no_starts() -> "numbers_of[int]":
    """Room for positions in a header, which fit into 4 bytes: a header is far below 4 GiB."""
    return numbers_of("I")


@dataclass(slots=True)
class Array:
    """An array value whose elements start at ``offset`` and end at ``end``.

    ``starts`` holds the position of each string's length prefix, 4 bytes each; ``children`` the
    inner arrays of an array of arrays.
    """

    encoding: Encoding = field(repr=False)
    element_type: ValueType
    count: int
    offset: int
    end: int
    starts: "np.ndarray | numbers_of[int]" = field(default_factory=no_starts, repr=False)
    children: "list[Array]" = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> "Scalar | bytes | Array":
        if not 0 <= index < self.count:
            raise IndexError(index)
        if self.element_type is ValueType.STRING:
            return self.encoding.text(int(self.starts[index]))
        if self.element_type is ValueType.ARRAY:
            return self.children[index]
        return self._unpack(index, 1)[0]

    def __iter__(self) -> "Iterator[Scalar | bytes | Array]":
        return iter(self.part(0, self.count))

    def part(self, start: int, stop: int) -> "list[Scalar | bytes | Array]":
        """Decoded elements ``start`` to ``stop`` (clamped)."""
        stop = min(stop, self.count)
        if start >= stop:
            return []
        if self.element_type is ValueType.STRING:
            return [self.encoding.text(int(at)) for at in self.starts[start:stop]]
        if self.element_type is ValueType.ARRAY:
            return list(self.children[start:stop])
        return list(self._unpack(start, stop - start))

    def numbers(self) -> "np.ndarray":
        """A view of a numeric array in the file's byte order; no copy. ``TypeError`` for others."""
        import numpy as np

        if self.element_type not in STRUCT_CODE:
            raise TypeError(f"an array of {self.element_type.label} has no numbers")
        code = self.encoding.order.prefix + STRUCT_CODE[self.element_type]
        return np.frombuffer(self.encoding.buffer, code, self.count, self.offset)

    def _unpack(self, start: int, count: int) -> "tuple[Scalar, ...]":
        code = f"{self.encoding.order.prefix}{count}{STRUCT_CODE[self.element_type]}"
        position = self.offset + start * SCALAR_SIZE[self.element_type]
        return struct.unpack_from(code, self.encoding.buffer, position)


Scalar = int | float
Value = Scalar | bytes | Array


@dataclass(slots=True)
class Key:
    """One metadata entry: ``offset`` is where its name's length prefix is, ``end`` one past it.

    ``name`` is for looking up and showing; undecodable bytes become surrogate escapes.
    """

    encoding: Encoding = field(repr=False)
    raw_name: bytes
    type: ValueType
    offset: int
    value_offset: int
    end: int
    array: Array | None = None
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.raw_name.decode("utf-8", "surrogateescape")  # read by every rule

    @property
    def span(self) -> Span:
        return Span(self.offset, self.end - self.offset)

    @property
    def value(self) -> Value:
        """Decoded: int or float, bytes of a string, the byte of a bool, or an Array."""
        if self.array is not None:
            return self.array
        if self.type is ValueType.STRING:
            return self.encoding.text(self.value_offset)
        code = self.encoding.order.prefix + STRUCT_CODE[self.type]
        number: Scalar = struct.unpack_from(code, self.encoding.buffer, self.value_offset)[0]
        return number

    def head(self, most: int) -> bytes:
        """The first ``most`` bytes of a string value; empty for other types."""
        if self.type is not ValueType.STRING:
            return b""
        return self.encoding.text(self.value_offset, most)

    @property
    def type_label(self) -> str:
        """``uint32``, or ``string[]`` for an array of strings."""
        return self.type.label if self.array is None else f"{self.array.element_type.label}[]"


@dataclass(slots=True)
class Tensor:
    """One row of the tensor table. ``shape`` has the fastest dimension first, as stored.

    ``offset`` counts from the start of the data section; ``span`` is the row itself. ``bytes``
    is the exact size of the data, None where type or row length leave it undefined.
    """

    raw_name: bytes
    shape: tuple[int, ...]
    type: int
    offset: int
    span: Span
    bytes: int | None
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.raw_name.decode("utf-8", "surrogateescape")  # read by every rule

    @property
    def elements(self) -> int:
        """Exact product of the dimensions; 1 for a scalar."""
        return prod(self.shape)


class StopReason(Enum):
    """Why a reader could not read on."""

    TOO_SHORT = "too short"
    MAGIC = "magic"
    VERSION = "version"
    COUNT = "count"
    END_OF_FILE = "end of file"
    LENGTH = "length"
    VALUE_TYPE = "value type"
    DIMENSIONS = "dimensions"
    TENSOR_TYPE = "tensor type"
    TRAILING = "trailing bytes"


@dataclass(frozen=True, slots=True)
class Stop:
    """Where and why reading ended early, with the key or tensor that was being read."""

    reason: StopReason
    message: str
    span: Span
    key: str | None = None
    tensor: str | None = None
    expected: str | None = None
    actual: str | None = None


@dataclass(slots=True)
class Header:
    """Everything before the data of one file, as far as it could be read.

    ``kv_count`` and ``tensor_count`` are what the file declares; ``keys`` and ``tensors`` what
    was read. ``data_offset`` is None until the tables were read whole. ``stop`` tells why
    reading ended early (the file is at fault), ``limit`` that one of our budgets ended it.
    ``program`` names the layout where a format has several: ``llama``, ``whisper``, …
    """

    format: str
    size: int | None
    version: int | None = None
    byte_order: ByteOrder | None = None
    kv_count: int | None = None
    tensor_count: int | None = None
    keys: list[Key] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    keys_end: int | None = None
    tables_end: int | None = None
    alignment: int | None = None
    data_offset: int | None = None
    stop: Stop | None = None
    limit: LimitExceeded | None = None
    padding: bytes = b""
    program: str = ""
    _index: dict[str, Key] | None = field(default=None, repr=False)

    @property
    def complete(self) -> bool:
        """Whether both tables were read whole."""
        return self.tables_end is not None

    def detach(self) -> None:
        """Keep a copy of the keys' bytes in place of the window they were read through, which
        reserves as much memory as a header may take at most. For GGUF, where all keys share it."""
        if self.keys:
            encoding, end = self.keys[0].encoding, max(key.end for key in self.keys)
            encoding.buffer = memoryview(bytes(encoding.buffer[:end]))

    def find(self, name: str) -> Key | None:
        """The first key with this name."""
        if self._index is None:
            self._index = {}
            for key in self.keys:
                self._index.setdefault(key.name, key)
        return self._index.get(name)

    def text(self, name: str) -> str | None:
        """A string value, undecodable bytes escaped and cut to ``TEXT_BYTES``; None where absent
        or of another type."""
        key = self.find(name)
        if key is None or key.type is not ValueType.STRING:
            return None
        return key.head(TEXT_BYTES).decode("utf-8", "surrogateescape")

    def number(self, name: str) -> int | None:
        """An integer value of any width; None where absent or of another type."""
        key = self.find(name)
        if key is None or key.array is not None or key.type is ValueType.BOOL:
            return None
        value = key.value
        return value if isinstance(value, int) else None

    def array(self, name: str) -> Array | None:
        """An array value; None where absent or of another type."""
        key = self.find(name)
        return None if key is None else key.array
