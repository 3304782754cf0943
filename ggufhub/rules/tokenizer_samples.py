"""Samples for the rules about tokenizers: a vocabulary that breaks none, to be spoilt."""

from typing import Any

from ggufhub.formats.values import ValueType
from ggufhub.rules.samples import Gguf

_BPE = ["<s>", "</s>", "<|im_end|>", "a", "b", "ab", "\u0120a", "\u0120b", "c", "d", "e", "f"]


def bpe(**changes: Any) -> bytes:
    """A gpt2 vocabulary of twelve tokens. ``changes`` replace keys by their last part; None
    leaves one out. Lists become arrays of the type the key has."""
    values: dict[str, Any] = {
        "model": "gpt2",
        "pre": "qwen2",
        "tokens": list(_BPE),
        "token_type": [3, 3, 3] + [1] * 9,
        "merges": ["a b"],
        "bos_token_id": 0,
        "eos_token_id": 2,
    }
    return _write({**values, **changes})


def spm(**changes: Any) -> bytes:
    """The same for a llama (SentencePiece) vocabulary."""
    values: dict[str, Any] = {
        "model": "llama",
        "tokens": ["<unk>", "<s>", "</s>", "\u2581a", "\u2581b", "c"],
        "scores": [0.0] * 6,
        "token_type": [2, 3, 3, 1, 1, 1],
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    return _write({**values, **changes})


_ARRAY_TYPES = {
    "tokens": ValueType.STRING,
    "merges": ValueType.STRING,
    "scores": ValueType.FLOAT32,
    "token_type": ValueType.INT32,
}


def _write(values: dict[str, Any]) -> bytes:
    sample = Gguf().key("general.architecture", values.pop("architecture", "llama"))
    template = values.pop("chat_template", None)
    vocab_size = values.pop("vocab_size", None)
    if vocab_size is not None:
        sample.key("llama.vocab_size", vocab_size)
    if template is not None:
        sample.key("tokenizer.chat_template", template)
    embedding = values.pop("embedding_rows", None)
    for name, value in values.items():
        key = f"tokenizer.ggml.{name}"
        if isinstance(value, list):
            sample.array(key, _ARRAY_TYPES[name], value)
        elif value is not None:
            sample.key(key, value)
    if embedding is not None:
        sample.tensor("token_embd.weight", (32, embedding))
    return sample.build()
