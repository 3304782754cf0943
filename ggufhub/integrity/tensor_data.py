"""Which bytes of a file belong to which tensor, and what is wrong with the data of each."""

from dataclasses import dataclass

from ggufhub.formats.header import Header, Span, Tensor
from ggufhub.formats.model import FaultKind, TensorFault
from ggufhub.formats.tensor_types import TENSOR_TYPES
from ggufhub.formats.values import ByteOrder
from ggufhub.integrity.validity import REFUSED, BlockCheck


@dataclass(frozen=True, slots=True)
class _Row:
    """A tensor and where in the file its data is."""

    tensor: Tensor
    data: Span


class DataCheck:
    """Looks at the tensors of a GGUF file while its bytes pass in order.

    ``faults`` grows in file order. A tensor that begins inside another one is left out: such a
    table is wrong by itself, and a made-up one could have every byte looked at a million times.
    """

    def __init__(self, header: Header | None) -> None:
        self.faults: list[TensorFault] = []
        self._order = ByteOrder.LITTLE
        self._rows: list[_Row] = []
        self._next = 0
        self._check: BlockCheck | None = None
        if header is not None and header.format == "gguf" and header.data_offset is not None:
            self._order = header.byte_order or ByteOrder.LITTLE
            self._rows = _rows(header.tensors, header.data_offset)

    def feed(self, offset: int, data: memoryview) -> None:
        """Look at the bytes of the file from ``offset``, which follow those before."""
        end = offset + len(data)
        while self._next < len(self._rows):
            row = self._rows[self._next]
            if row.data.offset >= end and row.data.length:
                return
            if self._check is None:
                self._check = BlockCheck(TENSOR_TYPES[row.tensor.type], self._order)
            self._check.feed(data[max(row.data.offset - offset, 0) : max(row.data.end - offset, 0)])
            if row.data.end > end:
                return
            self._finish(row, self._check)
            self._check = None
            self._next += 1

    def _finish(self, row: _Row, check: BlockCheck) -> None:
        """Note what is wrong with a tensor of which every byte was seen."""
        first = check.first
        if check.type.name in REFUSED:
            self._note(FaultKind.REFUSED, row, row.data, 0, check.seen, check.seen)
        elif first is not None:
            kind = FaultKind.INFINITE if first.infinite else FaultKind.NAN
            span = Span(row.data.offset + first.byte, first.width)
            self._note(kind, row, span, first.index, check.bad, check.seen)
        elif check.seen and check.zero:
            self._note(FaultKind.ZERO, row, row.data, 0, check.seen, check.seen)

    def _note(
        self, kind: FaultKind, row: _Row, span: Span, block: int, blocks: int, total: int
    ) -> None:
        self.faults.append(TensorFault(kind, row.tensor, span, block, blocks, total))


def _rows(tensors: list[Tensor], start: int) -> list[_Row]:
    """The tensors in the order of their data, without those that begin inside another one."""
    rows: list[_Row] = []
    end = start
    for tensor in sorted(tensors, key=lambda tensor: tensor.offset):
        place = start + tensor.offset
        if tensor.bytes is not None and place >= end:
            rows.append(_Row(tensor, Span(place, tensor.bytes)))
            end = place + tensor.bytes
    return rows
