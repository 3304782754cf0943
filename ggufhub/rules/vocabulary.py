"""Vocabulary: the tokenizer part of a model, decoded once and shared by the rules about it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ggufhub.formats.header import TEXT_BYTES, Array, Header
from ggufhub.formats.values import ValueType
from ggufhub.limits import MIB

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


MOST_TOKENS = 524_288
"""Tokens the rules look at: twice the largest real vocabulary (262,144)."""

MOST_TOKEN_BYTES = 32 * MIB
"""Bytes of a vocabulary the rules look at; the largest real one takes less than 5 MB."""

SLICE = 65_536
"""Strings taken at a time, so that what is made of their positions stays small."""

SEARCHED_AT_ONCE = 8 * MIB
"""Bytes of a slice searched in one pass: the places found take eight bytes each."""


def strings_of(array: Array) -> list[bytes]:
    """All strings of a string array; quicker than one by one for large ones."""
    found: list[bytes] = []
    for first, positions in _slices(array):
        raw = bytes(array.encoding.buffer[first : positions[-1]])
        bodies = (start + array.encoding.prefix - first for start in positions)
        ends = (start - first for start in positions[1:])
        found += [raw[start:end] for start, end in zip(bodies, ends, strict=False)]
    return found


def _slices(array: Array) -> Iterator[tuple[int, list[int]]]:
    """The strings of an array, some at a time: where the first begins, and where each one does,
    with the end of the last one behind."""
    for start in range(0, array.count, SLICE):
        positions = array.starts[start : start + SLICE + 1].tolist()
        if start + SLICE >= array.count:
            positions.append(array.end)
        yield positions[0], positions


def first_without(array: Array, byte: int) -> int | None:
    """The first string that lacks ``byte`` after its first byte; nothing is decoded."""
    for number, (first, positions) in enumerate(_slices(array)):
        large = positions[-1] - first > SEARCHED_AT_ONCE
        search = _search_each if large else _search_all
        lacking = search(array, positions, byte)
        if lacking is not None:
            return number * SLICE + lacking
    return None


def _search_each(array: Array, positions: list[int], byte: int) -> int | None:
    """``first_without`` in one slice, string by string."""
    width, buffer = array.encoding.prefix, array.encoding.buffer
    for number, (start, end) in enumerate(pairwise(positions)):
        if bytes(buffer[start + width : end]).find(byte, 1) < 0:
            return number
    return None


def _search_all(array: Array, positions: list[int], byte: int) -> int | None:
    """``first_without`` in one slice, in one pass over its bytes."""
    import numpy as np

    first, end = positions[0], positions[-1]
    edges = np.array(positions, np.int64) - first
    region = np.frombuffer(array.encoding.buffer, np.uint8, end - first, first)
    places = np.append(np.flatnonzero(region == byte), end - first)
    searched = np.searchsorted(places, edges[:-1] + array.encoding.prefix + 1)
    following = places[np.minimum(searched, len(places) - 1)]
    lacking = np.flatnonzero(following >= edges[1:])
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

    @property
    def too_large(self) -> str | None:
        """Why the tokens are not looked at, where there are too many or they are too long."""
        array = self.array
        if array is None:
            return None
        if array.count > MOST_TOKENS:
            return f"there are {array.count:,} tokens; up to {MOST_TOKENS:,} are looked at"
        size = array.end - array.offset
        if size > MOST_TOKEN_BYTES:
            return f"the tokens take {size:,} bytes; up to {MOST_TOKEN_BYTES:,} are looked at"
        return None

    @cached_property
    def tokens(self) -> list[bytes]:
        return [] if self.array is None else strings_of(self.array)

    @cached_property
    def index(self) -> dict[bytes, int]:
        """The id of each token text (the last one where a text occurs twice)."""
        return {token: number for number, token in enumerate(self.tokens)}

    def number_of(self, text: str) -> int | None:
        """The id of the token with this text, which a template may have made up of anything."""
        return self.index.get(text.encode("utf-8", "surrogatepass"))

    @cached_property
    def types(self) -> list[int] | None:
        """Type of each token, where given as integers."""
        array = self.header.array(TYPES)
        if array is None or array.element_type is not ValueType.INT32:
            return None
        return [kind for kind in array.part(0, self.size) if isinstance(kind, int)]

    def type_of(self, number: int) -> int:
        """The type of a token; NORMAL where the list does not say."""
        types = self.types
        return types[number] if types is not None and number < len(types) else NORMAL

    def special_id(self, name: str) -> int | None:
        """A special id that is declared and inside the vocabulary."""
        number = self.header.number(ID_KEYS[name])
        return number if number is not None and 0 <= number < self.size else None

    def special_text(self, name: str) -> str | None:
        """The text of a special token, where it is declared and inside the vocabulary."""
        number = self.special_id(name)
        return None if number is None else self.text(number)

    def text(self, number: int) -> str:
        """A token as text for messages, cut to ``TEXT_BYTES``."""
        assert self.array is not None
        token = self.array[number]
        assert isinstance(token, bytes)
        return token[:TEXT_BYTES].decode("utf-8", "surrogateescape")
