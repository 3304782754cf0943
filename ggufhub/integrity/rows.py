"""Which bytes of a file belong to which tensor, while the file passes in order."""

from collections.abc import Iterator
from dataclasses import dataclass

from ggufhub.formats.header import Header, Span, Tensor


@dataclass(frozen=True, slots=True)
class Row:
    """A tensor, its index in the tensor table, and where in the file its data is."""

    index: int
    tensor: Tensor
    data: Span


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of the data of one tensor; ``last`` where no more of it follow."""

    row: Row
    data: memoryview
    last: bool


def data_rows(header: Header | None) -> list[Row]:
    """The tensors of a GGUF file in the order of their data.

    Those that begin inside another one are left out: such a table is wrong by itself, and a
    made-up one could have every byte looked at a million times.
    """
    if header is None or header.format != "gguf" or header.data_offset is None:
        return []
    rows: list[Row] = []
    end = start = header.data_offset
    for index, tensor in sorted(enumerate(header.tensors), key=lambda row: row[1].offset):
        place = start + tensor.offset
        if tensor.bytes is not None and place >= end:
            rows.append(Row(index, tensor, Span(place, tensor.bytes)))
            end = place + tensor.bytes
    return rows


def in_table_order(rows: list[Row], header: Header) -> bool:
    """Whether the data of all tensors follows in the order of the tensor table."""
    return [row.index for row in rows] == list(range(len(header.tensors)))


class Walk:
    """Goes through the rows as bytes of the file are handed in. ``next`` is the row that is
    being read or comes next."""

    def __init__(self, rows: list[Row], passed: int = 0) -> None:
        self.rows = rows
        self.next = passed

    def pieces(self, offset: int, data: memoryview) -> Iterator[Piece]:
        """The parts of tensors in the bytes of the file from ``offset``, which follow those
        handed in before."""
        end = offset + len(data)
        while self.next < len(self.rows):
            row = self.rows[self.next]
            if row.data.offset >= end and row.data.length:
                return
            last = row.data.end <= end
            part = data[max(row.data.offset - offset, 0) : max(row.data.end - offset, 0)]
            self.next += last
            yield Piece(row, part, last)
            if not last:
                return

    def pause(self, offset: int) -> int:
        """Where after ``offset``, up to which all was handed in, no tensor is half read."""
        if self.next < len(self.rows) and self.rows[self.next].data.offset < offset:
            return self.rows[self.next].data.end
        return offset
