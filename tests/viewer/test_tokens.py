"""Tokens made readable, templates made numbered."""

import pytest

from viewer import source, tokens
from viewer.paths import KeyConverter


@pytest.mark.parametrize(
    ("token", "model", "text"),
    [
        ("\u0120hello", "gpt2", " hello"),
        ("\u010a", "gpt2", "\n"),
        ("\u00e2\u0124", "gpt2", "bytes E2 82"),
        ("\u00c3\u00a9", "gpt2", "é"),
        ("日本", "gpt2", "日本"),
        ("\u2581the", "llama", " the"),
        ("<0x0A>", "llama", "byte 0A (line feed)"),
        ("<0x41>", "llama", "byte 41 (A)"),
        ("<0xFF>", "llama", "byte FF"),
        ("plain", "llama", "plain"),
    ],
)
def test_what_a_token_reads_as(token: str, model: str, text: str) -> None:
    assert tokens.readable(token, model) == text


def test_the_byte_alphabet_spells_every_byte_once() -> None:
    assert sorted(tokens.BYTE_ALPHABET.values()) == list(range(256))


def test_special_tokens_are_the_keys_that_name_an_id() -> None:
    metadata = [
        {"key": "tokenizer.ggml.bos_token_id", "value": 1},
        {"key": "tokenizer.ggml.eot_token_id", "value": 5},
        {"key": "tokenizer.ggml.tokens", "value": {"count": 1, "first": ["a"]}},
        {"key": "tokenizer.ggml.eos_token_id", "value": "two"},
    ]
    assert [(one["role"], one["id"]) for one in tokens.special_ids(metadata)] == [
        ("bos", 1),
        ("eot", 5),
    ]


def test_lines_are_numbered_and_marks_closed_on_every_line() -> None:
    lines, cut = source.numbered("a\n{% if\nx %}b\n", [])
    assert [line.html for line in lines] == [
        "a",
        '<span class="j-tag">{% if</span>',
        '<span class="j-tag">x %}</span>b',
        "",
    ]
    assert cut is False


def test_a_finding_stands_at_its_line() -> None:
    finding = {"place": {"line": 2}}
    lines, _ = source.numbered("a\nb", [finding])
    assert [line.findings for line in lines] == [[], [finding]]


def test_a_template_of_a_million_lines_is_cut() -> None:
    lines, cut = source.numbered("\n" * 1_000_000, [])
    assert len(lines) == source.MOST_LINES
    assert cut is True


@pytest.mark.parametrize(
    "key", ["general.name", "a/b//c", "..", ".", "\n", "%2F", "?#", "\u202e", "é"]
)
def test_a_key_survives_its_address(key: str) -> None:
    converter = KeyConverter()
    address = converter.to_url(key)
    assert converter.to_python(address) == key
    assert "/" not in address and set(address) != {"."}


def test_an_ordinary_key_looks_like_itself_in_an_address() -> None:
    assert KeyConverter().to_url("tokenizer.ggml.tokens") == "tokenizer.ggml.tokens"
