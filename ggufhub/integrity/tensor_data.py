"""What is in the data of tensors: faults, and what is worth knowing about each."""

from ggufhub.formats.header import Header, Span
from ggufhub.formats.model import FaultKind, TensorData, TensorFault
from ggufhub.formats.tensor_types import TENSOR_TYPES
from ggufhub.formats.values import ByteOrder
from ggufhub.integrity.rows import Piece, Row, Walk
from ggufhub.integrity.sampling import MOST_TENSORS, Sampler
from ggufhub.integrity.validity import REFUSED, BlockCheck


class DataCheck:
    """Looks at the tensors of a GGUF file while its bytes pass in order.

    ``faults`` and ``data`` grow in file order; the digests in ``data`` are put in by the reader.
    """

    def __init__(self, header: Header | None, rows: list[Row]) -> None:
        self.faults: list[TensorFault] = []
        self.data: list[TensorData] = []
        self.walk = Walk(rows)
        self._order = (header.byte_order if header else None) or ByteOrder.LITTLE
        self._check: BlockCheck | None = None
        self._sampler: Sampler | None = None

    def feed(self, offset: int, data: memoryview) -> None:
        """Look at the bytes of the file from ``offset``, which follow those before."""
        for piece in self.walk.pieces(offset, data):
            self._look(piece)

    def resume(self, faults: list[TensorFault], data: list[TensorData]) -> None:
        """Go on after as many tensors as there are ``data``."""
        self.faults, self.data = list(faults), list(data)
        self.walk.next = len(data)

    def _look(self, piece: Piece) -> None:
        tensor = piece.row.tensor
        if self._check is None:
            kind = TENSOR_TYPES[tensor.type]
            columns = tensor.shape[0] if tensor.shape else 1
            self._check = BlockCheck(kind, self._order, columns)
            total = (tensor.bytes or 0) // kind.size
            sampled = len(self.data) < MOST_TENSORS
            self._sampler = Sampler(kind, self._order, total) if sampled else None
        self._check.feed(piece.data, self._sampler.see if self._sampler else None)
        if piece.last:
            self._finish(piece.row, self._check)
            self._check = self._sampler = None

    def _finish(self, row: Row, check: BlockCheck) -> None:
        """Note what there is to say of a tensor of which every byte was seen."""
        first = check.first
        if check.type.name in REFUSED:
            self._note(FaultKind.REFUSED, row, row.data, 0, check.seen, check.seen)
        elif first is not None:
            kind = FaultKind.INFINITE if first.infinite else FaultKind.NAN
            span = Span(row.data.offset + first.byte, first.width)
            self._note(kind, row, span, first.index, check.bad, check.seen)
        elif check.seen and check.zero:
            self._note(FaultKind.ZERO, row, row.data, 0, check.seen, check.seen)
        self.data.append(
            TensorData(
                tensor=row.tensor,
                digests={},
                blocks=check.seen,
                zero_blocks=check.zero_blocks if check.counts_zeros else None,
                scales=check.scales,
                rows=row.tensor.elements // max(check.columns, 1),
                constant_rows=check.constant_rows if check.by_rows else None,
                sample=self._sampler.sample() if self._sampler else None,
            )
        )

    def _note(
        self, kind: FaultKind, row: Row, span: Span, block: int, blocks: int, total: int
    ) -> None:
        self.faults.append(TensorFault(kind, row.tensor, span, block, blocks, total))
