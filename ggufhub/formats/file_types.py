"""``general.file_type``: the name a quantiser gives to a mix of tensor types.

Source: ``enum llama_ftype`` in ``include/llama.h`` and ``llama_model_ftype_name`` of llama.cpp
0c1e57098.
"""

FILE_TYPES: dict[int, str] = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    4: "Q4_1_SOME_F16",
    5: "Q4_2",
    6: "Q4_3",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    33: "Q4_0_4_4",
    34: "Q4_0_4_8",
    35: "Q4_0_8_8",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4_MOE",
    39: "NVFP4",
    40: "Q1_0",
    41: "Q2_0",
}

REMOVED_FILE_TYPES = frozenset({4, 5, 6, 33, 34, 35})
"""Numbers whose tensor types current readers refuse."""

GUESSED = 1024
"""``LLAMA_FTYPE_GUESSED``: the loader's own flag for a type it took from the tensors."""


def file_type_name(number: int) -> str:
    """``Q4_K_M`` for 15; ``file type N`` for numbers nobody defined."""
    return FILE_TYPES.get(number & ~GUESSED, f"file type {number}")
