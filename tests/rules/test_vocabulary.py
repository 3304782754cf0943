"""The vocabulary the rules share: large ones are not looked at, odd ones are searched exactly."""

from typing import Any

import pytest

from ggufhub.formats.header import Array
from ggufhub.rules import vocabulary
from ggufhub.rules.tokenizer_samples import bpe
from ggufhub.rules.vocabulary import Vocabulary, first_without, strings_of
from tests.builders import ByteOrder, Gguf, ValueType
from tests.core.reading import read, report

SPACE = ord(" ")


def strings(values: list[Any], order: ByteOrder = ByteOrder.LITTLE) -> Array:
    array = read(Gguf(order=order).array("x", ValueType.STRING, values).build()).array("x")
    assert array is not None
    return array


@pytest.mark.parametrize("searched_at_once", [0, 1 << 30])
@pytest.mark.parametrize("size", [1, 2, 3, 1_000])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], None),
        ([""], 0),
        (["", "a b"], 0),
        (["a b", ""], 1),
        (["a b", " "], 1),
        (["a b", "  "], None),
        (["a b", "ab", " b c"], 1),
        (["a b"] * 7 + ["ab"], 7),
        (["a b"] * 7, None),
        ([" a", "b c"], 0),
    ],
)
def test_the_first_string_without_a_byte(
    values: list[str],
    expected: int | None,
    size: int,
    searched_at_once: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vocabulary, "SLICE", size)
    monkeypatch.setattr(vocabulary, "SEARCHED_AT_ONCE", searched_at_once)
    assert first_without(strings(values), SPACE) == expected


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 2_500])
@pytest.mark.parametrize("order", list(ByteOrder))
def test_strings_come_whole_from_every_slice(
    count: int, order: ByteOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, "SLICE", 4)
    values = [b"x" * (number % 5) for number in range(count)]
    assert strings_of(strings(values, order)) == values


def test_many_empty_merges_are_told_as_no_pairs() -> None:
    document = report(bpe(merges=[""] * 70_000)).document
    (finding,) = [f for f in document["findings"] if f["rule"] == "TOK007"]
    assert finding["message"] == "Merge 0 is “”, which is no pair."


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("MOST_TOKENS", "there are 12 tokens; up to 5 are looked at"),
        ("MOST_TOKEN_BYTES", "the tokens take 127 bytes; up to 5 are looked at"),
    ],
)
def test_too_large_a_vocabulary_is_not_looked_at(
    limit: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, limit, 5)
    document = report(bpe(embedding_rows=13)).document
    reasons = {entry["rule"]: entry["reason"] for entry in document["not_evaluated"]}
    assert {reasons[rule] for rule in ("TOK002", "TOK004", "TOK006", "TOK016")} == {reason}


def test_only_what_is_asked_for_is_decoded() -> None:
    sample = Gguf().array("tokenizer.ggml.tokens", ValueType.STRING, ["a", b"\xff", "c"])
    sample.array("tokenizer.ggml.token_type", ValueType.INT32, [1, 3, 1, 6, 6])
    known = Vocabulary(read(sample.build()))
    assert (known.text(0), known.text(1)) == ("a", "\udcff")
    assert known.types == [1, 3, 1]
    assert "tokens" not in vars(known)


def test_text_of_templates_is_looked_up_whatever_it_holds() -> None:
    known = Vocabulary(read(bpe()))
    assert known.number_of("<|im_end|>") == 2
    assert known.number_of("\ud800") is None


def test_a_long_name_of_a_pre_tokenizer_is_compared_by_its_start() -> None:
    document = report(bpe(pre="qwen2" + "x" * 200_000)).document
    (finding,) = [f for f in document["findings"] if f["rule"] == "TOK009"]
    assert finding["message"].startswith("The pre-tokenizer qwen2xxx")
