"""One pass over every byte of a model: the digest of each file, and whether its tensors are valid.

A thread computes the digest of one buffer while the next is read and its blocks are looked at:
hashlib and numpy both let other threads run, so two cores do it in the time of the digest alone.
"""

import hashlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import cycle

from ggufhub.errors import SourceChanged
from ggufhub.formats.model import Model, ModelFile
from ggufhub.integrity.tensor_data import DataCheck
from ggufhub.limits import MIB
from ggufhub.sources.base import ByteSource, Identity
from ggufhub.sources.slice import SliceSource

CHUNK = 8 * MIB
"""Bytes of one read, so of one request where the file is remote."""

BUFFERS = 3
"""One is filled, one waits for its turn, and the digest of one is computed."""

Passed = Callable[[int, int | None], None]
"""Hears the bytes of the model read so far and how many there are (None where nobody says).
What it raises ends the pass."""


def read_whole(model: Model, source: ByteSource, passed: Passed, chunk: int = CHUNK) -> None:
    """Read every byte of every file of ``model``; set ``sha256`` and ``faults`` of each.

    ``source`` is the file that was asked for. Memory: three buffers of ``chunk`` bytes. Raises
    ``SourceError``, as ``SourceChanged`` where a file is not the one whose header was read.
    """
    sizes = [file.identity.size for file in model.files]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    buffers = [memoryview(bytearray(chunk)) for _ in range(BUFFERS)]
    done = 0
    for file in model.files:
        if file is model.opened:
            done = _read_file(file, _inside(file, source), buffers, done, total, passed)
            continue
        with source.sibling(file.name) as sibling:
            done = _read_file(file, sibling, buffers, done, total, passed)


def _inside(file: ModelFile, source: ByteSource) -> ByteSource:
    """Where the bytes of ``file`` are: in the middle of a program, if that is what it is from."""
    member = None if file.archive is None else file.archive.member
    if member is None:
        return source
    return SliceSource(source, member.offset, member.size, file.name)


def _read_file(
    file: ModelFile,
    source: ByteSource,
    buffers: list[memoryview],
    done: int,
    total: int | None,
    passed: Passed,
) -> int:
    """Read one file; the bytes of the model read by then, of which ``done`` came before."""
    if _version(source.identity) != _version(file.identity):
        raise SourceChanged
    digest = hashlib.sha256()
    data = DataCheck(file.header)
    size = source.identity.size
    hashing: deque[Future[None]] = deque()
    offset = 0
    with ThreadPoolExecutor(1) as pool:
        for buffer in cycle(buffers):
            if len(hashing) == len(buffers):
                hashing.popleft().result()
            wanted = len(buffer) if size is None else min(len(buffer), size - offset)
            part = buffer[: source.readinto(offset, buffer[:wanted])]
            hashing.append(pool.submit(digest.update, part))
            data.feed(offset, part)
            offset += len(part)
            passed(done + offset, total)
            if len(part) < wanted or offset == size:
                break
    if size is not None and offset < size:
        raise SourceChanged
    source.check_unchanged()
    file.sha256 = digest.hexdigest()
    file.faults = data.faults
    return done + offset


def _version(identity: Identity) -> tuple[object, ...]:
    """What must be the same for two reads to be of the same file."""
    return identity.size, identity.etag, identity.last_modified
