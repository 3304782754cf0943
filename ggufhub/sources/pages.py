"""Pages: small reads anywhere in a source, without the bytes between them.

Old formats put a small header before the data of each tensor. Reading those headers through a
Window would read the whole file; here each costs one page, and pages near each other are shared.
"""

from collections import OrderedDict

from ggufhub.errors import BytesMissing
from ggufhub.limits import KIB
from ggufhub.sources.window import Window

PAGE = 64 * KIB
"""One read. Small enough to throw away, large enough to hold the neighbours of a header."""

KEPT = 32
"""Pages kept: 2 MiB, whatever the size of the file."""


class Pages:
    """Reads at any offset of the file behind ``window``, whose bytes are used where it has them.

    Raises ``SourceError`` as the source does; how many requests are allowed is its own affair.
    """

    def __init__(self, window: Window) -> None:
        self.limits = window.limits
        self._window = window
        self._pages: OrderedDict[int, bytes] = OrderedDict()
        self._learnt: int | None = None

    @property
    def size(self) -> int | None:
        """Bytes in the whole file; None while nobody has said and no read has met the end."""
        window = self._window
        if window.size is not None:
            return window.size
        return self._learnt if self._learnt is not None else window.source.identity.size

    def read(self, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes from ``offset``; fewer only where the file ends."""
        if self.size is not None:
            length = max(min(length, self.size - offset), 0)
        if offset + length <= self._window.filled:
            return bytes(self._window.buffer[offset : offset + length])
        parts, position, end = [], offset, offset + length
        while position < end:
            number, skip = divmod(position, PAGE)
            page = self._page(number, min(end - number * PAGE, PAGE))
            part = page[skip : skip + end - position]
            if not part:
                break
            parts.append(part)
            position += len(part)
        return b"".join(parts)

    def ended_at(self, position: int) -> bool:
        """Whether the file ends at ``position`` or before it."""
        return position >= self.size if self.size is not None else not self.read(position, 1)

    def _page(self, number: int, needed: int) -> bytes:
        """Page ``number``, or at least its first ``needed`` bytes where no more is at hand."""
        held = self._pages.get(number)
        if held is not None and (len(held) >= needed or self._is_last(number, held)):
            self._pages.move_to_end(number)
            return held
        page = self._fetch(number * PAGE, needed)
        self._pages[number] = page
        if len(self._pages) > KEPT:
            self._pages.popitem(last=False)
        return page

    def _is_last(self, number: int, held: bytes) -> bool:
        return self.size is not None and number * PAGE + len(held) >= self.size

    def _fetch(self, offset: int, needed: int) -> bytes:
        source = self._window.source
        length = PAGE if self.size is None else min(PAGE, self.size - offset)
        try:
            page = source.read(offset, length)
        except BytesMissing as missing:
            if missing.offset < offset + needed:
                raise
            return source.read(offset, missing.offset - offset)  # what was uploaded is enough
        if len(page) < length and page:
            self._learnt = offset + len(page)
        return page
