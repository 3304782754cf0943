"""Find the model inside a llamafile: a program with a ZIP archive behind it.

The model is stored there without compression, so it can be read in place. The directory is at the
end of the file; every length in it is checked before it is used. Layout: PKWARE APPNOTE 6.3.10,
sections 4.3.7 (local header), 4.3.12 (directory), 4.3.14 to 4.3.16 (its end, ZIP64).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ggufhub.errors import BytesMissing
from ggufhub.formats.header import Span
from ggufhub.limits import MIB
from ggufhub.sources.base import ByteSource

MOST_ENTRIES = 65_536
MOST_DIRECTORY = 4 * MIB
"""Bytes of the directory. A llamafile holds some hundred files: 40 KB."""

_LOCAL = struct.Struct("<4s5H3I2H")
_ENTRY = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END_64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_MOST_COMMENT = 0xFFFF
_IN_EXTRA = 0xFFFFFFFF
_ENCRYPTED = 1
_STORED = 0


class Problem(NamedTuple):
    """Why the archive cannot be used, and where that shows."""

    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class Member:
    """A stored model: ``size`` bytes at ``offset``. ``others`` counts further models."""

    name: str
    offset: int
    size: int
    others: int = 0


@dataclass(frozen=True, slots=True)
class Archive:
    """What is known of an archive behind a program: the model in it, or the problem with it."""

    member: Member | None = None
    problem: Problem | None = None


class _Broken(Exception):
    def __init__(self, message: str, at: int, length: int) -> None:
        super().__init__(message)
        self.problem = Problem(message, Span(at, length))


@dataclass(frozen=True, slots=True)
class _Entry:
    """One line of the directory; ``place`` is where that line is."""

    place: Span
    name: bytes
    flags: int
    method: int
    stored: int
    size: int
    local: int


@dataclass(frozen=True, slots=True)
class _Directory:
    """``bias`` is what must be added to offsets: bytes put before a finished archive."""

    offset: int
    size: int
    count: int
    bias: int


def find_model(source: ByteSource) -> Archive | None:
    """The archive behind a program; None where there is none, or its end is not at hand.

    Raises ``SourceError``, but not for the missing end of a header-only upload.
    """
    size = source.identity.size
    if size is None:
        return None
    try:
        directory = _directory(source, size)
        return None if directory is None else Archive(_member(source, directory))
    except BytesMissing:
        return None
    except _Broken as broken:
        return Archive(problem=broken.problem)


def _directory(source: ByteSource, size: int) -> _Directory | None:
    length = min(size, _LOCATOR.size + _END.size + _MOST_COMMENT)
    base = size - length
    tail = source.read(base, length)
    at = _find_end(tail)
    if at is None:
        return None
    count, bytes_long, offset = _END.unpack_from(tail, at)[4:7]
    end = base + at
    locator = at - _LOCATOR.size
    if locator >= 0 and tail.startswith(b"PK\x06\x07", locator):
        end = _LOCATOR.unpack_from(tail, locator)[2]
        count, bytes_long, offset = _end_64(source, end, base + locator)
    start = end - bytes_long
    bias = start - offset
    if start < 0 or bias < 0:
        raise _Broken("The ZIP directory does not fit before its own end.", base + at, _END.size)
    if count > MOST_ENTRIES or bytes_long > MOST_DIRECTORY:
        message = f"The ZIP directory announces {count:,} files in {bytes_long:,} bytes."
        raise _Broken(message, base + at, _END.size)
    return _Directory(start, bytes_long, count, bias)


def _find_end(tail: bytes) -> int | None:
    """The last end record whose comment ends where the file does."""
    at = tail.rfind(b"PK\x05\x06")
    while at >= 0:
        if at + _END.size <= len(tail):
            comment = _END.unpack_from(tail, at)[7]
            if at + _END.size + comment == len(tail):
                return at
        at = tail.rfind(b"PK\x05\x06", 0, at)
    return None


def _end_64(source: ByteSource, at: int, locator: int) -> tuple[int, int, int]:
    """Count, size and offset of the directory as the ZIP64 end record has them."""
    raw = source.read(at, _END_64.size) if at + _END_64.size <= locator else b""
    if len(raw) < _END_64.size or not raw.startswith(b"PK\x06\x06"):
        raise _Broken("The ZIP64 end record is not where it should be.", locator, _LOCATOR.size)
    count, size, offset = _END_64.unpack(raw)[7:10]
    return count, size, offset


def _member(source: ByteSource, directory: _Directory) -> Member | None:
    """The largest stored model; None where the archive holds none."""
    entries = list(_entries(source.read(directory.offset, directory.size), directory))
    models = [entry for entry in entries if entry.name.lower().endswith(b".gguf")]
    usable = [entry for entry in models if entry.method == _STORED]
    if not models:
        return None
    if not usable:
        where = models[0].place
        message = f"The model {_text(models[0].name)} is compressed; it has to be stored."
        raise _Broken(message, where.offset, where.length)
    entry = max(usable, key=lambda entry: entry.size)
    offset = _check(source, entry, entries, directory)
    return Member(_text(entry.name), offset, entry.size, len(models) - 1)


def _entries(raw: bytes, directory: _Directory) -> Iterator[_Entry]:
    position = 0
    for number in range(directory.count):
        fields = raw[position : position + _ENTRY.size]
        if len(fields) < _ENTRY.size or not fields.startswith(b"PK\x01\x02"):
            message = f"The ZIP directory ends before its file {number + 1:,}."
            raise _Broken(message, directory.offset + position, len(fields))
        values = _ENTRY.unpack(fields)
        flags, method, (stored, size) = values[3], values[4], values[8:10]
        name_length, extra_length, comment_length = values[10:13]
        name_at = position + _ENTRY.size
        extra_at = name_at + name_length
        end = extra_at + extra_length + comment_length
        name, extra = raw[name_at:extra_at], raw[extra_at : extra_at + extra_length]
        size, stored, local = _wide(extra, [size, stored, values[16]])
        place = Span(directory.offset + position, end - position)
        yield _Entry(place, name, flags, method, stored, size, local + directory.bias)
        position = end


def _wide(extra: bytes, numbers: list[int]) -> list[int]:
    """``numbers`` (size, stored size, offset), those in the ZIP64 extra field taken from there."""
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, position)
        body = extra[position + 4 : position + 4 + length]
        position += 4 + length
        if kind == 1:
            wide = iter(struct.unpack_from(f"<{len(body) // 8}Q", body))
            return [next(wide, n) if n == _IN_EXTRA else n for n in numbers]
    return numbers


def _check(source: ByteSource, entry: _Entry, entries: list[_Entry], directory: _Directory) -> int:
    """Where the data of ``entry`` begins, once everything about it has been found to hold."""
    name, at = _text(entry.name), entry.local

    def broken(what: str) -> _Broken:
        return _Broken(f"The model {name} {what}.", entry.place.offset, entry.place.length)

    if entry.flags & _ENCRYPTED or entry.stored != entry.size:
        raise broken("is encrypted, or its two sizes differ though it is stored")
    if at + _LOCAL.size + len(entry.name) > directory.offset:
        raise broken("begins behind the directory")
    head = source.read(at, _LOCAL.size + len(entry.name))
    values = _LOCAL.unpack_from(head)
    if values[0] != b"PK\x03\x04" or head[_LOCAL.size :] != entry.name or values[3] != _STORED:
        raise broken("is not what the directory points at")
    offset: int = at + _LOCAL.size + values[9] + values[10]
    if offset + entry.size > directory.offset:
        raise broken("reaches into the directory")
    if any(at < other.local < offset + entry.size for other in entries):
        raise broken("overlaps another file")
    if entry.size < 4 or source.read(offset, 4) != b"GGUF":
        raise broken("does not begin with GGUF")
    return offset


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
