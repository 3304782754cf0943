"""Whether the blocks of a tensor hold numbers: what ``ggml_validate_row_data`` looks at, in numpy.

The reference (``ggml/src/ggml-quants.c`` of llama.cpp 0c1e57098) looks at the scales of a block
and at the values of float types, never at quants, grids or sub-scales. Every number it looks at
is read here as an unsigned integer without its sign: it is infinite or no number from a known
value on, which is one comparison for a whole array.
"""

from dataclasses import dataclass, field

import numpy as np

from ggufhub.formats.tensor_types import TensorType
from ggufhub.formats.values import ByteOrder
from ggufhub.limits import KIB

PIECE = 256 * KIB
"""Bytes looked at in one go: numpy's intermediate arrays then stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Number:
    """A kind of number: ``width`` bytes, of which ``mask`` leaves out the sign.

    From ``least`` on the bits are refused; above ``infinity`` they are no number.
    """

    width: int
    mask: int
    least: int
    infinity: int


F16 = Number(2, 0x7FFF, 0x7C00, 0x7C00)
BF16 = Number(2, 0x7FFF, 0x7F80, 0x7F80)
F32 = Number(4, 0x7FFF_FFFF, 0x7F80_0000, 0x7F80_0000)
F64 = Number(8, 0x7FFF_FFFF_FFFF_FFFF, 0x47EF_FFFF_F000_0000, 0x7FF0_0000_0000_0000)
"""The reference narrows to float first, so what rounds beyond the largest float is infinite."""

E8M0 = Number(1, 0xFF, 0xFF, 0xFE)
"""The exponent byte of MXFP4: it has no infinity, and 255 is no number."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Where in a block a number is. ``nibbles``: it is spread over the tops of four 16-bit words,
    as in IQ1_M."""

    number: Number
    at: int = 0
    nibbles: bool = False

    def bits(self, blocks: np.ndarray, order: ByteOrder) -> np.ndarray:
        """The number of every block (rows of bytes) as an unsigned integer."""
        if self.nibbles:
            words = blocks[:, self.at : self.at + 8].copy().view(f"{order.prefix}u2")
            parts = (words[:, 0] >> 12, words[:, 1] >> 8 & 0xF0, words[:, 2] >> 4 & 0xF00)
            return parts[0] | parts[1] | parts[2] | words[:, 3] & 0xF000
        code = f"{order.prefix}u{self.number.width}"
        kind = np.dtype(
            {"names": ["n"], "formats": [code], "offsets": [self.at], "itemsize": blocks.shape[1]}
        )
        return blocks.view(kind)["n"][:, 0]

    def wrong(self, blocks: np.ndarray, order: ByteOrder) -> np.ndarray:
        """For each block whether the number is infinite or none."""
        return (self.bits(blocks, order) & self.number.mask) >= self.number.least


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


@dataclass(slots=True)
class BlockCheck:
    """Looks at the data of one tensor while it passes, in pieces of any size.

    ``bad`` counts wrong blocks among the ``seen``; ``zero`` stays True as long as every byte was
    zero; ``rest`` holds the bytes of a block that is not whole yet.
    """

    type: TensorType
    order: ByteOrder
    seen: int = 0
    bad: int = 0
    first: BadBlock | None = None
    zero: bool = True
    rest: bytes = field(default=b"", repr=False)

    @property
    def valid(self) -> bool:
        """What the reference would say of the data so far."""
        return self.bad == 0 and not self.rest and self.type.name not in REFUSED

    def feed(self, data: memoryview) -> None:
        """Look at the next bytes of the tensor."""
        size = self.type.size
        if self.rest:
            missing = size - len(self.rest)
            self.rest += data[:missing]
            if len(self.rest) < size:
                return
            self._look(memoryview(self.rest))
            data = data[missing:]
        whole = len(data) - len(data) % size
        step = PIECE // size * size
        for at in range(0, whole, step):
            self._look(data[at : min(at + step, whole)])
        self.rest = bytes(data[whole:])

    def _look(self, data: memoryview) -> None:
        """Look at whole blocks."""
        blocks = np.frombuffer(data, np.uint8).reshape(-1, self.type.size)
        if self.zero:
            self.zero = not blocks.any()
        scales = SCALES.get(self.type.name, ())
        wrong = [scale.wrong(blocks, self.order) for scale in scales]
        if any(column.any() for column in wrong):
            either = np.logical_or.reduce(wrong)
            self.bad += int(either.sum())
            if self.first is None:
                self.first = self._describe(blocks, int(either.argmax()))
        self.seen += len(blocks)

    def _describe(self, blocks: np.ndarray, index: int) -> BadBlock:
        """The wrong block at ``index`` of this piece; of two wrong numbers the first counts."""
        block = blocks[index : index + 1]
        scales = SCALES[self.type.name]
        scale = next(scale for scale in scales if scale.wrong(block, self.order)[0])
        bits = int(scale.bits(block, self.order)[0]) & scale.number.mask
        return BadBlock(
            index=self.seen + index,
            byte=(self.seen + index) * self.type.size + scale.at,
            width=8 if scale.nibbles else scale.number.width,
            infinite=bits <= scale.number.infinity,
        )
