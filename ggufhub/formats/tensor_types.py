"""The tensor types: id, block of elements, bytes of a block.

Source of every number: ``ggml_type_traits`` in ``ggml/src/ggml.c`` of llama.cpp 0c1e57098 (ggml
0.25.3), measured from the built library; ``gguf.constants.GGML_QUANT_SIZES`` agrees on the live
types and a test compares them. Removed types keep their number and have block size 0 there.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TensorType:
    """``block`` elements are stored in ``size`` bytes; rows hold whole blocks.

    ``removed`` says what replaced a type that current readers refuse, else is empty.
    """

    id: int
    name: str
    block: int
    size: int
    removed: str = ""


TYPE_COUNT = 43
"""``GGML_TYPE_COUNT``: ids at or above it are unknown to the reference."""

_LIVE = (
    (0, "F32", 1, 4),
    (1, "F16", 1, 2),
    (2, "Q4_0", 32, 18),
    (3, "Q4_1", 32, 20),
    (6, "Q5_0", 32, 22),
    (7, "Q5_1", 32, 24),
    (8, "Q8_0", 32, 34),
    (9, "Q8_1", 32, 36),
    (10, "Q2_K", 256, 84),
    (11, "Q3_K", 256, 110),
    (12, "Q4_K", 256, 144),
    (13, "Q5_K", 256, 176),
    (14, "Q6_K", 256, 210),
    (15, "Q8_K", 256, 292),
    (16, "IQ2_XXS", 256, 66),
    (17, "IQ2_XS", 256, 74),
    (18, "IQ3_XXS", 256, 98),
    (19, "IQ1_S", 256, 50),
    (20, "IQ4_NL", 32, 18),
    (21, "IQ3_S", 256, 110),
    (22, "IQ2_S", 256, 82),
    (23, "IQ4_XS", 256, 136),
    (24, "I8", 1, 1),
    (25, "I16", 1, 2),
    (26, "I32", 1, 4),
    (27, "I64", 1, 8),
    (28, "F64", 1, 8),
    (29, "IQ1_M", 256, 56),
    (30, "BF16", 1, 2),
    (34, "TQ1_0", 256, 54),
    (35, "TQ2_0", 256, 66),
    (39, "MXFP4", 32, 17),
    (40, "NVFP4", 64, 36),
    (41, "Q1_0", 128, 18),
    (42, "Q2_0", 64, 18),
)

_REMOVED = (
    (4, "Q4_2", "Q4_0; it left with GGJT version 2"),
    (5, "Q4_3", "Q4_1; it left with GGJT version 2"),
    (31, "Q4_0_4_4", "Q4_0, which is repacked when it is loaded"),
    (32, "Q4_0_4_8", "Q4_0, which is repacked when it is loaded"),
    (33, "Q4_0_8_8", "Q4_0, which is repacked when it is loaded"),
    (36, "IQ4_NL_4_4", "IQ4_NL, which is repacked when it is loaded"),
    (37, "IQ4_NL_4_8", "IQ4_NL, which is repacked when it is loaded"),
    (38, "IQ4_NL_8_8", "IQ4_NL, which is repacked when it is loaded"),
)

TENSOR_TYPES: dict[int, TensorType] = {
    **{row[0]: TensorType(*row) for row in _LIVE},
    **{number: TensorType(number, name, 0, 0, instead) for number, name, instead in _REMOVED},
}
"""All 43 types by id."""

_IK_LLAMA = (
    (97, "Q8_0_X4"),
    (98, "Q8_1_X4"),
    (99, "Q8_2_X4"),
    (133, "Q6_0"),
    (134, "IQ1_BN"),
    (135, "IQ2_BN"),
    (136, "Q8_K64"),
    (137, "IQ2_K"),
    (138, "IQ3_K"),
    (139, "IQ4_K"),
    (140, "IQ5_K"),
    (141, "IQ6_K"),
    (142, "IQ2_TN"),
    (143, "IQ1_TN"),
    (144, "IQ4_KS"),
    (145, "IQ2_KS"),
    (146, "IQ4_KSS"),
    (147, "Q8_K16"),
    (148, "Q8_K32"),
    (149, "Q8_KR8"),
    (150, "Q8_K128"),
    (151, "Q8_KV"),
    (152, "IQ5_KS"),
    (153, "IQ2_KT"),
    (154, "IQ3_KT"),
    (155, "IQ4_KT"),
    (156, "IQ3_KS"),
    (157, "IQ2_KL"),
    (158, "IQ1_KT"),
    (202, "Q4_0_R8"),
    (206, "Q5_0_R4"),
    (208, "Q8_0_R8"),
    (210, "Q2_K_R4"),
    (211, "Q3_K_R4"),
    (212, "Q4_K_R4"),
    (213, "Q5_K_R4"),
    (214, "Q6_K_R4"),
    (216, "IQ2_XXS_R4"),
    (217, "IQ2_XS_R4"),
    (218, "IQ3_XXS_R4"),
    (219, "IQ1_S_R4"),
    (220, "IQ4_NL_R4"),
    (221, "IQ3_S_R4"),
    (222, "IQ2_S_R4"),
    (223, "IQ4_XS_R8"),
    (229, "IQ1_M_R4"),
    (230, "BF16_R16"),
    (233, "Q6_0_R4"),
    (335, "IQ2_BN_R4"),
    (337, "IQ2_K_R4"),
    (338, "IQ3_K_R4"),
    (339, "IQ4_K_R4"),
    (340, "IQ5_K_R4"),
    (344, "IQ4_KS_R4"),
    (352, "IQ5_KS_R4"),
    (353, "MXFP4_R8"),
    (397, "Q8_K_R16"),
    (398, "Q8_KV_R8"),
    (399, "Q8_K_R8"),
)

FORK_TYPES: dict[int, tuple[str, str]] = {
    36: ("I2_S", "BitNet"),
    **{number: (name, "ik_llama.cpp") for number, name in _IK_LLAMA},
}
"""Numbers that forks use for types of their own, with the program that reads them.

Source: ``ggml/include/ggml.h`` of ik_llama.cpp, which also names BitNet's reuse of 36.
"""


def type_name(number: int) -> str:
    """``Q4_K`` for 12; a fork's name or ``type N`` for numbers the reference does not know."""
    known = TENSOR_TYPES.get(number)
    if known is not None:
        return known.name
    fork = FORK_TYPES.get(number)
    return f"type {number}" if fork is None else fork[0]


def tensor_bytes(number: int, elements: int, row: int) -> int | None:
    """Exact bytes of ``elements`` in rows of ``row``; None where the type or the row forbids it."""
    known = TENSOR_TYPES.get(number)
    if known is None or known.block == 0 or row % known.block:
        return None
    return elements // known.block * known.size
