"""Window: the first bytes of a source, growing only when the reader runs out.

The bytes live in one anonymous private mapping reserved at the size of the header budget. It
never moves, so views of it stay valid and nothing is copied twice; the kernel gives it memory
page by page as bytes arrive, so it costs what was read and not what was reserved.
"""

import mmap
from contextlib import suppress

from ggufhub.errors import BytesMissing, LimitExceeded
from ggufhub.limits import KIB, Limits
from ggufhub.sources.base import ByteSource

READ_AHEAD = 1 / 32
"""Share of what has been read that is added to an estimate of what is needed: a slightly low
guess then costs no further request, and a good one costs 3 % more bytes."""

SMALLEST_STEP = 128 * KIB
"""The second read is no smaller; each later one may be twice as large, so that a file nobody
can guess ends in few requests all the same."""


class Window:
    """Bytes ``[0, filled)`` of a source in ``buffer``.

    ``size`` is the size of the whole file in bytes, or None where the server does not say.
    """

    def __init__(self, source: ByteSource, limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.size = source.identity.size
        self.filled = 0
        self._ended = False
        self._growths = 0
        capacity = limits.header_bytes if self.size is None else min(self.size, limits.header_bytes)
        self._map = mmap.mmap(-1, max(capacity, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # a kernel without huge pages refuses, and nothing is lost
                self._map.madvise(mmap.MADV_HUGEPAGE)  # a fault for 2 MiB, not for each 4 KiB
        self._capacity = capacity
        self.buffer = memoryview(self._map)

    def left_after(self, position: int) -> int | None:
        """Bytes from ``position`` to the end of the file, or None where the size is unknown."""
        if self.size is not None:
            return self.size - position
        return self.filled - position if self._ended else None

    def ensure(self, end: int, likely_end: int = 0) -> bool:
        """Have bytes ``[0, end)``; False where the file ends before ``end``.

        ``likely_end`` is a guess of how far the reader will get; reading goes that far at once.
        Raises ``LimitExceeded`` past the header budget and ``SourceError`` from the source.
        """
        while self.filled < end:
            if self._ended or (self.size is not None and end > self.size):
                return False
            if end > self.limits.header_bytes:
                raise LimitExceeded("header_bytes", self.limits.header_bytes, end)
            self._grow(end, likely_end)
        return True

    def _grow(self, end: int, likely_end: int) -> None:
        first = self.limits.first_read
        least = min(SMALLEST_STEP << self._growths - 1, first) if self._growths else first
        step = max(end - self.filled, least)
        if likely_end > end:
            ahead = int(self.filled * READ_AHEAD)
            step = max(step, likely_end - self.filled + ahead)
        self._growths += 1
        step = min(step, self.limits.largest_read)
        stop = min(self.filled + step, self._capacity)
        try:
            self._read_to(stop)
        except BytesMissing as missing:
            if missing.offset < end:
                raise
            self._read_to(missing.offset)  # a header-only upload holds enough, if not all we asked

    def _read_to(self, stop: int) -> None:
        wanted = stop - self.filled
        count = self.source.readinto(self.filled, self.buffer[self.filled : stop])
        self.filled += count
        if count < wanted:
            self._ended = True
            self.size = self.filled
