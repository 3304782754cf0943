"""Header: what a reader saw, as plain data. Nothing here is judged; rules do that.

Values and elements are decoded when somebody asks; until then a key is a handful of offsets.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import TYPE_CHECKING

from ggufhub.errors import LimitExceeded
from ggufhub.formats.values import NUMPY_CODE, SCALAR_SIZE, STRUCT_CODE, ByteOrder, ValueType

if TYPE_CHECKING:
    import numpy as np

DEFAULT_ALIGNMENT = 32
"""``GGUF_DEFAULT_ALIGNMENT`` in ``ggml/include/gguf.h``."""


@dataclass(frozen=True, slots=True)
class Span:
    """``length`` bytes at ``offset`` from the start of the file."""

    offset: int
    length: int

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass(frozen=True, slots=True)
class Encoding:
    """How numbers and strings are written in one file, and the bytes themselves.

    ``prefix`` is the width in bytes of string lengths and counts: 4 in GGUF v1, else 8.
    """

    buffer: memoryview
    order: ByteOrder
    prefix: int

    def text(self, position: int) -> bytes:
        """The string whose length prefix is at ``position``."""
        kind = "I" if self.prefix == 4 else "Q"
        (length,) = struct.unpack_from(self.order.prefix + kind, self.buffer, position)
        start = position + self.prefix
        return bytes(self.buffer[start : start + length])


@dataclass(slots=True)
class Array:
    """An array value whose elements start at ``offset`` and end at ``end``.

    ``starts`` holds the position of each string's length prefix (numpy or a list of int);
    ``children`` the inner arrays of an array of arrays.
    """

    encoding: Encoding = field(repr=False)
    element_type: ValueType
    count: int
    offset: int
    end: int
    starts: "np.ndarray | list[int]" = field(default_factory=list, repr=False)
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

        if self.element_type not in NUMPY_CODE:
            raise TypeError(f"an array of {self.element_type.label} has no numbers")
        code = self.encoding.order.prefix + NUMPY_CODE[self.element_type]
        return np.frombuffer(self.encoding.buffer, code, self.count, self.offset)

    def _unpack(self, start: int, count: int) -> "tuple[Scalar, ...]":
        code = f"{self.encoding.order.prefix}{count}{STRUCT_CODE[self.element_type]}"
        position = self.offset + start * SCALAR_SIZE[self.element_type]
        return struct.unpack_from(code, self.encoding.buffer, position)


Scalar = int | float
Value = Scalar | bytes | Array


@dataclass(slots=True)
class Key:
    """One metadata entry: ``offset`` is where its name's length prefix is, ``end`` one past it."""

    encoding: Encoding = field(repr=False)
    raw_name: bytes
    type: ValueType
    offset: int
    value_offset: int
    end: int
    array: Array | None = None

    @property
    def name(self) -> str:
        """The name for looking up and showing; undecodable bytes become surrogate escapes."""
        return self.raw_name.decode("utf-8", "surrogateescape")

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

    def find(self, name: str) -> Key | None:
        """The first key with this name."""
        if self._index is None:
            self._index = {}
            for key in self.keys:
                self._index.setdefault(key.name, key)
        return self._index.get(name)

    def text(self, name: str) -> str | None:
        """A string value, undecodable bytes escaped; None where absent or of another type."""
        key = self.find(name)
        if key is None or key.type is not ValueType.STRING:
            return None
        value = key.value
        assert isinstance(value, bytes)
        return value.decode("utf-8", "surrogateescape")

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
