"""Predicted sizes: byte for byte those of what the reference's quantiser wrote."""

from pathlib import Path
from typing import Any

import pytest

from ggufhub.estimate.mixes import BASES, Matrix, Plan, Role, matrices_of, mixed_type
from ggufhub.estimate.quants import NOTES, plan_of, real_and_predicted, sizes, sizes_document
from ggufhub.formats.file_types import FILE_TYPES
from ggufhub.report.run import inspect_source
from ggufhub.rules.model_samples import llama
from tests.builders import vocabulary
from tests.core.reading import report
from tests.corpus import SHARED, needs_corpus

QUANTS = sorted((SHARED / "corpus" / "quant").glob("*.gguf"))
BY_HAND = "tiny-mixed-fp4.gguf"


def document(path: Path) -> dict[str, Any]:
    return inspect_source(str(path), judge=False).document


@needs_corpus
@pytest.mark.parametrize("path", QUANTS, ids=lambda path: path.stem)
def test_real_sizes_are_the_predicted_ones(path: Path) -> None:
    found = real_and_predicted(document(path))
    assert found is not None
    assert (found[0] == found[1]) == (path.name != BY_HAND)


@needs_corpus
def test_the_size_of_every_file_is_predicted_from_the_first() -> None:
    source = document(SHARED / "corpus" / "quant" / "tiny-F16.gguf")
    predicted = {size.mix: size.bytes for size in sizes(source)}
    for path in QUANTS:
        mix = path.stem.removeprefix("tiny-")
        if mix in predicted:
            assert predicted[mix] == path.stat().st_size, mix
    assert len(predicted) == len(NOTES) - 1, "all but the one for experts"


def test_every_mix_has_a_note_and_is_one() -> None:
    assert NOTES.keys() == BASES.keys() <= set(FILE_TYPES.values())


def test_bits_rise_with_the_size() -> None:
    found = sizes(report(llama()).document)
    assert found and all(size.bits_per_weight > 0 for size in found)
    (own,) = [size for size in found if size.own]
    assert own.mix == "F32"
    assert sizes_document(report(llama()).document)[0]["mix"] == "F32"


def test_what_is_no_model_has_no_sizes() -> None:
    assert sizes(report(vocabulary().build()).document) == []
    assert real_and_predicted(report(vocabulary().build()).document) is None


def plan(**changes: Any) -> Plan:
    facts = {
        "architecture": "llama",
        "matrices": (),
        "kept": (),
        "blocks": 32,
        "experts": 0,
        "grouped": 4,
        "values": 32,
        "tied": False,
        "large": False,
        "imatrix": False,
    }
    return Plan(**{**facts, **changes})


def chosen(
    mix: str, role: Role, index: int = 0, shape: tuple[int, ...] = (4096, 4096), **k: Any
) -> str:
    kind = mixed_type(Matrix(shape, role, index, index), plan(**k), mix)
    assert kind is not None
    return kind.name


def test_the_usual_mix_of_four_bits() -> None:
    more = [i for i in range(32) if chosen("Q4_K_M", Role.DOWN, i) == "Q6_K"]
    assert more == [0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31]
    assert chosen("Q4_K_M", Role.UP) == chosen("Q4_K_M", Role.QUERY) == "Q4_K"
    assert chosen("Q4_K_M", Role.OUTPUT) == "Q6_K"
    assert chosen("Q4_K_M", Role.EMBEDDING) == "Q4_K"
    assert chosen("Q4_K_M", Role.EMBEDDING, tied=True) == "Q6_K"
    assert chosen("Q4_K_M", Role.VALUE, 5, large=True) == "Q5_K"


def test_eight_experts_and_few_heads() -> None:
    assert chosen("Q4_K_M", Role.KEY, experts=8) == "Q8_0"
    assert chosen("Q3_K_M", Role.ATTENTION_OUTPUT, experts=8) == "Q5_K"
    assert chosen("IQ2_M", Role.VALUE, grouped=1) == "IQ3_S"
    assert chosen("IQ3_XXS", Role.VALUE, grouped=1, imatrix=True) == "IQ3_XXS"
    assert chosen("MXFP4_MOE", Role.DOWN, shape=(4096, 4096, 8)) == "MXFP4"
    assert chosen("MXFP4_MOE", Role.DOWN) == "Q8_0"


def test_rows_that_are_not_whole_blocks() -> None:
    assert chosen("Q4_K_M", Role.UP, shape=(96, 8)) == "Q5_0"
    assert chosen("IQ4_XS", Role.UP, shape=(96, 8)) == "IQ4_NL"
    assert chosen("Q4_K_M", Role.UP, shape=(100, 8)) == "F16"
    assert chosen("Q8_0", Role.UP, shape=(100, 8)) == "F16"
    assert mixed_type(Matrix((100, 8), Role.UP, 0, 0), plan(), "Q1_0") is None


def test_matrices_that_keep_their_type() -> None:
    rows = [
        ("blk.10.ffn_up.weight", (256, 4), 1),
        ("blk.2.ffn_up.weight", (256, 4), 2),
        ("blk.0.ffn_gate_inp.weight", (256, 4), 3),
        ("blk.0.attn_norm.weight", (256,), 4),
        ("blk.0.attn_v.bias", (256, 2), 5),
        ("blk.0.one.weight", (256, 1, 1), 6),
        ("position_embd.weight", (256, 4), 7),
    ]
    matrices, kept = matrices_of(rows)
    assert [(one.block, one.index) for one in matrices] == [(2, 0), (10, 1)]
    assert sorted(kept) == [3, 4, 5, 6, 7]


def test_too_many_tensors_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggufhub.estimate.quants.MOST_TENSORS", 3)
    assert plan_of(report(llama()).document) is None
