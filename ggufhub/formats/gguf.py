"""Read a GGUF header: versions 1 to 3, both byte orders, as far as the bytes allow.

Layout: ``docs/gguf.md`` of the ggml repository; version 1 as in ggml commit ea9193f0. The order of
reading, and what ends it, follow ``ggml/src/gguf.cpp`` of llama.cpp 0c1e57098. What that
reader refuses but can be stepped over (duplicates, odd names, unknown tensor types, …) is read
and left to the rules.
"""

import struct
from array import array
from math import prod
from typing import TYPE_CHECKING

from ggufhub.errors import LimitExceeded, SourceError
from ggufhub.formats.cursor import Cursor, Halt
from ggufhub.formats.forecast import TENSOR_ROW, Forecast
from ggufhub.formats.header import (
    DEFAULT_ALIGNMENT,
    Array,
    Header,
    Key,
    Span,
    Stop,
    StopReason,
    Tensor,
    no_starts,
)
from ggufhub.formats.tensor_types import tensor_bytes
from ggufhub.formats.values import SCALAR_SIZE, ByteOrder, ValueType, type_label, value_type
from ggufhub.sources.window import Window

if TYPE_CHECKING:
    import numpy as np

NEWEST_VERSION = 3
REFERENCE_ARRAY_MAX = 1 << 30
"""``GGUF_MAX_ARRAY_ELEMENTS`` in ``ggml/src/gguf.cpp``."""

FEW_STRINGS = 2_000
"""Below this many strings a plain loop is quicker than importing numpy (0.1 s of CPU)."""

NESTED_ARRAYS = 65_536
"""Inner arrays read in one file; the reference refuses the first one."""


def read_gguf(window: Window) -> Header:
    """Read the header in ``window``. Raises only ``SourceError``; all else is in the Header."""
    header = Header("gguf", window.size)
    try:
        cursor = _start(window, header)
        _read_keys(cursor, header)
        _read_tensors(cursor, header)
        _find_data(cursor, header)
    except Halt as halt:
        header.stop = halt.stop
    except LimitExceeded as limit:
        header.limit = limit
    except SourceError as error:
        if error.limit is None:
            raise
        header.limit = error.limit
    header.size = window.size
    return header


def _start(window: Window, header: Header) -> Cursor:
    """Magic, version, byte order, counts."""
    if not window.ensure(8):
        size = window.size or 0
        stop = Stop(
            StopReason.TOO_SHORT,
            f"The file has {size} bytes, too few for a header.",
            Span(0, size),
            expected="at least 24 bytes",
            actual=f"{size} bytes",
        )
        raise Halt(stop)
    order, version = _version(bytes(window.buffer[4:8]))
    header.byte_order, header.version = order, version
    cursor = Cursor(window, order, 4 if version == 1 else 8, 8)
    if not 1 <= version <= NEWEST_VERSION:
        raise cursor.halt(
            StopReason.VERSION,
            f"Version {version} does not exist.",
            Span(4, 4),
            expected=f"1 to {NEWEST_VERSION}",
            actual=str(version),
        )
    header.tensor_count = cursor.count("the number of tensors")
    header.kv_count = cursor.count("the number of keys")
    _check_counts(cursor, header)
    return cursor


def _version(word: bytes) -> tuple[ByteOrder, int]:
    """Byte order and version; a low half of zero means the other order (``gguf.cpp``)."""
    little = int.from_bytes(word, "little")
    if little & 0xFFFF or little == 0:
        return ByteOrder.LITTLE, little
    return ByteOrder.BIG, int.from_bytes(word, "big")


