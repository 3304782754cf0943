"""How many bytes of a header are still to come, guessed from what has been read of it.

A wrong guess costs a request or some bytes, never a wrong result. The proportions were measured
on the vocabularies that llama.cpp tests with.
"""

from typing import NamedTuple

from ggufhub.formats.header import Key

TENSOR_ROW = 72
"""Bytes of one row of the tensor table: a name of 30 characters and three dimensions."""

SMALL_KEYS = 16 * 1024
"""Keys after the vocabulary; a chat template is most of it."""

TOKENS = "tokenizer.ggml.tokens"
MERGES = "tokenizer.ggml.merges"
MODEL = "tokenizer.ggml.model"
PRE = "tokenizer.ggml.pre"

_NUMBERS = {
    "tokenizer.ggml.scores": ("llama", "t5", "gemma4"),
    "tokenizer.ggml.token_type": ("llama", "t5", "gemma4", "gpt2", "bert"),
}
"""Arrays of one number of 4 bytes for each token, and the tokenizers that have them."""

_CHARSMAP = "tokenizer.ggml.precompiled_charsmap"
_CHARSMAP_BYTES = 237_539
"""The same table in every model with a T5 tokenizer."""

_MERGES = {"gpt2": 1.06, "gemma4": 2.12, "llama-bpe": 2.42}
"""Bytes of merges for each byte of tokens, by tokenizer or pre-tokenizer. A merge is the text of
a token with a space in it; some vocabularies list every way to make one."""


class Guess(NamedTuple):
    """Bytes after an array: ``fixed``, and ``echo`` more for each byte of the array itself."""

    fixed: int
    echo: float = 0.0


class Forecast:
    """Told of each key as it is read, it guesses what follows."""

    def __init__(self, tensors: int) -> None:
        self._table = TENSOR_ROW * tensors + SMALL_KEYS
        self._tokens = 0
        self._merges = 0
        self._expected = {*_NUMBERS, MERGES, _CHARSMAP}
        self._names = {MODEL: "", PRE: ""}

    def seen(self, key: Key) -> None:
        """``key`` has been read."""
        if key.name in self._names and isinstance(key.value, bytes):
            self._names[key.name] = key.value.decode("utf-8", "replace")
        elif key.name == TOKENS:
            self._merges = int((key.end - key.offset) * self._factor())
        self._expected.discard(key.name)

    def after(self, name: str | None, count: int) -> Guess:
        """What follows the array ``name`` of ``count`` elements, to the end of the header."""
        if name == TOKENS:
            self._tokens = count
        model = self._names[MODEL]
        numbers = sum(
            array != name and model in _NUMBERS.get(array, ()) for array in self._expected
        )
        fixed = self._table + 4 * numbers * self._tokens
        if model == "t5" and _CHARSMAP in self._expected - {name}:
            fixed += _CHARSMAP_BYTES
        if MERGES not in self._expected or name == MERGES:
            return Guess(fixed)
        if name == TOKENS:
            return Guess(fixed, self._factor())
        return Guess(fixed + self._merges)

    def _factor(self) -> float:
        return _MERGES.get(self._names[PRE]) or _MERGES.get(self._names[MODEL], 0.0)
