"""The table of tensor types against the reference's own."""

import pytest
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType, LlamaFileType

from ggufhub.formats.file_types import FILE_TYPES, GUESSED, REMOVED_FILE_TYPES, file_type_name
from ggufhub.formats.tensor_types import TENSOR_TYPES, TYPE_COUNT, tensor_bytes, type_name


def test_live_types_agree_with_the_reference() -> None:
    newer = {41, 42}  # Q1_0 and Q2_0 came after the packaged reference was cut
    live = {number for number, entry in TENSOR_TYPES.items() if not entry.removed}
    reference = {kind.value for kind in GGML_QUANT_SIZES}
    assert live - newer <= reference | newer
    assert reference <= live
    for kind, (block, size) in GGML_QUANT_SIZES.items():
        entry = TENSOR_TYPES[kind.value]
        if entry.name == "Q8_1":
            size -= 4  # gguf-py counts two floats; block_q8_1 in ggml-common.h holds two halves
        assert (entry.name, entry.block, entry.size) == (kind.name, block, size)


def test_every_number_below_the_count_is_known() -> None:
    assert set(TENSOR_TYPES) == set(range(TYPE_COUNT))
    assert {kind.value for kind in GGMLQuantizationType} <= set(TENSOR_TYPES)


def test_removed_types_have_no_size() -> None:
    removed = [entry for entry in TENSOR_TYPES.values() if entry.removed]
    assert [entry.id for entry in removed] == [4, 5, 31, 32, 33, 36, 37, 38]
    assert all(tensor_bytes(entry.id, 256, 256) is None for entry in removed)


@pytest.mark.parametrize(
    ("number", "name"), [(12, "Q4_K"), (31, "Q4_0_4_4"), (138, "IQ3_K"), (77, "type 77")]
)
def test_types_have_names(number: int, name: str) -> None:
    assert type_name(number) == name


def test_sizes_never_wrap() -> None:
    elements = 1024819115206086208  # times 18 wraps to 4 in 64 bits: a published attack
    assert tensor_bytes(2, elements, elements) == elements // 32 * 18


def test_file_types_agree_with_the_reference() -> None:
    prefixes = ("MOSTLY_", "ALL_")
    for kind in LlamaFileType:
        if kind.name == "GUESSED" or kind.value in REMOVED_FILE_TYPES:
            continue
        name = kind.name
        for prefix in prefixes:
            name = name.removeprefix(prefix)
        assert FILE_TYPES[kind.value] == name
    assert file_type_name(15 | GUESSED) == "Q4_K_M"
    assert file_type_name(999) == "file type 999"
