"""Validity of tensor data: agreement with the reference, both byte orders, places of faults."""

import struct
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggufhub.formats.tensor_types import TENSOR_TYPES
from ggufhub.formats.values import ByteOrder
from ggufhub.integrity.validity import PIECE, REFUSED, SCALES, BadBlock, BlockCheck
from ggufhub.report.build import inspect
from ggufhub.rules.policy import Policy
from ggufhub.sources.file import FileSource
from tests.corpus import needs_corpus, verdicts

TYPES = {kind.name: kind for kind in TENSOR_TYPES.values() if kind.block}
JUDGED = [name for name in SCALES if name != "IQ1_M"]
LITTLE, BIG = ByteOrder.LITTLE, ByteOrder.BIG


def look(name: str, data: bytes, order: ByteOrder = LITTLE) -> BlockCheck:
    check = BlockCheck(TYPES[name], order)
    check.feed(memoryview(data))
    return check


def wrong_number(name: str, scale: int, *, infinite: bool, order: ByteOrder) -> bytes:
    """Three blocks, the second with number ``scale`` of the type's wrong."""
    number = SCALES[name][scale].number
    bits = number.infinity + (0 if infinite else 1)
    code = {1: "B", 2: "H", 4: "I", 8: "Q"}[number.width]
    size = TYPES[name].size
    block = bytearray(b"\1" * size)
    struct.pack_into(order.prefix + code, block, SCALES[name][scale].at, bits)
    return b"\1" * size + bytes(block) + b"\1" * size


WRAPPED = {"d_nbytes_wrap_q4_k.gguf"}
"""The reference computes 32 bytes for a tensor of 72 PB here, which is no whole block; by its
true size the tensor ends far beyond the file, which is an error of another rule."""

ONE_RULE = Policy(select=("QNT010",))


@needs_corpus
def test_every_file_of_the_corpus_agrees_with_the_reference() -> None:
    """All files whose container the reference accepts, big-endian ones included."""
    seen: Counter[str] = Counter()
    for verdict in verdicts():
        said = verdict.row.get("data", "-")
        if said not in ("ok", "fail") or not verdict.accepted or verdict.path.name in WRAPPED:
            continue
        with FileSource(verdict.path) as source:
            result = inspect(source, depth="full", arrays=False, policy=ONE_RULE)
        found = [f for f in result.document["findings"] if f["rule"] == "QNT010"]
        bad = any(finding["severity"] == "warning" for finding in found)
        assert bad == (said == "fail"), verdict.path.name
        seen[verdict.path.parent.name, said, verdict.row["endian"]] += 1
    assert seen["edge", "fail", "le"] >= 30
    assert seen["alltypes", "ok", "be"] == seen["model", "ok", "be"] == 1
    assert seen["quant", "ok", "le"] >= 30


@needs_corpus
def test_the_place_is_the_one_the_reference_names() -> None:
    """Its words hold the index of the block: ``found nan value at block 7``."""
    compared = 0
    for verdict in verdicts("edge"):
        words = verdict.row["reason"]
        if " value at block " not in words or "validate_row" not in words:
            continue
        with FileSource(verdict.path) as source:
            document = inspect(source, depth="full").document
        (finding,) = [
            f for f in document["findings"] if f["severity"] == "warning" and f["rule"] == "QNT010"
        ]
        index = words.rpartition("block ")[2].split()[0]
        assert f" {index}, at byte " in finding["message"], verdict.path.name
        assert finding["place"]["tensor"] == "t"
        compared += 1
    assert compared >= 30


@pytest.mark.parametrize("order", ByteOrder)
@pytest.mark.parametrize("name", JUDGED)
def test_each_number_of_each_type(name: str, order: ByteOrder) -> None:
    size = TYPES[name].size
    for index, scale in enumerate(SCALES[name]):
        for infinite in (False,) if name == "MXFP4" else (False, True):
            check = look(name, wrong_number(name, index, infinite=infinite, order=order), order)
            assert (check.seen, check.bad, check.valid) == (3, 1, False)
            assert check.first == BadBlock(1, size + scale.at, scale.number.width, infinite)


