"""ResolvedSource: a name that has to be looked up before it is known which file to read."""

from abc import abstractmethod

from ggufhub.sources.base import ByteSource, Identity
from ggufhub.sources.http import HttpSource


class ResolvedSource(ByteSource):
    """Looks its name up with the first use, so that making one costs nothing and cannot fail."""

    def __init__(self, locator: str) -> None:
        super().__init__(locator)
        self._file: HttpSource | None = None

    @abstractmethod
    def _resolve(self) -> HttpSource:
        """The file the name stands for. Raises ``SourceError``."""

    def _opened(self) -> HttpSource:
        if self._file is None:
            self._file = self._resolve()
        return self._file

    @property
    def identity(self) -> Identity:
        return self._opened().identity

    def readinto(self, offset: int, buffer: memoryview) -> int:
        return self._opened().readinto(offset, buffer)

    def reset(self) -> None:
        """Look the name up anew: it may stand for another file by now."""
        self.close()
        self._file = None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
