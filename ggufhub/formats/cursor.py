"""Cursor: bounded reading of numbers and strings over a growing window."""

import struct
from array import array
from typing import NoReturn

from ggufhub.errors import LimitExceeded
from ggufhub.formats.header import Encoding, Span, Stop, StopReason, no_starts
from ggufhub.formats.values import ByteOrder
from ggufhub.sources.window import Window

REFERENCE_STRING_MAX = 1 << 30
"""``GGUF_MAX_STRING_LENGTH`` in ``ggml/src/gguf.cpp``: longer strings are refused."""


class Halt(Exception):
    """Ends a read inside this package; carries the Stop that goes into the Header."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.message)
        self.stop = stop


class Cursor:
    """A position in a window, and what is being read there (for messages).

    ``rest`` is a guess of the bytes still wanted after what is being read, ``echo`` how many more
    there are for each byte of it (see ``formats.forecast``).

    Methods raise ``Halt`` where the file is at fault, ``LimitExceeded`` where a budget is, and
    ``SourceError`` where the bytes cannot be had.
    """

    def __init__(self, window: Window, order: ByteOrder, prefix: int, position: int) -> None:
        self.window = window
        self.position = position
        self.order = order
        self.encoding = Encoding(window.buffer, order, prefix)
        self.key: str | None = None
        self.tensor: str | None = None
        self.rest = 0
        self.echo = 0.0
        self._names = 0
        self._u32 = struct.Struct(order.prefix + "I").unpack_from
        width = "I" if prefix == 4 else "Q"
        self._length = struct.Struct(order.prefix + width).unpack_from
        self.prefix = prefix

    def need(self, length: int, what: str) -> None:
        """Have the next ``length`` bytes."""
        end = self.position + length
        if end > self.window.filled and not self.window.ensure(end, end + self.rest):
            self.halt_at_end(length, what)

    def u32(self, what: str) -> int:
        self.need(4, what)
        (value,) = self._u32(self.window.buffer, self.position)
        self.position += 4
        return int(value)

    def count(self, what: str) -> int:
        """A count or length, as wide as this version of the format writes it."""
        self.need(self.prefix, what)
        (value,) = self._length(self.window.buffer, self.position)
        self.position += self.prefix
        return int(value)

    def name(self, what: str) -> bytes:
        """A length-prefixed string that names something. All names share one budget, because
        they are kept as text."""
        start = self.position
        length = self.skip_string(what) - start - self.prefix
        self._names += length
        allowed = self.window.limits.name_bytes
        if self._names > allowed:
            raise LimitExceeded("name_bytes", allowed, self._names)
        return bytes(self.window.buffer[start + self.prefix : self.position])

    def skip_string(self, what: str) -> int:
        """Step over a string without copying it; its end."""
        start = self.position
        length = self.count(what)
        self.check_length(length, what, start)
        self.need(length, what)
        self.position += length
        return self.position

    def skip_strings(self, most: int, end: int, what: str) -> "array[int]":
        """Step over up to ``most`` strings that begin before ``end``, which has been read; where
        each begins. The last one may reach past what has been read."""
        unpack, buffer, width = self._length, self.window.buffer, self.prefix
        size, allowed = self.window.size, self.window.limits.string_bytes
        sure = end if size is None else size  # a string that ends there needs no further check
        position, last, starts = self.position, end - width, no_starts()
        for _ in range(most):
            if position > last:
                break
            (length,) = unpack(buffer, position)
            after = position + width + length
            if length > allowed or after > sure:
                self.check_length(length, what, position)
            starts.append(position)
            position = after
        self.position = position
        return starts

    def check_length(self, length: int, what: str, prefix_at: int) -> None:
        """Refuse a string length the file cannot hold, then one that our budget cannot."""
        left = self.window.left_after(prefix_at + self.prefix)
        if length > REFERENCE_STRING_MAX or (left is not None and length > left):
            fits = REFERENCE_STRING_MAX if left is None else min(REFERENCE_STRING_MAX, left)
            raise self.halt(
                StopReason.LENGTH,
                f"The length of {what} is {length:,} bytes, more than the file can hold.",
                Span(prefix_at, self.prefix),
                expected=f"at most {fits:,} bytes",
                actual=f"{length:,} bytes",
            )
        allowed = self.window.limits.string_bytes
        if length > allowed:
            raise LimitExceeded("string_bytes", allowed, length)

    def halt_at_end(self, length: int, what: str) -> NoReturn:
        size = self.window.filled if self.window.size is None else self.window.size
        at = min(self.position, size)
        raise self.halt(
            StopReason.END_OF_FILE,
            f"The file ends inside {what}.",
            Span(at, size - at),
            expected=f"{length:,} bytes for {what}",
            actual=f"{size - at:,} bytes left",
        )

    def halt(
        self,
        reason: StopReason,
        message: str,
        span: Span,
        *,
        expected: str | None = None,
        actual: str | None = None,
    ) -> Halt:
        """A Halt that knows which key or tensor was being read."""
        return Halt(Stop(reason, message, span, self.key, self.tensor, expected, actual))