@pytest.mark.parametrize("name", ["F32", "F16", "Q4_0", "Q6_K", "Q8_K"])
def test_the_order_of_bytes_matters(name: str) -> None:
    data = wrong_number(name, 0, infinite=True, order=BIG)
    assert look(name, data, LITTLE).valid
    assert not look(name, data, BIG).valid


@pytest.mark.parametrize("order", ByteOrder)
def test_the_scale_of_iq1_m_is_put_together_from_four_words(order: ByteOrder) -> None:
    def block(scale: int) -> bytes:
        words = [(scale >> 4 * place & 0xF) << 12 | 0x0ABC for place in range(4)]
        return bytes(48) + struct.pack(f"{order.prefix}4H", *words)

    assert look("IQ1_M", block(0x7BFF) + block(0xFBFF), order).valid
    check = look("IQ1_M", block(0x3C00) + block(0xFC00), order)
    assert check.first == BadBlock(1, 56 + 48, 8, infinite=True)
    first = look("IQ1_M", block(0x7E00), order).first
    assert first is not None and not first.infinite


def test_a_double_is_valid_as_long_as_it_rounds_to_a_float() -> None:
    halfway = float.fromhex("0x1.ffffffp127")  # between the largest float and 2^128
    assert not look("F64", struct.pack("<d", halfway)).valid
    assert look("F64", struct.pack("<d", np.nextafter(halfway, 0))).valid


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_doubles_are_judged_after_narrowing(value: float) -> None:
    with np.errstate(over="ignore"):
        assert look("F64", struct.pack("<d", value)).valid == np.isfinite(np.float32(value))


@given(st.binary(min_size=2, max_size=2), st.sampled_from(ByteOrder))
def test_halves_are_judged_as_numpy_does(raw: bytes, order: ByteOrder) -> None:
    value = np.frombuffer(raw, f"{order.prefix}f2")[0]
    assert look("F16", raw, order).valid == np.isfinite(value)


def test_what_the_reference_never_looks_at_is_valid() -> None:
    for name in ("I8", "I16", "I32", "I64", "NVFP4"):
        assert look(name, b"\xff" * TYPES[name].size * 4).valid


def test_a_type_without_a_rule_is_never_valid() -> None:
    assert {"Q8_1"} == REFUSED
    assert not look("Q8_1", b"").valid
    assert set(SCALES) | REFUSED | {"I8", "I16", "I32", "I64", "NVFP4"} == set(TYPES)


def test_half_a_block_is_not_valid() -> None:
    assert not look("Q4_0", bytes(18 + 9)).valid
    assert look("Q4_0", bytes(18 + 18)).valid


def test_zeros_are_noticed() -> None:
    assert look("Q4_K", bytes(144 * 3)).zero
    assert not look("Q4_K", bytes(144 * 3 - 1) + b"\1").zero


@given(st.lists(st.integers(1, 700), max_size=40), st.sampled_from(["Q4_0", "F32", "Q6_K"]))
def test_the_size_of_the_pieces_changes_nothing(cuts: list[int], name: str) -> None:
    data = wrong_number(name, 0, infinite=False, order=LITTLE) * 9
    check = BlockCheck(TYPES[name], LITTLE)
    view, at = memoryview(data), 0
    for cut in cuts:
        check.feed(view[at : at + cut])
        at = min(at + cut, len(view))
    check.feed(view[at:])
    assert check == look(name, data)


def test_a_fault_far_into_the_data() -> None:
    size = TYPES["Q8_0"].size
    good = PIECE // size * 3 + 5
    check = look("Q8_0", b"\1" * size * good + wrong_number("Q8_0", 0, infinite=True, order=LITTLE))
    assert check.first == BadBlock(good + 1, (good + 1) * size, 2, infinite=True)
    assert (check.seen, check.bad) == (good + 3, 1)
