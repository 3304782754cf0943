"""Tensors of the formats before GGUF: a small header, then the data, until the file ends.

A header is three u32 (dimensions, length of the name, type), the dimensions as u32, the name.
No count says how many there are and no field how long the data is: that follows from the type.
Limits are those of ``convert_llama_ggml_to_gguf.py`` of llama.cpp 0c1e57098.
"""

import struct
from typing import NoReturn

from ggufhub.errors import LimitExceeded
from ggufhub.formats.cursor import Halt
from ggufhub.formats.header import Header, Span, Stop, StopReason, Tensor
from ggufhub.formats.legacy.tensor_types import Era
from ggufhub.formats.tensor_types import type_name
from ggufhub.sources.pages import Pages

MOST_DIMENSIONS = 4
MOST_NAME = 4095

MOST_TENSORS = 65_536
"""The largest models of the time hold about 1,000; a file is read once for each layout tried."""

HEAD_BYTES = 12
_HEAD = struct.Struct("<3I")


def read_rows(pages: Pages, header: Header, position: int, era: Era, alignment: int) -> None:
    """Append every tensor from ``position`` on to ``header``; data begins aligned.

    Raises ``Halt`` at bytes that are no tensor, ``LimitExceeded``, and what ``pages`` raises.
    """
    allowed = min(pages.limits.tensors, MOST_TENSORS)
    reader = _RowReader(pages, header, era, alignment)
    while not pages.ended_at(position):
        if len(header.tensors) >= allowed:
            raise LimitExceeded("tensors", allowed)
        tensor = reader.read(position)
        header.tensors.append(tensor)
        assert tensor.bytes is not None
        position = tensor.offset + tensor.bytes
    header.tables_end = header.tensors[-1].span.end if header.tensors else position
    header.data_offset = 0


class _RowReader:
    """Reads one tensor header after the other."""

    def __init__(self, pages: Pages, header: Header, era: Era, alignment: int) -> None:
        self._pages = pages
        self._header = header
        self._era = era
        self._alignment = alignment

    def read(self, at: int) -> Tensor:
        head = self._pages.read(at, HEAD_BYTES)
        if len(head) < HEAD_BYTES:
            self._no_tensor(at, f"{len(head)} bytes follow {self._before()}")
        dimensions, name_length, number = _HEAD.unpack(head)
        if dimensions > MOST_DIMENSIONS or not 1 <= name_length <= MOST_NAME:
            self._no_tensor(at, f"What follows {self._before()} is no tensor")
        length = 4 * dimensions + name_length
        rest = self._pages.read(at + HEAD_BYTES, length)
        if len(rest) < length:
            message = f"The file ends inside the tensor header after {self._before()}"
            self._no_tensor(at, message, StopReason.END_OF_FILE)
        shape = struct.unpack_from(f"<{dimensions}I", rest)
        span = Span(at, HEAD_BYTES + length)
        type_id = self._era.type_of(number)
        name = rest[4 * dimensions :]
        size = self._era.bytes_of(type_id, shape)
        if size is None:
            raise _unknown_size(name, span, number, type_id, shape, self._era)
        data = span.end + -span.end % self._alignment
        return Tensor(name, shape, type_id, data, span, size)

    def _before(self) -> str:
        tensors = self._header.tensors
        return f"the tensor {tensors[-1].name}" if tensors else "the vocabulary"

    def _no_tensor(
        self, at: int, message: str, reason: StopReason = StopReason.TRAILING
    ) -> NoReturn:
        left = max((self._pages.size or at) - at, 0)
        raise Halt(
            Stop(
                reason,
                message + ".",
                Span(at, left),
                expected="a tensor, or the end of the file",
                actual=f"{left:,} bytes",
            )
        )


def _unknown_size(
    raw: bytes, span: Span, number: int, type_id: int, shape: tuple[int, ...], era: Era
) -> Halt:
    """A type that the era lacks, or a row that is not whole blocks: what follows is unreachable."""
    name = raw.decode("utf-8", "surrogateescape")
    block = era.blocks.get(type_id)
    if block is None:
        message = f"The tensor {name} has the type {number:,}, which this format does not have"
        expected = "one of " + ", ".join(type_name(known) for known in sorted(era.blocks))
        actual = f"{number:,}"
    else:
        message = f"The rows of {name} are not whole blocks of {type_name(type_id)}"
        expected = f"rows of a multiple of {block[0]} elements"
        actual = f"{shape[0] if shape else 1:,} elements"
    message += "; nothing after it can be read."
    return Halt(Stop(StopReason.TENSOR_TYPE, message, span, None, name, expected, actual))
