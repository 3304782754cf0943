"""Samples for the rules about chat templates."""

from ggufhub.formats.values import ValueType
from ggufhub.rules.samples import Gguf

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The plainest template that real models carry."""

TOKENS = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "a", "b"]


def with_template(template: str, name: str = "Sample") -> bytes:
    """A small model with a vocabulary of six tokens and this template."""
    sample = Gguf().key("general.architecture", "llama").key("general.name", name)
    sample.array("tokenizer.ggml.tokens", ValueType.STRING, list(TOKENS))
    sample.array("tokenizer.ggml.token_type", ValueType.INT32, [3, 3, 3, 3, 1, 1])
    sample.key("tokenizer.ggml.bos_token_id", 0).key("tokenizer.ggml.eos_token_id", 3)
    sample.key("tokenizer.ggml.add_bos_token", True)
    sample.key("tokenizer.chat_template", template)
    return sample.tensor("output_norm.weight", (8,)).build()


def good() -> bytes:
    """A model whose template breaks no rule."""
    return with_template(CHATML)
