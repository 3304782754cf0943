"""ByteSource: the one way the core reads bytes."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self


@dataclass(frozen=True, slots=True)
class Digest:
    """A checksum and where it comes from.

    ``basis`` is one of ``declared by hub``, ``declared by server``, ``in a manifest``,
    ``expected by you``, ``computed from all bytes``.
    """

    algorithm: str
    value: str
    basis: str


@dataclass(frozen=True, slots=True)
class Hop:
    """One host on the way to the bytes, and its answer."""

    host: str
    status: int


@dataclass(frozen=True, slots=True)
class Identity:
    """Which bytes these are: enough to notice that they are the same ones next time.

    ``locator`` is what the user gave, without credentials or signature; ``size`` is in bytes.
    """

    locator: str
    name: str
    size: int | None
    etag: str | None = None
    last_modified: str | None = None
    hops: tuple[Hop, ...] = ()
    digests: tuple[Digest, ...] = ()


@dataclass(slots=True)
class Reads:
    """What one source has cost so far. ``listener`` hears of every change (progress)."""

    requests: int = 0
    bytes: int = 0
    listener: Callable[["Reads"], None] | None = field(default=None, repr=False)

    def add(self, count: int, requests: int = 1) -> None:
        self.requests += requests
        self.bytes += count
        if self.listener is not None:
            self.listener(self)


class ByteSource(ABC):
    """A file that can be read by range.

    ``locator`` is what the user gave, without credentials; it is there even if nothing can be
    read. Subclasses raise ``SourceError`` (or a subclass of it) and nothing else.
    """

    def __init__(self, locator: str) -> None:
        self.locator = locator
        self.reads = Reads()

    @property
    @abstractmethod
    def identity(self) -> Identity:
        """Name, size and validators. For a remote file this may make the first request."""

    @abstractmethod
    def readinto(self, offset: int, buffer: memoryview) -> int:
        """Fill ``buffer`` from ``offset``; return the count, short only at the end of the file."""

    def read(self, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes from ``offset``; fewer only where the file ends."""
        buffer = bytearray(length)
        count = self.readinto(offset, memoryview(buffer))
        return bytes(buffer[:count])

    @abstractmethod
    def sibling(self, name: str) -> "ByteSource":
        """The file called ``name`` beside this one. ``SourceError('not_found', …)`` if absent."""

    def sibling_names(self) -> list[str] | None:
        """Names of the files beside this one, or None where they cannot be listed."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Give back what the source holds open. Safe to call twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
