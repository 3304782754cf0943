"""Block sizes as they were when a file was written.

Quantised blocks kept their numbers while their sizes changed: 32-bit scales became 16-bit ones
with GGJT version 3. Sources: struct definitions in the history of ``ggml.c``; ``ggml/src/ggml.c``
of llama.cpp 0c1e57098 for the current sizes; ``rwkv.cpp`` for its own numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from ggufhub.formats.tensor_types import TENSOR_TYPES

Block = tuple[int, int]
"""Elements in a block, bytes of a block."""


@dataclass(frozen=True, slots=True)
class Era:
    """The tensor types of one time: block by type id.

    ``numbers`` translates the numbers in the file into type ids where a program has its own.
    """

    blocks: Mapping[int, Block]
    numbers: Mapping[int, int] = field(default_factory=dict)

    def type_of(self, number: int) -> int:
        """The type id behind a number in the file."""
        return self.numbers.get(number, number)

    def bytes_of(self, type_id: int, shape: tuple[int, ...]) -> int | None:
        """Exact bytes of a tensor; None for a type or a row that this era does not have."""
        block = self.blocks.get(type_id)
        if block is None or (shape[0] if shape else 1) % block[0]:
            return None
        return prod(shape) // block[0] * block[1]


_FLOATS: dict[int, Block] = {0: (1, 4), 1: (1, 2)}
_WIDE: dict[int, Block] = {
    **_FLOATS,
    2: (32, 20),  # Q4_0: float d
    3: (32, 24),  # Q4_1: float d, m
    6: (32, 22),  # Q5_0
    7: (32, 24),  # Q5_1
    8: (32, 36),  # Q8_0: float d
}

BEFORE_GGJT_2 = Era({**_WIDE, 4: (16, 10), 5: (16, 12)})
"""GGML, GGMF and GGJT version 1, with Q4_2 and Q4_3."""

APRIL_2023 = Era({**BEFORE_GGJT_2.blocks, 8: (32, 44)})
"""The same, with the sums that Q8_0 carried for a few days in late April 2023."""

GGJT_2 = Era(_WIDE)

GGJT_3 = Era(
    {
        **_FLOATS,
        2: (32, 18),
        3: (32, 20),
        6: (32, 22),
        7: (32, 24),
        8: (32, 34),
        10: (256, 84),
        11: (256, 110),
        12: (256, 144),
        13: (256, 176),
        14: (256, 210),
    }
)

CURRENT = Era(
    {number: (known.block, known.size) for number, known in TENSOR_TYPES.items() if known.block}
)

_RWKV_NUMBERS = {4: -1, 5: 4, 6: 5, 7: 6, 8: 7, 9: 8}
"""``enum rwkv_type``: 4 was a type of its own (Q4_1_O), so those after it are one further on."""

_RWKV = {number: block for number, block in CURRENT.blocks.items() if number <= 8}
RWKV_ERAS = (Era(_RWKV, _RWKV_NUMBERS), Era(BEFORE_GGJT_2.blocks, _RWKV_NUMBERS))


def program_eras(ftype: int | None) -> tuple[Era, ...]:
    """Eras that a file with this ``ftype`` can be of, the likeliest first.

    Programs built on ggml write ``1000 x version of the quantisation + type``
    (``GGML_QNT_VERSION_FACTOR``); version 2 came with the blocks of GGJT version 3. A file
    without the number is of today.
    """
    return (CURRENT,) if ftype is None or ftype >= 2000 else (BEFORE_GGJT_2, APRIL_2023)
