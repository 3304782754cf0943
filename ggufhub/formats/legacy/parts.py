"""Parts: what comes before the tensors of an old format, listed as keys while it is read.

Those formats name nothing: a reader has to know which number comes where. Every number is a
little-endian word of 32 bits, every string has its length in one.
"""

import struct
from array import array

from ggufhub.errors import LimitExceeded
from ggufhub.formats.cursor import Cursor
from ggufhub.formats.header import Array, Encoding, Header, Key, Span, StopReason, no_starts
from ggufhub.formats.values import ByteOrder, ValueType
from ggufhub.sources.window import Window

MOST_TOKENS = 524_288
"""Twice the largest vocabulary of the time (Bloom, 250,880)."""

MOST_TOKEN_BYTES = 4_095
"""``convert_llama_ggml_to_gguf.py`` refuses longer tokens."""

_WORD = 4


class Parts:
    """Reads numbers, strings and the vocabulary from ``position`` on, and adds them to ``header``.

    Raises what ``Cursor`` raises: ``Halt`` where the file is at fault, ``LimitExceeded``,
    ``SourceError``.
    """

    def __init__(self, window: Window, header: Header, position: int) -> None:
        self.header = header
        self._cursor = Cursor(window, ByteOrder.LITTLE, _WORD, position)

    @property
    def position(self) -> int:
        return self._cursor.position

    def words(self, *names: str) -> None:
        """Unsigned numbers that follow each other."""
        for name in names:
            self.word(name)

    def word(self, name: str, kind: ValueType = ValueType.UINT32) -> int:
        """One number; its bits as an unsigned one whatever ``kind`` says."""
        at = self.position
        self._cursor.key = name
        value = self._cursor.u32(f"the number {name}")
        self._add(name, kind, at)
        return value

    def same(self, name: str, expected: int) -> None:
        """A number that repeats another one."""
        at = self.position
        found = self.word(name)
        if found != expected:
            raise self._cursor.halt(
                StopReason.MAGIC,
                f"{name} repeats another number of the file, and differs from it.",
                Span(at, _WORD),
                expected=f"{expected:,}",
                actual=f"{found:,}",
            )

    def text(self, name: str) -> None:
        """A string."""
        at = self.position
        self._cursor.key = name
        self._cursor.skip_string(f"the text {name}")
        self._add(name, ValueType.STRING, at)

    def numbers(self, name: str, kind: ValueType, count: int) -> None:
        """``count`` numbers of 32 bits."""
        cursor, at = self._cursor, self.position
        cursor.key = name
        self._check_count(name, count, _WORD)
        allowed = cursor.window.limits.array_elements
        if count > allowed:
            raise LimitExceeded("array_elements", allowed, count)
        cursor.need(count * _WORD, name)
        cursor.position += count * _WORD
        self._add(name, kind, at, Array(cursor.encoding, kind, count, at, cursor.position))

    def tokens(self, count: int, *, scored: bool = False) -> None:
        """``count`` strings, each followed by a score where ``scored``."""
        cursor, at = self._cursor, self.position
        cursor.key = "tokens"
        extra = _WORD if scored else 0
        allowed = min(cursor.window.limits.array_elements, MOST_TOKENS)
        if count > allowed:
            self._check_count("tokens", count, _WORD + extra)
            raise LimitExceeded("array_elements", allowed, count)
        starts = self._token_starts(count, extra)
        strings = Array(cursor.encoding, ValueType.STRING, count, at, self.position, starts)
        self._add("tokens", ValueType.ARRAY, at, strings)
        if scored:
            self._add("scores", ValueType.ARRAY, at, self._scores(starts))
        cursor.key = None

    def _token_starts(self, count: int, extra: int) -> "array[int]":
        cursor, window = self._cursor, self._cursor.window
        unpack, buffer, filled = struct.Struct("<I").unpack_from, window.buffer, window.filled
        position, starts = cursor.position, no_starts()
        for number in range(count):
            cursor.position = position
            if position + _WORD > filled:
                cursor.need(_WORD, f"the length of token {number:,}")
                filled = window.filled
            (length,) = unpack(buffer, position)
            if length > MOST_TOKEN_BYTES:
                raise cursor.halt(
                    StopReason.LENGTH,
                    f"Token {number:,} is {length:,} bytes long.",
                    Span(position, _WORD),
                    expected=f"at most {MOST_TOKEN_BYTES:,} bytes",
                    actual=f"{length:,} bytes",
                )
            after = position + _WORD + length + extra
            if after > filled:
                cursor.need(after - position, f"token {number:,}")
                filled = window.filled
            starts.append(position)
            position = after
        cursor.position = position
        return starts

    def _scores(self, starts: "array[int]") -> Array:
        """The scores, which lie between the strings, gathered in one place."""
        buffer = self._cursor.window.buffer
        ends = [*starts[1:], self.position] if starts else []
        joined = b"".join(buffer[end - _WORD : end] for end in ends)
        encoding = Encoding(memoryview(joined), ByteOrder.LITTLE, _WORD)
        return Array(encoding, ValueType.FLOAT32, len(starts), 0, len(joined))

    def _check_count(self, name: str, count: int, smallest: int) -> None:
        left = self._cursor.window.left_after(self.position)
        if left is not None and count * smallest > left:
            raise self._cursor.halt(
                StopReason.COUNT,
                f"The file announces {count:,} {name}, but is too small for them.",
                Span(self.position, 0),
                expected=f"at most {left // smallest:,}",
                actual=f"{count:,}",
            )

    def _add(self, name: str, kind: ValueType, at: int, array: Array | None = None) -> None:
        if array is not None:
            kind = ValueType.ARRAY
        encoding = self._cursor.encoding
        key = Key(encoding, name.encode(), kind, at, at, self.position, array)
        self.header.keys.append(key)
