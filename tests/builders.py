"""Files made in memory for tests; the project keeps no binaries."""

from ggufhub.formats.values import ByteOrder, ValueType
from ggufhub.rules.samples import Gguf, small_model

__all__ = ["ByteOrder", "Gguf", "ValueType", "small_model", "vocabulary"]


def vocabulary(count: int = 300) -> Gguf:
    """A vocabulary-only file with ``count`` tokens, their scores and types."""
    tokens = [f"token{number}" for number in range(count)]
    return (
        Gguf()
        .key("general.architecture", "llama")
        .key("general.name", "Sample vocabulary")
        .key("tokenizer.ggml.model", "llama")
        .array("tokenizer.ggml.tokens", ValueType.STRING, list(tokens))
        .array("tokenizer.ggml.scores", ValueType.FLOAT32, [float(-n) for n in range(count)])
        .array("tokenizer.ggml.token_type", ValueType.INT32, [1] * count)
        .key("tokenizer.ggml.bos_token_id", 1)
        .key("tokenizer.ggml.eos_token_id", 2)
    )