def _check_counts(cursor: Cursor, header: Header) -> None:
    """Refuse counts whose smallest possible records do not fit into the file."""
    assert header.kv_count is not None and header.tensor_count is not None
    width = cursor.prefix
    smallest_key = width + 1 + 4 + 1  # length, one byte of name, type, one byte of value
    smallest_tensor = width + 4 + 4 + 8  # length, no name, number of dimensions, type, offset
    left = cursor.window.left_after(cursor.position)
    for count, smallest, what, at in (
        (header.tensor_count, smallest_tensor, "tensors", 8),
        (header.kv_count, smallest_key, "keys", 8 + width),
    ):
        fits = (left if left is not None else 1 << 62) // smallest
        if count > fits:
            raise cursor.halt(
                StopReason.COUNT,
                f"The header announces {count:,} {what}, but the file is too small for them.",
                Span(at, width),
                expected=f"at most {fits:,} {what} in this file",
                actual=f"{count:,} {what}",
            )
    limits = cursor.window.limits
    if header.kv_count > limits.keys:
        raise LimitExceeded("keys", limits.keys, header.kv_count)
    if header.tensor_count > limits.tensors:
        raise LimitExceeded("tensors", limits.tensors, header.tensor_count)


def _read_keys(cursor: Cursor, header: Header) -> None:
    forecast = Forecast(header.tensor_count or 0)
    arrays = _ArrayReader(cursor, forecast)
    for number in range(1, (header.kv_count or 0) + 1):
        offset = cursor.position
        cursor.key = None
        name = cursor.name(f"the name of key {number}")
        cursor.key = name.decode("utf-8", "surrogateescape")
        kind = _read_type(cursor, "value", allow_array=True)
        value_offset = cursor.position
        value = None
        if kind is ValueType.ARRAY:
            value = arrays.read(1)
        elif kind is ValueType.STRING:
            cursor.skip_string("the value")
        else:
            cursor.need(SCALAR_SIZE[kind], "the value")
            cursor.position += SCALAR_SIZE[kind]
        key = Key(cursor.encoding, name, kind, offset, value_offset, cursor.position, value)
        header.keys.append(key)
        forecast.seen(key)
    cursor.key = None
    header.keys_end = cursor.position


def _read_type(cursor: Cursor, what: str, *, allow_array: bool) -> ValueType:
    at = cursor.position
    number = cursor.u32(f"the {what} type")
    kind = value_type(number)
    if kind is None or (kind is ValueType.ARRAY and not allow_array):
        raise cursor.halt(
            StopReason.VALUE_TYPE,
            f"The {what} type is {number}, which does not exist.",
            Span(at, 4),
            expected="0 to 12",
            actual=type_label(number),
        )
    return kind


