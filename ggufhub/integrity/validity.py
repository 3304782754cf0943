"""Whether the blocks of a tensor hold numbers: what ``ggml_validate_row_data`` looks at, in numpy.

The reference (``ggml/src/ggml-quants.c`` of llama.cpp 0c1e57098) looks at the scales of a block
and at the values of float types, never at quants, grids or sub-scales. Every number it looks at
is read here as an unsigned integer without its sign: it is infinite or no number from a known
value on, which is one comparison for a whole array.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ggufhub.formats.tensor_types import TensorType
from ggufhub.formats.values import ByteOrder
from ggufhub.limits import KIB

Seen = Callable[[int, np.ndarray], None]
"""Gets the index of the first of some whole blocks, and the blocks as rows of bytes."""

PIECE = 256 * KIB
"""Bytes looked at in one go: numpy's intermediate arrays then stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Number:
    """A kind of number: ``width`` bytes, of which ``mask`` leaves out the sign.

    From ``least`` on the bits are refused; above ``infinity`` they are no number. ``zero`` tells
    whether bits of zero are the number zero.
    """

    width: int
    mask: int
    least: int
    infinity: int
    zero: bool = True

    def value(self, bits: int) -> float:
        """The magnitude that ``bits`` stand for."""
        if self is E8M0:
            return float(2.0 ** (bits - 127))
        if self is BF16:
            return float(np.uint32(bits << 16).view(np.float32))
        return float(np.array([bits], f"u{self.width}").view(f"f{self.width}")[0])


F16 = Number(2, 0x7FFF, 0x7C00, 0x7C00)
BF16 = Number(2, 0x7FFF, 0x7F80, 0x7F80)
F32 = Number(4, 0x7FFF_FFFF, 0x7F80_0000, 0x7F80_0000)
F64 = Number(8, 0x7FFF_FFFF_FFFF_FFFF, 0x47EF_FFFF_F000_0000, 0x7FF0_0000_0000_0000)
"""The reference narrows to float first, so what rounds beyond the largest float is infinite."""

E8M0 = Number(1, 0xFF, 0xFF, 0xFE, zero=False)
"""The exponent byte of MXFP4: it has no infinity, and 255 is no number."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Where in a block a number is. ``nibbles``: it is spread over the tops of four 16-bit words,
    as in IQ1_M."""

    number: Number
    at: int = 0
    nibbles: bool = False

    def bits(self, blocks: np.ndarray, order: ByteOrder) -> np.ndarray:
        """The number of every block (rows of bytes) as an unsigned integer, without its sign."""
        if self.nibbles:
            words = blocks[:, self.at : self.at + 8].copy().view(f"{order.prefix}u2")
            parts = (words[:, 0] >> 12, words[:, 1] >> 8 & 0xF0, words[:, 2] >> 4 & 0xF00)
            return (parts[0] | parts[1] | parts[2] | words[:, 3] & 0xF000) & self.number.mask
        code = f"{order.prefix}u{self.number.width}"
        kind = np.dtype(
            {"names": ["n"], "formats": [code], "offsets": [self.at], "itemsize": blocks.shape[1]}
        )
        return blocks.view(kind)["n"][:, 0] & self.number.mask


_D = (Scale(F16),)
_D_AND_M = (Scale(F16), Scale(F16, 2))

SCALES: dict[str, tuple[Scale, ...]] = {
    "F32": (Scale(F32),),
    "F16": _D,
    "BF16": (Scale(BF16),),
    "F64": (Scale(F64),),
    **dict.fromkeys(("Q4_0", "Q5_0", "Q8_0", "Q1_0", "Q2_0"), _D),
    **dict.fromkeys(("Q4_1", "Q5_1", "Q4_K", "Q5_K"), _D_AND_M),
    "Q2_K": (Scale(F16, 80), Scale(F16, 82)),
    "Q3_K": (Scale(F16, 108),),
    "Q6_K": (Scale(F16, 208),),
    "Q8_K": (Scale(F32),),
    **dict.fromkeys(("IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"), _D),
    **dict.fromkeys(("IQ1_S", "IQ4_NL", "IQ4_XS"), _D),
    "IQ1_M": (Scale(F16, 48, nibbles=True),),
    "TQ1_0": (Scale(F16, 52),),
    "TQ2_0": (Scale(F16, 64),),
    "MXFP4": (Scale(E8M0),),
}
"""What the reference looks at, by type. It takes integers and NVFP4 as they are."""

REFUSED = frozenset({"Q8_1"})
"""Live types the reference has no rule for, which to it means that no block of theirs is valid."""


@dataclass(frozen=True, slots=True)
class BadBlock:
    """The first wrong block: its index, the byte of the tensor's data its number starts at, the
    width of that number in bytes, and whether it is infinite (else it is no number)."""

    index: int
    byte: int
    width: int
    infinite: bool


SHORT_ROW = 32
"""Elements below which a row that holds one value says nothing: the smallest block has as many."""


