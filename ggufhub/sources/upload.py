"""An upload on this machine: the whole file, or only its first bytes with the size of the whole."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ggufhub.errors import BytesMissing, SourceError
from ggufhub.sources.base import ByteSource, Identity
from ggufhub.sources.file import FileSource


class Stored(NamedTuple):
    """Where the bytes of an upload lie, and the size in bytes its sender declared."""

    path: Path
    size: int


class UploadSource(ByteSource):
    """The stored prefix of an upload.

    ``size`` is what the sender declared for the whole file. Reading past the stored prefix but
    inside the declared size raises ``BytesMissing``, which says what has to be sent next.
    ``siblings`` are the files uploaded together with this one, by name.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        size: int | None,
        siblings: Mapping[str, Stored] | None = None,
    ) -> None:
        super().__init__(name)
        self._file = FileSource(path, name=name)
        self._stored = self._file.identity.size or 0
        self._name = name
        self._size = self._stored if size is None else size
        self._siblings = siblings or {}

    @property
    def identity(self) -> Identity:
        return Identity(locator=self.locator, name=self._name, size=self._size)

    def readinto(self, offset: int, buffer: memoryview) -> int:
        end = min(offset + len(buffer), self._size)
        if end > self._stored:
            raise BytesMissing(self._stored, end - self._stored, self._name)
        count = self._file.readinto(offset, buffer[: max(end - offset, 0)])
        self.reads.add(count)
        return count

    def sibling(self, name: str) -> "UploadSource":
        stored = self._siblings.get(name)
        if stored is None:
            raise SourceError("not_uploaded", f"{name} was not uploaded.")
        try:
            found = UploadSource(stored.path, name, stored.size, self._siblings)
        except SourceError as error:
            # Never "not_found": that its bytes are gone here does not prove that it is missing.
            raise SourceError("deleted", f"{name} was deleted before it was read.") from error
        found.reads = self.reads
        return found

    def check_unchanged(self) -> None:
        self._file.check_unchanged()

    def close(self) -> None:
        self._file.close()
