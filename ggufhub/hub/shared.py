"""Content that many reports share: documents, arrays, blocks of headers, each stored once.

They are stored before the report that needs them, in short transactions of their own, so that
nobody waits for the write lock while megabytes go in. Until a report holds them they look like
left-overs: ``used`` tells the two apart, and ``prune`` deletes what nobody asked for in a day.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import transaction
from django.utils import timezone

from ggufhub.hub.models import ArrayBlob, ArrayChunk, Document, HeaderBlock
from ggufhub.report.codec import PackedArray

Item = TypeVar("Item")

BATCH = 500
"""Rows of one statement: SQLite takes 999 parameters in its oldest supported builds."""

BATCH_BYTES = 4 * 1024**2
"""Bytes of one transaction: some 50 ms of the write lock."""

IDLE = timedelta(days=1)
"""How long what no report holds is kept. A report is written minutes after its arrays."""


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes of a header; ``digest`` is their SHA-256 (hex)."""

    digest: str
    raw: bytes

    @classmethod
    def of(cls, raw: bytes) -> "Block":
        return cls(hashlib.sha256(raw).hexdigest(), raw)

    def compressed(self) -> HeaderBlock:
        """The row that holds them."""
        data = zlib.compress(self.raw, 1)
        return HeaderBlock(digest=self.digest, size=len(self.raw), data=data)


def store_document(encoded: bytes) -> str:
    """Store an encoded report unless it is there; its digest."""
    digest = hashlib.sha256(encoded).hexdigest()
    if not keep_document(digest):
        Document.objects.bulk_create([Document(digest=digest, data=encoded)], ignore_conflicts=True)
    return digest


def keep_document(digest: str) -> bool:
    """Whether it is there, and then ``prune`` leaves it for a day from here on."""
    return bool(Document.objects.filter(pk=digest).update(used=timezone.now()))


def store_arrays(arrays: Iterable[PackedArray]) -> list[int]:
    """Store what is new of ``arrays``; the keys of all of them, in the order of their digests.

    Two processes that insert the same arrays in different orders would deadlock: one order for
    all.
    """
    ordered = sorted({array.digest: array for array in arrays}.values(), key=lambda a: a.digest)
    keys: list[int] = []
    for batch in _batches(ordered, lambda array: sum(map(len, array.chunks))):
        keys += _store_batch(batch)
    return keys


@transaction.atomic
def _store_batch(arrays: Sequence[PackedArray]) -> list[int]:
    """The blobs with their chunks, all or nothing: a blob is never seen without its elements."""
    digests = [array.digest for array in arrays]
    rows = ArrayBlob.objects.filter(digest__in=digests)
    rows.update(used=timezone.now())  # locks them: ``prune`` has deleted them or will not
    known = set(rows.values_list("digest", flat=True))
    new = [array for array in arrays if array.digest not in known]
    ArrayBlob.objects.bulk_create(
        (
            ArrayBlob(digest=one.digest, element_type=one.element_type, count=one.count)
            for one in new
        ),
        ignore_conflicts=True,
        batch_size=BATCH,
    )
    keys = dict(rows.values_list("digest", "pk"))
    _store_chunks(new, keys)
    return [keys[digest] for digest in digests]


def _store_chunks(arrays: Sequence[PackedArray], keys: dict[str, int]) -> None:
    ArrayChunk.objects.bulk_create(
        (
            ArrayChunk(blob_id=keys[array.digest], position=position, data=data)
            for array in arrays
            for position, data in enumerate(array.chunks)
        ),
        # Another process may have stored the same array since we looked: its chunks are equal.
        ignore_conflicts=True,
        batch_size=BATCH,
    )


def store_blocks(blocks: Iterable[Block]) -> list[str]:
    """Store what is new of ``blocks`` as they come; the digests of all of them.

    Only what is new is compressed: every quant of a model brings the same vocabulary along.
    """
    digests: list[str] = []
    for batch in _batches(blocks, lambda block: len(block.raw)):
        by_digest = {block.digest: block for block in sorted(batch, key=lambda b: b.digest)}
        rows = HeaderBlock.objects.filter(pk__in=list(by_digest))
        found = rows.update(used=timezone.now())  # ``prune`` leaves them for a day from here on
        if found < len(by_digest):
            known = set(rows.values_list("pk", flat=True)) if found else set()
            new = [block.compressed() for name, block in by_digest.items() if name not in known]
            HeaderBlock.objects.bulk_create(new, ignore_conflicts=True)
        digests += by_digest
    return list(dict.fromkeys(digests))


def prune(now: datetime | None = None) -> int:
    """Delete the documents, arrays and blocks that no report holds; how many there were."""
    oldest = (now or timezone.now()) - IDLE
    documents = Document.objects.filter(used__lt=oldest).exclude(reports__isnull=False)
    arrays = ArrayBlob.objects.filter(used__lt=oldest).exclude(reports__isnull=False)
    blocks = HeaderBlock.objects.filter(used__lt=oldest).exclude(headers__isnull=False)
    return _delete(documents) + _delete(arrays) + _delete(blocks)


def _delete(rows: Any) -> int:
    deleted = 0
    while True:
        with transaction.atomic():
            # Locked: a report that asks for one now waits, and then stores it anew.
            keys = list(rows.select_for_update().values_list("pk", flat=True)[:BATCH])
            rows.model.objects.filter(pk__in=keys).delete()
        deleted += len(keys)
        if len(keys) < BATCH:
            return deleted


def _batches(items: Iterable[Item], size: Callable[[Item], int]) -> Iterator[list[Item]]:
    """Runs of at most ``BATCH`` items and about ``BATCH_BYTES`` bytes."""
    batch: list[Item] = []
    room = BATCH_BYTES
    for item in items:
        batch.append(item)
        room -= size(item)
        if len(batch) == BATCH or room <= 0:
            yield batch
            batch, room = [], BATCH_BYTES
    if batch:
        yield batch