@dataclass(slots=True)
class BlockCheck:
    """Looks at the data of one tensor while it passes, in pieces of any size.

    ``columns`` are the elements of one row. ``bad`` counts wrong blocks among the ``seen``;
    ``zero`` stays True as long as every byte was zero; ``zero_blocks`` and ``constant_rows`` count
    as ``TensorData`` says. ``least`` and ``most`` are the bits of the smallest and the largest
    scale; ``rest`` holds the bytes of a block or row that is not whole yet.
    """

    type: TensorType
    order: ByteOrder
    columns: int = 0
    seen: int = 0
    bad: int = 0
    first: BadBlock | None = None
    zero: bool = True
    zero_blocks: int = 0
    constant_rows: int = 0
    least: int | None = None
    most: int = 0
    rest: bytes = field(default=b"", repr=False)

    @property
    def valid(self) -> bool:
        """What the reference would say of the data so far."""
        return self.bad == 0 and not self.rest and self.type.name not in REFUSED

    @property
    def counts_zeros(self) -> bool:
        """Whether the type has a scale, or values, that can be zero."""
        scales = SCALES.get(self.type.name)
        return bool(scales) and all(scale.number.zero for scale in scales or ())

    @property
    def by_rows(self) -> bool:
        """Whether rows are looked at as such: they are long enough to tell, and fit in a piece."""
        return self.counts_zeros and self.columns >= SHORT_ROW and self._row <= PIECE

    @property
    def scales(self) -> tuple[float, float] | None:
        """The least and the largest magnitude of a scale; None where one is wrong or none is."""
        if self.least is None or self.bad:
            return None
        number = SCALES[self.type.name][0].number
        return number.value(self.least), number.value(self.most)

    @property
    def _row(self) -> int:
        """Bytes of one row."""
        return self.columns // self.type.block * self.type.size

    def feed(self, data: memoryview, seen: Seen | None = None) -> None:
        """Look at the next bytes of the tensor. ``seen`` gets every piece of whole blocks."""
        unit = self._row if self.by_rows else self.type.size
        if self.rest:
            missing = unit - len(self.rest)
            self.rest += data[:missing]
            if len(self.rest) < unit:
                return
            self._look(memoryview(self.rest), seen)
            data = data[missing:]
        whole = len(data) - len(data) % unit
        step = PIECE // unit * unit
        for at in range(0, whole, step):
            self._look(data[at : min(at + step, whole)], seen)
        self.rest = bytes(data[whole:])

    def _look(self, data: memoryview, seen: Seen | None) -> None:
        """Look at whole blocks."""
        blocks = np.frombuffer(data, np.uint8).reshape(-1, self.type.size)
        if self.zero:
            self.zero = not blocks.any()
        if seen is not None:
            seen(self.seen, blocks)
        scales = SCALES.get(self.type.name, ())
        if scales and len(blocks):
            self._weigh(blocks, [scale.bits(blocks, self.order) for scale in scales])
        self.seen += len(blocks)

    def _weigh(self, blocks: np.ndarray, columns: list[np.ndarray]) -> None:
        """Look at the numbers of whole blocks, one column for each number of a block."""
        number = SCALES[self.type.name][0].number
        least, most = int(columns[0].min()), int(columns[0].max())
        self.least = least if self.least is None else min(self.least, least)
        self.most = max(self.most, most)
        if max(most, *(int(column.max()) for column in columns)) >= number.least:
            either = np.logical_or.reduce([column >= number.least for column in columns])
            self.bad += int(either.sum())
            if self.first is None:
                self.first = self._describe(blocks, int(either.argmax()))
        if self.counts_zeros and least == 0:
            self._count_zeros(np.logical_and.reduce([column == 0 for column in columns]))
        if self.by_rows and self.type.block == 1:
            self._count_constant(blocks.view(f"u{number.width}").reshape(-1, self.columns))

    def _count_zeros(self, zero: np.ndarray) -> None:
        self.zero_blocks += int(zero.sum())
        if self.by_rows and self.type.block > 1:
            per_row = self.columns // self.type.block
            self.constant_rows += int(zero.reshape(-1, per_row).all(1).sum())

    def _count_constant(self, rows: np.ndarray) -> None:
        """Count rows of one value; three of each tell whether the rest is worth a look."""
        first, middle, last = rows[:, 0], rows[:, rows.shape[1] // 2], rows[:, -1]
        alike = rows[(first == middle) & (first == last)]
        self.constant_rows += int((alike == alike[:, :1]).all(1).sum())

    def _describe(self, blocks: np.ndarray, index: int) -> BadBlock:
        """The wrong block at ``index`` of this piece; of two wrong numbers the first counts."""
        block = blocks[index : index + 1]
        found = [(scale, int(scale.bits(block, self.order)[0])) for scale in SCALES[self.type.name]]
        scale, bits = next(one for one in found if one[1] >= one[0].number.least)
        return BadBlock(
            index=self.seen + index,
            byte=(self.seen + index) * self.type.size + scale.at,
            width=8 if scale.nibbles else scale.number.width,
            infinite=bits <= scale.number.infinity,
        )
