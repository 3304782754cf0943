"""Tape: what was read of a source while it was inspected, and a source that gives it again.

What is on tape is all that an inspection by headers depends on: every byte it read, who the files
said they are, which files were beside them and which were not. So rules can judge it anew, and
find what they would find in the file itself, without reading a byte of that.
"""

import os
import tempfile
import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ggufhub.errors import BytesMissing, SourceChanged, SourceError
from ggufhub.hub.headers import KeptFile
from ggufhub.limits import MIB, Limits
from ggufhub.sources.base import ByteSource, Digest, Hop, Identity, Layer, Reads

MOST_BYTES = Limits().header_bytes
"""On one tape: what one header may hold. The header of a model that takes more is not kept."""


class TapeFile:
    """What was read of one file. ``spans`` rise and do not overlap: ``(offset, end)`` each.

    The bytes lie in a nameless file with holes, each where it is in the original, until ``close``.
    """

    def __init__(self, name: str, identity: Identity, directory: Path) -> None:
        self.name = name
        self.spans: list[tuple[int, int]] = []
        self.identity = identity
        self._handle, path = tempfile.mkstemp(dir=directory)
        os.unlink(path)

    @property
    def facts(self) -> dict[str, Any]:
        """The identity, as JSON."""
        return asdict(self.identity)

    def write(self, offset: int, data: memoryview, identity: Identity) -> None:
        """Note bytes that were read. ``OSError`` where there is no room."""
        self.identity = identity
        while data:
            count = os.pwrite(self._handle, data, offset)
            self._add(offset, offset + count)
            offset, data = offset + count, data[count:]

    def _add(self, begin: int, end: int) -> None:
        """Make ``[begin, end)`` part of the spans, joined with those it touches."""
        touching = [span for span in self.spans if span[0] <= end and span[1] >= begin]
        for span in touching:
            self.spans.remove(span)
            begin, end = min(begin, span[0]), max(end, span[1])
        self.spans.insert(bisect_left(self.spans, (begin, end)), (begin, end))

    def read(self, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes from ``offset``, fewer where the span around it ends.

        ``LookupError`` where there is none.
        """
        for begin, end in self.spans:
            if begin <= offset < end:
                return os.pread(self._handle, min(length, end - offset), offset)
        raise LookupError(offset)

    def close(self) -> None:
        os.close(self._handle)


class Tape:
    """Everything read while it runs, of the file asked for and of those beside it.

    ``whole`` tells afterwards whether it is all there: a tape that was full is of no use.
    """

    def __init__(self, directory: Path) -> None:
        self.whole = True
        self._directory = directory
        self._lock = threading.Lock()  # shards are read from several threads
        self._running = True
        self._files: dict[str | None, TapeFile] = {}
        self._beside: list[str] | None = None
        self._absent: dict[str, dict[str, str]] = {}

    def __enter__(self) -> "Tape":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.forget()

    def forget(self) -> None:
        """Begin anew: the file changed, or the tape is done with."""
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._absent.clear()
        self._beside = None

    def stop(self) -> None:
        """What is read from now on is not the header any more."""
        self._running = False

    def write(self, key: str | None, identity: Identity, offset: int, data: memoryview) -> None:
        """Note bytes of the file ``key``: its name beside the one asked for, None for that."""
        with self._lock:
            self._write(key, identity, offset, data)

    def _write(self, key: str | None, identity: Identity, offset: int, data: memoryview) -> None:
        if not self._running:
            return
        held = sum(end - begin for file in self._files.values() for begin, end in file.spans)
        try:
            if held + len(data) > MOST_BYTES:
                raise OSError
            if key not in self._files:
                self._files[key] = TapeFile(key or identity.name, identity, self._directory)
            self._files[key].write(offset, data, identity)
        except OSError:
            # Too much, a full disk, too many files: a report without its header is still a report.
            self.whole = self._running = False

    def note_beside(self, names: list[str] | None) -> None:
        self._beside = names

    def note_absent(self, name: str, error: SourceError) -> None:
        self._absent[name] = {"code": error.code, "message": error.message}

    @property
    def files(self) -> list[TapeFile]:
        """The file that was asked for, and then those beside it."""
        return [file for _, file in sorted(self._files.items(), key=lambda one: one[0] or "")]

    @property
    def about(self) -> dict[str, Any]:
        """What is to be known besides the files, as JSON."""
        return {"beside": self._beside, "absent": self._absent}


class Recorder(ByteSource):
    """``source``, with everything read of it noted on ``tape`` under ``key``."""

    def __init__(self, source: ByteSource, tape: Tape, key: str | None = None) -> None:
        super().__init__(source.locator)
        self.reads = source.reads
        self._source = source
        self._tape = tape
        self._key = key

    @property
    def identity(self) -> Identity:
        return self._source.identity

    def readinto(self, offset: int, buffer: memoryview) -> int:
        count = self._source.readinto(offset, buffer)
        self._tape.write(self._key, self._source.identity, offset, buffer[:count])
        return count

    def sibling(self, name: str) -> ByteSource:
        try:
            found = self._source.sibling(name)
        except (BytesMissing, SourceChanged):
            raise
        except SourceError as error:
            self._tape.note_absent(name, error)
            raise
        self._tape.write(name, found.identity, 0, memoryview(b""))
        return Recorder(found, self._tape, name)

    def sibling_names(self) -> list[str] | None:
        names = self._source.sibling_names()
        self._tape.note_beside(names)
        return names

    def check_unchanged(self) -> None:
        self._source.check_unchanged()

    def reset(self) -> None:
        self._source.reset()
        self._tape.forget()

    def close(self) -> None:
        self._source.close()


@contextmanager
def rewound(files: Iterable[KeptFile], directory: Path) -> Iterator[list[TapeFile]]:
    """``files`` from the store, as they were on tape.

    All at once, here: the core reads shards from several threads, and each would need a
    connection to the database of its own.
    """
    with ExitStack() as stack:
        tape = []
        for file in files:
            identity = identity_of(file.facts)
            copy = TapeFile(file.name, identity, directory)
            stack.callback(copy.close)
            for begin, end in file.spans():
                for offset in range(begin, end, MIB):
                    data = file.read(offset, min(MIB, end - offset))
                    copy.write(offset, memoryview(data), identity)
            tape.append(copy)
        yield tape


class Replay(ByteSource):
    """The file on a tape. ``gaps`` tells whether something was asked for that is not on it.

    ``reads`` is what it cost to learn that the file is still the same.
    """

    def __init__(
        self,
        file: TapeFile,
        beside: Mapping[str, TapeFile],
        about: Mapping[str, Any],
        reads: Reads,
        root: "Replay | None" = None,
    ) -> None:
        self._identity = file.identity
        super().__init__(self._identity.locator)
        self.reads = reads
        self.gaps = False
        self._file = file
        self._beside = beside
        self._about = about
        self._root = root or self

    @property
    def identity(self) -> Identity:
        return self._identity

    def readinto(self, offset: int, buffer: memoryview) -> int:
        size = self._identity.size
        wanted = len(buffer) if size is None else max(min(len(buffer), size - offset), 0)
        data = self._read(offset, wanted)
        if len(data) < wanted and size is not None:
            raise self._gap()
        buffer[: len(data)] = data
        return len(data)

    def _read(self, offset: int, length: int) -> bytes:
        try:
            return self._file.read(offset, length)
        except LookupError:
            raise self._gap() from None

    def _gap(self) -> SourceError:
        self._root.gaps = True
        return SourceError("not_kept", "This part of the file was not kept.")

    def sibling(self, name: str) -> ByteSource:
        if name in self._beside:
            return Replay(self._beside[name], self._beside, self._about, self.reads, self._root)
        if known := self._about["absent"].get(name):
            raise SourceError(known["code"], known["message"])
        raise self._gap()

    def sibling_names(self) -> list[str] | None:
        names: list[str] | None = self._about["beside"]
        return names

    def close(self) -> None:
        """Nothing is open."""


def identity_of(facts: Mapping[str, Any]) -> Identity:
    """The identity that ``TapeFile.facts`` describes."""
    parts = {"hops": Hop, "digests": Digest, "layers": Layer}
    made = {name: tuple(kind(**one) for one in facts[name]) for name, kind in parts.items()}
    return Identity(**{**facts, **made, "notes": tuple(facts["notes"])})
