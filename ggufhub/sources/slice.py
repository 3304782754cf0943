"""SliceSource: a part of another source, read as a file of its own."""

from ggufhub.errors import SourceError
from ggufhub.sources.base import ByteSource, Identity


class SliceSource(ByteSource):
    """``size`` bytes at ``offset`` of ``outer``, under a name of their own.

    Reads are counted where the outer source counts its own. Closing a slice leaves the outer
    source open: whoever opened that closes it.
    """

    def __init__(self, outer: ByteSource, offset: int, size: int, name: str) -> None:
        super().__init__(outer.locator)
        self.reads = outer.reads
        self._outer = outer
        self._offset = offset
        self._size = size
        self._name = name

    @property
    def identity(self) -> Identity:
        whole = self._outer.identity  # its digests are those of the whole, so they stay there
        return Identity(
            locator=whole.locator,
            name=self._name,
            size=self._size,
            etag=whole.etag,
            last_modified=whole.last_modified,
            hops=whole.hops,
        )

    def readinto(self, offset: int, buffer: memoryview) -> int:
        length = max(min(len(buffer), self._size - offset), 0)
        return self._outer.readinto(self._offset + offset, buffer[:length]) if length else 0

    def sibling(self, name: str) -> ByteSource:
        raise SourceError("not_found", f"{name} is not inside {self._outer.identity.name}.")

    def check_unchanged(self) -> None:
        self._outer.check_unchanged()

    def close(self) -> None:
        """Nothing is held open here."""