class _ArrayReader:
    """Reads array values, nested ones included; all arrays of one file share its budgets."""

    def __init__(self, cursor: Cursor, forecast: Forecast) -> None:
        self.cursor = cursor
        self._forecast = forecast
        self._inner = 0
        self._elements = 0

    def read(self, depth: int) -> Array:
        cursor = self.cursor
        limits = cursor.window.limits
        element = _read_type(cursor, "element", allow_array=True)
        count_at = cursor.position
        count = cursor.count("the number of elements")
        self._check_count(count, element, count_at)
        if depth == 1:
            cursor.rest, cursor.echo = self._forecast.after(cursor.key, count)
        value = Array(cursor.encoding, element, count, cursor.position, cursor.position)
        if element is ValueType.ARRAY:
            self._inner += count
            if self._inner > NESTED_ARRAYS or depth >= limits.nesting:
                raise cursor.halt(  # the reference refuses any nesting, so this decides it
                    StopReason.VALUE_TYPE,
                    f"Arrays of arrays go deeper than {limits.nesting} or hold more than "
                    f"{NESTED_ARRAYS:,}; reading stops here.",
                    Span(count_at, cursor.prefix),
                    expected="an array of scalars or strings",
                    actual="arrays of arrays",
                )
            value.children = [self.read(depth + 1) for _ in range(count)]
        elif element is ValueType.STRING:
            value.starts = _string_starts(cursor, count)
        else:
            size = count * SCALAR_SIZE[element]
            cursor.need(size, "the elements")
            cursor.position += size
        value.end = cursor.position
        return value

    def _check_count(self, count: int, element: ValueType, at: int) -> None:
        cursor = self.cursor
        left = cursor.window.left_after(cursor.position)
        smallest = SCALAR_SIZE.get(element, cursor.prefix)
        fits = REFERENCE_ARRAY_MAX if left is None else min(left // smallest, REFERENCE_ARRAY_MAX)
        if count > fits:
            raise cursor.halt(
                StopReason.LENGTH,
                f"The array announces {count:,} elements, more than the file can hold.",
                Span(at, cursor.prefix),
                expected=f"at most {fits:,} elements",
                actual=f"{count:,} elements",
            )
        allowed = cursor.window.limits.array_elements
        self._elements += count
        if self._elements > allowed:
            raise LimitExceeded("array_elements", allowed, self._elements)


def _string_starts(cursor: Cursor, count: int) -> "np.ndarray | array[int]":
    """Positions of the length prefixes of ``count`` strings; the cursor moves past them."""
    what = "a string of the array"
    if count >= FEW_STRINGS:
        from ggufhub.formats.string_index import index_strings

        return index_strings(cursor, count, what)
    starts = no_starts()
    while len(starts) < count:
        cursor.need(cursor.prefix, what)
        starts += cursor.skip_strings(count - len(starts), cursor.window.filled, what)
    cursor.need(0, what)  # the last string may reach past what has been read
    return starts


def _read_tensors(cursor: Cursor, header: Header) -> None:
    count = header.tensor_count or 0
    rows = _row_formats(cursor)
    for number in range(1, count + 1):
        offset = cursor.position
        cursor.rest = TENSOR_ROW * (count - number)
        cursor.tensor = None
        name = cursor.name(f"the name of tensor {number}")
        cursor.tensor = name.decode("utf-8", "surrogateescape")
        dimensions_at = cursor.position
        dimensions = cursor.u32("the number of dimensions")
        if dimensions > cursor.window.limits.dimensions:
            raise cursor.halt(
                StopReason.DIMENSIONS,
                f"The tensor has {dimensions:,} dimensions.",
                Span(dimensions_at, 4),
                expected="0 to 4",
                actual=f"{dimensions:,}",
            )
        row = rows[dimensions]
        cursor.need(row.size, "the tensor table")
        *shape, kind, data = row.unpack_from(cursor.window.buffer, cursor.position)
        cursor.position += row.size
        span = Span(offset, cursor.position - offset)
        size = tensor_bytes(kind, prod(shape), shape[0] if shape else 1)
        header.tensors.append(Tensor(name, tuple(shape), kind, data, span, size))
    cursor.tensor = None
    header.tables_end = cursor.position


def _row_formats(cursor: Cursor) -> list[struct.Struct]:
    """What follows the number of dimensions in a row of the table, by that number."""
    width, order = "I" if cursor.prefix == 4 else "Q", cursor.order.prefix
    most = cursor.window.limits.dimensions
    return [struct.Struct(f"{order}{width * dimensions}IQ") for dimensions in range(most + 1)]


def _find_data(cursor: Cursor, header: Header) -> None:
    """Alignment, start of the data section, and the padding before it."""
    header.alignment = _alignment(header)
    end = cursor.position
    if not header.tensors:
        header.data_offset = end  # without tensors nothing is padded (gguf.cpp)
        return
    start = end + -end % header.alignment
    header.data_offset = start
    if start - end <= cursor.window.limits.first_read and cursor.window.ensure(start):
        header.padding = bytes(cursor.window.buffer[end:start])


def _alignment(header: Header) -> int:
    """The alignment to compute with: the key where it is usable, else the default.

    The reference looks the key up as a C string, so a name with a NUL after it counts as well.
    """
    for key in header.keys:
        if key.raw_name.split(b"\0")[0] == b"general.alignment" and key.type is ValueType.UINT32:
            value = key.value
            if isinstance(value, int) and value > 0:
                return value
    return DEFAULT_ALIGNMENT
