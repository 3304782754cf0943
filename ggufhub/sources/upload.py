"""An upload on this machine: the whole file, or only its first bytes with the size of the whole."""

import os
from pathlib import Path

from ggufhub.errors import BytesMissing, SourceError
from ggufhub.sources.base import ByteSource, Identity
from ggufhub.sources.file import FileSource


class UploadSource(ByteSource):
    """The stored prefix of an upload.

    ``size`` is what the sender declared for the whole file. Reading past the stored prefix but
    inside the declared size raises ``BytesMissing``, which says what has to be sent next.
    """

    def __init__(self, path: Path, name: str, size: int | None) -> None:
        super().__init__(name)
        self._file = FileSource(path, name=name)
        self._stored = os.stat(path).st_size
        self._name = name
        self._size = self._stored if size is None else size

    @property
    def identity(self) -> Identity:
        return Identity(locator=self.locator, name=self._name, size=self._size)

    def readinto(self, offset: int, buffer: memoryview) -> int:
        end = min(offset + len(buffer), self._size)
        if end > self._stored:
            raise BytesMissing(self._stored, end - self._stored)
        count = self._file.readinto(offset, buffer[: max(end - offset, 0)])
        self.reads.add(count)
        return count

    def sibling(self, name: str) -> ByteSource:
        raise SourceError("not_uploaded", f"{name} was not uploaded.")

    def check_unchanged(self) -> None:
        self._file.check_unchanged()

    def close(self) -> None:
        self._file.close()
