"""ByteSource: the one way the core reads bytes."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from ggufhub.sources.quota import Left

EXPECTED = "expected by you"
"""Basis of a digest that whoever asked gave with the file."""


@dataclass(frozen=True, slots=True)
class Digest:
    """A checksum and where it comes from.

    ``value`` is lower-case hex. ``basis`` is one of ``declared by hub``, ``declared by
    registry``, ``declared by server``, ``in a manifest``, ``in a signature``, ``expected by
    you``, ``computed from all bytes``.
    """

    algorithm: str
    value: str
    basis: str


@dataclass(frozen=True, slots=True)
class Hop:
    """One host on the way to the bytes, its answer, and the seconds until that came."""

    host: str
    status: int
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Layer:
    """A part that is shipped beside the model and changes how it is run.

    ``kind`` is ``template``, ``system``, ``params``, ``license`` and the like; ``digest`` is the
    declared SHA-256, ``computed`` the one of the bytes that came, and ``text`` their content
    (None where they are too large to show or no text).
    """

    kind: str
    media_type: str
    digest: str | None
    size: int
    text: str | None = None
    computed: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """Which bytes these are: enough to notice that they are the same ones next time.

    ``locator`` is what the user gave, without credentials or signature; ``size`` is in bytes;
    ``notes`` tell what was decided on the way (which file of a repository, and why).
    """

    locator: str
    name: str
    size: int | None
    etag: str | None = None
    last_modified: str | None = None
    hops: tuple[Hop, ...] = ()
    digests: tuple[Digest, ...] = ()
    notes: tuple[str, ...] = ()
    layers: tuple[Layer, ...] = ()


@dataclass(slots=True)
class Reads:
    """What one source and its siblings have cost so far, and what their server has ``left``.

    ``listener`` hears of every change, from whatever thread made it, but of one at a time.
    """

    requests: int = 0
    bytes: int = 0
    left: "Left | None" = field(default=None, compare=False)
    listener: Callable[["Reads"], None] | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(self, count: int, requests: int = 1) -> None:
        with self._lock:
            self.requests += requests
            self.bytes += count
            if self.listener is not None:
                self.listener(self)

    def hear(self, left: "Left") -> None:
        """A server said what is left of its quota."""
        with self._lock:
            self.left = left.beside(self.left)


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

    def check_unchanged(self) -> None:
        """Raise ``SourceChanged`` if the file is another one than at the first read.

        A source that notices this with every read has nothing to do here.
        """
        return

    def reset(self) -> None:
        """Forget what was read and which version it was of, to start over after a change."""
        return

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
