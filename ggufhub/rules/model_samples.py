"""Samples for rules about whole models: the smallest llama that the reference loads."""

from collections.abc import Mapping
from typing import Any

from ggufhub.formats.values import ValueType
from ggufhub.rules.samples import Gguf

EMBEDDING, HEADS, KV_HEADS, FEED_FORWARD, BLOCKS = 32, 4, 2, 64, 2
TOKENS = ["<unk>", "<s>", "</s>", *(f"\u2581{letter}" for letter in "abcdefghijklm")]

_Shape = tuple[int, ...]

Entry = tuple[_Shape, int]
"""Shape and type id of a tensor."""


def llama_keys() -> dict[str, Any]:
    """Metadata by key; strings, ints (uint32), floats (float32), bools and lists."""
    return {
        "general.architecture": "llama",
        "general.type": "model",
        "general.name": "Sample",
        "general.license": "apache-2.0",
        "general.file_type": 0,
        "llama.context_length": 128,
        "llama.embedding_length": EMBEDDING,
        "llama.block_count": BLOCKS,
        "llama.feed_forward_length": FEED_FORWARD,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.rope.dimension_count": EMBEDDING // HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": list(TOKENS),
        "tokenizer.ggml.scores": [0.0] * len(TOKENS),
        "tokenizer.ggml.token_type": [2, 3, 3] + [1] * (len(TOKENS) - 3),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }


def llama_tensors() -> dict[str, Entry]:
    """Shape and type of each tensor by name."""
    kv = KV_HEADS * EMBEDDING // HEADS
    shapes: dict[str, _Shape] = {
        "token_embd.weight": (EMBEDDING, len(TOKENS)),
        "output_norm.weight": (EMBEDDING,),
        "output.weight": (EMBEDDING, len(TOKENS)),
    }
    for block in range(BLOCKS):
        parts: dict[str, _Shape] = {
            "attn_norm": (EMBEDDING,),
            "attn_q": (EMBEDDING, EMBEDDING),
            "attn_k": (EMBEDDING, kv),
            "attn_v": (EMBEDDING, kv),
            "attn_output": (EMBEDDING, EMBEDDING),
            "ffn_norm": (EMBEDDING,),
            "ffn_gate": (EMBEDDING, FEED_FORWARD),
            "ffn_up": (EMBEDDING, FEED_FORWARD),
            "ffn_down": (FEED_FORWARD, EMBEDDING),
        }
        shapes |= {f"blk.{block}.{part}.weight": shape for part, shape in parts.items()}
    return {name: (shape, 0) for name, shape in shapes.items()}


def llama(
    keys: dict[str, Any] | None = None,
    tensors: Mapping[str, Entry | None] | None = None,
    arch: str = "llama",
) -> bytes:
    """The model with some keys and tensors replaced, added, or (None) left out.

    ``arch`` renames the architecture, in ``llama_keys`` and the keys that begin with it.
    """
    own = {name.replace("llama.", f"{arch}.", 1): value for name, value in llama_keys().items()}
    own["general.architecture"] = arch
    return assemble(own | (keys or {}), {**llama_tensors(), **(tensors or {})})


def assemble(keys: dict[str, Any], tensors: Mapping[str, Entry | None] | None = None) -> bytes:
    """A file of exactly these keys and tensors."""
    sample = Gguf()
    for name, value in keys.items():
        if value is not None:
            add_key(sample, name, value)
    for name, entry in (tensors or {}).items():
        if entry is not None:
            sample.tensor(name, *entry)
    return sample.build()


def add_key(sample: Gguf, name: str, value: Any) -> None:
    """A key whose type follows from the value; a pair ``(ValueType, value)`` states it."""
    if isinstance(value, tuple):
        sample.key(name, value[1], value[0])
    elif isinstance(value, list):
        sample.array(name, _element_type(value), value)
    else:
        sample.key(name, value)


def _element_type(values: list[Any]) -> ValueType:
    first = values[0] if values else ""
    if isinstance(first, str | bytes):
        return ValueType.STRING
    if isinstance(first, bool):
        return ValueType.BOOL
    return ValueType.FLOAT32 if isinstance(first, float) else ValueType.INT32
