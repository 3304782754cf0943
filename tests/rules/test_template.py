"""TPL001 speaks up for chat models only."""

import pytest

from tests.builders import Gguf, ValueType, vocabulary
from tests.core.reading import report


def severities(sample: Gguf) -> list[str]:
    found = report(sample.build()).document["findings"]
    return [finding["severity"] for finding in found if finding["rule"] == "TPL001"]


def model(name: str) -> Gguf:
    tokens = Gguf().key("general.architecture", "llama").key("general.name", name)
    return tokens.array("tokenizer.ggml.tokens", ValueType.STRING, ["a"]).tensor("a")


@pytest.mark.parametrize(
    "name", ["Llama 3 8B Instruct", "gemma-3-1b-it", "zephyr-chat", "Qwen2-7B-Instruct"]
)
def test_chat_names_without_a_template_are_warned_about(name: str) -> None:
    assert severities(model(name)) == ["warning"]


@pytest.mark.parametrize("name", ["Llama 3 8B", "Mitchell 7B", "Italia 9B", "Chateau"])
def test_other_names_are_only_told(name: str) -> None:
    assert severities(model(name)) == ["info"]


def test_an_empty_template_is_warned_about() -> None:
    assert severities(model("Base").key("tokenizer.chat_template", "")) == ["warning"]


def test_vocabularies_need_none() -> None:
    assert severities(vocabulary()) == []
