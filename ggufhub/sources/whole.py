"""WholeBody: the one streaming pass over a server that does not answer ranges."""

from ggufhub.errors import SourceError
from ggufhub.limits import MIB
from ggufhub.sources.exchange import Reply

STEP = 1 * MIB
"""Bytes read from the stream at once."""


class WholeBody:
    """The body of an answer that brings the whole file, read only as far as it is needed.

    What came is kept, so reads anywhere in it cost nothing; the connection stays open for more.
    ``size`` is the length in bytes once it is known. Nothing is read past ``most`` bytes.
    """

    def __init__(self, reply: Reply, size: int | None, most: int) -> None:
        self.size = size
        self._reply = reply
        self._most = most
        self._held = bytearray()
        self._ended = False

    @property
    def held(self) -> int:
        """Bytes that came so far."""
        return len(self._held)

    def copy(self, offset: int, buffer: memoryview) -> int:
        """Fill ``buffer`` from ``offset``; the count is short only where the file ends."""
        end = offset + len(buffer)
        self.read_to(end if self.size is None else min(end, self.size))
        part = memoryview(self._held)[offset:end]
        count = len(part)
        buffer[:count] = part
        if count < len(buffer) and (self.size is None or offset + count < self.size):
            raise SourceError("short_body", "The server broke off its answer.")
        return count

    def read_to(self, end: int) -> None:
        """Have the first ``end`` bytes, or all there are."""
        if end > self._most:
            raise SourceError(
                "no_ranges", "The server does not answer range requests, only whole files."
            )
        if end > len(self._held) and not self._ended:
            self._reply.renew()
        while len(self._held) < end and not self._ended:
            piece = bytearray(min(STEP, end - len(self._held)))
            count = self._reply.read_into(memoryview(piece))
            self._held += memoryview(piece)[:count]
            if count < len(piece):
                self._ended = True
                if self.size is None and not self._reply.broken:
                    self.size = len(self._held)

    def close(self) -> None:
        """Hang up: what is still on its way is not wanted."""
        self._ended = True
        self._reply.drop()
