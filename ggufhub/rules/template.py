"""Chat template: is there one where one is expected, and do its keys agree?"""

import re
from collections.abc import Iterator

from ggufhub.formats.kind import MODEL, VOCAB
from ggufhub.formats.model import Model
from ggufhub.formats.values import ValueType
from ggufhub.rules.registry import Hit, Need, Severity, Truth, model_rule
from ggufhub.rules.samples import Gguf
from ggufhub.rules.template_samples import CHATML
from ggufhub.templating.facts import TEMPLATE_KEY as TEMPLATE

_CHAT_NAME = re.compile(r"(?<![a-z])(?:instruct|chat|it|rl|assistant)(?![a-z])", re.IGNORECASE)
"""Words by which published chat models call themselves, as whole words: `gemma-3-1b-it`."""

_NAME_KEYS = ("general.name", "general.basename", "general.finetune")


def _sample(name: str, template: str | None) -> bytes:
    sample = Gguf().key("general.architecture", "llama").key("general.name", name)
    if template is not None:
        sample.key(TEMPLATE, template)
    return sample.tensor("output_norm.weight", (8,)).build()


@model_rule(
    "TPL001",
    "No chat template",
    Severity.INFO,
    Truth.ADVICE,
    needs=(Need.KEYS,),
    help="A chat model tells how a conversation is written down in `tokenizer.chat_template`. "
    "Without it programs guess, or fall back to ChatML, and answers get worse without any error. "
    "Base models, embeddings and vocabularies need none.",
    fix="Convert again from the original repository, or add the template of the base model.",
    failing=lambda: _sample("Sample 7B Instruct", None),
    passing=lambda: _sample("Sample 7B Instruct", "{{ messages }}"),
    runtimes=("llama.cpp", "ollama", "transformers"),
)
def missing_template(model: Model) -> Iterator[Hit]:
    if model.kind not in (MODEL, VOCAB):
        return
    key = model.find(TEMPLATE)
    if key is not None:
        if model.text(TEMPLATE) == "":
            yield Hit.at_key(key, "The chat template is empty.", severity=Severity.WARNING)
        return
    if model.kind == VOCAB:
        return
    word = _chat_word(model)
    if word is not None:
        yield Hit(
            f"There is no chat template, but the name says “{word}”.",
            key=TEMPLATE,
            expected="a template",
            actual="key absent",
            severity=Severity.WARNING,
        )
    elif model.find("tokenizer.ggml.tokens") is not None:
        yield Hit("There is no chat template.", key=TEMPLATE, actual="key absent")


def _chat_word(model: Model) -> str | None:
    for key in _NAME_KEYS:
        match = _CHAT_NAME.search(model.text(key) or "")
        if match is not None:
            return match[0]
    return None


@model_rule(
    "TPL016",
    "Template variants disagree with their list",
    Severity.WARNING,
    Truth.ADVICE,
    needs=(Need.KEYS,),
    help="A model can carry further templates, such as `tokenizer.chat_template.tool_use`, and "
    "lists their names in `tokenizer.chat_templates`. A name without a template, or a template "
    "that is not listed, is found by some programs and not by others.",
    fix="List exactly the variants that are there.",
    failing=lambda: _listed(["tool_use", "rag"]),
    passing=lambda: _listed(["tool_use"]),
    runtimes=("gguf-py", "llama.cpp"),
)
def unlisted_variant(model: Model) -> Iterator[Hit]:
    header = model.header
    assert header is not None
    listed = header.array("tokenizer.chat_templates")
    if listed is None or listed.element_type is not ValueType.STRING:
        return
    names = {str(item, "utf-8", "replace") for item in listed if isinstance(item, bytes)}
    prefix = f"{TEMPLATE}."
    there = {key.name.removeprefix(prefix) for key in header.keys if key.name.startswith(prefix)}
    for name in sorted(names - there - {"default"}):
        yield Hit(f"The variant {name} is listed but absent.", key=prefix + name, actual="absent")
    for name in sorted(there - names):
        key = header.find(prefix + name)
        assert key is not None
        yield Hit.at_key(key, f"The variant {name} is not listed.", expected="its name in the list")


def _listed(names: list[str]) -> bytes:
    sample = Gguf().key("general.architecture", "llama").key(TEMPLATE, CHATML)
    sample.key(f"{TEMPLATE}.tool_use", CHATML)
    return sample.array("tokenizer.chat_templates", ValueType.STRING, list(names)).build()
