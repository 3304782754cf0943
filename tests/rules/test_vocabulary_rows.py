"""Rows of the embedding and the output: one a token, but for architectures that want others."""

from typing import Any

import pytest

from ggufhub.rules.expected import has_token_rows
from ggufhub.rules.model_samples import assemble
from ggufhub.rules.tables import table
from tests.core.reading import report
from tests.rules.every_architecture import Small, keys_of

WIDTH = 64
ROWS = {"TOK002", "TEN005"}


def hits(architecture: str, tensors: dict[str, tuple[int, ...]]) -> dict[str, str | None]:
    """The rules about rows that are broken, each with its tensor."""
    shapes: dict[str, Any] = {
        line.name: (tuple(int(str(size)) for size in line.shape), 0)
        for line in Small(architecture).plan
        if line.required
    }
    shapes |= {name: (shape, 0) for name, shape in tensors.items()}
    findings = report(assemble(keys_of(architecture), shapes)).document["findings"]
    return {f["rule"]: f["place"].get("tensor") for f in findings if f["rule"] in ROWS}


TOKENS = len(keys_of("llama")["tokenizer.ggml.tokens"])


@pytest.mark.parametrize(
    ("architecture", "tensors"),
    [
        ("llama", {"output.weight": (WIDTH, TOKENS)}),
        ("bert", {}),
        ("wavtokenizer-dec", {}),
        ("qwen3tts", {"output.weight": (WIDTH, 3072)}),
        ("qwen3vl", {"output.weight": (WIDTH, TOKENS)}),
        ("eagle3", {"d2t": (7,), "output.weight": (WIDTH, 7)}),
        ("dflash", {"d2t": (7,), "output.weight": (WIDTH, 7)}),
    ],
)
def test_rows_that_the_loader_wants(architecture: str, tensors: dict[str, Any]) -> None:
    assert hits(architecture, tensors) == {}


@pytest.mark.parametrize(
    ("architecture", "tensor", "rows", "rule"),
    [
        ("llama", "output.weight", TOKENS + 1, "TOK002"),
        ("llama", "token_embd.weight", TOKENS + 1, "TOK002"),
        ("bert", "token_embd.weight", TOKENS + 1, "TOK002"),
        ("qwen3tts", "output.weight", TOKENS, "TEN005"),
        ("qwen3vl", "output.weight", TOKENS + 1, "TEN005"),
        ("eagle3", "output.weight", TOKENS + 1, "TEN005"),
    ],
)
def test_rows_are_judged_once(architecture: str, tensor: str, rows: int, rule: str) -> None:
    assert hits(architecture, {tensor: (WIDTH, rows)}) == {rule: tensor}


def test_most_architectures_have_a_row_for_each_token() -> None:
    known = table("tensors")["architectures"]
    assert sum(has_token_rows(name, "token_embd.weight") for name in known) > 140
    assert not has_token_rows("unheard-of", "token_embd.weight")
    assert not has_token_rows("bert", "output.weight")


@pytest.mark.parametrize(
    ("architecture", "tied"), [("llama", True), ("bert", False), ("wavtokenizer-dec", False)]
)
def test_only_an_output_that_may_be_absent_is_shared(architecture: str, tied: bool) -> None:
    findings = report(Small(architecture).data).document["findings"]
    rules = {finding["rule"] for finding in findings}
    assert ({"CMP003", "TEN008"} <= rules) is tied
    assert tied or not {"CMP003", "TEN008"} & rules
