"""The bytes of headers that reports were made from: kept, so that nobody has to fetch them again.

They serve the view of any byte of a header, and judging a model anew by newer rules. What is kept
of a file are the stretches that were read. Each is cut into blocks, addressed by their content,
at the ends of long keys: a vocabulary that a hundred models share is stored once.
"""

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol
from uuid import UUID

from ggufhub.hub import shared
from ggufhub.hub.header_models import HeaderBlock, StoredHeader
from ggufhub.hub.models import Report
from ggufhub.hub.shared import Block

BLOCK = 1024**2
"""Bytes of the longest block. One is decompressed in a few milliseconds."""

LONG_KEY = 64 * 1024
"""Bytes from which a key is worth blocks of its own: vocabularies take megabytes."""


class NotKept(LookupError):
    """Nothing is kept: an older report, too large a header, or no such file."""


class NotThere(LookupError):
    """Something is kept of the file, and this place is not: it was never read."""


class Read(Protocol):
    """What was read of one file, as the worker hands it over.

    ``facts`` are JSON, to know the file by; ``spans`` are the stretches ``(offset, end)`` in
    rising order, without overlaps.
    """

    @property
    def name(self) -> str: ...
    @property
    def facts(self) -> dict[str, Any]: ...
    @property
    def spans(self) -> Sequence[tuple[int, int]]: ...

    def read(self, offset: int, length: int) -> bytes:
        """Bytes inside one of the spans."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Stored blocks, and the index (compressed JSON) that says what they are."""

    index: bytes
    blocks: tuple[str, ...]


def keep(files: Iterable[Read], about: dict[str, Any], document: dict[str, Any]) -> Kept:
    """Store the bytes of ``files``; ``about`` is JSON to be given back with them.

    ``document`` is the report made of them: its long keys are where the first file is cut.
    """
    listed: list[dict[str, Any]] = []
    first = document["files"][0]["name"] if document["files"] else None
    blocks: list[str] = []
    for file in files:
        cuts = _cuts(document["metadata"]) if file.name == first else []
        spans: list[list[Any]] = []
        blocks += shared.store_blocks(_blocks(file, cuts, spans))
        listed.append({"name": file.name, "facts": file.facts, "spans": spans})
    index = json.dumps({"files": listed, **about}, separators=(",", ":")).encode()
    return Kept(zlib.compress(index), tuple(dict.fromkeys(blocks)))


def _cuts(metadata: list[dict[str, Any]]) -> list[int]:
    """Where long keys begin and end."""
    long = (entry for entry in metadata if entry["length"] >= LONG_KEY)
    return sorted({place for e in long for place in (e["offset"], e["offset"] + e["length"])})


def _blocks(file: Read, cuts: list[int], spans: list[list[Any]]) -> Iterator[Block]:
    """The blocks of ``file``. Adds ``[offset, [[digest, size], …]]`` to ``spans`` for each span."""
    for begin, end in file.spans:
        parts: list[list[Any]] = []
        spans.append([begin, parts])
        stops = [*(cut for cut in cuts if begin < cut < end), end]
        for stop in stops:
            for offset in range(begin, stop, BLOCK):
                block = Block.of(file.read(offset, min(BLOCK, stop - offset)))
                parts.append([block.digest, len(block.raw)])
                yield block
            begin = stop


def attach(report: Report, kept: Kept) -> None:
    """Let ``report`` hold what was kept. Call it inside the transaction that stores it."""
    header = StoredHeader.objects.create(report=report, index=kept.index)
    link = StoredHeader.blocks.through
    link.objects.bulk_create(
        (link(storedheader_id=header.pk, headerblock_id=digest) for digest in kept.blocks),
        batch_size=shared.BATCH,
    )


def of(report: Report) -> Kept | None:
    """What is kept for ``report``, to be held by another one too."""
    header = StoredHeader.objects.filter(report=report).first()
    if header is None:
        return None
    return Kept(bytes(header.index), tuple(header.blocks.values_list("pk", flat=True)))


class KeptFile:
    """The kept bytes of one file; ``facts`` are those the worker gave with them."""

    def __init__(self, listed: dict[str, Any]) -> None:
        self.name: str = listed["name"]
        self.facts: dict[str, Any] = listed["facts"]
        self._spans = listed["spans"]

    def read(self, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes from ``offset``, fewer where what is kept ends.

        ``NotThere`` where not even the first one is.
        """
        pieces = []
        end = offset + length
        for begin, parts in self._spans:
            for digest, size in parts:
                if begin <= offset < min(begin + size, end):
                    piece = _raw(digest)[offset - begin : end - begin]
                    pieces.append(piece)
                    offset += len(piece)
                begin += size
        if not pieces and length:
            raise NotThere
        return b"".join(pieces)

    def spans(self) -> list[tuple[int, int]]:
        """The stretches that are kept, each from its offset to its end."""
        return [(begin, begin + sum(size for _, size in parts)) for begin, parts in self._spans]

    def equals(self, read: Callable[[int, int], bytes]) -> bool:
        """Whether ``read(offset, length)`` gives the same bytes wherever any are kept."""
        for begin, parts in self._spans:
            for digest, size in parts:
                if hashlib.sha256(read(begin, size)).hexdigest() != digest:
                    return False
                begin += size
        return True


def open_kept(report: Report) -> tuple[list[KeptFile], dict[str, Any]]:
    """The files kept for ``report``, the one that was asked for first, and what was said of them.

    ``NotKept`` where there are none.
    """
    index = _index(report.pk)
    about = {name: value for name, value in index.items() if name != "files"}
    return [KeptFile(listed) for listed in index["files"]], about


@lru_cache(maxsize=16)
def _index(report_id: UUID) -> dict[str, Any]:
    """Reports never change, and nor does what is kept for them."""
    stored = StoredHeader.objects.filter(report=report_id).values_list("index", flat=True).first()
    if stored is None:
        raise NotKept
    index: dict[str, Any] = json.loads(zlib.decompress(bytes(stored)))
    return index


@lru_cache(maxsize=16)
def _raw(digest: str) -> bytes:
    data = HeaderBlock.objects.values_list("data", flat=True).get(pk=digest)
    return zlib.decompress(bytes(data))
