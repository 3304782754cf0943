"""Vocabulary: the tokenizer part of a model, decoded once and shared by the rules about it."""

from dataclasses import dataclass
from functools import cached_property

from ggufhub.formats.header import Array, Header
from ggufhub.formats.values import ValueType

TOKENS = "tokenizer.ggml.tokens"
MERGES = "tokenizer.ggml.merges"
SCORES = "tokenizer.ggml.scores"
TYPES = "tokenizer.ggml.token_type"
MODEL = "tokenizer.ggml.model"
PRE = "tokenizer.ggml.pre"

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
"""``enum llama_token_type`` in ``include/llama.h``."""

ID_KEYS = {
    "bos": "tokenizer.ggml.bos_token_id",
    "eos": "tokenizer.ggml.eos_token_id",
    "eot": "tokenizer.ggml.eot_token_id",
    "eom": "tokenizer.ggml.eom_token_id",
    "unk": "tokenizer.ggml.unknown_token_id",
    "sep": "tokenizer.ggml.seperator_token_id",
    "pad": "tokenizer.ggml.padding_token_id",
    "cls": "tokenizer.ggml.cls_token_id",
    "mask": "tokenizer.ggml.mask_token_id",
}
"""Keys of the special ids (``llm_kv`` names in ``src/llama-arch.cpp``, spelt as there)."""

UNSET = (1 << 32) - 1
"""What old converters wrote for "there is no such token"."""


def strings_of(array: Array) -> list[bytes]:
    """All strings of a string array; quicker than one by one for large ones."""
    raw = bytes(array.encoding.buffer[array.offset : array.end])
    starts = array.starts if isinstance(array.starts, list) else array.starts.tolist()
    base, width = array.offset, array.encoding.prefix
    bodies = [start + width - base for start in starts]
    ends = [start - base for start in starts[1:]] + [len(raw)]
    return [raw[start:end] for start, end in zip(bodies, ends, strict=True)]


def first_without(array: Array, byte: int) -> int | None:
    """The first string that lacks ``byte`` after its first byte; vectorised, nothing decoded."""
    import numpy as np

    starts = np.asarray(array.starts, np.int64)
    if not len(starts):
        return None
    ends = np.append(starts[1:], array.end)
    region = np.frombuffer(array.encoding.buffer, np.uint8, array.end)
    places = np.append(np.flatnonzero(region[array.offset :] == byte) + array.offset, array.end)
    following = places[np.searchsorted(places, starts + array.encoding.prefix + 1)]
    lacking = np.flatnonzero(following >= ends)
    return int(lacking[0]) if len(lacking) else None


@dataclass(slots=False)
class Vocabulary:
    """What a header says about its tokens. Everything is decoded on first use."""

    header: Header

    @cached_property
    def model(self) -> str | None:
        return self.header.text(MODEL)

    @cached_property
    def pre(self) -> str | None:
        return self.header.text(PRE)

    @cached_property
    def array(self) -> Array | None:
        """The tokens, where they are an array of strings."""
        array = self.header.array(TOKENS)
        return array if array is not None and array.element_type is ValueType.STRING else None

    @property
    def size(self) -> int:
        return 0 if self.array is None else self.array.count

    @cached_property
    def tokens(self) -> list[bytes]:
        return [] if self.array is None else strings_of(self.array)

    @cached_property
    def index(self) -> dict[bytes, int]:
        """The id of each token text (the last one where a text occurs twice)."""
        return {token: number for number, token in enumerate(self.tokens)}

    @cached_property
    def types(self) -> list[int] | None:
        """Type of each token, where given as integers."""
        array = self.header.array(TYPES)
        if array is None or array.element_type is not ValueType.INT32:
            return None
        return [kind for kind in array if isinstance(kind, int)]

    def type_of(self, number: int) -> int:
        """The type of a token; NORMAL where the list does not say."""
        types = self.types
        return types[number] if types is not None and number < len(types) else NORMAL

    def special_id(self, name: str) -> int | None:
        """A special id that is declared and inside the vocabulary."""
        number = self.header.number(ID_KEYS[name])
        return number if number is not None and 0 <= number < self.size else None

    def text(self, number: int) -> str:
        """A token as text for messages."""
        return self.tokens[number].decode("utf-8", "surrogateescape")
